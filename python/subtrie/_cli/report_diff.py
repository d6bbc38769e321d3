"""``subtrie report diff``: compare two runs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from .._core.extras import install_command
from .stream import bad_input, printable

if TYPE_CHECKING:
    from ..audit import Run

_SIGNS = {"new": "+", "gone": "-", "changed": "~"}


@click.command()
@click.argument("old", metavar="RUN")
@click.argument("new", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per difference.")
@click.option(
    "--table", "tables", multiple=True, help="Compare only these tables; may be repeated."
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Ignore numbers that changed by at most this share.",
)
def diff(old: str, new: str, as_json: bool, tables: tuple[str, ...], share: float) -> None:
    r"""Compare two runs: what is new, gone or changed.

    Each RUN is a directory that `subtrie audit --out` wrote, the earlier one first. Spark is not
    started. Exit 0: no difference; 1: there are some; 2: bad input.

    \b
    Examples:
      subtrie report diff before after
      subtrie report diff before after --table undelivered --share 0.5
    """
    try:
        from ..audit import TABLES, run_difference
    except ImportError as error:
        bad_input("report", f"the report needs {error.name}: {install_command('audit', 'cli')}")
    for table in tables:
        if table not in TABLES:
            bad_input("report", f"there is no table {table}")
    found = 0
    try:
        earlier, later = (_opened(each) for each in (old, new))
        for row in run_difference(earlier, later, share=share):
            if tables and row["table"] not in tables:
                continue
            found += 1
            print(json.dumps(row, default=_time) if as_json else _line(row))
    except BrokenPipeError:
        raise  # the reader of a pipe has enough
    except (OSError, ValueError) as error:
        bad_input("report", str(error))
    except (TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        bad_input("report", f"a value of a result is not that of an audit: {error}")
    if not found and not as_json:
        print("no difference")
    if found:
        raise SystemExit(1)


def _opened(run: str) -> Run:
    from ..audit import open_run

    try:
        return open_run(run)
    except FileNotFoundError:
        bad_input("report", f"{run} has no result of subtrie audit --out")


def _line(row: dict[str, Any]) -> str:
    """Return a difference as one line."""
    key = " ".join("-" if each is None else printable(_text(each)) for each in row["key"].values())
    changed = row["change"] == "changed"
    values = ", ".join(
        f"{name} {value[0]} → {value[1]}" if changed else f"{name} {value}"
        for name, value in row["columns"].items()
    )
    return f"{_SIGNS[row['change']]} {row['table']}: {key}" + (f"  ({values})" if values else "")


def _text(value: Any) -> str:
    return _time(value) if isinstance(value, datetime) else str(value)


def _time(value: Any) -> str:
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"
