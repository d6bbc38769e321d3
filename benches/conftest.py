"""What a record keeps: the figures, and of the machine what explains them."""

from __future__ import annotations

from typing import Any


def pytest_benchmark_update_json(config: Any, output_json: dict[str, Any]) -> None:
    """Leaves out what names the machine or says nothing about speed."""
    machine = output_json["machine_info"]
    cpu = machine["cpu"]
    machine["cpu"] = {key: cpu[key] for key in ("arch", "brand_raw", "count") if key in cpu}
    machine.pop("node", None)
    for row in output_json["benchmarks"]:
        for key in ("params", "fullname", "extra_info", "options"):
            row.pop(key, None)
