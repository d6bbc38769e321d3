"""The verbs of a connector, and to which list of a service each belongs."""

from __future__ import annotations

#: What a connector does on the bus, and where method and URL or route stand.
CALLS = {"request": "url", "publish": "url"}
SERVES = {"endpoint": "route", "subscribe": "route"}
EVENTS = {"trigger", "on"}
VERBS = {*CALLS, *SERVES, *EVENTS}
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "ANY"}

EVENT_PORT, CONTROL_PORT = 417, 888


def kind_of(verb: str) -> str:
    """``calls``, ``endpoints``, ``events`` or ``hooks``."""
    if verb in SERVES:
        return "endpoints"
    return {"trigger": "events", "on": "hooks"}.get(verb, "calls")
