"""Records of runs that show a promise: one JSON file for each run, under ``docs/records/``.

A record has the kind of the run, its date, the commit and the machine, the seed, the command that
repeats it, and its figures. ``tools/reliability_page.py`` makes the table of the page from them.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "docs" / "records"


def write(kind: str, command: str, seed: int | None, figures: dict[str, Any]) -> Path:
    """Write a record of today, replacing one of the same kind and day.

    Args:
        kind: Which run: ``chaos``, ``mutants-matcher``, ….
        command: The command that repeats it.
        seed: The seed, or None.
        figures: What was counted.

    Returns:
        The path of the record.
    """
    RECORDS.mkdir(parents=True, exist_ok=True)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    record = {
        "kind": kind,
        "date": today,
        "commit": commit(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        "seed": seed,
        "command": command,
        "figures": figures,
    }
    path = RECORDS / f"{kind}-{today}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def latest() -> dict[str, dict[str, Any]]:
    """Return the newest record of each kind."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(RECORDS.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["date"] >= found.get(record["kind"], record)["date"]:
            found[record["kind"]] = record
    return found


def commit() -> str:
    """Return the commit of the tree."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"
