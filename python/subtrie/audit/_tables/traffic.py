"""The traffic as a whole: counts, planes, and the index of the patterns of all subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .fact_tables import FactTables
from .pattern_index import Files, index_files
from .subscriptions import plane_of_pattern, subscriptions_of

#: The categories of lines.
LINES = ("operations", "payloads", "server", "unparseable_lines")


@dataclass(frozen=True)
class Traffic:
    """The facts of the traffic that every task needs.

    Attributes:
        counts: The counts of lines, messages and windows.
        planes: The planes that are audited.
        files: The names of the files of the index of the patterns.
    """

    counts: dict[str, int]
    planes: tuple[str, ...]
    files: tuple[str, ...]

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


def traffic_of(facts: FactTables, planes: Sequence[str]) -> tuple[Traffic, Files]:
    """Return what every task needs, and the files of the index.

    Args:
        facts: The facts for the driver.
        planes: The planes to audit; none for those of the traffic.
    """
    import pyarrow.compute as pc

    subscriptions = subscriptions_of(facts.table("subscription"))
    found = set(facts.table("plane")["subject"].to_pylist())
    patterns = pc.unique(subscriptions["pattern"]).to_pylist()
    found |= {plane for plane in map(plane_of_pattern, patterns) if plane is not None}
    files = index_files(subscriptions)
    known = sorted(set(planes)) or sorted(found)
    return Traffic(facts.counts(), tuple(known), tuple(name for name, _ in files)), files
