"""Errors of handlers: the response and the log, in every deployment."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from subtrie.connector import AckTimeout, HTTPError

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
