"""What travels between clients and brokers, as bytes and as the broker's own log shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _engine
from ..errors import WireError
from . import capture, cluster, conversation, log, monitor, options, streaming, traced
from .server_error import ServerError

if TYPE_CHECKING:
    from .._subtrie import Op, Parser


def __getattr__(name: str) -> Any:
    """The classes of the engine in use, which is chosen after this module is read."""
    if name in ("Op", "Parser"):
        return getattr(_engine.active, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Op",
    "Parser",
    "ServerError",
    "WireError",
    "capture",
    "cluster",
    "conversation",
    "log",
    "monitor",
    "options",
    "streaming",
    "traced",
]
