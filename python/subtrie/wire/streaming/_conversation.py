"""Follow streaming requests to the inboxes on which their answers arrive."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from . import _schema as schema
from ._subjects import DISCOVER, identify

_REQUESTS = {
    "ConnectRequest": "ConnectResponse",
    "SubscriptionRequest": "SubscriptionResponse",
    "UnsubscribeRequest": "SubscriptionResponse",
    "CloseRequest": "CloseResponse",
    "PubMsg": "PubAck",
    "Ping": "PingResponse",
}
_CARRY = frozenset({"PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG"})
#: The most inboxes that are tracked; bounds the memory, the oldest are dropped first.
_MAX_INBOXES = 65_536


@dataclass(frozen=True, slots=True)
class StreamingMessage:
    """A message of the protocol.

    Attributes:
        name: The name of its type.
        message: The decoded message; None for a heartbeat and its answer, which are empty.
        subject: The subject.
        reply: The reply subject, or None.
        op: The operation that carries it.
        answers: The request that it answers, or None.
    """

    name: str
    message: Any
    subject: str
    reply: str | None
    op: Any
    answers: StreamingMessage | None = None


class Conversation:
    """Decodes the streaming messages of one connection from its operations, in order.

    Args:
        discover: The discover prefix with which the server is configured.
    """

    def __init__(self, *, discover: str = DISCOVER) -> None:
        self.response: Any = None
        self._discover = discover
        self._expected: OrderedDict[str, tuple[str, StreamingMessage | None]] = OrderedDict()

    def feed(self, op: Any) -> StreamingMessage | None:
        """Return the streaming message that an operation carries, or None.

        Cost: one lookup and one decoding.

        Args:
            op: The next operation of either direction.

        Raises:
            WireError: The payload is not the message that its subject requires (reason
                ``bad message``).
        """
        # S3-002, S3-003, S3-024, S3-029, S3-074, S3-096
        if op.op not in _CARRY:
            return None
        subject = str(op.subject)
        name, answers = self._expected.get(subject, (None, None))
        if name is None:
            name = identify(subject, self.response, discover=self._discover)
        if name is None:
            return None
        if name in ("Heartbeat", "HeartbeatAnswer"):
            typed = StreamingMessage(name, None, subject, op.reply, op, answers)
        else:
            message = schema.loaded()[name].decode(op.body)
            typed = StreamingMessage(
                name, message, subject, op.reply, op, self._request(name, message, answers)
            )
        self._learn(typed)
        return typed

    @staticmethod
    def _request(
        name: str, message: Any, answers: StreamingMessage | None
    ) -> StreamingMessage | None:
        # Many acknowledgements share an inbox; the guid identifies the request (S3-075, S3-077).
        if name == "PubAck" and answers is not None and answers.message.guid != message.guid:
            return None
        return answers

    def _learn(self, typed: StreamingMessage) -> None:
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
        elif typed.name == "SubscriptionResponse":
            self._expect(message.ackInbox, "Ack", typed.answers)

    def _expect(self, subject: str, name: str, request: StreamingMessage | None) -> None:
        if not subject:
            return
        self._expected[subject] = (name, request)
        self._expected.move_to_end(subject)
        while len(self._expected) > _MAX_INBOXES:
            self._expected.popitem(last=False)


__all__ = ["Conversation", "StreamingMessage"]
