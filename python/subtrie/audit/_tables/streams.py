"""Receivers beside subscribers: streams that store a subject, JetStream itself, the server.

Which stream stores a subject follows from what the log or the given settings of streams tell, else
from the deliveries of its consumers, else from its answer to the publisher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..._nats.jetstream_subjects import (
    ACKNOWLEDGE,
    EVENT,
    JetStreamUse,
    jetstream_use,
    made_up_name,
)
from .._answers.consumers import ToldConsumer
from .._answers.folding import fold
from .._identity import may_be_equal
from .pattern_index import PatternIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from ...acl._jetstream.streams import Streams
    from .._answers.consumers import Consumer
    from .._partial.partial import Partial

#: The receivers of the subjects that no client needs to subscribe, as the column ``subscriber``.
JETSTREAM, SERVER, SERVICES = "JetStream", "server", "services"
#: Routes, gateways and leaf nodes: what was sent to them, and to no client of the server.
OTHER_SERVERS = "other servers"
#: Programs of another account, which imports or exports the subject.
OTHER_ACCOUNTS = "other accounts"
#: The publisher of a message that a client received and no log tells: a program of another account
#: or server, or a stream that publishes again what it stores.
NOT_IN_THE_LOG = "not in the log"
#: How the subjects of replies begin that the server makes for requests of other accounts.
_IMPORTED_REPLY = "_R_."
#: The mark of a request from another account, in place of a consumer.
IMPORTED = "_R_"
#: What precedes the name of a consumer in the column ``queue``.
CONSUMER = "consumer "
#: The subjects whose folded texts are kept.
_FOLDED = 65_536
_OF_THE_SERVER = {"$SYS": SERVER, "$SRV": SERVICES, "$JSC": JETSTREAM}


class Receiver(NamedTuple):
    """The columns ``subscriber`` and ``queue`` of a flow to a receiver without a subscription."""

    subscriber: str
    queue: str | None = None


class StoredPattern(NamedTuple):
    """A pattern whose messages a stream of an account stores; None for any account."""

    account: str | None
    stream: str
    pattern: str


class KnownStreams(NamedTuple):
    """The streams that the log tells, or that are given.

    Attributes:
        patterns: The patterns that streams store.
        indexed: The names of the files of the index of these patterns.
        acknowledged: The streams that answered to a connection of a server.
        deleted: The position in the log of a server at which the stream of an account was deleted.
        policies: The ack policies of each stream and consumer, with their accounts.
    """

    patterns: tuple[StoredPattern, ...] = ()
    indexed: tuple[str, ...] = ()
    acknowledged: Mapping[tuple[str, str], tuple[str, ...]] = {}
    deleted: Mapping[tuple[str, str | None, str], int] = {}
    policies: Mapping[tuple[str, str], frozenset[tuple[str | None, str]]] = {}


NO_STREAMS = KnownStreams()


def stored_patterns(head: Partial, given: Streams | None) -> tuple[StoredPattern, ...]:
    """Return the patterns that streams store, as the log tells them or as they are given."""
    told = head.table("stream").select(["account", "queue", "subject"])
    found = set(zip(*(column.to_pylist() for column in told.columns), strict=True))
    for stream in () if given is None else given.streams:
        accounts = {stream.account, stream.key or stream.account}
        found |= {(each, stream.name, text) for each in accounts for text in stream.subjects}
    return tuple(StoredPattern(*each) for each in sorted(found, key=_null_first))


def acknowledged(head: Partial) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the streams that answered to each connection of each server."""
    table = head.table("stored")
    found: dict[tuple[str, str], set[str]] = {}
    rows = zip(*(table[name].to_pylist() for name in ("server", "conn", "queue")), strict=True)
    for server, conn, stream in rows:
        found.setdefault((server, conn), set()).add(stream)
    return {key: tuple(sorted(streams)) for key, streams in found.items()}


def deleted_streams(head: Partial) -> dict[tuple[str, str | None, str], int]:
    """Return where streams were deleted, by server, account and name, unless made again."""
    names = ("server", "account", "queue", "last_position")
    told: dict[tuple[str, str | None, str], int] = {}
    columns = (head.table("stream")[name].to_pylist() for name in names)
    for server, account, stream, position in zip(*columns, strict=True):
        key = (server, account, stream)
        told[key] = max(told.get(key, -1), position)
    found: dict[tuple[str, str | None, str], int] = {}
    for row in head.table("dropped").to_pylist():
        key = (row["server"], row["account"], row["subject"].rpartition(".")[2])
        found[key] = max(found.get(key, -1), row["position"])
    return {key: at for key, at in found.items() if told.get(key, -1) < at}


def _logged_consumers(
    head: Partial,
) -> Iterator[tuple[str, str, str | None, str, str | None, str | None]]:
    """Yield stream, name, account, ack policy, subject of delivery and filter of consumers."""
    table = head.table("consumer")
    names = ("queue", "account", "subject", "reply", "sid")
    columns = (table[name].to_pylist() for name in names)
    for queue, *told in sorted(zip(*columns, strict=True), key=_null_first):
        stream, _, name = queue.partition(".")
        yield stream, name, *told


def ack_policies(
    head: Partial, given: Streams | None
) -> dict[tuple[str, str], frozenset[tuple[str | None, str]]]:
    """Return the ack policies of each stream and consumer, as the log tells them or as given."""
    found: dict[tuple[str, str], set[tuple[str | None, str]]] = {}
    for stream, name, account, policy, *_ in _logged_consumers(head):
        found.setdefault((stream, name), set()).add((account, policy))
    for each in () if given is None else given.streams:
        for consumer in each.consumers or ():
            into = found.setdefault((each.name, _consumer_name(consumer.name)), set())
            into |= {(owner, consumer.ack_policy) for owner in (each.account, each.key)}
    return {key: frozenset(policies) for key, policies in found.items()}


def told_consumers(head: Partial, given: Streams | None) -> dict[Consumer, ToldConsumer]:
    """Return what is known about consumers."""
    found: dict[Consumer, ToldConsumer] = {}
    for stream, name, account, policy, deliver, filters in _logged_consumers(head):
        found[account, stream, name] = ToldConsumer(policy, deliver, filters)
    for each in () if given is None else given.streams:
        for consumer in each.consumers or ():
            key = each.key or each.account, each.name, _consumer_name(consumer.name)
            filters = " ".join(consumer.filters) or None
            told_one = ToldConsumer(consumer.ack_policy, consumer.deliver, filters)
            found.setdefault(key, told_one)
    return found


def of_stream(stream: str, consumer: str | None = None) -> Receiver:
    """Return the receiver of what a stream stores, or of what its consumer is told.

    Example:
        >>> of_stream("ORDERS", "shipper")
        Receiver(subscriber='stream ORDERS', queue='consumer shipper')
    """
    if consumer is None:
        return Receiver(f"stream {stream}")
    return Receiver(f"stream {stream}", f"{CONSUMER}{_consumer_name(consumer)}")


def _consumer_name(name: str) -> str:
    return "*" if made_up_name(name) else name


@lru_cache(_FOLDED)
def folded(subject: str) -> str:
    """Return a subject with a wildcard in place of each token that varies."""
    if subject.startswith(_IMPORTED_REPLY):  # made for one request
        return f"{_IMPORTED_REPLY}>"
    use = jetstream_use(subject) if subject.startswith("$") else None
    return fold(subject) if use is None else fold(use.folded())


def owner_of(subject: str) -> Receiver | None:
    """Return the receiver of a subject of the server's own; None for one of clients."""
    if subject.startswith(_IMPORTED_REPLY):
        return Receiver(OTHER_ACCOUNTS)
    if not subject.startswith("$"):
        return None
    use = jetstream_use(subject)
    if use is None or use.row.operation == EVENT:
        first = subject.partition(".")[0]
        return Receiver(JETSTREAM) if first == "$JS" else _server(first)
    return _of_use(use)


def unknown_publisher(subject: str) -> str:
    """Return the publisher of a message that clients received and no log tells."""
    owner = owner_of(subject)
    return NOT_IN_THE_LOG if owner is None else owner.subscriber


def _server(first: str) -> Receiver | None:
    name = _OF_THE_SERVER.get(first)
    return None if name is None else Receiver(name)


def _of_use(use: JetStreamUse) -> Receiver:
    values = use.values
    if use.row.operation == ACKNOWLEDGE and "consumer" in values:
        return of_stream(values["stream"], values["consumer"])
    if use.subject.startswith("$KV."):
        return of_stream(f"KV_{values['bucket']}")
    return (
        of_stream(f"OBJ_{values['bucket']}")
        if use.subject.startswith("$O.")
        else Receiver(JETSTREAM)
    )


def asks_for_messages(subject: str) -> bool:
    """Return whether a request is answered by messages of a stream, whenever there are some."""
    use = jetstream_use(subject) if subject.startswith("$JS.") else None
    return use is not None and use.row.name == "consumer-next"


class Receivers:
    """The receivers of subjects beside subscribers.

    Args:
        known: What is known about streams.
        index: The index of the patterns that they store.
    """

    def __init__(self, known: KnownStreams, index: PatternIndex | None) -> None:
        self._known, self._index = known, index
        self._of_pattern: dict[str, list[StoredPattern]] = {}
        self._captured = {each.stream for each in known.patterns}
        for each in known.patterns:
            self._of_pattern.setdefault(each.pattern, []).append(each)

    def of(self, texts: pa.Array) -> list[list[StoredPattern]]:
        """Return the patterns of streams that match each subject."""
        found: list[list[StoredPattern]] = [[] for _ in range(len(texts))]
        if self._index is None or not len(texts):
            return found
        patterns = self._index.patterns.to_pylist()
        for row, number in zip(*self._index.matches(texts), strict=True):
            found[row] += self._of_pattern[patterns[number]]
        return found

    def policy(self, account: str | None, stream: str, consumer: str) -> str | None:
        """Return the ack policy of a consumer, of several all of them; None if none is known."""
        of_accounts = self._known.policies.get((stream, consumer), ())
        found = {policy for owner, policy in of_accounts if may_be_equal(owner, account)}
        return " or ".join(sorted(found)) or None

    def deleted(
        self, server: str, account: str | None, stored: Sequence[StoredPattern]
    ) -> int | None:
        """Return the position from which no stream stores a message; None if one does."""
        names = {each.stream for each in stored if each.account in (None, account)}
        found = [self._known.deleted.get((server, account, name)) for name in names]
        ends = [at for at in found if at is not None]
        return max(ends) if ends and len(ends) == len(found) else None

    def answered(self, server: str, conn: str) -> Receiver | None:
        """Return the streams that stored messages of a connection, as its answers say.

        Those whose patterns are known would have matched.
        """
        told = self._known.acknowledged.get((server, conn), ())
        streams = [stream for stream in told if stream not in self._captured]
        return of_stream(" or ".join(streams)) if streams else None


def receivers_of(
    subject: str, account: str | None, stored: Sequence[StoredPattern], seen: Iterable[str] = ()
) -> tuple[Receiver, ...]:
    """Return the receivers of a message beside subscribers.

    Args:
        subject: The subject.
        account: The account of its publisher; None if it is not known.
        stored: The patterns of streams that match it.
        seen: The streams whose consumers delivered it.
    """
    streams = streams_of(account, stored)
    owner = owner_of(subject)
    if not streams and owner is not None:
        return (owner,)
    return tuple(of_stream(each) for each in sorted(streams or set(seen)))


def streams_of(account: str | None, stored: Iterable[StoredPattern]) -> set[str]:
    """Return the streams that store what a client of an account publishes."""
    return {each.stream for each in stored if may_be_equal(each.account, account)}


def _null_first(key: Iterable[str | None]) -> list[tuple[bool, str]]:
    return [(each is not None, each or "") for each in key]
