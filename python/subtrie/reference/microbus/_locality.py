"""A locality and the slots it answers to: broadest first, joined by hyphens (S0-046).

A dotted locality is the reverse and is turned round. Parts are ``[a-z0-9]+`` (A8, A74); ``all``
and what begins like a slot are reserved.
"""

from __future__ import annotations

import string

from ._arguments import Broken, byte_at, of, text
from ._case_folding import ascii_lower
from ._hosts import is_slot_label

_PART = string.ascii_lowercase + string.digits


def check_locality(locality: str) -> str:
    """The locality, broadest first: ``1.b.west.us`` gives ``us-west-b-1``."""
    with of("locality", text(locality, "locality")):
        return locality_of(locality)


def locality_of(locality: str) -> str:
    """The rules of a locality, from left to right."""
    begins = True
    for at, char in enumerate(locality):
        if char in "-." and not begins:
            begins = True
        elif char in _PART:
            begins = False
        else:
            raise Broken("locality", byte_at(locality, at))
    if begins:
        raise Broken("locality", len(locality))
    broad = "-".join(reversed(locality.split(".")))
    if broad == "all" or is_slot_label(broad):
        raise Broken("reserved", 0)
    return broad


def locality_slots(locality: str) -> tuple[str, ...]:
    """One slot for each prefix of the locality, broadest first."""
    parts = check_locality(locality).split("-")
    return tuple("loc-" + "-".join(parts[: end + 1]) for end in range(len(parts)))


def locality_slot(locality: str) -> str:
    """The slot of one whole locality, in lower case; empty text has none."""
    with of("locality", text(locality, "locality")):
        return "loc-" + locality_of(ascii_lower(locality)) if locality else ""


def common_locality(one: str, other: str) -> str:
    """The longest common prefix of two localities, by whole parts; empty where there is none."""
    common = []
    for left, right in zip(
        text(one, "one").split("-"), text(other, "other").split("-"), strict=False
    ):
        if left != right:
            break
        common.append(left)
    return "-".join(common)
