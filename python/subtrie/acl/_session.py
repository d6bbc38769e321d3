"""``allow_responses``: permission to answer the messages that a connection has received."""  # A70

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .._nats.reserved_subjects import RESERVED_SUBJECTS
from ._decision import BROKER, Decision
from ._rule_sets import RuleSets


class Session:
    """Permissions together with the messages that one connection has received."""

    def __init__(
        self, rule_sets: RuleSets, ask: Callable[[str], Decision], clock: Callable[[], float]
    ) -> None:
        self._rule_sets, self._ask, self._clock = rule_sets, ask, clock
        self._grants: dict[str, tuple[float, int]] = {}

    def received(self, subject: str, reply: str | None = None) -> None:
        """Record that a message was delivered to the connection.

        A reply subject that may be published anyway needs no grant. One that is received again uses
        up an answer; when none is left, the next message grants anew.

        Args:
            subject: the subject of the message.
            reply: its reply subject; None if it has none.

        Raises:
            SubjectError: a text is not a valid subject.
        """
        dialect = self._rule_sets.dialect
        self._rule_sets._engine.check_subject(subject, dialect)
        if reply is None:
            return
        self._rule_sets._engine.check_subject(reply, dialect)
        if self._rule_sets.allow_responses is not None and not self.can_publish(reply):
            self._grants[reply] = (self._clock(), 0)

    def can_publish(self, subject: str) -> Decision:
        """Decide a publish as the broker would, and use up an answer if it takes one.

        Raises ``SubjectError`` if the text is not a valid subject.
        """
        answer = self._ask(subject)
        limit = self._rule_sets.allow_responses
        if answer or limit is None or not answer.determined or answer.rule in RESERVED_SUBJECTS:
            return answer
        granted = self._grants.pop(subject, None)
        if granted is None:
            more = "no message received has this reply subject"
            return dataclasses.replace(answer, explanation=f"{answer.explanation}; {more}")
        since, used = granted
        if limit.max > 0 and used + 1 > limit.max:
            more = f"its {limit.max} answers are used up"
            return dataclasses.replace(answer, explanation=f"{answer.explanation}; {more}")
        if limit.expires > 0 and self._clock() - since > limit.expires:
            more = f"the time to answer ended after {limit.expires:g} s"
            return dataclasses.replace(answer, explanation=f"{answer.explanation}; {more}")
        self._grants[subject] = (since, used + 1)
        explanation = "allow_responses: it is the reply subject of a message received"
        return Decision(True, BROKER, explanation, rule="allow_responses")
