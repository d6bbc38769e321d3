"""``allow_responses``: a turn to answer for each message received, whatever the lists say (A70)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ._decision import BROKER, Decision
from ._rule_sets import Lists


class Session:
    """Permissions with the history of one connection, as the broker keeps it."""

    def __init__(
        self, lists: Lists, ask: Callable[[str], Decision], clock: Callable[[], float]
    ) -> None:
        self._lists, self._ask, self._clock = lists, ask, clock
        self._turns: dict[str, tuple[float, int]] = {}

    def received(self, subject: str, reply: str | None = None) -> None:
        """A message was delivered to the connection, with this reply subject or without one.

        Raises ``SubjectError`` for a text that is no subject. A reply that may be published anyway
        grants nothing; one received again uses up a turn, and once spent it is granted anew.
        """
        dialect = self._lists.dialect
        self._lists._engine.check_subject(subject, dialect)
        if reply is None:
            return
        self._lists._engine.check_subject(reply, dialect)
        if self._lists.allow_responses is not None and not self.can_publish(reply):
            self._turns[reply] = (self._clock(), 0)

    def can_publish(self, subject: str) -> Decision:
        """Publishes: answers as the broker would, and uses up a turn where it takes one.

        Raises ``SubjectError`` for a text that is no subject.
        """
        answer = self._ask(subject)
        limit = self._lists.allow_responses
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
