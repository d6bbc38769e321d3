"""Typed clients: the interface of a service as Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast

from .. import microbus
from .._nats.path_template import path_argument
from ._answers import Answers
from ._arguments import Arguments
from ._connector import Connector
from ._errors import HTTPError
from ._results import Result
from ._threads import LARGE_BODY, run_in_thread
from ._type_hints import enclosing_names, type_hints
from ._url import at_instance

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
        headers: Mapping[str, str] | None = None,
    ) -> None:
        method = microbus.check_method(method)
        self.method = "POST" if method == "ANY" else method  # as in Go
        self._route, self._given_source, self._headers = route, source, headers
        path = self._address(host)
        self._signature = inspect.signature(stub)
        hints, local = type_hints(stub), enclosing_names(stub)
        found = [path_argument(part) for part in path.split("/")]
        names = [each.name for each in found if each is not None and each.name]
        self._arguments = Arguments(stub, hints, names, names=local, reason="stub")
        self._result = Result(hints.get("return", Any), result, local)
        self._timeout: float | None = None
        self._instance = ""
        self.__name__, self.__doc__ = getattr(stub, "__name__", "call"), stub.__doc__
        self.__wrapped__ = stub

    def _address(self, host: str) -> str:
        """Set what is asked by a call to a host; returns the path."""
        self.host, port, path = microbus.resolve_route(host=host, route=self._route)
        path = path if path.startswith("/") else f"/{path}"
        source = self._given_source
        self._source = "" if source is None or self.host == "all" else source or self.host
        self.url = f"https://{self.host}:{port}{path}"
        return path

    def within(self, timeout: float) -> Call[P, R]:
        """Return the same call with a time budget.

        Args:
            timeout: The time budget in seconds.
        """
        limited = self._copy()
        limited._timeout = timeout
        return limited

    def at(
        self, host: str = "", *, instance: str = "", headers: Mapping[str, str] | None = None
    ) -> Call[P, R]:
        """Return the same call to another host or one instance, or with headers.

        Args:
            host: The host that serves it; empty for the same. It is also the one that must respond.
            instance: The id of the instance, as in ``Response.id``; empty for any.
            headers: Headers of the request, beside those of the client.

        Raises:
            AddressError: The host or the instance is not valid.
        """
        other = self._copy()
        if host:
            other._given_source = None if self._given_source is None else ""
            other._address(host)
        if instance:
            at_instance(other.url, instance)  # checked here, not by the first request
            other._instance = instance
        if headers:
            other._headers = {**(self._headers or {}), **headers}
        return other

    def _copy(self) -> Call[P, R]:
        copy: Call[P, R] = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def _sent(
        self, connector: object, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the options of the request for the arguments of a call."""
        if not isinstance(connector, Connector):
            raise TypeError(
                f"the first argument of {self.__name__} is the connector that sends the request, "
                f"not {type(connector).__name__}: {self.__name__}(connector, …)"
            )
        timeout = self._timeout
        if "timeout" not in self._signature.parameters and "timeout" in named:
            timeout = named.pop("timeout")
        given = self._signature.bind(*positional, **named)
        given.apply_defaults()
        try:
            params, body = self._arguments.sent(self.method, given.arguments)
        except RecursionError:
            raise HTTPError("an argument contains itself", status=400) from None
        body["params"], body["timeout"] = params, timeout
        if self._headers:
            body["headers"] = self._headers
        if self._instance:
            body["instance"] = self._instance
        return body

    async def __call__(self, connector: Connector, /, *positional: P.args, **named: P.kwargs) -> R:
        """Send the request, and return the converted response, a large one converted in a thread.

        Args:
            connector: The connector that sends it.
            positional: The arguments of the declared function.
            named: The same by name.

        Raises:
            HTTPError: The response is an error, or does not fit the declared type.
            TypeError: The first argument is not a connector, or others do not fit the function.
        """
        sent = self._sent(connector, positional, named)
        response = await connector.request(self.method, self.url, source=self._source, **sent)
        if len(response.body) > LARGE_BODY:
            read = partial(self._result.read, response)
            return cast(R, await run_in_thread(self.host, read))
        return cast(R, self._result.read(response))

    def multicast(
        self, connector: Connector, /, *positional: P.args, **named: P.kwargs
    ) -> Answers[R]:
        """Send the request to all instances that subscribe to it, and yield their answers.

        ``async for answer in order.multicast(connector, …)`` yields them as they come;
        ``answer.get()`` returns the result or raises the error, ``answer.response`` says whose it
        is. The request is sent by the call, whether or not the result is iterated.

        Args:
            connector: The connector that sends it.
            positional: The arguments of the declared function.
            named: The same by name.

        Raises:
            HTTPError: An argument cannot be sent.
        """
        sent = self._sent(connector, positional, named)
        responses = connector.publish(self.method, self.url, **sent)
        return Answers(responses, self._result, self._source)

    def __repr__(self) -> str:
        return f"<Call {self.__name__}: {self.method} {self.url}>"


class Client:
    """The endpoints of one service as functions, declared by ``@client.call(method, route)``.

    ``await client.name(connector, **arguments)``, or ``await name(connector, **arguments)`` with
    types, sends the request. Arguments travel by name: in one JSON object, or in the query of GET,
    DELETE, HEAD, OPTIONS and TRACE; ``http_request_body`` is the whole body. The annotation of the
    result says how the response is converted. ``name.within(seconds)`` sets a time budget, as does
    an argument ``timeout`` unless the function declares one. ``client.at(host)`` and
    ``name.at(host)`` ask another host; ``name.multicast(connector, …)`` asks all instances.

    Args:
        host: The host name of the service.
        source: The service whose responses are taken: the host that is asked, unless it serves
            the routes of another host; None for any.
        headers: Headers of every request.
    """

    def __init__(
        self, host: str, *, source: str | None = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.host, self._source, self._headers = host, source, headers
        self._origin: tuple[Client, dict[str, Any]] | None = None

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
            call = Call(self.host, method, route, stub, self._source, result, self._headers)
            if self._origin is not None:
                call = call.at(instance=self._origin[1]["instance"])
            if hasattr(Client, call.__name__):
                raise TypeError(f"a client has a method {call.__name__!r}: rename the function")
            setattr(self, call.__name__, call)
            return call

        return make

    def at(
        self, host: str = "", *, instance: str = "", headers: Mapping[str, str] | None = None
    ) -> Client:
        """Return a client for the same functions at another host or instance, or with headers.

        Args:
            host: The host that serves them; empty for the same. It is also the one that must
                respond.
            instance: The id of the instance, as in ``Response.id``; empty for any.
            headers: Headers of every request, beside those of this client.

        Raises:
            AddressError: The host or the instance is not valid.
        """
        if host:
            microbus.resolve_route(host=host, route="/")
        if instance:
            at_instance(f"https://{host or self.host}/", instance)
        source = None if self._source is None else self._source if not host else ""
        both = {**(self._headers or {}), **(headers or {})}
        other = Client(host or self.host, source=source, headers=both)
        other._origin = self, {"host": host, "instance": instance, "headers": headers}
        return other

    def declared_calls(self) -> list[Call[..., Any]]:
        """Return the declared functions."""
        own = [each for each in vars(self).values() if isinstance(each, Call)]
        if self._origin is None:
            return own
        names = {each.__name__ for each in own}
        origin, changed = self._origin
        return own + [
            each.at(**changed) for each in origin.declared_calls() if each.__name__ not in names
        ]

    def __repr__(self) -> str:
        names = ", ".join(sorted(each.__name__ for each in self.declared_calls()))
        return f"<Client {self.host}: {names or 'no functions'}>"

    def __getattr__(self, name: str) -> Any:
        origin, changed = vars(self).get("_origin") or (None, {})
        call = None if origin is None else getattr(origin, name, None)
        if isinstance(call, Call):
            made = call.at(**changed)
            setattr(self, name, made)
            return made
        raise AttributeError(f"the client of {self.host} declares no function {name!r}")
