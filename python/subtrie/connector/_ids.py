"""Names nobody can guess: of instances, of messages, of traces."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Protocol

_LOWER = "0123456789abcdefghijklmnopqrstuvwxyz"
_MIXED = _LOWER + _LOWER[10:].upper()
_LETTERS = bytes(ord(_MIXED[byte % 62]) for byte in range(256))
_BEYOND = bytes(range(248, 256))


class Ids(Protocol):
    """Where a connector gets its identifiers from."""

    def instance(self) -> str:
        """``id-`` and ten characters."""
        ...

    def message(self) -> str:
        """Eight characters: the only tie between an answer and its request."""
        ...

    def trace(self) -> str:
        """32 hexadecimal digits, for requests that are not traced otherwise."""
        ...


class RandomIds:
    """From the system's source of randomness."""

    def __init__(self) -> None:
        self._stock: list[str] = []

    def instance(self) -> str:
        """``id-`` and ten of ``0-9a-z``."""
        return "id-" + "".join(secrets.choice(_LOWER) for _ in range(10))

    def message(self) -> str:
        """Eight of ``0-9A-Za-z``. Drawn a hundred at a time: asking the system costs more."""
        try:
            return self._stock.pop()
        except IndexError:
            # Bytes beyond the last whole multiple of 62 would favour some characters.
            drawn = secrets.token_bytes(4096).translate(_LETTERS, _BEYOND).decode()
            self._stock = [drawn[i : i + 8] for i in range(0, len(drawn) - 7, 8)]
            return self._stock.pop()

    def trace(self) -> str:
        """32 hexadecimal digits."""
        return secrets.token_hex(16)


class FixedIds:
    """Given identifiers first, then counted ones: for tests and replays that must repeat."""

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
        """The given one."""
        return self._instance

    def message(self) -> str:
        """The next of the given ones, then ``00000001``, ``00000002``, …"""
        for given in self._messages:
            return given
        self._count += 1
        return f"{self._count:08d}"

    def trace(self) -> str:
        """The next of the given ones, then zeros."""
        return next(self._traces, "0" * 32)
