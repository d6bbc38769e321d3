"""The interface that the control plane and typed clients need of a connector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from ._message import Response
from ._url import Params


class Requester(Protocol):
    """Sends requests: ``request`` to one instance, ``publish`` to all; ``host`` is the sender."""

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
        """See ``Connector.request``."""
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
        """See ``Connector.publish``."""
        ...
