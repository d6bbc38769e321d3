"""The client of an ingress as a request shows it: its address of a URL, and its languages.

The headers are those of the first request of the chain: a handler's own requests pass them on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from .. import microbus

_LONGEST = 1000  # characters of Accept-Language that are read; bounds the work for one request
_WEIGHT = re.compile(r"\s*q\s*=\s*([0-9]+(?:\.[0-9]*)?)\s*")


def external_url(headers: Mapping[str, str], asked: str, url: str) -> str:
    """Return a URL of the bus as the client of an ingress reaches it, as Go's ``ExternalizeURL``.

    Args:
        headers: The headers of the request.
        asked: The URL of the request.
        url: The URL; a path belongs to the host that was asked.
    """
    scheme, separator, rest = url.partition("://")
    if separator and "/" not in scheme:
        inside = rest
    elif url.startswith("//"):
        inside = url[2:]
    elif url.startswith("/"):
        inside = _host_of(asked) + url
    else:
        return url
    base = headers.get("X-Forwarded-Prefix", "")
    if host := headers.get("X-Forwarded-Host", ""):
        proto = headers.get("X-Forwarded-Proto", "")
        base = f"{proto}://{host}{base}" if proto else f"//{host}{base}"
    return f"{base.rstrip('/')}/{inside}"


def _host_of(url: str) -> str:
    """Return the first part of the path of an ingress: the host, and the port if it is not 443."""
    host, _, port = urlsplit(url).netloc.partition(":")
    host, _ = microbus.cut_slot(host)
    return host if port in ("", "443") else f"{host}:{port}"


def best_language(accepted: str, offered: Sequence[str]) -> str:
    """Return which of several languages a client prefers, or else the first one.

    A language that is asked for is looked up with ever fewer subtags (RFC 4647, 3.4): ``de-CH`` is
    also ``de``.

    Args:
        accepted: The value of ``Accept-Language``.
        offered: The languages, such as ``de`` and ``fr-CA``.
    """
    known = {each.lower(): each for each in reversed(offered)}
    best, most = offered[0], 0.0
    for part in accepted[:_LONGEST].lower().split(","):
        wanted, _, parameters = part.strip().partition(";")
        weight = 1.0
        if parameters:
            given = _WEIGHT.fullmatch(parameters.partition(";")[0])
            weight = min(float(given[1]), 1.0) if given else 0.0
        if weight <= most:
            continue
        wanted = wanted.strip()
        while wanted and wanted not in known:
            wanted = wanted.rpartition("-")[0]
        if wanted:
            best, most = known[wanted], weight
    return best
