"""What is read at once is read as ``h11`` reads it; what is not is left to ``h11``."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from subtrie import BusError
from subtrie.connector import http_text
from subtrie.connector.plain_text import plain_request, plain_response

from . import recording

NAMES = st.sampled_from(
    ["Host", "host", "Content-Length", "content-length", "Transfer-Encoding", "Connection", "X-A",
     "x-a", "Microbus-Op-Code", "Upgrade", "Expect", "Te", "Trailer", "User-Agent", "X A", "",
     "X_A"]
)  # fmt: skip
CHUNKED = b"5\r\nhello\r\n0\r\n\r\n"
VALUES = st.one_of(
    st.sampled_from(["a", "0", "5", "05", "+5", "5, 5", "chunked", "close", "100-continue", " a",
                     "a ", "", "\t", "é", "a\x00", "a\r\n b", "٥", "trailers"]),
    st.text(st.characters(max_codepoint=255), max_size=6),
)  # fmt: skip
PAIRS = st.lists(st.tuples(NAMES, VALUES), max_size=5)
COLONS = st.sampled_from([": ", ": ", ": ", ":", ":  ", " : ", ":\t"])
ENDS = st.sampled_from(["\r\n", "\r\n", "\r\n", "\n", "\r"])
BODIES = st.sampled_from([b"", b"", b"hello", b"hello", b"hello\r\n", CHUNKED, b"\r\n"])
FIRST = {
    plain_request: st.sampled_from(
        ["GET https://a.b:443/ HTTP/1.1", "POST / HTTP/1.1", "CONNECT a:1 HTTP/1.1",
         "HEAD / HTTP/1.1", "get / HTTP/1.1", "BREW / HTTP/1.1", "GET / HTTP/1.0",
         "GET  / HTTP/1.1",
         "GET /a b HTTP/1.1", "GET /é HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 "]
    ),
    plain_response: st.sampled_from(
        ["HTTP/1.1 200 OK", "HTTP/1.1 100 Continue", "HTTP/1.1 101 Switching", "HTTP/1.1 204 No",
         "HTTP/1.1 304 Not Modified", "HTTP/1.1 202 ", "HTTP/1.1 202", "HTTP/1.1 600 Odd",
         "HTTP/1.0 200 OK", "HTTP/1.1 020 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 418 I'm a teapot",
         "HTTP/1.1 103 Early", "HTTP/1.1 500 \t"]
    ),
}  # fmt: skip
JUDGES = {plain_request: http_text._judged_request, plain_response: http_text._judged_response}


@st.composite
def payloads(draw, reader):
    """A message, more or less; often with a host and a true length."""
    pairs = draw(PAIRS)
    body = draw(BODIES)
    if draw(st.booleans()):
        pairs.append(("Host", "a.b"))
    if draw(st.booleans()):
        pairs.append(("Content-Length", str(len(body))))
    lines = [draw(FIRST[reader]), *(name + draw(COLONS) + value for name, value in pairs)]
    head = "".join(line + draw(ENDS) for line in lines)
    return head.encode("utf-8" if draw(st.booleans()) else "latin-1", "replace") + b"\r\n" + body


def agree(reader, data):
    """Both read the same, or the plain one leaves it."""
    plain = reader(data)
    if plain is not None:
        http_text._check_head(data)
        assert plain == JUDGES[reader](data)


@settings(max_examples=600, deadline=None)
@given(payloads(plain_request))
@example(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 05\r\n\r\nhello")
@example(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello")
def test_requests_that_are_read_at_once_are_read_as_h11_does(data):
    agree(plain_request, data)


@settings(max_examples=600, deadline=None)
@given(payloads(plain_response))
@example(b"HTTP/1.1 200 OK\r\n\r\nto the end")
@example(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
def test_responses_that_are_read_at_once_are_read_as_h11_does(data):
    agree(plain_response, data)


@pytest.mark.parametrize("kind", sorted(recording.messages()))
def test_what_go_writes_is_spelt_plainly(kind):
    """And any byte of it changed, dropped or doubled is read the same or left."""
    _, data = recording.messages()[kind]
    reader = plain_response if data.startswith(b"HTTP/") else plain_request
    bodiless = b" 204 " in data[:20]
    assert (reader(data) is None) == bodiless
    head = data.index(b"\r\n\r\n") + 6
    for place in range(min(head, len(data))):
        for changed in (
            data[:place] + data[place + 1 :],
            data[:place] + data[place : place + 1] + data[place:],
            data[:place] + b"\x00" + data[place + 1 :],
            data[:place] + b"\r\n" + data[place:],
            data[:place],
        ):
            if reader(changed) is not None:
                agree(reader, changed)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"Host: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b" " * 60_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"b " * 30_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b \r\n" * 8_000 + b"\r\n",
    ],
)
def test_hostile_heads_cost_no_more_than_their_length(data):
    """The head's limit comes first; within it the pattern gives up in one pass."""
    with pytest.raises(BusError):
        http_text.read_request(data)
