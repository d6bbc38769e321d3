"""The OpenAPI 3.1 description of a service, from its endpoints and their annotations."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Iterable
from typing import Any, Union

from ._endpoint import Endpoint
from ._message import Request, Response
from ._runtime import Runtime

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_METHODS_OF_ANY = ("get", "post")


def description(connector: Runtime, endpoints: Iterable[Endpoint]) -> bytes:
    """Return the JSON document of the subscribed endpoints, without the control plane's."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        if endpoint.control or not endpoint.active or endpoint.host == "all":
            continue
        path = re.sub(r"\.\.\.\}", "}", endpoint.path)
        path_key = f"/{endpoint.host}:{endpoint.port}/{path.removeprefix('/')}"
        methods = _METHODS_OF_ANY if endpoint.method == "ANY" else (endpoint.method.lower(),)
        for method in methods:
            paths.setdefault(path_key, {})[method] = _operation(endpoint)
    document = {
        "openapi": "3.1.0",
        "info": {"title": connector.host, "version": str(connector.version)},
        "servers": [{"url": "https://localhost/"}],
        "paths": paths,
    }
    return json.dumps(document, indent=2 if connector.deployment == "LOCAL" else None).encode()


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    handler = endpoint.handler
    text = (inspect.getdoc(handler) or "").strip()
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": f"{endpoint.name}{_signature(handler)}",
        "responses": {"2XX": {"description": "OK"}, "4XX": {"description": "Error"}},
    }
    if text:
        operation["description"] = text
    hints = endpoint.hints
    parameters, names = [], {name for _, name, _ in endpoint.path_arguments}
    for name in sorted(names):
        schema = schema_of(hints.get(name, str))
        parameters.append({"name": name, "in": "path", "required": True, "schema": schema})
    for name, annotation in hints.items():
        if name in names or name == "return" or annotation in (Request, bytes):
            continue
        schema = schema_of(annotation)
        if schema.get("type") == "object" or "properties" in schema:
            operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
        else:
            parameters.append({"name": name, "in": "query", "schema": schema})
    if parameters:
        operation["parameters"] = parameters
    result_type = hints.get("return")
    if result_type not in (None, type(None), Response, bytes):
        content = {"application/json": {"schema": schema_of(result_type)}}
        operation["responses"]["2XX"]["content"] = content
    return operation


def _signature(handler: Any) -> str:
    try:
        return str(inspect.signature(handler))
    except (TypeError, ValueError):
        return "()"


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
