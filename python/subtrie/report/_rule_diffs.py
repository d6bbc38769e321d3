"""Diffs from the rules of each service to the proposed ones."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ._content import RuleDiff
from ._rows import rows_of

if TYPE_CHECKING:
    from ..audit import Run

#: Beyond this many lines the diffs are cut: they are for a review, the tables have all rules.
MOST_LINES = 5_000


def rule_diffs(result: Run) -> list[RuleDiff]:
    """Return the diff of each service from today's allow rules to the proposed ones.

    Without today's rules every line is an addition.
    """
    today: dict[str, set[tuple[str, str]]] = defaultdict(set)
    proposed: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows_of(result, "permission_usage"):
        if row["effect"] == "allow" and row["rule"] is not None:
            today[row["service"]].add((row["verb"], row["rule"]))
    for row in rows_of(result, "proposal"):
        proposed[row["service"]].add((row["verb"], row["rule"]))
    diffs, left = [], MOST_LINES
    for service in sorted(proposed):  # without a proposal there is nothing to compare with
        before, after = today[service], proposed[service]
        lines = []
        for verb in sorted({verb for verb, _ in before | after}):
            lines.append(f"  # {verb}")
            for rule in sorted({rule for each, rule in before | after if each == verb}):
                old, new = (verb, rule) in before, (verb, rule) in after
                lines.append(f"{' ' if old and new else '+' if new else '-'} {rule}")
        diffs.append(
            RuleDiff(service, len(after - before), len(before - after), tuple(lines[:left]))
        )
        left -= len(lines)
        if left <= 0:
            break
    return diffs
