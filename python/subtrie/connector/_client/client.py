"""What a connector's user asks with: ``request`` for one answer, ``publish`` for everyone's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._http.message import Response
from .._http.url import Params
from .._ids import Ids
from .._runtime import Runtime
from .._tracing import tracing_enabled
from .request_builder import build_request
from .response_stream import ResponseStream
from .sender import Sender


class RequestClient(Runtime):
    """Asks others."""

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
        """Asks one instance and returns its answer, whatever its status.

        ``params`` fill path arguments by name, the rest become the query. ``timeout`` in seconds;
        at most what is left of the request being handled. Raises ``HTTPError`` where the service
        answers with an error, below it ``AckTimeout``, ``RequestTimeout``, ``CallDepthExceeded``;
        ``AddressError`` for the URL.
        """
        request, where, budget = build_request(
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
        calling = self._sender
        if self.nearest is None and not tracing_enabled():
            return await calling.send_once(request, where.text, budget)
        return await calling.request(request, where, budget)

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
        """Asks everyone: an asynchronous iterator of their answers, an error in ``.error``.

        It is sent now, iterated or not. Raises what is the caller's own mistake, as ``request``.
        """
        request, where, budget = build_request(
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
        return self._sender.publish(request, where.text, budget)
