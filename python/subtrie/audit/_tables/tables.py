"""The rows of the tables, from the facts about some subjects.

All facts about a subject come to one task, so rows whose key holds the subject are final. Rows of
the other tables are partial sums, which ``merge`` adds up. What Spark moves is a row for each
2,048 rows of a table, in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._identity import is_host
from .._schema import TABLE_KEYS, arrow_schema
from .edges import edge_rows
from .fact_rows import stream_bytes
from .fact_tables import FactTables
from .hottest import HOTTEST, most_published
from .messages_between_servers import followed
from .outside import outside_rows, outside_tables
from .pattern_index import PatternIndex
from .rows import Rows, add_up, filled, rows
from .subjects import Subjects
from .undelivered import explained

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of one table, the key of the first of them, and their bytes as an Arrow stream.
TABLE_ROWS: tuple[tuple[str, str], ...] = (
    ("table", "string"),
    ("key", "string"),
    ("data", "binary"),
)
#: The name under which sums over all subjects stand among the rows.
TOTALS = "~totals"
_PROOF = ("user", "client", "identity_source")
#: Small, as the task that merges the pieces holds one of each bucket.
_PIECE = 2_048


def rows_of(facts: FactTables, index: PatternIndex, planes: Sequence[str]) -> list[Rows]:
    """Return the rows of all tables for the subjects of these facts.

    Args:
        facts: All facts about some subjects, and any facts of the kind ``unparseable``.
        index: The patterns of all logs.
        planes: The planes of the traffic.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lost = facts.table("undelivered")
    hops, arrivals = facts.table("hop"), facts.table("arrival")
    if hops.num_rows and arrivals.num_rows:
        changed, more = followed(hops, arrivals)
        for batch in changed.to_batches():
            facts.sum_up("publish", batch)
        lost = pa.concat_tables([lost, more])
    found: list[Rows] = []
    numbered = facts.numbered()
    if numbered is not None:
        publishes, deliveries, texts, addresses = numbered
        subjects = Subjects(texts, addresses, index, planes)
        found += edge_rows(publishes, deliveries, subjects)
        found += _by_subject(publishes, deliveries, lost, subjects)
        if len(index.patterns):
            found.append(_coverage(publishes, deliveries, subjects))
        found += identity_rows(publishes, subjects)
        totals = pa.table({"forwarded": [pc.sum(publishes["forwarded"]).as_py() or 0]})
        found.append((TOTALS, totals.append_column("key", pa.array([""]))))
    found.append(_refused(facts.table("refused")))
    found.append(_slow_consumers(facts.table("slow")))
    found.append(_claimed_users(facts.table("claim")))
    found.append(unparseable_rows(facts.table("unparseable")))
    return found


def subscription_rows(table: pa.Table) -> list[Rows]:
    """Return the rows of some subscriptions, and rows of ``coverage`` without any traffic."""
    import pyarrow as pa

    names = ["server", "conn", "sid", "started", "ended", "identity", "pattern", "queue", "start"]
    all_of = table.select(names).rename_columns(
        [*names[:3], "start", "end", "identity", "pattern", "queue", "position"]
    )
    zero = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
    covered = table.select(["server", "pattern", "queue"])
    covered = covered.append_column("matched", zero).append_column("delivered", zero)
    return [
        rows("subscriptions", all_of, ("server", "conn", "sid", "position")),
        rows("coverage", covered, ("server", "pattern", "queue")),
    ]


def sorted_rows(found: Iterable[Rows]) -> Iterator[pa.RecordBatch]:
    """Yield rows of tables as ``TABLE_ROWS``."""
    import pyarrow as pa

    for name, table in found:
        ordered = table.sort_by("key")
        for start in range(0, ordered.num_rows, _PIECE):
            piece = ordered.slice(start, _PIECE)
            columns = [[name], [piece["key"][0].as_py()], [stream_bytes(piece)]]
            yield pa.record_batch(
                [
                    pa.array(c, f.type)
                    for c, f in zip(columns, arrow_schema(TABLE_ROWS), strict=True)
                ],
                schema=arrow_schema(TABLE_ROWS),
            )


def _by_subject(
    publishes: pa.Table, deliveries: pa.Table, lost: pa.Table, subjects: Subjects
) -> list[Rows]:
    """Return the tables whose key is the subject."""
    import pyarrow.compute as pc

    summed = sums_by_subject(publishes)
    at = summed["at"].combine_chunks()
    published = pc.greater(summed["published"], 0)

    def some(mask: pa.Array, rename: dict[str, str]) -> tuple[pa.Table, pa.Array]:
        table = summed.filter(mask).select(list(rename)).rename_columns(list(rename.values()))
        where = at.filter(mask)
        return table.add_column(0, "subject", subjects.texts.take(where)), where

    addressed = subjects.addressed.take(at)
    missed, where = some(
        pc.and_(addressed, pc.greater(summed["undelivered"], 0)).combine_chunks(),
        {"undelivered": "count", "first_undelivered": "first", "last_undelivered": "last"},
    )
    missed = explained(missed, where, lost, subjects.index, subjects.rows, subjects.numbers)
    _, outside = outside_rows(summed, subjects)
    hot, _ = most_published(summed.filter(published), subjects, HOTTEST)
    tables = {"undelivered": missed, **outside_tables(outside, subjects.planes),
              "fan_out": _fan_out(deliveries, subjects), "hot_subjects": hot}  # fmt: skip
    return [rows(name, table, ("subject",)) for name, table in tables.items()]


def sums_by_subject(publishes: pa.Table) -> pa.Table:
    """Return the sums of messages by the number of their subject."""
    names = ["published", "taken", "undelivered", "bytes"]
    names += [f"{end}_{what}" for end in ("first", "last") for what in ("accepted", "undelivered")]
    summed = publishes.select(["at", *names])
    # A subject can have several rows.
    return summed if _ascending(summed["at"]) else add_up(summed, ("at",))


def _ascending(numbers: pa.ChunkedArray) -> bool:
    """Whether each number is greater than the one before it."""
    import numpy as np

    return bool(np.all(np.diff(numbers.to_numpy()) > 0))


def _fan_out(deliveries: pa.Table, subjects: Subjects) -> pa.Table:
    """Return the distinct receivers of each subject."""
    import pyarrow as pa
    import pyarrow.compute as pc

    queued = pc.is_valid(deliveries["queue"])
    name = pc.binary_join_element_wise(
        deliveries["server"], deliveries["conn"], deliveries["sid"], " "
    )
    receivers = pa.table(
        {
            "at": deliveries["at"],
            "subscribers": pc.if_else(queued, pa.scalar(None, pa.string()), name),
            "groups": deliveries["queue"],
            "count": deliveries["count"],
        }
    )
    found = receivers.group_by("at").aggregate(
        [("subscribers", "count_distinct"), ("groups", "count_distinct"), ("count", "sum")]
    )
    return pa.table(
        {
            "subject": subjects.texts.take(found["at"].combine_chunks()),
            "subscribers": found["subscribers_count_distinct"],
            "groups": found["groups_count_distinct"],
            "delivered": found["count_sum"],
        }
    )


def _coverage(publishes: pa.Table, deliveries: pa.Table, subjects: Subjects) -> Rows:
    """Return partial sums of what each subscription matched and received."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    index = subjects.index
    keys = ["server", "number", "queue"]
    sent = add_up(publishes.select(["server", "at", "published"]), ("server", "at"))
    at = sent["at"].to_numpy()
    starts = np.searchsorted(subjects.rows, np.arange(len(subjects.texts) + 1))
    counts = (starts[1:] - starts[:-1])[at] if len(at) else np.zeros(0, dtype=np.int64)
    row = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = subjects.numbers[(starts[at[row]] if len(at) else row) + within]
    pairs = sent.take(pa.array(row)).append_column("number", pa.array(numbers, pa.int32()))
    matched = pairs.group_by(["server", "number"]).aggregate([("published", "sum")])
    groups = index.groups.filter(
        pc.is_in(index.groups["number"], value_set=pc.unique(matched["number"]))
    )
    matched = matched.join(groups, ["server", "number"], join_type="inner")
    matched = matched.rename_columns(
        ["matched" if n == "published_sum" else n for n in matched.column_names]
    )
    place = _subscription_rows(deliveries, index)
    known = pa.array(place >= 0)
    received = index.subscriptions.select(keys).take(pa.array(place[place >= 0]))
    received = received.append_column("delivered", deliveries["count"].filter(known))
    both = pa.concat_tables(
        [filled(each, [*keys, "matched", "delivered"], ("matched", "delivered"))
         for each in (matched, received)]
    )  # fmt: skip
    summed = add_up(both, keys)
    patterns = index.patterns.take(summed["number"].combine_chunks())
    summed = summed.append_column("pattern", patterns).drop_columns(["number"])
    return rows("coverage", summed, ("server", "pattern", "queue"))


def _subscription_rows(deliveries: pa.Table, index: PatternIndex) -> Any:
    """Return the row of the subscription by which each was delivered, -1 if it is not known."""
    import numpy as np

    servers = deliveries["server"].combine_chunks().dictionary_encode()
    codes = servers.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    starts = deliveries["subscription"].fill_null(-1).to_numpy()
    found = np.full(deliveries.num_rows, -1)
    for code, server in enumerate(servers.dictionary.to_pylist()):
        here = codes == code
        found[here] = index.rows_at(server, starts[here])
    return found


def _refused(facts: pa.Table) -> Rows:
    """Return what the server refused, by who asked for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: facts[name] for name in ("subject", "count", "first", "last", *_PROOF)}
    who = pc.coalesce(facts["identity"], facts["conn"])
    table = pa.table({"who": who, "kind": facts["reason"], **columns})
    keys = TABLE_KEYS["refused"]
    return rows("refused", add_up(table, keys), keys)


def _slow_consumers(facts: pa.Table) -> Rows:
    """Return how often the server said that a client reads too slowly, by who it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    who = pc.coalesce(facts["identity"], facts["conn"])
    columns = {name: facts[name] for name in ("count", "first", "last")}
    table = pa.table({"who": who, **columns})
    return rows("slow_consumers", add_up(table, ("who",)), ("who",))


def _claimed_users(facts: pa.Table) -> Rows:
    """Return the other users that clients claim than those that the broker proved."""
    import pyarrow as pa

    keys = TABLE_KEYS["claimed_users"]
    columns = {name: facts[name] for name in ("count", "first", "last", *_PROOF)}
    table = pa.table({"who": facts["identity"], "claimed": facts["subject"], **columns})
    return rows("claimed_users", add_up(table, keys), keys)


def identity_rows(publishes: pa.Table, subjects: Subjects) -> list[Rows]:
    """Return spoofed sources, and partial sums of the planes of each identity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pc.unique(publishes["identity"])
    hosts = pa.array([name for name in names.to_pylist() if is_host(name)], pa.string())
    known = publishes.filter(pc.is_in(publishes["identity"], value_set=hosts))
    at = known["at"].combine_chunks()
    identity = known["identity"].combine_chunks()
    source = subjects.text("source", at)
    inside = subjects.addressed.take(at)
    false = pc.and_(inside, pc.fill_null(pc.not_equal(source, identity), False))
    accused = known.filter(false)
    table = pa.table(
        {
            "who": accused["identity"],
            "claimed": source.filter(false),
            "subject": subjects.texts.take(at.filter(false)),
            "accepted": accused["published"],
            "count": pc.add(accused["published"], accused["refused"]),
            "first": accused["first"],
            "last": accused["last"],
            **{name: accused[name] for name in _PROOF},
        }
    )
    keys = TABLE_KEYS["spoofed"]
    spoofed = rows("spoofed", add_up(table, keys), keys)
    used = pc.and_(pc.greater(pc.take(subjects.kind, at), 0), pc.greater(known["published"], 0))
    used = used.combine_chunks() if isinstance(used, pa.ChunkedArray) else used
    planes = known.filter(used)
    plane = subjects.addresses.column("plane").dictionary_encode()
    plane = plane.take(subjects.address.take(at.filter(used)))
    table = pa.table(
        {
            "identity": planes["identity"],
            "code": plane.indices,
            "count": planes["published"],
            "first": planes["first_accepted"],
            "last": planes["last_accepted"],
        }
    )
    summed = add_up(table, ("identity", "code"))
    texts = plane.dictionary.take(summed["code"].combine_chunks())
    summed = summed.append_column("plane", texts).drop_columns(["code"])
    return [spoofed, rows("cross_plane", summed, ("identity", "plane"))]


def unparseable_rows(facts: pa.Table) -> Rows:
    """Return the lines that could not be parsed."""
    table = facts.rename_columns(["server", "file", "offset", "reason", "text"])
    return rows("unparseable", table, ("server", "file", "offset"))
