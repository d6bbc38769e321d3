"""Metrics that a service defines, and the round trips of acknowledgements."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from subtrie.connector import AckTimeout, RequestTimeout
from subtrie.connector._metrics import (
    ACK_SECONDS,
    SECONDS,
    SIZES,
    EndpointLabels,
    Metrics,
    prometheus_text,
)

HOST, URL = "shop.example", "https://shop.example"


async def test_the_metrics_of_a_service_are_shown_beside_those_of_the_connector(make):
    shop, web = make(HOST), make("web.example")
    orders = shop.metrics.counter("tea_orders", "Orders placed")
    stock = shop.metrics.gauge("tea_stock")
    waits = shop.metrics.histogram("tea_waits_seconds", bounds=(0.1, 1.0))

    @shop.endpoint("GET", "/order")
    async def order(kind: str) -> None:
        orders.add(kind=kind)
        stock.set(5)
        stock.add(-2)
        for seconds in (0.05, 0.5, 5.0):
            waits.observe(seconds, kind=kind)

    async with shop, web:
        for kind in ("tea", "tea", 'a"b'):
            await web.request("GET", f"{URL}/order", params={"kind": kind})
        assert shop.metrics.counter("tea_orders") is orders
        text = (await web.request("GET", f"{URL}:888/metrics")).text
        acks = (await shop.request("GET", "https://web.example:888/metrics")).text
    own = [line for line in text.splitlines() if line.startswith("tea_")]
    assert all(f'service="{HOST}"' in line for line in own)
    assert any(line.endswith(" 2.0") and 'kind="tea"' in line for line in own)
    assert any('kind="a\\"b"' in line for line in own)
    assert next(line for line in own if line.startswith("tea_stock")).endswith(" 3.0")
    assert sum('le="+Inf"' in line and line.endswith(" 6.0") for line in own) == 1
    count = [
        x
        for x in acks.splitlines()
        if x.startswith("microbus_client_ack_roundtrip") and "_count" in x
    ]
    sent_over_nats = not shop._transport.short_circuit
    assert (float(count[0].rpartition(" ")[2]) >= 4) == sent_over_nats


async def test_wrong_uses_of_metrics_are_refused(make_memory):
    metrics = make_memory(HOST).metrics
    for name in ("microbus_x", "1x", "a-b", ""):
        with pytest.raises(ValueError, match="not a valid name"):
            metrics.counter(name)
    metrics.counter("orders")
    with pytest.raises(ValueError, match="is a counter already"):
        metrics.gauge("orders")
    with pytest.raises(ValueError, match="cannot"):
        metrics.counter("orders").add(-1)
    with pytest.raises(ValueError, match="cannot be set"):
        metrics.counter("orders").set(1)
    with pytest.raises(ValueError, match="no observations"):
        metrics.gauge("stock").observe(1)


async def test_callbacks_log_messages_and_multicasts_are_counted_as_in_go(make_nats):
    shop, web = make_nats(HOST), make_nats("web.example")
    ran = asyncio.Event()

    @shop.every(0.01)
    async def count_stock():
        if ran.is_set():
            raise KeyError("stock")
        ran.set()

    async with shop, web:
        await ran.wait()
        shop.log.warning("low on %s", "tea")
        shop.log.debug("not enabled")
        answers = [each async for each in web.publish("GET", "https://all:888/ping")]
        assert len(answers) == 2
        text = (await web.request("GET", f"{URL}:888/metrics")).text
        mine = (await shop.request("GET", "https://web.example:888/metrics")).text
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    def value(name, *labels):
        found = [x for x in lines if x.startswith(name) and all(each in x for each in labels)]
        return sum(float(each.rpartition(" ")[2]) for each in found)

    callbacks = "microbus_callback_duration_seconds_count"
    assert value(callbacks, 'name="OnStartup"', 'type="lifecycle"', 'error="OK"') == 1
    assert value(callbacks, 'name="count_stock"', 'type="ticker"', 'error="OK"') == 1
    logged = "microbus_log_messages_total"
    assert value(logged, 'message="low on %s"', 'severity="WARNING"') == 1
    assert value(logged, "not enabled") == 0
    lines = mine.splitlines()
    # Of the announcement, the multicast and the request, each from both.
    assert value("microbus_client_ack_roundtrip_latency_seconds_count") >= 3


async def test_each_timeout_is_counted_once(make):
    shop, web = make(HOST), make("web.example")
    released = asyncio.Event()

    @shop.endpoint("GET", "/late")
    async def late():
        try:
            await released.wait()
        except asyncio.CancelledError:
            await released.wait()

    async with shop, web:
        for _ in range(2):
            with pytest.raises(RequestTimeout):
                await web.request("GET", f"{URL}/late", timeout=0.5)
        with pytest.raises(AckTimeout):
            await web.request("GET", "https://missing.example/")
        released.set()
        assert (web.metrics.timeouts, web.metrics.ack_timeouts) == (2, 1)


def read_text(metrics, *, program=False):
    """Return what Prometheus reads: type, help and samples of each family."""
    text = prometheus_text(metrics, {"service": HOST, "id": "x"}, program=program).decode()
    found = {}
    for family in text_string_to_metric_families(text):
        samples = {}
        for name, labels, value, *_ in family.samples:
            assert (labels.pop("service"), labels.pop("id")) == (HOST, "x")
            if "le" in labels:
                labels["le"] = float(labels["le"])
            samples[name, frozenset(labels.items())] = value
        found[family.name] = family.type, family.documentation, samples
    return found


def histogram(name, labels, bounds, seen):
    """By a model: how many of the observations are up to each bound."""
    limits = (*bounds, float("inf"))
    found = {
        (f"{name}_bucket", frozenset((labels | {"le": bound}).items())): sum(
            each <= bound for each in seen
        )
        for bound in limits
    }
    ends = frozenset(labels.items())
    return found | {
        (f"{name}_count", ends): len(seen),
        (f"{name}_sum", ends): pytest.approx(sum(seen)),
    }


def around(bounds):
    return [each for bound in bounds for each in (bound * 0.99, bound, bound * 1.01)]


def test_every_counter_is_shown_with_its_labels():
    metrics = Metrics(HOST)
    metrics.deliveries |= {"memory": 3}
    metrics.rejects |= {"source": 2, "actor": 1}
    metrics.ack_timeouts, metrics.timeouts = 4, 5
    metrics.gauges["microbus_cache_elements"] = lambda: 7
    metrics.gauges["mine"] = lambda: 0.5
    labels = EndpointLabels("443", "/x/{id}", "get_x", f"{HOST}:443/x/{{id}}", "function")
    seen = {200: around(SECONDS), 500: [0.0]}
    for status, times in seen.items():
        for seconds in times:
            metrics.serve(labels, "GET", status, status == 500, seconds, int(seconds * 1e6))
    for bound in SIZES:
        for size in (int(bound) - 1, int(bound), int(bound) + 1):
            metrics.serve(labels, "PUT", 200, False, 0.0, size)
    for seconds in around(ACK_SECONDS):
        metrics.note_ack(seconds)
    found = read_text(metrics)

    def plain(name):
        return {dict(labels).get("transport") or dict(labels).get("reason"): value
                for (_, labels), value in found[name][2].items()}  # fmt: skip

    assert plain("microbus_deliveries") == {"memory": 3}
    assert plain("microbus_rejects") == {"source": 2, "actor": 1}
    assert plain("microbus_ack_timeouts") == {None: 4}
    assert (
        plain("microbus_request_timeouts") == plain("microbus_client_timeout_requests") == {None: 5}
    )
    assert plain("microbus_cache_elements") == {None: 7}
    assert plain("mine") == {None: 0.5}
    name = "microbus_client_ack_roundtrip_latency_seconds"
    assert found[name][2] == histogram(name, {}, ACK_SECONDS, around(ACK_SECONDS))
    common = {"name": "get_x", "route": "/x/{id}", "canonical": f"{HOST}:443/x/{{id}}",
              "port": "443", "type": "function"}  # fmt: skip
    ok = common | {"method": "GET", "code": "200", "error": "OK"}
    failed = common | {"method": "GET", "code": "500", "error": "ERROR"}
    put = ok | {"method": "PUT"}
    name = "microbus_server_request_duration_seconds"
    assert found[name][2] == (
        histogram(name, ok, SECONDS, seen[200])
        | histogram(name, failed, SECONDS, seen[500]) | histogram(name, put, SECONDS, [0.0] * 24)
    )  # fmt: skip
    sizes = [size for bound in SIZES for size in (int(bound) - 1, int(bound), int(bound) + 1)]
    name = "microbus_server_response_body_bytes"
    counts = {dict(key)["le"]: value for (kind, key), value in found[name][2].items()
              if kind.endswith("_bucket") and ("method", "PUT") in key}  # fmt: skip
    assert counts == {
        bound: sum(size <= bound for size in sizes) for bound in (*SIZES, float("inf"))
    }
    assert found[name][2][f"{name}_sum", frozenset(put.items())] == sum(sizes)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("microbus_deliveries", "counter", "Messages received, by transport"),
        ("microbus_rejects", "counter", "Messages rejected, by reason"),
        ("microbus_ack_timeouts", "counter", "Requests without an acknowledgement"),
        ("microbus_request_timeouts", "counter", "Requests that timed out"),
        ("microbus_client_timeout_requests", "counter",
         "Number of requests downstream that timed out"),
        ("microbus_client_ack_roundtrip_latency_seconds", "histogram",
         "Downstream ack roundtrip latency [seconds]"),
        ("microbus_callback_duration_seconds", "histogram",
         "Handler processing duration [seconds]"),
        ("microbus_log_messages", "counter", "Number of log messages recorded"),
        ("microbus_cache_operations", "counter",
         "Number of operations performed on the local shard of the distributed cache"),
        ("microbus_uptime_duration_seconds", "gauge",
         "Duration since connector was established [seconds]"),
        ("microbus_cache_memory_bytes", "gauge", "Total size of the cached elements [bytes]"),
        ("microbus_cache_elements", "gauge", "Total number of cached elements"),
        ("microbus_server_request_duration_seconds", "histogram",
         "Request processing duration [seconds]"),
        ("microbus_server_response_body_bytes", "histogram", "Response body size [bytes]"),
        ("tea", "gauge", "Leaves"),
    ],
)  # fmt: skip
def test_the_metrics_of_a_service_are_those_of_go(make_memory, name, kind, text):
    metrics = make_memory(HOST)._runtime.metrics
    metrics.gauge("tea", "Leaves").set(1)
    metrics.callbacks.observe(0.1)
    metrics.log_messages.add()
    metrics.cache_operations.add()
    assert read_text(metrics)[name][:2] == (kind, text)


def test_own_metrics_are_shown_by_their_labels():
    metrics = Metrics(HOST)
    orders = metrics.counter("orders", "Placed")
    orders.add(kind="tea")
    orders.add(2, size=5, kind="tea")
    orders.add(0.5, kind="tea", size=5)
    orders.add(0)
    waits = metrics.histogram("waits", bounds=(1, 0.1))
    for seconds in around((0.1, 1.0)):
        waits.observe(seconds, at="till")
    stock = metrics.gauge("stock")
    stock.add(-1)
    stock.set(7, kind="tea")
    stock.set(3, kind="tea")
    found = read_text(metrics)
    assert {key[1]: value for key, value in found["orders"][2].items()} == {
        frozenset(): 0, frozenset({("kind", "tea")}): 1,
        frozenset({("kind", "tea"), ("size", "5")}): 2.5,
    }  # fmt: skip
    assert {key[1]: value for key, value in found["stock"][2].items()} == {
        frozenset(): -1, frozenset({("kind", "tea")}): 3,
    }  # fmt: skip
    assert found["waits"][2] == histogram("waits", {"at": "till"}, (0.1, 1), around((0.1, 1.0)))


def test_a_metric_is_defined_once():
    metrics = Metrics(HOST)
    assert metrics.histogram("a", bounds=(2, 1)) is metrics.histogram("a", bounds=(1, 2))
    assert metrics.histogram("b").bounds == SECONDS
    for wrong in (lambda: metrics.histogram("a"), lambda: metrics.counter("a")):
        with pytest.raises(ValueError, match="the metric 'a' is a histogram already"):
            wrong()
    for add in (metrics.histogram("b").add, metrics.histogram("b").set):
        with pytest.raises(ValueError, match="a histogram cannot"):
            add(1)
    for observe in (metrics.gauge("g").observe, metrics.counter("c").observe):
        with pytest.raises(ValueError, match="has no observations"):
            observe(1)


def test_a_callback_is_timed_however_it_ends(monkeypatch):
    now, metrics = [100.0], Metrics(HOST)
    monkeypatch.setattr("subtrie.connector._system.monotonic", lambda: now[0])
    with metrics.timed("sync", "ticker"):
        now[0] += 0.25

    def fail():
        now[0] += 0.5
        raise KeyError

    with pytest.raises(KeyError), metrics.timed("sync", "ticker"):
        fail()
    found = read_text(metrics)["microbus_callback_duration_seconds"][2]
    sums = {dict(key)["error"]: value for (name, key), value in found.items() if "_sum" in name}
    assert sums == {"OK": 0.25, "ERROR": 0.5}


def test_the_uptime_is_that_since_the_start(monkeypatch):
    now, metrics = [100.0], Metrics(HOST)
    monkeypatch.setattr("subtrie.connector._system.monotonic", lambda: now[0])
    assert metrics.uptime() == 0
    metrics.start()
    now[0] += 7
    assert metrics.uptime() == 7
    metrics.start()
    assert metrics.uptime() == 0, "of the run that has begun last"


def test_a_rejected_message_is_logged_once_a_minute_for_each_reason(monkeypatch, caplog):
    now, metrics = [100.0], Metrics(HOST)
    monkeypatch.setattr("subtrie.connector._system.monotonic", lambda: now[0])
    for plane, reason, apart, logged in (
        ("minute", "a", 0, 1), ("minute", "a", 59.9, 0), ("minute", "b", 0, 1),
        ("minute2", "a", 0, 1), ("minute", "a", 0.1, 1), ("minute", "a", 0, 0),
    ):  # fmt: skip
        caplog.clear()
        now[0] += apart
        metrics.reject(plane, reason, "s" * 300 + "é")
        assert len(caplog.records) == logged
        for each in caplog.records:
            assert each.getMessage() == f"{HOST}: message rejected: {reason}"
            assert (each.plane, each.reason, each.subject) == (plane, reason, repr("s" * 200))
    assert metrics.rejects == {"a": 5, "b": 1}
