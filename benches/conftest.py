"""The sizes of the benchmarks, and the rows they record.

``SIZES=1000,6000`` in the environment chooses the numbers of subscriptions. Each benchmark puts
its row (who, measure, size, order, …) into ``extra_info``; ``benches/peers`` collects them.
"""

from __future__ import annotations

import os
from typing import Any

SIZES = [int(size) for size in os.environ.get("SIZES", "1000,6000").split(",")]


def pytest_benchmark_update_json(config: Any, output_json: dict[str, Any]) -> None:
    """Remove fields that identify the machine or do not concern speed."""
    machine = output_json["machine_info"]
    cpu = machine["cpu"]
    machine["cpu"] = {key: cpu[key] for key in ("arch", "brand_raw", "count") if key in cpu}
    machine.pop("node", None)
    for row in output_json["benchmarks"]:
        for key in ("params", "fullname", "options"):
            row.pop(key, None)
