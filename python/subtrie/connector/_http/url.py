"""URLs as the bus writes them: the port always there, path arguments filled from the query.

A request line carries the whole URL, in the spelling the caller gave it wherever that spelling is
sound, as Go's does. Which subject it stands for is ``subtrie.microbus``'s to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote_plus, unquote, unquote_to_bytes

from ..._errors import refusal
from ..._nats.path_template import path_argument

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.S)
_PATH_KEPT = frozenset(b"-_.~$&+,/:;=@!'()*[]")  # what Go leaves as it is found in a path
_SOUND = re.compile(r"[A-Za-z0-9%\-_.~$&+,/:;=@!'()*\[\]]*")
#: What no request line can hold; all else in a query stays as its caller gave it, as in Go.
_UNFIT = re.compile("[\x00-\x20\x7f\ud800-\udfff]")
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
        """Host and port, as the ``Host`` header has them."""
        return f"{self.host}:{self.port}"

    def within(self, label: str) -> str:
        """The URL with one more label before its host: ``loc-us``, ``id-k3x9``."""
        return self.text.replace("://", f"://{label}.", 1)


@lru_cache(maxsize=4096)
def parse_url(url: str) -> ParsedURL:
    """Takes a URL apart and gives it its port: 80 for http, else 443.

    Raises ``AddressError`` where it is no URL with a host. What a host and a port may be is left
    to ``microbus.request_from_url``, which sees the same URL.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise refusal("AddressError", "url-host", url, field="url")
    scheme, authority, path, query = (part or "" for part in found.groups())
    scheme = scheme.lower() or "https"
    authority = authority.rpartition("@")[2]
    host, colon, port = authority.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        host, port = authority, "80" if scheme == "http" else "443"
    if not host:
        raise refusal("AddressError", "url-host", url, field="url")
    path = _sound_path(path) or "/"
    if _UNFIT.search(query):
        query = _UNFIT.sub(lambda unfit: _escaped(unfit[0]), query)
    text = f"{scheme}://{host}:{port}{path}{query}"
    return ParsedURL(text, scheme, host, port, path, query[1:])


def _sound_path(path: str) -> str:
    """The path as given where every byte of it may stand there, else escaped anew."""
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
    """The URL with arguments added to its query, lists as repeated ones, in the given order.

    ``True`` is written ``true``; None is left out.
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
    """A value as a query or a path writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def fill_path(url: str) -> str:
    """Moves query arguments into the path parts that name them: ``/{id}?id=7`` gives ``/7``.

    Unnamed parts take ``path1``, ``path2``, …; ``{name...}`` keeps its slashes; an argument that
    is missing leaves its part empty. The query that is left is sorted by name.
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
    """The arguments of a query, each name with its values in order."""
    found: dict[str, list[str]] = {}
    if text:
        for name, value in parse_qsl(text, keep_blank_values=True):
            found.setdefault(name, []).append(value)
    return found


def decode_path(text: str) -> str:
    """The decoded path of an escaped one."""
    return unquote(text, errors="surrogateescape") if "%" in text else text
