"""Rates: how often something happened over time, as at most 32 bars of one width.

The width is the least power of two of seconds with which all times have a bar, and bars begin at
multiples of it. So it follows from the first and the last time, and rates add up in any order. Rows
of partials have a rate as a list: the width, the start of the first bar, and the bars. Tables have
it as ``RATE_TYPE``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .._readers.log_reader import native

if TYPE_CHECKING:
    import pyarrow as pa

#: The column of a rate, and those of the accepted and the undelivered messages of ``publish``.
RATE, ACCEPTED, LOST = RATES = ("rate", "rate_accepted", "rate_undelivered")
#: The most bars of a rate.
MOST_BARS = 32
_SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rates_of(times: pa.Array) -> pa.Array:
    """Return the rate of each time alone; null without a time."""
    import numpy as np
    import pyarrow as pa

    micros = times.cast(pa.int64())
    seconds = micros.fill_null(0).to_numpy(zero_copy_only=False) // _SECOND
    rates = np.ones((len(seconds), 3), np.int64)
    rates[:, 1] = seconds
    offsets = pa.array(np.arange(len(seconds) + 1, dtype=np.int32) * 3)
    mask = micros.is_null()
    return pa.ListArray.from_arrays(offsets, pa.array(rates.ravel()), mask=mask)


def rate_at(time: datetime | None) -> tuple[int, ...] | None:
    """Return the rate of one time; None without."""
    return None if time is None else (1, (time - _EPOCH) // timedelta(seconds=1), 1)


def added_rates(rates: pa.Array, groups: Any, count: int) -> pa.Array:
    """Return the sum of the rates of each group; null for a group without one.

    Args:
        rates: Lists.
        groups: The number of the group of each of them.
        count: The number of groups.
    """
    import pyarrow as pa

    batch = pa.record_batch({"group": pa.array(groups, pa.int64()), "rate": rates})
    return pa.array(native().added_rates(batch, count)).field(0)


def both_rates(one: Sequence[int] | None, other: Sequence[int] | None) -> tuple[int, ...] | None:
    """Return the sum of two rates; None is that of no time."""
    if not one or not other:
        return tuple(one or other or ()) or None
    width = max(one[0], other[0])
    bars: Counter[int] = Counter()
    for each, start, *counts in (one, other):
        for place, count in enumerate(counts):
            bars[start + place * each] += count
    first, last = min(bars), max(bars)
    while last // width - first // width >= MOST_BARS:
        width *= 2
    found = [0] * (last // width - first // width + 1)
    for start, count in bars.items():
        found[start // width - first // width] += count
    return width, first // width * width, *found


def table_rate(rate: Sequence[int] | None, *, of: int) -> dict[str, Any] | None:
    """Return a rate as the value of a table; None if it has not all of a number."""
    if not rate or sum(rate[2:]) != of:
        return None
    width, start, *counts = rate
    return {"start": _EPOCH + timedelta(seconds=start), "width_s": width, "counts": counts}


def rate_of_row(row: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the rate of a row of a table; None if it has none, as in an older result."""
    rate = row.get(RATE)
    if rate is None:
        return None
    return rate["width_s"], (rate["start"] - _EPOCH) // timedelta(seconds=1), *rate["counts"]


def _sums(bars: pa.Array) -> pa.Array:
    """Return the sum of each list."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.zeros(len(bars), np.int64)
    np.add.at(found, pc.list_parent_indices(bars).to_numpy(), bars.flatten().to_numpy())
    return pa.array(found)


def rate_column(rates: pa.Array, counts: pa.Array) -> pa.Array:
    """Return rates as the column of a table; null for those that have not all of a count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.greater(pc.list_value_length(rates).fill_null(0), 0)
    rates = pc.if_else(known, rates, pa.scalar(None, rates.type))
    bars = pc.list_slice(rates, 2, 2 + MOST_BARS)
    known = pc.and_(known, pc.equal(_sums(bars), counts).fill_null(False))
    start = pc.multiply(pc.list_element(rates, 1), _SECOND).cast(pa.timestamp("us", "UTC"))
    columns = [start, pc.list_element(rates, 0), bars]
    return pa.StructArray.from_arrays(
        columns, ["start", "width_s", "counts"], mask=pc.invert(known)
    )
