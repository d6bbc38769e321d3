"""The rows of a partial about the subjects of some buckets, numbered and matched with patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..._core.address import is_host
from .._partial.kinds import add_up
from .._partial.partial import Numbered, Partial
from .._partial.rates import LOST
from .accounts import told
from .context import Asked, Context, Open
from .messages_between_servers import Crossing, followed
from .pattern_index import PatternIndex
from .streams import Receivers

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
        streams = self.asked.streams
        return Receivers(streams, self._open(streams.indexed) if streams.patterns else None)


def sums_by_subject(publishes: pa.Table) -> pa.Table:
    """Return the sums of messages by the number of their subject, ``at``."""
    import numpy as np

    names = ["published", "taken", "undelivered", "bytes", LOST]
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
        each.set_column(each.schema.get_field_index("at"), "at", pa.array(of_each))
        for each, of_each in zip(tables, parts, strict=True)
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
