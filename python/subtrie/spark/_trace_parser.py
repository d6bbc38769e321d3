"""Parse the lines of one byte range of a trace log to rows: what the audit needs of each line.

Every line is counted once, as operation, payload, another line of the broker, or unparseable. The
parser also determines the end of the *window* of each publish: the next inbound operation of its
connection (payload lines aside), its refusal, or the first line more than one second of log time
after its payload line. It therefore reads past its range until every window that it opened is
closed, so that the result does not depend on how the file is split.

The prefix of a line (except its time) repeats on every line of a connection. It is parsed once with
``wire.log``, and then looked up by its text.
"""

from __future__ import annotations

import calendar
import heapq
import re
import time
from collections.abc import Iterator
from typing import BinaryIO

from ..wire import log
from ._byte_ranges import LONGEST, lines_from
from ._row_batch import PrefixFields, RowBatch, Window
from ._text_encoding import decode_line, escape_line, escape_surrogates

#: The longest time between a payload line and its deliveries, in microseconds of log time.
WINDOW = 1_000_000
_SHOWN = 512  # characters of an unparseable line that are kept
_CACHED_PREFIXES = 65_536  # bounds the memory for a log of many connections
_CLOSED = re.compile(r"\w+ connection closed")
_WORD = re.compile(r"[A-Za-z+-]{1,12}\Z")

_CLIENTS = frozenset({"client", "websocket", "mqtt"})
# Number of words of the operations that the audit reads, including the operation itself.
_ARITY = {
    "PUB": (3, 4),
    "HPUB": (4, 5),
    "MSG": (4, 5),
    "HMSG": (5, 6),
    "SUB": (3, 4),
    "UNSUB": (2, 3),
    "DELSUB": (2, 2),
}
_SIZED = frozenset({"PUB", "HPUB", "MSG", "HMSG"})
_HOPS = frozenset({"RMSG", "HMSG", "LMSG", "MSG"})
_IN, _OUT, _LOCAL = "<<-", "->>", "<->"


def rows_of(
    stream: BinaryIO, log_number: int, start: int, end: int, size: int, batch_rows: int = 8192
) -> Iterator[RowBatch]:
    """Yield the rows of the lines that begin in ``[start, end)`` of a log of ``size`` bytes.

    The last batch ends with the counts of the range. Never raises for the contents of the log.

    Args:
        stream: The log, seekable.
        log_number: The value of the column ``log``.
        start: The first byte of the range.
        end: The byte after the range.
        size: The size of the log.
        batch_rows: The number of rows after which a batch is complete.
    """
    parser = TraceParser(log_number)
    for position, lines in lines_from(stream, start, size):
        if position >= end:
            if parser.read(position, lines, own=False):
                break
            continue
        length = sum(map(len, lines)) + len(lines)
        if position + length <= end or len(lines) == 1:
            parser.read(position, lines, own=True)
        else:
            count, at = 0, position
            while at < end and count < len(lines):
                at += len(lines[count]) + 1
                count += 1
            parser.read(position, lines[:count], own=True)
            if parser.read(at, lines[count:], own=False):
                break
        if len(parser.batch) >= batch_rows:
            yield parser.batch
            parser.batch = RowBatch(log_number)
    parser.finish(size)
    yield parser.batch


class TraceParser:
    """The state of one pass: open windows, cached prefixes, counts."""

    def __init__(self, log_number: int) -> None:
        self.log_number = log_number
        self.batch = RowBatch(log_number)
        self.operations = self.payloads = self.server = self.unparseable_lines = 0
        self._open: dict[str, Window] = {}
        self._limits: list[tuple[int, int, Window]] = []
        self._prefixes: dict[str, PrefixFields] = {}
        self._pid = "["  # the process id as this log prints it, or nothing
        self._second = ""
        self._epoch = 0

    def read(self, pos: int, lines: list[str], *, own: bool) -> bool:
        """Parse consecutive lines, the first at byte ``pos``.

        Lines that are not ``own`` only close windows. Returns whether all windows are closed.
        """
        prefixes, limits, opened = self._prefixes, self._limits, self._open
        pid = self._pid
        a = len(pid)
        d, b, c = a + 19, a + 26, a + 33
        operations = payloads = 0
        for line in lines:
            if not own and not opened:
                break
            line_pos = pos
            length = len(line)
            pos += length + 1
            if line[-1:] == "\r":
                line = line[:-1]
            prefix = None
            if line[b:c] == " [TRC] " and line.startswith(pid):
                at = line.find("[", c)
                if at > 0:
                    prefix = prefixes.get(line[b:at])
            if prefix is not None and line[a:d] == self._second and line[d + 1 : b].isdecimal():
                stamp: int | None = self._epoch + int(line[d + 1 : b])
            else:
                found = self._parse_prefix(line, line_pos, own)
                if found is None:
                    continue
                prefix, stamp, at = found
                if pid != self._pid:
                    pid = self._pid
                    a = len(pid)
                    d, b, c = a + 19, a + 26, a + 33
            if limits and stamp is not None and stamp > limits[0][0]:
                self._expire(stamp, line_pos)

            if prefix.payload:
                if not (line.endswith('"]') or length > LONGEST):
                    self._unparseable(line_pos, "incomplete line", line, own)
                    continue
                payloads += 1
                if prefix.arrow == _IN and stamp is not None:
                    window = opened.get(prefix.conn)
                    if window is not None:
                        window.limit = stamp + WINDOW
                continue

            if length > LONGEST:
                self._unparseable(line_pos, "line too long", line, own)
                continue
            if line[-1] != "]":
                self._unparseable(line_pos, "incomplete line", line, own)
                continue
            parts = line[at + 1 : -1].split(" ")
            if "" in parts or "\t" in line:
                parts = line[at + 1 : -1].replace("\t", " ").split(" ")
                parts = [part for part in parts if part]
            if not line.isascii():
                parts = [escape_line(part) for part in parts]
            reason = self._operation(line_pos, prefix, stamp, parts, own)
            if reason is None:
                operations += 1
            else:
                self._unparseable(line_pos, reason, line, own)
        if own:
            self.operations += operations
            self.payloads += payloads
        return not opened

    def finish(self, size: int) -> None:
        """Close the open windows at the end of the log, and add the counts."""
        for window in list(self._open.values()):
            self._close(window, size)
        counts = (self.operations, self.payloads, self.server, self.unparseable_lines)
        for what, count in zip(
            ("operations", "payloads", "server", "unparseable_lines"), counts, strict=True
        ):
            self.batch.add("count", 0, subject=what, size=count)

    def _operation(
        self, pos: int, prefix: PrefixFields, stamp: int | None, parts: list[str], own: bool
    ) -> str | None:
        """Add the rows of one operation; return a reason if it is not an operation."""
        if not parts:
            return "not an operation"
        op = parts[0]
        if not prefix.client:
            return self._between_brokers(pos, prefix, stamp, parts, own)
        arity = _ARITY.get(op)
        if arity is None:
            if not _WORD.match(op):
                return "not an operation"
        elif not arity[0] <= len(parts) <= arity[1]:
            return "wrong number of arguments"
        elif op in _SIZED and not (parts[-1].isdecimal() and len(parts[-1]) < 18):
            return "size is not a number"

        if prefix.arrow == _IN:
            window = self._open.pop(prefix.conn, None)
            if window is not None:
                self._close(window, pos)
            if not own:
                return None
            if op in ("PUB", "HPUB"):
                reply = parts[2] if len(parts) == arity[1] else ""  # type: ignore[index]
                self._window(pos, prefix, [(parts[1], reply)], int(parts[-1]), stamp)
            elif op == "SUB":
                self.batch.add(
                    "subscribe",
                    pos,
                    conn=prefix.conn,
                    account=prefix.account,
                    subject=parts[1],
                    queue=parts[2] if len(parts) == 4 else None,
                    sid=parts[-1],
                )
            elif op == "UNSUB" and (len(parts) == 2 or not parts[2].strip("0").isdecimal()):
                self.batch.add("unsubscribe", pos, conn=prefix.conn, sid=parts[1])
        elif own:
            if op in ("MSG", "HMSG") and prefix.arrow == _OUT:
                reply = parts[3] if len(parts) == arity[1] else ""  # type: ignore[index]
                self.batch.delivery(pos, prefix.conn, parts[1], reply, parts[2], int(parts[-1]))
            elif op == "DELSUB":
                self.batch.add("unsubscribe", pos, conn=prefix.conn, sid=parts[1])
        return None

    def _between_brokers(
        self, pos: int, prefix: PrefixFields, stamp: int | None, parts: list[str], own: bool
    ) -> str | None:
        """Add the rows of one operation on a route, gateway or leaf connection."""
        op = parts[0]
        if not _WORD.match(op):
            return "not an operation"
        if prefix.arrow == _IN:
            window = self._open.pop(prefix.conn, None)
            if window is not None:
                self._close(window, pos)
        if op not in _HOPS or not own or prefix.arrow == _LOCAL:
            return None
        if len(parts) < 3 or not parts[-1].isdecimal() or len(parts[-1]) >= 18:
            return "wrong number of arguments"
        size = int(parts[-1])
        words = parts[1:-1]
        if op in ("HMSG", "LMSG") and len(words) > 1 and words[-1].isdecimal():
            words.pop()
        keys = hop_keys(words)
        if prefix.arrow == _IN:
            self._window(pos, prefix, keys, size, stamp)
        else:
            for subject, reply in keys:
                self.batch.add(
                    "hop", pos, conn=prefix.conn, subject=subject, reply=reply, size=size
                )
        return None

    def _window(
        self,
        pos: int,
        prefix: PrefixFields,
        keys: list[tuple[str, str]],
        size: int,
        stamp: int | None,
    ) -> None:
        """Open the window of a message."""
        limit = None if stamp is None else stamp + WINDOW
        window = Window(pos, prefix, keys, size, limit)
        self._open[prefix.conn] = window
        if limit is not None:
            heapq.heappush(self._limits, (limit, pos, window))

    def _expire(self, stamp: int, pos: int) -> None:
        """Close the windows whose time limit has passed at this line."""
        limits = self._limits
        while limits and limits[0][0] < stamp:
            _, opened, window = heapq.heappop(limits)
            if window.end is not None:
                continue
            assert window.limit is not None
            if window.limit < stamp:
                if self._open.get(window.prefix.conn) is window:
                    del self._open[window.prefix.conn]
                self._close(window, pos)
            else:  # its payload line came later
                heapq.heappush(limits, (window.limit, opened, window))

    def _close(self, window: Window, pos: int) -> None:
        """Close a window at ``pos`` and add its rows."""
        window.end = pos
        for subject, reply in window.keys:
            self.batch.window(window, subject, reply)

    def _parse_prefix(
        self, line: str, pos: int, own: bool
    ) -> tuple[PrefixFields, int | None, int] | None:
        """Parse a prefix that is not cached; return None if the line needs nothing else."""
        text = decode_line(line)
        found = log.read_prefix(text)
        if found is None:
            if log.is_message(text):
                self._note_time(text, pos)
                self.server += own
            else:
                self._unparseable(pos, "not a nats-server line", line, own)
            return None
        fields, rest = found
        stamp = self._time(fields.ts)
        assert fields.kind is not None
        conn = f"{fields.pid if fields.pid is not None else '-'}/{fields.kind}:{fields.id}"
        if rest[:3] not in log.DIRECTIONS:
            if fields.level == "TRC":
                self._unparseable(pos, "incomplete line", line, own)
                return None
            if stamp is not None:
                self._expire(stamp, pos)
            self.server += own
            self._message(pos, conn, fields, rest, own)
            return None
        payload = rest.startswith("MSG_PAYLOAD: [", 4)
        if not payload and rest[3:5] != " [":
            self._unparseable(
                pos, "incomplete line" if len(rest) < 5 else "not an operation", line, own
            )
            return None
        prefix = PrefixFields(
            conn,
            fields.kind in _CLIENTS,
            rest[:3],
            payload,
            escape_surrogates(fields.user),
            escape_surrogates(log.client_name(fields.client)),
            escape_surrogates(fields.account),
        )
        # `rest` begins with the arrow of the operation; the text before it is the key of the cache.
        at = len(line) - len(rest.encode("utf-8", "surrogateescape")) + rest.index("[")
        self._cache(line, at, fields, prefix)
        return prefix, stamp, at

    def _cache(self, line: str, at: int, fields: log.LinePrefix, prefix: PrefixFields) -> None:
        """Cache the prefix by its text, if the fast path would find the same bracket."""
        if fields.ts is None or len(fields.ts) != 26 or fields.level != "TRC":
            return
        pid = "" if fields.pid is None else f"[{fields.pid}] "
        if not line.startswith(f"{pid}{fields.ts} [TRC] "):
            return
        if pid != self._pid:
            self._pid = pid
            self._prefixes.clear()
        start = len(pid) + 26
        if line.find("[", start + 7) == at:
            if len(self._prefixes) >= _CACHED_PREFIXES:
                self._prefixes.clear()
            self._prefixes[line[start:at]] = prefix

    def _message(self, pos: int, conn: str, fields: log.LinePrefix, rest: str, own: bool) -> None:
        """Parse a message about a connection: a refusal, or that the connection closed."""
        violation = log.violation(rest)
        if violation is None:
            if own and fields.kind in _CLIENTS and _CLOSED.match(rest):
                self.batch.add("closed", pos, conn=conn)
            return
        subject = escape_surrogates(violation.subject)
        if violation.kind != "subscribe":
            window = self._open.get(conn)
            if window is not None and (violation.kind == "reply" or window.keys[0][0] == subject):
                del self._open[conn]
                window.refusal = violation.kind
                self._close(window, pos)
        if own:
            self.batch.add(
                "refusal",
                pos,
                conn=conn,
                user=escape_surrogates(fields.user),
                name=escape_surrogates(log.client_name(fields.client)),
                subject=subject,
                queue=escape_surrogates(violation.queue),
                sid=escape_surrogates(violation.sid),
                reason=violation.kind,
            )

    def _unparseable(self, pos: int, reason: str, line: str, own: bool) -> None:
        """Add the row of a line that cannot be parsed."""
        if own:
            self.unparseable_lines += 1
            self.batch.add("unparseable", pos, reason=reason, text=escape_line(line[:_SHOWN]))

    def _note_time(self, text: str, pos: int) -> None:
        """Close the windows whose limit has passed at a line about no connection."""
        record = log.parse_line(text)
        stamp = None if record is None else self._time(record.ts)
        if stamp is not None:
            self._expire(stamp, pos)

    def _time(self, ts: str | None) -> int | None:
        """Return a time of the log as microseconds since 1970, or None if it is not valid."""
        if ts is None:
            return None
        second, _, fraction = ts.partition(".")
        if second != self._second:
            try:
                self._epoch = (
                    calendar.timegm(time.strptime(second, "%Y/%m/%d %H:%M:%S")) * 1_000_000
                )
            except ValueError:
                return None
            self._second = second
        return self._epoch + int(fraction[:6].ljust(6, "0"))


def hop_keys(words: list[str]) -> list[tuple[str, str]]:
    """Return the possible subjects and replies of a message between brokers.

    With ``+ reply queue…`` and ``| queue…`` the subject is certain. Without them the account may or
    may not be printed, so both readings are returned; the wrong one matches no publish.
    """
    for i, word in enumerate(words):
        if i and word == "|":
            return [(words[i - 1], "")]
        if i and word == "+" and i + 1 < len(words):
            return [(words[i - 1], words[i + 1])]
    keys = [(words[-1], "")]
    if len(words) > 1:
        keys.append((words[-2], words[-1]))
    return keys
