"""The context of all buckets: counts, planes, subscriptions, and indexes of patterns.

It follows from the head of the whole partial, so it is made once, and sent to all workers.

A subscription begins at its SUB and ends at its UNSUB or DELSUB, at the end of its connection, when
the server starts again, or with the log. One that the server refused is left out. A second SUB with
a subscription id in use is ignored, as the server ignores it; an id may be used again after its
end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import microbus
from ..._core.errors import SubtrieError
from .._answers.gaps import CodeCall
from .._answers.questions import Questions
from .._answers.rule_table import Rule
from .._answers.tables import Answers
from .._partial.partial import Partial
from .._schema import TABLES, arrow_schema
from .accounts import only_account, told
from .pattern_index import Files, PatternIndex, index_files, pattern_files
from .streams import (
    NO_STREAMS,
    KnownStreams,
    ack_policies,
    acknowledged,
    deleted_streams,
    stored_patterns,
    told_consumers,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from ...acl._jetstream.streams import Streams

#: The categories of lines.
LINES = ("operations", "payloads", "server", "unparseable_lines")
#: Opens the index in the files of these names.
Open = Callable[[tuple[str, ...]], PatternIndex]


class Asked(NamedTuple):
    """The rules and the code that messages are compared with.

    Attributes:
        services: The services that have rules, perhaps none to publish, sorted.
        rules: The publish rules, by number.
        ruled: The names of the files of the index of their patterns.
        code: The calls in the code, by number: specific ones first.
        called: The names of the files of the index of their patterns.
    """

    services: tuple[str, ...]
    rules: tuple[Rule, ...]
    ruled: tuple[str, ...]
    code: tuple[CodeCall, ...]
    called: tuple[str, ...]


@dataclass(frozen=True)
class Context:
    """The facts that the rows of every bucket depend on.

    Attributes:
        counts: The counts of lines, messages and windows.
        planes: The planes that are audited.
        subscribed: The names of the files of the index of the subscribed patterns.
        asked: What answers are made with; None if nothing is asked.
        account: The account of connections whose account is not told; None if it is not known.
        streams: What is known about streams.
    """

    counts: dict[str, int]
    planes: tuple[str, ...]
    subscribed: tuple[str, ...]
    asked: Asked | None = None
    account: str | None = None
    streams: KnownStreams = NO_STREAMS

    @property
    def lines(self) -> int:
        """The number of lines."""
        return sum(self.counts.get(name, 0) for name in LINES)

    @property
    def unmatched(self) -> int:
        """The deliveries that no message took, if the events say what was taken.

        A period may end between a message and its delivery, which is not sent in it.
        """
        counts = self.counts
        untaken = counts["sent"] - counts["matched"] if counts.get("settled") else 0
        return counts.get("unmatched", 0) + max(0, untaken)


class Whole(NamedTuple):
    """The context, its files and the answers, from the head of the whole partial.

    Attributes:
        context: What the rows of every bucket depend on.
        files: The files of the indexes.
        answers: What makes the tables of answers of the sums of all buckets; None if nothing is
            asked.
    """

    context: Context
    files: Files
    answers: Answers | None


def context_of(
    head: Partial, planes: Sequence[str], questions: Questions | None, window: int | None
) -> Whole:
    """Return what the rows of every bucket depend on.

    Args:
        head: The head of the whole partial; its subscriptions are taken.
        planes: The planes to audit; none for those of the traffic.
        questions: What is asked beyond the tables of the traffic; None for nothing.
        window: The length of a period in microseconds, or None.

    Raises:
        ValueError: There are too many rules.
    """
    import pyarrow.compute as pc

    subscriptions = subscriptions_of(head.take_table("subscription"))
    account = only_account(subscriptions["account"])
    subscriptions = told(subscriptions, account)
    found = set(head.table("plane")["subject"].to_pylist())
    patterns = pc.unique(subscriptions["pattern"]).to_pylist()
    found |= {plane for plane in map(plane_of_pattern, patterns) if plane is not None}
    known = tuple(sorted(set(planes)) or sorted(found))
    counts = head.counts()
    files, indexed = index_files(subscriptions)
    names = tuple(name for name, _ in files)
    given = None if questions is None else questions.streams
    streams, stored = _known_streams(head, given)
    files = (*files, *stored)
    if questions is None or questions.unasked(known, counts.get("operations", 0)):
        return Whole(Context(counts, known, names, None, account, streams), files, None)
    answers = Answers(subscription_table(indexed).drop_columns(["position"]), questions, window)
    answers.told_consumers = told_consumers(head, given)
    ruled = pattern_files([each.pattern for each in answers.rules])
    called = pattern_files([each.pattern for each in answers.code])
    asked = Asked(
        tuple(sorted(questions.rules or ())),
        tuple(answers.rules), tuple(name for name, _ in ruled),
        tuple(answers.code), tuple(name for name, _ in called),
    )  # fmt: skip
    context = Context(counts, known, names, asked, account, streams)
    return Whole(context, (*files, *ruled, *called), answers)


def _known_streams(head: Partial, given: Streams | None) -> tuple[KnownStreams, Files]:
    """Return what is known about streams, and the files of the index of their patterns."""
    told = any(head.table(kind).num_rows for kind in ("stream", "stored", "consumer"))
    if given is None and not told:
        return NO_STREAMS, ()
    patterns = stored_patterns(head, given)
    files = pattern_files([each.pattern for each in patterns]) if patterns else ()
    names = tuple(name for name, _ in files)
    deleted, policies = deleted_streams(head), ack_policies(head, given)
    return KnownStreams(patterns, names, acknowledged(head), deleted, policies), files


def subscription_table(indexed: pa.Table) -> pa.Table:
    """Return the rows of the table ``subscriptions``, and ``position``, that of the SUB line."""
    names = [*TABLES["subscriptions"], "position"]
    other = {"start": "started", "end": "ended", "position": "start"}
    return indexed.select([other.get(name, name) for name in names]).rename_columns(names)


#: ``start`` and ``end`` are positions in the log of the server, ``started`` and ``ended`` times.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("server", "string"),
    ("conn", "string"),
    ("sid", "string"),
    ("start", "bigint"),
    ("end", "bigint"),
    ("started", "timestamp"),
    ("ended", "timestamp"),
    ("account", "string"),
    ("identity", "string"),
    ("pattern", "string"),
    ("queue", "string"),
    ("user", "string"),
    ("client", "string"),
    ("identity_source", "string"),
)
_CLIENT = r"/(?:client|websocket|mqtt):"


def subscriptions_of(read: pa.Table) -> pa.Table:
    """Return the accepted subscriptions, from rows of the kind ``subscription``.

    The result is sorted by server and start. Cost: two sorts; about a microsecond for each row.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = arrow_schema(COLUMNS)
    if not read.num_rows:
        return schema.empty_table()
    read = _in_order(read.combine_chunks())
    op, direction = read["op"], read["reason"]
    read = read.set_column(read.schema.get_field_index("sid"), "sid", _ids(read))
    servers, conns, sids = (_codes(read[name]) for name in ("server", "conn", "sid"))
    names = conns.dictionary.to_pylist()
    conn = servers.numbers * len(names) + conns.numbers
    client = _mask(pc.match_substring_regex(conns.dictionary, _CLIENT))[conns.numbers]
    inside = _mask(pc.equal(direction, "in"))
    sub, closed, started, refused, leaf, linked = (
        _mask(pc.equal(op, name)) for name in ("SUB", "CLOSED", "START", "VIOLATION", "LS+", "LINK")
    )
    closed |= linked & _mask(pc.equal(read["queue"], "down"))
    ended = ~(sub | closed | started | refused) & _mask(pc.is_null(read["size"]))
    dropped = _mask(pc.equal(op, "DELSUB")) & _mask(pc.equal(direction, "local"))
    ended &= (inside | dropped) & ~(leaf | linked)
    # Of the subscriptions of a leaf node that a route tells, nothing but the name is read.
    leaf &= _mask(pc.is_valid(read["subject"]))
    accepted = ((sub & client) | leaf) & inside

    # Only these are about one subscription id; at most one subscription to an id is open until the
    # line at which the connection ends.
    lines = np.flatnonzero(accepted | ended | refused)
    process = servers.numbers * len(names) + _processes(names)[conns.numbers]
    closes = np.minimum(
        _following(conn, np.flatnonzero(closed), lines),
        _following(process, np.flatnonzero(started), lines),
    )
    ids = conn[lines] * len(sids.dictionary) + sids.numbers[lines]
    order = np.argsort(ids, kind="stable")
    lines, closes, ids = lines[order], closes[order], ids[order]
    opens = accepted[lines]
    same = np.zeros(len(lines), dtype=bool)  # as the line before: id and open connection
    same[1:] = (ids[1:] == ids[:-1]) & (closes[1:] == closes[:-1])
    repeated = same.copy()
    repeated[1:] &= opens[:-1]
    begins = np.flatnonzero(opens & ~repeated)
    others = np.append(np.flatnonzero(~opens), len(lines))
    after = others[np.searchsorted(others, begins)]
    part = np.cumsum(~same)
    found = np.minimum(after, len(lines) - 1)
    own = (after < len(lines)) & (part[found] == part[begins])
    ends = np.where(own, lines[found], closes[begins])
    kept = ~(own & refused[lines[found]])
    starts, ends = lines[begins[kept]], ends[kept]
    order = np.argsort(starts)
    starts, ends = starts[order], ends[order]

    kept = ("server", "conn", "sid", "account", "identity", "queue")
    kept += ("user", "client", "identity_source")
    rows = read.select([*kept, "subject", "position", "time"]).take(pa.array(starts))
    last = read.select(["position", "time"]).take(pa.array(ends, mask=ends == read.num_rows))
    columns = {
        **{name: rows[name] for name in kept},
        "pattern": rows["subject"],
        "start": rows["position"],
        "started": rows["time"],
        "end": last["position"],
        "ended": last["time"],
    }
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)


def _ids(read: pa.Table) -> pa.Array:
    """Return the ids of subscriptions; those of a leaf node have none but their pattern."""
    import pyarrow.compute as pc

    op, subject, queue, sid = (
        read[name].combine_chunks() for name in ("op", "subject", "queue", "sid")
    )
    of_leaf = pc.starts_with(op, "LS")
    if not pc.any(of_leaf).as_py():
        return sid
    named = pc.binary_join_element_wise(pc.fill_null(subject, ""), pc.fill_null(queue, ""), " ")
    named = pc.utf8_rtrim(named, " ")
    return pc.if_else(of_leaf, named, sid)


def _in_order(read: pa.Table) -> pa.Table:
    """Return lines by server and position; those of one log, read in order, are not copied."""
    import numpy as np
    import pyarrow.compute as pc

    one = pc.min_max(read["server"])
    if one["min"] == one["max"] and not read["server"].null_count:
        positions = read["position"].to_numpy()
        if bool(np.all(positions[1:] > positions[:-1])):
            return read
    return read.sort_by([("server", "ascending"), ("position", "ascending")]).combine_chunks()


class _Codes(NamedTuple):
    numbers: Any
    dictionary: pa.Array


def _codes(column: pa.ChunkedArray) -> _Codes:
    """Return a number for each distinct text of a column; null is the empty text."""
    import numpy as np

    coded = column.fill_null("").combine_chunks().dictionary_encode()
    numbers = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return _Codes(numbers, coded.dictionary)


def _mask(values: Any) -> Any:
    """Return a column of truth values; null is false."""
    return values.fill_null(False).to_numpy(zero_copy_only=False).astype(bool)


def _processes(conns: Sequence[str]) -> Any:
    """Return a number for the process of each connection, which its name begins with."""
    import numpy as np

    known: dict[str, int] = {}
    return np.array(
        [known.setdefault(conn.partition("/")[0], len(known)) for conn in conns], np.int64
    )


def _following(groups: Any, marks: Any, lines: Any) -> Any:
    """Return the first of the marked lines after each line in the same group, else their number.

    Args:
        groups: The group of every line.
        marks: The marked lines.
        lines: The lines that are asked for.
    """
    import numpy as np

    count = len(groups)
    places = np.append(np.sort(groups[marks] * count + marks), -1)
    asked = groups[lines] * count + lines
    found = places[np.searchsorted(places[:-1], asked)]
    return np.where(found // count == groups[lines], found % count, count)


def plane_of_pattern(pattern: str) -> str | None:
    """Return the plane of a canonical Microbus subscription, or None."""
    try:
        return microbus.decode_subscription(pattern).plane
    except SubtrieError:
        pass
    # A reply subscription is <plane>.reply._.*.<host>.<id>: with a source in place of the star, it
    # is a reply.
    match pattern.split("."):
        case [plane, "reply", version, "*", *rest]:
            try:
                return microbus.decode(".".join((plane, "reply", version, "x", *rest))).plane
            except SubtrieError:
                pass
    return None
