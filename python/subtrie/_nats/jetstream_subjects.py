"""The subjects of JetStream: one table of their grammar, and a reader of subjects.

A template's tokens in braces stand for a name: ``{stream}`` for one token, ``{subject+}`` for one
token or more. Each name is a kind of token; ``MADE_UP`` are the kinds that a client or the broker
makes up at each run, so that they say nothing about who does what.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Container, Mapping
from types import MappingProxyType

#: Kinds of tokens that a client or the broker makes up at each run. Of consumers, only those whose
#: names look made up: see ``made_up_name``.
MADE_UP = frozenset({"chunks", "consumer", "delivery", "request"})

#: What a request does. ``read``: messages of a stream, or their answer; ``write``: adds messages;
#: ``delete``: removes messages or a stream; ``admin``: makes, changes, moves streams and consumers;
#: ``info``: tells names, settings and counts; ``acknowledge``: ends or repeats a delivery;
#: ``event``: what the broker tells.
READ, WRITE, DELETE, ADMIN = "read", "write", "delete", "admin"
INFO, ACKNOWLEDGE, EVENT = "info", "acknowledge", "event"

#: Who publishes the subject: a client, or the broker.
CLIENT, BROKER = "client", "broker"


@dataclasses.dataclass(frozen=True, slots=True)
class JetStreamSubject:
    """One row of the grammar.

    Attributes:
        name: the operation, a word with hyphens.
        template: the subject, with names in braces.
        operation: what it does: ``read``, ``write``, ``delete``, ``admin``, ``info``,
            ``acknowledge`` or ``event``.
        publisher: ``client`` or ``broker``.
        answered: True if the broker answers to the reply subject.
        system: True if only the system account may use it.
    """

    name: str
    template: str
    operation: str
    publisher: str = CLIENT
    answered: bool = True
    system: bool = False

    @property
    def pattern(self) -> str:
        """The pattern of all subjects of the row."""
        return self.filled({})

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the template with these values; other names become wildcards."""
        tokens = []
        for token in self.template.split("."):
            kind, rest = _name_of(token)
            tokens.append(token if kind is None else values.get(kind, ">" if rest else "*"))
        return ".".join(tokens)


_API = "$JS.API"


def _api(name: str, rest: str, operation: str, *, system: bool = False) -> JetStreamSubject:
    return JetStreamSubject(name, f"{_API}.{rest}", operation, system=system)


def _event(name: str, template: str) -> JetStreamSubject:
    return JetStreamSubject(name, template, EVENT, BROKER, answered=False)


#: The grammar. Of rows that fit a subject, the first counts.
JETSTREAM_SUBJECTS = (
    _api("account-info", "INFO", INFO),
    _api("stream-names", "STREAM.NAMES", INFO),
    _api("stream-list", "STREAM.LIST", INFO),
    _api("stream-info", "STREAM.INFO.{stream}", INFO),
    _api("stream-create", "STREAM.CREATE.{stream}", ADMIN),
    _api("stream-update", "STREAM.UPDATE.{stream}", ADMIN),
    _api("stream-delete", "STREAM.DELETE.{stream}", DELETE),
    _api("stream-purge", "STREAM.PURGE.{stream}", DELETE),
    _api("message-delete", "STREAM.MSG.DELETE.{stream}", DELETE),
    _api("message-get", "STREAM.MSG.GET.{stream}", READ),
    _api("stream-snapshot", "STREAM.SNAPSHOT.{stream}", READ),
    _api("stream-restore", "STREAM.RESTORE.{stream}", WRITE),
    _api("stream-peer-remove", "STREAM.PEER.REMOVE.{stream}", ADMIN),
    _api("stream-peer-evacuate", "STREAM.PEER.EVACUATE.{stream}", ADMIN),
    _api("stream-cancel-move", "STREAM.CANCEL_MOVE.{stream}", ADMIN),
    _api("stream-leader-stepdown", "STREAM.LEADER.STEPDOWN.{stream}", ADMIN),
    _api("direct-get", "DIRECT.GET.{stream}", READ),
    _api("direct-get-last", "DIRECT.GET.{stream}.{subject+}", READ),
    _api("consumer-create-unnamed", "CONSUMER.CREATE.{stream}", ADMIN),
    _api("consumer-create", "CONSUMER.CREATE.{stream}.{consumer}", ADMIN),
    _api("consumer-create-filtered", "CONSUMER.CREATE.{stream}.{consumer}.{subject+}", ADMIN),
    _api("consumer-create-durable", "CONSUMER.DURABLE.CREATE.{stream}.{consumer}", ADMIN),
    _api("consumer-names", "CONSUMER.NAMES.{stream}", INFO),
    _api("consumer-list", "CONSUMER.LIST.{stream}", INFO),
    _api("consumer-info", "CONSUMER.INFO.{stream}.{consumer}", INFO),
    _api("consumer-delete", "CONSUMER.DELETE.{stream}.{consumer}", ADMIN),
    _api("consumer-pause", "CONSUMER.PAUSE.{stream}.{consumer}", ADMIN),
    _api("consumer-unpin", "CONSUMER.UNPIN.{stream}.{consumer}", ADMIN),
    _api("consumer-reset", "CONSUMER.RESET.{stream}.{consumer}", ADMIN),
    _api("consumer-leader-stepdown", "CONSUMER.LEADER.STEPDOWN.{stream}.{consumer}", ADMIN),
    _api("consumer-next", "CONSUMER.MSG.NEXT.{stream}.{consumer}", READ),
    _api("meta-leader-stepdown", "META.LEADER.STEPDOWN", ADMIN, system=True),
    _api("meta-rescue", "META.RESCUE", ADMIN, system=True),
    _api("server-remove", "SERVER.REMOVE", ADMIN, system=True),
    _api("server-evacuate", "SERVER.EVACUATE", ADMIN, system=True),
    _api("account-purge", "ACCOUNT.PURGE.{account}", DELETE, system=True),
    _api("account-stream-move", "ACCOUNT.STREAM.MOVE.{account}.{stream}", ADMIN, system=True),
    _api(
        "account-stream-cancel-move", "ACCOUNT.STREAM.CANCEL_MOVE.{account}.{stream}", ADMIN,
        system=True,
    ),
    # Nine tokens, or more with the domain and a hash of the account before the stream.
    JetStreamSubject(
        "acknowledgement",
        "$JS.ACK.{stream}.{consumer}."
        "{delivery}.{delivery}.{delivery}.{delivery}.{delivery}",
        ACKNOWLEDGE,
    ),
    JetStreamSubject(
        "acknowledgement",
        "$JS.ACK.{domain}.{account_hash}.{stream}.{consumer}."
        "{delivery}.{delivery}.{delivery}.{delivery}.{delivery+}",
        ACKNOWLEDGE,
    ),
    JetStreamSubject("flow-control", "$JS.FC.{stream}.{consumer}.{delivery}", ACKNOWLEDGE,
                     answered=False),
    JetStreamSubject(
        "flow-control", "$JS.FC.{domain}.{account_hash}.{stream}.{consumer}.{delivery}",
        ACKNOWLEDGE, answered=False,
    ),
    JetStreamSubject("snapshot-acknowledgement", "$JS.SNAPSHOT.ACK.{stream}.{request}", ACKNOWLEDGE,
                     answered=False),
    JetStreamSubject("restore-chunk", "$JS.SNAPSHOT.RESTORE.{stream}.{request}", WRITE),
    JetStreamSubject("kv-key", "$KV.{bucket}.{key+}", WRITE),
    JetStreamSubject("object-chunk", "$O.{bucket}.C.{chunks}", WRITE),
    JetStreamSubject("object-meta", "$O.{bucket}.M.{object}", WRITE),
    _event("api-audit", "$JS.EVENT.ADVISORY.API"),
    _event("advisory", "$JS.EVENT.ADVISORY.{event+}"),
    _event("metric", "$JS.EVENT.METRIC.{event+}"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class JetStreamUse:
    """The meaning of a subject.

    Attributes:
        row: the row of the grammar.
        values: the value of each name of the template that occurs once.
        domain: the domain that the prefix names (``$JS.hub.API``); None without one.
        subject: the subject.
    """

    row: JetStreamSubject
    values: Mapping[str, str]
    domain: str | None
    subject: str

    def folded(self, chosen: Container[tuple[str, str]] = ()) -> str:
        """Return the subject with a wildcard in place of each token that is made up.

        Args:
            chosen: the consumers whose names are chosen, as pairs of stream and consumer; the
                name of a consumer that is created durable, or is in no pair but shorter than what
                clients and the broker make up, is kept, too.
        """
        consumer = self.values.get("consumer", "")
        durable = self.row.name == "consumer-create-durable"
        kept = durable or (self.values.get("stream", ""), consumer) in chosen
        kept = kept or not made_up_name(consumer)
        shift = 1 if self.domain is not None else 0
        prefix = self.subject.split(".")[: 2 + shift]
        tokens = self.subject.split(".")[2 + shift :]
        folded = []
        for index, token in enumerate(self.row.template.split(".")[2:]):
            kind, rest = _name_of(token)
            if kind in MADE_UP and not (kind == "consumer" and kept):
                folded.append(">" if rest and len(tokens) > index + 1 else "*")
            elif rest:
                folded += tokens[index:]
            else:
                folded.append(tokens[index])
        return ".".join([*prefix, *folded])


#: Names that clients and the broker make up: a NUID of 22 characters, or 8 characters of a hash.
_NUID = re.compile(r"[0-9A-Za-z]{22}|(?=.*[0-9A-Z])[0-9A-Za-z]{8}")


def made_up_name(token: str) -> bool:
    """Return True if a token looks like a name that a client or the broker made up."""
    return _NUID.fullmatch(token) is not None


def jetstream_use(subject: str) -> JetStreamUse | None:
    """Return what a subject means to JetStream; None if it is in no row of the grammar.

    Args:
        subject: the subject of a message; that of a request may hold a filter with wildcards.
    """
    tokens = subject.split(".")
    domain = None
    if len(tokens) > 3 and tokens[0] == "$JS" and tokens[2] == "API" and tokens[1] not in _WORDS:
        domain = tokens.pop(1)
    for row in JETSTREAM_SUBJECTS:
        values = _read(row.template.split("."), tokens)
        if values is not None:
            return JetStreamUse(row, MappingProxyType(values), domain, subject)
    return None


#: Second tokens that do not name a domain.
_WORDS = frozenset({"API", "ACK", "FC", "EVENT", "SNAPSHOT"})
_NAME = re.compile(r"\{(\w+)(\+)?\}")


def _name_of(token: str) -> tuple[str | None, bool]:
    """The name that a token of a template stands for, and True if it takes all that follows."""
    found = _NAME.fullmatch(token)
    return (None, False) if found is None else (found[1], found[2] is not None)


def _read(template: list[str], tokens: list[str]) -> dict[str, str] | None:
    """The values of a template's names in a subject; None if it does not fit."""
    values: dict[str, str] = {}
    for index, wanted in enumerate(template):
        if index >= len(tokens):
            return None
        kind, rest = _name_of(wanted)
        if rest and kind is not None:
            values.setdefault(kind, ".".join(tokens[index:]))
            return values
        if kind is None:
            if tokens[index] != wanted:
                return None
        else:
            values.setdefault(kind, tokens[index])
    return values if len(tokens) == len(template) else None
