"""Messages as bytes: what Go writes is parsed, and written again byte for byte."""

from __future__ import annotations

import pytest

from subtrie import BusError, SubtrieError
from subtrie._core import control_headers
from subtrie._nats.absolute_url import url_parts
from subtrie.connector import Headers, Request, Response
from subtrie.connector._codec import read_request, read_response, write_request, write_response

from .recording import messages, truth


@pytest.mark.requirement("S0-001")
@pytest.mark.parametrize("kind", messages())
def test_every_recorded_message_is_read_and_written_the_same(kind):
    _, data = messages()[kind]
    if data.startswith(b"HTTP/1.1 "):
        assert write_response(read_response(data)) == data
    else:
        assert write_request(read_request(data)) == data


def test_an_answer_to_head_keeps_its_body():
    _, data = messages()["response_head"]
    assert read_response(data).json()["method"] == "HEAD"


@pytest.mark.parametrize(
    "scenario", [s for s in truth()["scenarios"] if s["url"]], ids=lambda s: s["name"]
)
def test_urls_are_written_as_go_writes_them(scenario, engine):
    line = scenario["messages"][0]["first_line"]
    targets = engine.RequestTargets(plane="p", source="a")
    url = targets(scenario["method"], scenario["url"])[0]
    assert f"{scenario['method']} {url} HTTP/1.1" == line


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\n",
        b"GET https://a.b/ HTTP/1.1\r\n\r\n",  # no Host
        b"get https://a.b:1/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
        b"BREW https://a.b:1/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
        b"POST https://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 9\r\n\r\nshort",
        b"POST https://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\n\r\nlong",
        b"POST https://a.b/ HTTP/1.1\r\nHost: a.b\r\n"
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: a\x00b\r\n\r\n",
        b"GET https:///x HTTP/1.1\r\nHost: a.b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"\xff\xfe" * 40,
        b"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
def test_an_invalid_request_is_refused(data):
    with pytest.raises(SubtrieError):
        read_request(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 204 No Content\r\n\r\nbody",
        b"HTTP/1.1 100 Continue\r\n\r\nmore",
        b"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
    ],
)
def test_an_invalid_response_is_refused(data):
    with pytest.raises(BusError) as refused:
        read_response(data)
    assert refused.value.reason == "malformed"


@pytest.mark.parametrize("status", [204, 304])
def test_the_body_that_go_writes_after_204_and_304_is_read(status):
    head = b"HTTP/1.1 %d x\r\nContent-Length: %d\r\nMicrobus-Op-Code: Err\r\n\r\n"
    body = b'{"err":{"error":"as asked"}}'
    read = read_response(head % (status, len(body)) + body)
    assert (read.status, read.body) == (status, body)
    for length, wrong in ((len(body) - 1, body), (len(body), body[:-1])):
        with pytest.raises(BusError):
            read_response(head % (status, length) + wrong)


def test_a_header_cannot_contain_a_line_end():
    headers = Headers()
    for name, value in (("X", "a\r\nMicrobus-From-Host: b"), ("X\r\nY", "a"), ("X", "\x00")):
        with pytest.raises(BusError):
            headers[name] = value
    headers["x-one"] = "a"
    headers.add("X-One", "é")
    request = Request("GET", "https://a.b:443/", headers=headers)
    assert read_request(write_request(request)).headers.all("X-ONE") == ["a", "é"]


def test_an_empty_response_has_its_length_last_and_204_has_none():
    assert write_response(Response(200, headers={"X": "1"})) == (
        b"HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 0\r\n\r\n"
    )
    assert write_response(Response(204, b"never sent")) == b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (20, "20s"),
        (19.899976675, "19.899976675s"),
        (0.5, "500ms"),
        (0.0055, "5.5ms"),
        (1.5e-6, "1.5µs"),
        (90, "1m30s"),
        (900, "15m0s"),
        (3600, "1h0m0s"),
        (2e-9, "2ns"),
    ],
)
def test_durations_are_written_as_go_writes_them(seconds, text):
    assert control_headers.duration(seconds) == text
    assert control_headers.seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "-5s", "-5", "5", "s", "5x", "1e3s", "5 s", "٣s", "9" * 400, "."]
)
def test_invalid_durations_count_as_absent(text):
    assert control_headers.seconds_of(text) == (0.005 if text == "5" else 0)


def test_an_invalid_fragment_header_means_a_whole_message():
    assert control_headers.fragment_of("2/3") == (2, 3)
    for text in ("", "a/b", "1/2/3", "1/٣", " 1/2"):
        assert control_headers.fragment_of(text) == (1, 1)
    # Parsed as in Go; the reassembly refuses them.
    for text, read in (("0/3", (0, 3)), ("1/0", (1, 0)), ("-1/2", (-1, 2)), ("7/3", (7, 3))):
        assert control_headers.fragment_of(text) == read


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https://a.b/x?", "https://a.b:443/x?"),
        ("https://a.b/x?q=ü&r=%zz&&=;", "https://a.b:443/x?q=ü&r=%zz&&=;"),
        ("https://a.b?q=\t \x7f\ud800", "https://a.b:443/?q=%09%20%7F%ED%A0%80"),
        ("https://a.b/x#y?z", "https://a.b:443/x"),
    ],
)
def test_a_query_stays_as_the_caller_wrote_it(url, line):
    """Go writes it so, and reads it so; what no request line can hold is escaped."""
    written = write_request(Request("GET", url_parts(url)[0]))
    assert written.decode().split("\r\n")[0] == f"GET {line} HTTP/1.1"
    again = read_request(written)
    assert again.url == line
    assert write_request(again) == written


@pytest.mark.parametrize(
    "line", [b"GET https://a.b/?\xff HTTP/1.1", b"G\xc3\xbc https://a.b/ HTTP/1.1"]
)
def test_an_undecodable_request_line_is_refused(line):
    with pytest.raises(BusError):
        read_request(line + b"\r\nHost: a.b\r\n\r\n")
