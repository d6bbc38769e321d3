"""What a handler returns, as a response: None, bytes, text, JSON, a dataclass, a ``Response``."""

from __future__ import annotations

from typing import Any

from .._http.headers import Headers
from .._http.json_codec import json_bytes
from .._http.message import Response


def to_response(result: Any) -> Response:
    """The response for what a handler returned. Raises ``TypeError`` for what is no JSON."""
    if type(result) is dict:  # what most handlers return
        return _made(json_bytes(result), "application/json")
    if result is None:
        return Response()
    if isinstance(result, Response):
        return result
    if isinstance(result, (bytes, bytearray, memoryview)):
        return _made(bytes(result), "application/octet-stream")
    if isinstance(result, str):
        return _made(result.encode(), "text/plain; charset=utf-8")
    return _made(json_bytes(result), "application/json")


def _made(body: bytes, kind: str) -> Response:
    made = Response.__new__(Response)
    made.status, made.body, made.source, made.error = 200, body, "", None
    made.headers = Headers._of({"Content-Type": [kind]})
    return made
