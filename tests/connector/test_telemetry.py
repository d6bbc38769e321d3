"""Spans and counters: the same on both transports."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import OrderedDict
from types import SimpleNamespace

import pytest
from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from patience import until
from subtrie.connector import (
    AckTimeout,
    HTTPError,
    Request,
    RequestTimeout,
    TailSamplingProcessor,
    _tail_sampling,
    _telemetry,
)
from subtrie.connector._envelope import RequestEnvelope
from subtrie.connector._metrics import SECONDS, EndpointLabels
from subtrie.connector._telemetry import watch
from subtrie.connector._tracing import current_trace, detect_provider, trace_of

HOST = "shop.example"


@pytest.fixture(scope="module")
def spans():
    """Return the exporter of spans; OpenTelemetry allows one provider for a process."""
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    processor = SimpleSpanProcessor(exporter)
    provider.add_span_processor(processor)
    return exporter


async def _story(make):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")

    @shop.endpoint("GET", "/relay/{n}")
    async def relay(n: int):
        return (await shop.request("GET", "https://stock.example/level")).json()

    @stock.endpoint("GET", "/level")
    async def level():
        raise HTTPError("no stock", status=409)

    async with shop, stock, web:
        with pytest.raises(HTTPError) as failed:
            await web.request("GET", f"https://{HOST}/relay/1")
    return failed.value, [
        {k: v for k, v in each.metrics.served.items() if k[0].route in ("/relay/{n}", "/level")}
        for each in (shop, stock)
    ]


@pytest.mark.parametrize("told", [b"", b',"trace":"%b"' % (b"f" * 32)])
async def test_the_error_of_a_service_that_tells_no_trace_or_its_own_names_that_of_the_request(
    make_nats, spans, plane, told
):
    spans.clear()
    web = make_nats("web.example")
    loop = asyncio.get_running_loop()

    @web.watch
    def answer(direction, subject, payload):
        if direction == "out" and b"//old.example" in payload:
            message_id = payload.partition(b"Microbus-Msg-Id: ")[2].partition(b"\r")[0]
            body = b'{"err":{"error":"no stock","statusCode":409%b}}' % told
            head = b"HTTP/1.1 409 Conflict\r\nMicrobus-Op-Code: Err\r\nMicrobus-Msg-Id: %b\r\n\r\n"
            loop.call_soon(
                web._client.responses.receive_payload,
                f"{plane}.reply._.old_example.web_example.{web.id}",
                head % message_id + body,
            )

    async with web:
        with pytest.raises(HTTPError) as failed:
            await web.request("GET", "https://old.example/x")
    (span,) = (each for each in spans.get_finished_spans() if "old.example" in each.name)
    assert failed.value.status == 409
    assert failed.value.trace == f"{span.context.trace_id:032x}"


@pytest.mark.requirement("S0-131")
async def test_the_same_spans_and_counters_on_both_transports(
    make_memory, make_nats, spans, caplog
):
    caplog.set_level(logging.CRITICAL)
    told = []
    for make in (make_memory, make_nats):
        spans.clear()
        error, served = await _story(make)
        finished = [s for s in spans.get_finished_spans() if ":888" not in s.name]
        by_id = {span.context.span_id: span for span in finished}
        assert len({span.context.trace_id for span in finished}) == 1
        assert error.trace == f"{finished[0].context.trace_id:032x}"
        told.append(
            (
                sorted(
                    (
                        span.name,
                        span.kind.name,
                        by_id[span.parent.span_id].name if span.parent else None,
                        span.status.status_code.name,
                        tuple(sorted(span.attributes.items())),
                    )
                    for span in finished
                ),
                [{key: value.count for key, value in each.items()} for each in served],
            )
        )
    assert told[0] == told[1]
    for *_, outcome, attributes in told[0][0]:
        assert (outcome, dict(attributes)["http.response.status_code"]) == ("ERROR", 409)
    names = [(name, kind, parent) for name, kind, parent, *_ in told[0][0]]
    assert names == [
        (":443/level", "SERVER", "GET https://stock.example:443/level"),
        (":443/relay/{n}", "SERVER", f"GET https://{HOST}:443/relay/1"),
        (f"GET https://{HOST}:443/relay/1", "CLIENT", None),
        ("GET https://stock.example:443/level", "CLIENT", ":443/relay/{n}"),
    ]


@pytest.mark.requirement("S0-131")
async def test_the_same_log_records_of_requests_on_both_transports(
    make_memory, make_nats, spans, caplog
):
    """Beside those of start and end, which name the broker."""
    caplog.set_level(logging.DEBUG, "subtrie")
    usual = vars(logging.makeLogRecord({})).keys() | {"message", "asctime"}
    told = []
    for make in (make_memory, make_nats):
        caplog.clear()
        spans.clear()
        error, _ = await _story(make)
        told.append(
            [
                (each.name, each.levelname, each.getMessage().replace(error.trace, "of the error"),
                 {key: "of the error" if value == error.trace else value
                  for key, value in vars(each).items() if key not in usual})
                for each in caplog.records
                if ": up as " not in each.getMessage() and not each.getMessage().endswith(": down")
            ]
        )  # fmt: skip
    assert told[0] == told[1]
    assert [(level, text) for _, level, text, _ in told[0]] == [
        ("INFO", "stock.example: handling GET /level failed: 409: no stock (trace of the error)"),
        (
            "INFO",
            f"{HOST}: handling GET /relay/{{n}} failed: 409: no stock, "
            "from GET https://stock.example:443/level (trace of the error)",
        ),
    ]
    assert all("of the error" in more.values() for *_, more in told[0])


@pytest.fixture(scope="module")
def meters():
    """Return the reader of counters; one provider for the process."""
    reader = InMemoryMetricReader()
    assert not isinstance(metrics.get_meter_provider(), MeterProvider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


def _read(meters, *connectors):
    """Name, labels and value of every counter of these connectors."""
    told = meters.get_metrics_data()
    ids = {each.id for each in connectors}
    found = {}
    for resource in told.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if metric.name == "http.server.request.duration":
                    continue
                for point in metric.data.data_points:
                    labels = dict(point.attributes)
                    if labels.pop("id") in ids:
                        assert metric.data.is_monotonic
                        key = (metric.name, *sorted(labels.items()))
                        found[key] = point.value
    return found


@pytest.mark.requirement("S0-131")
async def test_the_same_counters_for_opentelemetry_on_both_transports(
    make_memory, make_nats, meters, caplog
):
    caplog.set_level(logging.CRITICAL)
    told = []
    for make in (make_memory, make_nats):
        shop, web = make(HOST), make("web.example")
        shop.endpoint("GET", "/x/{n}")(lambda n: n)

        @shop.endpoint("GET", "/slow", timeout=0.001)
        async def slow():
            raise AssertionError("no time is left for it")

        async with shop, web:
            for n in range(3):
                await web.request("GET", f"https://{HOST}/x/{n}")
            with pytest.raises(RequestTimeout):
                await web.request("GET", f"https://{HOST}/slow")
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://nobody.example/")
            told.append(_read(meters, shop, web))
    for counted, way in zip(told, ("memory", "nats"), strict=True):
        assert counted.pop(("microbus_deliveries", ("service", HOST), ("transport", way))) >= 4
        web_heard = ("microbus_deliveries", ("service", "web.example"), ("transport", way))
        assert counted.pop(web_heard) >= 4
    seconds = [
        {key: each.pop(key) for key in list(each) if key[0].endswith("_seconds")} for each in told
    ]
    assert all(value > 0 for each in seconds for value in each.values())
    for each in told:  # announcements at startup are not counted here
        for key in [key for key in each if ("port", "888") in key]:
            del each[key]
    assert told[0] == told[1]
    row = (("method", "GET"), ("port", "443"))
    assert told[0] == {
        ("microbus_ack_timeouts", ("service", HOST)): 0,
        ("microbus_ack_timeouts", ("service", "web.example")): 1,
        ("microbus_request_timeouts", ("service", HOST)): 0,
        ("microbus_request_timeouts", ("service", "web.example")): 0,
        (
            "microbus_server_requests", ("code", 200), *row, ("route", "/x/{n}"), ("service", HOST)
        ): 3,
        (
            "microbus_server_requests", ("code", 408), *row, ("route", "/slow"), ("service", HOST)
        ): 1,
    }  # fmt: skip


async def test_rejects_are_counted_by_reason(make_memory, meters):
    shop = make_memory(HOST)
    async with shop:
        shop.metrics.reject(shop.plane, "source", "x")
        shop.metrics.reject(shop.plane, "source", "x")
        counted = _read(meters, shop)
    assert counted["microbus_rejects", ("reason", "source"), ("service", HOST)] == 2


@pytest.mark.parametrize("traced", [True, False])
async def test_handlers_alone_have_spans_where_traces_are_made(make_memory, spans, traced):
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", "/good")(lambda: "")
    async with shop, web:
        shop._runtime.traced = traced
        spans.clear()
        for path in (":888/ping", "/good"):
            await web.request("GET", f"https://{HOST}{path}")
        served = [span.name for span in spans.get_finished_spans() if span.kind.name == "SERVER"]
        assert served == ([":443/good"] if traced else [])


async def test_a_trace_is_exported_when_its_handler_failed_or_on_request(make, spans, caplog):
    caplog.set_level(logging.CRITICAL)
    exporter = InMemorySpanExporter()
    trace.get_tracer_provider().add_span_processor(TailSamplingProcessor(exporter))
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/{how}")
    async def handle(how: str):
        if how == "bad":
            raise RuntimeError("bad")
        if how.isdigit():
            raise HTTPError("refused", status=int(how))
        return how

    async with shop, web:
        spans.clear()
        await web.request("GET", f"https://{HOST}/good")
        (kept, *_) = [s for s in spans.get_finished_spans() if s.name == ":443/{how}"]
        trace_id = f"{kept.context.trace_id:032x}"
        assert exporter.get_finished_spans() == ()
        for asked in ("", "?id=", "?id=xyz", "?id=" + "0" * 32):
            answer = await web.request("GET", f"https://{HOST}:888/trace{asked}")
            assert answer.json() == {}
            assert exporter.get_finished_spans() == ()
        await web.request("GET", f"https://{HOST}:888/trace", params={"id": trace_id.upper()})
        assert {f"{s.context.trace_id:032x}" for s in exporter.get_finished_spans()} == {trace_id}
        for how in ("bad", "418", "400"):  # with any status
            exporter.clear()
            with pytest.raises(HTTPError) as found:
                await web.request("GET", f"https://{HOST}/{how}")
            asks = [a async for a in web.publish("GET", "https://all:888/ping")]  # they are served
            assert len(asks) == 2
            while len(exporter.get_finished_spans()) < 2:  # the handler's, and the call's
                await web.request("GET", f"https://{HOST}:888/ping")
            told = {f"{s.context.trace_id:032x}" for s in exporter.get_finished_spans()}
            assert told == {found.value.trace}


async def test_the_trace_of_a_handler_that_used_up_its_time_is_exported(make, spans):
    exporter = InMemorySpanExporter()
    trace.get_tracer_provider().add_span_processor(TailSamplingProcessor(exporter))
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/")
    async def wait():
        await asyncio.Event().wait()

    async with shop, web:
        with pytest.raises(RequestTimeout) as late:
            await web.request("GET", f"https://{HOST}/", timeout=1.0)
        await until(exporter.get_finished_spans)
    told = {f"{span.context.trace_id:032x}" for span in exporter.get_finished_spans()}
    assert told == {late.value.trace}


@pytest.mark.parametrize("path", ["/refused", "/missing"])
async def test_an_error_names_the_trace_of_the_call_that_raises_it(make_memory, spans, path):
    shop = make_memory(HOST)

    @shop.endpoint("GET", "/refused")
    async def refused() -> None:
        error = HTTPError("refused", status=409)
        error.trace = "f" * 32  # as of a service with a trace of its own
        raise error

    async with shop, make_memory("web.example") as web:
        spans.clear()
        with pytest.raises(HTTPError) as failed:
            await web.request("GET", f"https://{HOST}{path}")
        ids = {f"{span.context.trace_id:032x}" for span in spans.get_finished_spans()}
        assert ids == {failed.value.trace}


async def test_a_record_has_the_trace_of_the_span_in_which_it_is_written(
    make_memory, spans, caplog
):
    caplog.set_level(logging.INFO, "subtrie.service")
    shop, own = make_memory(HOST), []

    @shop.endpoint("GET", "/")
    async def handle():
        shop.log.info("outside")
        tracer = trace.get_tracer("test")
        with tracer.start_as_current_span("own", context=Context()) as span:  # of another trace
            shop.log.info("inside")
            own.append(f"{span.context.trace_id:032x}")

    async with shop, make_memory("web.example") as web:
        spans.clear()
        await web.request("GET", f"https://{HOST}/")
    ids = {f"{span.context.trace_id:032x}" for span in spans.get_finished_spans()}
    said = {each.getMessage(): each.trace for each in caplog.records if hasattr(each, "trace")}
    assert len(ids) == 2
    assert {said[f"{HOST}: outside"]} == ids - {*own}
    assert said[f"{HOST}: inside"] == own[0]


async def test_a_trace_that_the_caller_states_is_sent_where_there_is_no_span(make, spans):
    shop, web, got = make(HOST), make("web.example"), []

    @shop.endpoint("GET", "/")
    async def handle(request: Request):
        got.append([request.headers[name] for name in stated])

    stated = {"Traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "Tracestate": "shop=1"}
    async with shop, web:
        found = [each async for each in web.publish("GET", f"https://{HOST}/", headers=stated)]
    assert [each.status for each in found] == [200]
    assert got == [[*stated.values()]]


def test_the_number_of_kept_spans_is_limited():
    exporter = InMemorySpanExporter()
    kept = TailSamplingProcessor(exporter, capacity=3)
    provider = TracerProvider()
    provider.add_span_processor(kept)
    tracer = provider.get_tracer("test")
    made = [tracer.start_span(str(n)) for n in range(5)]
    for span in made:
        span.end()
    ids = [f"{span.context.trace_id:032x}" for span in made]
    assert [kept.export(each) for each in ids] == [0, 0, 1, 1, 1]
    assert [span.name for span in exporter.get_finished_spans()] == ["2", "3", "4"]
    provider.shutdown()


async def test_durations_are_a_histogram_by_route(make, meters):
    shop, web = make(f"{make.__name__.strip('<>')}-duration.example"), make("web.example")
    shop.endpoint("GET", "/timed/{id}")(lambda id: id)
    meters.get_metrics_data()  # from the first reading on
    async with shop, web:
        for n in range(3):
            await web.request("GET", f"https://{shop.host}/timed/{n}")
    points = [
        point
        for resource in meters.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "http.server.request.duration"
        for point in metric.data.data_points
        if point.attributes.get("http.route") == "/timed/{id}"
    ]
    counts = sum(point.count for point in points)
    assert counts in (3, 6)  # the readings add up over both transports
    attributes = dict(points[0].attributes)
    assert attributes["http.request.method"] == "GET"
    assert attributes["http.response.status_code"] == 200
    assert attributes["server.port"] == 443


async def test_the_attributes_of_spans(make_memory, spans):
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", ":444/find/{n}")(lambda n: n)
    async with shop, web:
        spans.clear()
        await web.request("GET", f"https://{HOST}:444/find/7?secret=1")
    found = {
        span.name: (span.kind.name, dict(span.attributes), span.status.status_code.name)
        for span in spans.get_finished_spans()
        if "find" in span.name
    }
    url = f"https://{HOST}:444/find/7"
    assert found == {
        ":444/find/{n}": ("SERVER", {
            "http.request.method": "GET", "http.route": "/find/{n}", "server.port": 444,
            "microbus.service": HOST, "microbus.source": "web.example",
            "http.response.status_code": 200,
        }, "UNSET"),
        f"GET {url}": ("CLIENT", {
            "http.request.method": "GET", "url.full": f"{url}?secret=1",
            "microbus.service": "web.example",
            "http.response.status_code": 200,
        }, "UNSET"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "known"),
    [("00-{}-{}-01", True), ("ff-{}-{}-00", True), ("00-{}-{}-01-more", True),
     ("00-{}-{}-01more", False),
     ("00-{}-{}", False), ("0-{}-{}-01", False), ("00-{}-{}-01-" + "x" * 200, True), ("", False),
     ("00-{}-{}-01-" + "x" * 201, True), (" 00-{}-{}-01", False)],
)  # fmt: skip
def test_the_trace_of_a_request_is_that_of_its_header(text, known):
    def trace(trace_id, span):
        request = RequestEnvelope("GET", "https://a/", "/", "", b"")
        request.given = {"Traceparent": [text.format(trace_id, span)]} if text else {}
        return trace_of(request)

    assert trace("a1" * 16, "b2" * 8) == ("a1" * 16 if known else "")
    for wrong in (
        ("0" * 32, "b2" * 8),
        ("A1" * 16, "b2" * 8),
        ("a1" * 15, "b2" * 8),
        ("a1" * 16, "B2" * 8),
    ):
        assert trace(*wrong) == ""
    assert trace_of(None) == ""


async def test_the_state_of_another_trace_is_not_forwarded(make_memory, spans):
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", "/x")(lambda request: request.headers.get("Tracestate", "none"))
    async with shop, web:
        headers = {"Tracestate": "a=1", "Traceparent": f"00-{'a1' * 16}-{'b2' * 8}-01"}
        assert (await web.request("GET", f"https://{HOST}/x", headers=headers)).text == "none"


def test_without_a_span_there_is_no_trace(spans):
    detect_provider()
    assert current_trace() == ""
    with trace.get_tracer("test").start_as_current_span("x") as span:
        assert int(current_trace(), 16) == span.get_span_context().trace_id


def test_the_instruments_of_opentelemetry(make_memory, meters):
    shop = make_memory(HOST)
    watch(shop._runtime)
    labels = EndpointLabels("444", "/x", "x", "x", "function")
    meters.get_metrics_data()
    for status in (200, 499, 500):
        for seconds in (0.1, 0.3):
            shop.metrics.serve(labels, "GET", status, status == 500, seconds, 1)
    shop.metrics.serve(labels, "GET", 200, True, 0.2, 1)  # with an error
    shop.metrics.rejects["source"] += 2
    found, durations = {}, []
    for resource in meters.get_metrics_data().resource_metrics:
        for scope in resource.scope_metrics:
            for each in scope.metrics:
                found[each.name] = each.unit, each.description
                if each.name == "http.server.request.duration":
                    durations += [
                        p for p in each.data.data_points if p.attributes["http.route"] == "/x"
                    ]
    assert found == {
        "http.server.request.duration": ("s", "Duration of HTTP server requests."),
        "microbus_deliveries": ("1", "Messages received, by transport"),
        "microbus_rejects": ("1", "Messages rejected, by reason"),
        "microbus_ack_timeouts": ("1", "Requests without an acknowledgement"),
        "microbus_request_timeouts": ("1", "Requests that timed out"),
        "microbus_server_requests": ("1", "Requests handled"),
        "microbus_server_request_seconds": ("s", "Time spent in handlers"),
    }
    assert {point.explicit_bounds for point in durations} == {SECONDS}
    common = {"http.request.method": "GET", "http.route": "/x", "server.address": HOST,
              "server.port": 444, "url.scheme": "https"}  # fmt: skip
    told = {
        point.attributes["http.response.status_code"]: dict(point.attributes) for point in durations
    }
    assert told == {
        status: common | {"http.response.status_code": status}
        | ({"error.type": "500"} if status == 500 else {}) for status in (200, 499, 500)
    }  # fmt: skip
    read = _read(meters, shop)
    key = (("code", 200), ("method", "GET"), ("port", "444"), ("route", "/x"), ("service", HOST))
    assert read["microbus_server_requests", *key] == 3
    assert read["microbus_server_request_seconds", *key] == pytest.approx(0.6)


def test_a_provider_that_comes_after_the_connectors_gets_their_durations(
    make_memory, meters, monkeypatch
):
    shop = make_memory(HOST)
    watch(shop._runtime)
    monkeypatch.setattr(_telemetry, "_collected", [])
    shop.metrics.on_served = None  # as it is without a provider
    meters.get_metrics_data()
    assert shop.metrics.on_served is not None


def test_an_older_package_without_advice_has_the_instruments(make_memory, meters, monkeypatch):
    class OlderMeter:
        """A meter whose histograms take no advice about their bounds."""

        def __init__(self, *names):
            self._meter = newer(*names)
            self.create_observable_counter = self._meter.create_observable_counter

        def create_histogram(self, name, unit="", description=""):
            return self._meter.create_histogram(name, unit, description)

    newer = metrics.get_meter
    made, durations = [], []
    monkeypatch.setattr(metrics, "get_meter", OlderMeter)
    monkeypatch.setattr(_telemetry, "_instruments", made)
    monkeypatch.setattr(_telemetry, "_duration", durations)
    watch(make_memory(HOST)._runtime)
    assert (len(made), len(durations)) == (6, 1)


def test_spans_of_a_chosen_trace_are_exported_as_they_end():
    exporter = InMemorySpanExporter()
    kept = TailSamplingProcessor(exporter)
    provider = TracerProvider()
    provider.add_span_processor(kept)
    tracer = provider.get_tracer("test")
    outer = tracer.start_span("outer")
    chosen = f"{outer.context.trace_id:032x}"
    with trace.use_span(outer):
        tracer.start_span("inner").end()
    tracer.start_span("other").end()
    assert kept.export(chosen) == 1
    outer.end()
    assert [span.name for span in exporter.get_finished_spans()] == ["inner", "outer"]
    assert kept.export(chosen) == 0
    assert kept.force_flush()
    dropped = tracer.start_span("dropped")
    dropped.end()
    kept.shutdown()
    assert kept.export(f"{dropped.context.trace_id:032x}") == 0


def test_a_span_that_is_not_sampled_is_not_kept():
    exporter = InMemorySpanExporter()
    kept = TailSamplingProcessor(exporter)
    provider = TracerProvider(sampler=ALWAYS_OFF)
    provider.add_span_processor(kept)
    span = provider.get_tracer("test").start_span("x")
    context = span.get_span_context()
    kept.on_end(ReadableSpan("x", context=context))
    kept.on_end(ReadableSpan("y"))
    span.end()
    assert kept.export(f"{context.trace_id:032x}") == 0


def test_other_processors_are_flushed_when_a_trace_is_exported(monkeypatch):
    waits = []
    for provider in (SimpleNamespace(force_flush=waits.append), SimpleNamespace()):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda provider=provider: provider)
        _tail_sampling.export_trace("a" * 32)
    assert waits == [5000]


def test_an_exporter_gets_no_empty_list_and_ends_with_its_processor():
    calls = []
    kept = TailSamplingProcessor(
        SimpleNamespace(export=calls.append, shutdown=lambda: calls.append("ended"))
    )
    assert kept.export("a" * 32) == 0
    assert calls == []
    kept.shutdown()
    assert calls == ["ended"]


def test_so_many_traces_are_remembered_and_the_oldest_is_forgotten(monkeypatch):
    monkeypatch.setattr(_tail_sampling, "_asked", OrderedDict())
    monkeypatch.setattr(_tail_sampling, "_REMEMBERED", 2)
    kept = TailSamplingProcessor(InMemorySpanExporter())
    for each in ("a", "b", "c"):
        kept.export(each)
        assert _tail_sampling.claim_export(each)
    assert list(kept._chosen) == list(_tail_sampling._asked) == ["b", "c"]


def test_a_trace_is_asked_for_once_while_spans_are_kept(monkeypatch):
    monkeypatch.setattr(_tail_sampling, "_asked", OrderedDict())
    monkeypatch.setattr(_tail_sampling, "_all", weakref.WeakSet())
    assert not _tail_sampling.claim_export("a" * 32)
    kept = TailSamplingProcessor(InMemorySpanExporter())
    assert [_tail_sampling.claim_export(each) for each in ("a", "b", "a", "", "b")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert kept._kept.maxlen == 8192
