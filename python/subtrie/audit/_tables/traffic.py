"""The rows of the tables of the traffic, from a bucket.

All rows about a subject are in one bucket, so rows whose key holds the subject are final. Rows of
the other tables are partial sums, which ``merge`` adds up. What is moved is a piece for each 2,048
rows of a table, in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from .._partial.kinds import add_up, filled, stream_bytes
from .._partial.rates import ACCEPTED, LOST, RATE
from .._schema import TABLE_KEYS, Rows, arrow_schema, rows
from .answer_sums import answer_sums
from .bucket import Bucket, Subjects, are_hosts
from .by_subject import explained, most_published, outside_rows, outside_tables
from .connections import links, logins, servers
from .context import subscription_table
from .coverage import coverage

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of one table, the key of the first of them, and their bytes as an Arrow stream.
TABLE_ROWS: tuple[tuple[str, str], ...] = (
    ("table", "string"),
    ("key", "string"),
    ("data", "binary"),
)
_COUNTED = ("published", "refused", "delivered", "undelivered", "forwarded", "bytes")
#: The names under which sums over all subjects stand among the rows, and the sums of answers.
TOTALS, SUMS = "~totals", "~sums"
_PROOF = ("account", "user", "client", "identity_source")
_COUNTS = ("count", "first", "last", RATE)
#: Small, as the task that merges the pieces holds one of each bucket.
_PIECE = 2_048


def rows_of(bucket: Bucket, wanted: Collection[str] | None = None) -> Iterator[Rows]:
    """Yield the rows of tables for the subjects of a bucket.

    Args:
        bucket: The rows about these subjects.
        wanted: The names of tables; by default all.
    """
    for names, made in _MADE.items():
        if wanted is None or any(name in wanted for name in names):
            yield from made(bucket)


def _edges(bucket: Bucket) -> Iterable[Rows]:
    """Return partial sums of the call graph and of the replies."""
    if bucket.subjects is None:
        return ()
    return edge_rows(bucket.publishes, bucket.deliveries, bucket.subjects)


def edge_rows(publishes: pa.Table, deliveries: pa.Table, subjects: Subjects) -> list[Rows]:
    """Return partial sums of the call graph and of the replies."""
    import pyarrow as pa

    zeros = pa.repeat(pa.scalar(0, pa.int64()), publishes.num_rows)
    sent = publishes.append_column("delivered", zeros)
    # Instances are the connections that publish: a delivery has none.
    received = deliveries.select(["at", "window", "count"])
    received = received.rename_columns(["at", "window", "delivered"])
    wanted = ["at", "window", "server", "conn", "first", "last", *_COUNTED]
    both = pa.concat_tables([filled(table, wanted, _COUNTED) for table in (sent, received)])
    number, senders = _senders(both)
    at = both["at"].combine_chunks()
    columns = {"address": subjects.address.take(at), "rank": subjects.rank.take(at)}
    columns |= {"window": both["window"], "number": number}
    accounts = subjects.account.dictionary_encode()
    columns["account"] = accounts.indices.take(at)
    columns |= {name: both[name] for name in (*_COUNTED, "first", "last")}
    summed = add_up(pa.table(columns), ("address", "rank", "window", "number", "account"))
    address = summed["address"].combine_chunks()
    calls = summed.filter(subjects.requests.take(address))
    answers = summed.filter(subjects.replies.take(address))
    found = []
    if calls.num_rows:
        of = subjects.addresses.take(calls["address"].combine_chunks())
        made = {name: of[name] for name in ("plane", "source", "port", "method")}
        made |= {"window": calls["window"], "destination": of["host"]}
        made["route"] = subjects.index.routes.take(calls["rank"].combine_chunks())
        made["server_conn"] = senders.take(calls["number"].combine_chunks())
        made |= {name: calls[name] for name in (*_COUNTED, "first", "last")}
        made["account"] = accounts.dictionary.take(calls["account"].combine_chunks())
        keys = TABLE_KEYS["call_graph"]
        found.append(rows("call_graph", pa.table(made), keys, more=("server_conn",)))
    if answers.num_rows:
        sums = ("published", "delivered", "undelivered")
        answers = add_up(answers.select(["address", "account", *sums]), ("address", "account"))
        of = subjects.addresses.take(answers["address"].combine_chunks())
        made = {"plane": of["plane"], "replier": of["source"], "caller": of["host"]}
        made |= {name: answers[name] for name in sums}
        made["account"] = accounts.dictionary.take(answers["account"].combine_chunks())
        found.append(rows("replies", pa.table(made), TABLE_KEYS["replies"]))
    return found


def _senders(table: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return the number of the sender of each row, and the senders by number, null without one.

    Numbers are compared several times faster than texts.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = np.zeros(table.num_rows, dtype=np.int64)
    texts = []
    for name in ("server", "conn"):
        coded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * len(coded.dictionary) + coded.indices.to_numpy()
        texts.append(coded.dictionary)
    numbered = pa.array(codes).dictionary_encode()
    server, conn = np.divmod(numbered.dictionary.to_numpy(), len(texts[1]))
    servers, conns = texts[0].take(pa.array(server)), texts[1].take(pa.array(conn))
    return numbered.indices, pc.binary_join_element_wise(servers, conns, " ")


def _totals(bucket: Bucket) -> Iterable[Rows]:
    """Return the messages that went to other servers only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if bucket.subjects is not None:
        totals = pa.table({"forwarded": [pc.sum(bucket.publishes["forwarded"]).as_py() or 0]})
        yield TOTALS, totals.append_column("key", pa.array([""]))


def _sums(bucket: Bucket) -> Iterable[Rows]:
    """Return the sums that answers are made of."""
    import pyarrow as pa

    if bucket.context.asked is None:
        return
    kinds, texts = list(zip(*answer_sums(bucket).rows(), strict=True)) or [(), ()]
    columns = {"kind": pa.array(kinds, pa.string()), "sums": pa.array(texts, pa.string())}
    yield SUMS, pa.table({"key": pa.repeat("", len(kinds)), **columns})


def subscription_rows(table: pa.Table) -> list[Rows]:
    """Return the rows of some subscriptions, and rows of ``coverage`` without any traffic."""
    import pyarrow as pa

    zero = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
    covered = table.select(["server", "pattern", "queue", "account"])
    covered = covered.append_column("matched", zero).append_column("delivered", zero)
    return [
        rows("subscriptions", subscription_table(table), ("server", "conn", "sid", "position")),
        rows("coverage", covered, TABLE_KEYS["coverage"]),
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


def _undelivered(bucket: Bucket) -> Iterable[Rows]:
    """Return the addresses that no client received, with the nearest pattern."""
    import pyarrow.compute as pc

    subjects = bucket.subjects
    if subjects is None:
        return ()
    summed = bucket.by_subject
    at = summed["at"].combine_chunks()
    lost = pc.greater(summed["undelivered"], 0).combine_chunks()
    mask = pc.and_(subjects.addressed.take(at), lost)
    where = at.filter(mask)
    names = ["undelivered", "first_undelivered", "last_undelivered", LOST]
    missed = summed.filter(mask).select(names).rename_columns([*_COUNTS])
    missed = missed.add_column(0, "subject", subjects.texts.take(where))
    missed = missed.append_column("account", subjects.account.take(where))
    found = explained(missed, where, bucket.lost, subjects.index, subjects.rows, subjects.numbers)
    return (rows("undelivered", found, TABLE_KEYS["undelivered"]),)


def _outside(bucket: Bucket) -> Iterable[Rows]:
    """Return malformed subjects, and other traffic."""
    if bucket.subjects is None:
        return ()
    _, outside = outside_rows(bucket.by_subject, bucket.subjects)
    found = outside_tables(outside, bucket.context.planes).items()
    return (rows(name, table, TABLE_KEYS[name]) for name, table in found)


def _hot_subjects(bucket: Bucket) -> Iterable[Rows]:
    """Return the subjects with the most messages."""
    import pyarrow.compute as pc

    if bucket.subjects is None:
        return ()
    published = bucket.by_subject.filter(pc.greater(bucket.by_subject["published"], 0))
    hot = most_published(published, bucket.subjects)
    return (rows("hot_subjects", hot, TABLE_KEYS["hot_subjects"]),)


def _fan_out(bucket: Bucket) -> Iterable[Rows]:
    """Return the distinct receivers of each subject."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if bucket.subjects is None:
        return ()
    deliveries = bucket.deliveries
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
    at = found["at"].combine_chunks()
    table = pa.table(
        {
            "subject": bucket.subjects.texts.take(at),
            "account": bucket.subjects.account.take(at),
            "subscribers": found["subscribers_count_distinct"],
            "groups": found["groups_count_distinct"],
            "delivered": found["count_sum"],
        }
    )
    return (rows("fan_out", table, TABLE_KEYS["fan_out"]),)


def _refused(bucket: Bucket) -> Iterable[Rows]:
    """Return what the server refused, by who asked for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = bucket.table("refused")
    columns = {name: found[name] for name in ("subject", *_COUNTS, *_PROOF)}
    who = pc.coalesce(found["identity"], found["conn"])
    table = pa.table({"who": who, "kind": found["reason"], **columns})
    keys = TABLE_KEYS["refused"]
    return (rows("refused", add_up(table, keys), keys),)


def _slow_consumers(bucket: Bucket) -> Iterable[Rows]:
    """Return how often the server said that a client reads too slowly, by who it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = bucket.table("slow")
    who = pc.coalesce(found["identity"], found["conn"])
    columns = {name: found[name] for name in (*_COUNTS, *_PROOF)}
    table, keys = pa.table({"who": who, **columns}), TABLE_KEYS["slow_consumers"]
    return (rows("slow_consumers", add_up(table, keys), keys),)


def _claimed_users(bucket: Bucket) -> Iterable[Rows]:
    """Return the other users that clients claim than those that the broker proved."""
    import pyarrow as pa

    found, keys = bucket.table("claim"), TABLE_KEYS["claimed_users"]
    columns = {name: found[name] for name in (*_COUNTS, *_PROOF)}
    table = pa.table({"who": found["identity"], "claimed": found["subject"], **columns})
    return (rows("claimed_users", add_up(table, keys), keys),)


def _jetstream_errors(bucket: Bucket) -> Iterable[Rows]:
    """Return the errors that JetStream answered to clients."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found, keys = bucket.table("error"), TABLE_KEYS["jetstream_errors"]
    columns = {name: found[name] for name in (*_COUNTS, *_PROOF)}
    named = {"who": pc.coalesce(found["identity"], found["conn"]), "request": found["sid"],
             "stream": found["subject"], "why": found["queue"]}  # fmt: skip
    return (rows("jetstream_errors", add_up(pa.table({**named, **columns}), keys), keys),)


def identity_rows(publishes: pa.Table, subjects: Subjects) -> list[Rows]:
    """Return spoofed sources, and partial sums of the planes of each identity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = publishes.filter(are_hosts(publishes["identity"]))
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
            RATE: accused[ACCEPTED],
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
            **{name: planes[name] for name in _PROOF if name != "account"},
            "account": subjects.account.take(at.filter(used)),
            "code": plane.indices,
            "count": planes["published"],
            "first": planes["first_accepted"],
            "last": planes["last_accepted"],
            RATE: planes[ACCEPTED],
        }
    )
    summed = add_up(table, ("identity", *_PROOF, "code"))
    texts = plane.dictionary.take(summed["code"].combine_chunks())
    summed = summed.append_column("plane", texts).drop_columns(["code"])
    return [spoofed, rows("cross_plane", summed, TABLE_KEYS["cross_plane"])]


def unparseable_rows(found: pa.Table) -> Rows:
    """Return the lines that could not be parsed."""
    table = found.rename_columns(["server", "file", "offset", "reason", "text"])
    return rows("unparseable", table, ("server", "file", "offset"))


def _identities(bucket: Bucket) -> Iterable[Rows]:
    """Return spoofed sources, and partial sums of the planes of each identity."""
    return () if bucket.subjects is None else identity_rows(bucket.publishes, bucket.subjects)


def _unparseable(bucket: Bucket) -> Iterable[Rows]:
    """Return the lines that could not be parsed."""
    return (unparseable_rows(bucket.table("unparseable")),)


#: What makes the rows of which tables.
_MADE: dict[tuple[str, ...], Callable[[Bucket], Iterable[Rows]]] = {
    ("call_graph", "replies"): _edges,
    ("undelivered",): _undelivered,
    ("malformed", "other_traffic"): _outside,
    ("refused",): _refused,
    ("slow_consumers",): _slow_consumers,
    ("spoofed", "cross_plane"): _identities,
    ("claimed_users",): _claimed_users,
    ("jetstream_errors",): _jetstream_errors,
    ("logins",): logins,
    ("links",): links,
    ("servers",): servers,
    ("coverage",): coverage,
    ("fan_out",): _fan_out,
    ("hot_subjects",): _hot_subjects,
    ("unparseable",): _unparseable,
    (TOTALS,): _totals,
    (SUMS,): _sums,
}
