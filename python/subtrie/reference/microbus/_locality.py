"""Localities and their slots: parts joined by hyphens, the broadest first.

A locality with dots is reversed. Parts are ``[a-z0-9]+``; ``all`` and names that begin like a slot
are reserved.
"""

# S0-046, A8, A74

from __future__ import annotations

import string

from ._arguments import RuleViolation, argument, byte_at, text
from ._case_folding import ascii_lower
from ._hosts import is_slot_label

_PART = string.ascii_lowercase + string.digits


def check_locality(locality: str) -> str:
    """Return the locality, broadest part first: ``1.b.west.us`` becomes ``us-west-b-1``."""
    with argument("locality", text(locality, "locality")):
        return locality_of(locality)


def locality_of(locality: str) -> str:
    """Return the locality, broadest part first, if it is valid."""
    begins = True
    for at, char in enumerate(locality):
        if char in "-." and not begins:
            begins = True
        elif char in _PART:
            begins = False
        else:
            raise RuleViolation("locality", byte_at(locality, at))
    if begins:
        raise RuleViolation("locality", len(locality))
    broad = "-".join(reversed(locality.split(".")))
    if broad == "all" or is_slot_label(broad):
        raise RuleViolation("reserved", 0)
    return broad


def locality_slots(locality: str) -> tuple[str, ...]:
    """Return one slot for each prefix of the locality, broadest first."""
    parts = check_locality(locality).split("-")
    return tuple("loc-" + "-".join(parts[: end + 1]) for end in range(len(parts)))


def locality_slot(locality: str) -> str:
    """Return the slot of a complete locality, in lower case; empty for empty text."""
    with argument("locality", text(locality, "locality")):
        return "loc-" + locality_of(ascii_lower(locality)) if locality else ""


def common_locality(one: str, other: str) -> str:
    """Return the longest common prefix of two localities in complete parts, perhaps empty."""
    common = []
    for left, right in zip(
        text(one, "one").split("-"), text(other, "other").split("-"), strict=False
    ):
        if left != right:
            break
        common.append(left)
    return "-".join(common)
