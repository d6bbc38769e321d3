"""The OpenAPI 3.1 description of a service, from its endpoints and their annotations."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable
from itertools import chain, count
from typing import Any

from ._arguments import WITHOUT_BODY, Argument
from ._claims import Flat
from ._endpoint import Endpoint
from ._runtime import Runtime


def description(connector: Runtime, endpoints: Iterable[Endpoint], actor: Flat | None) -> bytes:
    """Return the JSON document of the subscribed endpoints, without the control plane's.

    As in Go, event sinks are left out, and endpoints whose required claims the caller lacks.

    Args:
        connector: The service.
        endpoints: Its endpoints.
        actor: The flattened claims of the caller, or None.
    """
    paths: dict[str, dict[str, Any]] = {}
    names: set[str] = set()
    secured = False
    for endpoint in endpoints:
        if endpoint.control or not endpoint.active or endpoint.host == "all":
            continue
        if endpoint.kind == "inboundevent":
            continue
        requires = endpoint.requires
        if requires is not None and (actor is None or not requires.satisfied_by(actor)):
            continue
        secured = secured or requires is not None
        path = re.sub(r"\.\.\.\}", "}", endpoint.path)
        path_key = f"/{endpoint.host}:{endpoint.port}/{path.removeprefix('/')}"
        any_method = "get" if endpoint.kind == "web" else "post"  # as in Go
        method = any_method if endpoint.method == "ANY" else endpoint.method.lower()
        name = _unique(endpoint.name, method, names)
        paths.setdefault(path_key, {})[method] = _operation(endpoint, method, name)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": connector.host, "version": str(connector.version)},
        "servers": [{"url": "https://localhost/"}],
        "paths": paths,
    }
    if secured:
        scheme = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
        document["components"] = {"securitySchemes": {_SCHEME: scheme}}
    return json.dumps(document, indent=2 if connector.deployment == "LOCAL" else None).encode()


_SCHEME = "http_bearer_jwt"


def _unique(name: str, method: str, names: set[str]) -> str:
    """Return a name that no other operation has: ``order``, ``order_get``, ``order_get_2``."""
    candidates = chain([name, f"{name}_{method}"], (f"{name}_{method}_{n}" for n in count(2)))
    found = next(each for each in candidates if each not in names)
    names.add(found)
    return found


def _operation(endpoint: Endpoint, method: str, name: str) -> dict[str, Any]:
    text = (inspect.getdoc(endpoint.handler) or "").strip()
    summary = text.partition("\n")[0]
    arguments = endpoint.arguments
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": summary.strip() or name.replace("_", " "),
        "x-feature-type": endpoint.kind,
        "x-name": endpoint.name,
        "responses": {"2XX": {"description": "OK"}, "4XX": {"description": "Error"}},
    }
    if text:
        operation["description"] = text
    parameters: list[dict[str, Any]] = []
    types = {each.key: each.converter.schema(0) for each in arguments.named}
    for _, each, _ in endpoint.path_arguments:
        schema = types.get(each, {"type": "string"})
        parameters.append({"name": each, "in": "path", "required": True, "schema": schema})
    in_query = arguments.body is not None or method.upper() in WITHOUT_BODY
    for argument in arguments.named if in_query else ():
        if not argument.in_path:
            parameters.append(_in_query(argument))
    body = None if in_query and arguments.body is None else arguments.schema()
    if body is not None:
        operation["requestBody"] = _json_content(body)
    if parameters:
        operation["parameters"] = parameters
    result = endpoint.result.schema()
    if result:
        operation["responses"]["2XX"] |= _json_content(result)
    if endpoint.requires is not None:
        operation["security"] = [{_SCHEME: []}]
        operation["responses"]["401"] = {"description": "Unauthorized"}
        told = f"Forbidden; token required with: {endpoint.requires.text}"
        operation["responses"]["403"] = {"description": told}
    return operation


def _json_content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _in_query(argument: Argument) -> dict[str, Any]:
    """Return the description of an argument of the query: objects and lists as ``a[b]=1``."""
    schema = argument.converter.schema(0)
    described: dict[str, Any] = {"name": argument.key, "in": "query", "schema": schema}
    if argument.required:
        described["required"] = True
    if not {dict, list}.isdisjoint(argument.converter.kinds) and schema:
        described |= {"style": "deepObject", "explode": True}
    return described
