"""Typed clients at another host or instance, and typed multicasts: the rules that they need."""

from __future__ import annotations

import pytest
from source_trees import HEAD, said

from subtrie.gencreds import rules, scan

STUB = """\
stock = Client("stock.shop")
@stock.call("POST", "/reserve")
async def reserve(item: str) -> int: ...
"""
HERE, THERE = ["POST stock.shop:443/reserve"], ["POST other.shop:443/reserve"]

FORMS = {
    "a client at another host": ('await stock.at("other.shop").reserve(orders, "x")', THERE),
    "a call at another host": ('await reserve.at("other.shop")(orders, "x")', THERE),
    "of the client": ('await stock.reserve.at("other.shop")(orders, "x")', THERE),
    "by name": ('await reserve.at(host="other.shop")(orders, "x")', THERE),
    "a name for it": ('c = stock.at("other.shop")\n    await c.reserve(orders, "x")', THERE),
    "twice": ('await stock.at("a.shop").at("other.shop").reserve(orders, "x")', THERE),
    "a call twice": ('await reserve.at("a.shop").at("other.shop")(orders, "x")', THERE),
    "of both": ('await stock.at("a.shop").reserve.at("other.shop")(orders, "x")', THERE),
    "and within": ('await reserve.within(3).at("other.shop")(orders, "x")', THERE),
    "an instance": ('await reserve.at(instance=a.id)(orders, "x")', HERE),
    "an instance of a client": ('await stock.at(instance=a.id).reserve(orders, "x")', HERE),
    "an instance elsewhere": (
        'await stock.at("other.shop").at(instance=a.id).reserve(orders, "x")',
        THERE,
    ),
    "headers": ('await reserve.at(headers={"X": a})(orders, "x")', HERE),
    "no other host": ('await stock.at("").reserve(orders, "x")', HERE),
    "a multicast": ('async for r in reserve.multicast(orders, "x"): pass', HERE),
    "a multicast elsewhere": (
        'async for r in stock.at("other.shop").reserve.multicast(orders, "x"): pass',
        THERE,
    ),
    "a request to an instance": (
        'await orders.request("POST", "https://stock.shop/reserve", instance=a.id)',
        HERE,
    ),
    "one of two hosts": (
        'for h in ("stock.shop", "other.shop"): await stock.at(h).reserve(orders, "x")',
        sorted([*HERE, *THERE]),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_client_elsewhere_is_granted_where_it_asks(only, form):
    text, expected = FORMS[form]
    service = only(f"{STUB}async def f(a):\n    {text}\n")
    assert sorted(set(said(service.calls))) == expected
    assert not service.dynamic


@pytest.mark.parametrize(
    "text",
    [
        'await stock.at(a.host).reserve(orders, "x")',
        'await reserve.at(a.host)(orders, "x")',
        'await reserve.at(*a)(orders, "x")',
        'await reserve.at(**a)(orders, "x")',
        'await stock.at(**a).reserve(orders, "x")',
        'c = reserve.at("other.shop")\n    await c(orders, "x")',
    ],
)
def test_a_host_that_cannot_be_determined_is_reported_and_not_the_declared_one(only, text):
    service = only(f"{STUB}async def f(a):\n    {text}\n")
    assert service.dynamic
    assert not service.calls


def test_the_rule_of_a_request_to_an_instance_names_the_host(tmp_path):
    source = (
        f"{HEAD}async def f(answer):\n"
        '    await orders.request("GET", "https://stock.shop/x", instance=answer.id)\n'
    )
    (tmp_path / "a.py").write_text(source)
    (service,) = scan(tmp_path)
    assert "p.safe.443.orders_shop.stock_shop.*.GET.x" in rules(service, "p").publish_allow


def test_uses_name_a_client_elsewhere(tmp_path):
    head = HEAD.replace('"orders.shop")', '"orders.shop", uses=[{}])')
    for use in (
        'stock.at("other.shop")',
        'reserve.at("other.shop")',
        'stock.reserve.at("other.shop")',
    ):
        first = head.splitlines()[0] + "\n"
        text = first + STUB + head.splitlines()[1].format(use)
        text += '\nasync def f(): await reserve.at("other.shop")(orders, "x")\n'
        (tmp_path / "a.py").write_text(text)
        (service,) = scan(tmp_path)
        assert said(service.calls) == THERE, use
        assert not service.dynamic, use
