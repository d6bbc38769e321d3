"""Limits of nats-server that decide whether something can be sent."""

from __future__ import annotations

#: The most bytes of a control line, the CONNECT with a user's JWT among them.  # A37
CONTROL_LINE = 4096
