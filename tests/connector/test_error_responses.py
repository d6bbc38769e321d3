"""Errors of handlers: the response and the log, in every deployment."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from subtrie.connector import HTTPError

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
    assert unexpected.getMessage() == "handling GET /async failed: KeyError: 'missing'"
    assert unexpected.exc_info is not None
    assert isinstance(unexpected.exc_info[1], KeyError)
    told = "".join(traceback.format_exception(*unexpected.exc_info))
    assert 'raise KeyError("missing")' in told
    assert deliberate.getMessage() == "handling GET /unavailable failed: 503: come back later"
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
