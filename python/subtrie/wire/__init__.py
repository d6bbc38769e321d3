"""Parse and record the traffic of NATS connections, as bytes and as the broker's log shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.engine import Op, Parser
from .._core.errors import WireError
from .._core.public_names import publish
from . import capture, cluster, conversation, log, monitor, streaming
from ._connection_options import ConnectionOptions, classify_options
from ._operation_reader import (
    OperationRow,
    StreamError,
    read_capture_operations,
    read_operations,
    read_records,
)
from ._server_error import ServerError
from ._trace_operations import log_operation

if TYPE_CHECKING:
    from ._tap import Tap


def __getattr__(name: str) -> Any:
    """Import ``Tap`` on first use, because its module needs asyncio."""
    if name == "Tap":
        from ._tap import Tap

        return Tap
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ConnectionOptions",
    "Op",
    "OperationRow",
    "Parser",
    "ServerError",
    "StreamError",
    "Tap",
    "WireError",
    "capture",
    "classify_options",
    "cluster",
    "conversation",
    "log",
    "log_operation",
    "monitor",
    "read_capture_operations",
    "read_operations",
    "read_records",
    "streaming",
]

publish(globals())
