"""The behaviour rules of NATS Streaming: senders, channels, clients, published messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .._core import engine
from .._core.errors import PatternError
from ._exchange import TOLERANCE, Step, Verdict, broken, kept
from ._streaming_messages import SENDERS, CarriedMessage, StreamingExchange

StreamingRule = tuple[str, str, Callable[[StreamingExchange], Iterator[Verdict]]]

_ROWS = (
    ("S3-009", "ConnectRequest"),
    ("S3-010", "ConnectResponse"),
    ("S3-011", "SubscriptionRequest"),
    ("S3-012", "SubscriptionResponse"),
    ("S3-013", "UnsubscribeRequest"),
    ("S3-014", "PubMsg"),
    ("S3-015", "PubAck"),
    ("S3-016", "MsgProto"),
    ("S3-017", "Ack"),
    ("S3-018", "CloseRequest"),
    ("S3-019", "CloseResponse"),
)
#: The requests of a client that need a connection.
_REQUESTS = frozenset({"SubscriptionRequest", "UnsubscribeRequest", "PubMsg"})


def rules() -> list[StreamingRule]:
    """Return each rule with its id and the function that checks it."""
    return [
        ("S3-004", "a channel is a subject", _channel_names),
        ("S3-007", "a channel has no wildcards", _channel_wildcards),
        *((row, f"a {SENDERS[name]} sends {name}", _sent(name)) for row, name in _ROWS),
        ("S3-020", "a client connects before all else", _connects_first),
        ("S3-022", "connecting with an identifier in use fails", _identifiers),
        ("S3-023", "a heartbeat is answered by an empty message", _heartbeats),
        *(
            (row, f"{name} has the identifier of the ConnectRequest", _same_client(name))
            for row, name in (
                ("S3-040", "SubscriptionRequest"),
                ("S3-061", "UnsubscribeRequest"),
                ("S3-067", "PubMsg"),
            )
        ),
        ("S3-066", "a guid names one message and returns in its PubAck", _guids),
        ("S3-072", "a sha256 is that of the data", _digests),
        ("S3-088", "a CRC32 is that of the data", _checksums),
        ("S3-094", "a client ends its connection by a CloseRequest", _closed),
    ]


def _sent(name: str) -> Callable[[StreamingExchange], Iterator[Verdict]]:
    """Return the rule about the side that sends messages of one type."""

    def check(exchange: StreamingExchange) -> Iterator[Verdict]:
        for message in exchange.sent:
            if message.name == name:
                yield kept(message.step) if message.right else broken(message.step)

    return check


def _channels(exchange: StreamingExchange) -> Iterator[tuple[Step, str]]:
    for client in exchange.clients:
        for step, typed, _ in client:
            if typed.name in ("SubscriptionRequest", "UnsubscribeRequest", "PubMsg", "MsgProto"):
                yield step, typed.message.subject


def _channel_names(exchange: StreamingExchange) -> Iterator[Verdict]:
    for step, channel in _channels(exchange):
        try:
            engine.check_pattern(channel)
        except PatternError:
            yield broken(step)
        else:
            yield kept(step)


def _channel_wildcards(exchange: StreamingExchange) -> Iterator[Verdict]:
    for step, channel in _channels(exchange):
        wild = not {"*", ">"}.isdisjoint(channel.split("."))
        yield broken(step) if wild else kept(step)


def _connects_first(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        first = client[0]
        yield kept(first.step) if first.typed.name == "ConnectRequest" else broken(first.step)


def _identifiers(exchange: StreamingExchange) -> Iterator[Verdict]:
    in_use: set[tuple[str, str]] = set()
    for step, typed, cluster in exchange.in_order:
        if typed.name == "ConnectResponse" and typed.answers is not None:
            name = cluster, typed.answers.message.clientID
            if name in in_use:
                yield kept(step) if typed.message.error else broken(step)
            elif not typed.message.error:
                in_use.add(name)
        elif typed.name == "CloseRequest":
            in_use.discard((cluster, typed.message.clientID))


def _heartbeats(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        answered = {each.typed.subject for each in client if each.typed.name == "HeartbeatAnswer"}
        for step, typed, _ in client:
            if typed.name == "HeartbeatAnswer":
                yield broken(step) if step.op.size else kept(step)
                continue
            missed = typed.name == "Heartbeat" and typed.reply not in answered
            # The last heartbeat may have arrived as the connection ended.
            if missed and client[-1].step.since(step) > TOLERANCE:
                yield broken(step)


def _same_client(name: str) -> Callable[[StreamingExchange], Iterator[Verdict]]:
    """Return the rule about the identifier in requests of one type."""

    def check(exchange: StreamingExchange) -> Iterator[Verdict]:
        for client in exchange.clients:
            connected: set[str] = set()
            for step, typed, _ in client:
                if typed.name == "ConnectRequest":
                    connected.add(typed.message.clientID)
                elif typed.name == name and connected:
                    known = typed.message.clientID in connected
                    yield kept(step) if known else broken(step)

    return check


def _guids(exchange: StreamingExchange) -> Iterator[Verdict]:
    everywhere: set[tuple[str, str]] = set()
    for step, typed, cluster in exchange.in_order:
        if typed.name == "PubMsg":
            guid = cluster, typed.message.guid
            if guid in everywhere:
                yield broken(step)
            everywhere.add(guid)
    for client in exchange.clients:
        published: set[str] = set()
        for step, typed, _ in client:
            if typed.name == "PubMsg":
                published.add(typed.message.guid)
            elif typed.name == "PubAck":
                yield kept(step) if typed.message.guid in published else broken(step)


def _digests(exchange: StreamingExchange) -> Iterator[Verdict]:
    from .streaming import digest_matches

    for each in exchange.in_order:
        if each.typed.name == "PubMsg":
            yield from _checked(each, digest_matches(each.typed.message))


def _checksums(exchange: StreamingExchange) -> Iterator[Verdict]:
    from .streaming import crc_matches

    for each in exchange.in_order:
        if each.typed.name == "MsgProto":
            yield from _checked(each, crc_matches(each.typed.message))


def _checked(carried: CarriedMessage, matches: bool | None) -> Iterator[Verdict]:
    if matches is not None:
        yield kept(carried.step) if matches else broken(carried.step)


def _closed(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        connected: Step | None = None
        closed = False
        for step, typed, _ in client:
            if typed.name == "ConnectRequest":
                closed = False
            elif typed.name == "ConnectResponse" and not typed.message.error:
                connected = step
            elif typed.name == "CloseRequest":
                closed = True
                if connected is not None:
                    yield kept(step)
                    connected = None
            elif closed and typed.name in _REQUESTS:
                yield broken(step)
        if connected is not None:
            yield broken(connected)
