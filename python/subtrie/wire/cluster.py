"""The protocol between servers of one cluster, in both of its dialects.

``Parser()`` reads the route protocol of servers before 2.0; ``Parser("route")`` today's: interest
with an account (``RS+``, ``RS-``), messages (``RMSG``, ``HMSG``), interest and messages of leaf
nodes (``LS+``, ``LS-``, ``LMSG``), accounts (``A+``, ``A-``).
"""
# A63

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import engine

if TYPE_CHECKING:
    from .._subtrie import Parser as _Parser

#: The connections that this module parses.
DIALECTS = ("route_legacy", "route", "leaf")


def Parser(conn: str = "route_legacy", **options: Any) -> _Parser:
    """Return a ``wire.Parser`` for a connection between servers.

    Args:
        conn: One of ``DIALECTS``.
        **options: The options of ``wire.Parser``.

    Raises:
        ValueError: ``conn`` is not one of ``DIALECTS``.
    """
    if conn not in DIALECTS:
        engine.Parser(conn)  # refuses a name that is not of any connection
        raise ValueError(f"conn must be one of {', '.join(DIALECTS)}, not {conn!r}")
    return engine.Parser(conn, **options)


def needs_tls(options: dict[str, Any]) -> bool:
    """Return whether the options of an INFO require TLS, by the old name or by today's."""
    # A60
    return bool(options.get("tls_required") or options.get("ssl_required"))


def is_verbose(options: dict[str, Any]) -> bool:
    """Return whether the options of a CONNECT request +OK; the default is True."""
    # A56
    return bool(options.get("verbose", True))


__all__ = ["DIALECTS", "Parser", "is_verbose", "needs_tls"]
