"""HTTP/1.1 encoding of messages: read strictly by ``h11``, written line for line as Go does.

A request has the request line with the whole URL, ``Host``, ``Content-Length`` if there is a body
or the method expects one, then the other headers by name. A response has ``Content-Length`` first
if there is a body, last if it is empty, and none for 1xx, 204 and 304. A response to HEAD carries
its body. One payload is one message: bytes after its end are refused.
"""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import quote

from .. import _control_headers
from .._errors import refusal
from ._errors import reason_phrase
from ._headers import Headers, HeaderValues, canonical
from ._message import Message, Request, RequestEnvelope, Response, ResponseEnvelope
from ._url import decode_path, parse_url

_ASCII = bytes(range(128))
_HEAD_LIMIT = 1 << 16  # bytes of request line and headers
_EXPECT_LENGTH = frozenset(("POST", "PUT", "PATCH"))
_METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
)
_NOT_REPEATED = frozenset(("Host", "Content-Length", "Transfer-Encoding", "Trailer", "User-Agent"))
_RESPONSE_NOT_REPEATED = frozenset(("Content-Length", "Transfer-Encoding", "Trailer"))


def write_request(request: Request) -> bytes:
    """Return the bytes of a request."""
    body, headers = request.body, request.headers.lists
    authority = request.url.split("/", 3)[2]
    lines = [f"{request.method} {request.url} HTTP/1.1", f"Host: {authority}"]
    if agent := request.headers.get("User-Agent"):
        lines.append(f"User-Agent: {agent}")
    if body or request.method in _EXPECT_LENGTH:
        lines.append(f"Content-Length: {len(body)}")
    lines += _header_lines(headers, _NOT_REPEATED)
    return _joined(lines) + body


def write_response(response: Response) -> bytes:
    """Return the bytes of a response."""
    status, body = response.status, response.body
    bodiless = status < 200 or status in (204, 304)
    lines = [f"HTTP/1.1 {status:03d} {reason_phrase(status)}"]
    if body and not bodiless:
        lines.append(f"Content-Length: {len(body)}")
    lines += _header_lines(response.headers.lists, _RESPONSE_NOT_REPEATED)
    if not body and not bodiless:
        lines.append("Content-Length: 0")
    return _joined(lines) + (b"" if bodiless else body)


def write_message(message: Message) -> bytes:
    """Return the bytes of a request or a response."""
    return write_request(message) if isinstance(message, Request) else write_response(message)


def _header_lines(headers: dict[str, list[str]], omit: frozenset[str]) -> list[str]:
    return [
        f"{name}: {value}"
        for name in sorted(headers)
        if name not in omit
        for value in headers[name]
    ]


def _joined(lines: list[str]) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_request(data: bytes) -> RequestEnvelope:
    """Parse a request. Raises ``BusError`` (``malformed``) if it is not a valid one."""
    _check_head(data)
    method, target, values, body = _parsed_request(data)
    if method not in _METHODS:
        _refuse(data)
    if target.startswith("/"):
        target = f"https://{values.get('Host', [''])[0]}{target}"
    url = parse_url(target)
    values.pop("Host", None)
    values.pop("Content-Length", None)
    # Added by Go's HTTP client, not by the sender.
    if values.get("User-Agent") == ["Go-http-client/1.1"]:
        del values["User-Agent"]
    request = RequestEnvelope(method, url.text, decode_path(url.path), url.query, body)
    request.headers = Headers.of(values)
    return request


def _parsed_request(data: bytes) -> tuple[str, str, HeaderValues, bytes]:
    import h11

    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
    line, end, rest = data.partition(b"\r\n")
    plain = line if line.isascii() else quote(line, safe=_ASCII).encode()
    try:
        connection.receive_data(plain + end + rest)
        head = connection.next_event()
        if not isinstance(head, h11.Request):
            _refuse(data)
        body = _body(connection, data)
        method, target = head.method.decode(), head.target.decode()
        if plain is not line:  # Go writes a query as the caller gave it
            target = line.split(b" ")[1].decode()
    except (h11.ProtocolError, UnicodeDecodeError):
        _refuse(data)
    return method, target, _values(head.headers.raw_items()), body


def read_response(data: bytes) -> ResponseEnvelope:
    """Parse a response. Raises ``BusError`` (``malformed``) if it is not a valid one."""
    _check_head(data)
    status, values, body = _parsed_response(data)
    values.pop("Content-Length", None)
    response = ResponseEnvelope(status, body)
    response.headers = Headers.of(values)
    return response


def _parsed_response(data: bytes) -> tuple[int, HeaderValues, bytes]:
    import h11

    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)
    # Parsed as a response to GET: on the bus a response to HEAD carries its body.
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "bus")]))
    connection.send(h11.EndOfMessage())
    try:
        connection.receive_data(data)
        head = connection.next_event()
        if isinstance(head, h11.InformationalResponse):
            body = b""
            if connection.trailing_data[0]:
                _refuse(data)
        elif isinstance(head, h11.Response):
            connection.receive_data(b"")
            body = _body(connection, data)
        else:
            _refuse(data)
    except h11.ProtocolError:
        _refuse(data)
    return head.status_code, _values(head.headers.raw_items()), body


def is_response(message: Request | Response) -> bool:
    """Return whether a message is a response, by its operation code."""
    return message.headers.get(_control_headers.OP_CODE) in (
        _control_headers.ACK,
        _control_headers.RESPONSE,
        _control_headers.ERROR,
    )


def _body(connection: object, data: bytes) -> bytes:
    import h11

    assert isinstance(connection, h11.Connection)
    parts: list[bytes] = []
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Data):
            parts.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            break
        else:
            _refuse(data)
    if connection.trailing_data[0]:
        _refuse(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _values(pairs: list[tuple[bytes, bytes]]) -> HeaderValues:
    values: HeaderValues = {}
    for name, value in pairs:
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        values.setdefault(canonical(name.decode("ascii")), []).append(text)
    return values


def _check_head(data: bytes) -> None:
    if data.find(b"\r\n\r\n", 0, _HEAD_LIMIT) < 0:
        _refuse(data)


def _refuse(data: bytes) -> NoReturn:
    raise refusal("BusError", "malformed", data[:60].decode("latin-1"), field="payload")
