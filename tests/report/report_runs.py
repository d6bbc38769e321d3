"""Results of audits that are made directly: tables, written as the audit writes them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from subtrie.audit._run import Run, run_record
from subtrie.audit._runs.run_folder import RunFolder
from subtrie.audit._runs.run_writer import all_tables, table_bytes
from subtrie.spark import TABLES

START = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)

#: Subjects and names that would run a script, end an element, or change the layout.
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!--<script>",
    "\u202egpj.exe\u202c\u2066\u200f",
    "__proto__",
    "constructor",
    "=HYPERLINK(1)",
    "&lt;b&gt;'\"`${window.hacked=1}",
    "a|b`c*d_e[f](javascript:alert(1))",
    "-" + "x" * 600,
    "ⴰ\u0301\u0301\u0301" * 40,
    "\x1b[31m\x07\x00",
)


def row(table: str, **values: Any) -> dict[str, Any]:
    """Return a row with nulls, and zeros where there is a count."""
    counts = {
        "count",
        "received",
        "published",
        "delivered",
        "undelivered",
        "refused",
        "forwarded",
        "bytes",
    }
    counts |= {"accepted", "matched", "instances", "subscribers", "groups"}
    return {name: values.get(name, 0 if name in counts else None) for name in TABLES[table]}


def call(source: str, destination: str, published: int, **values: Any) -> dict[str, Any]:
    """Return a row of the call graph; all is delivered unless something else is said."""
    usual = {"plane": "prod", "port": 443, "method": "GET", "route": "items", "instances": 1}
    usual |= {"source": source, "destination": destination, "published": published}
    usual |= {"delivered": published, "bytes": 100 * published}
    usual |= {"first": START, "last": START + timedelta(seconds=published)}
    return row("call_graph", **{**usual, **values})


def _made(
    tables: dict[str, list[dict[str, Any]]], more: dict[str, int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the summary of a run with these rows, and its record."""
    counters = dict.fromkeys(("ambiguous", "forwarded", "unmatched", "payloads", "server"), 0)
    counters["unparseable_lines"] = len(tables.get("unparseable", ()))
    messages = [each["published"] for each in tables.get("call_graph", tables.get("flows", ()))]
    counters["operations"] = 1 + sum(messages)  # and a subscription
    counters["lines"] = counters["operations"] + counters["unparseable_lines"]
    planes = sorted({each["plane"] for each in tables.get("call_graph", ())})
    told = {**counters, "published": counters["operations"], **more}
    return {**counters, "planes": planes}, run_record(lambda: "0" * 64, {}, told)


def make_run(folder: Path, tables: dict[str, list[dict[str, Any]]], **more: int) -> Path:
    """Write a run with these rows, and more counters; the other tables are empty."""
    summary, record = _made(tables, more)
    made = RunFolder(folder)
    made.commit(
        all_tables(
            [table_bytes(name, rows) for name, rows in {**tables, "runs": [record]}.items()]
        ),
        summary,
    )
    return folder


class RunOfRows(Run):
    """The run that ``make_run`` writes, without files: tests of many small runs are fast."""

    def __init__(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        self.summary, record = _made(tables, {})
        self._tables = {**tables, "runs": [record]}

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a table, which the reader may change."""
        assert table in TABLES
        return iter([dict(each) for each in self._tables.get(table, ())])

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return len(self._tables.get(table, ()))


def small_tables() -> dict[str, list[dict[str, Any]]]:
    """Return a run with one of each finding."""
    late = START + timedelta(minutes=1)
    wrong = "prod.safe.443.web_example.stock_example._.GET.itms"
    return {
        "call_graph": [
            call("web.example", "stock.example", 90, undelivered=10, delivered=80),
            call("web.example", "stock.example", 3, method="POST"),
            call("web.example", "orders.example", 40),
            call("orders.example", "stock.example", 30, refused=5),
            call("orders.example", "orders.example", 7, port=417),
            call("orders.example", "token.example", 2, port=666, route="mint"),
        ],
        "undelivered": [
            row(
                "undelivered",
                subject=wrong,
                count=10,
                nearest="prod.safe.443.*.stock_example._.GET.items",
                differs_at=7,
                subscription_inactive=False,
                first=START,
                last=late,
            )
        ],
        "spoofed": [
            row(
                "spoofed",
                who="stock.example",
                claimed="web.example",
                subject="prod.safe.443.web_example.orders_example._.GET.items",
                count=4,
                accepted=4,
                first=START,
                last=late,
            )
        ],
        "malformed": [
            row("malformed", subject="prod.safe.0443.a", count=12, reason="port", received=0)
        ],
        "refused": [
            row(
                "refused",
                who="orders.example",
                subject="prod.safe.443.orders_example.stock_example._.GET.items",
                count=5,
                kind="publish",
            )
        ],
        "coverage": [
            row("coverage", server="a", pattern=f"prod.safe.443.*.h{i}._.GET.x", matched=i)
            for i in range(40)
        ],
        "hot_subjects": [
            row(
                "hot_subjects",
                subject="prod.safe.443.web_example.orders_example._.GET.items",
                published=40,
                bytes=4_000,
                share=0.25,
            )
        ],
    }


def answer_tables() -> dict[str, list[dict[str, Any]]]:
    """Return a run with rules, a proposal, a gap, latency and periods; all columns differ."""
    tables = small_tables()
    later = START + timedelta(seconds=10)
    tables["call_graph"] = [
        call(
            *("web.example", "stock.example", 90 + i),
            window=window,
            route=f"items.*.parts-{i}.of-a-long-name",
            refused=i,
            undelivered=i,
            forwarded=i,
            instances=i,
            plane=f"plane-{i}",
            port=443 + i,
            method=method,
        )
        for i, (window, method) in enumerate(((START, "GET"), (later, "POST"), (later, "GET")))
    ]
    rules = [
        f"prod.safe.443.web_example.{host}.*.GET.>" for host in ("stock_example", "old_example")
    ]
    used = {"service": "web.example", "verb": "publish", "effect": "allow", "days": 1}
    tables["permission_usage"] = [
        row("permission_usage", **used, rule=rules[0], accepted=5, decided=5, window=START),
        row("permission_usage", **used, rule=rules[0], accepted=0, decided=0, window=later),
        row("permission_usage", **used, rule=rules[1], accepted=0, decided=0, window=START),
        row("permission_usage", **used, rule=rules[1], accepted=0, decided=0, window=later),
    ]
    tables["proposal"] = [
        row("proposal", service="web.example", verb="publish", rule=rule, count=5, covered_by=cover)
        for rule, cover in ((rules[0], rules[0]), ("prod.safe.443.web_example.new.>", None))
    ]
    tables["gap"] = [
        row(
            "gap",
            service="web.example",
            destination="stock.example",
            port=443,
            rule=None,
            method="GET",
            path=path,
            code=f"web.py:{i}",
            traffic=i,
            finding=found,
        )
        for i, (path, found) in enumerate((("items.*", "never called"), ("parts", "ok")))
    ]
    tables["latency"] = [
        row(
            "latency",
            kind="microbus",
            requester="web.example",
            responder="stock.example",
            subject="prod.safe.443.*",
            count=90,
            p50=1_250,
            p99=40_000,
        )
    ]
    return tables


def flow_tables() -> dict[str, list[dict[str, Any]]]:
    """Return a run of a log without Microbus traffic."""
    names = (
        ("shop", "orders.*.paid", "billing", 600, 0),
        ("shop", "orders.*.paidd", None, 200, 200),
    )
    return {
        "flows": [
            row(
                "flows",
                publisher=source,
                pattern=pattern,
                subscriber=target,
                published=count,
                delivered=count - lost,
                undelivered=lost,
                first=START,
                last=START,
            )
            for source, pattern, target, count, lost in names
        ],
        "coverage": [
            row("coverage", server="a", pattern=pattern, matched=count, delivered=count)
            for pattern, count in (("orders.*.paid", 9), ("stock.>", 0))
        ],
        "slow_consumers": [row("slow_consumers", who="billing", count=2, first=START, last=START)],
    }


def hostile_tables() -> dict[str, list[dict[str, Any]]]:
    """Return a run in which every text is hostile."""
    tables: dict[str, list[dict[str, Any]]] = {
        "call_graph": [
            call(text, HOSTILE[(i + 1) % len(HOSTILE)], i + 1, plane=text, method=text, route=text)
            for i, text in enumerate(HOSTILE)
        ]
    }
    for i, text in enumerate(HOSTILE):
        named = {"subject": text, "who": text, "claimed": text, "nearest": text, "reason": text}
        named |= {"identity": text, "plane": text, "home_plane": text, "pattern": text}
        named |= {"server": text, "queue": text, "kind": text, "class": text, "text": text}
        named |= {"file": text, "conn": text, "sid": str(i), "offset": i, "count": 3}
        named |= {"differs_at": 0, "subscription_inactive": False, "first": START, "last": START}
        named |= {"start": START, "replier": text, "caller": text, "delivered": 1, "accepted": 1}
        wrong = "undelivered spoofed malformed refused slow_consumers cross_plane"
        for table in wrong.split():
            tables.setdefault(table, []).append(row(table, **named))
        for table in ("coverage", "other_traffic", "subscriptions", "replies", "unparseable"):
            tables.setdefault(table, []).append(row(table, **named))
    return tables


def large_tables(edges: int = 5_000, services: int = 400) -> dict[str, list[dict[str, Any]]]:
    """Return a run with many edges; the weights fall, as they do in a large system."""
    calls, subjects = [], []
    for i in range(edges):
        source, destination = i % services, (i * 7 + i // services) % services
        wrong = 5 if i % 97 == 0 else 0
        name, host = f"svc-{source}.prod.example", f"svc-{destination}.prod.example"
        calls.append(
            call(name, host, 1_000_000 // (i + 1) + 6, undelivered=wrong, route=f"items-{i}.*")
        )
        if wrong:
            subjects.append(
                row(
                    "undelivered",
                    subject=f"prod.safe.443.svc-{source}_prod_example.x._.GET.items-{i}",
                    count=wrong,
                    nearest=f"prod.safe.443.*.svc-{destination}_prod_example._.GET.items-{i}.*",
                    differs_at=4,
                    subscription_inactive=False,
                    first=START,
                    last=START,
                )
            )
    return {"call_graph": calls, "undelivered": subjects}
