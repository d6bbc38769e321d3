"""What a connector's user asks with: ``request`` for one answer, ``publish`` for everyone's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._http.message import Response
from .._http.url import Params
from .._ids import Ids
from .._runtime import Sending
from .._tracing import traced
from .request_builder import compose
from .response_stream import Multicast
from .sender import Calling


class Caller(Sending):
    """Asks others."""

    def __init__(self, host: str, ids: Ids) -> None:
        super().__init__(host, ids)
        self._calling = Calling(self)

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
        request, where, budget = compose(
            self,
            self._calling.round_trip,
            method,
            url,
            params=params,
            json=json,
            body=body,
            headers=headers,
            timeout=timeout,
        )
        calling = self._calling
        if self.nearest is None and not traced():
            return await calling.once(request, where.text, budget)
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
    ) -> Multicast:
        """Asks everyone: an asynchronous iterator of their answers, an error in ``.error``.

        It is sent now, iterated or not. Raises what is the caller's own mistake, as ``request``.
        """
        request, where, budget = compose(
            self,
            self._calling.round_trip,
            method,
            url,
            params=params,
            json=json,
            body=body,
            headers=headers,
            timeout=timeout,
        )
        return self._calling.publish(request, where.text, budget)
