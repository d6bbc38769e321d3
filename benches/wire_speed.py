"""Measure the speed of the wire parsers and of name checks, and keep the result as a record.

    python benches/wire_speed.py [--record]

The figures of Rust are criterion's (``cargo bench -p subtrie-benches --bench wire``), those of
Python are pytest-benchmark's. The fastest round of each is used, because other work on the machine
only adds time. With ``--record`` they are written to ``benches/records/wire-<date>.json``, from
which the performance page is generated.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches" / "peers"))

from record import processor  # noqa: E402

RECORDS = ROOT / "benches" / "records"
_OPERATIONS = 1000


def of_the_core() -> list[dict[str, Any]]:
    """Return the bytes per second of the core, by kind of input."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "criterion" / "parse"
    subprocess.run(
        ["cargo", "bench", "--locked", "-p", "subtrie-benches", "--bench", "wire"],
        cwd=ROOT,
        check=True,
    )
    rows = []
    for made in sorted(folder.glob("*/new/sample.json")):
        sample = json.loads(made.read_text())
        rounds = zip(sample["times"], sample["iters"], strict=True)
        fastest = min(taken / count for taken, count in rounds)
        size = json.loads((made.parent / "benchmark.json").read_text())["throughput"]["Bytes"]
        rows.append({"measure": "parse", "what": made.parent.parent.name, "who": "subtrie core",
                     "bytes_per_second": round(size / fastest * 1e9)})  # fmt: skip
    return rows


def from_python() -> list[dict[str, Any]]:
    """Return the nanoseconds per operation and per name, by implementation."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "rounds.json"
        command = [sys.executable, "-m", "pytest", "-q", "benches/test_bench_wire.py"]
        command += ["benches/test_bench_names.py", "--benchmark-only", f"--benchmark-json={kept}"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
        rounds = json.loads(kept.read_text())["benchmarks"]
    rows = []
    for each in rounds:
        parts = each["param"].split("-", 1)
        ns = round(each["stats"]["min"] * 1e9 / _OPERATIONS, 1)
        if each["name"].startswith("test_read"):
            rows.append({"measure": "read", "what": "MSG of 128 bytes", "who": each["param"],
                         "ns": ns})  # fmt: skip
        else:
            kind, _, length = parts[1].rpartition("-")
            rows.append({"measure": "check_name", "what": f"{kind} of {length} bytes",
                         "who": parts[0], "ns": ns})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--record", action="store_true", help="Write the result to benches/records/."
    )
    arguments = parser.parse_args()
    date = datetime.now(UTC).date().isoformat()
    record = {
        "date": date,
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "versions": {
            "Python": sys.version.split()[0],
            "subtrie": importlib.metadata.version("subtrie"),
            "nats-py": importlib.metadata.version("nats-py"),
        },
        "rows": of_the_core() + from_python(),
    }
    text = json.dumps(record, indent=1)
    if arguments.record:
        (RECORDS / f"wire-{date}.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
