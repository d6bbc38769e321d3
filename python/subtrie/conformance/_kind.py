"""What a kind of row is: a question to an engine, and the answer the row expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._errors import SubtrieError

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """The engine refused the input, or the row wants it refused (``status`` where it says so)."""

    reason: str = ""
    status: int | None = None

    def __str__(self) -> str:
        status = "" if self.status is None else f" with status {self.status}"
        return f"a refusal{f' ({self.reason})' if self.reason else ''}{status}"


#: Stands for "a refusal is no answer to this kind".
NO_ANSWER: Any = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row.

    ``ask`` puts the row to an engine and returns its answer in the row's own terms, or lets the
    engine's ``SubtrieError`` pass. ``expected`` names the key of the recorded answer. ``refused``
    is what a refusal answers where the row records no refusal: False to "may this be?", nothing
    to "who gets it?".
    """

    ask: Callable[[Any, Row], Any]
    expected: str
    refused: Any = NO_ANSWER

    def wanted(self, row: Row) -> Any:
        """The answer this row expects of us."""
        if "differs" in row:  # a decision of ours stands against the recorded answer
            ours = row.get("ours")
            return Refused() if ours is None else ours
        if row.get("strict") == "reject":  # the same, where no decision is named
            return Refused()
        if row.get("quirk"):  # a slip of the broker, beside the plain meaning of wildcards
            return row["strict"]
        answer = row[self.expected]
        if row.get("error"):
            return Refused()
        if isinstance(answer, dict) and "error" in answer:
            status = answer["error"]
            return Refused(status=None if status is True else status)
        return answer

    def answer(self, engine: Any, row: Row) -> Any:
        """The engine's answer, a refusal included."""
        try:
            return self.ask(engine, row)
        except SubtrieError as error:
            return Refused(error.reason, error.status)

    def judge(self, wanted: Any, got: Any) -> bool:
        """Is this answer the one that is wanted?"""
        if isinstance(wanted, Refused):
            return isinstance(got, Refused) and wanted.status in (None, got.status)
        if isinstance(got, Refused):
            return self.refused is not NO_ANSWER and bool(self.refused == wanted)
        return type(got) is type(wanted) and bool(got == wanted)
