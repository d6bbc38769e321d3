"""Typed clients and events: the interface of a service as Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from .. import microbus
from .._nats.ports import EVENTS
from ._binding import _is_body, structured, type_hints
from ._message import Response
from ._requester import Requester


class Client:
    """The endpoints of one service as functions, declared by ``@client.call(method, route)``.

    ``await client.name(connector, **arguments)`` sends the request. The annotations of the declared
    function decide which argument is the body (a dataclass, a ``dict``, ``bytes``), which ones go
    into path and query, and how the response is converted. A ``timeout`` in seconds may be given
    unless the function declares an argument of that name.

    Args:
        host: The host name of the service.
    """

    def __init__(self, host: str) -> None:
        self.host = host

    def call(self, method: str, route: str) -> Callable[[Callable[..., Any]], Any]:
        """Return a decorator that turns a function declaration into a request.

        Args:
            method: The HTTP method.
            route: The route, as for ``Connector.endpoint``.

        Raises:
            AddressError: The route or the method is not valid.
        """
        method = microbus.check_method(method)
        host, port, path = microbus.resolve_route(host=self.host, route=route)
        url = f"https://{host}:{port}{path if path.startswith('/') else '/' + path}"

        def make(stub: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
            signature = inspect.signature(stub)
            hints = type_hints(stub)
            result_type = hints.get("return", Any)

            async def call(connector: Requester, /, *positional: Any, **named: Any) -> Any:
                timeout = named.pop("timeout", None) if "timeout" not in hints else None
                given = signature.bind(*positional, **named)
                given.apply_defaults()
                params: dict[str, object] = {}
                sent: dict[str, Any] = {}
                for name, value in given.arguments.items():
                    annotation = hints.get(name, Any)
                    if annotation is bytes:
                        sent["body"] = value
                    elif _is_body(annotation) or (name == "body" and name not in params):
                        sent["json"] = value
                    elif value is not None:
                        params[name] = value
                response = await connector.request(
                    method, url, params=params, timeout=timeout, **sent
                )
                return read_as(result_type, response)

            call.__name__ = stub.__name__
            call.__doc__ = stub.__doc__
            call.__wrapped__ = stub  # type: ignore[attr-defined]
            setattr(self, stub.__name__, call)
            return call

        return make

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the client of {self.host} declares no function {name!r}")


def read_as(annotation: Any, response: Response) -> Any:
    """Convert a response to an annotated type.

    Args:
        annotation: The annotation; ``Response`` returns the response itself.
        response: The response.

    Raises:
        HTTPError: The response is an error, or does not fit the annotation.
    """
    if annotation is Response:
        return response
    response.raise_for_status()
    if annotation is None or annotation is type(None):
        return None
    if annotation is bytes:
        return response.body
    if annotation is str and not response.headers.get("Content-Type", "").startswith(
        "application/"
    ):
        return response.body.decode()
    return structured("response", annotation, response.json())


class Event:
    """An event of a service: ``POST`` on port 417 of its host.

    Args:
        host: The host name of the service that publishes it.
        route: The path of the event.

    Raises:
        AddressError: The host or the path is not valid.
    """

    def __init__(self, host: str, route: str) -> None:
        self.host = microbus.check_identity_host(host)
        self.path = microbus.check_route_path(route)
        self.route = f"//{self.host}:{EVENTS}{self.path}"
        self.url = f"https://{self.host}:{EVENTS}{self.path}"

    def __repr__(self) -> str:
        return f"Event({self.host!r}, {self.path!r})"
