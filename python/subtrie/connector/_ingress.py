"""The way from HTTP onto the bus: an ASGI application that forwards requests to services.

As Go's ingress: the first part of the path is the host of the service, ``/`` is the host ``root``,
ports 666 and 888 are not reached. Control headers neither enter nor leave. A token of the end user
in ``Authorization: Bearer`` or in the cookie ``Authorization`` becomes the actor of the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import quote

from .. import microbus
from .._core.control_headers import ACTOR
from .._core.errors import AddressError, SubtrieError
from .._core.ports import CONTROL, DANGER, HTTPS
from ._connector import Connector
from ._errors import HTTPError, error_body, reason_phrase, to_http_error
from ._headers import Headers
from ._ingress_headers import Origins, encoded, entering, for_the_bus, leaving, token_of
from ._message import Response
from ._run import log_to_stderr, warn_without_broker

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

ROOT = "root"  # the host of the path "/"
MOST_REQUESTS = 10_000  # at once; further ones are answered with 503
MOST_BODIES = 4  # of max_body: requests and responses that are held, together
CLIENT_LIMIT = 300.0  # seconds for a client to send a body, and to take a response
PIECE = 1 << 16  # bytes of a response that are handed to the server at once
_NO_BODY = (204, 304)
_PORT = re.compile(r"0*([0-9]{1,5})")
_SAFE = "/:@!$&'()*+,;=-._~%"  # of a path, with what is escaped already


def ingress(
    connector: Connector,
    *,
    origins: Collection[str] = (),
    ports: Collection[int] = (HTTPS,),
    timeout: float = 20.0,
    proxied: bool = False,
) -> Application:
    """Return an ASGI application that forwards requests of HTTP clients to services.

    ``/orders.example/orders/7`` is sent to ``https://orders.example/orders/7``,
    ``/orders.example:444/x`` to port 444 if it is one of ``ports``, and ``/`` to ``https://root/``.
    The application starts the connector with the server, and stops it with the server, unless it
    runs already.

    Args:
        connector: Sends the requests; its host is their source.
        origins: Whose pages may send requests, besides the ingress's own: ``https://shop.example``,
            or ``*`` for all, whose requests then carry no token of a cookie.
        ports: The ports that are reached; never 666 and 888.
        timeout: The time budget of a request in seconds; ``Request-Timeout`` may ask for less.
        proxied: Take ``X-Forwarded-…`` of a proxy in front; otherwise a client's are dropped.

    Raises:
        ValueError: An origin, a port or the timeout is not valid.

    Example:
        >>> app = ingress(Connector("web.example"))  # uvicorn main:app
    """
    if blocked := sorted({DANGER, CONTROL} & set(ports)):
        raise ValueError(f"port {blocked[0]} is not reached through an ingress")
    if not ports or not all(type(port) is int and 0 < port < 65_536 for port in ports):
        raise ValueError(f"ports are numbers from 1 to 65535, not {ports!r}")
    if not 0 < timeout < float("inf"):
        raise ValueError(f"the timeout is a number of seconds above 0, not {timeout!r}")
    return _Ingress(connector, Origins(origins), frozenset(ports), timeout, proxied=proxied)


class _Ingress:
    """The application: one object for all requests of a server."""

    def __init__(
        self,
        connector: Connector,
        origins: Origins,
        ports: frozenset[int],
        timeout: float,
        *,
        proxied: bool,
    ) -> None:
        self._connector, self._origins, self._ports = connector, origins, ports
        self._timeout, self._proxied = timeout, proxied
        self._requests = self._bytes = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            raise ValueError(f"an ingress serves HTTP, not {scope['type']!r}")

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start the connector with the server, and stop it with the server."""
        connector, begun = self._connector, False
        log_to_stderr()
        await receive()
        try:
            if not connector.running:
                await connector.startup()
                begun = True
        except (SubtrieError, OSError) as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        if begun:
            warn_without_broker(connector)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if begun:
            await connector.shutdown()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        said = Headers()
        body = _Body(receive, self._connector._runtime.max_body, self)
        self._requests += 1
        try:
            try:
                if self._requests > MOST_REQUESTS:
                    raise HTTPError(f"more than {MOST_REQUESTS} requests at once", status=503)
                headers = entering(scope["headers"])
                said, trusted = self._origins.check(headers)
                if _is_preflight(scope, headers):
                    response = Response(204, headers=self._origins.preflight(headers, said))
                else:
                    response = await self._forwarded(scope, headers, body, cookies=trusted)
                    response.headers = leaving(response.headers)
                    self._origins.expose(response.headers, said)
            except SubtrieError as error:
                response = self._refused(error)
                self._origins.expose(response.headers, said)
            except ConnectionAbortedError:  # the client is gone
                return
            with contextlib.suppress(TimeoutError):  # the client does not read
                async with asyncio.timeout(CLIENT_LIMIT):
                    await _respond(response, send, with_body=scope["method"] != "HEAD")
        finally:
            self._requests -= 1
            self._bytes -= body.size

    async def _forwarded(
        self, scope: Message, headers: Headers, body: _Body, *, cookies: bool
    ) -> Response:
        """Return the response of the service to a request."""
        url = self._url(scope)
        actor = await self._actor(headers, cookies=cookies)
        given = for_the_bus(headers, scope, proxied=self._proxied)
        if actor:
            given[ACTOR] = actor
        content = await body.read(headers)
        asked = self._connector.request(
            scope["method"], url, body=content or None, headers=given, timeout=self._budget(headers)
        )
        response = await body.unless_gone(asked)
        body.count(len(response.body))
        return response

    def _url(self, scope: Message) -> str:
        """Return the URL on the bus.

        Raises:
            HTTPError: There is no such service (404).
        """
        root = str(scope.get("root_path") or "")
        path = quote(scope["path"]) if not scope.get("raw_path") else ""
        path = path or quote(scope["raw_path"].partition(b"?")[0], safe=_SAFE)
        if root and path.startswith(f"{root}/"):  # a part of another application
            path = path[len(root) :]
        authority, slash, rest = path.removeprefix("/").partition("/")
        host, _, port = authority.partition(":")
        if not authority and not rest:
            host = ROOT
        try:
            number = _PORT.fullmatch(port or str(HTTPS))
            at = int(number[1]) if number else 0
            if at not in self._ports:
                raise HTTPError(reason_phrase(404), status=404)
            microbus.check_route_host(microbus.cut_slot(host)[0])
        except AddressError:
            raise HTTPError(reason_phrase(404), status=404) from None
        query = quote(scope.get("query_string", b""), safe=f'{_SAFE}?[]{{}}|^`"<>\\')
        return f"https://{host}:{at}{slash}{rest}{'?' if query else ''}{query}"

    async def _actor(self, headers: Headers, *, cookies: bool) -> str:
        """Return the token of the end user; empty if the request has none.

        Raises:
            HTTPError: The token of ``Authorization`` is not valid (401). That of a cookie is
                passed over: a browser sends an old one too.
        """
        token, of_cookie = token_of(headers, cookies=cookies)
        actors = self._connector._actors
        if not token or not actors.issued(token):
            return ""  # of another issuer: the service may read its header
        try:
            await actors.check(token, None)
        except HTTPError:
            if of_cookie:
                return ""
            raise
        return token

    def _budget(self, headers: Headers) -> float:
        asked = headers.get("Request-Timeout", "")
        if asked.isascii() and asked.isdigit() and len(asked) < 10 and int(asked):
            return min(float(asked), self._timeout)
        return self._timeout

    def _refused(self, error: SubtrieError) -> Response:
        """Return the response for an error: in ``PROD`` without what only a developer needs."""
        detailed = self._connector.deployment != "PROD"
        told = to_http_error(error, detailed=detailed)
        if isinstance(error, AddressError):
            told = HTTPError(str(error), status=error.status)
        sent = HTTPError(
            told.message,
            status=told.status,
            properties=told.properties,
            trace=error.trace if isinstance(error, HTTPError) else "",
            stack=told.stack if self._connector.deployment == "LOCAL" else [],
        )
        if not 400 <= sent.status <= 599:
            sent.status = 502
        response = Response(
            sent.status,
            error_body(sent, indent=self._connector.deployment == "LOCAL"),
            headers={"Content-Type": "application/json", "Cache-Control": "no-store"},
        )
        if sent.status == 401:
            response.headers["Www-Authenticate"] = "Bearer"
        return response

    def admit(self, size: int) -> None:
        """Count bytes of bodies.

        Args:
            size: How many more.

        Raises:
            HTTPError: There are too many (503).
        """
        if self._bytes + size > MOST_BODIES * self._connector._runtime.max_body:
            raise HTTPError("the bodies of other requests take all memory", status=503)
        self._bytes += size


class _Body:
    """The body of a request, read in pieces, and its client, which may go.

    Args:
        receive: The server's function.
        most: The largest size in bytes.
        counter: Counts the bytes of all requests.
    """

    def __init__(self, receive: Receive, most: int, counter: _Ingress) -> None:
        self._receive, self._most, self._counter = receive, most, counter
        self.size = 0

    async def read(self, headers: Headers) -> bytes:
        """Return the body.

        Args:
            headers: The headers of the request.

        Raises:
            HTTPError: It is too large (413) or slow (408), or all bodies together are large (503).
            ConnectionAbortedError: The client is gone.
        """
        announced = headers.get("Content-Length", "0")
        if announced.isascii() and announced.isdigit() and int(announced[:18]) > self._most:
            self._too_large()
        parts: list[bytes] = []
        more = True
        try:
            async with asyncio.timeout(CLIENT_LIMIT):
                while more:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionAbortedError
                    part, more = message.get("body", b""), message.get("more_body", False)
                    if self.size + len(part) > self._most:
                        self._too_large()
                    self.count(len(part))
                    parts.append(part)
        except TimeoutError:
            raise HTTPError(f"the body took more than {CLIENT_LIMIT:g} s", status=408) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def count(self, size: int) -> None:
        """Count bytes that are held until the request is done.

        Args:
            size: How many more.

        Raises:
            HTTPError: All requests together hold too many (503).
        """
        self._counter.admit(size)
        self.size += size

    def _too_large(self) -> None:
        raise HTTPError(f"the body exceeds {self._most} bytes (max_body)", status=413)

    async def unless_gone(self, asked: Awaitable[Response]) -> Response:
        """Return a response, unless the client goes before it is there.

        Args:
            asked: The request on the bus.

        Raises:
            ConnectionAbortedError: The client is gone; the request is cancelled.
        """
        request, gone = asyncio.ensure_future(asked), asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait((request, gone), return_when="FIRST_COMPLETED")
            if not request.done():
                raise ConnectionAbortedError
            return request.result()
        finally:
            for each in (request, gone):
                each.cancel()
            await asyncio.gather(request, gone, return_exceptions=True)


async def _respond(response: Response, send: Send, *, with_body: bool) -> None:
    """Send a response to the client, a large body in pieces."""
    status, headers = response.status, response.headers
    if not 200 <= status <= 599:  # no status of a final response in HTTP
        response = Response(502)
        status, headers = 502, Headers({"Cache-Control": "no-store"})
    body = response.body
    if status in _NO_BODY:
        body = b""
    else:
        headers["Content-Length"] = str(len(body))
    await send({"type": "http.response.start", "status": status, "headers": encoded(headers)})
    if not with_body:
        body = b""
    for start in range(0, len(body) or 1, PIECE):
        more = start + PIECE < len(body)
        part = body[start : start + PIECE]
        await send({"type": "http.response.body", "body": part, "more_body": more})


def _is_preflight(scope: Message, headers: Headers) -> bool:
    named = "Origin" in headers and "Access-Control-Request-Method" in headers
    return scope["method"] == "OPTIONS" and named
