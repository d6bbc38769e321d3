"""The whole text about each call that cannot be determined, with names that all differ."""

from __future__ import annotations

import pytest
from source_trees import HEAD

from subtrie import PermissionsError
from subtrie.gencreds import scan

#: A source below its head, and what is said of its one unresolved call.
SAID = {
    'from corp import *\norders.request("GET", there)': (
        "request: the url depends on there, which a star import may give"
    ),
    'orders.request("GET", there)': (
        "request: the url depends on there, which is not defined here"
    ),
    'at = "https://a.shop/x"\nat = "https://b.shop/x"\nat = ""\norders.request("GET", at)': (
        "request: the url depends on at, which is assigned 3 times"
    ),
    'at = "https://a.shop/x"\nfrom corp import *\norders.request("GET", at)': (
        "request: the url depends on at, which a star import below it may give"
    ),
    'from corp import at\norders.request("GET", at)': (
        "request: the url depends on at, which is imported from outside the tree"
    ),
    'def f(at): orders.request("GET", at)': "request: the url depends on at, a parameter",
    'def f(verb): orders.request(verb, "https://a.shop/x")': (
        "request: the method depends on verb, a parameter"
    ),
    'def at(): ...\norders.request("GET", at)': (
        "request: the url depends on at, which is not a constant"
    ),
    'class A:\n  at = "https://a.shop"\n  at = ""\norders.request("GET", A.at)': (
        "request: the url depends on at, which is not assigned exactly once"
    ),
    'def f(x): orders.request("GET", x.at)': (
        "request: the url depends on .at of an unknown object"
    ),
    'for at in []: orders.request("GET", at)': (
        "request: the url depends on at, which does not iterate over a literal sequence (a named "
        "list may change)"
    ),
    'def f(p): orders.endpoint("GET", p)(f)': "endpoint: the route depends on p, a parameter",
    'def f(h): orders.trigger(Event(h, "/x"))': (
        "trigger: the host of the event depends on h, a parameter"
    ),
    'def f(h): orders.trigger(Event(f"a.{h}", "/x"))': (
        "trigger: the host of the event depends on h, a parameter"
    ),
    "def f(e): orders.trigger(e)": "trigger: an event that cannot be determined",
    'def f(bus): bus.request("GET", "https://a.shop/x")': (
        "bus.request: cannot determine what bus is"
    ),
    'def f(bus): bus.subscribe("GET", "/x", f)': "bus.subscribe: cannot determine what bus is",
    'table = {}\ntable["x"].publish("GET", "https://a.shop/x")': (
        "publish of an object that cannot be determined"
    ),
    "def f(h): Connector(h)": "a connector whose host depends on h, a parameter",
    "def f(client: Client): client.item(orders)": "item: a call of an unknown stub",
    'def f(h):\n  c = Client(h)\n  @c.call("GET", "/x")\n  async def item(): ...\n'
    "  c.item(orders)": "item: a client whose host cannot be determined",
    "ask = orders.request": "request is passed on, and its arguments cannot be determined",
    'stock = Client("stock.shop")\n@stock.call("GET", "/x")\nasync def item(): ...\n'
    "calls = [stock.item]": "stock.item is passed on, and its callers cannot be determined",
    "ask = Connector.publish": "publish is read from a class",
    'vars(type(orders))["request"](orders, "GET", "https://a.shop/x")': (
        "vars of a class: the method cannot be determined"
    ),
    'getattr(orders, "request")("GET", "https://a.shop/x")': (
        "getattr: the method cannot be determined"
    ),
    'stock = Client("stock.shop")\n@stock.call("GET", "/x")\nasync def item(): ...\n'
    'vars(stock)["item"](orders)': "vars: the stub cannot be determined",
    'import operator\noperator.methodcaller("request", "GET", "https://a.shop/x")(orders)': (
        "methodcaller: request of an object that is not known"
    ),
    'import importlib\nimportlib.import_module("subtrie.connector").Connector("x.shop")': (
        "import_module: what is made of subtrie.connector cannot be determined"
    ),
}


@pytest.mark.parametrize("text", SAID)
def test_of_an_unresolved_call(text, only):
    assert [each.message for each in only(text).dynamic] == [SAID[text]]


def test_of_a_value_that_another_module_assigns(tree):
    folder = tree(
        a=HEAD + 'import b\norders.request("GET", b.at)', b='at = "https://a.shop/x"\n',
        c='import b\nb.at = "x"\n',
    )  # fmt: skip
    [service] = scan(folder)
    assert [(each.file, each.line, each.message) for each in service.dynamic] == [
        (str(folder / "a.py"), 4,
         "request: the url depends on at, which is also assigned from outside its module"),
    ]  # fmt: skip


def test_of_the_event_of_another_service(tree):
    folder = tree(a=HEAD + '\norders.trigger(Event("other.shop", "/x"))')
    with pytest.raises(PermissionsError) as caught:
        scan(folder)
    assert str(caught.value) == (
        f"{folder / 'a.py'}:4: 'the event of other.shop, triggered by orders.shop': only the "
        "service that owns an event may trigger it; call the other service instead"
    )


def test_of_a_connector_of_an_unknown_host(tree):
    source = 'c = Connector(input())\nc.request("GET", "https://a.shop/x")\n'
    source += 'c.on(Event("b.shop", "/y"))(print)'
    services = scan(tree(a="from subtrie.connector import Connector, Event\n" + source))
    assert [(each.line, each.message) for one in services for each in one.dynamic] == [
        (2, "a connector whose host depends on the result of a call"),
        (3, "a call of a connector that cannot be determined"),
        (4, "a hook of a connector that cannot be determined"),
    ]
