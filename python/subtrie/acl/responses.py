"""``allow_responses``: a turn to answer for each message received, whatever the lists say (A70)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import _engine
from .decision import BROKER, Decision

if TYPE_CHECKING:
    from .permissions import Permissions


@dataclasses.dataclass(frozen=True, slots=True)
class ResponseLimit:
    """How often (``max``) and how long (``expires``, seconds) a received reply may be answered.

    A negative number is no limit; 0 stands for the broker's default, 1 and 120.
    """

    max: int = 1
    expires: float = 120.0

    def __post_init__(self) -> None:
        if isinstance(self.max, bool) or not isinstance(self.max, int):
            raise TypeError(f"max must be int, not {type(self.max).__name__}")
        if isinstance(self.expires, bool) or not isinstance(self.expires, int | float):
            raise TypeError(f"expires must be a number, not {type(self.expires).__name__}")
        if self.expires != self.expires:
            raise ValueError("expires must be a number of seconds")
        object.__setattr__(self, "max", self.max or 1)
        object.__setattr__(self, "expires", float(self.expires) or 120.0)

    def covers(self, other: ResponseLimit) -> bool:
        """Does this limit grant whatever the other one grants?"""
        often = self.max < 0 or 0 < other.max <= self.max
        return often and (self.expires < 0 or 0 < other.expires <= self.expires)


class Session:
    """Permissions with the history of one connection, as the broker keeps it."""

    def __init__(
        self, permissions: Permissions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._permissions = permissions
        self._clock = clock
        self._turns: dict[str, tuple[float, int]] = {}

    def received(self, subject: str, reply: str | None = None) -> None:
        """A message was delivered to the connection, with this reply subject or without one.

        Raises ``SubjectError`` for a text that is no subject. A reply that may be published anyway
        grants nothing; one received again uses up a turn, and once spent it is granted anew.
        """
        permissions = self._permissions
        _engine.active.check_subject(subject, permissions.dialect)
        if reply is None:
            return
        _engine.active.check_subject(reply, permissions.dialect)
        if permissions.allow_responses is not None and not self.can_publish(reply):
            self._turns[reply] = (self._clock(), 0)

    def can_publish(self, subject: str) -> Decision:
        """Publishes: answers as the broker would, and uses up a turn where it takes one.

        Raises ``SubjectError`` for a text that is no subject.
        """
        permissions = self._permissions
        answer = permissions.can_publish(subject, model=BROKER)
        limit = permissions.allow_responses
        if answer or limit is None or not answer.known:
            return answer
        granted = self._turns.pop(subject, None)
        if granted is None:
            why = f"{answer.why}; and no message with this reply subject gives a turn to answer"
            return dataclasses.replace(answer, why=why)
        since, used = granted
        if limit.max > 0 and used + 1 > limit.max:
            why = f"{answer.why}; and its {limit.max} turns to answer are used up"
            return dataclasses.replace(answer, why=why)
        if limit.expires > 0 and self._clock() - since > limit.expires:
            why = f"{answer.why}; and the turn to answer ended after {limit.expires:g} s"
            return dataclasses.replace(answer, why=why)
        self._turns[subject] = (since, used + 1)
        why = "allow_responses: it is the reply subject of a message received"
        return Decision(True, BROKER, why, rule="allow_responses")
