"""Measure the reader of trace logs and its divider in one thread, and write a dated record.

.venv/bin/python benches/trace_record.py [--mib 256] [--log FILE]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import subprocess
import tempfile
from pathlib import Path

from audit_scale import write_log

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ["cargo", "bench", "--locked", "-p", "subtrie-benches", "--bench", "trace", "--"]


def main() -> None:
    """Generate the log, run the bench, and write the record."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--mib", type=int, default=256, help="the size of the log")
    options.add_argument("--log", type=Path, help="measure this log instead")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        log = given.log or Path(scratch) / "trace.log"
        if given.log is None:
            write_log(log, given.mib * 1024 * 1024)
        run = subprocess.run(
            [*COMMAND, str(log.resolve())], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    today = dt.datetime.now(dt.UTC).date()
    record = ROOT / "benches" / "records" / f"trace-{today}.json"
    record.write_text(json.dumps({"cpu_time_of_one_thread": rows}, indent=2) + "\n")
    print(record.read_text())


if __name__ == "__main__":
    main()
