"""Whatever can ask others: a connector, as seen by what is built upon its calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from .._http.message import Response
from .._http.url import Params


class Requester(Protocol):
    """``request`` asks one, ``publish`` asks everyone; ``host`` is who asks."""

    host: str

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
        """As ``Connector.request``."""
        ...

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
    ) -> AsyncIterator[Response]:
        """As ``Connector.publish``."""
        ...
