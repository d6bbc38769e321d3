"""Compare ``subtrie audit`` with what the programs of a running system counted.

The system of ``tests/audit/clustered_system.py``: a cluster of three servers, a leaf node, three
accounts with exports, imports and a mapping, a stream and keys. Is every table equal, are the
planted faults the only findings above a note, and how much CPU does the audit need? Of ``links``
the leaf node is compared. Routes are not: the servers send each other messages of JetStream's own
there, which no program can count.

    python benches/clustered_audit.py [--messages 10000] [--record]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / each) for each in ("", "tests", "tests/audit", "tools")]

import reliability_record  # noqa: E402
from clustered_system import SERVERS, Truth, system, traffic  # noqa: E402
from clustered_truth import TABLES, not_hottest, too_slow  # noqa: E402

from subtrie.audit import Questions, audit  # noqa: E402
from subtrie.report._findings import all_findings  # noqa: E402


def compared(truth: Truth, logs: list[Path]) -> dict[str, Any]:
    """Return what the audit says of the logs, beside the truth."""
    begin = time.process_time()
    with audit([str(log) for log in logs], questions=Questions()) as run:
        cpu = time.process_time() - begin
        found = [each for each in all_findings(run) if each.level != "note"]
        tables = {
            name: {"rows": len(expected(truth)), "equal": seen(run) == expected(truth)}
            for name, (expected, seen) in TABLES.items()
        }
        return {
            "messages": len(truth.sent),
            "received": sum(len(each) for each in truth.received.values()),
            "stored": len(truth.stored),
            "refused": sum(truth.refused.values()),
            "lines": run.summary["lines"],
            "bytes": sum(log.stat().st_size for log in logs),
            "tables": tables,
            "hot subjects that differ": not_hottest(truth, run),
            "requests slower in the log than for their program": too_slow(truth, run),
            "findings above a note": [[each.witness, each.count] for each in found],
            "unparseable lines": run.summary["unparseable_lines"],
            "cpu seconds of the audit": round(cpu, 2),
        }


def main() -> None:
    """Run the system, compare, and print the record; exit with 1 if a table differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with system(folder) as urls:
            truth = asyncio.run(traffic(urls, given.messages, given.seed))
        logs = [folder / name / "server.log" for name in (*SERVERS, "edge")]
        told = compared(truth, logs)
    print(json.dumps(told, indent=2))
    if given.record:
        again = f"benches/clustered_audit.py --messages {given.messages} --seed {given.seed}"
        reliability_record.write("clustered-audit", again, given.seed, told)
    sys.exit(not all(each["equal"] for each in told["tables"].values()))


if __name__ == "__main__":
    main()
