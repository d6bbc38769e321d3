"""What travels between clients and brokers, as bytes and as the broker's own log shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _engine
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

if TYPE_CHECKING:
    from .._subtrie import Op, Parser


def __getattr__(name: str) -> Any:
    """The classes of the engine in use, which is chosen after this module is read."""
    if name in ("Op", "Parser"):
        return getattr(_engine.active, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
