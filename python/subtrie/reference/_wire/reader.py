"""The reader of what a server sends to a client; receivers acknowledge everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.errors import WireError
from .parser import Parser

_MAX_LINE = 65_536  # an INFO names all servers of a cluster


class DeliveryReader:
    """A reader of what a server sends to a client."""

    def __init__(self) -> None:
        self._parser = Parser("server_to_client", max_control_line=_MAX_LINE, max_payload=None)

    def acknowledge(
        self,
        sid: int,
        plane: str,
        host: str,
        whole: tuple[bytes, bytes],
        fragment: tuple[bytes, bytes],
        receiver: Callable[[list[tuple[Any, str, bytes]]], Callable[[], None] | None],
        tag: Any,
    ) -> None:
        """Do nothing: the receiver acknowledges."""

    def forget(self, sid: int) -> None:
        """Do nothing."""

    def exclude(self, hosts: list[str]) -> None:
        """Do nothing."""

    def limit(self, max_payload: int) -> None:
        """Refuse messages of more bytes, including their NATS headers, from now on."""
        self._parser.limit_payload(max_payload)

    def feed(self, data: bytes) -> tuple[list[Any], list[Any], bytes]:
        """Return what the next bytes complete: messages as tuples, anything else as ``Op``."""
        try:
            found = self._parser.feed(data)
        except WireError as error:
            error.operations = [_item(op) for op in error.operations]
            raise
        return [_item(op) for op in found], [], b""


def _item(op: Any) -> Any:
    if not op.op.endswith("MSG"):
        return op
    sid = int(op.sid.lstrip("0") or "0")  # int() refuses thousands of zeros
    return sid, op.subject, bytes(op.payload)
