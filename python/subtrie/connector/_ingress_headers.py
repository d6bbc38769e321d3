"""Headers at the ingress: what enters the bus, what leaves it, and which origins may read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from .._core.control_headers import PREFIX
from .._core.errors import SubtrieError
from ._errors import HTTPError
from ._headers import Headers

RawHeaders = list[tuple[bytes, bytes]]

#: Of one connection, not of the message (RFC 9110, 7.6.1); the connector writes the last three.
_OF_CONNECTION = frozenset(
    (
        *(
            "Connection",
            "Keep-Alive",
            "Proxy-Connection",
            "Proxy-Authenticate",
            "Te",
            "Trailer",
        ),
        *("Proxy-Authorization", "Transfer-Encoding", "Upgrade", "Expect"),
        *("Host", "Content-Length", "Request-Timeout"),
    )
)
_TRACE = ("Traceparent", "Tracestate")
_FORWARDED = "X-Forwarded-"
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
#: The cookie that carries a token, as the header of this name does.
COOKIE = "Authorization"


def entering(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of a request, in the form of the bus.

    Args:
        raw: Names and values as they were received.

    Raises:
        HTTPError: A name or a value is not valid (400).
    """
    headers = Headers()
    try:
        for name, value in raw:
            headers.add(name.decode("latin-1"), _decoded(value))
    except SubtrieError as error:
        raise HTTPError(str(error), status=400) from None
    cookies = headers.lists.get("Cookie", ())
    if len(cookies) > 1:  # HTTP/2 may send several, which are one
        headers.lists["Cookie"] = ["; ".join(cookies)]
    return headers


def for_the_bus(headers: Headers, scope: Mapping[str, Any], *, proxied: bool) -> Headers:
    """Return what a service gets: no control headers, and where the request came from.

    Args:
        headers: The headers of the request.
        scope: The scope of the request.
        proxied: Whether a proxy in front sets ``X-Forwarded-…``; otherwise a client's are dropped.
    """
    dropped = {*_OF_CONNECTION, *_TRACE, *_named(headers.lists.get("Connection", ()))}
    kept = {
        name: values
        for name, values in headers.lists.items()
        if name not in dropped
        and not name.startswith(PREFIX)
        and (proxied or not name.startswith(_FORWARDED))
    }
    client = scope.get("client") or ("",)
    known = {
        "Host": headers.get("Host", ""),
        "For": str(client[0]),
        "Proto": str(scope.get("scheme") or "http"),
        "Prefix": str(scope.get("root_path") or ""),
    }
    if f"{_FORWARDED}Host" not in kept:
        kept |= {f"{_FORWARDED}{name}": [value] for name, value in known.items()}
    kept[f"{_FORWARDED}Path"] = [str(scope["path"]).encode("ascii", "replace").decode()]
    return Headers.of(kept)


def leaving(headers: Headers) -> Headers:
    """Return what the client gets of the headers of a response; not to be stored unless it says so.

    Args:
        headers: The headers of the response.
    """
    dropped = {*_OF_CONNECTION, *_TRACE, *_named(headers.lists.get("Connection", ()))}
    kept = {
        name: values
        for name, values in headers.lists.items()
        if name not in dropped and not name.startswith(PREFIX)
    }
    kept.setdefault("Cache-Control", ["no-store"])
    return Headers.of(kept)


def encoded(headers: Headers) -> RawHeaders:
    """Return headers as a server takes them."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.pairs()]


def token_of(headers: Headers, *, cookies: bool) -> tuple[str, bool]:
    """Return the token of a request, and whether a cookie carries it; empty if there is none.

    Args:
        headers: The headers of the request.
        cookies: Whether a cookie counts.
    """
    kind, _, token = headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return token.strip(), False
    if cookies and "Cookie" in headers:
        try:
            found = SimpleCookie(headers["Cookie"]).get(COOKIE)
        except CookieError:
            return "", False
        if found is not None:
            return found.value.removeprefix("Bearer ").strip(), True
    return "", False


class Origins:
    """The origins whose pages may send requests: the ingress's own, and those that are listed.

    Args:
        origins: ``https://shop.example``; ``*`` for all, which then send no cookies.

    Raises:
        ValueError: One is not an origin.
    """

    def __init__(self, origins: Collection[str]) -> None:
        if isinstance(origins, str):
            raise ValueError(f"origins is a list of texts, not {origins!r}")
        for each in origins:
            scheme, found, rest = each.partition("://")
            if each != "*" and (not found or not scheme or not rest or "/" in rest):
                raise ValueError(f"an origin is 'https://shop.example' or '*', not {each!r}")
        self._listed = frozenset(each.lower() for each in origins)

    def check(self, headers: Headers) -> tuple[Headers, bool]:
        """Return what the response says about the origin, and whether cookies are trusted.

        Args:
            headers: The headers of the request.

        Raises:
            HTTPError: The origin may not send requests (403).
        """
        origin = headers.get("Origin", "")
        own = origin.partition("://")[2].lower() == headers.get("Host", "").lower()
        if not origin or (own and origin != "null"):
            return Headers(), True
        named = origin.lower() in self._listed
        if not named and "*" not in self._listed:
            shown = origin[:200]
            raise HTTPError(f"requests of pages of {shown!r} are not allowed (origins)", status=403)
        said = Headers({"Access-Control-Allow-Origin": origin, "Vary": "Origin"})
        if named:
            said["Access-Control-Allow-Credentials"] = "true"
        return said, named

    @staticmethod
    def preflight(headers: Headers, said: Headers) -> Headers:
        """Return the headers of the answer to a preflight request.

        Args:
            headers: The headers of the request.
            said: What ``check`` returned.
        """
        said["Access-Control-Allow-Methods"] = _METHODS
        if wanted := headers.get("Access-Control-Request-Headers", ""):
            said["Access-Control-Allow-Headers"] = wanted  # with credentials "*" would be a name
        said["Access-Control-Max-Age"] = "600"
        said["Cache-Control"] = "no-store"
        return said

    @staticmethod
    def expose(response: Headers, said: Headers) -> None:
        """Let a page of another origin read the headers of a response.

        Args:
            response: The headers of the response, to which those of the origin are added.
            said: What ``check`` returned.
        """
        if not said:
            return
        vary = [*response.lists.get("Vary", ()), *said.lists.get("Vary", ())]
        said["Access-Control-Expose-Headers"] = ", ".join(response.lists)
        response.lists |= said.lists | {"Vary": [", ".join(vary)]}


def _named(values: Iterable[str]) -> set[str]:
    """Return the headers that ``Connection`` names."""
    parts = (part.strip() for value in values for part in value.split(","))
    return {"-".join(word.capitalize() for word in part.split("-")) for part in parts if part}


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
