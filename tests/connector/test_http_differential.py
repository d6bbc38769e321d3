"""The native reader of HTTP messages against h11: what it accepts, h11 reads in the same way."""

from __future__ import annotations

import h11
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from subtrie import reference

from .recording import messages

native = pytest.importorskip("subtrie._subtrie")

HEAD_LIMIT = 1 << 16


def by_h11(data: bytes, role: type) -> tuple | None:
    """Read one message with h11; None if it is not valid."""
    if data.find(b"\r\n\r\n", 0, HEAD_LIMIT) < 0:
        return None
    connection = h11.Connection(role, max_incomplete_event_size=HEAD_LIMIT)
    if role is h11.CLIENT:
        connection.send(h11.Request(method="GET", target="/", headers=[("Host", "bus")]))
        connection.send(h11.EndOfMessage())
    try:
        connection.receive_data(data)
        head = connection.next_event()
        if isinstance(head, h11.InformationalResponse):
            rest, body = connection.trailing_data[0], b""
        elif isinstance(head, h11.Request | h11.Response):
            if role is h11.CLIENT:
                connection.receive_data(b"")
            body = b""
            while isinstance(event := connection.next_event(), h11.Data):
                body += bytes(event.data)
            if not isinstance(event, h11.EndOfMessage):
                return None
            rest = connection.trailing_data[0]
        else:
            return None
    except h11.ProtocolError:
        return None
    if rest:
        return None
    values: dict[str, list[str]] = {}
    for name, value in head.headers.raw_items():
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        canonical = "-".join(part.capitalize() for part in name.decode("ascii").split("-"))
        values.setdefault(canonical, []).append(text)
    if isinstance(head, h11.Request):
        return head.method.decode(), head.target.decode(), values, body
    return head.status_code, values, body


def agrees(data: bytes) -> bool:
    """Assert that both read the same; return whether the native reader read anything."""
    request, response = native.read_http_request(data), native.read_http_response(data)
    if request is not None:
        assert request == by_h11(data, h11.SERVER)
    if response is not None:
        assert response == by_h11(data, h11.CLIENT)
    assert reference.read_http_request(data) is None
    assert reference.read_http_response(data) is None
    return request is not None or response is not None


@pytest.mark.parametrize("kind", messages())
def test_recorded_messages_are_plain(kind):
    assert agrees(messages()[kind][1])


NAMES = [b"Host", b"Content-Length", b"Transfer-Encoding", b"Upgrade", b"Connection", b"X",
         b"x-y", b"Expect", b"host", b"CONTENT-LENGTH", b"X_Y", b"X Y", b"", b"X:"]  # fmt: skip
VALUES = [b"", b"a.b:443", b"0", b"2", b"02", b"+2", b"2, 2", b"3", b"chunked", b"identity",
          b"close", b"100-continue", b" a  b\t", b"\xc3\xa9", b"\xff", b"\x01", b"a\x0bb",
          b"a\x85b", b"\x7f", b"18446744073709551618", b"h2c"]  # fmt: skip
ENDS = [b"\r\n", b"\n", b"\r", b"\r\n ", b"\r\r\n", b"\r\n\t"]
STARTS = [b"GET / HTTP/1.1", b"POST http://a.b:443/x?y=1 HTTP/1.1", b"CONNECT a:1 HTTP/1.1",
          b"HEAD * HTTP/1.1", b"get / HTTP/1.1", b"GET  / HTTP/1.1", b"GET / HTTP/1.0",
          b"GET /\xc3\xa9 HTTP/1.1", b"GET / HTTP/1.1 ", b"GET /", b"\r\nGET / HTTP/1.1",
          b"PUT /a b HTTP/1.1", b"HTTP/1.1 200 OK", b"HTTP/1.1 200", b"HTTP/1.1 200 ",
          b"HTTP/1.1 100 Continue", b"HTTP/1.1 101 Switching", b"HTTP/1.1 204 No Content",
          b"HTTP/1.1 304 x", b"HTTP/1.0 200 OK", b"HTTP/1.1 099 x", b"HTTP/1.1 999 x",
          b"HTTP/1.1 20 x", b"HTTP/1.1 200 \xff\x01", b"HTTP/1.1  200 OK"]  # fmt: skip

name = st.sampled_from(NAMES) | st.binary(max_size=3)
value = st.sampled_from(VALUES) | st.binary(max_size=4)
separator = st.sampled_from([b": ", b":", b":\t ", b" : ", b" ", b""])
end = st.sampled_from([b"\r\n"] * 12 + ENDS)
header = st.tuples(name, separator, value, end).map(b"".join)
good = st.sampled_from(
    [b"Host: a.b\r\n", b"Content-Length: 2\r\n", b"Content-Length: 0\r\n", b"X: y\r\n"]
)
message = st.tuples(
    st.sampled_from(STARTS) | st.binary(max_size=12),
    end,
    st.lists(good | header, max_size=5).map(b"".join),
    st.sampled_from([b"\r\n"] * 8 + ENDS),
    st.sampled_from([b"", b"hi", b"hi!", b"2\r\nhi\r\n0\r\n\r\n"]),
).map(b"".join)


@given(message)
@settings(max_examples=1500)
@example(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx")
@example(b"GET / HTTP/1.1\nHost: a\r\n\r\n")
@example(b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n")
def test_what_is_read_natively_is_what_h11_reads(data):
    agrees(data)


@given(st.sampled_from(list(messages().values())), st.data())
@settings(max_examples=1500)
def test_a_recorded_message_with_changed_bytes(recorded, data):
    changed = bytearray(recorded[1])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b"\r", b"\n", b" ", b":", b"\x00", b"\xff", b"A", b"\r\n"])
        )
    agrees(bytes(changed))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        b" GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\tHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxy",
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 96 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * HEAD_LIMIT + b"\r\n\r\n",
    ],
)
def test_what_parsers_read_differently_is_left_to_h11(data):
    assert native.read_http_request(data) is None


HEADERS = st.dictionaries(
    st.sampled_from(["Host", "User-Agent", "Content-Length", "Trailer", "Z", "A", "Content-Type"]),
    st.lists(st.text("aé ~", max_size=4), min_size=1, max_size=3),
)


@given(st.sampled_from(["GET", "POST", "DELETE"]), HEADERS, st.binary(max_size=3))
def test_both_engines_write_the_same_request(method, headers, body):
    arguments = (method, "https://é.b:443/x", headers, body)
    assert native.write_http_request(*arguments) == reference.write_http_request(*arguments)


@given(st.sampled_from([100, 200, 204, 304, 404]), HEADERS, st.binary(max_size=3))
def test_both_engines_write_the_same_response(status, headers, body):
    arguments = (status, "A phrase", headers, body)
    assert native.write_http_response(*arguments) == reference.write_http_response(*arguments)
