"""Building a request: URL, body, headers, time budget and call depth.

The time budget is the caller's, at most what is left of the request being handled; the call depth
is one more than there. Only certain headers of the request being handled are forwarded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .. import _control_headers
from .._errors import refusal
from ._errors import CallDepthExceeded, HTTPError, RequestTimeout
from ._headers import Headers
from ._json import json_bytes
from ._message import Request, current_request, forwarded_headers
from ._runtime import Runtime
from ._url import Params, ParsedURL, decode_path, fill_path, parse_url, with_params

MAX_DEPTH = 64  # calls in a chain


def build_request(
    connector: Runtime,
    round_trip: float,
    method: str,
    url: str,
    *,
    params: Params | None,
    json: Any,
    body: bytes | str | None,
    headers: Mapping[str, str] | None,
    timeout: float | None,
) -> tuple[Request, ParsedURL, float]:
    """Return the request, its parsed URL, and its time budget in seconds.

    Args:
        connector: The connector that sends it.
        round_trip: The least time in seconds that must be left.
        method: The HTTP method.
        url: The URL, with path arguments in braces.
        params: Path and query arguments.
        json: A value to send as a JSON body.
        body: The body, unless ``json`` is given.
        headers: Headers from the caller.
        timeout: The time budget from the caller, in seconds.

    Raises:
        AddressError: The URL is not valid.
        RequestTimeout: No time is left.
        CallDepthExceeded: The chain of calls is too long.
        HTTPError: The body is too large (413).
        BusError: The connector is not running, or a header is not valid.
    """
    if connector._transport is None:
        raise refusal("BusError", "not-started", connector.host, field="connector")
    context = current_request.get()
    budget, depth = _control_headers.DEFAULT_BUDGET if timeout is None else float(timeout), 0
    if context is not None:
        depth = context.depth
        left = context.deadline - asyncio.get_running_loop().time()
        if left <= round_trip:
            raise RequestTimeout("timeout", trace=connector.ids.trace())
        if timeout is None or left < budget:
            budget = left
    if timeout is not None and timeout <= 0:
        raise RequestTimeout("timeout", trace=connector.ids.trace())
    if depth >= MAX_DEPTH:
        raise CallDepthExceeded(trace=connector.ids.trace())
    budget = min(budget, _control_headers.MAX_BUDGET)
    if params or "{" in url:
        url = fill_path(with_params(url, params))
    target = parse_url(url)
    values: dict[str, list[str]] = {} if context is None else forwarded_headers(context.headers)
    content = b""
    if json is not None:
        content = json_bytes(json)
        values["Content-Type"] = ["application/json"]
    elif body is not None:
        content = body.encode() if isinstance(body, str) else bytes(body)
        if isinstance(body, str):
            values["Content-Type"] = ["text/plain; charset=utf-8"]
    if len(content) > connector.max_body:
        raise HTTPError(f"the body exceeds {connector.max_body} bytes (max_body)", status=413)
    if headers:
        given = headers if isinstance(headers, Headers) else Headers(headers)
        for name, several in given._values.items():
            if name not in _control_headers.CONTROL and name not in ("Host", "Content-Length"):
                values[name] = several
    values |= connector.sender_headers(_control_headers.REQUEST)
    values[_control_headers.CALL_DEPTH] = [str(depth + 1)]
    values[_control_headers.TIME_BUDGET] = [_control_headers.duration(budget)]
    request = Request(
        method.upper(),
        target.text,
        path=decode_path(target.path),
        url_query=target.query,
        headers=Headers._of(values),
        body=content,
    )
    return request, target, budget
