"""Calls that look like those of a connector and cannot be resolved are reported."""

from __future__ import annotations

import pytest
from source_trees import HEAD, said

from subtrie.gencreds import scan
from subtrie.gencreds._name_resolution import MAX_BINDINGS

REPORTED = {
    "an unknown name": 'def f(bus): bus.request("GET", "https://a.shop/x")',
    "only ever None": 'bus = None\nbus.request("GET", "https://a.shop/x")',
    "Any": 'from typing import Any\ndef f(b: Any): b.request("GET", "https://a.shop/x")',
    "an unknown attribute": (
        'class A:\n    def f(self): self.bus.request("GET", "https://a.shop/x")'
    ),
    "an element": 'table = {}\ntable["x"].publish("GET", "https://a.shop/x")',
    "what an installed package gives": (
        'import corp\ncorp.bus().request("GET", "https://a.shop/x")'
    ),
    "an installed class of connectors": (
        'from corp import BusConnector\nb = BusConnector("x")\nb.request("GET", "https://a.shop/x")'
    ),
    "a protocol": (
        "from typing import Protocol\nclass Bus(Protocol): ...\n"
        'def f(b: Bus): b.request("GET", "https://a.shop/x")'
    ),
    "an unknown URL": 'def f(bus, u): bus.request("GET", u)',
    "a URL whose first part is known": 'def f(bus, h): bus.request("GET", f"https://{h}/x")',
    "the parameter of a static method": (
        'class A:\n    @staticmethod\n    def f(b): b.request("GET", "https://a.shop/x")'
    ),
    "connectors behind a star": 'def f(*c: Connector): c.request("GET", "https://a.shop/x")',
    "connectors as keywords": 'def f(**c: Connector): c.request("GET", "https://a.shop/x")',
    "unknown all through": "def f(bus, m, u): bus.request(m, u)",
    "stars": "def f(bus, a): bus.request(*a)",
    "an endpoint": 'def f(bus): bus.endpoint("GET", "/x")(f)',
    "a subscription": 'def f(bus): bus.subscribe("GET", "/x", f)',
    "an event of ours": 'e = Event("orders.shop", "/x")\ndef f(bus): bus.trigger(e)',
    "a hook": 'e = Event("a.shop", "/x")\ndef f(bus): bus.on(e)(f)',
    "an unknown event": "def f(e): orders.trigger(e)",
    "an unknown client": (
        'stock = Client("stock.shop")\n@stock.call("GET", "/x")\nasync def item(): ...\n'
        "def f(client): client.item(orders)"
    ),
    "a client as a parameter": "def f(client: Client): client.item(orders)",
    "a client of an unknown host": (
        'import os\nstock = Client(os.environ["S"])\n@stock.call("GET", "/x")\n'
        "async def item(): ...\nstock.item(orders)"
    ),
    "a stub that is not there": 'stock = Client("stock.shop")\nstock.item(orders)',
    "a method that is passed on": "ask = orders.request",
    "partial": 'from functools import partial\npartial(orders.request, "GET")',
    "a stub that is passed on": (
        'stock = Client("stock.shop")\n@stock.call("GET", "/x")\nasync def item(): ...\n'
        "calls = [stock.item]"
    ),
    "getattr": 'getattr(orders, "request")("GET", "https://a.shop/x")',
    "getattr of a name": "def f(n): getattr(orders, n)()",
    "read from the class": 'Connector.request(orders, "GET", "https://a.shop/x")',
    "read from type()": 'type(orders).request(orders, "GET", "https://a.shop/x")',
    "read from __class__": 'orders.__class__.request(orders, "GET", "https://a.shop/x")',
    "read from a derived class": (
        'class Own(Connector): ...\nOwn.request(orders, "GET", "https://a.shop/x")'
    ),
    "a class that is passed on": "ask = Connector.request",
    "methodcaller": (
        'import operator\noperator.methodcaller("request", "GET", "https://a.shop/x")(orders)'
    ),
    "attrgetter": (
        'from operator import attrgetter\nattrgetter("x.request")(orders)("GET", "https://a.shop")'
    ),
    "__getattribute__": 'orders.__getattribute__("request")("GET", "https://a.shop/x")',
    "importlib": (
        'import importlib\nimportlib.import_module("subtrie.connector").Connector("x.shop")'
    ),
    "__import__": '__import__("subtrie.connector").connector.Connector("x.shop")',
    "importlib.__import__": (
        'import importlib\nimportlib.__import__("subtrie.connector").connector.Connector("x.shop")'
    ),
    "attrgetter of several": (
        "from operator import attrgetter\n"
        'attrgetter("host", "request")(orders)[1]("GET", "https://a.shop")'
    ),
    "__getattr__": 'orders.__getattr__("request")("GET", "https://a.shop/x")',
    "vars of a client": (
        'stock = Client("stock.shop")\n@stock.call("GET", "/x")\nasync def item(): ...\n'
        'vars(stock)["item"](orders)'
    ),
    "__dict__ of a client": (
        'stock = Client("stock.shop")\n@stock.call("GET", "/x")\nasync def item(): ...\n'
        'stock.__dict__["item"](orders)'
    ),
    "__dict__ of __class__": (
        'orders.__class__.__dict__["request"](orders, "GET", "https://a.shop/x")'
    ),
    "vars of type()": 'vars(type(orders))["request"](orders, "GET", "https://a.shop/x")',
    "__dict__ of the class": 'Connector.__dict__["request"](orders, "GET", "https://a.shop/x")',
    "__dict__ of a derived class": (
        'class Own(Connector): ...\nvars(Own)["request"](orders, "GET", "https://a.shop/x")'
    ),
    "getattr of the class": 'getattr(type(orders), "request")(orders, "GET", "https://a.shop/x")',
    "__getattribute__ of object": (
        'object.__getattribute__(orders, "request")("GET", "https://a.shop/x")'
    ),
    "__getattribute__ of the class": (
        'Connector.__getattribute__(orders, "request")("GET", "https://a.shop/x")'
    ),
    "a connector of an unknown host": "def f(h): Connector(h)",
}


@pytest.mark.requirement("A29")
@pytest.mark.parametrize("what", REPORTED)
def test_unresolved_calls_are_reported(only, what):
    service = only(REPORTED[what])
    assert len(service.dynamic) == 1
    assert not service.calls
    line = service.dynamic[0].line
    assert 3 <= line <= REPORTED[what].count("\n") + 3


def test_an_object_that_may_be_a_connector_gives_a_rule_and_a_report(only):
    service = only("""\
        some = [orders]
        some.append(other)
        for each in some: each.request("GET", "https://a.shop/x")
        for one in (orders, orders): one.request("PUT", "https://a.shop/x")
        """)
    assert said(service.calls) == ["GET a.shop:443/x", "PUT a.shop:443/x"]
    assert [each.line for each in service.dynamic] == [5]


SILENT = {
    "requests": 'import requests\nrequests.request("GET", "https://a.shop/x")',
    "a session": (
        'import requests\ns = requests.Session()\ns.request("GET", "https://a.shop/x")'
    ),
    "one of several sessions": (
        'import requests\na, b = requests.pair()\nb.request("GET", "https://a.shop/x")'
    ),
    "a request without a URL": 'def f(client): client.request("GET")',
    "httpx": (
        'import httpx\nasync def f():\n    async with httpx.AsyncClient() as c:\n'
        '        await c.request("GET", "https://a.shop/x")'
    ),
    "an annotated one": (
        'import httpx\ndef f(c: httpx.AsyncClient): c.request("GET", "https://a.shop/x")'
    ),
    "a test client": 'def f(client): client.request("GET", "/orders")',
    "a URL in a query": 'def f(client): client.request("GET", "/orders?next=https://a.shop/x")',
    "nats": 'import nats\nasync def f():\n    nc = await nats.connect()\n'
    '    await nc.publish("foo", b"x")\n    await nc.request("foo", b"x")',
    "mqtt": 'def f(client): client.publish("topic", "text"); client.subscribe("topic")',
    "an emitter": 'def f(emitter): emitter.on("ready"); emitter.trigger("ready")',
    "a class of the tree": (
        'class Queue:\n    def publish(self, a, b): ...\nq = Queue()\n'
        'q.publish("GET", "https://a.shop/x")'
    ),
    "a list": 'seen = []\nseen.request("GET", "https://a.shop/x")',
    "other attributes": "orders.startup()\ngetattr(orders, 'host')\norders.on_startup(f)",
    "the handler's request": "@orders.endpoint('GET', '/x')\ndef f(r: Request): r.json()",
    "other names by operator": (
        'import operator\nnames = sorted([], key=operator.attrgetter("name"))\n'
        'operator.methodcaller("upper")("x")'
    ),
    "other modules": 'import importlib\nimportlib.import_module("json").loads("1")',
    "vars of a module": "import json\nvars(json)",
    "__dict__ of another class": "class Own: ...\nOwn.__dict__\nvars(type(Own()))",
    "other attributes of the class": "getattr(Connector, 'startup')\ntype(orders).__name__",
    "a class that is derived": "class Own(Connector):\n    def f(self): super().startup()",
    "the connector as an argument": "from subtrie.connector import run\nrun(orders)",
}  # fmt: skip


@pytest.mark.parametrize("what", SILENT)
def test_calls_on_other_objects_are_not_reported(only, what):
    service = only(SILENT[what])
    assert not service.dynamic
    assert not service.calls


@pytest.mark.parametrize(
    "package",
    ["nats", "requests", "httpx", "aiohttp", "urllib3", "redis", "paho", "pika", "fastapi",
     "starlette", "flask", "django", "pytest", "click", "json"],
)  # fmt: skip
def test_a_result_of_a_known_package_is_not_taken_for_a_connector(only, package):
    call = f'x = {package}.make()\nx.request("GET", "https://a.shop/x")'
    assert not only(f"import {package}\n{call}").dynamic
    other = f"{package}_of_a_shop"
    assert only(f"import {other}\n{call.replace(package, other)}").dynamic


#: Functions that are read other than to call them; then a parameter may be anything.
READ = {
    "a function": (
        "def ask(o: Connector): o.request('GET', 'https://a.shop/x')\nask(orders)", "ask"
    ),
    "a method": (
        "class A:\n    def ask(self, o: Connector): o.request('GET', 'https://a.shop/x')\n"
        "a = A()\n"
        "a.ask(orders)", "a.ask"),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_the_parameter_of_a_function_that_is_passed_on_may_be_another(tree, what):
    text, name = READ[what]
    for more, reported in (
        ("", False), (f"{name}(orders)", False), (f"def g() -> {name}: ...", False),
        (f"x: {name}", False), (f"calls = [{name}]", True), (f"print({name})", True),
    ):  # fmt: skip
        found = scan(tree(service=f'{HEAD}users = Connector("users.shop")\n{text}\n{more}\n'))
        assert [said(each.calls) for each in found] == [["GET a.shop:443/x"], []]
        assert [bool(each.dynamic) for each in found] == [reported] * 2, more


def test_a_function_that_is_passed_on_under_another_name(tree):
    for more, reported in (("again(orders)", False), ("calls = [again]", True)):
        folder = tree(
            work="from subtrie.connector import Connector\nusers = Connector('users.shop')\n"
            "def ask(o: Connector): o.request('GET', 'https://a.shop/x')\n",
            service=f"{HEAD}from work import ask as again\nagain(orders)\n{more}\n",
        )
        found = scan(folder)
        assert [said(each.calls) for each in found] == [["GET a.shop:443/x"], []]
        assert [bool(each.dynamic) for each in found] == [reported] * 2


@pytest.mark.parametrize("count", [MAX_BINDINGS, MAX_BINDINGS + 1])
def test_a_name_has_so_many_values_that_are_followed(only, count):
    again = "    c = orders\n" * count
    service = only(f'def f():\n{again}    c.request("GET", "https://a.shop/x")\n')
    assert said(service.calls) == ["GET a.shop:443/x"]
    assert len(service.dynamic) == count - MAX_BINDINGS


def test_what_an_unknown_event_may_be(only):
    service = only("""\
        def f(e):
            orders.trigger(e)
            orders.on(e)(f)
        """)
    assert [(each.kind, each.use.host) for each in service.dynamic] == [
        ("events", "orders.shop"), ("hooks", None),
    ]  # fmt: skip


def test_connectors_with_unknown_hosts_only(tree):
    (service,) = scan(tree(main="""\
        from subtrie.connector import Connector
        def make(host):
            c = Connector(host)
            c.request("GET", "https://a.shop/x")
        """))  # fmt: skip
    assert service.host == ""
    assert [each.line for each in service.dynamic] == [3, 4]
    assert not scan(tree(main="print('no bus here')\n"))


def test_the_event_determines_the_service_that_triggers(tree):
    head = 'from subtrie.connector import Connector, Event\na = Connector("a.shop")\n'
    folder = tree(
        a=head + 'placed = Event("a.shop", "/on-placed")\n',
        b='from subtrie.connector import Connector\nb = Connector("b.shop")\n',
        c='from subtrie.connector import Connector\nfrom a import placed\n'
        "def f(c: Connector): c.trigger(placed)\n",
    )  # fmt: skip
    one, two = scan(folder)
    assert said(one.events) == ["POST a.shop:417/on-placed"]
    assert [one.dynamic, two.dynamic, two.events] == [(), (), ()]


def test_nothing_of_the_source_is_imported_or_run(tree, tmp_path):
    mark = tmp_path / "mark"
    folder = tree(
        main=f"open({str(mark)!r}, 'w')\nraise SystemExit(3)\n{HEAD}import other_of_this_test\n",
        other_of_this_test=f"open({str(mark)!r}, 'w')\n",
    )
    assert scan(folder)[0].host == "orders.shop"
    assert not mark.exists()
