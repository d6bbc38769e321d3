"""What does a URL name: which host, port and path? As Go's URL parser reads it (A74).

The path is percent-decoded, so that ``%2F`` separates parts (A14). Query, fragment and user are
dropped. A port must be canonical (A10), and one that is begun must be given.
"""

from __future__ import annotations

import ipaddress
import string

from ..._address import Target
from ._arguments import Broken
from ._fields import port_of
from ._hosts import URL_HOST

_DIGITS = frozenset(string.digits.encode())
_HEX = frozenset(string.hexdigits.encode())
_HOST = frozenset("".join(URL_HOST).encode())
_USER = frozenset((string.ascii_letters + string.digits + "-._:~!$&'()*+,;=%@").encode())
_SCHEME = frozenset((string.ascii_letters + string.digits + "+-.").encode())


def target_of(url: str) -> Target:
    """The host, port and decoded path that a URL names."""
    raw, _ = without_extras(url.encode())
    scheme, start = _scheme(raw)
    rest = raw[start:]
    if not rest.startswith(b"//") or (not scheme and rest.startswith(b"///")):
        raise Broken("url-host", start)
    authority, slash, path = rest[2:].partition(b"/")
    host, port = _authority(authority, start + 2, scheme)
    if port is None:
        port = 80 if scheme == b"http" else 443
    path_start = start + 2 + len(authority)
    return Target(host, port, path_text(slash + path, path_start))


def without_extras(raw: bytes) -> tuple[bytes, int]:
    """The URL without query and fragment, and its length; both are checked as Go does."""
    if b"`" in raw:
        raise Broken("url-backtick", raw.index(b"`"))
    before, hash, fragment = raw.partition(b"#")
    for at, byte in enumerate(before):
        if byte < 0x20 or byte == 0x7F:
            raise Broken("url-control", at)
    if hash:
        unescaped(fragment, len(before) + 1)
    bare = before.partition(b"?")[0]
    return bare, len(bare)


def _scheme(raw: bytes) -> tuple[bytes, int]:
    """The scheme in lower case, if there is one, and where the rest begins."""
    for at, byte in enumerate(raw):
        if byte == ord(":") and at > 0:
            return raw[:at].lower(), at + 1
        if byte not in _SCHEME or (at == 0 and not chr(byte).isalpha()):
            break
    return b"", 0


def _authority(authority: bytes, start: int, scheme: bytes) -> tuple[str, int | None]:
    """The host and the port, if there is one."""
    at = authority.rfind(b"@")
    if at >= 0:
        for index, byte in enumerate(authority[:at]):
            if byte not in _USER:
                raise Broken("url-user", start + index)
        unescaped(authority[:at], start)
        authority, start = authority[at + 1 :], start + at + 1
    bracket = authority.rfind(b"[")
    if bracket > 0:
        raise Broken("url-address", start + bracket)
    if bracket == 0:
        end = authority.rfind(b"]") + 1
        if not end or not _is_address(authority[1 : end - 1]):
            raise Broken("url-address", start)
        host = authority[1 : end - 1].decode()
    else:
        # Go lets a host hold colons unless the scheme is http or https.
        end = authority.find(b":") if scheme in (b"http", b"https") else authority.rfind(b":")
        if end < 0:
            end = len(authority)
        host = _host(authority[:end], start)
    if not host:
        raise Broken("url-host", start)
    if end == len(authority):
        return host, None
    if authority[end : end + 1] != b":":
        raise Broken("url-address", start + end)
    return host, url_port(authority[end + 1 :], start + end + 1)


def _is_address(text: bytes) -> bool:
    """Is it an IPv6 address, without a zone?"""
    try:
        ipaddress.IPv6Address(text.decode("ascii"))
    except ValueError:
        return False
    return b"%" not in text


def url_port(digits: bytes, start: int) -> int:
    """The port of a URL, canonical as any other (A10)."""
    for at, byte in enumerate(digits):
        if byte not in _DIGITS:
            raise Broken("port", start + at)
    try:
        return port_of(digits.decode())
    except Broken as broken:
        raise Broken(broken.reason, start) from None


def _host(raw: bytes, start: int) -> str:
    """The host, whose bytes beyond ASCII, and only these, may be percent-encoded."""
    for at, byte in enumerate(raw):
        if byte == ord("%"):
            digits = raw[at + 1 : at + 3]
            if len(digits) < 2 or any(digit not in _HEX for digit in digits):
                raise Broken("url-escape", start + at)
            if int(digits, 16) < 0x80:
                raise Broken("host-character", start + at)
        elif byte < 0x80 and byte not in _HOST:
            raise Broken("host-character", start + at)
    return _utf8(unescaped(raw, start), start)


def path_text(raw: bytes, start: int) -> str:
    """The decoded path, whose bytes must be UTF-8 (A73)."""
    return _utf8(unescaped(raw, start), start)


def unescaped(raw: bytes, start: int) -> bytes:
    """The bytes, with each ``%xx`` replaced by the one it stands for."""
    data = bytearray()
    at = 0
    while at < len(raw):
        if raw[at] != ord("%"):
            data.append(raw[at])
            at += 1
            continue
        digits = raw[at + 1 : at + 3]
        if len(digits) < 2 or any(digit not in _HEX for digit in digits):
            raise Broken("url-escape", start + at)
        data.append(int(digits, 16))
        at += 3
    return bytes(data)


def _utf8(data: bytes, start: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Broken("utf8", start) from None
