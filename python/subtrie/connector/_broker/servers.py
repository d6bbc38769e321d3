"""The servers that a connection may use, in the order of the attempts, and the time between them.

The servers of the URL stay; those that a server announces in ``INFO`` come and go.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

_PORT = 4222
_SCHEMES = ("nats", "tls")


@dataclass(frozen=True)
class Server:
    """One server of a URL, or one that another server announced."""

    host: str
    port: int
    tls: bool = False
    user: str = field(default="", repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str) -> Server:
        """Return the server of a URL: ``nats://user:password@host:port``, or parts of it.

        Raises:
            ConnectionError: The scheme is neither ``nats`` nor ``tls``, or there is no host.
        """
        url = url.strip()
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        try:
            port = parts.port or _PORT
        except ValueError:
            port = 0
        if parts.scheme not in _SCHEMES or not parts.hostname or not port:
            shown = url.rpartition("@")[2]
            raise ConnectionError(f"{shown!r} is not the URL of a NATS server (nats:// or tls://)")
        password = None if parts.password is None else unquote(parts.password)
        tls = parts.scheme == "tls"
        return cls(parts.hostname, port, tls, unquote(parts.username or ""), password)


class ServerPool:
    """The servers of one connection.

    Args:
        urls: The URLs, separated by commas.
    """

    def __init__(self, urls: str) -> None:
        self._given = [Server.of(url) for url in urls.split(",") if url.strip()]
        if not self._given:
            raise ConnectionError("no URL of a NATS server")
        self._announced: list[Server] = []

    def __len__(self) -> int:
        return len(self._given) + len(self._announced)

    def round(self) -> list[Server]:
        """Return all servers in random order: the clients of a lost server spread over the rest."""
        servers = [*self._given, *self._announced]
        random.shuffle(servers)
        return servers

    def announce(self, addresses: Sequence[str], by: Server) -> None:
        """Replace the announced servers; each takes user and TLS of the server that announced it.

        Args:
            addresses: ``host:port`` of each.
            by: The server whose ``INFO`` names them.
        """
        given = {(each.host, each.port) for each in self._given}
        found: dict[tuple[str, int], Server] = {}
        for address in addresses:
            try:
                server = Server.of(address)
            except ConnectionError:
                continue
            key = (server.host, server.port)
            if key not in given:
                found[key] = Server(server.host, server.port, by.tls, by.user, by.password)
        self._announced = list(found.values())

    def tls_name(self, server: Server) -> str:
        """Return the host that the certificate of a server must name.

        For an announced address it is that of the first server given, as in Go.
        """
        if server in self._announced and _is_address(server.host):
            return self._given[0].host
        return server.host


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def waits(first: float, longest: float) -> Iterator[float]:
    """Return the times between attempts in seconds, without an end.

    Each is about twice the one before it, and random by a half, so that many clients that lost the
    same server do not all return at the same moment.

    Args:
        first: About the first time.
        longest: The longest time.
    """
    wait = first
    while True:
        yield wait * random.uniform(0.5, 1.0)
        wait = min(2 * wait, longest)
