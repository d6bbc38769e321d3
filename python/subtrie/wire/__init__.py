"""What travels between clients and brokers, as bytes and as the broker's own log shows it."""

from __future__ import annotations

from .._engine import Op, Parser
from .._errors import WireError
from . import (
    capture,
    cluster,
    conversation,
    log,
    monitor,
    streaming,
)
from ._operation_reader import Broken, Row, of_capture, read, records
from ._server_error import ServerError
from ._tap import KINDS, Tap
from ._trace_operations import operation as operation_of

__all__ = [
    "KINDS",
    "Broken",
    "Op",
    "Parser",
    "Row",
    "ServerError",
    "Tap",
    "WireError",
    "capture",
    "cluster",
    "conversation",
    "log",
    "monitor",
    "of_capture",
    "operation_of",
    "read",
    "records",
    "streaming",
]
