"""Typed clients: the interface of a service as Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from .. import microbus
from .._errors import refusal
from .._nats.path_template import path_argument
from ._binding import body_parameters, structured
from ._connector import Connector
from ._message import Response
from ._type_hints import type_hints

P = ParamSpec("P")
R = TypeVar("R")


class Call(Generic[P, R]):
    """A declared request: ``await call(connector, **arguments)`` sends it.

    Attributes:
        method: The HTTP method.
        url: The URL, with path arguments in braces.
    """

    def __init__(
        self,
        host: str,
        method: str,
        route: str,
        stub: Callable[P, Awaitable[R]],
        source: str | None = "",
    ) -> None:
        method = microbus.check_method(method)
        self.method = "POST" if method == "ANY" else method  # as in Go
        self.host, port, path = microbus.resolve_route(host=host, route=route)
        path = path if path.startswith("/") else f"/{path}"
        asked = microbus.cut_slot(self.host)[0].lower()
        self._source = "" if source is None else source or asked
        self.url = f"https://{self.host}:{port}{path}"
        self._signature = inspect.signature(stub)
        self._hints = type_hints(stub)
        self._result = self._hints.get("return", Any)
        self._timeout: float | None = None
        found = [path_argument(part) for part in path.split("/")]
        names = [each.name for each in found if each is not None and each.name]
        kinds = {name: self._hints.get(name, inspect.Parameter.empty) for name in self._parameters}
        self._bodies = body_parameters(kinds, names)
        self._raw = [name for name, kind in kinds.items() if kind is bytes and name not in names]
        if len(self._raw) > 1 or (self._raw and self._bodies):
            raise refusal("BusError", "stub", self._raw[0], field="parameter")
        self.__name__, self.__doc__ = getattr(stub, "__name__", "call"), stub.__doc__
        self.__wrapped__ = stub

    @property
    def _parameters(self) -> list[str]:
        return list(self._signature.parameters)

    def within(self, timeout: float) -> Callable[Concatenate[Connector, P], Awaitable[R]]:
        """Return the same call with a time budget.

        Args:
            timeout: The time budget in seconds.
        """
        limited: Call[P, R] = object.__new__(type(self))
        limited.__dict__.update(self.__dict__)
        limited._timeout = timeout
        return limited

    async def __call__(self, connector: Connector, /, *positional: P.args, **named: P.kwargs) -> R:
        """Send the request, and return the converted response.

        Args:
            connector: The connector that sends it.
            positional: The arguments of the declared function.
            named: The same by name.

        Raises:
            HTTPError: The response is an error, or does not fit the declared type.
        """
        arguments: dict[str, Any] = dict(named)
        timeout = self._timeout
        if "timeout" not in self._parameters and "timeout" in arguments:
            timeout = arguments.pop("timeout")
        given = self._signature.bind(*positional, **arguments)
        given.apply_defaults()
        values, sent = dict(given.arguments), {}
        for name in self._raw:
            sent["body"] = values.pop(name)
        bodies = {name: values.pop(name) for name in self._bodies}
        if len(bodies) == 1:
            sent["json"] = next(iter(bodies.values()))
        elif bodies:
            sent["json"] = {name.rstrip("_"): value for name, value in bodies.items()}
        params = {name: value for name, value in values.items() if value is not None}
        response = await connector.request(
            self.method, self.url, params=params, timeout=timeout, source=self._source, **sent
        )
        return cast(R, read_as(self._result, response))

    def __repr__(self) -> str:
        return f"<Call {self.__name__}: {self.method} {self.url}>"


class Client:
    """The endpoints of one service as functions, declared by ``@client.call(method, route)``.

    ``await client.name(connector, **arguments)``, or ``await name(connector, **arguments)`` with
    types, sends the request. The annotations of the declared function decide which argument is the
    body (a dataclass, a ``dict``, ``bytes``), which ones go into path and query, and how the
    response is converted. Several body arguments are sent as one JSON object by name.
    ``name.within(seconds)`` sets a time budget, as does an argument ``timeout`` unless the function
    declares one.

    Args:
        host: The host name of the service.
        source: The service whose responses are taken: the host that is asked, unless it serves
            the routes of another host; None for any.
    """

    def __init__(self, host: str, *, source: str | None = "") -> None:
        self.host, self._source = host, source

    def call(self, method: str, route: str) -> Callable[[Callable[P, Awaitable[R]]], Call[P, R]]:
        """Return a decorator that turns a function declaration into a request.

        Args:
            method: The HTTP method; ``ANY`` sends ``POST``.
            route: The route, as for ``Connector.endpoint``.

        Raises:
            AddressError: The route or the method is not valid.
            BusError: The function has ``bytes`` beside another body (``stub``).
        """
        method = microbus.check_method(method)
        microbus.resolve_route(host=self.host, route=route)

        def make(stub: Callable[P, Awaitable[R]]) -> Call[P, R]:
            call = Call(self.host, method, route, stub, self._source)
            setattr(self, call.__name__, call)
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
