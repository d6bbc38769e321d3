"""The code and the permissions of a world, in files that ``gencreds`` and ``acl`` read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .world import Edge, Route, Service, World

_HEAD = '''"""The service {host}, as the traffic generator drew it."""

from subtrie.connector import Connector

service = Connector("{host}")
'''


def write_sources(world: World, folder: Path) -> None:
    """Write one Python file for each service of the first plane, and its permissions as JSON."""
    (folder / "code").mkdir()
    (folder / "rules").mkdir()
    for service in world.services:
        name = service.host.replace(".", "_").replace("-", "_")
        edges = [edge for edge in world.edges if edge.source is service and edge.code]
        (folder / "code" / f"{name}.py").write_text(
            _source(service, edges), encoding="utf-8", newline="\n"
        )
        if service.restricted or service.ruled:
            rules: dict[str, Any] = {"subtrie": 1, "publish_allow": service.publish_allow}
            if service.ruled:
                rules["publish_deny"] = service.publish_deny
                rules["subscribe_allow"] = service.subscribe_allow
            (folder / "rules" / f"{service.host}.json").write_text(
                json.dumps(rules, indent=1) + "\n", encoding="utf-8", newline="\n"
            )


def describe(world: World) -> dict[str, Any]:
    """Return the services and the edges of a world, for ``world.json``."""
    return {
        "services": [
            {
                "host": each.host,
                "plane": each.plane,
                "replicas": each.replicas,
                "locality": each.locality,
                "login": each.login,
                "restricted": each.restricted,
                "remote": each.remote,
                "routes": [_route(route) for route in each.routes],
            }
            for each in world.services
        ],
        "edges": [
            {
                "plane": edge.source.plane,
                "source": edge.source.host,
                "destination": edge.destination.host,
                **_route(edge.route),
                "code": edge.code,
                "rule": edge.rule,
                "traffic": edge.traffic,
            }
            for edge in world.edges
        ],
    }


def _route(route: Route) -> dict[str, Any]:
    return {
        "port": route.port,
        "method": route.method,
        "path": "/" + "/".join(route.source_path),
        "route": ".".join(route.path),
        "queue": route.queue,
    }


def _source(service: Service, edges: list[Edge]) -> str:
    """Return the source of a service: its endpoints, and a function for each call."""
    text = [_HEAD.format(host=service.host)]
    for number, route in enumerate(service.routes):
        queue = "" if route.queue else ', queue=""'
        text.append(
            f'\n@service.endpoint("{route.method}", ":{route.port}/{"/".join(route.source_path)}"'
            f"{queue})\nasync def endpoint_{number}() -> None:\n    pass\n"
        )
    for number, edge in enumerate(edges):
        route = edge.route
        method = "GET" if route.method == "ANY" else route.method
        port = route.port or 443
        path = "/".join(part.replace("...", "") for part in route.source_path)
        names = [part.strip("{}").replace(".", "") for part in route.source_path if "{" in part]
        url = f"https://{edge.destination.host}:{port}/{path}"
        text.append(
            f"\nasync def call_{number}({', '.join(f'{name}: str' for name in names)}) -> None:\n"
            f'    await service.request("{method}", f"{url}")\n'
        )
    return "\n".join(text)
