"""A limit for each caller, by its verified source, the same on both transports."""

from __future__ import annotations

import pytest

from subtrie._core import control_headers
from subtrie.connector import HTTPError, RateLimiter, Request

HOST = "shop.example"


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_at_its_rate_up_to_its_burst():
    clock = Clock()
    throttle = RateLimiter(2, burst=3, clock=clock)
    assert [throttle.admit("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert throttle.admit("b") == 0, "everyone has their own"
    clock.now += 0.25
    assert throttle.admit("a") == 0.25
    clock.now += 0.25
    assert throttle.admit("a") == 0
    assert throttle.admit("a") == 0.5
    clock.now += 1000
    assert [throttle.admit("a") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now -= 1000  # a clock that goes back gives nothing and takes nothing
    assert throttle.admit("a") == 0.5


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0.5), (float("nan"), 1)])
def test_a_rate_limiter_that_admits_nothing_is_refused(rate, burst):
    with pytest.raises(ValueError, match="the rate must be above 0"):
        RateLimiter(rate, burst=burst)


def test_the_number_of_buckets_is_limited(monkeypatch):
    monkeypatch.setattr("subtrie.connector._middleware._MAX_CALLERS", 3)
    throttle = RateLimiter(1, clock=Clock())
    for name in "abc":
        throttle.admit(name)
    assert [throttle.admit(name) for name in "abc"] == [1, 1, 1], "all three are kept"
    throttle.admit("d")
    assert throttle.admit("a") == 0, "forgotten, so its bucket is full"
    assert throttle.admit("d") > 0


async def _story(make, throttle):
    shop, web, other = make(HOST), make("web.example"), make("other.example")
    shop.middleware(throttle)
    shop.endpoint("GET", "/{n}")(lambda n: n)
    told = []
    async with shop, web, other:
        for n in range(4):
            for caller in (web, other):
                # What it says of itself in a header changes nothing.
                forged = {control_headers.FROM_HOST: f"somebody{n}.else"}
                try:
                    answer = await caller.request("GET", f"https://{HOST}/{n}", headers=forged)
                    told.append((caller.host, answer.body))
                except HTTPError as error:
                    told.append((caller.host, error.status, error.properties))
        await web.request("GET", f"https://{HOST}:888/ping")  # the control plane has none
        answers = [a async for a in web.publish("GET", f"https://{HOST}/9")]
        told.append([a.error.status for a in answers])
    return told


@pytest.mark.requirement("S0-132", "A71")
async def test_the_limit_is_the_same_on_both_transports(make_memory, make_nats):
    told = [await _story(make, RateLimiter(1, burst=2, clock=Clock())) for make in
            (make_memory, make_nats)]  # fmt: skip
    assert told[0] == told[1]
    slow = (429, {"retryAfter": 1.0})
    assert told[0] == [
        ("web.example", b"0"), ("other.example", b"0"), ("web.example", b"1"),
        ("other.example", b"1"), ("web.example", *slow), ("other.example", *slow),
        ("web.example", *slow), ("other.example", *slow), [429],
    ]  # fmt: skip


@pytest.mark.requirement("S0-132")
async def test_one_rate_limiter_serves_both_transports_at_once(make_memory, broker, plane):
    """The same object: what a caller spent in process it has not got left over the bus."""
    both = {"nats": broker.url, "short_circuit": True}
    shop, near = make_memory(HOST, **both), make_memory("web.example", **both)
    far = make_memory("web.example", nats=broker.url, short_circuit=False)
    seen = []

    async def note(request: Request, call_next):
        seen.append((request.source, request.attested))
        return await call_next(request)

    shop.middleware(note)
    shop.middleware(RateLimiter(1, burst=2, clock=Clock()))
    shop.endpoint("GET", "/")(lambda: None)
    async with shop, near, far:
        await near.request("GET", f"https://{HOST}/")
        await far.request("GET", f"https://{HOST}/")
        for caller in (near, far):
            with pytest.raises(HTTPError) as refused:
                await caller.request("GET", f"https://{HOST}/")
            assert refused.value.status == 429
    assert seen == [("web.example", True), ("web.example", False)] * 2
