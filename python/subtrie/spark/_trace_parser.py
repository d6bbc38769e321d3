"""From the lines of one byte range of a trace log to rows: what the audit needs of each line.

Every line is counted once, as operation, payload, another line of the broker, or unparseable_lines.
The reader also finds where the *window* of each publish ends: at the next inbound operation of its
connection (payload lines aside), at its refusal, or at the first line more than one second of log
time after its payload line. It therefore reads on past its range until every window it opened is
closed, which is what makes the answer the same for any split.

The front of a line (times aside) repeats for every line of a connection; it is parsed once with
``wire.log`` and then found by its text.
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
from ._open_window import Link, Window
from ._row_batch import RowBatch
from ._text_encoding import as_text, clean, hop_keys, spelled

#: How long after its payload line a publish may still be delivered, in microseconds of log time.
WINDOW = 1_000_000
_SHOWN = 512  # characters of a unparseable_lines line that are kept
_REMEMBERED = 65_536  # fronts remembered
_CLOSED = re.compile(r"\w+ connection closed")
_WORD = re.compile(r"[A-Za-z+-]{1,12}\Z")

_CLIENTS = frozenset({"client", "websocket", "mqtt"})
# Arguments of the operations that the audit reads, the operation itself included.
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
    """The rows of the lines that begin in ``[start, end)`` of a log of ``size`` bytes.

    The last batch ends with the counts of the range. Never raises for what the log holds.
    """
    reader = TraceReader(log_number)
    for position, lines in lines_from(stream, start, size):
        if position >= end:
            if reader.read(position, lines, own=False):
                break
            continue
        length = sum(map(len, lines)) + len(lines)
        if position + length <= end or len(lines) == 1:
            reader.read(position, lines, own=True)
        else:
            mine, at = 0, position
            while at < end and mine < len(lines):
                at += len(lines[mine]) + 1
                mine += 1
            reader.read(position, lines[:mine], own=True)
            if reader.read(at, lines[mine:], own=False):
                break
        if len(reader.batch) >= batch_rows:
            yield reader.batch
            reader.batch = RowBatch(log_number)
    reader.finish(size)
    yield reader.batch


class TraceReader:
    """The state of one pass: open windows, remembered fronts, counts."""

    def __init__(self, log_number: int) -> None:
        self.log_number = log_number
        self.batch = RowBatch(log_number)
        self.operations = self.payloads = self.server = self.unparseable_lines = 0
        self._open: dict[str, Window] = {}
        self._limits: list[tuple[int, int, Window]] = []
        self._links: dict[str, Link] = {}
        self._prefix = "["  # the process id as this log prints it, or nothing
        self._second = ""
        self._epoch = 0

    def read(self, pos: int, lines: list[str], *, own: bool) -> bool:
        """Takes in lines that follow one another, the first at byte ``pos``.

        Lines that are not ``own`` only close windows; True says that none is left open.
        """
        links, limits, opened = self._links, self._limits, self._open
        prefix = self._prefix
        a = len(prefix)
        d, b, c = a + 19, a + 26, a + 33
        operations = payloads = 0
        for line in lines:
            if not own and not opened:
                break
            here = pos
            length = len(line)
            pos += length + 1
            if line[-1:] == "\r":
                line = line[:-1]
            link = None
            if line[b:c] == " [TRC] " and line.startswith(prefix):
                at = line.find("[", c)
                if at > 0:
                    link = links.get(line[b:at])
            if link is not None and line[a:d] == self._second and line[d + 1 : b].isdecimal():
                stamp: int | None = self._epoch + int(line[d + 1 : b])
            else:
                found = self._slow(line, here, own)
                if found is None:
                    continue
                link, stamp, at = found
                if prefix != self._prefix:
                    prefix = self._prefix
                    a = len(prefix)
                    d, b, c = a + 19, a + 26, a + 33
            if limits and stamp is not None and stamp > limits[0][0]:
                self._expire(stamp, here)

            if link.payload:
                if not (line.endswith('"]') or length > LONGEST):
                    self._unparseable(here, "half a line", line, own)
                    continue
                payloads += 1
                if link.arrow == _IN and stamp is not None:
                    window = opened.get(link.conn)
                    if window is not None:
                        window.limit = stamp + WINDOW
                continue

            if length > LONGEST:
                self._unparseable(here, "line too long", line, own)
                continue
            if line[-1] != "]":
                self._unparseable(here, "half a line", line, own)
                continue
            parts = line[at + 1 : -1].split(" ")
            if "" in parts or "\t" in line:
                parts = line[at + 1 : -1].replace("\t", " ").split(" ")
                parts = [part for part in parts if part]
            if not line.isascii():
                parts = [spelled(part) for part in parts]
            reason = self._operation(here, link, stamp, parts, own)
            if reason is None:
                operations += 1
            else:
                self._unparseable(here, reason, line, own)
        if own:
            self.operations += operations
            self.payloads += payloads
        return not opened

    def finish(self, size: int) -> None:
        """The log ends: closes what is open and adds the counts."""
        for window in list(self._open.values()):
            self._close(window, size)
        counts = (self.operations, self.payloads, self.server, self.unparseable_lines)
        for what, count in zip(
            ("operations", "payloads", "server", "unparseable_lines"), counts, strict=True
        ):
            self.batch.add("count", 0, subject=what, size=count)

    def _operation(
        self, pos: int, link: Link, stamp: int | None, parts: list[str], own: bool
    ) -> str | None:
        """Takes in one operation; a reason when it is none."""
        if not parts:
            return "no operation"
        op = parts[0]
        if not link.client:
            return self._between_brokers(pos, link, stamp, parts, own)
        arity = _ARITY.get(op)
        if arity is None:
            if not _WORD.match(op):
                return "no operation"
        elif not arity[0] <= len(parts) <= arity[1]:
            return "wrong number of arguments"
        elif op in _SIZED and not (parts[-1].isdecimal() and len(parts[-1]) < 18):
            return "size is no number"

        if link.arrow == _IN:
            window = self._open.pop(link.conn, None)
            if window is not None:
                self._close(window, pos)
            if not own:
                return None
            if op in ("PUB", "HPUB"):
                reply = parts[2] if len(parts) == arity[1] else ""  # type: ignore[index]
                self._window(pos, link, [(parts[1], reply)], int(parts[-1]), stamp)
            elif op == "SUB":
                self.batch.add(
                    "subscribe",
                    pos,
                    conn=link.conn,
                    account=link.account,
                    subject=parts[1],
                    queue=parts[2] if len(parts) == 4 else None,
                    sid=parts[-1],
                )
            elif op == "UNSUB" and (len(parts) == 2 or not parts[2].strip("0").isdecimal()):
                self.batch.add("unsubscribe", pos, conn=link.conn, sid=parts[1])
        elif own:
            if op in ("MSG", "HMSG") and link.arrow == _OUT:
                reply = parts[3] if len(parts) == arity[1] else ""  # type: ignore[index]
                self.batch.delivery(pos, link.conn, parts[1], reply, parts[2], int(parts[-1]))
            elif op == "DELSUB":
                self.batch.add("unsubscribe", pos, conn=link.conn, sid=parts[1])
        return None

    def _between_brokers(
        self, pos: int, link: Link, stamp: int | None, parts: list[str], own: bool
    ) -> str | None:
        """Takes in one operation on a route, gateway or leaf connection."""
        op = parts[0]
        if not _WORD.match(op):
            return "no operation"
        if link.arrow == _IN:
            window = self._open.pop(link.conn, None)
            if window is not None:
                self._close(window, pos)
        if op not in _HOPS or not own or link.arrow == _LOCAL:
            return None
        if len(parts) < 3 or not parts[-1].isdecimal() or len(parts[-1]) >= 18:
            return "wrong number of arguments"
        size = int(parts[-1])
        words = parts[1:-1]
        if op in ("HMSG", "LMSG") and len(words) > 1 and words[-1].isdecimal():
            words.pop()
        keys = hop_keys(words)
        if link.arrow == _IN:
            self._window(pos, link, keys, size, stamp)
        else:
            for subject, reply in keys:
                self.batch.add("hop", pos, conn=link.conn, subject=subject, reply=reply, size=size)
        return None

    def _window(
        self,
        pos: int,
        link: Link,
        keys: list[tuple[str, str]],
        size: int,
        stamp: int | None,
    ) -> None:
        limit = None if stamp is None else stamp + WINDOW
        window = Window(pos, link, keys, size, limit)
        self._open[link.conn] = window
        if limit is not None:
            heapq.heappush(self._limits, (limit, pos, window))

    def _expire(self, stamp: int, pos: int) -> None:
        """Closes the windows whose second is over at this line."""
        limits = self._limits
        while limits and limits[0][0] < stamp:
            _, opened, window = heapq.heappop(limits)
            if window.end is not None:
                continue
            assert window.limit is not None
            if window.limit < stamp:
                if self._open.get(window.link.conn) is window:
                    del self._open[window.link.conn]
                self._close(window, pos)
            else:  # its payload line came later
                heapq.heappush(limits, (window.limit, opened, window))

    def _close(self, window: Window, pos: int) -> None:
        window.end = pos
        for subject, reply in window.keys:
            self.batch.window(window, subject, reply)

    def _slow(self, line: str, pos: int, own: bool) -> tuple[Link, int | None, int] | None:
        """Reads a front not seen before. None when the line is dealt with."""
        text = as_text(line)
        found = log.read_front(text)
        if found is None:
            if log.is_sentence(text):
                self._note_time(text, pos)
                self.server += own
            else:
                self._unparseable(pos, "not a line of the broker", line, own)
            return None
        front, rest = found
        stamp = self._time(front.ts)
        assert front.kind is not None
        conn = f"{front.pid if front.pid is not None else '-'}/{front.kind}:{front.id}"
        if rest[:3] not in log.DIRECTIONS:
            if front.level == "TRC":
                self._unparseable(pos, "half a line", line, own)
                return None
            if stamp is not None:
                self._expire(stamp, pos)
            self.server += own
            self._sentence(pos, conn, front, rest, own)
            return None
        payload = rest.startswith("MSG_PAYLOAD: [", 4)
        if not payload and rest[3:5] != " [":
            self._unparseable(pos, "half a line" if len(rest) < 5 else "no operation", line, own)
            return None
        link = Link(
            conn,
            front.kind in _CLIENTS,
            rest[:3],
            payload,
            clean(front.user),
            clean(log.client_name(front.client)),
            clean(front.account),
        )
        # `rest` starts where the operation does; what stands before it is remembered by its text.
        at = len(line) - len(rest.encode("utf-8", "surrogateescape")) + rest.index("[")
        self._remember(line, at, front, link)
        return link, stamp, at

    def _remember(self, line: str, at: int, front: log.Front, link: Link) -> None:
        """Keeps the front under its text, if the quick way would find exactly this bracket."""
        if front.ts is None or len(front.ts) != 26 or front.level != "TRC":
            return
        prefix = "" if front.pid is None else f"[{front.pid}] "
        if not line.startswith(f"{prefix}{front.ts} [TRC] "):
            return
        if prefix != self._prefix:
            self._prefix = prefix
            self._links.clear()
        start = len(prefix) + 26
        if line.find("[", start + 7) == at:
            if len(self._links) >= _REMEMBERED:
                self._links.clear()
            self._links[line[start:at]] = link

    def _sentence(self, pos: int, conn: str, front: log.Front, rest: str, own: bool) -> None:
        """A line about a connection that is no operation: refusals, and its end."""
        violation = log.violation(rest)
        if violation is None:
            if own and front.kind in _CLIENTS and _CLOSED.match(rest):
                self.batch.add("closed", pos, conn=conn)
            return
        subject = clean(violation.subject)
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
                user=clean(front.user),
                name=clean(log.client_name(front.client)),
                subject=subject,
                queue=clean(violation.queue),
                sid=clean(violation.sid),
                reason=violation.kind,
            )

    def _unparseable(self, pos: int, reason: str, line: str, own: bool) -> None:
        if own:
            self.unparseable_lines += 1
            self.batch.add("unparseable", pos, reason=reason, text=spelled(line[:_SHOWN]))

    def _note_time(self, text: str, pos: int) -> None:
        record = log.parse_line(text)
        stamp = None if record is None else self._time(record.ts)
        if stamp is not None:
            self._expire(stamp, pos)

    def _time(self, ts: str | None) -> int | None:
        """Microseconds since 1970 of a time as the log prints it; None when it is none."""
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
