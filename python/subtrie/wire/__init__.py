"""What travels between clients and brokers, as bytes and as the broker's own log shows it."""

from __future__ import annotations

from . import log

__all__ = ["log"]
