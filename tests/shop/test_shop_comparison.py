"""A demo that could not fail would prove nothing: each number that is off is found and named."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

from examples.shop.comparison import differences
from examples.shop.counters import Counters

EDGE = ("web.shop", "orders.shop", 443, "GET")
FORGED = ("payments.shop", "token.shop", 666, "POST")
UNHEARD = "shop.safe.443.web_shop.orders_shop._.GET.nothing"
MALFORMED = "shop.safe.443.web%2eshop.orders_shop._.GET.orders"
SPOOFED = "shop.danger.666.payments_shop.token_shop._.POST.mint"
LINES = 40


def counted() -> Counters:
    return Counters(
        sent=Counter({EDGE: 5, FORGED: 1}),
        handled=Counter({EDGE: 3, FORGED: 1}),
        replies=Counter({("orders.shop", "web.shop"): 3}),
        undelivered=Counter({UNHEARD: 2}),
        malformed=Counter({MALFORMED: 4}),
        rejected=Counter({MALFORMED: 4}),
        spoofed=Counter({("web.shop", "payments.shop", SPOOFED): 1}),
        other_traffic=Counter({"cron.hourly": 6}),
    )


def row(edge: tuple[str, str, int, str], **counts: int) -> dict[str, Any]:
    return {"plane": "shop", **dict(zip(EDGE_COLUMNS, edge, strict=True)), **counts}


EDGE_COLUMNS = ("source", "destination", "port", "method")


def report() -> dict[str, Any]:
    spoofed = {"who": "web.shop", "claimed": "payments.shop", "subject": SPOOFED, "count": 1}
    return {
        "lines": LINES,
        "operations": 20,
        "payloads": 15,
        "server": 4,
        "unparseable_lines": 1,
        "ambiguous": 0,
        "unmatched": 0,
        "call_graph": [
            row(EDGE, published=5, refused=0, delivered=3, undelivered=2),
            row(FORGED, published=1, refused=0, delivered=1, undelivered=0),
        ],
        "replies": [{"replier": "orders.shop", "caller": "web.shop", "published": 3}],
        "undelivered": [{"subject": UNHEARD, "count": 2, "nearest": None, "differs_at": None}],
        "malformed": [{"subject": MALFORMED, "count": 4, "received": 4, "reason": "escape"}],
        "spoofed": [{**spoofed, "accepted": True}],
        "other_traffic": [{"subject": "cron.hourly", "count": 6, "class": "other"}],
        "refused": [],
    }


def test_agreement():
    assert differences(counted(), report(), LINES) == []


@pytest.mark.parametrize("name", list(vars(Counters())))
def test_a_falsified_count_is_found(name):
    counters = counted()
    counter = getattr(counters, name)
    counter[next(iter(counter))] += 1
    assert differences(counters, report(), LINES)


@pytest.mark.parametrize(
    "path",
    [
        ("lines",),
        ("operations",),
        ("payloads",),
        ("server",),
        ("unparseable_lines",),
        ("unmatched",),
        *(("call_graph", 0, c) for c in ("published", "refused", "delivered", "undelivered")),
        *((t, 0, "count") for t in ("undelivered", "malformed", "spoofed", "other_traffic")),
        ("replies", 0, "published"),
        ("malformed", 0, "received"),
    ],
    ids=str,
)
def test_an_audit_that_is_one_off_is_found(path):
    wrong = report()
    place: Any = wrong
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] += 1
    (difference,) = differences(counted(), wrong, LINES)[:1]
    assert "the services counted" in difference


@pytest.mark.parametrize("table", ["call_graph", "replies", "undelivered", "malformed", "spoofed"])
def test_a_lost_row_and_an_invented_one_are_found(table):
    lost = report()
    lost[table].pop()
    assert differences(counted(), lost, LINES)
    invented = report()
    extra = copy.deepcopy(invented[table][0])
    extra.update({key: "nobody" for key in ("source", "replier", "subject") if key in extra})
    invented[table].append(extra)
    assert differences(counted(), invented, LINES)


def test_an_unexpected_refusal_is_found():
    wrong = report()
    wrong["refused"] = [{"who": "web.shop", "subject": "a.b", "count": 1, "kind": "publish"}]
    assert differences(counted(), wrong, LINES) == [
        "refused, a.b: the services counted 0, the audit says 1"
    ]


def test_counts_survive_their_file(tmp_path):
    counted().save(tmp_path / "counts.json")
    assert Counters.load(tmp_path / "counts.json") == counted()
