"""The rows of a partial about the subjects of some buckets, numbered and matched with patterns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .._partial.add_up import add_up
from .._partial.partial import Partial
from .context import Asked, Context, Open
from .messages_between_servers import followed
from .pattern_index import PatternIndex
from .subjects import Subjects

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
        lost: Server, subject and position of each message that no client received.
        publishes: Messages, with ``at``, the number of the subject.
        deliveries: Deliveries, likewise.
        subjects: The distinct subjects; None if there is neither a message nor a delivery.
    """

    def __init__(self, partial: Partial, context: Context, opened: Open) -> None:
        import pyarrow as pa

        self.context, self._open, self._partial = context, opened, partial
        self.index: PatternIndex = opened(context.subscribed)
        self.lost: pa.Table = partial.table("undelivered")
        hops, arrivals = partial.table("hop"), partial.table("arrival")
        if hops.num_rows and arrivals.num_rows:
            changed, more = followed(hops, arrivals)
            partial.add_publishes(changed)
            self.lost = pa.concat_tables([self.lost, more])
        numbered = partial.numbered()
        self.subjects: Subjects | None = None
        if numbered is not None:
            self.publishes, self.deliveries, texts, addresses = numbered
            self.subjects = Subjects(texts, addresses, self.index, context.planes)

    def table(self, kind: str) -> pa.Table:
        """Return the rows of a kind that is not summed natively."""
        return self._partial.table(kind)

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


def sums_by_subject(publishes: pa.Table) -> pa.Table:
    """Return the sums of messages by the number of their subject, ``at``."""
    import numpy as np

    names = ["published", "taken", "undelivered", "bytes"]
    names += [f"{end}_{what}" for end in ("first", "last") for what in ("accepted", "undelivered")]
    summed = publishes.select(["at", *names])
    # A subject can have several rows.
    ascending = bool(np.all(np.diff(summed["at"].to_numpy()) > 0))
    return summed if ascending else add_up(summed, ("at",))
