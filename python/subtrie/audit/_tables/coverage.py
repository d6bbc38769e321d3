"""The messages that each subscription matched while it lived, and those that it received."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._partial.kinds import CHANGES, add_up, filled
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
    matched = _matched(bucket.publishes, subjects)
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
    """Return the messages of each account that matched each group while one of it lived.

    Messages of which no log tells the subscriptions of their time are those of all groups.
    """
    import pyarrow as pa

    index = subjects.index
    parts = [pa.table({name: index.groups[name].slice(0, 0) for name in _KEYS})
             .append_column("matched", pa.array([], pa.int64()))]  # fmt: skip
    sent = _by_change(publishes)
    if not sent.num_rows:
        return parts[0]
    row, numbers = _patterns_of(sent["at"].to_numpy(), subjects)
    pairs = sent.take(pa.array(row)).append_column("number", pa.array(numbers, pa.int32()))
    codes = index.accounts.codes(subjects.account)
    pairs = pairs.append_column("code", pa.array(codes[pairs["at"].to_numpy()]))
    by = ["server", "number", "code", "changed"]
    pairs = pairs.group_by(by, use_threads=False).aggregate([("count", "sum")])
    pairs = pairs.rename_columns([*by, "count"])
    for matched, groups in _of_accounts(pairs, index):
        lived = index.lived(groups["group"].to_numpy(), matched["changed"])
        kept = groups.append_column("matched", matched["count"]).filter(pa.array(lived))
        parts.append(kept.select([*_KEYS, "matched"]))
    return pa.concat_tables(parts)


def _by_change(publishes: pa.Table) -> pa.Table:
    """Return the accepted messages of each subject between two changes of the subscriptions."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ["server", "at", "published", CHANGES]
    sent = publishes.select(names).combine_chunks()
    lists = sent[CHANGES].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False) // 2
    flat = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, 2)
    row = pa.array(np.repeat(np.arange(sent.num_rows), lengths))
    counted = np.bincount(row.to_numpy(), weights=flat[:, 1], minlength=sent.num_rows)
    rest = sent["published"].to_numpy() - counted.astype(np.int64)
    unknown = pa.array(np.flatnonzero(rest > 0))
    at = pa.concat_arrays([row.cast(pa.int64()), unknown.cast(pa.int64())])
    table = sent.select(["server", "at"]).take(at)
    changed = pa.concat_arrays([pa.array(flat[:, 0], pa.int64()),
                                pa.nulls(len(unknown), pa.int64())])  # fmt: skip
    counts = np.concatenate([flat[:, 1], rest[unknown.to_numpy()]])
    return table.append_column("changed", changed).append_column("count", pa.array(counts))


def _patterns_of(at: Any, subjects: Subjects) -> tuple[Any, Any]:
    """Return the matching patterns of some subjects: the place in ``at`` and the number of each."""
    import numpy as np

    starts = np.searchsorted(subjects.rows, np.arange(len(subjects.texts) + 1))
    counts = (starts[1:] - starts[:-1])[at]
    row = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return row, subjects.numbers[starts[at[row]] + within]


def _of_accounts(pairs: pa.Table, index: PatternIndex) -> Iterable[tuple[pa.Table, pa.Table]]:
    """Yield messages and, row by row, the groups of their account that subscribe their pattern.

    An account that is not told, of messages or of subscriptions, can be any.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    groups = index.groups.append_column("group", pa.array(np.arange(index.groups.num_rows)))
    groups = groups.filter(pc.is_in(groups["number"], value_set=pc.unique(pairs["number"])))
    groups = groups.append_column("code", pa.array(index.accounts.codes(groups["account"])))

    def told(table: pa.Table) -> Any:
        return pc.greater(table["code"], 0)

    unknown, others = pairs.filter(pc.invert(told(pairs))), groups.filter(told(groups))
    known, anywhere = pairs.filter(told(pairs)), groups.filter(pc.invert(told(groups)))
    by = ["server", "number"]
    for sent, to, keys in ((pairs, groups, [*by, "code"]), (unknown, others, by),
                           (known, anywhere, by)):  # fmt: skip
        if not (sent.num_rows and to.num_rows):
            continue
        left = sent.select(keys).append_column("row", pa.array(np.arange(sent.num_rows)))
        right = to.select(keys).append_column("to", pa.array(np.arange(to.num_rows)))
        joined = left.join(right, keys, join_type="inner", use_threads=False)
        yield sent.take(joined["row"].combine_chunks()), to.take(joined["to"].combine_chunks())
