"""HTTP messages: bytes written as Go does; reading is left to ``h11``."""

from __future__ import annotations

_EXPECT_LENGTH = frozenset(("POST", "PUT", "PATCH"))
_FRAMING = frozenset(("Content-Length", "Transfer-Encoding", "Trailer"))
_NOT_REPEATED = _FRAMING | {"Host", "User-Agent"}


def read_http_request(data: bytes) -> None:
    """Return None: no message is read here, as no message is plain to this engine."""


def read_http_response(data: bytes) -> None:
    """Return None: no message is read here, as no message is plain to this engine."""


def write_http_request(method: str, url: str, headers: dict[str, list[str]], body: bytes) -> bytes:
    """Return the bytes of a request: ``Host``, the length, then the other headers by name."""
    # Texts are joined, not formatted: a subclass of str may have another str().
    lines = [" ".join((method, url, "HTTP/1.1")), f"Host: {url.split('/', 3)[2]}"]
    if agent := headers.get("User-Agent", [""])[0]:
        lines.append(": ".join(("User-Agent", agent)))
    if body or method in _EXPECT_LENGTH:
        lines.append(f"Content-Length: {len(body)}")
    lines += _header_lines(headers, _NOT_REPEATED)
    return _joined(lines) + body


def write_http_response(
    status: int, phrase: str, headers: dict[str, list[str]], body: bytes
) -> bytes:
    """Return the bytes of a response: the length first if there is a body, else last."""
    bodiless = status < 200 or status in (204, 304)
    lines = [f"HTTP/1.1 {status:03d} {phrase}"]
    if body and not bodiless:
        lines.append(f"Content-Length: {len(body)}")
    lines += _header_lines(headers, _FRAMING)
    if not body and not bodiless:
        lines.append("Content-Length: 0")
    return _joined(lines) + (b"" if bodiless else body)


def _header_lines(headers: dict[str, list[str]], omit: frozenset[str]) -> list[str]:
    return [
        ": ".join((name, value))
        for name in sorted(headers)
        if name not in omit
        for value in headers[name]
    ]


def _joined(lines: list[str]) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
