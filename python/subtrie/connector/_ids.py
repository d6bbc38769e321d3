"""Random identifiers: of instances, messages and traces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from . import _system

_LOWER = "0123456789abcdefghijklmnopqrstuvwxyz"
_MIXED = _LOWER + _LOWER[10:].upper()
_LETTERS = bytes(ord(_MIXED[byte % 62]) for byte in range(256))
_BEYOND = bytes(range(248, 256))


class Ids(Protocol):
    """A source of identifiers for a connector."""

    def instance(self) -> str:
        """Return ``id-`` and ten characters."""
        ...

    def message(self) -> str:
        """Return eight characters, by which a response is matched to its request."""
        ...

    def trace(self) -> str:
        """Return 32 hexadecimal digits, for requests without an OpenTelemetry trace."""
        ...


class RandomIds:
    """Identifiers from the operating system's random generator."""

    def __init__(self) -> None:
        self._stock: list[str] = []

    def instance(self) -> str:
        """Return ``id-`` and ten of ``0-9a-z``."""
        return "id-" + "".join(_system.random_choice(_LOWER) for _ in range(10))

    def message(self) -> str:
        """Return eight of ``0-9A-Za-z``."""
        try:
            return self._stock.pop()
        except IndexError:
            # Several at once: a system call costs more than a message id. Bytes beyond the last
            # multiple of 62 are dropped, since they would favour some characters.
            drawn = _system.random_bytes(4096).translate(_LETTERS, _BEYOND).decode()
            self._stock = [drawn[i : i + 8] for i in range(0, len(drawn) - 7, 8)]
            return self._stock.pop()

    def trace(self) -> str:
        """Return 32 hexadecimal digits."""
        return _system.random_bytes(16).hex()


class FixedIds:
    """Given identifiers first, then counted ones: for reproducible tests and replays.

    Args:
        instance: The id of the instance.
        messages: The first message ids; then come ``00000001``, ``00000002``, …
        traces: The first trace ids; then come zeros.
    """

    def __init__(
        self,
        *,
        instance: str = "id-0000000001",
        messages: Iterable[str] = (),
        traces: Iterable[str] = (),
    ) -> None:
        self._instance = instance
        self._messages = iter(messages)
        self._traces = iter(traces)
        self._count = 0

    def instance(self) -> str:
        """Return the given id."""
        return self._instance

    def message(self) -> str:
        """Return the next of the given ids, then ``00000001``, ``00000002`` and so on."""
        for given in self._messages:
            return given
        self._count += 1
        return f"{self._count:08d}"

    def trace(self) -> str:
        """Return the next of the given ids, then zeros."""
        return next(self._traces, "0" * 32)
