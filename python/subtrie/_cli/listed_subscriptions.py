"""The subscriptions in a file of patterns, a trace log, a capture or a monitoring response."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from .._core.file_errors import check_no_pipe


class Listed(NamedTuple):
    """A subscription of a file.

    Attributes:
        unit: What the number counts: ``line``, or ``conn`` where the file has no lines.
        number: The line, or the connection.
        pattern: The pattern.
        queue: The queue group, or None.
        accepted: Whether a broker accepted it.
    """

    unit: str
    number: int | str | None
    pattern: str
    queue: str | None
    accepted: bool

    @property
    def place(self) -> str:
        """The place in the file."""
        return f"{self.unit} {self.number}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"pattern": self.pattern, "queue": self.queue, self.unit: self.number}


def subscriptions_of(source: Path) -> Iterator[Listed]:
    """Yield the subscriptions of clients and leaf nodes.

    Empty lines of a file of patterns and lines that begin with ``# `` are skipped. In a trace log
    or a capture, every subscription counts, also if it ended later; but not those of before a
    restart of the server.

    Raises:
        click.UsageError: A line has more than a pattern and a queue group.
        OSError: The file cannot be read.
        WireError: It is neither a capture nor a monitoring response.
    """
    from .._nats.container_lines import is_document
    from ..wire import capture

    head = b"" if source.is_dir() else _head(source)
    if source.is_dir() or head.startswith(capture.MAGIC) or is_document(head):
        return _of_operations(source)
    return iter(_of_lines(source))


def _head(source: Path) -> bytes:
    check_no_pipe(source)
    with source.open("rb") as file:
        return file.read(4096)


def _of_operations(source: Path) -> Iterator[Listed]:
    from ..wire import OperationRow, read_operations

    for row in read_operations(source):
        if isinstance(row, OperationRow) and row.parts["op"] in ("SUB", "LS+"):
            queue = row.parts.get("queue") or None
            yield Listed("conn", row.conn, row.parts["subject"], queue, True)


def _of_lines(source: Path) -> list[Listed]:
    from .._nats.container_lines import whole_lines
    from ..wire.log import parse_line

    found: list[Listed] = []
    is_log = False
    with source.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        stripped = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, 1))
        for number, line in whole_lines(stripped):
            words = line.split()
            if not words or words[0] == "#":
                continue
            record = parse_line(line)
            if record is None and is_log:
                continue  # a line of another program, or an incomplete one
            if record is None:
                if len(words) > 2:
                    raise click.UsageError(
                        f"{source}, line {number}: expected a pattern and at most one queue group"
                    )
                found.append(Listed("line", number, words[0], (*words, None)[1], False))
                continue
            is_log = True
            if (record.message or "").startswith("Starting nats-server"):
                found.clear()
            elif record.op == "SUB" and record.direction == "in":
                args = record.args
                queue = args[1] if len(args) > 2 else None
                found.append(Listed("line", number, args[0], queue, True))
            elif record.op == "LS+" and record.direction == "in" and record.args:
                queue = (*record.args, None)[1]
                found.append(Listed("line", number, record.args[0], queue, True))
    return found
