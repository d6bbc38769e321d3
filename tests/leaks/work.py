"""Repeated work: changes of an index, and requests between two connectors over a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from subtrie.connector import Connector

#: Requests in flight.
_AT_ONCE = 50


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def changes(engine: ModuleType, count: int, every: int, kept: int) -> Iterator[int]:
    """Add and remove, each time with tokens that no pattern had before, ``kept`` at any time.

    Yields:
        The memory of the index in bytes, each time after ``every`` changes.

    Raises:
        AssertionError: The index counts something that is not in it any more.
    """
    trie = engine.SubjectTrie()
    handles: list[object] = []
    for number in range(count):
        place = number % kept
        pattern = f"orders-{number}.*.item-{number}.>"
        handle = trie.add(pattern, number, queue=f"q{number}" if number % 3 else None)
        if number < kept:
            handles.append(handle)
        else:
            assert trie.remove(handles[place])
            handles[place] = handle
        if number % every == every - 1:
            assert len(trie) == len(handles)
            yield trie.stats().memory
    for handle in handles:
        assert trie.remove(handle)
    assert trie.stats()[:-1] == (0,) * 6


async def requests(
    url: str, count: int, every: int, note: Callable[[], None], *, short_circuit: bool
) -> None:
    """Send requests with fifty paths in turn, and call ``note`` after each ``every`` of them.

    Raises:
        AssertionError: A response is not that of its request.
    """
    service, caller = (
        Connector(host, plane="leaks", nats=url, short_circuit=short_circuit,
                  configurator="optional")
        for host in ("shop.leaks", "caller.leaks")
    )  # fmt: skip
    service.endpoint("POST", "/{number}")(lambda number: {"number": number})
    async with service, caller:
        for done in range(_AT_ONCE, count + 1, _AT_ONCE):
            numbers = list(range(_AT_ONCE))
            answers = await asyncio.gather(
                *(caller.request("POST", f"https://shop.leaks/{number}") for number in numbers)
            )
            assert [int(each.json()["number"]) for each in answers] == numbers
            if done % every == 0:
                note()
