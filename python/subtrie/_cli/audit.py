"""``subtrie audit``: audit the traffic in a broker's trace log."""

from __future__ import annotations

import heapq
import json
import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from .stage_progress import StageProgress
from .stream import printable

if TYPE_CHECKING:
    from ..spark import Audit

#: The title of each table.
_TITLES = {
    "call_graph": "Call graph",
    "replies": "Replies",
    "undelivered": "Undelivered (no matching subscriber)",
    "malformed": "Malformed Microbus subjects",
    "other_traffic": "Other traffic",
    "refused": "Refused by the broker",
    "spoofed": "Spoofed source",
    "subscriptions": "Subscriptions",
    "coverage": "Traffic of each subscription",
    "fan_out": "Subscribers of each subject",
    "hot_subjects": "Subjects with the most messages",
    "cross_plane": "Traffic on another plane than the identity's own",
    "unparseable": "Unparseable lines",
}
# The tables that are printed only on request: they describe all traffic, not what is wrong.
_LONG = ("subscriptions", "coverage", "fan_out", "hot_subjects")
# The columns that are printed only on request, so that rows are short.
_WIDE = frozenset({"bytes", "first", "last", "instances", "file"})
# Rows with the largest value in the first of these columns come first.
_RANKED_BY = ("published", "count")


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every table.")
@click.option("--out", type=click.Path(), help="Write the tables to this directory, as Parquet.")
@click.option("--plane", "planes", multiple=True, help="Audit only these planes (default: detect).")
@click.option(
    "--rows", default=20, show_default=True, help="Rows to print of each table; 0 prints all."
)
@click.option("--long", is_flag=True, help="Print all tables and columns.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Divide the call graph into periods (s).",
)
@click.option(
    "--redact",
    "slots",
    multiple=True,
    type=click.Choice(["path", "id"]),
    help="Replace paths or ids in subjects by digests; may be repeated.",
)
@click.option("--memory", default="1g", show_default=True, help="Heap size of the JVM.")
def audit(
    logs: tuple[str, ...],
    as_json: bool,
    out: str | None,
    planes: tuple[str, ...],
    rows: int,
    long: bool,
    window: int | None,
    slots: tuple[str, ...],
    memory: str,
) -> None:
    """Audit the traffic in trace logs of nats-server.

    Prints the call graph and the replies, and the subjects that were undelivered, malformed,
    refused or spoofed. LOG is the trace log of one nats-server (started with -DV); give one log per
    broker. It may also be a capture of subtrie tap, or a saved /connz, /subsz or /routez. Each line
    is counted once; lines that nats-server did not write are listed as unparseable. Exit 0:
    the logs were read; 2: bad input.
    """
    try:
        from ..spark import SparkStartError, local_session
    except ImportError as error:
        _bad(f"the audit needs {error.name}: pip install 'subtrie[spark,cli]'")
    logs = _log_files(logs)
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
            key = os.environ.get("SUBTRIE_REDACT_KEY")
            result = run(
                spark,
                logs,
                planes=planes,
                out=out,
                window=window,
                redact=slots,
                redact_key=None if key is None else key.encode(),
                step=progress.step,
            )
        except (SparkStartError, OSError, ValueError) as error:
            _bad(str(error))
    with result:
        if as_json:
            _print_json(result)
        else:
            _print_tables(result, rows, long=long, windowed=window is not None)
            if out is not None:
                print(f"\ntables written to {printable(out)}")


def _bad(message: str) -> Any:
    """Print the message and exit with 2."""
    print(f"subtrie audit: {message}", file=sys.stderr)
    raise SystemExit(2)


def _log_files(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of paths, directories and shell patterns, or exit with 2."""
    from ..spark import log_files

    try:
        return tuple(log_files(paths))
    except OSError as error:
        return tuple(_bad(str(error)))


def _size(path: str) -> int:
    """Return the size of a log that has lines of nats-server, or exit with 2."""
    from ..spark import holds_server_lines, input_kind, log_size

    try:
        size = log_size(path)
        if input_kind(path) == "log" and not holds_server_lines(path):
            _bad(f"{printable(path)}: no line of nats-server among the first; is it a trace log?")
        return size
    except OSError as error:
        return int(_bad(f"{printable(path)}: {error.strerror or error}"))


def _check_distinct(logs: tuple[str, ...]) -> None:
    """Refuse a log that is given twice: it would count as two brokers with the same traffic."""
    from ..spark import resolve_path

    seen: set[str] = set()
    for path in logs:
        if resolve_path(path) in seen:
            _bad(f"{printable(path)} is given twice; give one log per broker")
        seen.add(resolve_path(path))


def _check_plane(plane: str) -> None:
    """Refuse a plane that is not valid."""
    from .._errors import SubtrieError
    from ..microbus import check_plane

    try:
        check_plane(plane)
    except SubtrieError as error:
        _bad(str(error))


def _print_json(result: Audit) -> None:
    """Print one object; the tables are streamed, not held in memory."""
    from ..spark import TABLES

    write = sys.stdout.write
    write(json.dumps(result.summary)[:-1])
    for name in TABLES:
        write(f', "{name}": [')
        for number, row in enumerate(result.rows(name)):
            if row.get("window", 0) is None:
                del row["window"]  # without --window, all of the log is one period
            write((", " if number else "") + json.dumps(row, default=_json_time))
        write("]")
    write("}\n")


def _json_time(value: Any) -> str:
    """Return a time as JSON text."""
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"


def _print_tables(result: Audit, rows: int, *, long: bool, windowed: bool) -> None:
    """Print every table, then the counts."""
    from ..spark import TABLES

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    print(_verdict(result))
    for name, columns in TABLES.items():
        if name in _LONG and not long:
            continue
        hidden = (frozenset() if long else _WIDE) | (frozenset() if windowed else {"window"})
        columns = tuple(column for column in columns if column not in hidden)
        total, shown = _largest(result, name, rows)
        if console.is_terminal:
            _rich_table(console, name, columns, total, shown)
        else:
            _plain_table(name, columns, total, shown)
    summary = result.summary
    print(f"\nplanes: {', '.join(map(printable, summary['planes'])) or 'none'}")
    print(
        f"ambiguous delivery windows: {summary['ambiguous']}, unmatched deliveries: "
        f"{summary['unmatched']}, forwarded to other brokers: {summary['forwarded']}"
    )
    print(
        f"lines = operations + payloads + server + unparseable_lines: {summary['lines']} = "
        f"{summary['operations']} + {summary['payloads']} + {summary['server']} + "
        f"{summary['unparseable_lines']}"
    )


def _verdict(result: Audit) -> str:
    """Return one line that says what was found."""
    found = []
    for name in ("spoofed", "undelivered", "malformed", "refused"):
        total = accepted = 0
        for row in result.rows(name):
            total += row["count"]
            accepted += row.get("accepted", 0)
        if total:
            found.append(f"{total} {name}" + (f" ({accepted} accepted)" if accepted else ""))
    if result.summary["unparseable_lines"]:
        found.append(f"{result.summary['unparseable_lines']} unparseable")
    return ", ".join(found) or "no findings"


def _largest(result: Audit, name: str, rows: int) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of rows of a table and its ``rows`` largest rows, in a stable order."""
    total = 0

    def ranked() -> Any:
        """Yield each row after its sort key."""
        nonlocal total
        for row in result.rows(name):
            size = next((row[column] for column in _RANKED_BY if column in row), 0)
            yield -size, total, row
            total += 1

    chosen = sorted(ranked()) if rows <= 0 else heapq.nsmallest(rows, ranked())
    return total, [row for _, _, row in chosen]


def _title(name: str, total: int) -> str:
    """Return the heading of a table: its title, its name, its number of rows."""
    return f"{_TITLES[name]}: {name}, {total} {'row' if total == 1 else 'rows'}"


def _cell(value: Any) -> str:
    """Return a value as the text of a table cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"
    return printable(value) if isinstance(value, str) else str(value)


def _rich_table(
    console: Console, name: str, columns: tuple[str, ...], total: int, shown: list[dict[str, Any]]
) -> None:
    """Print a table with borders, for a terminal."""
    if not total:
        console.print(f"\n[bold]{_title(name, total)}[/]")
        return
    table = Table(title=_title(name, total), title_justify="left")
    for column in columns:
        numbers = all(type(row[column]) is int for row in shown)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in shown:
        table.add_row(*(_escaped(_cell(row[column])) for column in columns))
    console.print()
    console.print(table)
    if total > len(shown):
        console.print(
            f"… and {total - len(shown)} more (use --rows 0, --json or --out)", style="dim"
        )


def _escaped(text: str) -> str:
    """Escape the markup of rich."""
    from rich.markup import escape

    return escape(text)


def _plain_table(
    name: str, columns: tuple[str, ...], total: int, shown: list[dict[str, Any]]
) -> None:
    """Print a table as aligned columns, for a file or a pipe."""
    print(f"\n{_title(name, total)}")
    if not total:
        return
    cells = [columns, *(tuple(_cell(row[column]) for column in columns) for row in shown)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
    if total > len(shown):
        print(f"  … and {total - len(shown)} more (use --rows 0, --json or --out)")
