"""``python -m tests.synthetic_traffic OUT``: a trace log and what an audit of it must say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import write_traffic


def main(arguments: list[str] | None = None) -> int:
    """Write the directory; 2 if it is not empty or cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m tests.synthetic_traffic", description=__doc__)
    parser.add_argument("out", type=Path, help="a new directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=10_000, help="operations in the log")
    parser.add_argument("--days", type=int, default=1, help="spread the traffic over days")
    parser.add_argument("--no-damage", dest="damage", action="store_false")
    parser.add_argument("--events", action="store_true", help="the table of events too (pyarrow)")
    parser.add_argument("--answers", action="store_true", help="answers about rules and code too")
    given = vars(parser.parse_args(arguments))
    if given["rows"] < 1 or given["days"] < 1:
        parser.error("--rows and --days are at least 1")
    try:
        summary = write_traffic(given.pop("out"), **given)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    print(
        f"{summary['rows']} operations, {summary['lines']} lines, "
        f"{summary['unparseable_lines']} of them unparseable"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
