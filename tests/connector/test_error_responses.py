"""Errors of handlers: the response and the log, in every deployment."""

from __future__ import annotations

import json
import logging
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

from subtrie.connector import AckTimeout, CallDepthExceeded, HTTPError, RequestTimeout
from subtrie.connector._errors import (
    PublishRefused,
    error_body,
    go_json,
    made_here,
    read_error,
    reason_phrase,
    stack_frames,
    to_http_error,
)

HOST = "shop.example"
URL = f"https://{HOST}"
FILE = __name__.replace(".", "/") + ".py"  # begins with the top-level package


def helper() -> None:
    raise KeyError("missing")


def serve_failures(shop) -> None:
    @shop.endpoint("GET", "/async")
    async def asynchronous():
        helper()

    @shop.endpoint("GET", "/thread")
    def in_a_thread():
        helper()

    @shop.endpoint("GET", "/called")
    async def called():
        await shop.request("GET", "no url at all")

    @shop.endpoint("GET", "/deliberate")
    async def deliberate():
        raise HTTPError("short and stout", status=418, properties={"pot": "small"})

    @shop.endpoint("GET", "/unavailable")
    async def unavailable():
        raise HTTPError("come back later", status=503)


async def failure_of(web, path: str, trace: str = "") -> HTTPError:
    headers = {"Traceparent": f"00-{trace}-00f067aa0ba902b7-01"} if trace else None
    with pytest.raises(HTTPError) as failed:
        await web.request("GET", URL + path, headers=headers)
    assert failed.value.trace == trace
    return failed.value


@pytest.mark.parametrize(
    ("path", "functions"),
    [
        ("/async", ["helper", "asynchronous"]),
        ("/thread", ["helper", "in_a_thread"]),
        ("/called", ["called"]),
        ("/deliberate", ["deliberate"]),
    ],
)
async def test_the_stack_holds_the_frames_of_the_handler_with_module_relative_names(
    make, path, functions
):
    shop, web = make(HOST, deployment="LAB"), make("web.example")
    serve_failures(shop)
    async with shop, web:
        error = await failure_of(web, path)
    assert [frame["func"] for frame in error.stack] == functions
    assert {frame["file"] for frame in error.stack} == {FILE}
    source = Path(__file__).read_text().splitlines()
    for frame in error.stack:
        assert any(word in source[frame["line"] - 1] for word in ("raise", "helper()", "request("))


async def test_in_production_an_unexpected_error_is_a_plain_500_with_its_trace(make, caplog):
    caplog.set_level(logging.INFO, "subtrie.connector")
    shop, web = make(HOST, deployment="PROD"), make("web.example")
    serve_failures(shop)
    async with shop, web:
        for n, path in enumerate(("/async", "/thread", "/called"), 1):
            error = await failure_of(web, path, f"{n:032x}")
            assert (error.status, error.message) == (500, "internal server error")
            assert (error.stack, error.properties) == ([], {})
            (record,) = [r for r in caplog.records if getattr(r, "trace", "") == error.trace]
            assert record.levelno == logging.ERROR
    assert "KeyError: 'missing'" in caplog.text


async def test_in_production_an_error_given_on_purpose_travels_without_its_stack(make, caplog):
    caplog.set_level(logging.INFO, "subtrie.connector")
    shop, web = make(HOST, deployment="PROD"), make("web.example")
    serve_failures(shop)
    async with shop, web:
        error = await failure_of(web, "/deliberate", "4bf92f3577b34da6a3ce929d0e0e4736")
        assert (error.status, error.message) == (418, "short and stout")
        assert error.properties == {"pot": "small"}
        assert error.stack == []
        (record,) = [r for r in caplog.records if getattr(r, "trace", "") == error.trace]
        assert [frame["func"] for frame in record.stack] == ["deliberate"]


@pytest.mark.parametrize("deployment", ["PROD", "LAB", "LOCAL", "TESTING"])
async def test_the_log_of_a_failed_handler_holds_the_original_exception(make, caplog, deployment):
    shop, web = make(HOST, deployment=deployment), make("web.example")
    serve_failures(shop)
    async with shop, web:
        await failure_of(web, "/async")
        await failure_of(web, "/unavailable")
    ours = [r for r in caplog.records if r.name == "subtrie.connector"]
    unexpected, deliberate = [r for r in ours if r.levelno == logging.ERROR]
    assert unexpected.getMessage() == f"{HOST}: handling GET /async failed: KeyError: 'missing'"
    assert unexpected.exc_info is not None
    assert isinstance(unexpected.exc_info[1], KeyError)
    told = "".join(traceback.format_exception(*unexpected.exc_info))
    assert 'raise KeyError("missing")' in told
    assert "/subtrie/connector/" not in told, "frames of the library"
    assert deliberate.getMessage() == (
        f"{HOST}: handling GET /unavailable failed: 503: come back later"
    )
    assert isinstance(deliberate.exc_info[1], HTTPError)


@pytest.mark.parametrize(
    ("deployment", "stack"), [("PROD", False), ("LAB", True), ("LOCAL", True), ("TESTING", True)]
)
async def test_the_stack_is_sent_except_in_production(make, deployment, stack):
    shop, web = make(HOST, deployment=deployment), make("web.example")
    serve_failures(shop)
    async with shop, web:
        error = await failure_of(web, "/deliberate")
    assert bool(error.stack) == stack


@pytest.mark.parametrize("deployment", ["PROD", "LAB", "LOCAL", "TESTING"])
async def test_the_body_of_an_error_is_indented_in_local_alone(make, deployment):
    shop, web = make(HOST, deployment=deployment), make("web.example")
    serve_failures(shop)

    @shop.endpoint("GET", "/object")
    async def not_json():
        raise HTTPError("taken", status=409, properties={"by": object()})

    @shop.endpoint("GET", "/circle")
    async def circle():
        properties: dict[str, object] = {}
        properties["self"] = properties
        raise HTTPError("taken", status=409, properties=properties)

    async with shop, web:
        for path, status, message in (
            ("/deliberate", 418, "short and stout"),
            ("/object", 409, "taken"),  # what JSON cannot represent is left out
            ("/circle", 409, "taken"),
        ):
            (answer,) = [each async for each in web.publish("GET", URL + path)]
            assert (answer.status, answer.error.message) == (status, message)
            assert answer.body.startswith(b'{\n  "err": {\n    "error": ') == (
                deployment == "LOCAL"
            )
            assert answer.body.count(b"\n") == 1 or deployment == "LOCAL"


async def test_a_nested_error_names_the_request_it_came_from(make, caplog):
    """L21: only the text of the other service stood in the log."""
    stock, shop, web = make("stock.example"), make(HOST), make("web.example")

    @stock.endpoint("GET", "/items/{name}")
    async def take(name: str) -> None:
        raise KeyError(name)

    @shop.endpoint("POST", "/orders")
    async def place() -> None:
        await shop.request("GET", "https://stock.example/items/cake")

    async with stock, shop, web:
        with pytest.raises(HTTPError) as caught:
            await web.request("POST", f"https://{HOST}/orders")
    assert str(caught.value) == "500: KeyError: 'cake'"
    (record,) = [r for r in caplog.records if r.getMessage().startswith(f"{HOST}: handling")]
    assert record.getMessage() == (
        f"{HOST}: handling POST /orders failed: 500: KeyError: 'cake', "
        "from GET https://stock.example:443/items/cake"
    )
    told = "".join(traceback.format_exception(*record.exc_info))
    assert "in place" in told
    assert "/subtrie/connector/" not in told


async def test_the_log_names_the_trace_of_a_failed_request(make, caplog):
    """L9: the text did not tell it."""
    shop, web = make(HOST), make("web.example")
    serve_failures(shop)
    async with shop, web:
        headers = {"Traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}
        with pytest.raises(HTTPError):
            await web.request("GET", f"https://{HOST}/unavailable", headers=headers)
    (record,) = [r for r in caplog.records if r.getMessage().startswith(f"{HOST}: handling")]
    assert record.getMessage().endswith(f"503: come back later (trace {'ab' * 16})")


async def test_without_a_broker_an_ack_timeout_says_so(make_memory):
    """L10: it was in the hint only."""
    shop = make_memory(HOST)
    async with shop:
        with pytest.raises(AckTimeout, match=r"nobody.example:443/; there is no broker, so only"):
            await shop.request("GET", "https://nobody.example/")


#: ``http.StatusText`` of Go.
GO_PHRASES = {
    100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK",
    201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
    205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported",
    226: "IM Used", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found",
    303: "See Other", 304: "Not Modified", 305: "Use Proxy", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required",
    403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    411: "Length Required", 412: "Precondition Failed", 413: "Request Entity Too Large",
    414: "Request URI Too Long", 415: "Unsupported Media Type",
    416: "Requested Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot",
    421: "Misdirected Request", 422: "Unprocessable Entity", 423: "Locked",
    424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required",
    428: "Precondition Required", 429: "Too Many Requests",
    431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
    510: "Not Extended", 511: "Network Authentication Required",
}  # fmt: skip


def test_the_phrase_of_every_status_is_that_of_go():
    for status in range(1000):
        assert reason_phrase(status) == GO_PHRASES.get(status, ""), status
        if status >= 200:
            assert str(HTTPError(status=status)) == GO_PHRASES.get(status, "")
            assert str(HTTPError("tea", status=status)) == f"{status}: tea"


@pytest.mark.parametrize("status", [0, 199, 1000])
def test_the_status_of_an_error_has_three_digits(status):
    with pytest.raises(ValueError, match=f"the status of an error is 200 to 999, not {status}"):
        HTTPError(status=status)


@pytest.mark.parametrize(
    ("kind", "status", "message", "reason"),
    [(HTTPError, 500, "", "answered-error"), (AckTimeout, 404, "ack timeout", "ack-timeout"),
     (RequestTimeout, 408, "timeout", "request-timeout"),
     (PublishRefused, 403, "", "publish-refused"),
     (CallDepthExceeded, 508, "call depth overflow", "call-depth")],
)  # fmt: skip
def test_every_error_has_a_status_of_its_own(kind, status, message, reason):
    made = kind()
    assert (made.status, made.message, made.reason) == (status, message, reason)
    assert (made.properties, made.stack, made.trace) == ({}, [], "")
    assert kind("tea", status=499).status == 499
    made.set_message("tea")
    assert (str(made), made.args) == (f"{status}: tea", ("tea",))


FRAME = {"func": "f", "file": "a/b.py", "line": 1}


@pytest.mark.parametrize(
    ("fields", "status", "message", "more"),
    [
        ({"error": "no", "statusCode": 409}, 409, "no", {}), ({"error": "no"}, 500, "no", {}),
        ({"error": 7, "statusCode": 409}, 409, "", {}), ({"statusCode": "409"}, 500, "", {}),
        ({"statusCode": True}, 500, "", {}), ({"statusCode": False}, 500, "", {}),
        ({"statusCode": 199}, 500, "", {}),
        ({"statusCode": 200}, 200, "", {}), ({"statusCode": 999}, 999, "", {}),
        ({"statusCode": 1000}, 500, "", {}), ({}, 500, "", {}),
        ({"trace": "t", "stack": [FRAME], "left": 1}, 500, "",
         {"trace": "t", "stack": [FRAME], "properties": {"left": 1}}),
        ({"trace": 7, "stack": {}}, 500, "", {}), ({"statusCode": 408}, 408, "", {}),
    ],
    ids=str,
)  # fmt: skip
def test_an_error_is_read_from_its_body(fields, status, message, more):
    found = read_error(json.dumps({"err": fields}).encode(), 400)
    assert (found.status, found.message) == (status, message)
    assert {"trace": found.trace, "stack": found.stack, "properties": found.properties} == {
        "trace": "", "stack": [], "properties": {}} | more  # fmt: skip
    assert type(found) is (RequestTimeout if status == 408 else HTTPError)


@pytest.mark.parametrize(
    ("body", "status", "read"),
    [(b"", 204, 204), (b"", 304, 304), (b"", 400, 400), (b"", 200, 500), (b"", 399, 500),
     (b"x", 204, 500), (b"[]", 999, 999), (b'{"err":7}', 404, 404), (b"\xff", 503, 503),
     (b'{"err":null}', 599, 599), (b"{}", 399, 500), (b"[" * 100_000, 400, 400),
     (b"[]", 1000, 500)],
    ids=lambda each: str(each)[:20],
)  # fmt: skip
def test_a_body_that_is_not_an_error_is_one_with_the_status(body, status, read):
    found = read_error(body, status)
    assert found.status == read
    told = "" if status in (204, 304) and not body else "unparsable error response"
    assert found.message == told


@pytest.mark.parametrize("indent", [False, True])
def test_the_body_of_an_error_is_that_of_go(indent):
    text = "<a href='x'>\u2028\u2029&é\""
    error = HTTPError(text, status=418, properties={"zeta": 1, "alpha": "<", "error": "own"},
                      trace="t", stack=[FRAME])  # fmt: skip
    body = error_body(error, indent=indent)
    names = ["alpha", "error", "stack", "statusCode", "trace", "zeta"]
    assert list(json.loads(body)["err"]) == names
    assert not set("<>&\u2028\u2029") & set(body.decode())
    assert body.endswith(b"}\n")
    assert body.count(b"\n") == (16 if indent else 1)
    assert body.startswith(b'{\n  "err": {\n    "alpha"' if indent else b'{"err":{"alpha":')
    read = read_error(body, 400)
    assert (read.message, read.status, read.trace, read.stack) == (text, 418, "t", [FRAME])
    bare = json.loads(error_body(HTTPError(status=404), indent=indent))
    assert bare == {"err": {"error": "Not Found", "statusCode": 404}}


@pytest.mark.parametrize(
    ("error", "detailed", "plain"),
    [
        (KeyError("k"), (500, "KeyError: 'k'"), (500, "internal server error")),
        (IndexError("i"), (500, "IndexError: i"), (500, "internal server error")),
        (ValueError("v"), (500, "v"), (500, "internal server error")),
        (ValueError(), (500, "ValueError"), (500, "internal server error")),
        (HTTPError("h", status=409), (409, "h"), (409, "h")),
        (AckTimeout("ack timeout: url"), (404, "ack timeout: url"), (404, "ack timeout: url")),
        (made_here(AckTimeout("ack timeout: url")), (404, "ack timeout: url"),
         (404, "ack timeout")),
        (made_here(RequestTimeout("timeout: url")), (408, "timeout: url"), (408, "timeout")),
        (made_here(PublishRefused("refused: url")), (500, "refused: url"),
         (500, "internal server error")),
        (made_here(HTTPError("sent: url", status=413)), (413, "sent: url"),
         (413, "request entity too large")),
    ],
    ids=str,
)  # fmt: skip
def test_what_the_caller_gets_for_what_a_handler_raised(error, detailed, plain):
    for told, expected in ((True, detailed), (False, plain)):
        found = to_http_error(error, detailed=told)
        assert (found.status, found.message) == expected


def test_an_error_with_a_stack_keeps_it():
    error = HTTPError("h", stack=[FRAME])
    with pytest.raises(HTTPError):
        raise error
    assert to_http_error(error).stack == [FRAME]


@pytest.mark.parametrize(
    ("names", "file", "shown"),
    [
        ({"__name__": "shop.orders"}, "/x/shop/orders.py", "shop/orders.py"),
        ({"__name__": "shop"}, "/x/shop/__init__.py", "shop/__init__.py"),
        ({"__name__": "shop.old"}, "/x/shop/old/__init__.py", "shop/old/__init__.py"),
        ({"__name__": "orders"}, "/x/orders.py", "orders.py"),
        ({"__name__": "__main__", "__spec__": SimpleNamespace(name="shop.orders")},
         "/x/shop/orders.py", "shop/orders.py"),
        ({"__name__": "__main__", "__spec__": None}, "/x/orders.py", "orders.py"),
        ({"__name__": "__main__"}, "/x/orders.py", "orders.py"),
        ({"__name__": "shop.orders", "__spec__": SimpleNamespace(name="other")},
         "/x/shop/orders.py", "shop/orders.py"),
        ({"__name__": None}, "/x/orders.py", "orders.py"), ({}, "/x/orders.py", "orders.py"),
        *(({"__name__": f"{name}.orders"}, "/x/orders.py", None)
          for name in ("subtrie", "asyncio", "concurrent")),
        ({"__name__": "subtries"}, "/x/subtries.py", "subtries.py"),
    ],
    ids=str,
)  # fmt: skip
def test_a_frame_names_its_file_from_the_top_level_package_on(names, file, shown):
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("def divide():\n    return 1 / 0\ndivide()", file, "exec"), dict(names))
    frames = stack_frames(caught.value)[:-1]  # the last one is of this test
    lines = [("divide", 2), ("<module>", 3)] if shown else []
    assert frames == [{"func": func, "file": shown, "line": line} for func, line in lines]


def test_a_frame_without_a_line_is_at_line_0():
    code = compile("1 / 0", "/x/orders.py", "exec").replace(co_linetable=b"")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(code, {"__name__": "orders"})
    frame = {"func": "<module>", "file": "orders.py", "line": 0}
    assert stack_frames(caught.value)[0] == frame


def test_half_of_a_character_is_a_question_mark_in_json():
    assert go_json({"a": "tea \ud800"}) == b'{"a":"tea ?"}'


def test_the_innermost_frames_are_shown():
    def fall(depth: int) -> None:
        if not depth:
            raise HTTPError("deep")
        fall(depth - 1)

    for depth, shown in ((10, 12), (30, 32), (31, 32), (60, 32)):
        with pytest.raises(HTTPError) as caught:
            fall(depth)
        stack = to_http_error(caught.value).stack
        assert len(stack) == shown
        assert [each["func"] for each in stack[:3]] == ["fall"] * 3
        assert stack[0] == {"func": "fall", "file": FILE, "line": stack[1]["line"] - 1}
