"""The messages that each subscription matched and received."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._partial.kinds import add_up, filled
from .._schema import TABLE_KEYS, Rows, rows
from .bucket import Bucket, Subjects

if TYPE_CHECKING:
    import pyarrow as pa

    from .pattern_index import PatternIndex

_KEYS = ["server", "account", "number", "queue"]


def coverage(bucket: Bucket) -> Iterable[Rows]:
    """Return partial sums of what each subscription matched and received."""
    import pyarrow as pa

    subjects, index = bucket.subjects, bucket.index
    if subjects is None or not len(index.patterns):
        return ()
    matched = _of_groups(index, _matched(bucket.publishes, subjects))
    place = index.rows_of(bucket.deliveries)
    known = pa.array(place >= 0)
    received = index.subscriptions.select(_KEYS).take(pa.array(place[place >= 0]))
    received = received.append_column("delivered", bucket.deliveries["count"].filter(known))
    both = pa.concat_tables(
        [filled(each, [*_KEYS, "matched", "delivered"], ("matched", "delivered"))
         for each in (matched, received)]
    )  # fmt: skip
    summed = add_up(both, _KEYS)
    patterns = index.patterns.take(summed["number"].combine_chunks())
    summed = summed.append_column("pattern", patterns).drop_columns(["number"])
    return (rows("coverage", summed, TABLE_KEYS["coverage"]),)


def _matched(publishes: pa.Table, subjects: Subjects) -> pa.Table:
    """Return how many messages of each account matched each pattern at each server."""
    import numpy as np
    import pyarrow as pa

    sent = add_up(publishes.select(["server", "at", "published"]), ("server", "at"))
    at = sent["at"].to_numpy()
    starts = np.searchsorted(subjects.rows, np.arange(len(subjects.texts) + 1))
    counts = (starts[1:] - starts[:-1])[at] if len(at) else np.zeros(0, dtype=np.int64)
    row = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = subjects.numbers[(starts[at[row]] if len(at) else row) + within]
    pairs = sent.take(pa.array(row)).append_column("number", pa.array(numbers, pa.int32()))
    codes = subjects.index.accounts.codes(subjects.account)
    pairs = pairs.append_column("code", pa.array(codes[at[row]]))
    summed = pairs.group_by(["server", "number", "code"]).aggregate([("published", "sum")])
    return summed.rename_columns(["server", "number", "code", "matched"])


def _of_groups(index: PatternIndex, matched: pa.Table) -> pa.Table:
    """Return the matched messages of each group of subscriptions: those that its account sent.

    An account that is not told, of messages or of subscriptions, can be any.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    groups = index.groups.filter(
        pc.is_in(index.groups["number"], value_set=pc.unique(matched["number"]))
    )
    groups = groups.append_column("code", pa.array(index.accounts.codes(groups["account"])))
    by = ["server", "number"]

    def joined(sent: pa.Table, to: pa.Table, keys: list[str]) -> pa.Table:
        sent = sent.select([*keys, "matched"]).group_by(keys).aggregate([("matched", "sum")])
        found = sent.rename_columns([*keys, "matched"]).join(to, keys, join_type="inner")
        return found.select([*_KEYS, "matched"])

    def told(table: pa.Table) -> Any:
        return pc.greater(table["code"], 0)

    parts = [joined(matched, groups, [*by, "code"])]
    unknown, others = matched.filter(pc.invert(told(matched))), groups.filter(told(groups))
    if unknown.num_rows and others.num_rows:
        parts.append(joined(unknown, others, by))
    known, anywhere = matched.filter(told(matched)), groups.filter(pc.invert(told(groups)))
    if known.num_rows and anywhere.num_rows:
        parts.append(joined(known, anywhere, by))
    return pa.concat_tables(parts)
