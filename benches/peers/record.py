"""Write the record of a run: date, machine, versions, and its rows, one per line.

Of the machine it keeps the processor, cores and load only: no names, no paths.
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
    """Return the model of the processor, as the system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.M)
        if found:
            return found.group(1)
    return platform.processor() or platform.machine()


def _first_line(*command: str) -> str | None:
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return shown.stdout.strip().splitlines()[0]


def versions(gsl: Path | None) -> dict[str, str]:
    """Return the versions of the measured programs and of the tools."""
    found = {"Python": platform.python_version()}
    for package in ("subtrie", "paho-mqtt", "pyarrow", "pytest-benchmark"):
        found[package] = metadata.version(package)
    rust = _first_line("rustc", "--version")
    if rust:
        found["Rust"] = rust.split()[1]
    shown = _first_line(str(gsl), "-version") if gsl else None
    if shown:
        found["Go"], found["nats-server"] = (part.lstrip("gov") for part in shown.split())
    return found


def record(
    rows: list[Row], notes: list[str], sizes: list[int], runs: int, gsl: Path | None
) -> dict[str, Any]:
    """Return the content of the record."""
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


def written(made: dict[str, Any], kind: str = "peers") -> Path:
    """Write the record of the day; return its path."""
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"{kind}-{made['date']}.json"
    head = {key: value for key, value in made.items() if key != "rows"}
    lines = ",\n".join(json.dumps(row) for row in made["rows"])
    text = json.dumps(head, indent=1).removesuffix("\n}")
    path.write_text(f'{text},\n "rows": [\n{lines}\n ]\n}}\n')
    return path
