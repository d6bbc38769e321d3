"""The short circuit as a transport: the dispatcher of this process, live objects, no bytes.

Subjects are those of the bus, byte for byte (S0-129); nothing leaves the process, and a child
after a fork hears nothing of its parent (S0-134).
"""

from __future__ import annotations

from collections.abc import Callable

from ..._dispatcher import Dispatcher, HandlerSubscription
from .._http.message import Message

#: Takes a subject and a message of its own; False where it can take none any more.
MessageReceiver = Callable[[str, Message], bool]


class InProcessTransport:
    """Delivers within the process, in the sender's thread."""

    def __init__(self, dispatcher: Dispatcher | None = None) -> None:
        self._dispatcher = dispatcher or Dispatcher.shared()

    def subscribe(
        self, pattern: str, queue: str | None, receiver: MessageReceiver
    ) -> HandlerSubscription:
        """Has a receiver called for each message whose subject the pattern matches."""
        return self._dispatcher.subscribe(pattern, _Pair(receiver), queue=queue)

    def deliver(self, subject: str, message: Message, *, kept: bool) -> int:
        """Gives each receiver the message with headers of its own; how many took it.

        A sender that does not keep the message gives it away to the only receiver.
        """
        pairs = self._dispatcher.handlers(subject)
        if len(pairs) == 1 and not kept:
            return pairs[0].receiver(subject, message)  # type: ignore[attr-defined, no-any-return]
        taken = 0
        for pair in pairs:
            taken += pair.receiver(subject, message.received())  # type: ignore[attr-defined]
        return taken


class _Pair:
    """A receiver as the dispatcher knows it: called with one argument, subject and message."""

    __slots__ = ("receiver",)

    def __init__(self, receiver: MessageReceiver) -> None:
        self.receiver = receiver

    def __call__(self, delivery: tuple[str, Message]) -> bool:
        return self.receiver(*delivery)
