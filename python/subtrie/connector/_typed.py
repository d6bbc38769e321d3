"""Typed clients: the interface of a service as Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from .. import microbus
from .._nats.path_template import path_argument
from ._arguments import Arguments
from ._connector import Connector
from ._errors import HTTPError
from ._results import Result
from ._threads import LARGE_BODY, run_in_thread
from ._type_hints import enclosing_names, type_hints

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
        result: str = "",
    ) -> None:
        method = microbus.check_method(method)
        self.method = "POST" if method == "ANY" else method  # as in Go
        self.host, port, path = microbus.resolve_route(host=host, route=route)
        path = path if path.startswith("/") else f"/{path}"
        asked = microbus.cut_slot(self.host)[0].lower()
        self._source = "" if source is None else source or asked
        self.url = f"https://{self.host}:{port}{path}"
        self._signature = inspect.signature(stub)
        hints, local = type_hints(stub), enclosing_names(stub)
        found = [path_argument(part) for part in path.split("/")]
        names = [each.name for each in found if each is not None and each.name]
        self._arguments = Arguments(stub, hints, names, names=local, reason="stub")
        self._result = Result(hints.get("return", Any), result, local)
        self._timeout: float | None = None
        self.__name__, self.__doc__ = getattr(stub, "__name__", "call"), stub.__doc__
        self.__wrapped__ = stub

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
        """Send the request, and return the converted response, a large one converted in a thread.

        Args:
            connector: The connector that sends it.
            positional: The arguments of the declared function.
            named: The same by name.

        Raises:
            HTTPError: The response is an error, or does not fit the declared type.
        """
        arguments: dict[str, Any] = dict(named)
        timeout = self._timeout
        if "timeout" not in self._signature.parameters and "timeout" in arguments:
            timeout = arguments.pop("timeout")
        given = self._signature.bind(*positional, **arguments)
        given.apply_defaults()
        try:
            params, body = self._arguments.sent(self.method, given.arguments)
        except RecursionError:
            raise HTTPError("an argument contains itself", status=400) from None
        response = await connector.request(
            self.method, self.url, params=params, timeout=timeout, source=self._source, **body
        )
        if len(response.body) > LARGE_BODY:
            read = partial(self._result.read, response)
            return cast(R, await run_in_thread(self.host, read))
        return cast(R, self._result.read(response))

    def __repr__(self) -> str:
        return f"<Call {self.__name__}: {self.method} {self.url}>"


class Client:
    """The endpoints of one service as functions, declared by ``@client.call(method, route)``.

    ``await client.name(connector, **arguments)``, or ``await name(connector, **arguments)`` with
    types, sends the request. Arguments travel by name: in one JSON object, or in the query of GET,
    DELETE, HEAD, OPTIONS and TRACE; ``http_request_body`` is the whole body. The annotation of the
    result says how the response is converted. ``name.within(seconds)`` sets a time budget, as does
    an argument ``timeout`` unless the function declares one.

    Args:
        host: The host name of the service.
        source: The service whose responses are taken: the host that is asked, unless it serves
            the routes of another host; None for any.
    """

    def __init__(self, host: str, *, source: str | None = "") -> None:
        self.host, self._source = host, source

    def call(
        self, method: str, route: str, *, result: str = ""
    ) -> Callable[[Callable[P, Awaitable[R]]], Call[P, R]]:
        """Return a decorator that turns a function declaration into a request.

        Args:
            method: The HTTP method; ``ANY`` sends ``POST``.
            route: The route, as for ``Connector.endpoint``.
            result: The name of the single result: ``{"item": …}``. Without it a dataclass or a
                mapping is the object of the named results, and anything else the bare body.

        Raises:
            AddressError: The route or the method is not valid.
            BusError: A parameter cannot be sent (``stub``), or a type cannot be converted
                (``annotation``).
        """
        method = microbus.check_method(method)
        microbus.resolve_route(host=self.host, route=route)

        def make(stub: Callable[P, Awaitable[R]]) -> Call[P, R]:
            call = Call(self.host, method, route, stub, self._source, result)
            setattr(self, call.__name__, call)
            return call

        return make

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the client of {self.host} declares no function {name!r}")
