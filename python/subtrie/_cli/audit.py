"""``subtrie audit``: what really happened, from a broker's trace log."""

from __future__ import annotations

import heapq
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from .stage_progress import StageProgress
from .stream import printable

if TYPE_CHECKING:
    from ..spark import Audit

#: What each table says, as its heading.
_HEADINGS = {
    "call_graph": "Who calls whom",
    "replies": "Who answers whom",
    "undelivered": "Heard by nobody",
    "malformed": "Wears a plane, but is no address",
    "foreign": "Other traffic",
    "refused": "Refused by the broker",
    "spoofed": "Sent in another's name",
    "quarantine": "Lines nobody could read",
}
# A row with more of these comes first.
_WEIGHTS = ("published", "count")


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with every table.")
@click.option("--out", type=click.Path(), help="Write the tables here, as Parquet.")
@click.option("--plane", "planes", multiple=True, help="Take these planes, not those found.")
@click.option("--rows", default=20, show_default=True, help="Rows to show of a table; 0 is all.")
@click.option("--memory", default="1g", show_default=True, help="Heap of the JVM.")
def audit(
    logs: tuple[str, ...],
    as_json: bool,
    out: str | None,
    planes: tuple[str, ...],
    rows: int,
    memory: str,
) -> None:
    """Who called whom, what nobody heard, what was malformed, refused or spoofed.

    LOG is the trace log of one nats-server (started with -DV); several are several brokers. Each
    line is counted once; lines that no nats-server wrote are quarantined.
    """
    try:
        from ..spark import CannotStart, NotAResult, local_session
    except ImportError as error:
        _bad(f"the audit needs {error.name}: pip install 'subtrie[spark,cli]'")
    size = sum(_size(path) for path in logs)
    _check_distinct(logs)
    for plane in planes:
        _check_plane(plane)
    from ..spark import audit as run

    with StageProgress() as progress:
        try:
            progress.step("starting Spark")
            spark = local_session(memory=memory, log_bytes=size)
            progress.watch(spark)
            result = run(spark, logs, planes=planes, out=out, step=progress.step)
        except (CannotStart, NotAResult, OSError) as error:
            _bad(str(error))
    with result:
        if as_json:
            _print_json(result)
        else:
            _print_tables(result, rows)
            if out is not None:
                print(f"\ntables written to {printable(out)}")


def _bad(message: str) -> Any:
    print(f"subtrie audit: {message}", file=sys.stderr)
    raise SystemExit(2)


def _size(path: str) -> int:
    from ..spark import size_of

    try:
        return size_of(path)
    except OSError as error:
        return int(_bad(f"{printable(path)}: {error.strerror or error}"))


def _check_distinct(logs: tuple[str, ...]) -> None:
    """A log given twice would count as two brokers that saw the same traffic."""
    from ..spark import settled

    seen: set[str] = set()
    for path in logs:
        if settled(path) in seen:
            _bad(f"{printable(path)} is given twice: every log is another broker's")
        seen.add(settled(path))


def _check_plane(plane: str) -> None:
    from .._errors import SubtrieError
    from ..microbus import check_plane

    try:
        check_plane(plane)
    except SubtrieError as error:
        _bad(str(error))


def _print_json(result: Audit) -> None:
    """One object; tables are streamed, never held."""
    from ..spark import TABLES

    write = sys.stdout.write
    write(json.dumps(result.summary)[:-1])
    for name in TABLES:
        # `quarantined` is the count of lines; the lines themselves stand under `quarantine`.
        write(f', "{name}": [')
        for number, row in enumerate(result.rows(name)):
            write((", " if number else "") + json.dumps(row))
        write("]")
    write("}\n")


def _print_tables(result: Audit, rows: int) -> None:
    from ..spark import TABLES

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    for name, columns in TABLES.items():
        total, shown = _largest(result, name, rows)
        if console.is_terminal:
            _rich_table(console, name, columns, total, shown)
        else:
            _plain_table(name, columns, total, shown)
    summary = result.summary
    print(f"\nplanes: {', '.join(map(printable, summary['planes'])) or 'none'}")
    print(
        f"windows that competed: {summary['contested']}, deliveries without a publish: "
        f"{summary['orphans']}, handed over to other brokers: {summary['handed_over']}"
    )
    print(
        f"lines read = operations + payloads + server + quarantined: {summary['lines']} = "
        f"{summary['operations']} + {summary['payloads']} + {summary['server']} + "
        f"{summary['quarantined']}"
    )


def _largest(result: Audit, name: str, rows: int) -> tuple[int, list[dict[str, Any]]]:
    """How many rows the table has, and the ``rows`` largest, in a stable order."""
    total = 0

    def weighed() -> Any:
        nonlocal total
        for row in result.rows(name):
            weight = next((row[column] for column in _WEIGHTS if column in row), 0)
            yield -weight, total, row
            total += 1

    chosen = sorted(weighed()) if rows <= 0 else heapq.nsmallest(rows, weighed())
    return total, [row for _, _, row in chosen]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(value) if isinstance(value, str) else str(value)


def _rich_table(
    console: Console, name: str, columns: tuple[str, ...], total: int, shown: list[dict[str, Any]]
) -> None:
    if not total:
        console.print(f"\n[bold]{_HEADINGS[name]}[/]: nothing")
        return
    table = Table(title=f"{_HEADINGS[name]} ({name}, {total})", title_justify="left")
    for column in columns:
        numbers = all(type(row[column]) is int for row in shown)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in shown:
        table.add_row(*(_escaped(_cell(row[column])) for column in columns))
    console.print()
    console.print(table)
    if total > len(shown):
        console.print(f"… and {total - len(shown)} more: --rows 0, --json or --out", style="dim")


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _plain_table(
    name: str, columns: tuple[str, ...], total: int, shown: list[dict[str, Any]]
) -> None:
    print(f"\n{_HEADINGS[name]} ({name}, {total})")
    if not total:
        return
    cells = [columns, *(tuple(_cell(row[column]) for column in columns) for row in shown)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
    if total > len(shown):
        print(f"  … and {total - len(shown)} more: --rows 0, --json or --out")
