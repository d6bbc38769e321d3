"""URLs with their port, valid in the line of a request.

The caller's spelling is kept where it is valid, as in Go.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from .._core.errors import refusal
from .._core.ports import HTTP, HTTPS

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?//([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.S)
_PATH_KEPT = frozenset(b"-_.~$&+,/:;=@")  # what Go leaves unescaped in a path
_SOUND = re.compile(r"[A-Za-z0-9%\-_.~$&+,/:;=@!'()*\[\]]*")
#: Invalid in a request line; everything else in a query stays as the caller wrote it, as in Go.
_INVALID_IN_QUERY = re.compile("[\x00-\x20\x7f\ud800-\udfff]")


def url_parts(url: str) -> tuple[str, str, str, str, str, str]:
    """Return the URL with its port (80 for http, else 443), scheme, host, port, path and query.

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
        query = _INVALID_IN_QUERY.sub(lambda found: escaped(found[0]), query)
    return f"{scheme}://{host}:{port}{path}{query}", scheme, host, port, path, query[1:]


def _sound_path(path: str) -> str:
    """Return the path unchanged if every byte may stand there, else escape it again."""
    if _SOUND.fullmatch(path):
        return path
    raw = unquote_to_bytes(path.encode("utf-8", "surrogatepass"))
    return "".join(
        chr(b) if b in _PATH_KEPT or (b < 128 and chr(b).isalnum()) else f"%{b:02X}" for b in raw
    )


def escaped(text: str) -> str:
    """Return the percent-encoding of every byte of a text."""
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
