"""Services as Python sees them: clients with named calls, and events."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from .. import microbus
from ._client.requester import Requester
from ._http.message import Response
from ._server.annotations import type_hints
from ._server.argument_binding import _is_body, structured


class Client:
    """The calls of one service, each a stub below ``@client.call(method, route)``.

    ``await client.name(connector, **arguments)`` asks; the stub's annotations say what becomes
    the body (a dataclass, a ``dict``, ``bytes``), what is filled into path and query, and what
    the answer is read as.
    """

    def __init__(self, host: str) -> None:
        self.host = host

    def call(self, method: str, route: str) -> Callable[[Callable[..., Any]], Any]:
        """Makes a stub a call. Raises ``AddressError`` for a route or a method that is none."""
        method = microbus.check_method(method)
        host, port, path = microbus.resolve_route(host=self.host, route=route)
        url = f"https://{host}:{port}{path if path.startswith('/') else '/' + path}"

        def make(stub: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
            signature = inspect.signature(stub)
            hints = type_hints(stub)
            answered = hints.get("return", Any)

            async def called(connector: Requester, /, *positional: Any, **named: Any) -> Any:
                timeout = named.pop("timeout", None) if "timeout" not in hints else None
                given = signature.bind(*positional, **named)
                given.apply_defaults()
                params: dict[str, object] = {}
                sent: dict[str, Any] = {}
                for name, value in given.arguments.items():
                    wanted = hints.get(name, Any)
                    if wanted is bytes:
                        sent["body"] = value
                    elif _is_body(wanted) or (name == "body" and name not in params):
                        sent["json"] = value
                    elif value is not None:
                        params[name] = value
                response = await connector.request(
                    method, url, params=params, timeout=timeout, **sent
                )
                return read_as(answered, response)

            called.__name__ = stub.__name__
            called.__doc__ = stub.__doc__
            called.__wrapped__ = stub  # type: ignore[attr-defined]
            setattr(self, stub.__name__, called)
            return called

        return make

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the client of {self.host} has no call {name!r}")


def read_as(wanted: Any, response: Response) -> Any:
    """The answer as an annotation wants it; an error status raises ``HTTPError``."""
    if wanted is Response:
        return response
    response.raise_for_status()
    if wanted is None or wanted is type(None):
        return None
    if wanted is bytes:
        return response.body
    if wanted is str and not response.headers.get("Content-Type", "").startswith("application/"):
        return response.body.decode()
    return structured("answer", wanted, response.json())


class Event:
    """What a service tells whoever listens: ``POST`` on port 417 of its host."""

    def __init__(self, host: str, route: str) -> None:
        self.host = microbus.check_identity_host(host)
        self.path = microbus.check_route_path(route)
        self.route = f"//{self.host}:417{self.path}"
        self.url = f"https://{self.host}:417{self.path}"

    def __repr__(self) -> str:
        return f"Event({self.host!r}, {self.path!r})"
