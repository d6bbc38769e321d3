"""Measure comparisons of permissions, compare the answers of the engines, and write a record.

    python benches/permissions_record.py [--rounds 9]

The sets are those of ``test_bench_permissions.py``; *both ways* decides whether each set contains
the other. Each figure is the median and the minimum of the rounds; the record has the load average.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from test_bench_permissions import ENGINES, SETS

RECORDS = Path(__file__).parent / "records"

Rules = tuple[list[str], list[str]]


def both_ways(engine: Any, left: Rules, right: Rules) -> Any:
    return engine.rules_witness(*left, *right), engine.rules_witness(*right, *left)


QUESTIONS: dict[str, Callable[[Any, Rules, Rules], Any]] = {
    "both ways": both_ways,
    "proof": lambda engine, left, right: engine.rules_proof(*left, *right),
    "difference": lambda engine, left, right: engine.rules_difference(*left, *right),
    "smallest form": lambda engine, left, _: engine.rules_minimised(*left),
}


def timed(rounds: int) -> list[dict[str, Any]]:
    """Measure each engine, pair of sets and question; both engines must give the same answer."""
    rows = []
    for pair, (left, right) in SETS.items():
        for question, ask in QUESTIONS.items():
            answers = []
            for name, engine in ENGINES.items():
                if name == "reference" and pair == "hostile":
                    continue  # this takes minutes
                took = []
                for _ in range(rounds if name == "native" else 1):
                    began = time.perf_counter()
                    answer = ask(engine, left, right)
                    took.append((time.perf_counter() - began) * 1000)
                answers.append(answer)
                row = {"engine": name, "sets": pair, "question": question}
                row["median_ms"] = round(statistics.median(took), 2)
                rows.append({**row, "least_ms": round(min(took), 2), "rounds": len(took)})
            assert all(answer == answers[0] for answer in answers), (pair, question)
    return rows


def main() -> None:
    """Measure everything and write the record of today."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=9)
    rounds = options.parse_args().rounds
    now = datetime.now(UTC)
    record = {
        "date": f"{now:%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        "load_average": round(os.getloadavg()[0], 2),
        "rows": timed(rounds),
    }
    path = RECORDS / f"permissions-{record['date']}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
