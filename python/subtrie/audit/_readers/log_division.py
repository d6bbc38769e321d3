"""Divide a log into ranges that several processes can read, by one pass over it.

The pass saves the state of the reader at the first line of each range; so the ranges have the same
rows as the whole. Most lines are skimmed: only those near the end of a range are read in full, and
those that begin or end a subscription.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace

from .log_reader import SPLIT_BYTES, LogRange, check_one_server, log_blocks, native, open_plain

#: The number of bytes before the end of a range of which every line is read, at least.
_READ_IN_FULL = 1024 * 1024


def divide(
    log: LogRange, split_bytes: int = SPLIT_BYTES, *, skim: int | None = _READ_IN_FULL
) -> Iterator[LogRange]:
    """Yield the ranges of a log, each of about ``split_bytes`` bytes, as they are found.

    A compressed log is one range.

    Args:
        log: The log.
        split_bytes: The size of a range.
        skim: Skim the lines that are farther than this from the end of a range, where the times of
            the log permit it; ``None`` reads every line.

    Raises:
        ValueError: The lines of several servers alternate.
    """
    count = -(-log.size // max(1, split_bytes))
    if count < 2 or any(_is_compressed(path) for path, _ in log.files):
        yield log
        return
    targets = [log.size * i // count for i in range(1, count)]
    begun = replace(log, start=0)
    while True:
        left = [target for target in targets if target > begun.start]
        state = None if begun.state is None else zlib.decompress(begun.state)
        divider = native().LogDivider(left, begun.start, state=state, skim=skim)
        for _, block in log_blocks(begun):
            done = divider.feed(block)
            check_one_server(divider, log)
            for at, state in divider.take():
                yield replace(begun, end=at)
                begun = replace(log, start=at, state=zlib.compress(state, 1))
            if done:
                break
        if not divider.failed:
            break
        skim = None
    yield begun


def _is_compressed(path: str) -> bool:
    stream, compressed = open_plain(path)
    stream.close()
    return compressed
