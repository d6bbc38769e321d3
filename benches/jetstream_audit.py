"""Measure ``subtrie audit`` on the log of a running broker whose clients use JetStream.

The programs of ``tests/audit/jetstream_log.py`` publish, store, fetch and acknowledge, and make
three faults. Are these the first findings, is any other above a note, do the flows have the
programs' own counts, and how much CPU does the whole command need?

    python benches/jetstream_audit.py [--orders 430] [--record]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).parent / "records"
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "audit")]

from jetstream_log import FAULTS, PAID, jetstream_log  # noqa: E402

from subtrie.audit import Questions, audit  # noqa: E402
from subtrie.report._findings import all_findings  # noqa: E402


def measured(log: Path, orders: int) -> dict[str, Any]:
    """Return what the audit says of the log, beside what the programs counted."""
    with audit([str(log)], questions=Questions()) as run:
        findings = [each for each in all_findings(run) if each.level != "note"]
        flows = {
            (row["publisher"], row["subscriber"], row["queue"]): 0 for row in run.rows("flows")
        }
        for row in run.rows("flows"):
            flows[row["publisher"], row["subscriber"], row["queue"]] += row["delivered"]
        latency = list(run.rows("latency"))
    stored = orders + PAID
    expected = {
        ("web", "stream ORDERS", None): stored,
        ("stream ORDERS", "ship", "consumer shipper"): stored,
        ("stream ORDERS", "bill", "consumer biller"): PAID,
        ("ship", "stream ORDERS", "consumer shipper"): stored,
    }
    return {
        "faults": dict(FAULTS),
        "findings above a note": [[each.witness, each.count] for each in findings],
        "faults are the first findings": [(each.witness, each.count) for each in findings[:3]]
        == list(FAULTS.items()),
        "others above a note": len(findings) - 3,
        "flows equal the counts": all(flows.get(key) == count for key, count in expected.items()),
        "requests unanswered": sum(row["unanswered"] for row in latency),
    }


def command(log: Path, rounds: int) -> dict[str, float]:
    """Return the least seconds of CPU, and of the clock, of the whole command."""
    cpu, clock = [], []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        words = [sys.executable, "-m", "subtrie", "audit", str(log)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        clock.append(time.monotonic() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"cpu seconds": round(min(cpu), 2), "seconds": round(min(clock), 2)}


def main() -> None:
    """Make the log, measure, and print the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=430)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, _ = jetstream_log(Path(folder), given.orders)
        told = {
            "orders": given.orders,
            "lines": log.read_bytes().count(b"\n"),
            "bytes": log.stat().st_size,
            **measured(log, given.orders),
            **command(log, given.rounds),
        }
    print(json.dumps(told, indent=2))
    if given.record:
        path = RECORDS / f"jetstream-audit-{datetime.now(UTC):%Y-%m-%d}.json"
        path.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
