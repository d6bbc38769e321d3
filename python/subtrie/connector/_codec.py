"""HTTP/1.1 encoding of messages: read strictly, written line for line as Go does.

Plain messages are read natively; ``h11`` judges every other one, and all of them in the reference.

A request has the request line with the whole URL, ``Host``, ``Content-Length`` if there is a body
or the method expects one, then the other headers by name. A response has ``Content-Length`` first
if there is a body, last if it is empty, and none for 1xx, 204 and 304. A response to HEAD carries
its body. One payload is one message: bytes after its end are refused.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NoReturn
from urllib.parse import quote

from .._core import control_headers, engine
from .._core.errors import refusal
from .._core.extras import install_command
from ._envelope import RequestEnvelope, ResponseEnvelope
from ._errors import reason_phrase
from ._headers import Headers, HeaderValues, canonical
from ._message import Message, Request, Response
from ._url import decode_path

_ASCII = bytes(range(128))
_HEAD_LIMIT = 1 << 16  # bytes of request line and headers
_METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
)


def write_request(request: Request) -> bytes:
    """Return the bytes of a request."""
    return engine.write_http_request(
        request.method, request.url, request._header_lists(), request.body
    )


def write_response(response: Response) -> bytes:
    """Return the bytes of a response."""
    status = response.status
    return engine.write_http_response(
        status, _phrase(status), response._header_lists(), response.body
    )


_phrase = lru_cache(maxsize=1024)(reason_phrase)


def write_message(message: Message) -> bytes:
    """Return the bytes of a request or a response."""
    return write_request(message) if isinstance(message, Request) else write_response(message)


def read_request(data: bytes) -> RequestEnvelope:
    """Parse a request. Raises ``BusError`` (``malformed``) if it is not a valid one."""
    plain = engine.read_http_request(data)
    if plain is None:
        _check_head(data)
        plain = _parsed_request(data)
    method, target, values, body = plain
    if method not in _METHODS:
        _refuse(data)
    if target.startswith("/"):
        target = f"https://{values.get('Host', [''])[0]}{target}"
    text, _, _, _, path, query = engine.absolute_url(target)
    values.pop("Host", None)
    values.pop("Content-Length", None)
    # Added by Go's HTTP client, not by the sender.
    if values.get("User-Agent") == ["Go-http-client/1.1"]:
        del values["User-Agent"]
    request = RequestEnvelope(method, text, decode_path(path), query, body)
    request.headers = Headers.of(values)
    return request


def check_installed() -> None:
    """Raise ``ImportError``, with the line to type, if a package that messages may need is missing.

    Checked before the first message: most are read without it.
    """
    if find_spec("h11") is None:
        raise ImportError(
            f"messages from a broker need h11: {install_command('connector')}", name="h11"
        )


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
    plain = engine.read_http_response(data)
    if plain is None:
        _check_head(data)
        plain = _parsed_response(data)
    status, values, body = plain
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
            body = _body_of_response(connection, head, data)
        else:
            _refuse(data)
    except h11.ProtocolError:
        _refuse(data)
    return head.status_code, _values(head.headers.raw_items()), body


def _body_of_response(connection: Any, head: Any, data: bytes) -> bytes:
    """Return the body; also one that HTTP does not allow, and Go writes: of an error with 304."""
    rest: bytes = connection.trailing_data[0]
    lengths = [value for name, value in head.headers if name == b"content-length"]
    if head.status_code in (204, 304) and rest and lengths == [b"%d" % len(rest)]:
        return rest
    return _body(connection, data)


def is_response(message: Request | Response) -> bool:
    """Return whether a message is a response, by its operation code."""
    return message.headers.get(control_headers.OP_CODE) in (
        control_headers.ACK,
        control_headers.RESPONSE,
        control_headers.ERROR,
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
