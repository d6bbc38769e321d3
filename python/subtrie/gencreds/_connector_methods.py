"""The methods of a connector that send or receive, and the list of a service each belongs to."""

from __future__ import annotations

from .._core.ports import CONTROL as CONTROL_PORT
from .._core.ports import EVENTS as EVENT_PORT

#: Methods with a URL or a route, by the name of that argument.
CALLS = {"request": "url", "publish": "url"}
SERVES = {"endpoint": "route", "subscribe": "route"}
EVENTS = {"trigger", "on"}
VERBS = {*CALLS, *SERVES, *EVENTS}
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "ANY"}

__all__ = [
    "CALLS",
    "CONTROL_PORT",
    "EVENTS",
    "EVENT_PORT",
    "METHODS",
    "SERVES",
    "VERBS",
    "kind_of",
]


def kind_of(verb: str) -> str:
    """Return ``calls``, ``endpoints``, ``events`` or ``hooks``."""
    if verb in SERVES:
        return "endpoints"
    return {"trigger": "events", "on": "hooks"}.get(verb, "calls")
