"""The places of handlers, and how a handler is started: each limit and choice at either side."""

from __future__ import annotations

import asyncio
import logging

import pytest

from patience import until
from subtrie._core import control_headers
from subtrie.connector import (
    Connector,
    HTTPError,
)
from subtrie.connector._endpoint import Endpoint
from subtrie.connector._envelope import RequestEnvelope
from subtrie.connector._records import RecordRate
from subtrie.connector._runner import Places

HOST, URL = "shop.example", "https://shop.example"
WEB = "web.example"


# --- places


@pytest.mark.parametrize(
    ("taken", "asks", "admitted"),
    [
        ({"a": 3}, "a", True), ({"a": 4}, "a", False), ({"a": 4}, "b", True),
        ({"a": 4, "b": 1}, "b", True), ({"a": 4, "b": 2}, "b", False),
        ({"a": 4, "b": 2}, "c", True), ({"a": 4, "b": 2, "c": 1}, "c", False),
        ({"a": 4, "b": 2, "c": 1, "d": 1}, "e", False),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "e", True),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}, "h", True),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1}, "i", False),
    ],
)  # fmt: skip
def test_a_share_of_four_places(taken, asks, admitted):
    places = Places(4)
    for source, count in taken.items():
        for _ in range(count):
            places.take(source)
    assert places.taken == sum(taken.values())
    assert places.admits(asks) is admitted


@pytest.mark.parametrize(
    ("held", "asks", "size", "admitted"),
    [
        ({}, "a", 8, True), ({}, "a", 9, False), ({"a": 8}, "a", 0, True),
        ({"a": 8}, "a", 1, False),
        ({"a": 8}, "b", 4, True), ({"a": 8}, "b", 5, False), ({"a": 8, "b": 3}, "b", 1, True),
        ({"a": 8, "b": 3}, "b", 2, False), ({"a": 8, "b": 4}, "c", 2, True),
        ({"a": 8, "b": 4}, "c", 3, False), ({"a": 8, "b": 4, "c": 2, "d": 2}, "d", 0, True),
        ({"a": 8, "b": 4, "c": 2, "d": 2}, "d", 1, False),
        ({"a": 8, "b": 4, "c": 2}, "d", 2, True),
        ({"a": 1, "b": 5}, "b", 1, True), ({"a": 1, "b": 5}, "b", 3, False),
        # Twice the limit in all, whatever the shares.
        ({"a": 8, "b": 5, "c": 2}, "d", 1, True), ({"a": 8, "b": 5, "c": 3}, "d", 1, False),
    ],
)  # fmt: skip
def test_a_share_of_eight_bytes(held, asks, size, admitted):
    places = Places(100, 8)
    for source, count in held.items():
        places.add_bytes(source, count)
    assert places.taken_bytes == sum(held.values())
    # A source that holds bytes only counts among the sources as one that has a place.
    assert places.admits(asks, size) is (admitted or (size == 0 and places.taken_bytes <= 8))


def test_places_are_given_back_one_by_one():
    places = Places(2)
    for source in ("a", "a", "b"):
        places.take(source)
    places.give("a")
    assert (places.taken, places._by_source) == (2, {"a": 1, "b": 1})
    places.give("a")
    places.give("a")
    assert (places.taken, places._by_source) == (1, {"b": 1})
    places.add_bytes("b", 5)
    places.add_bytes("b", -2)
    assert (places.taken_bytes, places._bytes) == (3, {"b": 3})
    places.add_bytes("b", -4)
    assert (places.taken_bytes, places._bytes) == (3, {"b": 3}), "more than it holds"
    places.add_bytes("b", -3)
    assert (places.taken_bytes, places._bytes) == (0, {})


@pytest.mark.parametrize(("most", "valid"), [(1, True), (0, False), (-1, False)])
def test_one_place_at_least(most, valid):
    if valid:
        assert Places(most).most == most
        assert Places(most).most_bytes == 1 << 62
    else:
        with pytest.raises(ValueError, match="at least 1"):
            Places(most)


# --- a handler is started


async def started(service: Connector, request: RequestEnvelope, failed=None, now=0.0, **more):
    """Start a handler that notes its request; return what was noted and what was responded."""
    loop = asyncio.get_running_loop()
    seen, sent = [], []
    endpoint = Endpoint(service._runtime, "GET", "/", seen.append, **more)
    runner = service._server.runner
    await until(lambda: not service._runtime._background)  # it has announced itself
    runner._respond = lambda reply_to, response: sent.append(response)
    if now:
        loop.time = lambda: now
    runner.start(endpoint, request, "to", failed)
    loop.__dict__.pop("time", None)
    await until(lambda: sent)
    del runner._respond
    return seen, sent[0]


@pytest.mark.parametrize(
    ("budget", "endpoint", "left"),
    [(0.0, None, 20), (7, None, 7), (900, None, 900), (900.5, None, 900), (7, 7.5, 7),
     (7, 6.5, 6.5), (0.0, 21, 20), (0.5, None, None), (0.5625, None, 0.5625), (7, 0.5, None)],
)  # fmt: skip
async def test_a_handler_has_its_budget_less_a_round_trip(make_memory, budget, endpoint, left):
    async with make_memory(HOST, round_trip=0.5) as shop:
        request = RequestEnvelope("GET", URL, "/", "", b"", budget=budget)
        request.source = WEB
        now = asyncio.get_running_loop().time() + 100.0  # so that it ends in time in any case
        seen, response = await started(shop, request, now=now, timeout=endpoint)
        if left is None:
            assert (seen, response.status) == ([], 408)
        else:
            assert (len(seen), response.status) == (1, 200)
            assert request.deadline == pytest.approx(now + left - 0.5)
            text = request.headers["Microbus-Time-Budget"]
            assert control_headers.seconds_of(text) == pytest.approx(left)


async def test_a_refused_request_takes_no_place_and_runs_no_handler(make_memory):
    async with make_memory(HOST) as shop:
        request = RequestEnvelope("GET", URL, "/", "", b"x" * 5000, budget=5.0)
        request.source = WEB
        places = shop._server.runner.places
        seen, response = await started(shop, request, HTTPError("no", status=418))
        assert (seen, response.status) == ([], 418)
        assert (places.taken, places.taken_bytes, places._bytes) == (0, 0, {})
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Microbus-Op-Code"] == "Err"


async def test_requests_to_the_control_plane_have_places_of_their_own(make_memory):
    async with make_memory(HOST, max_at_work=1) as shop:
        runner = shop._server.runner
        runner.places.take("other.example")
        runner.places.take("other.example")
        for control, status in ((True, 200), (False, 503)):
            request = RequestEnvelope("GET", URL, "/", "", b"", budget=5.0)
            request.source = "other.example"
            _, response = await started(shop, request, control=control)
            assert response.status == status
        assert (runner.places.taken, runner.control_places.taken) == (2, 0)


@pytest.mark.parametrize("deployment", ["LOCAL", "TESTING", "PROD"])
@pytest.mark.parametrize(("status", "level"), [(400, "INFO"), (499, "INFO"), (500, "ERROR")])
async def test_errors_from_500_on_are_logged_as_errors(
    make_memory, caplog, deployment, status, level
):
    caplog.set_level(logging.INFO, "subtrie.connector")
    shop, web = make_memory(HOST, deployment=deployment), make_memory(WEB, deployment=deployment)

    @shop.endpoint("GET", "/fails")
    async def fails() -> None:
        raise HTTPError("it failed", status=status)

    async with shop, web:
        with pytest.raises(HTTPError) as failed:
            await web.request("GET", f"{URL}/fails")
        assert bool(failed.value.stack) is (deployment != "PROD")
        found = [r for r in caplog.records if "it failed" in r.getMessage() and r.status == status]
        assert [r.levelname for r in found] == [level]
        assert bool(found[0].exc_info) is (level == "ERROR")
        assert found[0].getMessage().startswith(f"{HOST}: handling GET /fails failed: ")
        assert found[0].service == HOST


async def test_a_property_that_json_cannot_hold_is_left_out(make_memory):
    shop, web = make_memory(HOST), make_memory(WEB)

    @shop.endpoint("GET", "/{how}")
    async def fails(how: str) -> None:
        raise HTTPError("it failed", status=409, properties={"a": {1, 2} if how == "set" else how})

    async with shop, web:
        for how, properties in (("text", {"a": "text"}), ("set", {})):
            with pytest.raises(HTTPError) as failed:
                await web.request("GET", f"{URL}/{how}")
            assert (failed.value.status, failed.value.properties) == (409, properties)


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [("/{a}/{b}", "/1/2", {"a": "1", "b": "2"}), ("/x/{a...}", "/x/1/2", {"a": "1/2"}),
     ("/{}/{}", "/1/2", {"path1": "1", "path2": "2"})],
)  # fmt: skip
async def test_arguments_are_the_parts_of_the_path(make_memory, pattern, path, wanted):
    shop, web, seen = make_memory(HOST), make_memory(WEB), []
    shop.endpoint("GET", pattern)(lambda request: seen.append(request.arguments))
    async with shop, web:
        await web.request("GET", f"{URL}{path}")
    assert seen == [wanted]


async def test_an_argument_that_the_path_does_not_reach_is_absent(make_memory):
    async with make_memory(HOST) as shop:
        endpoint = Endpoint(shop._runtime, "GET", "/a/{b}/{c}", lambda request: None)
        request = RequestEnvelope("GET", URL, "/a/1", "", b"")
        shop._server.runner._result(endpoint, request).close()
        assert request.arguments == {"b": "1"}


def test_how_many_refusals_were_not_logged_stands_in_the_record_of_the_next_one(
    make_memory, caplog
):
    shop, now = make_memory(HOST), [0.0]
    shop.endpoint("GET", "/x")(lambda: None)
    (endpoint,), runner = shop.endpoints, shop._server.runner
    runner._refusals = RecordRate(1, 10.0, lambda: now[0])

    def refuse() -> None:
        refused = HTTPError("too many requests", status=503)
        runner._error_response(endpoint, refused, None, "", refused=True)

    for _ in range(3):
        refuse()
    error = HTTPError("of the handler")
    runner._error_response(endpoint, error, error, "")
    now[0] = 10.0
    refuse()
    assert [each.partition(" failed: ")[2] for each in caplog.messages] == [
        "503: too many requests",
        "500: of the handler",
        "503: too many requests (2 more were not logged)",
    ]
