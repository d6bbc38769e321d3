"""The control plane on port 888: the same routes on the service's own host and on ``all``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .._core import control_headers
from .._core.errors import SubtrieError
from .._core.ports import CONTROL
from ._actor import ActorVerifier
from ._claims import flattened
from ._client import RequestClient
from ._config import Configuration
from ._endpoint import OWN, Endpoint
from ._errors import HTTPError
from ._message import Request, Response
from ._metrics import prometheus_text
from ._openapi import description
from ._runtime import Runtime
from ._tail_sampling import export_trace
from ._threads import run_in_thread

_JSON = {"Content-Type": "application/json"}


class ControlPlane:
    """The routes that every connector serves."""

    def __init__(
        self,
        runtime: Runtime,
        client: RequestClient,
        configuration: Configuration,
        actors: ActorVerifier,
        served: Callable[[], Iterable[Endpoint]],
    ) -> None:
        self._runtime, self._client, self._actors = runtime, client, actors
        self._configuration, self._served = configuration, served
        self._described: tuple[list[Endpoint], bytes] = ([], b"")

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints, not yet subscribed."""
        endpoints = []
        for method, path, handler, queue in (
            ("ANY", "ping", self.ping, None),
            ("ANY", "config-refresh", self.config_refresh, None),
            ("ANY", "metrics", self.metrics, None),
            ("ANY", "trace", self.trace, None),
            ("ANY", "on-new-subs", self.on_new_subs, None),
            ("GET", "openapi.json", self.openapi, OWN),
        ):
            for host in ("", "//all"):
                endpoints.append(
                    Endpoint(
                        self._runtime,
                        method,
                        f"{host}:{CONTROL}/{path}",
                        handler,
                        queue=queue,
                        control=True,
                    )
                )
        return endpoints

    def ping(self, request: Request) -> Response:
        """Respond with ``{"pong":0}``."""
        return Response(200, b'{"pong":0}', headers=_JSON)

    async def config_refresh(self, request: Request) -> Response:
        """Read the configuration again."""
        await self._configuration.refresh()
        return Response(200, b"{}", headers=_JSON)

    def metrics(self, request: Request) -> Response:
        """Respond with the counters in the text format of Prometheus; 501 without its package."""
        runtime = self._runtime
        identity = {
            "plane": runtime.plane,
            "service": runtime.host,
            "ver": str(runtime.version),
            "id": runtime.id,
            "deployment": runtime.deployment,
        }
        try:
            text = prometheus_text(runtime.metrics, identity, program=runtime.is_first())
        except ImportError:
            return Response(501)
        return Response(200, text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def trace(self, request: Request) -> Response:
        """Export the spans that are kept of the trace ``id``, 32 hexadecimal digits."""
        trace_id = request.query.get("id", [""])[0]
        if re.fullmatch(r"[0-9a-fA-F]{32}", trace_id):
            await run_in_thread(request.source, partial(export_trace, trace_id))
        return Response(200, b"{}", headers=_JSON)

    def on_new_subs(self, request: Request) -> Response:
        """Forget the known responders of hosts that announce new subscriptions."""
        fields: Any = request.json()
        hosts = fields.get("hosts") if isinstance(fields, dict) else None
        if isinstance(hosts, list):
            self._client.known_responders.drop_hosts({h for h in hosts if isinstance(h, str)})
        return Response(200, b"{}", headers=_JSON)

    async def openapi(self, request: Request) -> Response:
        """Respond with the OpenAPI description of what the actor of the request may call."""
        headers = {**_JSON, "Cache-Control": "private, no-store"}
        actor = None
        if token := request.headers.get(control_headers.ACTOR):
            with contextlib.suppress(HTTPError):  # described as for a caller without a token
                actor = flattened(await self._actors.check(token, None) or {})
        return Response(200, self._description(actor), headers=headers)

    def _description(self, actor: dict[str, Any] | None) -> bytes:
        """Return the description; that for callers without a token is kept while it holds."""
        if actor is not None:
            return description(self._runtime, self._served(), actor)
        active = [endpoint for endpoint in self._served() if endpoint.active]
        if not self._described[1] or self._described[0] != active:
            self._described = active, description(self._runtime, active, None)
        return self._described[1]


async def announce(client: RequestClient, hosts: list[str]) -> None:
    """Announce the hosts that have new subscriptions to all connectors."""
    try:
        responses = client.publish(
            "POST", f"https://all:{CONTROL}/on-new-subs", json={"hosts": list(dict.fromkeys(hosts))}
        )
    except SubtrieError:  # no time left, or the connector has stopped
        return
    async for _ in responses:
        pass


async def ask_for_trace(client: RequestClient, trace_id: str) -> None:
    """Ask all connectors to export their spans of a trace."""
    try:
        responses = client.publish("GET", f"https://all:{CONTROL}/trace", params={"id": trace_id})
    except SubtrieError:  # the connector has stopped
        return
    async for _ in responses:
        pass
