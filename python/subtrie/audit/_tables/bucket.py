"""The rows of a partial about the subjects of some buckets, numbered and matched with patterns."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..._core.address import is_host
from .._partial.kinds import add_up
from .._partial.partial import Numbered, Partial
from .._partial.rates import ACCEPTED, LOST
from .accounts import told
from .context import Asked, Context, Open
from .messages_between_servers import Crossing, followed
from .pattern_index import PatternIndex
from .streams import IMPORTED, Receivers, StoredPattern, streams_of

if TYPE_CHECKING:
    import pyarrow as pa


class Bucket:
    """The rows of some buckets of a partial; messages between servers are followed.

    Args:
        partial: All rows about some subjects. It is emptied.
        context: What follows from the head.
        opened: Opens an index of the context.

    Attributes:
        context: What follows from the head.
        index: The subscribed patterns.
        lost: Server, account, subject and position of each message that no client received.
        publishes: Messages, with ``at``, the number of the subject in its account.
        deliveries: Deliveries, likewise.
        crossed: The messages that clients of other servers received, as ``Followed`` counts them.
        subjects: The distinct subjects of each account; None if there is neither a message nor a
            delivery.
    """

    def __init__(self, partial: Partial, context: Context, opened: Open) -> None:
        import pyarrow as pa

        self.context, self._open, self._partial = context, opened, partial
        self._tables: dict[str, pa.Table] = {}
        self.index: PatternIndex = opened(context.subscribed)
        self.lost: pa.Table = partial.table("undelivered")
        hops, arrivals = (told(partial.table(kind), context.account) for kind in ("hop", "arrival"))
        self.crossed: Counter[Crossing] = Counter()
        if hops.num_rows and arrivals.num_rows:
            changed, more, self.crossed = followed(hops, arrivals)
            partial.add_publishes(changed)
            self.lost = pa.concat_tables([self.lost, more])
        self.lost = told(self.lost, context.account)
        numbered = partial.numbered()
        self.subjects: Subjects | None = None
        if numbered is not None:
            self.publishes, self.deliveries, texts, addresses = by_account(
                *numbered, context.account
            )
            self.subjects = Subjects(texts, addresses, self.index, context.planes)
            self.publishes = self._without_stored(self.publishes, self.subjects)

    def table(self, kind: str) -> pa.Table:
        """Return the rows of a kind that is not summed natively; they are added up once."""
        if kind not in self._tables:
            self._tables[kind] = self._partial.table(kind)
        return self._tables[kind]

    def told(self, kind: str) -> pa.Table:
        """Return the rows of a kind as ``table`` does, with the accounts that are known."""
        return told(self.table(kind), self.context.account)

    @cached_property
    def by_subject(self) -> pa.Table:
        """The sums of messages by the number of their subject."""
        return sums_by_subject(self.publishes)

    @property
    def asked(self) -> Asked:
        """The rules and the code that messages are compared with."""
        assert self.context.asked is not None
        return self.context.asked

    @cached_property
    def ruled(self) -> PatternIndex:
        """The patterns of the rules."""
        return self._open(self.asked.ruled)

    @cached_property
    def called(self) -> PatternIndex:
        """The patterns of the calls in the code."""
        return self._open(self.asked.called)

    @cached_property
    def receivers(self) -> Receivers:
        """The receivers beside subscribers."""
        streams = self.context.streams
        return Receivers(streams, self._open(streams.indexed) if streams.patterns else None)

    @cached_property
    def stored(self) -> list[list[StoredPattern]]:
        """The patterns of streams that match each subject, by its number."""
        assert self.subjects is not None
        return self.receivers.of(self.subjects.texts)

    @cached_property
    def consumed(self) -> dict[int, set[str]]:
        """The streams whose consumers delivered a subject, by its number."""
        import pyarrow.compute as pc

        consumer = self.deliveries["consumer"]
        told = pc.fill_null(pc.not_equal(consumer, IMPORTED), False)
        found: dict[int, set[str]] = {}
        if pc.any(told).as_py():
            rows = self.deliveries.select(["at", "consumer"]).filter(told)
            rows = rows.group_by(["at", "consumer"], use_threads=False).aggregate([])
            for at, name in zip(rows["at"].to_pylist(), rows["consumer"].to_pylist(), strict=True):
                found.setdefault(at, set()).add(name.partition(".")[0])
        return found

    def _without_stored(self, publishes: pa.Table, subjects: Subjects) -> pa.Table:
        """Return messages of which those that a stream stored are not undelivered.

        The log does not tell the times of those that came after the end of their streams.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        lost = publishes["undelivered"].to_numpy()
        if not (lost.any() and (self.context.streams.patterns or self.consumed)):
            return publishes
        names = ("server", "at", "conn", "identity", "user", "client")
        rows = publishes.select(names).take(pa.array(places := np.flatnonzero(lost)))
        accounts, left, after = subjects.account, lost.copy(), _After(self.lost)
        told = zip(*(rows[name].to_pylist() for name in names), places.tolist(), strict=True)
        for server, at, *_, place in sorted(told, key=_by_program):
            account, stored = accounts[at].as_py(), self.stored[at]
            if not (streams_of(account, stored) or at in self.consumed):
                continue
            end = self.receivers.deleted(server, account, stored)
            key = server, account, subjects.texts[at].as_py()
            left[place] = 0 if end is None else after.take(key, end, int(lost[place]))
        same = pa.array(left == lost)
        publishes = replaced(publishes, "undelivered", pa.array(left))
        for name in ("first_undelivered", LOST):
            column = pc.if_else(same, publishes[name], pa.scalar(None, publishes[name].type))
            publishes = replaced(publishes, name, column)
        gone = pa.array((left == 0) & (lost > 0))
        last = publishes["last_undelivered"]
        return replaced(publishes, "last_undelivered",
                        pc.if_else(gone, pa.scalar(None, last.type), last))  # fmt: skip


class _After:
    """The undelivered messages after a position, each taken once.

    Args:
        lost: Rows of the kind ``undelivered``.
    """

    def __init__(self, lost: pa.Table) -> None:
        self._rows, self._taken = lost, Counter[tuple[Any, ...]]()

    @cached_property
    def _positions(self) -> dict[tuple[Any, ...], list[int]]:
        found: dict[tuple[Any, ...], list[int]] = {}
        names = ("server", "account", "subject", "position")
        for *key, position in zip(*(self._rows[n].to_pylist() for n in names), strict=True):
            found.setdefault(tuple(key), []).append(position)
        return {key: sorted(positions) for key, positions in found.items()}

    def take(self, key: tuple[Any, ...], position: int, most: int) -> int:
        """Return how many of at most so many messages of a server, account and subject are left."""
        positions = self._positions.get(key, [])
        after = len(positions) - bisect_right(positions, position) - self._taken[key]
        taken = max(0, min(most, after))
        self._taken[key] += taken
        return taken


def _by_program(row: Sequence[Any]) -> list[str | int]:
    """Return the order in which messages of one subject are taken to be the later ones."""
    server, at, conn, identity, user, client, _ = row
    return [server, at, identity or conn, user or "", client or "", conn]


def replaced(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return a table with another column in place of that of a name."""
    return table.set_column(table.schema.get_field_index(name), name, column)


def sums_by_subject(publishes: pa.Table) -> pa.Table:
    """Return the sums of messages by the number of their subject, ``at``."""
    import numpy as np

    names = ["published", "taken", "undelivered", "bytes", ACCEPTED, LOST]
    names += [f"{end}_{what}" for end in ("first", "last") for what in ("accepted", "undelivered")]
    summed = publishes.select(["at", *names])
    # A subject can have several rows.
    ascending = bool(np.all(np.diff(summed["at"].to_numpy()) > 0))
    return summed if ascending else add_up(summed, ("at",))


def are_hosts(names: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return which names can be the host of a service."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unique = pc.unique(names).to_pylist()
    hosts = pa.array([name for name in unique if is_host(name)], pa.string())
    return pc.is_in(names, value_set=hosts)


def by_account(
    publishes: pa.Table,
    deliveries: pa.Table,
    subjects: pa.RecordBatch,
    addresses: pa.RecordBatch,
    only: str | None = None,
) -> Numbered:
    """Number the subjects of each account apart: ``subjects`` gets the column ``account``.

    ``only`` is the account of those whose account is not told.
    """
    import numpy as np
    import pyarrow as pa

    tables = (publishes, deliveries)
    named = pa.concat_tables([told(each.select(["account"]), only) for each in tables])
    coded = named["account"].combine_chunks().dictionary_encode(null_encoding="encode")
    accounts = coded.dictionary
    if len(accounts) == 1:
        column = pa.repeat(accounts[0], subjects.num_rows)
        return publishes, deliveries, subjects.append_column("account", column), addresses
    at = np.concatenate([each["at"].to_numpy() for each in tables]).astype(np.int64)
    pairs, numbers = np.unique(at * len(accounts) + coded.indices.to_numpy(), return_inverse=True)
    old, codes = np.divmod(pairs, len(accounts))
    parts = np.split(numbers.astype(np.int32), [publishes.num_rows])
    publishes, deliveries = (
        replaced(each, "at", pa.array(of_each)) for each, of_each in zip(tables, parts, strict=True)
    )
    subjects = subjects.take(pa.array(old))
    column = accounts.take(pa.array(codes))
    return publishes, deliveries, subjects.append_column("account", column), addresses


class Subjects:
    """Distinct subjects of each account, their addresses, and the patterns that match them.

    Attributes:
        texts: The subjects.
        account: The account of each subject.
        address: The row of the address of each subject in ``addresses``.
        addresses: The distinct addresses: kind, port, plane, source, host, method, reason.
        planes: The known planes.
        requests: Which addresses are those of requests of a known plane.
        replies: Which are those of replies of one.
        addressed: Which subjects have such an address.
    """

    def __init__(
        self,
        subjects: pa.RecordBatch,
        addresses: pa.RecordBatch,
        index: PatternIndex,
        planes: Sequence[str],
    ) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        self.texts = subjects.column("subject")
        self.account: pa.Array = subjects.column("account")
        self.address = subjects.column("address")
        self.addresses = addresses
        self.index = index
        self.planes = planes
        known = pa.array(list(planes), pa.string())
        canonical = pc.is_in(addresses.column("plane"), value_set=known)
        kind = addresses.column("kind")
        self.kind = kind.take(self.address)
        self.requests = pc.and_(canonical, pc.equal(kind, 1))
        self.replies = pc.and_(canonical, pc.equal(kind, 2))
        self.addressed = pc.or_(self.requests, self.replies).take(self.address)
        if not len(index.patterns):
            self.rows, self.numbers = np.zeros(0, np.int64), np.zeros(0, np.int32)
            self.rank = pa.nulls(len(self.texts), pa.int64())
            return
        self.rows, self.numbers = index.matches_in(self.texts, self.account)
        best = np.full(len(self.texts), len(index.patterns), dtype=np.int64)
        np.minimum.at(best, self.rows, index.ranks[self.numbers])
        #: The rank of the most specific route of each subject, null if none matches.
        self.rank = pa.array(best, mask=best == len(index.patterns))

    def text(self, name: str, at: pa.Array) -> pa.Array:
        """Return a part of the addresses of some subjects."""
        return self.addresses.column(name).take(self.address.take(at))
