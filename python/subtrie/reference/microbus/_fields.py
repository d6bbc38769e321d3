"""The tokens other than hosts and paths: plane, trust, port, slot and method."""

from __future__ import annotations

import string

from ..._core.address import trust_of
from ._arguments import RuleViolation, argument, text
from ._case_folding import ascii_lower, ascii_upper

__all__ = ["check_method", "check_plane", "method_of", "plane_of", "port_of", "slot_of", "trust_of"]

_ALPHANUMERIC = string.ascii_letters + string.digits
_LABEL = string.ascii_lowercase + string.digits

#: The HTTP methods of requests (A12).
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")


def check_plane(plane: str) -> str:
    """Return the plane if it consists of ASCII letters and digits and is not empty."""
    with argument("plane", text(plane, "plane")):
        return str.__str__(plane_of(plane))  # not a subclass, whose str() may be another


def plane_of(plane: str) -> str:
    """Return the plane if it is valid."""  # S0-016, A6
    for at, char in enumerate(plane):
        if char not in _ALPHANUMERIC:
            raise RuleViolation("plane", at)
    if not plane:
        raise RuleViolation("plane", 0)
    return plane


def port_of(port: int | str) -> int:
    """Return the port, 0 to 65535; as text it must be digits without a leading zero."""  # A10
    if isinstance(port, str):
        for at, char in enumerate(port):
            if char not in string.digits:
                raise RuleViolation("port", at)
        if not port or (port[0] == "0" and port != "0"):
            raise RuleViolation("port", 0)
        if len(port) > 5:
            raise RuleViolation("port-range")
        port = int(port)
    if not 0 <= port <= 65535:
        raise RuleViolation("port-range")
    return int(port)


def slot_of(slot: str) -> str:
    """Return the slot in lower case: ``id-…``, ``loc-…`` or empty."""  # S0-011, S0-069, A8
    slot = ascii_lower(slot)
    if slot == "":
        return slot
    if slot.startswith("id-"):
        start, joined = 3, False
    elif slot.startswith("loc-"):
        start, joined = 4, True
    else:
        raise RuleViolation("slot", 0)
    empty = True
    for at, char in enumerate(slot[start:], start):
        if char in _LABEL:
            empty = False
        elif char == "-" and joined and not empty:
            empty = True
        else:
            raise RuleViolation("slot", at)
    if empty:
        raise RuleViolation("slot", len(slot))
    return slot


def id_of(id: str) -> str:
    """Return the id of an instance, ``id-…``, in lower case."""  # A8
    if not ascii_lower(id).startswith("id-"):
        raise RuleViolation("slot", 0)
    return slot_of(id)


def check_method(method: str) -> str:
    """Return the method in upper case if it is an HTTP method or ``ANY``."""  # A3, A12, S0-058
    with argument("method", text(method, "method")):
        return method_of(method)


def method_of(method: str) -> str:
    """Return an HTTP method or ``ANY`` in upper case."""  # S0-012, S0-056
    upper = ascii_upper(method)
    if upper not in METHODS and upper != "ANY":
        raise RuleViolation("method", 0)
    return upper


def published_method_of(method: str) -> str:
    """Return an HTTP method in upper case; ``ANY`` is only valid in subscriptions."""  # A11
    upper = method_of(method)
    if upper == "ANY":
        raise RuleViolation("method-any", 0)
    return upper
