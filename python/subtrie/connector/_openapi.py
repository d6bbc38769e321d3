"""The OpenAPI 3.1 description of a service, from its endpoints and their annotations."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Iterable
from itertools import chain, count
from typing import Any, Union

from ._binding import body_parameters
from ._claims import Flat
from ._endpoint import Endpoint
from ._message import Request, Response
from ._runtime import Runtime

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


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
    hints = endpoint.hints
    path_names = [name for _, name, _ in endpoint.path_arguments]
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
    for each in path_names:
        schema = schema_of(hints.get(each, str))
        parameters.append({"name": each, "in": "path", "required": True, "schema": schema})
    kinds = {n: a for n, a in hints.items() if n != "return" and a not in (Request, bytes)}
    bodies = body_parameters(kinds, path_names)
    if len(bodies) == 1:
        operation["requestBody"] = _json_content(schema_of(kinds[bodies[0]]))
    elif bodies:
        properties = {each: schema_of(kinds[each]) for each in bodies}
        operation["requestBody"] = _json_content({"type": "object", "properties": properties})
    for each, annotation in kinds.items():
        if each not in path_names and each not in bodies:
            parameters.append({"name": each, "in": "query", "schema": schema_of(annotation)})
    if parameters:
        operation["parameters"] = parameters
    result_type = hints.get("return")
    if result_type not in (None, type(None), Response, bytes):
        operation["responses"]["2XX"] |= _json_content(schema_of(result_type))
    if endpoint.requires is not None:
        operation["security"] = [{_SCHEME: []}]
        operation["responses"]["401"] = {"description": "Unauthorized"}
        told = f"Forbidden; token required with: {endpoint.requires.text}"
        operation["responses"]["403"] = {"description": told}
    return operation


def _json_content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def schema_of(annotation: Any, depth: int = 0) -> dict[str, Any]:
    """Return the JSON schema of an annotation; empty if it cannot be expressed."""
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    if depth > 8:
        return {}
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, depth + 1) for each in arguments]}
    if origin in (list, tuple, set, frozenset):
        items = schema_of(arguments[0], depth + 1) if arguments else {}
        return {"type": "array", "items": items}
    if origin is dict:
        more = schema_of(arguments[1], depth + 1) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": more}
    if hasattr(origin, "model_json_schema"):
        schema: dict[str, Any] = origin.model_json_schema()
        return schema
    if dataclasses.is_dataclass(origin) and isinstance(origin, type):
        try:
            hints = typing.get_type_hints(origin)
        except (NameError, TypeError):
            return {"type": "object"}
        fields = dataclasses.fields(origin)
        needed = [
            field.name
            for field in fields
            if field.default is field.default_factory is dataclasses.MISSING
        ]
        properties = {f.name: schema_of(hints.get(f.name, Any), depth + 1) for f in fields}
        return {"type": "object", "properties": properties} | (
            {"required": needed} if needed else {}
        )
    return {}
