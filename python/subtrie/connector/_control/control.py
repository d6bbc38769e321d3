"""The control plane on port 888: the same routes on the service's own host and on ``all``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..._errors import SubtrieError
from .._client.requester import Requester
from .._http.message import Request, Response
from .._metrics import prometheus_text
from .._runtime import Runtime
from .._server.endpoint import OWN, Endpoint
from .._tail_sampling import export_trace
from .._thread_pool import run_in_thread
from .configuration import Configuration
from .openapi import description

_JSON = {"Content-Type": "application/json"}


class ControlPlane:
    """The routes every connector serves."""

    def __init__(
        self,
        connector: Runtime,
        configuration: Configuration,
        served: Callable[[], Iterable[Endpoint]],
    ) -> None:
        self.connector, self._configuration, self._served = connector, configuration, served

    def endpoints(self) -> list[Endpoint]:
        """All of them, not yet subscribed."""
        made = []
        for method, path, handler, queue in (
            ("ANY", "ping", self.ping, None),
            ("ANY", "config-refresh", self.config_refresh, None),
            ("ANY", "metrics", self.metrics, None),
            ("ANY", "trace", self.trace, None),
            ("ANY", "on-new-subs", self.on_new_subs, None),
            ("GET", "openapi.json", self.openapi, OWN),
        ):
            for host in ("", "//all"):
                made.append(
                    Endpoint(
                        self.connector,
                        method,
                        f"{host}:888/{path}",
                        handler,
                        queue=queue,
                        control=True,
                    )
                )
        return made

    def ping(self, request: Request) -> Response:
        """Who is there?"""
        return Response(200, b'{"pong":0}', headers=_JSON)

    async def config_refresh(self, request: Request) -> Response:
        """Asks the configurator again."""
        await self._configuration.refresh()
        return Response(200, b"{}", headers=_JSON)

    def metrics(self, request: Request) -> Response:
        """The counters as Prometheus reads them; 501 where its package is not installed."""
        try:
            text = prometheus_text(self.connector.metrics, self.connector.host, self.connector.id)
        except ImportError:
            return Response(501)
        return Response(200, text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def trace(self, request: Request) -> Response:
        """Exports what is kept of the trace ``id``, 32 hexadecimal digits."""
        trace_id = request.query.get("id", [""])[0]
        if re.fullmatch(r"[0-9a-fA-F]{32}", trace_id):
            await run_in_thread(partial(export_trace, trace_id))
        return Response(200, b"{}", headers=_JSON)

    def on_new_subs(self, request: Request) -> Response:
        """Others have new subscriptions: who answers them is not known any more."""
        told: Any = request.json()
        hosts = told.get("hosts") if isinstance(told, dict) else None
        if isinstance(hosts, list):
            self.connector.known_responders.drop_hosts({h for h in hosts if isinstance(h, str)})
        return Response(200, b"{}", headers=_JSON)

    def openapi(self, request: Request) -> Response:
        """The description of the service."""
        headers = {**_JSON, "Cache-Control": "private, no-store"}
        return Response(200, description(self.connector, self._served()), headers=headers)


async def announce(connector: Requester, hosts: list[str]) -> None:
    """Tells everyone which hosts have new subscriptions; nobody's answer matters."""
    try:
        answers = connector.publish(
            "POST", "https://all:888/on-new-subs", json={"hosts": list(dict.fromkeys(hosts))}
        )
    except SubtrieError:  # no time left, or nowhere to send
        return
    async for _ in answers:
        pass


async def ask_for_trace(connector: Requester, trace_id: str) -> None:
    """Has everyone export their spans of a trace; nobody's answer matters."""
    try:
        answers = connector.publish("GET", "https://all:888/trace", params={"id": trace_id})
    except SubtrieError:  # nowhere to send
        return
    async for _ in answers:
        pass
