"""Print the result of an audit, as JSON or as tables."""

from __future__ import annotations

import heapq
import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._findings.rate import Rate
from .audit_counts import print_counts, print_findings
from .stream import printable, say

if TYPE_CHECKING:
    from ..audit import Run

#: The title of each table.
_TITLES = {
    "call_graph": "Call graph",
    "replies": "Replies",
    "undelivered": "Undelivered (no matching subscriber)",
    "malformed": "Malformed Microbus subjects",
    "other_traffic": "Other traffic",
    "refused": "Refused by the broker",
    "slow_consumers": "Slow consumers (connections that read too slowly)",
    "spoofed": "Spoofed source",
    "claimed_users": "Clients that claim another user than the proven one",
    "jetstream_errors": "Errors that JetStream answered",
    "logins": "Logins",
    "links": "Connections to other servers",
    "servers": "What the servers said of themselves",
    "subscriptions": "Subscriptions",
    "coverage": "Traffic of each subscription",
    "fan_out": "Subscribers of each subject",
    "hot_subjects": "Subjects with the most messages",
    "cross_plane": "Traffic on another plane than the identity's own",
    "permission_usage": "Usage of rules",
    "violations": "Violations",
    "proposal": "Proposed rules",
    "too_thin": "Too thin for a rule",
    "gap": "Code, rules and traffic",
    "at": "Receivers at that time",
    "history": "Receivers over time",
    "latency": "Latency of requests (µs)",
    "flows": "Flows",
    "consumers": "Consumers of streams",
    "unparseable": "Unparseable lines",
    "runs": "This run",
}
# The tables that are printed only on request: they say nothing about what is wrong.
_LONG = ("servers", "subscriptions", "coverage", "fan_out", "hot_subjects", "runs")
# The tables of a log without Microbus traffic, in the order in which they are printed. Of the
# others those about Microbus are empty, and the flows tell what the rest would.
_WITHOUT_MICROBUS = (
    "flows",
    "consumers",
    "latency",
    "refused",
    "slow_consumers",
    "jetstream_errors",
    "claimed_users",
    "logins",
    "links",
    "servers",
    "permission_usage",
    "violations",
    "at",
    "history",
    "unparseable",
)
# The columns that are printed only on request, so that rows are short.
_WIDE = frozenset({"bytes", "bytes_in", "bytes_out", "first", "last", "instances", "file", "rate"})
#: More columns than these have no blanks beside them.
_CLOSE = 10
#: Words for headings that are too long for a column.
_SHORT = {
    "account": "acct", "accepted": "taken", "ack_policy": "acks", "acknowledged": "acked",
    "address": "from", "outcome": "so", "remote": "to",
    "caller": "to", "consumer": "name", "groups": "group", "claimed": "as", "client": "app",
    "covered_by": "in", "decided": "by it",
    "deliver_subject": "into",
    "delivered": "got", "destination": "to", "differs_at": "token", "effect": "kind",
    "errors": "bad", "filter_subject": "only", "finding": "what", "forwarded": "on",
    "home_plane": "home",
    "identity": "who", "identity_source": "proof", "instances": "conns", "matched": "sent",
    "messages_in": "in", "messages_out": "out",
    "method": "verb", "origin": "file", "pattern": "of", "per_minute": "/min",
    "redelivered": "again", "rejected": "no",
    "published": "sent", "publisher": "from", "received": "got", "receivers": "who",
    "refused": "no", "replier": "from", "request": "call", "requester": "from", "responder": "by",
    "stream": "of", "server": "log", "service": "who", "source": "from", "sources": "from",
    "subject": "name", "subscriber": "to", "subscriber_client": "app 2",
    "subscriber_user": "usr 2", "subscribers": "subs",
    "subscription_inactive": "gone", "traffic": "sent", "unanswered": "open",
    "undelivered": "lost", "window": "since", "witness": "such", "witnesses": "such",
}  # fmt: skip
#: A column of a table on a terminal is not made narrower than this.
_NARROWEST = 8
#: Nor is its heading, where it is longer than what stands below it.
_NARROWEST_HEADING = 5
#: The columns whose every token matters, and the width from which they have several lines.
_SUBJECTS, _NARROWEST_SUBJECT = frozenset({"subject", "nearest", "pattern"}), 20
# Rows with the largest value in the first of these columns come first.
_RANKED_BY = ("published", "count", "traffic", "accepted")


def print_json(result: Run, failed: Sequence[Mapping[str, Any]] | None) -> None:
    """Print one object; the tables are streamed, not held in memory.

    Args:
        result: The result.
        failed: The expectations that it does not satisfy; None if none were given.
    """
    from ..audit import TABLES

    write = sys.stdout.write
    write(json.dumps(result.summary)[:-1])
    for name in TABLES:
        write(f', "{name}": [')
        for number, row in enumerate(result.rows(name)):
            if row.get("window", 0) is None:
                del row["window"]  # without --window, all of the log is one period
            write((", " if number else "") + json.dumps(row, default=_json_time))
        write("]")
    if failed is not None:
        write(f', "expectations": {json.dumps(failed)}')
    write("}\n")


def _json_time(value: Any) -> str:
    """Return a time as JSON text."""
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"


def print_tables(result: Run, rows: int, *, long: bool, windowed: bool) -> None:
    """Print the verdict, the tables, then the counts.

    A log without Microbus traffic has its findings first, then the tables that have rows.
    """
    from ..audit import ANSWERS, TABLES, verdict
    from ..audit._results.shown_rows import told_elsewhere

    console = Console() if sys.stdout.isatty() else None
    print(verdict(result))
    names: Sequence[str] = tuple(TABLES)
    if not result.summary["planes"] and result.count("flows"):
        print("no Microbus traffic: the tables of any NATS system follow (--long prints all)")
        print_findings(result, rows, None if console is None else console.width)
        if not long:
            names = [name for name in _WITHOUT_MICROBUS if result.count(name)]
    elif not result.summary["planes"] and not long:
        names = [name for name in TABLES if result.count(name)]
    empty = []
    for name in names:
        if (name in _LONG and not long) or (name in ANSWERS and not result.count(name)):
            continue
        if not result.count(name):
            empty.append(name)
            continue
        hidden = (frozenset() if long else _WIDE) | (frozenset() if windowed else {"window"})
        total, shown, same = _largest(result, name, rows, folded=not long)
        hidden |= frozenset() if long else told_elsewhere(shown)
        columns = tuple(column for column in TABLES[name] if column not in hidden)
        _print_table(console, _title(name, total), columns, total, shown, same)
    if empty:
        print(f"\nwithout rows: {', '.join(empty)}")
    print_counts(result)


def _print_table(
    console: Console | None,
    title: str,
    columns: tuple[str, ...],
    total: int,
    shown: list[dict[str, Any]],
    same: frozenset[str],
    options: str = "--rows 0, --json or --out",
) -> None:
    """Print a table for a terminal, or plain without one; and the options that show all its rows.

    ``same`` are the columns that have one value in all rows, also in those that are not shown.
    """
    title, columns = _without_account(title, columns, shown, same)
    if console is None:
        _plain_table(title, columns, shown)
    else:
        _rich_table(console, title, columns, shown, same)
    if total > len(shown):
        indent = "  " if console is None else ""
        say((f"{indent}… and {total - len(shown)} more (use {options})", "dim"))


def _without_account(
    title: str, columns: tuple[str, ...], rows: Sequence[dict[str, Any]], same: frozenset[str]
) -> tuple[str, tuple[str, ...]]:
    """Move the account into the title if all rows have the same one."""
    if "account" not in columns or "account" not in same:
        return title, columns
    name = rows[0]["account"]
    title = title if name is None else f"{title}, account {_cell(name)}"
    return title, tuple(column for column in columns if column != "account")


def _largest(
    result: Run, name: str, rows: int, *, folded: bool = False
) -> tuple[int, list[dict[str, Any]], frozenset[str]]:
    """Return the number of rows of a table, its ``rows`` largest ones, and its constant columns.

    The largest rows come in a stable order; a column is constant if all rows have one value.
    """
    from ..audit._results.shown_rows import shown_rows

    total = 0
    same: dict[str, Any] = {}

    def ranked() -> Any:
        """Yield each row after its sort key."""
        nonlocal total, same
        for row in shown_rows(result, name) if folded else result.rows(name):
            size = next((row[column] for column in _RANKED_BY if column in row), 0)
            same = {c: v for c, v in same.items() if row[c] == v} if total else dict(row)
            yield -size, total, row
            total += 1

    chosen = sorted(ranked()) if rows <= 0 else heapq.nsmallest(rows, ranked())
    return total, [row for _, _, row in chosen], frozenset(same)


def print_failures(failed: Sequence[dict[str, Any]]) -> None:
    """Print the expectations that a result does not satisfy."""
    print(f"\nExpectations that are not satisfied: {len(failed)}")
    if failed:
        _aligned(tuple(failed[0]), failed)


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
    if isinstance(value, dict):  # a rate
        return Rate("", value["width_s"], tuple(value["counts"])).text or "-"
    return printable(value) if isinstance(value, str) else str(value)


def _rich_table(
    console: Console,
    title: str,
    columns: tuple[str, ...],
    shown: list[dict[str, Any]],
    same: frozenset[str],
) -> None:
    """Print a table with borders, for a terminal."""
    columns, constant = _varying(columns, shown, same)
    title = ", ".join([title, *constant])
    # Many columns stand close.
    blanks = 0 if len(columns) > _CLOSE else 1
    # As ``Text``: rich takes no brackets, colons or numbers of it for styles or pictures.
    heading = Text(title, "table.title")
    table = Table(title=heading, title_justify="left", padding=(0, blanks))
    cells = [tuple(_cell(row[column]) for column in columns) for row in shown]
    # Beside its text, a column takes a line and its blanks.
    room = console.width - (1 + 2 * blanks) * len(columns) - 1
    widths = fitted_widths([columns, *cells], room)
    for column, width in zip(columns, widths, strict=True):
        numbers = all(type(row[column]) is int for row in shown)
        justify: Literal["right", "left"] = "right" if numbers else "left"
        name = column if len(column) <= width else _SHORT.get(column, column)
        table.add_column(cut(name, width), justify=justify, no_wrap=True)
    for line in cells:
        fitted = zip(columns, line, widths, strict=True)
        table.add_row(*(Text(_fitted(name, text, width)) for name, text, width in fitted))
    console.print()
    console.print(table)


def _varying(
    columns: tuple[str, ...], rows: Sequence[dict[str, Any]], constant: frozenset[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that have several values, and the others with their value.

    A table of one row keeps all its columns, and every table its first one if all are equal.
    """
    if len(rows) < 2:
        return columns, []
    same = [column for column in columns if column in constant]
    if len(same) == len(columns):
        same = same[1:]
    varying = tuple(column for column in columns if column not in same)
    return varying, [f"{column} {_cell(rows[0][column])}" for column in same]


def fitted_widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of columns so that a row has at most ``width`` characters.

    Headings are cut first, then the widest columns: to 8 characters, or to what is in them. If that
    is not enough, texts are cut to 5, so that every column keeps its place.

    Args:
        rows: The headings, then the rows.
        width: The number of characters for all columns.
    """
    columns = range(len(rows[0]))
    widths = [max(len(row[i]) for row in rows) for i in columns]
    cells = [max([_NARROWEST_HEADING, *(len(row[i]) for row in rows[1:])]) for i in columns]
    numbers = [all(row[i].isdigit() for row in rows[1:]) for i in columns]
    narrow = [min(_NARROWEST, cell) for cell in cells]
    narrowest = [least if numbers[i] else _NARROWEST_HEADING for i, least in enumerate(narrow)]
    for least in (cells, narrow, narrowest):
        while sum(widths) > width:
            wide = [i for i in columns if widths[i] > least[i]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def cut(text: str, width: int) -> str:
    """Return a text cut in the middle to a width, with its beginning and its end."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _fitted(column: str, text: str, width: int) -> str:
    """Return the text of a cell: a subject in several lines if there is room, others cut."""
    if column in _SUBJECTS and width >= _NARROWEST_SUBJECT:
        return broken(text, width)
    return cut(text, width)


def broken(subject: str, width: int) -> str:
    """Return a subject in lines of at most a width, which end after a dot where one fits.

    Args:
        subject: The subject.
        width: The most characters of a line.
    """
    lines = [""]
    for token in re.findall(r"[^.]*\.|[^.]+", subject):
        if len(lines[-1]) + len(token) > width:
            lines += [token[at : at + width] for at in range(0, len(token), width)]
        else:
            lines[-1] += token
    return "\n".join(filter(None, lines))


def _plain_table(title: str, columns: tuple[str, ...], shown: list[dict[str, Any]]) -> None:
    """Print a table as aligned columns, for a file or a pipe."""
    print(f"\n{title}")
    _aligned(columns, shown)


def _aligned(columns: tuple[str, ...], rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as aligned columns."""
    cells = [columns, *(tuple(_cell(row[column]) for column in columns) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
