"""Who answers what: requests are followed to the inboxes on which their answers arrive."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from . import _schema as schema
from ._subjects import identify

_REQUESTS = {
    "ConnectRequest": "ConnectResponse",
    "SubscriptionRequest": "SubscriptionResponse",
    "UnsubscribeRequest": "SubscriptionResponse",
    "CloseRequest": "CloseResponse",
    "PubMsg": "PubAck",
    "Ping": "PingResponse",
}
_CARRY = frozenset({"PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG"})
#: Most inboxes that are remembered; the oldest are forgotten first.
_MOST = 65_536


@dataclass(frozen=True, slots=True)
class Typed:
    """A message of the protocol: its ``name``, the decoded ``message`` (None for a heartbeat and
    its answer, which are empty), the operation it came in, and the request it ``answers``."""

    name: str
    message: Any
    subject: str
    reply: str | None
    op: Any
    answers: Typed | None = None


class Conversation:
    """Types the messages of one connection, fed with its operations of both directions in order."""

    def __init__(self) -> None:
        self.response: Any = None
        self._expected: OrderedDict[str, tuple[str, Typed | None]] = OrderedDict()

    def feed(self, op: Any) -> Typed | None:
        """The message that an operation carries; None for one that is none of the protocol's.

        Raises ``WireError`` (``bad message``) for a payload that is not what its subject promises.
        Cost: one look-up, one decoding. S3-002, S3-003, S3-024, S3-029, S3-074, S3-096.
        """
        if op.op not in _CARRY:
            return None
        subject = str(op.subject)
        name, answers = self._expected.get(subject, (None, None))
        if name is None:
            name = identify(subject, self.response)
        if name is None:
            return None
        if name in ("Heartbeat", "HeartbeatAnswer"):
            typed = Typed(name, None, subject, op.reply, op, answers)
        else:
            message = schema.loaded()[name].decode(op.body)
            typed = Typed(
                name, message, subject, op.reply, op, self._request(name, message, answers)
            )
        self._learn(typed)
        return typed

    @staticmethod
    def _request(name: str, message: Any, answers: Typed | None) -> Typed | None:
        # One inbox takes many acknowledgements: only the guid tells which (S3-075, S3-077).
        if name == "PubAck" and answers is not None and answers.message.guid != message.guid:
            return None
        return answers

    def _learn(self, typed: Typed) -> None:
        message = typed.message
        if typed.reply and typed.name in _REQUESTS:
            self._expect(typed.reply, _REQUESTS[typed.name], typed)
        if typed.name == "ConnectRequest":
            self._expect(message.heartbeatInbox, "Heartbeat", typed)
        elif typed.name == "ConnectResponse" and not message.error:
            self.response = message
        elif typed.name == "Heartbeat" and typed.reply:
            self._expect(typed.reply, "HeartbeatAnswer", typed)
        elif typed.name == "SubscriptionRequest":
            self._expect(message.inbox, "MsgProto", typed)
        elif typed.name == "SubscriptionResponse" and message.ackInbox:
            self._expect(message.ackInbox, "Ack", typed.answers)

    def _expect(self, subject: str, name: str, request: Typed | None) -> None:
        if not subject:
            return
        self._expected[subject] = (name, request)
        self._expected.move_to_end(subject)
        while len(self._expected) > _MOST:
            self._expected.popitem(last=False)


__all__ = ["Conversation", "Typed"]
