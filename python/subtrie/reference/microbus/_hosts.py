"""Validation of hosts: identities of services, and hosts in routes.

An identity consists of lower-case letters, digits and hyphens between dots. ``id-``, ``loc-``,
``all`` and ``*.all`` are reserved. A route may name any host that a URL may, folded to lower case,
and ``all`` itself.
"""

# S0-034, S0-052 to S0-054, A21, A74

from __future__ import annotations

import string
from collections.abc import Callable

from ._arguments import RuleViolation, argument, byte_at, text
from ._case_folding import ascii_lower, fold_case
from ._fields import slot_of

# The maximum number of characters of a host.
_MAX_LENGTH = 252

_IDENTITY = frozenset(string.ascii_lowercase + string.digits + "-.")

#: The ASCII characters that Go's URL parser allows in a host (A74).
URL_HOST = frozenset(string.ascii_letters + string.digits + "-._~!$&'()*+,;=:[]<>\"")


def check_identity_host(host: str) -> str:
    """Return the host if a service may have it; upper case is refused."""
    with argument("host", text(host, "host")):
        return str.__str__(identity_of(host))  # not a subclass, whose str() may be another


def identity_of(host: str) -> str:
    """Return the host if it is a valid identity."""
    _check_labels(host, lambda char: None if char in _IDENTITY else "identity")
    if host == "all":
        raise RuleViolation("reserved", 0)
    _check_reserved(host)
    return host


def source_of_encoder(source: str) -> str:
    """Return the identity of a sender, which encoders fold to lower case first."""  # A74
    return identity_of(ascii_lower(source))


def check_route_host(host: str) -> str:
    """Return the host in lower case if a route may name it."""
    with argument("host", text(host, "host")):
        return route_host_of(host)


def route_host_of(host: str) -> str:
    """Return the host in lower case if it is valid in a route."""
    _check_labels(
        host, lambda char: "host-character" if char.isascii() and char not in URL_HOST else None
    )
    folded = fold_case(host)
    if folded != "all":
        _check_reserved(folded)
    return folded


def _check_labels(host: str, fault_of: Callable[[str], str | None]) -> None:
    """Raise for an empty label, a character that is not allowed, or a host that is too long."""
    if not host:
        raise RuleViolation("host-empty", 0)
    begins = True
    for at, char in enumerate(host):
        if at == _MAX_LENGTH:
            raise RuleViolation("host-length", byte_at(host, at))
        if char == ".":
            if begins:
                raise RuleViolation("empty-label", byte_at(host, at))
            begins = True
            continue
        begins = False
        reason = fault_of(char)
        if reason is not None:
            raise RuleViolation(reason, byte_at(host, at))
    if begins:
        raise RuleViolation("empty-label", len(host.encode()))


def _check_reserved(host: str) -> None:
    if is_slot_label(host) or host.endswith(".all"):
        raise RuleViolation("reserved", 0)


def is_slot_label(host: str) -> bool:
    """Return whether the host begins like a slot."""  # S0-052
    return host.startswith(("id-", "loc-"))


def any_host_of(host: str) -> str:
    """Return any text that is not empty: the host of a request is not restricted."""  # A74
    if not host:
        raise RuleViolation("host-empty", 0)
    return host


def addressed_host_of(host: str, slot: str) -> str:
    """Raise if the host after a slot begins like another slot."""  # A9
    if slot and is_slot_label(fold_case(host)):
        raise RuleViolation("stacked", 0)
    return host


def cut_slot(host: str) -> tuple[str, str]:
    """Return the host without a leading ``id-…`` or ``loc-…`` label, and that label as a slot.

    The case of the host is kept; the slot is in lower case.
    """
    # S0-055
    with argument("host", text(host, "host")):
        return slot_cut_of(host)


def slot_cut_of(host: str) -> tuple[str, str]:
    """Return the rest of a host and the slot in its first label."""
    label, dot, rest = host.partition(".")
    if not dot or not is_slot_label(ascii_lower(label)):
        return str(host), ""
    slot = slot_of(label)
    return addressed_host_of(rest, slot), slot
