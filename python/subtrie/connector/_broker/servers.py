"""The servers that a connection may use, in the order of the attempts, and the time between them.

The servers of the URL stay; those that a server announces in ``INFO`` come and go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from .. import _system

_PORT = 4222
_SCHEMES = ("nats", "tls")


@dataclass(frozen=True)
class Server:
    """One server of a URL, or one that another server announced.

    Attributes:
        host: The host.
        port: The port.
        tls: Whether the connection must be encrypted.
        user: The user, or the token.
        password: The password, or None.
        certified: The host that its certificate must name, if not ``host``.
    """

    host: str
    port: int
    tls: bool = False
    user: str = field(default="", repr=False)
    password: str | None = field(default=None, repr=False)
    certified: str = ""

    @property
    def tls_name(self) -> str:
        """The host that the certificate of the server must name."""
        return self.certified or self.host

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
        _system.shuffle(servers)
        return servers

    def announce(
        self, addresses: Sequence[tuple[str, int]], by: Server, *, encrypted: bool = False
    ) -> None:
        """Replace the announced servers; each takes user and TLS of the server that announced it.

        The certificate of an announced name must name it, that of an announced address the host
        of the server that announced it, as in Go.

        Args:
            addresses: Host and port of each.
            by: The server whose ``INFO`` names them.
            encrypted: Whether the connection to that server is encrypted.
        """
        given = {(each.host, each.port) for each in self._given}
        tls = by.tls or encrypted
        self._announced = [
            Server(host, port, tls, by.user, by.password, by.tls_name if _is_address(host) else "")
            for host, port in dict.fromkeys(addresses)
            if (host, port) not in given
        ]


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
        yield wait * _system.uniform(0.5, 1.0)
        wait = min(2 * wait, longest)


class Pauses:
    """The pauses before attempts to reconnect, which grow until a connection has lived a while.

    Args:
        first: About the first pause in seconds.
        longest: The longest.
        steady_after: Seconds that a connection must have lived.

    Attributes:
        waits: The pauses to come.
        short_lived: How many connections in a row did not live so long.
    """

    def __init__(self, first: float, longest: float, steady_after: float) -> None:
        self._first, self._longest, self._steady_after = first, longest, steady_after
        self.waits = waits(first, longest)
        self.short_lived = 0

    def first(self, lived: float) -> float:
        """Return the pause after the loss of a connection, in seconds: none if it has lived.

        Args:
            lived: How many seconds the connection has lived.
        """
        if lived < self._steady_after:
            self.short_lived += 1
            return next(self.waits)
        self.short_lived, self.waits = 0, waits(self._first, self._longest)
        return 0.0
