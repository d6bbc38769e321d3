"""A judge of the answers against live brokers as a command: a seed, a count, a record."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from servers import binaries


def judge_by_hand(
    description: str | None, judged: Callable[[int, int, Path], Mapping[str, int]], count: int
) -> None:
    """Judge as many questions as the command line asks for, print the counts, and record them.

    Args:
        description: What the command does.
        judged: Judges questions of a seed, in a folder; raises at the first difference.
        count: The number of questions by default.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--record", type=Path, help="write the counts to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = judged(options.seed, options.count, Path(folder))
    found = {"nats-server": next(iter(binaries())), "seed": options.seed, "differences": 0,
             **dict(sorted(counts.items()))}  # fmt: skip
    print(json.dumps(found, indent=2))
    if options.record is not None:
        options.record.write_text(json.dumps(found, indent=2) + "\n")
