"""Prometheus reads the metrics that the page lists: names, types, labels, help and buckets."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from subtrie.connector import Connector

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "metrics-tracing.md"
_ROW = re.compile(r"^\| `(microbus_\w+)` \| (\w+) \| (.*) \| (.*) \|$", re.MULTILINE)
_BUCKETS = re.compile(r"^- `(microbus_\w+)`(?: and `(microbus_\w+)`)?: ([\d., ]+)$", re.MULTILINE)


def stated(text):
    """Return the metrics of the page, and the buckets of its histograms."""
    metrics = {
        name: (kind, set(re.findall(r"`(\w+)`", labels)), what)
        for name, kind, labels, what in _ROW.findall(text)
    }
    buckets = {
        name: [float(bound.replace(",", "")) for bound in bounds.split(", ")]
        for *names, bounds in _BUCKETS.findall(text)
        for name in names
        if name
    }
    return metrics, buckets


async def exposed(shop: Connector, web: Connector) -> str:
    """Return what a connector exposes once each of its metrics has a value."""

    @shop.endpoint("GET", "/price/{item}")
    async def price(item: str) -> int:
        return 3

    async with shop, web:
        await web.request("GET", "https://shop.example/price/tea")
        await shop.cache.store("tea", "3")
        await shop.cache.load("tea")
        shop.log.warning("low on tea")
        shop.metrics.reject(shop.plane, "source", "x")
        response = await web.request("GET", "https://shop.example:888/metrics")
    return response.text


async def test_prometheus_reads_the_metrics_of_the_page(make_memory) -> None:
    page = PAGE.read_text(encoding="utf-8")
    metrics, buckets = stated(page)
    sentence = page.partition("Each has the labels ")[2].partition(".")[0]
    of_all = set(re.findall(r"`(\w+)`", sentence))
    text = await exposed(make_memory("shop.example"), make_memory("web.example"))
    read, limits = {}, {}
    for family in text_string_to_metric_families(text):
        if not family.name.startswith("microbus_"):
            continue
        labels = [set(sample.labels) for sample in family.samples]
        assert all(of_all <= each for each in labels), family.name
        own = set().union(*labels) - of_all - {"le"}
        read[family.name] = (family.type, own, family.documentation)
        if family.type == "histogram":
            found = {float(s.labels["le"]) for s in family.samples if "le" in s.labels}
            limits[family.name] = sorted(found - {float("inf")})
    assert read == metrics
    assert limits == buckets
