"""The in-process transport: live messages through the dispatcher of this process.

Subjects equal those of the bus, byte for byte. Nothing leaves the process; a child process after a
fork receives nothing of its parent.
"""

# S0-129, S0-134

from __future__ import annotations

from collections.abc import Callable

from ..._dispatcher import Dispatcher, HandlerSubscription
from .._http.message import Message

#: Takes a subject and a message of its own; returns False once its connector has stopped.
MessageReceiver = Callable[[str, Message], bool]


class InProcessTransport:
    """Delivers messages within the process, in the sender's thread."""

    def __init__(self, dispatcher: Dispatcher | None = None) -> None:
        self._dispatcher = dispatcher or Dispatcher.shared()

    def subscribe(
        self, pattern: str, queue: str | None, receiver: MessageReceiver
    ) -> HandlerSubscription:
        """Call a receiver for each message whose subject matches a pattern.

        Args:
            pattern: The pattern.
            queue: The queue name, or None.
            receiver: Takes the messages.
        """
        return self._dispatcher.subscribe(pattern, _Pair(receiver), queue=queue)

    def deliver(self, subject: str, message: Message, *, kept: bool) -> int:
        """Give each selected receiver the message; return how many took it.

        Each receiver gets headers of its own, unless there is one receiver and the sender does not
        keep the message.

        Args:
            subject: The subject.
            message: The message.
            kept: Whether the sender uses the message again.
        """
        pairs = self._dispatcher.handlers(subject)
        if len(pairs) == 1 and not kept:
            return pairs[0].receiver(subject, message)  # type: ignore[attr-defined, no-any-return]
        taken = 0
        for pair in pairs:
            taken += pair.receiver(subject, message.received())  # type: ignore[attr-defined]
        return taken


class _Pair:
    """A receiver as the dispatcher calls it: with one argument, the pair of subject and message."""

    __slots__ = ("receiver",)

    def __init__(self, receiver: MessageReceiver) -> None:
        self.receiver = receiver

    def __call__(self, delivery: tuple[str, Message]) -> bool:
        return self.receiver(*delivery)
