"""The rows of the tables, from the facts about some subjects.

All facts about a subject come to one task, so rows whose key holds the subject are final. Rows of
the other tables are partial sums, which ``_merge`` adds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import classify, microbus
from .._errors import SubtrieError
from ._facts import add_up
from ._messages_between_servers import followed
from ._pattern_index import PatternIndex
from ._schema import UNION, arrow_schema, arrow_type
from ._undelivered import explained

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns of rows: those of all tables, and the connections that ``instances`` counts.
ROWS = (*UNION, ("server_conn", "string"))
#: The name under which sums over all subjects stand among the rows.
TOTALS = "~totals"
_COUNTED = ("published", "refused", "delivered", "undelivered", "forwarded", "bytes")


def rows_of(facts: pa.Table, index: PatternIndex, planes: Sequence[str]) -> pa.Table:
    """Return the rows of all tables for the subjects of these facts.

    Args:
        facts: All facts about some subjects, and any facts of the kind ``unparseable``.
        index: The patterns of all logs.
        planes: The planes of the traffic.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    publishes = add_up(_kind(facts, "publish"), ("server", "window", "conn", "identity", "subject"))
    hops, arrivals = _kind(facts, "hop"), _kind(facts, "arrival")
    lost = _kind(facts, "undelivered").select(["server", "subject", "position"])
    if hops.num_rows and arrivals.num_rows:
        changed, more = followed(hops, arrivals)
        publishes = pa.concat_tables([publishes, changed.select(publishes.column_names)])
        lost = pa.concat_tables([lost, more])
    keys = ("server", "window", "conn", "sid", "queue", "subscription", "subject")
    deliveries = add_up(_kind(facts, "delivery").select([*keys, "count"]), keys)
    both = pa.chunked_array(
        [*publishes["subject"].chunks, *deliveries["subject"].chunks], pa.string()
    )
    subjects = _Subjects(pc.unique(both), index, planes)
    parts = [
        *_edges(publishes, deliveries, subjects),
        *_by_subject(publishes, deliveries, lost, subjects),
        _coverage(publishes, deliveries, subjects),
        _refused(_kind(facts, "refused")),
        *_identities(publishes, subjects),
        _unparseable(_kind(facts, "unparseable")),
        rows(TOTALS, pa.table({"forwarded": [pc.sum(publishes["forwarded"]).as_py() or 0]}), ()),
    ]
    return pa.concat_tables(parts)


def subscription_rows(index: PatternIndex) -> pa.Table:
    """Return the rows of the subscriptions, and rows of ``coverage`` without any traffic."""
    import pyarrow as pa

    table = index.subscriptions
    names = ["server", "conn", "sid", "started", "ended", "identity", "pattern", "queue", "start"]
    all_of = table.select(names).rename_columns(
        [*names[:3], "start", "end", "identity", "pattern", "queue", "position"]
    )
    zero = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
    covered = table.select(["server", "pattern", "queue"])
    covered = covered.append_column("matched", zero).append_column("delivered", zero)
    return pa.concat_tables(
        [
            rows("subscriptions", all_of, ("server", "conn", "sid", "position")),
            rows("coverage", covered, ("server", "pattern", "queue")),
        ]
    )


class _Subjects:
    """Distinct subjects, their addresses, and the patterns that match them."""

    def __init__(self, texts: pa.Array, index: PatternIndex, planes: Sequence[str]) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        self.texts = texts.combine_chunks() if hasattr(texts, "combine_chunks") else texts
        self.index = index
        decoded = pa.array(microbus.decode_batch(self.texts))
        self.columns = {
            field.name: decoded.field(field.name)
            if field.name in ("kind", "port")
            else decoded.field(field.name).cast(pa.string())
            for field in decoded.type
        }
        known = pa.array(list(planes), pa.string())
        self.kind = self.columns["kind"].cast(pa.int64())
        canonical = pc.is_in(self.columns["plane"], value_set=known)
        first = pc.replace_substring_regex(self.texts, r"(?s)\..*", "")
        inside = pc.is_in(first, value_set=known)
        address = pc.greater(self.kind, 0)
        self.request = pc.and_(canonical, pc.equal(self.kind, 1))
        self.reply = pc.and_(canonical, pc.equal(self.kind, 2))
        self.malformed = pc.and_(pc.invert(address), inside)
        self.other = pc.invert(inside)
        found = pa.array(index.trie.match_batch(self.texts))
        lists = found if pa.types.is_list(found.type) else found.cast(pa.list_(pa.int32()))
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        self.rows = np.repeat(np.arange(len(self.texts)), lengths)
        self.numbers = lists.flatten().to_numpy(zero_copy_only=False)
        best = np.full(len(self.texts), len(index.patterns), dtype=np.int64)
        np.minimum.at(best, self.rows, index.ranks[self.numbers])
        routes = pa.array([*index.by_rank, None], pa.string())
        self.route = routes.take(pa.array(best))

    def at(self, texts: pa.ChunkedArray) -> pa.Array:
        """Return the index of each subject."""
        import pyarrow.compute as pc

        return pc.index_in(texts, value_set=self.texts)


def _edges(publishes: pa.Table, deliveries: pa.Table, subjects: _Subjects) -> list[pa.Table]:
    """Return partial sums of the call graph and of the replies."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name = pc.binary_join_element_wise(publishes["server"], publishes["conn"], " ")
    sent = publishes.append_column("server_conn", name)
    sent = sent.append_column("delivered", pa.repeat(pa.scalar(0, pa.int64()), sent.num_rows))
    received = deliveries.rename_columns(
        ["delivered" if name == "count" else name for name in deliveries.column_names]
    )
    wanted = ["subject", "window", "server_conn", "first", "last", *_COUNTED]
    both = pa.concat_tables([_filled(table, wanted, _COUNTED) for table in (sent, received)])
    at = subjects.at(both["subject"])
    found = []
    for mask, table, names in (
        (subjects.request, "call_graph", ("source", "destination")),
        (subjects.reply, "replies", ("replier", "caller")),
    ):
        chosen = pc.take(mask, at)
        some, where = both.filter(chosen), at.filter(chosen)
        columns = {
            "plane": pc.take(subjects.columns["plane"], where),
            names[0]: pc.take(subjects.columns["source"], where),
            names[1]: pc.take(subjects.columns["host"], where),
        }
        keys = ["plane", "window", *names, "port", "method", "route", "server_conn"]
        values = [*_COUNTED, "first", "last"]
        if table == "replies":
            keys, values = ["plane", *names], ["published", "delivered", "undelivered"]
        else:
            columns |= {name: pc.take(subjects.columns[name], where) for name in ("port", "method")}
            columns["route"] = pc.take(subjects.route, where)
            columns |= {name: some[name] for name in ("window", "server_conn")}
        summed = add_up(pa.table(columns | {name: some[name] for name in values}), keys)
        found.append(rows(table, summed, [key for key in keys if key != "server_conn"]))
    return found


def _by_subject(
    publishes: pa.Table, deliveries: pa.Table, lost: pa.Table, subjects: _Subjects
) -> list[pa.Table]:
    """Return the tables whose key is the subject."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ("published", "taken", "undelivered", "bytes", "first_undelivered", "last_undelivered")
    summed = add_up(publishes.select(["subject", *names]), ("subject",))
    at = subjects.at(summed["subject"])
    published = pc.greater(summed["published"], 0)

    def some(mask: pa.Array, rename: dict[str, str]) -> tuple[pa.Table, pa.Array]:
        table = summed.filter(mask).select(list(rename)).rename_columns(list(rename.values()))
        return table, at.filter(mask)

    addressed = pc.take(pc.or_(subjects.request, subjects.reply), at)
    missed, where = some(
        pc.and_(addressed, pc.greater(summed["undelivered"], 0)),
        {"subject": "subject", "undelivered": "count", "first_undelivered": "first",
         "last_undelivered": "last"},
    )  # fmt: skip
    missed = explained(missed, where, lost, subjects.index, subjects.rows, subjects.numbers)
    malformed, where = some(
        pc.and_(pc.take(subjects.malformed, at), published),
        {"subject": "subject", "published": "count", "taken": "delivered"},
    )
    reasons = pc.take(subjects.columns["reason"], where)
    malformed = malformed.append_column("reason", reasons)
    outside = pc.and_(pc.take(subjects.other, at), published)
    other, _ = some(outside, {"subject": "subject", "published": "count"})
    classes = pa.array([classify(text) for text in other["subject"].to_pylist()], pa.string())
    other = other.append_column("class", classes)
    hot, _ = some(published, {"subject": "subject", "published": "published", "bytes": "bytes"})
    heard = deliveries.group_by("subject").aggregate([("count", "sum")])
    queued = pc.is_valid(deliveries["queue"])
    name = pc.binary_join_element_wise(
        deliveries["server"], deliveries["conn"], deliveries["sid"], " "
    )
    nothing = pa.scalar(None, pa.string())
    receivers = pa.table(
        {
            "subject": deliveries["subject"],
            "subscribers": pc.if_else(queued, nothing, name),
            "groups": deliveries["queue"],
        }
    )
    receivers = receivers.group_by("subject").aggregate(
        [("subscribers", "count_distinct"), ("groups", "count_distinct")]
    )
    fan_out = receivers.join(heard, "subject").select(
        ["subject", "subscribers_count_distinct", "groups_count_distinct", "count_sum"]
    )
    fan_out = fan_out.rename_columns(["subject", "subscribers", "groups", "delivered"])
    tables = {"undelivered": missed, "malformed": malformed, "other_traffic": other,
              "fan_out": fan_out, "hot_subjects": hot}  # fmt: skip
    return [rows(name, table, ("subject",)) for name, table in tables.items()]


def _coverage(publishes: pa.Table, deliveries: pa.Table, subjects: _Subjects) -> pa.Table:
    """Return partial sums of what each subscription matched and received."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    index = subjects.index
    table = index.subscriptions
    keys = ["server", "number", "queue"]
    sent = add_up(publishes.select(["server", "subject", "published"]), ("server", "subject"))
    at = subjects.at(sent["subject"]).to_numpy(zero_copy_only=False)
    starts = np.searchsorted(subjects.rows, np.arange(len(subjects.texts) + 1))
    counts = (starts[1:] - starts[:-1])[at] if len(at) else np.zeros(0, dtype=np.int64)
    row = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = subjects.numbers[(starts[at[row]] if len(at) else row) + within]
    pairs = sent.take(pa.array(row)).append_column("number", pa.array(numbers, pa.int32()))
    matched = pairs.group_by(["server", "number"]).aggregate([("published", "sum")])
    groups = table.group_by(keys).aggregate([])
    matched = matched.join(groups, ["server", "number"], join_type="inner")
    matched = matched.rename_columns(
        ["matched" if n == "published_sum" else n for n in matched.column_names]
    )
    place = pc.index_in(
        _place(deliveries["server"], deliveries["subscription"]),
        value_set=_place(table["server"], table["start"]).combine_chunks(),
    )
    known = pc.is_valid(place)
    received = table.take(place.filter(known)).select(keys)
    received = received.append_column("delivered", deliveries["count"].filter(known))
    both = pa.concat_tables(
        [_filled(each, [*keys, "matched", "delivered"], ("matched", "delivered"))
         for each in (matched, received)]
    )  # fmt: skip
    summed = add_up(both, keys)
    patterns = pa.array(index.patterns, pa.string()).take(summed["number"].combine_chunks())
    summed = summed.append_column("pattern", patterns).drop_columns(["number"])
    return rows("coverage", summed, ("server", "pattern", "queue"))


def _place(server: pa.ChunkedArray, position: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts that are equal when server and position are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(server, position.cast(pa.string()), " ")


def _refused(facts: pa.Table) -> pa.Table:
    """Return what the server refused, by who asked for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    who = pc.coalesce(facts["identity"], facts["conn"])
    table = pa.table(
        {"who": who, "subject": facts["subject"], "kind": facts["reason"], "count": facts["count"]}
    )
    keys = ("who", "subject", "kind")
    return rows("refused", add_up(table, keys), keys)


def _identities(publishes: pa.Table, subjects: _Subjects) -> list[pa.Table]:
    """Return spoofed sources, and partial sums of the planes of each identity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pc.unique(publishes["identity"])
    hosts = pa.array([name for name in names.to_pylist() if _is_host(name)], pa.string())
    known = publishes.filter(pc.is_in(publishes["identity"], value_set=hosts))
    at = subjects.at(known["subject"])
    source = pc.take(subjects.columns["source"], at)
    canonical = pc.greater(pc.take(subjects.kind, at), 0)
    table = pa.table(
        {
            "who": known["identity"],
            "claimed": source,
            "subject": known["subject"],
            "accepted": known["published"],
            "count": pc.add(known["published"], known["refused"]),
        }
    )
    inside = pc.take(pc.or_(subjects.request, subjects.reply), at)
    false = pc.fill_null(pc.not_equal(source, known["identity"]), False)
    table = table.filter(pc.and_(inside, false))
    keys = ("who", "claimed", "subject")
    spoofed = rows("spoofed", add_up(table, keys), keys)
    planes = pa.table(
        {
            "identity": known["identity"],
            "plane": pc.take(subjects.columns["plane"], at),
            "count": known["published"],
            "first": known["first_accepted"],
            "last": known["last_accepted"],
        }
    )
    planes = planes.filter(pc.and_(canonical, pc.greater(known["published"], 0)))
    keys2 = ("identity", "plane")
    return [spoofed, rows("cross_plane", add_up(planes, keys2), keys2)]


def _unparseable(facts: pa.Table) -> pa.Table:
    """Return the lines that could not be parsed."""
    table = facts.select(["server", "file", "position", "reason", "text"])
    table = table.rename_columns(["server", "file", "offset", "reason", "text"])
    return rows("unparseable", table, ("server", "file", "offset"))


def _is_host(name: str | None) -> bool:
    """Whether a name is the host name of a Microbus service."""
    try:
        microbus.check_identity_host(name or "")
    except SubtrieError:
        return False
    return True


def _kind(facts: pa.Table, kind: str) -> pa.Table:
    """Return the facts of one kind."""
    import pyarrow.compute as pc

    from ._facts import columns_of

    return facts.filter(pc.equal(facts["fact"], kind)).select(list(columns_of(kind)))


def _filled(table: pa.Table, names: Sequence[str], counted: Sequence[str]) -> pa.Table:
    """Return the columns in ``names``; a missing count is 0, any other missing value null."""
    import pyarrow as pa

    kinds: dict[str, Any] = {"window": "timestamp", "first": "timestamp", "last": "timestamp"}
    columns = {}
    for name in names:
        if name in table.column_names:
            columns[name] = table[name]
        elif name in counted:
            columns[name] = pa.repeat(pa.scalar(0, pa.int64()), table.num_rows)
        else:
            columns[name] = pa.nulls(table.num_rows, arrow_type(kinds.get(name, "string")))
    return pa.table(columns)


def rows(table: str, values: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return rows of a table, with the key by which they are sorted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for name in keys:
        column = values[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        text = column.cast(pa.string())
        if pa.types.is_integer(column.type):
            text = pc.utf8_lpad(text, 20, "0")
        # Null is before every text.
        parts.append(pc.if_else(pc.is_null(text), "", pc.binary_join_element_wise("~", text, "")))
    length = values.num_rows
    joined = bool(length and parts)
    key = pc.binary_join_element_wise(*parts, "\x01") if joined else pa.repeat("", length)
    schema = arrow_schema(ROWS)
    columns = []
    for field in schema:
        if field.name == "table":
            columns.append(pa.chunked_array([pa.repeat(table, length)]))
        elif field.name == "key":
            columns.append(key if isinstance(key, pa.ChunkedArray) else pa.chunked_array([key]))
        elif field.name in values.column_names:
            columns.append(values[field.name].cast(field.type))
        else:
            columns.append(pa.chunked_array([pa.nulls(length, field.type)]))
    return pa.table(columns, schema=schema)
