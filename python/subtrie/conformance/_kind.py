"""The kinds of rows: how to ask an engine, and which answer is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._core.errors import SubtrieError

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal, by the engine or expected by the row, with a status if one is expected."""

    reason: str = ""
    status: int | None = None

    def __str__(self) -> str:
        status = "" if self.status is None else f" with status {self.status}"
        return f"a refusal{f' ({self.reason})' if self.reason else ''}{status}"


#: Marks a kind for which a refusal is never a correct answer.
NO_ANSWER: Any = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row.

    Attributes:
        ask: Asks an engine and returns its answer in the form of the row, or raises the
            ``SubtrieError`` of the engine.
        expected: The key of the recorded answer.
        refused: The answer for which a refusal counts if the row does not expect a refusal.
    """

    ask: Callable[[Any, Row], Any]
    expected: str
    refused: Any = NO_ANSWER

    def wanted(self, row: Row) -> Any:
        """Return the answer that the row expects."""
        if "differs" in row:  # a decision overrides the recorded answer
            ours = row.get("ours")
            return Refusal() if ours is None else ours
        if row.get("strict") == "reject":  # the same without the number of a decision
            return Refusal()
        if row.get("quirk"):  # the server contradicts the meaning of wildcards
            return row["strict"]
        answer = row[self.expected]
        if row.get("error"):
            return Refusal()
        if isinstance(answer, dict) and "error" in answer:
            status = answer["error"]
            return Refusal(status=None if status is True else status)
        return answer

    def answer(self, engine: Any, row: Row) -> Any:
        """Return the answer of the engine, which may be a refusal."""
        try:
            return self.ask(engine, row)
        except SubtrieError as error:
            return Refusal(error.reason, error.status)

    def judge(self, wanted: Any, got: Any) -> bool:
        """Return whether the answer is the expected one."""
        if isinstance(wanted, Refusal):
            return isinstance(got, Refusal) and wanted.status in (None, got.status)
        if isinstance(got, Refusal):
            return self.refused is not NO_ANSWER and bool(self.refused == wanted)
        return type(got) is type(wanted) and bool(got == wanted)
