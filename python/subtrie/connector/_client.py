"""The request client of a connector: ``request`` for one response, ``publish`` for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._ids import Ids
from ._message import Response
from ._request_builder import build_request
from ._response_stream import ResponseStream
from ._runtime import Runtime
from ._sender import Sender
from ._tracing import tracing_enabled
from ._url import Params


class RequestClient(Runtime):
    """Sends requests."""

    def __init__(self, host: str, ids: Ids) -> None:
        super().__init__(host, ids)
        self._sender = Sender(self)

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Params | None = None,
        json: Any = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Send a request to one instance and return its response.

        Args:
            method: The HTTP method.
            url: The URL; path arguments stand in braces, as in ``/order/{id}``.
            params: Path arguments by name; the rest become the query.
            json: A value to send as a JSON body.
            body: The body as bytes or text, unless ``json`` is given.
            headers: Headers of the request.
            timeout: The time budget in seconds, 20 by default; at most what is left of the request
                being handled.

        Returns:
            The response, whatever its status.

        Raises:
            AddressError: The URL or the method is not valid.
            AckTimeout: No service acknowledged the request (404).
            RequestTimeout: The time budget is used up (408).
            CallDepthExceeded: The request would be the 65th in a chain (508).
            HTTPError: The service responded with an error.
            BusError: The connector is not running, or a header is not valid.
        """
        request, target, budget = build_request(
            self,
            self._sender.round_trip,
            method,
            url,
            params=params,
            json=json,
            body=body,
            headers=headers,
            timeout=timeout,
        )
        sender = self._sender
        if self.nearest is None and not tracing_enabled():
            return await sender.send_once(request, target.text, budget)
        return await sender.request(request, target, budget)

    def publish(
        self,
        method: str,
        url: str,
        *,
        params: Params | None = None,
        json: Any = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> ResponseStream:
        """Send a request to all instances that subscribe to it.

        It is sent by the call, whether or not the result is iterated.

        Args:
            method: The HTTP method.
            url: The URL; path arguments stand in braces, as in ``/order/{id}``.
            params: Path arguments by name; the rest become the query.
            json: A value to send as a JSON body.
            body: The body as bytes or text, unless ``json`` is given.
            headers: Headers of the request.
            timeout: The time budget in seconds, 20 by default; at most what is left of the request
                being handled.

        Returns:
            An asynchronous iterator of responses; one that is an error has it in ``.error``.

        Raises:
            AddressError: The URL or the method is not valid.
            RequestTimeout: No time is left (408).
            CallDepthExceeded: The request would be the 65th in a chain (508).
            BusError: The connector is not running, or a header is not valid.
        """
        request, target, budget = build_request(
            self,
            self._sender.round_trip,
            method,
            url,
            params=params,
            json=json,
            body=body,
            headers=headers,
            timeout=timeout,
        )
        return self._sender.publish(request, target.text, budget)
