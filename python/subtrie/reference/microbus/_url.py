"""Parsing of URLs as Go's URL parser does.

The path is percent-decoded, so ``%2F`` separates segments. Query, fragment and user are dropped. A
port must be canonical, and must follow if there is a colon.
"""

# A10, A14, A74

from __future__ import annotations

import ipaddress
import string

from ..._core.address import Target
from ._arguments import RuleViolation
from ._fields import port_of
from ._hosts import URL_HOST

_DIGITS = frozenset(string.digits.encode())
_HEX = frozenset(string.hexdigits.encode())
_HOST = frozenset("".join(URL_HOST).encode())
_USER = frozenset((string.ascii_letters + string.digits + "-._:~!$&'()*+,;=%@").encode())
_SCHEME = frozenset((string.ascii_letters + string.digits + "+-.").encode())


def target_of(url: str) -> Target:
    """Return the host, the port and the decoded path of a URL."""
    raw, _ = without_extras(url.encode())
    scheme, start = _scheme(raw)
    rest = raw[start:]
    if not rest.startswith(b"//") or (not scheme and rest.startswith(b"///")):
        raise RuleViolation("url-host", start)
    authority, slash, path = rest[2:].partition(b"/")
    host, port = _authority(authority, start + 2, scheme)
    if port is None:
        port = 80 if scheme == b"http" else 443
    path_start = start + 2 + len(authority)
    return Target(host, port, path_text(slash + path, path_start))


def without_extras(raw: bytes) -> tuple[bytes, int]:
    """Return the URL without query and fragment, which are validated, and its length."""
    if b"`" in raw:
        raise RuleViolation("url-backtick", raw.index(b"`"))
    before, hash, fragment = raw.partition(b"#")
    for at, byte in enumerate(before):
        if byte < 0x20 or byte == 0x7F:
            raise RuleViolation("url-control", at)
    if hash:
        unescaped(fragment, len(before) + 1)
    bare = before.partition(b"?")[0]
    return bare, len(bare)


def _scheme(raw: bytes) -> tuple[bytes, int]:
    """Return the scheme in lower case, perhaps empty, and the offset after it."""
    for at, byte in enumerate(raw):
        if byte == ord(":") and at > 0:
            return raw[:at].lower(), at + 1
        if byte not in _SCHEME or (at == 0 and not chr(byte).isalpha()):
            break
    return b"", 0


def _authority(authority: bytes, start: int, scheme: bytes) -> tuple[str, int | None]:
    """Return the host, and the port or None."""
    at = authority.rfind(b"@")
    if at >= 0:
        for index, byte in enumerate(authority[:at]):
            if byte not in _USER:
                raise RuleViolation("url-user", start + index)
        unescaped(authority[:at], start)
        authority, start = authority[at + 1 :], start + at + 1
    bracket = authority.rfind(b"[")
    if bracket > 0:
        raise RuleViolation("url-address", start + bracket)
    if bracket == 0:
        end = authority.rfind(b"]") + 1
        if not end or not _is_address(authority[1 : end - 1]):
            raise RuleViolation("url-address", start)
        host = authority[1 : end - 1].decode()
    else:
        # Go allows colons in a host unless the scheme is http or https.
        end = authority.find(b":") if scheme in (b"http", b"https") else authority.rfind(b":")
        if end < 0:
            end = len(authority)
        host = _host(authority[:end], start)
    if not host:
        raise RuleViolation("url-host", start)
    if end == len(authority):
        return host, None
    if authority[end : end + 1] != b":":
        raise RuleViolation("url-address", start + end)
    return host, url_port(authority[end + 1 :], start + end + 1)


def _is_address(text: bytes) -> bool:
    """Return whether the text is an IPv6 address without a zone."""
    try:
        ipaddress.IPv6Address(text.decode("ascii"))
    except ValueError:
        return False
    return b"%" not in text


def url_port(digits: bytes, start: int) -> int:
    """Return the port of a URL, which must be canonical."""  # A10
    for at, byte in enumerate(digits):
        if byte not in _DIGITS:
            raise RuleViolation("port", start + at)
    try:
        return port_of(digits.decode())
    except RuleViolation as violation:
        raise RuleViolation(violation.reason, start) from None


def _host(raw: bytes, start: int) -> str:
    """Return the host; only bytes outside ASCII may be percent-encoded."""
    for at, byte in enumerate(raw):
        if byte == ord("%"):
            digits = raw[at + 1 : at + 3]
            if len(digits) < 2 or any(digit not in _HEX for digit in digits):
                raise RuleViolation("url-escape", start + at)
            if int(digits, 16) < 0x80:
                raise RuleViolation("host-character", start + at)
        elif byte < 0x80 and byte not in _HOST:
            raise RuleViolation("host-character", start + at)
    return _utf8(unescaped(raw, start), start)


def path_text(raw: bytes, start: int) -> str:
    """Return the decoded path, which must be UTF-8."""  # A73
    return _utf8(unescaped(raw, start), start)


def unescaped(raw: bytes, start: int) -> bytes:
    """Return the percent-decoded bytes."""
    data = bytearray()
    at = 0
    while at < len(raw):
        if raw[at] != ord("%"):
            data.append(raw[at])
            at += 1
            continue
        digits = raw[at + 1 : at + 3]
        if len(digits) < 2 or any(digit not in _HEX for digit in digits):
            raise RuleViolation("url-escape", start + at)
        data.append(int(digits, 16))
        at += 3
    return bytes(data)


def _utf8(data: bytes, start: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise RuleViolation("utf8", start) from None
