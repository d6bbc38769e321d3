"""The lines of the logs that a row of a table is from.

The tables have no positions in the logs, so the lines are searched for: operations on the subject,
the pattern or the edge of the row, of all clients unless it names one. Cost: one pass over the
logs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import microbus
from ..._core.errors import SubtrieError
from ...wire.log import SLOW_CONSUMER, LogRecord, client_name, parse_line, violation
from .._identity import who_connected
from .._readers.log_files import shown_path
from .._readers.log_reader import open_plain
from .._schema import TABLE_KEYS

if TYPE_CHECKING:
    from .._run import Run

#: Tables whose rows are about one edge, and their columns of the caller and the callee.
_EDGES = {"call_graph": ("source", "destination"), "gap": ("service", "destination")}
#: Tables whose rows are about a subscription.
_SUBSCRIBED = ("subscriptions", "coverage")
#: Columns with a subject or a pattern, the most specific first.
_SUBJECTS = ("subject", "pattern", "rule")
#: Lines longer than this are cut, as in the audit.
_LONGEST = 65_536
_BLOCK = 1 << 20
_Wanted = Callable[[LogRecord], bool]


class LogLine(NamedTuple):
    """A line of a log."""

    log: str
    offset: int
    text: str


def row_lines(
    result: Run, table: str, keys: Sequence[str], logs: Sequence[str]
) -> Iterator[LogLine]:
    """Yield the lines of the logs that a row is from, in the order of the logs.

    Args:
        result: The result of an audit.
        table: One of its tables.
        keys: The values of the key columns of the row (``TABLE_KEYS``), as a report writes them:
            ``-`` for null, times in ISO 8601.
        logs: The logs that were audited.

    Raises:
        ValueError: The table is unknown or its rows have no lines, or no row has these keys.
        OSError: A log cannot be read.
    """
    row = _row(result, table, keys)
    if table == "unparseable":
        return _at_offset(row, logs)
    return _matching(_wanted(table, row), logs)


def key_text(value: Any) -> str:
    """Return a value of a key column as a word of a command."""
    if value is None:
        return "-"
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z" if hasattr(value, "isoformat") else str(value)


def _row(result: Run, table: str, keys: Sequence[str]) -> dict[str, Any]:
    names = TABLE_KEYS.get(table)
    if names is None:
        raise ValueError(f"{table!a} is not a table; the tables are {', '.join(TABLE_KEYS)}")
    # The account, and the programs after it, may be left out.
    least = names.index("account") if "account" in names else len(names)
    if not least <= len(keys) <= len(names):
        raise ValueError(f"a row of {table} is named by {len(names)} values: {', '.join(names)}")
    for row in result.rows(table):
        if all(key_text(row[name]) == key for name, key in zip(names, keys, strict=False)):
            return row
    raise ValueError(f"no row of {table} has these values of {', '.join(names)}")


def _wanted(table: str, row: dict[str, Any]) -> _Wanted:
    """Return whether a line is one of the row."""
    if table in _SUBSCRIBED:
        return lambda record: record.op in ("SUB", "RS+", "LS+") and row["pattern"] in record.args
    if table in _EDGES:
        return _on_subject(_edge_test(row, *_EDGES[table]))
    if table == "replies":
        ends = (row["replier"], row["caller"])
        return _on_subject(lambda subject: _reply_ends(subject) == ends)
    if table == "slow_consumers":
        return _of(row["who"], _is_slow(row["client"]))
    if table == "claimed_users":
        return _of(row["who"], lambda record: record.op == "CONNECT")
    if table == "jetstream_errors":
        return _of(row["who"], lambda record: _says(record, row["why"]))
    if table == "consumers":
        return _of_consumer(row)
    if table in _OF_CONNECTIONS:
        return _OF_CONNECTIONS[table](row)
    for name in _SUBJECTS:
        if row.get(name) is not None:
            return _of(row.get("who"), _on_subject(_subject_test(row[name])))
    raise ValueError(f"rows of {table} are not from single lines")


def _is_slow(client: str | None) -> _Wanted:
    """Return whether a line is that of a slow consumer, of the client of this name if given."""

    def test(record: LogRecord) -> bool:
        same = client is None or client_name(record.client) in (None, client)
        return same and (record.message or "").startswith(SLOW_CONSUMER)

    return test


def _says(record: LogRecord, why: str) -> bool:
    """Return whether a line is an answer with an error of this description."""
    payload = record.payload or ""
    return record.direction == "out" and '"error":' in payload and f'"{why}' in payload


def _of_consumer(row: dict[str, Any]) -> _Wanted:
    """Return whether a line is a delivery of the consumer, or an acknowledgement."""
    of = f"{row['stream']}.{row['consumer']}.>"
    tests = [_subject_test(f"$JS.ACK.{before}{of}") for before in ("", "*.*.")]
    return lambda record: any(test(each) for each in record.args[:3] for test in tests)


def _of_login(row: dict[str, Any]) -> _Wanted:
    """Return whether a line is a CONNECT from the address, or the refusal of a login."""

    def test(record: LogRecord) -> bool:
        if row["address"] != _host(record.peer or ""):
            return False
        if row["outcome"] == "accepted":
            return record.op == "CONNECT"
        message = record.message or ""
        return message.startswith(row["why"]) and (row["who"] or "") in message

    return test


def _host(peer: str) -> str:
    """Return an address without its port, as the audit does."""
    host, colon, _ = peer.rpartition(":")
    host = host if colon else peer
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _of_link(row: dict[str, Any]) -> _Wanted:
    return lambda record: _conn(record) == row["conn"] and record.message is not None


def _process(record: LogRecord) -> str:
    return "-" if record.pid is None else str(record.pid)


def _conn(record: LogRecord) -> str:
    """Return the connection of a line, as the audit names it."""
    return f"{_process(record)}/{record.kind}:{record.id}"


def _of_server(row: dict[str, Any]) -> _Wanted:
    begin = _SAID[row["event"]]

    def test(record: LogRecord) -> bool:
        same = record.kind is None and _process(record) == row["process"]
        return same and (record.message or "").startswith(begin)

    return test


#: The beginnings of what servers say of themselves.
_SAID = {
    "start": "Starting nats-server", "ready": "Server is ready",
    "reload": "Reloaded server configuration", "lame duck": "Entering lame duck mode",
    "stop": "Initiating Shutdown",
}  # fmt: skip
_OF_CONNECTIONS: dict[str, Callable[[dict[str, Any]], _Wanted]] = {
    "logins": _of_login, "links": _of_link, "servers": _of_server,
}  # fmt: skip


def _of(who: str | None, is_wanted: _Wanted) -> _Wanted:
    """Return whether a line is wanted, and of the client ``who`` if one is named."""
    if who is None:
        return is_wanted
    proven: dict[str, str | None] = {}

    def test(record: LogRecord) -> bool:
        conn = _conn(record)
        if record.op == "CONNECT" and (name := _name_in_jwt(record)) is not None:
            proven[conn] = name
        names = (proven.get(conn), record.user, client_name(record.client), conn)
        return who in (names[::3] if conn in proven else names) and is_wanted(record)

    return test


def _name_in_jwt(record: LogRecord) -> str | None:
    """Return the name in the JWT of a CONNECT; None without one."""
    try:
        options = json.loads(record.args[0]) if record.args else None
    except (ValueError, RecursionError):
        return None
    found = who_connected(options) if isinstance(options, dict) else None
    return found.identity if found is not None and found.source == "jwt" else None


def _on_subject(is_wanted: Callable[[str], bool]) -> _Wanted:
    """Return whether a line is an operation on such a subject, or its refusal."""

    def test(record: LogRecord) -> bool:
        if record.op is None:
            refused = violation(record.message or "")
            return refused is not None and is_wanted(refused.subject)
        if record.op == "MSG_PAYLOAD" or not record.args:
            return False
        # Between servers the account may stand before the subject.
        places = 1 if record.kind == "client" else 2
        return any(is_wanted(argument) for argument in record.args[:places])

    return test


def _subject_test(pattern: str) -> Callable[[str], bool]:
    tokens = pattern.split(".")
    if not {"*", ">"} & set(tokens) or ">" in tokens[:-1]:  # the latter is a subject as it is
        return lambda subject: subject == pattern
    parts = {"*": r"[^.]+", ">": r"[^.]+(?:\.[^.]+)*"}
    # A wildcard token of a published subject is text to the broker.
    wanted = re.compile(r"\.".join(parts.get(each, re.escape(each)) for each in tokens))
    return lambda subject: subject == pattern or wanted.fullmatch(subject) is not None


def _edge_test(row: dict[str, Any], source: str, destination: str) -> Callable[[str], bool]:
    route = row.get("route", row.get("path"))
    has_path = None if route is None else _subject_test(route)

    def test(subject: str) -> bool:
        try:
            address = microbus.decode(subject)
        except SubtrieError:
            return False
        if not isinstance(address, microbus.RequestAddress):
            return False
        if (address.source, address.host) != (row[source], row[destination]):
            return False
        if row["port"] not in (None, address.port) or row["method"] not in ("*", address.method):
            return False
        return has_path is None or has_path(subject.split(".", 7)[-1])

    return test


def _reply_ends(subject: str) -> tuple[str, str] | None:
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return (address.source, address.host) if isinstance(address, microbus.ReplyAddress) else None


def _matching(is_wanted: _Wanted, logs: Sequence[str]) -> Iterator[LogLine]:
    for log, offset, line in _lines(logs):
        record = parse_line(line, reveal="[CONNECT " in line)
        if record is not None and is_wanted(record):
            yield LogLine(log, offset, line)


def _at_offset(row: dict[str, Any], logs: Sequence[str]) -> Iterator[LogLine]:
    named = [log for log in logs if shown_path(log) == row["file"]]
    name = os.path.basename(row["file"])  # the logs may have been moved since the audit
    alike = [log for log in logs if os.path.basename(shown_path(log)) == name]
    for log, offset, line in _lines(named or alike):
        if offset == row["offset"]:
            yield LogLine(log, offset, line)


def _lines(logs: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Yield each line of the logs with its offset; of a long line, its first bytes."""
    for log in logs:
        stream, _ = open_plain(log)
        with stream:
            offset = skipped = 0
            rest = b""
            while block := stream.read(_BLOCK):
                *complete, rest = (rest + block).split(b"\n")
                for line in complete:
                    yield log, offset, _text(line)
                    offset += len(line) + skipped + 1
                    skipped = 0
                skipped += max(0, len(rest) - _LONGEST)
                rest = rest[:_LONGEST]
            if rest:
                yield log, offset, _text(rest)


def _text(line: bytes) -> str:
    return line[:_LONGEST].rstrip(b"\r").decode("utf-8", "replace")
