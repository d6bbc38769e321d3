"""Limits of heads, of single control headers and of waiting requests; requests that exceed them.

A head is the first line and the headers, at most 64 KiB. A request whose head or subject is larger
is answered with 431 or 414 if the sender can be told from its subject, and its instance and message
id from its head, which is searched for these two and not parsed.
"""

# A37

from __future__ import annotations

from .._core import control_headers
from ._envelope import RequestEnvelope
from ._errors import HTTPError
from ._headers import HeaderValues
from ._identity import request_address

LONGEST_HEAD = 1 << 16  # bytes
_RESERVED = 2048  # bytes of a head for what the connector adds: the host and the control headers
_LONGEST_SUBJECT, _MOST_TOKENS = 1024, 64
_BEFORE_PATH = 7  # tokens of a subject: plane, safe, port, source, host, slot, method

_LONGEST_VALUE = {
    control_headers.MSG_ID: 128,
    control_headers.FROM_ID: 128,
    control_headers.QUEUE: 255,
    control_headers.LOCALITY: 255,
    control_headers.TIME_BUDGET: 64,
    control_headers.CALL_DEPTH: 64,
    control_headers.FRAGMENT: 64,
    control_headers.FROM_VERSION: 64,
}


class Backlog:
    """The requests that were acknowledged and wait for the event loop: how many, and their bytes.

    One thread adds and another removes; each writes numbers of its own.

    Args:
        most: The number of requests that may wait.
        most_bytes: The bytes of their messages.
    """

    __slots__ = ("_added", "_added_bytes", "_most", "_most_bytes", "_removed", "_removed_bytes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._added = self._removed = self._added_bytes = self._removed_bytes = 0

    def add(self, size: int) -> bool:
        """Add a request; False if there is no room for it.

        Args:
            size: The bytes of its message.
        """
        waiting = self._added_bytes - self._removed_bytes
        if self._added - self._removed >= self._most or waiting + size > self._most_bytes:
            return False
        self._added += 1
        self._added_bytes += size
        return True

    def remove(self, size: int) -> None:
        """Remove a request.

        Args:
            size: The bytes of its message.
        """
        self._removed += 1
        self._removed_bytes += size


def check_head(line: str, values: HeaderValues, what: str, status: int) -> None:
    """Raise ``HTTPError`` if a head to be sent is too long.

    Args:
        line: The text of the first line that varies: the URL.
        values: The headers without the control headers.
        what: Whose head it is, for the message.
        status: The status of the error.
    """
    size = len(line.encode()) + sum(
        len(name) + len(value.encode()) + 4 for name, each in values.items() for value in each
    )
    if size > LONGEST_HEAD - _RESERVED:
        most = LONGEST_HEAD - _RESERVED
        raise HTTPError(f"the head of the {what} exceeds {most} bytes", status=status)


def too_long(values: HeaderValues) -> str:
    """Return the name of a control header whose value is too long; empty if there is none."""
    for name, longest in _LONGEST_VALUE.items():
        if name in values and len(values[name][0]) > longest:
            return name
    return ""


def oversized(subject: str, payload: bytes) -> tuple[str, RequestEnvelope, HTTPError] | None:
    """Return a request that is too large to be read: a subject of its source, and the error.

    Args:
        subject: The subject.
        payload: The message.

    Returns:
        None if it is not too large, or cannot be answered.
    """
    head = payload[: payload.find(b"\r\n\r\n") + 2]
    tokens = subject.split(".")
    if len(subject) > _LONGEST_SUBJECT or len(tokens) > _MOST_TOKENS:
        error = HTTPError("the subject is too long", status=414)
        subject = ".".join([*tokens[:_BEFORE_PATH], "_"])
    elif len(head) > LONGEST_HEAD - 2:
        error = HTTPError(f"the head exceeds {LONGEST_HEAD} bytes", status=431)
    else:
        return None
    address = request_address(subject)
    if address is None:
        return None
    request = RequestEnvelope(address.method, "", address.path, "", b"")
    for name in (control_headers.FROM_ID, control_headers.MSG_ID):
        _, found, rest = head.partition(f"\r\n{name}: ".encode())
        value = rest[: rest.find(b"\r\n")][: _LONGEST_VALUE[name] + 1]
        if not found or not value.isascii():
            return None
        request.headers.lists[name] = [value.decode()]
    return subject, request, error
