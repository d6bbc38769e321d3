"""``INFO``: what a server says of itself, checked once, where it is read.

A field of another type or out of its range is refused, and ends the session: everything after it
relies on these values. Fields that the client does not use are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

MAX_PAYLOAD = 999_999_999  # bytes that a server may announce: nine digits, as its parser reads
MAX_ANNOUNCED = 256  # servers of one ``INFO``; those after them are not used
MAX_NONCE = 1024  # characters
_SHOWN = 60  # characters of a refused value

_ADDRESS = re.compile(
    r"(?:\[(?P<ip>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*))"
    r":(?P<port>[0-9]{1,5})"
)
_LONGEST_HOST = 253


class InfoRefused(ConnectionError):
    """A field of ``INFO`` is not valid."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The fields of ``INFO`` that the client uses.

    Attributes:
        max_payload: The largest message in bytes.
        tls_required: Whether the server takes encrypted connections only.
        tls_available: Whether a connection may be encrypted.
        ldm: Whether the server is about to shut down.
        nonce: What a client with an nkey signs.
        connect_urls: Host and port of the servers of the cluster.
    """

    max_payload: int = 1 << 20
    tls_required: bool = False
    tls_available: bool = False
    ldm: bool = False
    nonce: str = field(default="", repr=False)
    connect_urls: tuple[tuple[str, int], ...] = ()

    def updated(self, fields: Mapping[str, Any]) -> ServerInfo:
        """Return what is known after a further ``INFO``: fields that it lacks stay.

        Args:
            fields: The JSON object.

        Raises:
            InfoRefused: A field is not valid.
        """
        return replace(
            self,
            **{
                name: check(name, fields[name]) for name, check in _CHECKS.items() if name in fields
            },
        )


def _payload(name: str, value: Any) -> int:
    if type(value) is not int or not 1 <= value <= MAX_PAYLOAD:
        _refuse(name, value, f"a whole number from 1 to {MAX_PAYLOAD:,}")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if type(value) is not bool:
        _refuse(name, value, "true or false")
    return bool(value)


def _nonce(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_NONCE or not value.isascii():
        _refuse(name, value, f"an ASCII text of at most {MAX_NONCE} characters")
    return str(value)


def _addresses(name: str, value: Any) -> tuple[tuple[str, int], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        _refuse(name, value, "a list of texts host:port")
    return tuple(_address(name, each) for each in value[:MAX_ANNOUNCED])


def _address(name: str, value: Any) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(value) if isinstance(value, str) and len(value) < 512 else None
    host = "" if found is None else found["ip"] or found["host"]
    if found is None or len(host) > _LONGEST_HOST or not 1 <= int(found["port"]) <= 65_535:
        _refuse(name, value, "host:port in each entry")
    return host, int(found["port"])


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "max_payload": _payload,
    "tls_required": _flag,
    "tls_available": _flag,
    "ldm": _flag,
    "nonce": _nonce,
    "connect_urls": _addresses,
}


def _refuse(name: str, value: Any, expected: str) -> NoReturn:
    shown = ascii(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}…"
    raise InfoRefused(f"the INFO of the server is refused: {name} is {shown}, expected {expected}")
