"""Spans of connectors as events: the same calls as in the trace log of their broker."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from connector.nats_server import NatsServer
from subtrie import AddressError
from subtrie.connector import Connector, HTTPError
from subtrie.spark import audit, spans
from subtrie.spark._table_of_spans import requests_in

PLANE = "p1"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return the trace log of a broker, and the spans of the connectors that used it."""
    folder = tmp_path_factory.mktemp("broker")
    path = folder / "trace.log"
    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    broker = NatsServer(folder, trace=True, debug=True, logfile=str(path)).start()
    try:
        asyncio.run(calls(broker.url))
    finally:
        broker.stop()
    return path, exporter.get_finished_spans()


async def calls(url: str) -> None:
    """Send requests from one service to another, which asks a third."""

    def made(host: str) -> Connector:
        return Connector(host, plane=PLANE, nats=url, deployment="TESTING", short_circuit=False)

    shop, stock, web = made("shop.example"), made("stock.example"), made("web.example")

    @shop.endpoint("GET", "/order/{n}")
    async def order(n: int) -> Any:
        return (await shop.request("GET", f"https://stock.example/level?n={n}")).json()

    @stock.endpoint("GET", "/level")
    async def level(n: int) -> Any:
        if n == 2:
            raise HTTPError("none is left", status=409)
        return n

    async with shop, stock, web:
        for number in range(4):
            with suppress(HTTPError):
                await web.request("GET", f"https://shop.example/order/{number}")


def otlp(finished: list[ReadableSpan]) -> str:
    """Return an export in the JSON form of OTLP."""
    kinds = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3}
    made = [
        {
            "name": span.name,
            "kind": kinds[span.kind.name],
            "startTimeUnixNano": str(span.start_time),
            "attributes": [
                {"key": key, "value": {"stringValue": value}}
                if isinstance(value, str)
                else {"key": key, "value": {"intValue": str(value)}}
                for key, value in (span.attributes or {}).items()
            ],
        }
        for span in finished
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": made}]}]})


def called(result: Any) -> Counter[tuple[str, ...]]:
    """Return how often each host called another on the port of endpoints."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in result.rows("call_graph"):
        if row["port"] == 443:
            found[row["source"], row["destination"], row["method"]] += row["published"]
    return found


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize("form", ["sdk", "otlp"])
def test_spans_have_the_calls_of_the_trace_log(spark, tmp_path, finished, form) -> None:
    log, kept = finished
    lines = [span.to_json(indent=None) for span in kept] if form == "sdk" else [otlp(kept)]
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join([*lines, "", "half of a l"]) + "\n")
    with audit(spark, spans(spark.read.text(str(path)), plane=PLANE)) as found:
        assert called(found) == {
            ("web.example", "shop.example", "GET"): 4,
            ("shop.example", "stock.example", "GET"): 4,
        }
        with audit(None, [str(log)]) as logged:
            assert called(logged) == called(found)
        starts = [span.start_time for span in kept if span.kind.name == "CLIENT"]
        (first,) = {min(row["first"] for row in found.rows("call_graph"))}
        assert abs(first.timestamp() - min(starts) / 1e9) < 2e-6  # in whole microseconds
        (row,) = found.rows("unparseable")
        assert row["reason"] == "no subject"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", 1),
        ("[]", 1),
        ("{}", 1),
        ('{"kind": 3, "attributes": [{"key": 1}]}', 1),
        ('{"kind": 3, "attributes": {"http.route": "/"}}', 0),  # not of a connector
        ('{"kind": 2}', 0),
        ('{"resourceSpans": []}', 0),
        ('{"resourceSpans": ' * 50_000, 1),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": 7}]}]}', 1),
    ],
)
def test_a_line_that_is_damaged_is_one_message_without_a_subject(line, expected) -> None:
    assert requests_in(line, PLANE) == [(None, None, None)] * expected


def test_a_url_without_a_subject_keeps_its_sender(finished) -> None:
    attributes = {"microbus.service": "a.b", "http.request.method": "GET", "url.full": "nowhere"}
    line = json.dumps({"kind": 3, "attributes": attributes, "startTimeUnixNano": "1000"})
    assert requests_in(line, PLANE) == [(None, "a.b", 1)]


def test_a_plane_and_a_column_are_checked_at_once(spark) -> None:
    lines = spark.createDataFrame([("",)], "value string")
    with pytest.raises(AddressError, match="plane"):
        spans(lines, plane="p.1")
    with pytest.raises(ValueError, match="there is no column 'line'"):
        spans(lines, plane=PLANE, column="line")
