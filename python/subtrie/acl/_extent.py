"""The subjects that a user may publish or subscribe to, as a part of a sentence."""

from __future__ import annotations

from ._rule_sets import RuleSets

_SHOWN = 5


def extent(permissions: RuleSets, verb: str) -> str:
    """Return the entries of a verb: ``everything``, ``nothing``, or the first of them.

    Args:
        permissions: the permissions.
        verb: ``publish`` or ``subscribe``.
    """
    allow, deny = permissions.lists(verb)
    text = "everything" if ">" in allow else _named(allow) or "nothing"
    return f"{text} but {_named(deny)}" if deny and allow else text


def _named(entries: list[str]) -> str:
    more = len(entries) - _SHOWN
    return ", ".join(entries[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
