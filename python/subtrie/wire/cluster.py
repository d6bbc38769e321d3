"""The protocol between servers of one cluster, in both of its dialects.

``Parser()`` reads routes as seed 004 prints them, complete (A63); ``Parser("route")`` what servers
say to each other today: interest with an account (``RS+``, ``RS-``), messages (``RMSG``, ``HMSG``),
interest and messages of leaf nodes (``LS+``, ``LS-``, ``LMSG``), accounts (``A+``, ``A-``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _engine

if TYPE_CHECKING:
    from .._subtrie import Parser as _Parser

#: The connections this module reads.
DIALECTS = ("route_legacy", "route", "leaf")


def Parser(conn: str = "route_legacy", **options: Any) -> _Parser:
    """A ``wire.Parser`` of a connection between servers; options as there."""
    if conn not in DIALECTS:
        raise ValueError(f"conn must be one of {', '.join(DIALECTS)}, not {conn!r}")
    parser: _Parser = _engine.Parser(conn, **options)
    return parser


def needs_tls(options: dict[str, Any]) -> bool:
    """Does an INFO ask for TLS, under the old name or today's? (A60)"""
    return bool(options.get("tls_required") or options.get("ssl_required"))


def is_verbose(options: dict[str, Any]) -> bool:
    """Does a CONNECT ask for +OK? True where it does not say (A56)."""
    return bool(options.get("verbose", True))


__all__ = ["DIALECTS", "Parser", "is_verbose", "needs_tls"]
