"""Subscriptions that a running broker may take only after a change, though no set grows.

The sets of subjects that two permissions grant tell what a broker does, except in two cases: queue
names beside entries without one, and patterns deeper than an entry that ends in ``*``.
"""

# A67, A69, A81

from __future__ import annotations

from .._core import engine
from . import _broker_model as broker
from . import _strict_model as strict
from ._comparison import Witness
from ._rule_sets import RuleSets

#: A queue group that no entry names.
_OTHER_QUEUE = "another-group"


def newly_accepted(old: RuleSets, new: RuleSets) -> tuple[Witness, ...]:
    """Return subscriptions that the broker refused before and takes now, or may take.

    One is left out if the entry that leads to it is a difference of the sets.
    """
    sides = [(*(each.subscribe_allow or ()), *each.subscribe_deny) for each in (old, new)]
    changed = set(sides[0]) ^ set(sides[1])
    entries = list(dict.fromkeys([*sides[1], *sides[0]]))
    if not changed or not any(" " in each or each.endswith("*") for each in entries):
        return ()
    touched = [each.partition(" ")[0] for each in changed]
    queues = [None, *(_example(each.partition(" ")[2]) for each in entries if " " in each)]
    if len(queues) > 1:
        queues.append(_OTHER_QUEUE)
    found: dict[tuple[str, str | None], None] = {}
    for subject in dict.fromkeys(each.partition(" ")[0] for each in entries):
        deeper = [subject[:-1] + ">"] if subject.endswith("*") else []
        if not any(engine.overlaps(each, (deeper or [subject])[0]) for each in touched):
            continue
        for queue in dict.fromkeys(queues):
            if _added(old, new, subject, queue):
                continue
            for pattern in (subject, *deeper):
                if _rank(new, pattern, queue) > _rank(old, pattern, queue):
                    found[pattern, queue] = None
    return tuple(
        Witness._create(pattern, queue, "subscribe", new.dialect) for pattern, queue in found
    )


def _added(old: RuleSets, new: RuleSets, subject: str, queue: str | None) -> bool:
    before, after = (strict.can_subscribe(each, subject, queue) for each in (old, new))
    return bool(after) and not before


def _rank(permissions: RuleSets, pattern: str, queue: str | None) -> int:
    """0: the broker refuses it; 1: it takes it, within the sets; 2: perhaps beyond them."""
    answer = broker.can_subscribe(permissions, pattern, queue)
    return 1 if answer else 0 if answer.determined else 2


def _example(group: str) -> str:
    """A queue group that an entry's pattern of groups matches."""
    return ".".join("x" if each in ("*", ">") else each for each in group.split("."))
