"""The rate of some times, by its definition."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from itertools import count
from typing import Any

MOST_BARS = 32


def bars(times: Iterable[int]) -> list[int]:
    """Return width and start in seconds, then the bars of times in microseconds; [] for none."""
    seconds = [each // 1_000_000 for each in times]
    if not seconds:
        return []
    first, last = min(seconds), max(seconds)
    width = next(1 << n for n in count() if (last >> n) - (first >> n) < MOST_BARS)
    found = Counter(each // width for each in seconds)
    return [width, first // width * width,
            *(found[n] for n in range(first // width, last // width + 1))]  # fmt: skip


def rate(times: Iterable[int]) -> dict[str, Any] | None:
    """Return the rate as a table has it, with its start as text; None without a time."""
    found = bars(times)
    if not found:
        return None
    width, start, *counts = found
    text = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(start))
    return {"start": text, "width_s": width, "counts": counts}
