"""The users that may read, write, delete and manage a stream, and the ways.

A way is what a client of the user would do: send a request of JetStream's API, publish, or
subscribe to a subject under which the broker delivers. The tests try each on a running broker.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator

from ..._nats.jetstream_subjects import ADMIN, JETSTREAM_SUBJECTS
from .._deployment import Deployment
from .reach import Reach, Reached, renamed
from .streams import Consumer, Origin, Stream, Streams

#: What may be asked about a stream.
VERBS = READ, WRITE, DELETE, MANAGE = ("read", "write", "delete", "admin")

#: A name of a consumer or stream that no list of permissions holds.
_NEW = "subtrie0new0name0"

#: Of several rows of a name, the first: acknowledgements as brokers send them by default.
_TEMPLATES = {row.name: row for row in reversed(JETSTREAM_SUBJECTS)}
_FUNCTION = re.compile(r"\{\{.*?\}\}|\$[0-9]+")

#: What no stream may capture.
_NOT_STORED = ("$JS.>", "$JSC.>", "$NRG.>", "$SYS.>")

#: How a consumer is made.
_CREATE = (
    "consumer-create-unnamed", "consumer-create", "consumer-create-durable",
    "consumer-create-filtered",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """One way by which a user may do something to a stream.

    Attributes:
        name: a word with hyphens: ``message-get``, ``publish``, ``stream-purge`` …
        does: what the client does, as a part of a sentence.
        subjects: the subjects that it publishes and subscribes to, an example of each.
        rules: the entries that allow it.
        determined: False if it is not known whether the user may.
    """

    name: str
    does: str
    subjects: tuple[str, ...]
    rules: tuple[str, ...]
    determined: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """The ways of one user."""

    user: str
    stream: Stream
    ways: tuple[Way, ...]

    @property
    def determined(self) -> bool:
        """True if one way is certain."""
        return any(each.determined for each in self.ways)


def access(deployment: Deployment, streams: Streams, stream: Stream, verb: str) -> list[Access]:
    """Return the users that may do something to a stream, each with its ways.

    Args:
        deployment: the accounts and users.
        streams: all streams, of which others may copy this one.
        stream: the stream.
        verb: one of ``VERBS``.
    """
    found = []
    for user in deployment.users:
        ways = tuple(ways_of(deployment, streams, stream, verb, user))
        if ways:
            found.append(Access(user, stream, ways))
    return found


def ways_of(
    deployment: Deployment,
    streams: Streams,
    stream: Stream,
    verb: str,
    user: str,
    seen: tuple[str, ...] = (),
) -> Iterator[Way]:
    """Yield the ways by which one user may do something to a stream.

    Args:
        deployment: the accounts and users.
        streams: all streams.
        stream: the stream.
        verb: one of ``VERBS``.
        user: the user.
        seen: the streams by whose copies this one was reached.
    """  # fmt: skip
    if stream.account not in deployment.accounts:
        return
    reach = Reach(deployment, user, stream.account)
    if not reach.permissions.determined:
        why = f"decided elsewhere, by {reach.permissions.decided_by}"
        if reach.inside:
            yield Way("unknown", "has permissions that are not known", (), (why,), False)
        return
    asked = _Ways(reach, stream, streams)
    yield from asked.of(verb)
    if verb not in (READ, WRITE):
        return
    for other, text in _copies(deployment, streams, stream, verb):
        if other.label not in (*seen, stream.label):
            path = (*seen, stream.label)
            for way in ways_of(deployment, streams, other, verb, user, path):
                does = f"{way.does}, {text} {other.label}"
                yield dataclasses.replace(way, name=f"copy-{other.name}-{way.name}", does=does)


def _copies(
    deployment: Deployment, streams: Streams, stream: Stream, verb: str
) -> Iterator[tuple[Stream, str]]:
    """The streams that hold copies of this one (read), or of which it holds copies (write)."""
    for other in streams.streams:
        one, two = (other, stream) if verb == READ else (stream, other)
        if any(two is each for o in one.origins for each in origin(deployment, streams, one, o)):
            yield other, "of the copy" if verb == READ else "of its origin"


def origin(deployment: Deployment, streams: Streams, stream: Stream, named: Origin) -> list[Stream]:
    """Return the stream that an origin of a stream names; in another account by its API prefix."""
    if named.api is None:
        return streams.named(named.name, stream.account)
    found = []
    request = f"{named.api}.CONSUMER.CREATE.{named.name}"
    account = deployment.accounts.get(stream.account)
    for each in () if account is None else account.imports:
        there = renamed(*each.ends[::-1], request) if each.kind == "service" else None
        if there is not None and there.startswith("$JS.API."):
            found += streams.named(named.name, each.account)
    return found


class _Ways:
    """The ways of one user to one stream."""

    def __init__(self, reach: Reach, stream: Stream, streams: Streams) -> None:
        self._reach, self._stream, self._streams = reach, stream, streams
        self._consumers = stream.consumers or ()
        self._answer = reach.answered()

    def of(self, verb: str) -> Iterator[Way]:
        ways: dict[str, Callable[[], Iterable[Way | None]]] = {
            READ: self._read, WRITE: self._write, DELETE: self._delete, MANAGE: self._manage,
        }  # fmt: skip
        for each in ways[verb]():
            if each is not None:
                yield each

    # --- read

    def _read(self) -> Iterator[Way | None]:
        stream = self._stream
        yield self._asked("message-get", "asks for messages by number")
        if stream.direct or self._answered_by_mirror():
            direct = self._sent("direct-get")
            if direct is None:
                patterns = stream.subjects or (">",)
                direct = self._first(
                    self._sent("direct-get-last", subject=each) for each in patterns
                )
            yield self._joined("direct-get", "asks for messages by direct get", direct,
                               self._answer)  # fmt: skip
        for each in self._consumers:
            if each.deliver is None:
                what = f"fetches from the consumer {each.name}"
                fetch = self._sent("consumer-next", consumer=each.name)
                yield self._joined(f"fetch-{each.name}", what, fetch, self._answer)
            else:
                yield self._tapped(each)
        yield self._own_pull_consumer()
        yield self._joined(
            "own-push-consumer", "makes a push consumer", self._creates(), self._target()
        )
        yield self._republished()
        yield self._joined(
            "stream-snapshot", "takes a snapshot", self._sent("stream-snapshot"), self._answer
        )
        yield self._joined(
            "copying-stream", "makes a stream that copies it, and publishes the copies again",
            self._makes_stream(), self._target(),
        )  # fmt: skip
        if not stream.sealed:
            yield self._joined(
                "stream-update", "has what is stored published again", self._sent("stream-update"),
                self._target(),
            )  # fmt: skip

    def _answered_by_mirror(self) -> bool:
        return any(
            each.mirror_direct
            and each.account == self._stream.account
            and any(o.mirror and o.name == self._stream.name and o.api is None
                    for o in each.origins)
            for each in self._streams.streams
        )  # fmt: skip

    def _tapped(self, consumer: Consumer) -> Way | None:
        """By a subscription to the deliver subject of a push consumer."""
        found = self._reach.received(str(consumer.deliver))
        what = f"subscribes to the deliver subject of the consumer {consumer.name}"
        return self._joined(f"deliver-{consumer.name}", what, found)

    def _own_pull_consumer(self) -> Way | None:
        """By a pull consumer of a name that both requests may have."""
        unsure = None
        for name in self._consumer_names():
            created = self._creates(name)
            fetch = self._sent("consumer-next", consumer=name)
            way = self._joined(
                "own-pull-consumer", "makes a pull consumer", created, fetch, self._answer
            )
            if way is not None and way.determined:
                return way
            unsure = unsure or way
        return unsure

    def _creates(self, name: str | None = None) -> Reached | None:
        """The request that makes a consumer, of any name or of one."""
        if self._stream.retention == "workqueue" and self._stream.consumers != ():
            return self._unknown("a work queue refuses a second consumer of the same subjects")
        names = [name] if name is not None else self._consumer_names()
        return self._first(
            self._sent(template, consumer=each, subject=subject)
            for each in names
            for template in _CREATE
            for subject in (self._stream.subjects or (">",))
        )

    def _republished(self) -> Way | None:
        if self._stream.republish is None:
            return None
        pattern = pattern_of_destination(self._stream.republish[1])
        found = self._reach.received(pattern)
        return self._joined("republish", "subscribes to what is published again", found)

    # --- write

    def _write(self) -> Iterator[Way | None]:
        stream = self._stream
        if stream.sealed:
            return
        if not any(each.mirror for each in stream.origins):
            yield self._joined("publish", "publishes", self._published())
            something = self._reach.sent(">", as_stream=False)
            yield self._joined(
                "update-subjects", "adds a subject of its own", self._sent("stream-update"),
                something,
            )  # fmt: skip

            if stream.subjects:
                taken = [s for each in self._streams.of(stream.account) for s in each.subjects]
                own = self._reach.published((*_NOT_STORED, *taken))
                yield self._joined(
                    "republishing-stream", "makes a stream that publishes again what it stores",
                    self._makes_stream(), own,
                )  # fmt: skip

    def _makes_stream(self) -> Reached | None:
        return self._first(
            self._sent("stream-create", stream=name) for name in self._stream_names()
        )

    def _published(self) -> Reached | None:
        return self._first(self._reach.sent(each, as_stream=True) for each in self._stream.subjects)

    # --- delete

    def _delete(self) -> Iterator[Way | None]:
        stream = self._stream
        yield self._request("stream-delete", "deletes the stream")
        if not (stream.sealed or stream.keeps_all):
            yield self._request("stream-purge", "removes messages")
        if not (stream.sealed or stream.keeps_messages):
            yield self._request("message-delete", "removes one message")
        if not stream.sealed:
            yield self._request("stream-update", "lowers a limit, so that messages go")
        if stream.retention == "workqueue":
            for each in self._consumers:
                what = f"acknowledges what others fetch from the consumer {each.name}"
                acknowledged = self._sent("acknowledgement", consumer=each.name)
                yield self._joined(f"acknowledge-{each.name}", what, acknowledged)
        mirror = any(each.mirror for each in stream.origins)
        if stream.rollup and not (stream.sealed or mirror):
            yield self._joined("rollup", "publishes a message that replaces those before it",
                               self._published())  # fmt: skip

    # --- manage

    def _manage(self) -> Iterator[Way | None]:
        for row in JETSTREAM_SUBJECTS:
            if row.operation != ADMIN or row.system or row.name == "stream-create":
                continue
            if "{stream}" in row.template:
                names = self._consumer_names() if "{consumer}" in row.template else [""]
                known = [each.name for each in self._consumers]
                if row.name not in _CREATE and "{consumer}" in row.template:
                    names = known if self._stream.consumers is not None else ["*"]
                found = self._first(
                    self._sent(row.name, consumer=each, subject=subject)
                    for each in [*names, *(known if row.name in _CREATE else ())]
                    for subject in (self._stream.subjects or (">",))
                )
                yield self._joined(row.name, f"sends {row.name}", found)

    # --- parts of ways

    def _sent(self, template: str, **values: str) -> Reached | None:
        values = {"stream": self._stream.name, **values}
        return self._reach.sent(_TEMPLATES[template].filled(values))

    def _asked(self, name: str, does: str) -> Way | None:
        """A request whose answer is what is wanted."""
        return self._joined(name, does, self._sent(name), self._answer)

    def _request(self, name: str, does: str) -> Way | None:
        """A request that works without an answer."""
        return self._joined(name, does, self._sent(name))

    def _target(self) -> Reached | None:
        """A subject to which the broker can deliver: not one that the stream captures."""
        return self._reach.received(">", self._stream.subjects)

    @staticmethod
    def _unknown(why: str) -> Reached:
        return Reached("", why, determined=False)

    @staticmethod
    def _first(found: Iterable[Reached | None]) -> Reached | None:
        """The first that is certain, else the first."""
        unsure = None
        for each in found:
            if each is not None and each.determined:
                return each
            unsure = unsure or each
        return unsure

    @staticmethod
    def _joined(name: str, does: str, *parts: Reached | None) -> Way | None:
        """A way that needs all its parts."""
        found = [each for each in parts if each is not None]
        if len(found) < len(parts):
            return None
        subjects = tuple(dict.fromkeys(each.subject for each in found if each.subject))
        rules = tuple(dict.fromkeys(each.rule for each in found))
        return Way(name, does, subjects, rules, all(each.determined for each in found))

    def _consumer_names(self) -> list[str]:
        """A new name, and every name that the user's entries hold at its place."""
        known = {each.name for each in self._consumers}
        return [each for each in (_NEW, *self._tokens()) if each not in known]

    def _stream_names(self) -> list[str]:
        known = {each.name for each in self._streams.of(self._stream.account)}
        return [each for each in (_NEW, *self._tokens()) if each not in known]

    def _tokens(self) -> list[str]:
        """The tokens of the user's entries about publishing where a stream or consumer stands."""
        allow, deny = self._reach.permissions.lists("publish")
        found: dict[str, None] = {}
        for entry in (*allow, *deny):
            tokens = entry.split(".")
            for place in range(3, 8):
                if place < len(tokens) and tokens[place] not in ("*", ">"):
                    found[tokens[place]] = None
        return list(found)


def pattern_of_destination(text: str) -> str:
    """Return the pattern of what a transform may write: functions become wildcards."""
    tokens = [("*" if _FUNCTION.search(token) else token) for token in text.split(".")]
    return ".".join(tokens)
