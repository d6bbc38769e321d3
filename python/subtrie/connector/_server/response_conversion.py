"""Converting what a handler returned to a response."""

from __future__ import annotations

from typing import Any

from .._http.headers import Headers
from .._http.json_codec import json_bytes
from .._http.message import Response


def to_response(result: Any) -> Response:
    """Return the response for None, bytes, text, a JSON value, a dataclass or a ``Response``.

    Raises:
        TypeError: The value cannot be represented in JSON.
    """
    if type(result) is dict:  # what most handlers return
        return _response(json_bytes(result), "application/json")
    if result is None:
        return Response()
    if isinstance(result, Response):
        return result
    if isinstance(result, (bytes, bytearray, memoryview)):
        return _response(bytes(result), "application/octet-stream")
    if isinstance(result, str):
        return _response(result.encode(), "text/plain; charset=utf-8")
    return _response(json_bytes(result), "application/json")


def _response(body: bytes, kind: str) -> Response:
    response = Response.__new__(Response)
    response.status, response.body, response.source, response.error = 200, body, "", None
    response.headers = Headers._of({"Content-Type": [kind]})
    return response
