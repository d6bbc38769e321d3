"""URLs as the bus writes them: with the port, and path arguments filled in from the query.

A request line contains the whole URL, in the caller's spelling where that is valid, as in Go.
``subtrie.microbus`` decides which subject a URL means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote_plus, unquote, unquote_to_bytes

from .._errors import refusal
from .._nats.path_template import path_argument
from .._nats.ports import HTTP, HTTPS

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.S)
_PATH_KEPT = frozenset(b"-_.~$&+,/:;=@!'()*[]")  # what Go leaves unescaped in a path
_SOUND = re.compile(r"[A-Za-z0-9%\-_.~$&+,/:;=@!'()*\[\]]*")
#: Invalid in a request line; everything else in a query stays as the caller wrote it, as in Go.
_INVALID_IN_QUERY = re.compile("[\x00-\x20\x7f\ud800-\udfff]")
_SEGMENT_KEPT = "-_.~$&+:=@"


class ParsedURL(NamedTuple):
    """A URL with its port: ``https://shop.example:443/order?x=1``."""

    text: str
    scheme: str
    host: str
    port: str
    path: str
    query: str

    @property
    def authority(self) -> str:
        """Host and port, as in the ``Host`` header."""
        return f"{self.host}:{self.port}"

    def within(self, label: str) -> str:
        """Return the URL with a label before its host: ``loc-us``, ``id-k3x9``."""
        return self.text.replace("://", f"://{label}.", 1)


@lru_cache(maxsize=4096)
def parse_url(url: str) -> ParsedURL:
    """Parse a URL and add its port: 80 for http, else 443.

    What a host and a port may be is checked by ``microbus.request_from_url``.

    Raises:
        AddressError: It is not a URL with a host.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise refusal("AddressError", "url-host", url, field="url")
    scheme, authority, path, query = (part or "" for part in found.groups())
    scheme = scheme.lower() or "https"
    authority = authority.rpartition("@")[2]
    host, colon, port = authority.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        host, port = authority, str(HTTP if scheme == "http" else HTTPS)
    if not host:
        raise refusal("AddressError", "url-host", url, field="url")
    path = _sound_path(path) or "/"
    if _INVALID_IN_QUERY.search(query):
        query = _INVALID_IN_QUERY.sub(lambda found: _escaped(found[0]), query)
    text = f"{scheme}://{host}:{port}{path}{query}"
    return ParsedURL(text, scheme, host, port, path, query[1:])


def _sound_path(path: str) -> str:
    """Return the path unchanged if every byte may stand there, else escape it again."""
    if _SOUND.fullmatch(path):
        return path
    raw = unquote_to_bytes(path.encode("utf-8", "surrogatepass"))
    kept = _PATH_KEPT - frozenset(b"!'()*[]")
    return "".join(
        chr(b) if b in kept or (b < 128 and chr(b).isalnum()) else f"%{b:02X}" for b in raw
    )


def _escaped(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


Params = Mapping[str, object] | Sequence[tuple[str, object]]


def with_params(url: str, params: Params | None) -> str:
    """Return the URL with arguments added to its query, in the given order.

    A list becomes repeated arguments, ``True`` is written ``true``, None is left out.

    Args:
        url: The URL.
        params: A mapping or pairs of name and value.
    """
    if not params:
        return url
    pairs = params.items() if isinstance(params, Mapping) else params
    texts = []
    for name, value in pairs:
        for each in value if isinstance(value, list | tuple) else (value,):
            if each is not None:
                texts.append(f"{quote_plus(name, safe='~')}={quote_plus(argument(each), safe='~')}")
    if not texts:
        return url
    url, hash_, fragment = url.partition("#")
    return url + ("&" if "?" in url else "?") + "&".join(texts) + hash_ + fragment


def argument(value: object) -> str:
    """Return a value as it is written in a query or a path."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def fill_path(url: str) -> str:
    """Move query arguments into the path parts that name them: ``/{id}?id=7`` becomes ``/7``.

    Unnamed parts take ``path1``, ``path2``, …; ``{name...}`` keeps its slashes; a missing argument
    leaves its part empty. The rest of the query is sorted by name.
    """
    if "{" not in url:
        return url
    text, _, query = url.partition("?")
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        given.setdefault(name, []).append(value)
    parts, count = text.split("/"), 0
    for place, part in enumerate(parts):
        template = path_argument(part)
        if template is None:
            continue
        count += 1
        values = given.pop(template.name or f"path{count}", [""])
        escaped = _segment(values[-1])
        parts[place] = escaped.replace("%2F", "/") if template.greedy else escaped
    rest = "&".join(
        f"{quote_plus(name, safe='~')}={quote_plus(value, safe='~')}"
        for name in sorted(given)
        for value in given[name]
    )
    return "/".join(parts) + ("?" + rest if rest else "")


def _segment(text: str) -> str:
    return "".join(
        c if c.isascii() and (c.isalnum() or c in _SEGMENT_KEPT) else _escaped(c) for c in text
    )


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the arguments of a query: each name with its values in order."""
    found: dict[str, list[str]] = {}
    if text:
        for name, value in parse_qsl(text, keep_blank_values=True):
            found.setdefault(name, []).append(value)
    return found


def decode_path(text: str) -> str:
    """Return a path with its escapes decoded."""
    return unquote(text, errors="surrogateescape") if "%" in text else text
