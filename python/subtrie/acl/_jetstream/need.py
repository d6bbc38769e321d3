"""The smallest permissions for one role: what a client of nats-py sends and receives in it.

The tests run a program of each role on a running broker under these lists, and see it refused
without any one of their entries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ..._nats.jetstream_subjects import JETSTREAM_SUBJECTS
from ..._nats.reserved_subjects import INBOX
from .._permissions import Permissions
from .._response_limit import ResponseLimit
from .streams import Consumer, Stream


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """The stream, bucket or subject that a role is about.

    Attributes:
        name: a stream, a bucket, or a subject.
        consumer: the consumer; None for one that the client makes.
        subjects: the subjects that are published or filtered for; those of the stream if empty.
        stream: the stream, if it is known.
        deliver: the deliver subject of a push consumer that is not known.
        inbox: the prefix of the client's inboxes.
    """

    name: str
    consumer: str | None = None
    subjects: tuple[str, ...] = ()
    stream: Stream | None = None
    deliver: str | None = None
    inbox: str = INBOX

    @property
    def known_consumer(self) -> Consumer | None:
        """The consumer, if the input tells it."""
        known = () if self.stream is None else self.stream.consumers or ()
        return next((each for each in known if each.name == self.consumer), None)


@dataclasses.dataclass(slots=True)
class Need:
    """The permissions that a role needs.

    Attributes:
        publish: the subjects to publish, each with what for.
        subscribe: the subjects to subscribe to, each with what for.
        responses: True if messages that arrive must be answered.
        notes: what the permissions allow beyond the role, or rest on; a line each.
    """

    publish: dict[str, str] = dataclasses.field(default_factory=dict)
    subscribe: dict[str, str] = dataclasses.field(default_factory=dict)
    responses: bool = False
    notes: list[str] = dataclasses.field(default_factory=list)

    def permissions(self) -> Permissions:
        """Return the lists as permissions."""
        return Permissions(
            publish_allow=tuple(self.publish),
            subscribe_allow=tuple(self.subscribe),
            allow_responses=ResponseLimit() if self.responses else None,
        )


class NotEnough(ValueError):
    """The input does not tell what a role needs; the message says what would."""


_TEMPLATES = {row.name: row for row in JETSTREAM_SUBJECTS}


class _Writer:
    """Adds entries for a target."""

    def __init__(self, target: Target) -> None:
        self.target, self.need = target, Need()

    def request(self, name: str, why: str, **values: str) -> None:
        """A request to the broker, which answers to an inbox."""
        self.send(name, why, **values)
        self.inbox()

    def send(self, name: str, why: str, **values: str) -> None:
        self.need.publish[_TEMPLATES[name].filled(values)] = why

    def inbox(self, why: str = "answers") -> None:
        self.need.subscribe.setdefault(f"{self.target.inbox}.>", why)

    def acknowledge(self, stream: str, consumer: str) -> None:
        self.need.publish[f"$JS.ACK.{stream}.{consumer}.>"] = "acknowledge"

    def flow_control(self, stream: str) -> None:
        self.need.publish[f"$JS.FC.{stream}.>"] = "flow control"

    def subjects(self) -> tuple[str, ...]:
        """The subjects of the stream, or those that are given."""
        if self.target.subjects:
            return self.target.subjects
        if self.target.stream is None:
            raise NotEnough(
                f"the subjects of {self.target.name} are not known; give --subject, or a saved "
                "answer of /jsz?accounts=1&streams=1&consumers=1&config=1"
            )
        return self.target.stream.subjects


def _publish(writer: _Writer) -> None:
    for each in writer.subjects():
        writer.need.publish[each] = "store"
    writer.inbox("the broker's confirmation")


def _pull(writer: _Writer) -> None:
    stream, consumer = writer.target.name, writer.target.consumer
    if consumer is None:
        for each in writer.subjects():
            values = {"stream": stream} if each == ">" else {"stream": stream, "subject": each}
            name = "consumer-create" if each == ">" else "consumer-create-filtered"
            writer.send(name, "make a consumer", **values)
    known = writer.target.known_consumer
    if known is not None and known.deliver is not None:
        raise NotEnough(f"{stream}/{consumer} is a push consumer; use the role push")
    consumer = consumer or "*"
    writer.request("consumer-next", "fetch", stream=stream, consumer=consumer)
    if known is None or known.acknowledged:
        writer.acknowledge(stream, consumer)


def _push(writer: _Writer) -> None:
    stream, consumer = writer.target.name, writer.target.consumer
    acknowledged = True
    if consumer is None:
        writer.request("consumer-create-unnamed", "make a consumer", stream=stream)
        _chooses(writer, stream)
    else:
        known = writer.target.known_consumer
        deliver = writer.target.deliver or (None if known is None else known.deliver)
        if known is not None and deliver is None:
            raise NotEnough(f"{stream}/{consumer} is a pull consumer; use the role pull")
        if deliver is None:
            raise NotEnough(
                f"the deliver subject of {stream}/{consumer} is not known; give --deliver, or a "
                "saved answer of /jsz?accounts=1&streams=1&consumers=1&config=1"
            )
        if known is not None and not known.acknowledged:
            acknowledged = False
        group = "" if known is None or known.group is None else f" {known.group}"
        writer.need.subscribe[deliver + group] = "messages"
    if acknowledged:
        writer.acknowledge(stream, consumer or "*")


def _chooses(writer: _Writer, stream: str) -> None:
    note = (
        f"CONSUMER.CREATE.{stream} lets the client choose filter and deliver subject: it may read "
        f"all of {stream}, and have it delivered to any subject of the account"
    )
    writer.need.notes.append(note)


def _ordered(writer: _Writer) -> None:
    stream = writer.target.name
    writer.request("consumer-create-unnamed", "make a consumer", stream=stream)
    writer.flow_control(stream)
    _chooses(writer, stream)


def _bucket(writer: _Writer) -> str:
    """The name of the stream of a bucket, which nats-py asks about first."""
    stream = f"KV_{writer.target.name}"
    writer.request("stream-info", "open the bucket", stream=stream)
    return stream


def _keys(writer: _Writer) -> tuple[str, ...]:
    bucket = writer.target.name
    return tuple(f"$KV.{bucket}.{each}" for each in writer.target.subjects or (">",))


def _kv_read(writer: _Writer) -> None:
    stream = _bucket(writer)
    known = writer.target.stream
    if known is None:
        writer.need.notes.append(
            "the bucket is not known: entries for both ways of reading; one of direct-get-last and "
            "message-get is enough"
        )
    if known is None or known.direct:
        for each in _keys(writer):
            writer.send("direct-get-last", "read a key", stream=stream, subject=each)
    if known is None or not known.direct:
        writer.send("message-get", "read a key", stream=stream)
        if writer.target.subjects:
            writer.need.notes.append(
                f"STREAM.MSG.GET.{stream} reads every key; only direct get can be limited to some"
            )


def _kv_write(writer: _Writer) -> None:
    _bucket(writer)
    for each in _keys(writer):
        writer.need.publish[each] = "write, delete, purge"


def _kv_watch(writer: _Writer) -> None:
    stream = _bucket(writer)
    writer.request("consumer-create-unnamed", "make a consumer", stream=stream)
    writer.request("consumer-info", "learn how many keys there are", stream=stream)
    writer.flow_control(stream)
    _chooses(writer, stream)


def _objects(writer: _Writer) -> str:
    stream = f"OBJ_{writer.target.name}"
    writer.request("stream-info", "open the store", stream=stream)
    writer.send("message-get", "read what is known of an object", stream=stream)
    return stream


def _object_get(writer: _Writer) -> None:
    stream = _objects(writer)
    writer.send("stream-names", "find the stream")
    writer.send("consumer-create-unnamed", "make a consumer", stream=stream)
    writer.flow_control(stream)
    _chooses(writer, stream)


def _object_put(writer: _Writer) -> None:
    stream, bucket = _objects(writer), writer.target.name
    writer.send("object-chunk", "write the content", bucket=bucket)
    writer.send("object-meta", "write what is known of it", bucket=bucket)
    writer.send("stream-purge", "remove the content that is replaced", stream=stream)
    writer.need.notes.append(f"STREAM.PURGE.{stream} lets the client remove every object")


def _request(writer: _Writer) -> None:
    for each in writer.target.subjects or (writer.target.name,):
        writer.need.publish[each] = "ask"
    writer.inbox()


def _service(writer: _Writer) -> None:
    for each in writer.target.subjects or (writer.target.name,):
        writer.need.subscribe[each] = "requests"
    writer.need.responses = True


def _stream_admin(writer: _Writer) -> None:
    stream = writer.target.name
    for name in ("stream-create", "stream-update", "stream-info", "stream-purge", "stream-delete"):
        writer.request(name, name.replace("-", " "), stream=stream)
    writer.need.notes.append(
        "a stream may copy every other stream of the account, and publish again what it stores: "
        "who may create or update one may read all of them"
    )


def _consumer_create(writer: _Writer) -> None:
    stream, consumer = writer.target.name, writer.target.consumer
    if consumer is None:
        raise NotEnough(f"name the consumer: {stream}/CONSUMER")
    subjects = writer.target.subjects
    if subjects and ">" not in subjects:
        for each in subjects:
            values = {"stream": stream, "consumer": consumer, "subject": each}
            writer.request("consumer-create-filtered", "make the consumer", **values)
    else:
        values = {"stream": stream, "consumer": consumer}
        writer.request("consumer-create", "make the consumer", **values)
        writer.need.notes.append(
            f"CONSUMER.CREATE.{stream}.{consumer} lets the client choose the filter; with "
            "--subject the broker holds it to that filter"
        )


#: The roles, and the function that writes what each needs.
_ROLES: dict[str, Callable[[_Writer], None]] = {
    "publish": _publish,
    "pull": _pull,
    "push": _push,
    "ordered": _ordered,
    "kv-read": _kv_read,
    "kv-write": _kv_write,
    "kv-watch": _kv_watch,
    "object-get": _object_get,
    "object-put": _object_put,
    "request": _request,
    "service": _service,
    "stream-admin": _stream_admin,
    "consumer-create": _consumer_create,
}

ROLES = tuple(_ROLES)

#: Those that are not about a stream that exists.
WITHOUT_STREAM = frozenset({"request", "service", "stream-admin"})


def stream_of(role: str, name: str) -> str:
    """Return the name of the stream of a target: that of a bucket has a prefix."""
    if role.startswith("kv-"):
        return f"KV_{name}"
    return f"OBJ_{name}" if role.startswith("object-") else name


def needed(role: str, target: Target) -> Need:
    """Return what a role needs.

    Args:
        role: one of ``ROLES``.
        target: what it is about.

    Raises:
        NotEnough: the target does not tell enough; the message says what would.
    """
    writer = _Writer(target)
    _ROLES[role](writer)
    return writer.need
