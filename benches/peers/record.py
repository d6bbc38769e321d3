"""What a run leaves: date, machine, versions, and its rows, one a line.

Of the machine it keeps what explains the figures: processor, cores, load. No names, no paths.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rows import Row

RECORDS = Path(__file__).resolve().parent.parent / "records"


def processor() -> str:
    """The model of the processor, as far as the machine tells."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.M)
        if found:
            return found.group(1)
    return platform.processor() or platform.machine()


def _first_line(*command: str) -> str | None:
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip().splitlines()[0]


def versions(gsl: Path | None) -> dict[str, str]:
    """What was measured, and with what."""
    found = {"Python": platform.python_version()}
    for package in ("subtrie", "paho-mqtt", "pyarrow", "pytest-benchmark"):
        found[package] = metadata.version(package)
    rust = _first_line("rustc", "--version")
    if rust:
        found["Rust"] = rust.split()[1]
    told = _first_line(str(gsl), "-version") if gsl else None
    if told:
        found["Go"], found["nats-server"] = (part.lstrip("gov") for part in told.split())
    return found


def record(
    rows: list[Row], notes: list[str], sizes: list[int], runs: int, gsl: Path | None
) -> dict[str, Any]:
    """Everything but the file."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[1], 1),
        "versions": versions(gsl),
        "sizes": sizes,
        "runs": runs,
        "notes": notes,
        "rows": rows,
    }


def written(made: dict[str, Any]) -> Path:
    """Writes the record of the day and says where."""
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"peers-{made['date']}.json"
    head = {key: value for key, value in made.items() if key != "rows"}
    lines = ",\n".join(json.dumps(row) for row in made["rows"])
    text = json.dumps(head, indent=1).removesuffix("\n}")
    path.write_text(f'{text},\n "rows": [\n{lines}\n ]\n}}\n')
    return path
