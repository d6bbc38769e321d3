"""Which hosts may a service have, and which may a route name?

An identity is made of lower-case letters, digits and hyphens between dots (S0-034). ``id-``,
``loc-``, ``all`` and ``*.all`` are reserved (S0-052 to S0-054, A21). A route may name any host that
a URL can (A74), folded to lower case, and ``all`` itself.
"""

from __future__ import annotations

import string
from collections.abc import Callable

from ._arguments import Broken, byte_at, of, text
from ._case_folding import ascii_lower, fold
from ._fields import slot_of

# Longest host, counted in characters.
_LONGEST = 252

_IDENTITY = frozenset(string.ascii_lowercase + string.digits + "-.")

#: The ASCII characters that Go's URL parser admits in a host (A74).
URL_HOST = frozenset(string.ascii_letters + string.digits + "-._~!$&'()*+,;=:[]<>\"")


def check_identity_host(host: str) -> str:
    """The host, if a service may have it. Upper case is refused, not folded."""
    with of("host", text(host, "host")):
        return identity_of(host)


def identity_of(host: str) -> str:
    """The rules of an identity, from left to right."""
    _check_labels(host, lambda char: None if char in _IDENTITY else "identity")
    if host == "all":
        raise Broken("reserved", 0)
    _check_reserved(host)
    return host


def source_of_encoder(source: str) -> str:
    """A sender's host: encoders fold before they check (A74)."""
    return identity_of(ascii_lower(source))


def check_route_host(host: str) -> str:
    """The host in lower case, if a route may name it."""
    with of("host", text(host, "host")):
        return route_host_of(host)


def route_host_of(host: str) -> str:
    """The rules of a host in a route, from left to right."""
    _check_labels(
        host, lambda char: "host-character" if char.isascii() and char not in URL_HOST else None
    )
    folded = fold(host)
    if folded != "all":
        _check_reserved(folded)
    return folded


def _check_labels(host: str, fault_of: Callable[[str], str | None]) -> None:
    """No empty label, no stray character, not too long."""
    if not host:
        raise Broken("host-empty", 0)
    begins = True
    for at, char in enumerate(host):
        if at == _LONGEST:
            raise Broken("host-length", byte_at(host, at))
        if char == ".":
            if begins:
                raise Broken("empty-label", byte_at(host, at))
            begins = True
            continue
        begins = False
        reason = fault_of(char)
        if reason is not None:
            raise Broken(reason, byte_at(host, at))
    if begins:
        raise Broken("empty-label", len(host.encode()))


def _check_reserved(host: str) -> None:
    if is_slot_label(host) or host.endswith(".all"):
        raise Broken("reserved", 0)


def is_slot_label(host: str) -> bool:
    """Does the host begin like a slot? (S0-052)"""
    return host.startswith(("id-", "loc-"))


def any_host_of(host: str) -> str:
    """Any text that is not empty: where a request goes is not ours to check (A74)."""
    if not host:
        raise Broken("host-empty", 0)
    return host


def addressed_host_of(host: str, slot: str) -> str:
    """The host behind a slot is not a second slot, which nothing could be named (A9)."""
    if slot and is_slot_label(fold(host)):
        raise Broken("stacked", 0)
    return host


def cut_slot(host: str) -> tuple[str, str]:
    """Lifts a leading ``id-`` or ``loc-`` label, if a dot follows it (S0-055).

    Gives the rest, its case untouched, and the slot in lower case.
    """
    with of("host", text(host, "host")):
        return slot_cut_of(host)


def slot_cut_of(host: str) -> tuple[str, str]:
    """The rest of a host and the slot that its first label is."""
    label, dot, rest = host.partition(".")
    if not dot or not is_slot_label(ascii_lower(label)):
        return str(host), ""
    slot = slot_of(label)
    return addressed_host_of(rest, slot), slot
