"""The tokens that are no host and no path: plane, trust, port, slot, method."""

from __future__ import annotations

import string

from ..._address import trust_of
from ._arguments import Broken, of, text
from ._case_folding import ascii_lower, ascii_upper

__all__ = ["check_method", "check_plane", "method_of", "plane_of", "port_of", "slot_of", "trust_of"]

_ALPHANUMERIC = string.ascii_letters + string.digits
_LABEL = string.ascii_lowercase + string.digits

#: The methods that may be published (A12).
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")


def check_plane(plane: str) -> str:
    """The plane, if it is one."""
    with of("plane", text(plane, "plane")):
        return plane_of(plane)


def plane_of(plane: str) -> str:
    """Digits and ASCII letters, and at least one (S0-016, A6)."""
    for at, char in enumerate(plane):
        if char not in _ALPHANUMERIC:
            raise Broken("plane", at)
    if not plane:
        raise Broken("plane", 0)
    return plane


def port_of(port: int | str) -> int:
    """0 to 65535; as text, digits without a leading zero (A10)."""
    if isinstance(port, str):
        for at, char in enumerate(port):
            if char not in string.digits:
                raise Broken("port", at)
        if not port or (port[0] == "0" and port != "0"):
            raise Broken("port", 0)
        if len(port) > 5:
            raise Broken("port-range")
        port = int(port)
    if not 0 <= port <= 65535:
        raise Broken("port-range")
    return int(port)


def slot_of(slot: str) -> str:
    """``id-…``, ``loc-…`` or nothing, in lower case (S0-011, S0-069, A8)."""
    slot = ascii_lower(slot)
    if slot == "":
        return slot
    if slot.startswith("id-"):
        start, joined = 3, False
    elif slot.startswith("loc-"):
        start, joined = 4, True
    else:
        raise Broken("slot", 0)
    empty = True
    for at, char in enumerate(slot[start:], start):
        if char in _LABEL:
            empty = False
        elif char == "-" and joined and not empty:
            empty = True
        else:
            raise Broken("slot", at)
    if empty:
        raise Broken("slot", len(slot))
    return slot


def id_of(id: str) -> str:
    """An instance: ``id-…`` and nothing else (A8)."""
    if not ascii_lower(id).startswith("id-"):
        raise Broken("slot", 0)
    return slot_of(id)


def check_method(method: str) -> str:
    """The method in upper case, if it is known; ``ANY`` is (A3, A12, S0-058)."""
    with of("method", text(method, "method")):
        return method_of(method)


def method_of(method: str) -> str:
    """One of the nine, or ``ANY``, in upper case (S0-012, S0-056)."""
    upper = ascii_upper(method)
    if upper not in METHODS and upper != "ANY":
        raise Broken("method", 0)
    return upper


def published_method_of(method: str) -> str:
    """One of the nine, in upper case; ``ANY`` is for subscriptions (A11)."""
    upper = method_of(method)
    if upper == "ANY":
        raise Broken("method-any", 0)
    return upper
