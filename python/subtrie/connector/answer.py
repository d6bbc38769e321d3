"""What a handler returns, as a response: None, bytes, text, JSON, a dataclass, a ``Response``."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .headers import Headers
from .message import Response


def response_of(result: Any) -> Response:
    """The response for what a handler returned. Raises ``TypeError`` for what is no JSON."""
    if result is None:
        return Response()
    if isinstance(result, Response):
        return result
    if isinstance(result, bytes | bytearray | memoryview):
        return _made(bytes(result), "application/octet-stream")
    if isinstance(result, str):
        return _made(result.encode(), "text/plain; charset=utf-8")
    return _made(json_bytes(result), "application/json")


def _made(body: bytes, kind: str) -> Response:
    made = Response(headers=Headers._of({"Content-Type": [kind]}))
    made.body = body
    return made


_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=lambda value: _plain(value)
).encode


def json_bytes(value: Any) -> bytes:
    """Compact JSON; dataclasses and pydantic models are objects. Raises ``TypeError``."""
    return _encode(value).encode()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON; return a dict, a dataclass or a Response")
