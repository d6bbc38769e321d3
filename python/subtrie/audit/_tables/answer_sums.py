"""From a bucket to the sums that answers are made of.

All rows about a subject are in one bucket.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._answers.flows import divided
from .._answers.folding import HEAD
from .._answers.rule_table import NO_RULE, NO_RULES
from .._answers.sums import PROGRAM, Sums, greatest_known, least_known
from .._identity import PROVEN
from .._partial.kinds import DAY, DAYS
from .._partial.rates import ACCEPTED, LOST, both_rates
from .bucket import Bucket
from .classified import Classified, columns_of
from .exports import Exports
from .latency_sums import microbus_sums, request_sums
from .leaf_nodes import LeafNodes
from .messages_between_servers import Publisher
from .streams import (
    CONSUMER,
    IMPORTED,
    OTHER_ACCOUNTS,
    OTHER_SERVERS,
    SERVICES,
    Receiver,
    folded,
    of_stream,
    receivers_of,
    unknown_publisher,
)

if TYPE_CHECKING:
    import pyarrow as pa

_TAKEN = 1
#: An acknowledgement that asks for more time; the others refuse a message.
_IN_WORK = "+WPI"
#: In place of server, subject and publisher: no log tells them.
_UNKNOWN = ("", -1, Publisher(""))
#: Pattern, name, queue, user and client of a subscriber.
_Subscriber = tuple[str, str, str | None, str | None, str | None]
_Deliveries = dict[tuple[str, int], dict[_Subscriber, int]]


def answer_sums(bucket: Bucket) -> Sums:
    """Return the sums of a bucket."""
    sums = Sums()
    _refusal_sums(sums, bucket.told("refused"))
    _unstored_sums(sums, bucket.told("error"))
    _acknowledged_sums(sums, bucket)
    if bucket.subjects is not None:
        classified = Classified(bucket)
        _publish_sums(sums, bucket, classified)
        _flow_sums(sums, bucket, classified)
        request_sums(sums, bucket, classified)
    microbus_sums(sums, bucket.told("head"))
    sums.bound_programs()
    return sums


def _publish_sums(sums: Sums, bucket: Bucket, of: Classified) -> None:
    """Add edges, values at wildcards and matches of rules."""
    rules = bucket.asked.rules
    names = ("window", "published", "refused", "taken", "undelivered", "first", "last",
             "first_accepted", "last_accepted", ACCEPTED, DAYS)  # fmt: skip
    sent = zip(*columns_of(bucket.publishes, *names), strict=True)
    known = zip(
        *(column.to_pylist() for column in (
            of.service, of.kinds, of.plane, of.port, of.pattern, of.route, of.standing,
            of.identity, of.call, of.account, of.user, of.client, of.identity_source, of.owner,
            of.texts,
        )), of.matched.decided.tolist(), strict=True,
    )  # fmt: skip
    for row, (counted, about) in enumerate(zip(sent, known, strict=True)):
        window, published, refused, taken, undelivered, first, last, *span, days = counted
        pattern, route, standing, call = about[4], about[5], about[6], about[8]
        *program, owner, subject, decided = about[9:]
        account, *_, source = program
        days = days or ()
        allowed = None
        if decided != NO_RULES:
            allowed = decided != NO_RULE and rules[decided].effect == "allow"
        received = frozenset(day // 4 // DAY for day in days if day & _TAKEN)
        accepted = subject if published > 0 else None
        sums.add(
            "edge",
            (*about[:8], allowed, decided, call, *program),
            (published, refused, taken, undelivered, received, *span,
             accepted, (first or 0, subject), accepted),
        )  # fmt: skip
        evidence = standing == "verified" and taken > 0 and allowed is not False
        if evidence and route is not None and ("*" in route or ">" in route):
            for position, value in _values(route, subject):
                at = pattern, position, account, source in PROVEN
                sums.add("value", at, (value, value))
        if decided == NO_RULES:
            continue
        everything, seen = published + refused, frozenset(day // 4 // DAY for day in days)
        for rule in of.matched.of(row) or (None,):
            sums.add(
                "match",
                (owner, rule, window, *program),
                (published, refused, everything if rule == decided else 0, seen, last),
            )


def _values(route: str, subject: str) -> Iterator[tuple[int, str]]:
    """Yield the values at the wildcards of a route, with their position in the path."""
    tokens = subject.split(".")
    for position, token in enumerate(route.split(".")):
        if token == "*" and position + HEAD < len(tokens):
            yield position, tokens[position + HEAD]
        elif token == ">":
            yield position, ".".join(tokens[position + HEAD :])


def _flow_sums(sums: Sums, bucket: Bucket, of: Classified) -> None:
    """Add the flows of a bucket.

    The log does not say which publisher a delivery comes from. If several publish one subject, its
    deliveries are divided in the ratio of their messages that were received: this is exact for
    subscribers that received all of them. Deliveries of a server are also those of messages that
    others sent to it.
    """
    published: dict[tuple[str, int], dict[Publisher, _Sent]] = defaultdict(dict)
    delivered, stored = _received(sums, bucket, of), bucket.stored
    leaf_nodes = LeafNodes(bucket, of.subjects)
    account_of = of.subjects.account.to_pylist()
    names = ("server", "at", "published", "undelivered", "bytes", "taken", "forwarded",
             "first_accepted", "last_accepted", "first_undelivered", "last_undelivered",
             LOST)  # fmt: skip
    about = (of.who.to_pylist(), of.user.to_pylist(), of.client.to_pylist())
    rows = zip(*columns_of(bucket.publishes, *names), *about, strict=True)
    for server, at, *counts, first, last, first_lost, last_lost, rate, who, user, client in rows:
        if counts[0] <= 0:
            continue
        text, account = of.subjects.texts[at].as_py(), account_of[at]
        others = receivers_of(text or "", account, stored[at], bucket.consumed.get(at, ()))
        publisher = Publisher(who, user or "", client or "")
        sent = published[server, at].setdefault(publisher, _Sent())
        sent.add(counts, (first, last), (first_lost, last_lost), others)
        sent.rate_of_lost = both_rates(sent.rate_of_lost, rate)
        sent.deleted = bucket.receivers.deleted(server, account, stored[at])
    asked_for = set(bucket.table("request")["reply"].to_pylist())
    for (place, *to), shares in _shares(bucket, of, published, delivered).items():
        text = of.subjects.texts[place].as_py() or ""
        if (unknown := shares.pop(_UNKNOWN, 0)) and text not in asked_for:
            flow = _flow(Publisher(unknown_publisher(text)), to, account_of[place])
            sums.add("flow", flow, (unknown, unknown, 0, 0, None, None, None))
        for (server, at, publisher), share in shares.items():
            flow = _flow(publisher, to, account_of[at])
            sums.add("flow", flow, published[server, at][publisher].received(share))
    for key, publishers in published.items():
        subject, account = of.subjects.texts[key[1]].as_py(), account_of[key[1]]
        for publisher, sent in publishers.items():
            for other in sent.others:
                if other.subscriber == SERVICES and sent.taken:
                    continue  # their subscriptions are among the deliveries
                owner = (subject, *other, None, None)
                sums.add("flow", _flow(publisher, owner, account), sent.stored)
                if (other.queue or "").startswith(CONSUMER) and subject.startswith("$JS.ACK."):
                    program = publisher.who, publisher.user or None, publisher.client or None
                    own = _consumer(bucket, other, program, account)
                    sums.add("consumer", own, (0, 0, sent.published, 0, 0, None, None))
            to_leaf_nodes = leaf_nodes.of(key) if sent.forwarded else []
            share = sent.forwarded // len(to_leaf_nodes) if to_leaf_nodes else 0
            for node in to_leaf_nodes:
                sums.add("flow", _flow(publisher, node, account), sent.sent_on(share))
            lost = _flow(publisher, (subject, None, None, None, None), account)
            if sent.unstored:
                sums.add("flow", lost, sent.after_deletion)
            if sent.others:
                continue
            if sent.passed_on and not to_leaf_nodes:
                elsewhere = (subject, OTHER_SERVERS, None, None, None)
                sums.add("flow", _flow(publisher, elsewhere, account), sent.elsewhere)
            if sent.lost or not (sent.taken or sent.passed_on):
                sums.add("flow", lost, sent.left)


def _flow(
    publisher: Publisher, to: Sequence[str | None], account: str | None
) -> tuple[str | None, ...]:
    """Return the key of a flow.

    Args:
        publisher: The publisher.
        to: Pattern or subject, name, queue, user and client of the receiver.
        account: The account of the publisher.
    """
    pattern, subscriber, queue, *program = to
    own = (publisher.user or None, publisher.client or None)
    return (publisher.who, folded(pattern or ""), subscriber, queue, account, *own, *program)


def _consumer(
    bucket: Bucket, of: Receiver, program: Sequence[str | None], account: str | None
) -> tuple[str | None, ...]:
    """Return the key of a consumer and a program: its name, user and client."""
    stream, name = of.subscriber.removeprefix("stream "), (of.queue or "").removeprefix(CONSUMER)
    who, user, client = program
    policy = bucket.receivers.policy(account, stream, name)
    return stream, name, policy, who, account, user, client


def _shares(
    bucket: Bucket,
    of: Classified,
    published: dict[tuple[str, int], dict[Publisher, _Sent]],
    delivered: _Deliveries,
) -> dict[tuple[Any, ...], dict[tuple[str, int, Publisher], int]]:
    """Return what each subscription received of each publisher at a server, over all servers.

    Returns:
        By subject and subscriber the number of messages of each server, subject and publisher,
        and ``_UNKNOWN``.
    """
    weights: dict[tuple[str, int], dict[tuple[str, int, Publisher], int]] = defaultdict(dict)
    for (server, at), publishers in published.items():
        for publisher, sent in publishers.items():
            weights[server, at][server, at, publisher] = sent.taken
    places = {}
    if bucket.crossed:
        crossing = {(each.account, each.subject) for each in bucket.crossed}
        named = zip(of.subjects.account.to_pylist(), of.subjects.texts.to_pylist(), strict=True)
        places = {name: at for at, name in enumerate(named) if name in crossing}
    for (server, account, publisher, subject, other), count in bucket.crossed.items():
        at = places[account, subject]
        if publisher not in published.get((server, at), ()):
            continue  # no message of it was accepted
        # At its own server: less those that only clients of other servers received.
        more = count if other != server else -count
        shares = weights[other, at]
        shares[server, at, publisher] = shares.get((server, at, publisher), 0) + more
    exports = Exports(bucket, of, weights)
    found: dict[Any, dict[tuple[str, int, Publisher], int]] = defaultdict(dict)
    for (server, at), subscriptions in delivered.items():
        of_all = [*weights[server, at].items(), *exports.to(server, at)]
        known = sorted((key, weight) for key, weight in of_all if weight > 0)
        for subscription, count in subscriptions.items():
            shares = found[at, *subscription]
            if not known:
                shares[_UNKNOWN] = shares.get(_UNKNOWN, 0) + count
            for (key, _), share in zip(
                known, divided(count, [weight for _, weight in known]), strict=True
            ):
                shares[key] = shares.get(key, 0) + share
    return found


_Span = tuple[int | None, int | None]


class _Sent:
    """The messages of a publisher to a subject, and who receives them beside subscribers.

    They are divided: those that a subscriber received, or went to other servers, and the lost ones.
    """

    def __init__(self) -> None:
        self.published = self.lost = self.size = self.taken = self.forwarded = 0
        self.span: _Span = (None, None)
        self.span_of_lost: _Span = (None, None)
        self.rate_of_lost: tuple[int, ...] | None = None
        self.others: tuple[Receiver, ...] = ()
        #: Where in the log the streams that stored them were deleted.
        self.deleted: int | None = None

    def add(
        self, counts: Sequence[int], span: _Span, lost: _Span, others: tuple[Receiver, ...]
    ) -> None:
        """Add messages of one connection: published, undelivered, bytes, received, forwarded."""
        self.published += counts[0]
        self.lost += counts[1]
        self.size += counts[2]
        self.taken += counts[3]
        self.forwarded += counts[4]
        self.span, self.span_of_lost = _both(self.span, span), _both(self.span_of_lost, lost)
        self.others = tuple(dict.fromkeys((*self.others, *others)))

    @property
    def unstored(self) -> int:
        """The lost messages after the deletion of their streams."""
        return 0 if self.deleted is None else self.lost

    @property
    def stored(self) -> tuple[Any, ...]:
        """The sums of a flow that received all of them, in the order of ``Sums``."""
        count = self.published - self.unstored
        size = self.size * count // self.published
        return count, count, 0, size, *self.span, None

    @property
    def after_deletion(self) -> tuple[Any, ...]:
        """The sums of the flow of what was published after its streams were deleted."""
        size = self.size - self.stored[3]
        return self.unstored, 0, self.unstored, size, self.span[1], self.span_of_lost[1], None

    def received(self, delivered: int) -> tuple[Any, ...]:
        """Return the sums of a flow to a subscriber."""
        if self.others:
            return self.published, delivered, 0, self.size, *self.span, None
        size = self.size - self._bytes_lost
        return self.published - self.lost, delivered, 0, size, *self.span, None

    @property
    def passed_on(self) -> int:
        """The messages to other servers, if no client of this one received any."""
        return 0 if self.taken else self.forwarded

    @property
    def elsewhere(self) -> tuple[Any, ...]:
        """The sums of the flow to other servers."""
        count = self.published - self.lost
        return count, count, 0, self.size - self._bytes_lost, *self.span, None

    def sent_on(self, share: int) -> tuple[Any, ...]:
        """Return the sums of the flow to a leaf node, at most all messages."""
        count = min(share, self.published)
        return count, count, 0, self.size * count // self.published, *self.span, None

    @property
    def left(self) -> tuple[Any, ...]:
        """The sums of the flow to no subscriber."""
        if not (self.taken or self.passed_on):
            return self.published, 0, self.lost, self.size, *self.span, self.rate_of_lost
        return self.lost, 0, self.lost, self._bytes_lost, *self.span_of_lost, self.rate_of_lost

    @property
    def _bytes_lost(self) -> int:
        """The sizes of single messages are not known: a part of all bytes."""
        return self.size * self.lost // self.published


def _both(one: _Span, other: _Span) -> _Span:
    return least_known(one[0], other[0]), greatest_known(one[1], other[1])


def _received(sums: Sums, bucket: Bucket, of: Classified) -> _Deliveries:
    """Return the deliveries by server, subject and subscriber; add the flows from streams."""
    import pyarrow as pa
    import pyarrow.compute as pc

    deliveries, index = bucket.deliveries, bucket.index
    place = index.rows_of(deliveries)
    known = place >= 0
    rows = index.subscriptions.take(pa.array(place[known]))
    patterns = index.patterns.take(rows["number"].combine_chunks())
    subscribers = pc.coalesce(rows["identity"], rows["conn"])
    about = (patterns, subscribers, *(rows[name] for name in ("queue", "user", "client")))
    to = zip(*(each.to_pylist() for each in about), strict=True)
    found: _Deliveries = defaultdict(dict)
    names = ("server", "at", "consumer", "count", "first", "last")
    lines_of = zip(*columns_of(deliveries.filter(pa.array(known)), *names), strict=True)
    for key, (server, at, consumer, count, *span) in zip(to, lines_of, strict=True):
        if consumer is None:
            lines = found[server, at]
            lines[key] = lines.get(key, 0) + count
            continue
        account = of.subjects.account[at].as_py()
        if consumer == IMPORTED:
            flow = _flow(Publisher(OTHER_ACCOUNTS), key, account)
        else:
            stream, name, *again = consumer.split(".")
            receiver = of_stream(stream, name)
            to_consumer = (of.subjects.texts[at].as_py(), key[1], receiver.queue, *key[3:])
            flow = _flow(Publisher(receiver.subscriber), to_consumer, account)
            came = (count, count if again else 0, 0, 0, 0, *span)
            sums.add("consumer", _consumer(bucket, receiver, (key[1], *key[3:]), account), came)
        sums.add("flow", flow, (count, count, 0, 0, None, None, None))
    return found


def _refusal_sums(sums: Sums, refused: pa.Table) -> None:
    """Add the subscriptions that a server refused."""
    names = ("reason", "identity", "subject", "queue", "day", "window", *PROGRAM, "count", "last")
    for reason, *key, count, last in zip(*columns_of(refused, *names), strict=True):
        if reason == "subscribe":
            sums.add("refusal", tuple(key), (count, last))


def _unstored_sums(sums: Sums, errors: pa.Table) -> None:
    """Add the messages that a stream did not store."""
    names = ("sid", "subject", "identity", "conn", "account", "user", "client", "count")
    for asked, stream, identity, conn, *program, count in zip(
        *columns_of(errors, *names), strict=True
    ):
        if asked == "publish" and stream:
            receiver = of_stream(stream).subscriber
            key = (identity or conn, None, receiver, None, *program, None, None)
            sums.add("unstored", key, (count,))


def _acknowledged_sums(sums: Sums, bucket: Bucket) -> None:
    """Add the acknowledgements that do not say that a message was processed."""
    names = ("subject", "queue", "account", "identity", "conn", "user", "client", "count")
    for said, queue, account, identity, conn, *program, count in zip(
        *columns_of(bucket.told("ack"), *names), strict=True
    ):
        stream, name, *_ = queue.split(".")
        who = identity or conn, *program
        key = _consumer(bucket, of_stream(stream, name), who, account)
        refused = 0 if said == _IN_WORK else count
        sums.add("consumer", key, (0, 0, 0, refused, count - refused, None, None))
