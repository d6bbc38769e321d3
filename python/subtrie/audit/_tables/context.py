"""The context of all buckets: counts, planes, and indexes of patterns.

It follows from the head of the whole partial, so it is made once, and sent to all workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .._answers.gaps import CodeCall
from .._answers.questions import Questions
from .._answers.rule_table import Rule
from .._answers.tables import Answers
from .._partial.partial import Partial
from .pattern_index import Files, PatternIndex, index_files, pattern_files
from .subscriptions import plane_of_pattern, subscriptions_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The categories of lines.
LINES = ("operations", "payloads", "server", "unparseable_lines")
#: Opens the index in the files of these names.
Open = Callable[[tuple[str, ...]], PatternIndex]


class Asked(NamedTuple):
    """The rules and the code that messages are compared with.

    Attributes:
        rules: The publish rules, by number.
        ruled: The names of the files of the index of their patterns.
        code: The calls in the code, by number: specific ones first.
        called: The names of the files of the index of their patterns.
    """

    rules: tuple[Rule, ...]
    ruled: tuple[str, ...]
    code: tuple[CodeCall, ...]
    called: tuple[str, ...]


@dataclass(frozen=True)
class Context:
    """The facts that the rows of every bucket depend on.

    Attributes:
        counts: The counts of lines, messages and windows.
        planes: The planes that are audited.
        subscribed: The names of the files of the index of the subscribed patterns.
        asked: What answers are made with; None if nothing is asked.
    """

    counts: dict[str, int]
    planes: tuple[str, ...]
    subscribed: tuple[str, ...]
    asked: Asked | None = None

    @property
    def lines(self) -> int:
        """The number of lines."""
        return sum(self.counts.get(name, 0) for name in LINES)

    @property
    def unmatched(self) -> int:
        """The deliveries that no message took, if the events say what was taken."""
        counts = self.counts
        unmatched = counts.get("unmatched", 0)
        return unmatched + (counts["sent"] - counts["matched"] if counts.get("settled") else 0)


class Whole(NamedTuple):
    """The context, its files and the answers, from the head of the whole partial.

    Attributes:
        context: What the rows of every bucket depend on.
        files: The files of the indexes.
        answers: What makes the tables of answers of the sums of all buckets; None if nothing is
            asked.
    """

    context: Context
    files: Files
    answers: Answers | None


def context_of(
    head: Partial, planes: Sequence[str], questions: Questions | None, window: int | None
) -> Whole:
    """Return what the rows of every bucket depend on.

    Args:
        head: The head of the whole partial.
        planes: The planes to audit; none for those of the traffic.
        questions: What is asked beyond the tables of the traffic; None for nothing.
        window: The length of a period in microseconds, or None.

    Raises:
        ValueError: There are too many rules.
    """
    import pyarrow.compute as pc

    subscriptions = subscriptions_of(head.table("subscription"))
    found = set(head.table("plane")["subject"].to_pylist())
    patterns = pc.unique(subscriptions["pattern"]).to_pylist()
    found |= {plane for plane in map(plane_of_pattern, patterns) if plane is not None}
    known = tuple(sorted(set(planes)) or sorted(found))
    counts = head.counts()
    files, indexed = index_files(subscriptions)
    names = tuple(name for name, _ in files)
    if questions is None or questions.unasked(known, counts.get("operations", 0)):
        return Whole(Context(counts, known, names), files, None)
    answers = Answers(subscription_table(indexed).drop_columns(["position"]), questions, window)
    ruled = pattern_files([each.pattern for each in answers.rules])
    called = pattern_files([each.pattern for each in answers.code])
    asked = Asked(
        tuple(answers.rules), tuple(name for name, _ in ruled),
        tuple(answers.code), tuple(name for name, _ in called),
    )  # fmt: skip
    return Whole(Context(counts, known, names, asked), (*files, *ruled, *called), answers)


def subscription_table(indexed: pa.Table) -> pa.Table:
    """Return the rows of the table ``subscriptions``, and ``position``, that of the SUB line."""
    names = ["server", "conn", "sid", "started", "ended", "identity", "pattern", "queue", "start"]
    return indexed.select(names).rename_columns(
        [*names[:3], "start", "end", "identity", "pattern", "queue", "position"]
    )
