"""Receivers of calls: names, annotated parameters and attributes of self, across files."""

from __future__ import annotations

import pytest
from source_trees import HEAD, said

from subtrie import PermissionsError
from subtrie.gencreds import EndpointUse, Service, rules, scan

CALL = 'await {0}.request("GET", "https://stock.shop/items")'
ONE = ["GET stock.shop:443/items"]

FORMS = {
    "a name": "async def f(): " + CALL.format("orders"),
    "an alias": "mine = orders\nasync def f(): " + CALL.format("mine"),
    "an annotated parameter": "async def f(c: Connector): " + CALL.format("c"),
    "an optional one": "async def f(c: Connector | None): " + CALL.format("c"),
    "a text as annotation": "async def f(c: 'Connector'): " + CALL.format("c"),
    "Optional": "import typing as t\nasync def f(c: t.Optional[Connector]): " + CALL.format("c"),
    "with": "async def f():\n    async with orders as c: " + CALL.format("c"),
    "a walrus": "async def f():\n    if (c := orders): " + CALL.format("c"),
    "a walrus in a comprehension": (
        "async def f():\n    if any((c := orders) for _ in (1, 2)): " + CALL.format("c")
    ),
    "a walrus of what a comprehension iterates over": (
        "async def f():\n    if any((c := each) for each in (orders, orders)): " + CALL.format("c")
    ),
    "a conditional": "async def f():\n    c = orders if x else None\n    " + CALL.format("c"),
    "what a function returns": (
        "def get(): return orders\nasync def f():\n    c = get()\n    " + CALL.format("c")
    ),
    "what it says it returns": (
        "import q\ndef get() -> Connector: return q.x()\nasync def f():\n    c = get()\n    "
        + CALL.format("c")
    ),
    "a closure": "def outer():\n    c = orders\n    async def f(): " + CALL.format("c"),
    "an unpacked one": "c, d = orders, None\nasync def f(): " + CALL.format("c"),
    "one of a tuple": "async def f():\n    for c in (orders, orders): " + CALL.format("c"),
    "self.x": (
        "class A:\n    def __init__(self, c: Connector): self.c = c\n"
        "    async def f(self): " + CALL.format("self.c")
    ),
    "an attribute of the class": (
        "class A:\n    c: Connector\n    async def f(self): " + CALL.format("self.c")
    ),
    "self.x of a class above": (
        "class A:\n    def __init__(self): self.c = orders\n"
        "class B(A):\n    async def f(self): " + CALL.format("self.c")
    ),
    "a property": (
        "class A:\n    @property\n    def c(self): return orders\n"
        "    async def f(self): " + CALL.format("self.c")
    ),
    "a parameter of a static method": (
        "class A:\n    @staticmethod\n    async def f(c: Connector): " + CALL.format("c")
    ),
    "an exit stack": (
        "async def f(stack):\n    c = await stack.enter_async_context(orders)\n    "
        + CALL.format("c")
    ),
    "global": "def g():\n    global c\n    c = orders\nasync def f(): " + CALL.format("c"),
}


@pytest.mark.requirement("S0-100")
@pytest.mark.parametrize("form", FORMS)
def test_a_receiver_that_resolves(only, form):
    service = only(FORMS[form])
    assert said(service.calls) == ONE
    assert not service.dynamic


IMPORTS = {
    "from import": "from main import orders\nasync def f(): " + CALL.format("orders"),
    "as": "from main import orders as mine\nasync def f(): " + CALL.format("mine"),
    "module": "import main\nasync def f(): " + CALL.format("main.orders"),
    "module as": "import main as m\nasync def f(): " + CALL.format("m.orders"),
    "star": "from main import *\nasync def f(): " + CALL.format("orders"),
    "through another": "from between import again\nasync def f(): " + CALL.format("again"),
    "in a function": "async def f():\n    from main import orders\n    " + CALL.format("orders"),
}


@pytest.mark.requirement("S0-100")
@pytest.mark.parametrize("form", IMPORTS)
def test_a_receiver_of_another_file(tree, form):
    folder = tree(main=HEAD, between="from main import orders as again\n", other=IMPORTS[form])
    (service,) = scan(folder)
    assert said(service.calls) == ONE
    assert service.calls[0].file.endswith("other.py")


@pytest.mark.parametrize("line", [
    "from subtrie.connector import Connector as C",
    "import subtrie.connector as sc\nC = sc.Connector",
    "import subtrie.connector\nC = subtrie.connector.Connector",
    "from subtrie import connector\nC = connector.Connector",
    "from ours import C",
    "from subtrie.connector import *\nC = Connector",
])  # fmt: skip
def test_a_connector_under_another_name(tree, line):
    folder = tree(
        ours="from subtrie.connector import Connector as C\n",
        main=f'{line}\norders = C("orders.shop")\nasync def f(): ' + CALL.format("orders"),
    )
    (service,) = scan(folder)
    assert (service.host, said(service.calls)) == ("orders.shop", ONE)


def test_packages_relative_imports_and_src(tree):
    text = "from .apis import stock, item\nfrom ..main import orders\nfrom . import consts as k\n"
    text += "async def f():\n    await stock.item(orders, 1)\n    await item(orders, 2)\n"
    text += '    await orders.request("GET", k.URL)\n'
    apis = 'from subtrie.connector import Client\nstock = Client("stock.shop")\n'
    apis += '@stock.call("GET", "/items/{id}")\nasync def item(id): ...\n'
    folder = tree({
        "src/shop/__init__.py": "",
        "src/shop/main.py": HEAD + "import shop.deep.work\n",
        "src/shop/deep/__init__.py": "",
        "src/shop/deep/work.py": text,
        "src/shop/deep/apis.py": apis,
        "src/shop/deep/consts.py": 'URL = "https://a.shop/x"\n',
    })  # fmt: skip
    (service,) = scan(folder)
    assert sorted(set(said(service.calls))) == ["GET a.shop:443/x", "GET stock.shop:443/items/{id}"]
    assert not service.dynamic


def test_a_program_beside_src_imports_what_is_in_src(tree):
    folder = tree({
        "pyproject.toml": "",
        "main.py": HEAD + 'from shop.urls import URL\norders.request("GET", URL)\n',
        "src/shop/__init__.py": "", "src/shop/urls.py": 'URL = "https://stock.shop/items"\n',
    })  # fmt: skip
    (service,) = scan(folder)
    assert (said(service.calls), service.dynamic) == (ONE, ())


def test_a_file_is_scanned_with_what_it_imports(tree):
    folder = tree(
        main=HEAD + "import helper\n",
        helper="from main import orders\nasync def f(): " + CALL.format("orders"),
        stranger='from subtrie.connector import Connector\nConnector("stranger.shop")\n',
    )
    (service,) = scan(folder / "main.py")
    assert (service.host, said(service.calls)) == ("orders.shop", ONE)


def test_a_module_of_a_package_is_read_with_the_file_that_imports_it(tree):
    folder = tree({
        "main.py": HEAD + "from shops import urls\nfrom . import more\n"
        'orders.request("GET", urls.URL)\norders.request("PUT", more.URL)\n',
        "shops/__init__.py": "",
        "shops/urls.py": 'from main import orders\nURL = "https://a.shop/x"\n'
        'def f(): orders.request("POST", URL)\n',
        "more.py": 'URL = "https://b.shop/x"\n',
    })  # fmt: skip
    (service,) = scan(folder / "main.py")
    assert sorted(said(service.calls)) == [
        "GET a.shop:443/x", "POST a.shop:443/x", "PUT b.shop:443/x",
    ]  # fmt: skip


def test_an_argument_behind_a_star_may_be_of_any_parameter(tree):
    text = "from subtrie.connector import Connector\n"
    folder = tree(
        main=HEAD + "from work import f\ndef g(some): f(*some, orders)\n",
        stock=text + 'stock = Connector("stock.shop")\n',
        work=text + 'def f(a: Connector, b: Connector): b.request("GET", "https://x.shop/b")\n',
    )
    for service in scan(folder):
        assert [(each.line, each.use.host) for each in service.dynamic] == [(2, "x.shop")]


def test_keywords_give_each_parameter_its_connector(tree):
    folder = tree(
        main=HEAD + 'stock = Connector("stock.shop")\n'
        "def f(a: Connector, b: Connector, c: Connector):\n"
        '    a.request("GET", "https://x.shop/a")\n    b.request("GET", "https://x.shop/b")\n'
        '    c.request("GET", "https://x.shop/c")\n'
        "f(b=orders, a=stock, c=orders)\n"
    )
    found = {each.host: said(each.calls) for each in scan(folder)}
    assert found == {
        "orders.shop": ["GET x.shop:443/b", "GET x.shop:443/c"],
        "stock.shop": ["GET x.shop:443/a"],
    }


GIVEN = {
    "a class method": (
        "class A:\n    @classmethod\n    async def f(cls, a: Connector, b: Connector):\n"
        "        await a.request('GET', 'https://x.shop/a')\n"
        "        await b.request('GET', 'https://x.shop/b')\n"
        "A.f(orders, stock)\n"
    ),
    "fields of a class and of one above": (
        "import dataclasses\n"
        "@dataclasses.dataclass\nclass Above:\n    a: Connector\n"
        "@dataclasses.dataclass\nclass A(Above):\n    b: Connector\n"
        "    async def f(self):\n        await self.a.request('GET', 'https://x.shop/a')\n"
        "        await self.b.request('GET', 'https://x.shop/b')\n"
        "A(orders, stock)\n"
    ),
}


@pytest.mark.parametrize("form", GIVEN)
def test_each_place_gets_its_own_connector(tree, form):
    folder = tree(main=HEAD + 'stock = Connector("stock.shop")\n' + GIVEN[form])
    found = {each.host: said(each.calls) for each in scan(folder)}
    assert found == {"orders.shop": ["GET x.shop:443/a"], "stock.shop": ["GET x.shop:443/b"]}


def test_a_class_method_makes_a_connector_of_its_class(tree):
    folder = tree(
        main="""\
        from subtrie.connector import Connector
        class Orders(Connector):
            @classmethod
            def made(cls): return cls("orders.shop")
        orders = Orders.made()
        orders.request("GET", "https://stock.shop/items")
        """
    )
    (service,) = scan(folder)
    assert (service.host, said(service.calls), service.dynamic) == ("orders.shop", ONE, ())


def test_a_parameter_is_what_the_calls_give_it(tree):
    folder = tree(
        help='from subtrie.connector import Connector\n'
        'async def one(c: Connector): await c.request("GET", "https://one.shop/x")\n'
        'async def two(c: Connector): await one(c)\n'
        'async def three(c: Connector): await c.request("GET", "https://three.shop/x")\n',
        a='from functools import partial\nfrom subtrie.connector import Connector\nimport help\n'
        'a = Connector("a.shop")\nasync def f(): await help.two(a)\npartial(help.three, a)\n',
        b='from subtrie.connector import Connector\nimport help\n'
        'b = Connector("b.shop")\nasync def f(): await help.three(c=b)\n',
    )  # fmt: skip
    found = {each.host: sorted(u.host for u in each.calls) for each in scan(folder)}
    assert found == {"a.shop": ["one.shop", "three.shop"], "b.shop": ["three.shop"]}


@pytest.mark.parametrize("init", [
    'super().__init__("orders.shop", **more)',
    'super().__init__(**more, host="orders.shop")',
    'Connector.__init__(self, "orders.shop", **more)',
    'Connector.__init__(self, host="orders.shop")',
])  # fmt: skip
def test_a_class_derived_from_connector(tree, init):
    folder = tree(main=f"""\
        from subtrie.connector import Connector
        class Orders(Connector):
            def __init__(self, **more):
                {init}
                self.endpoint("GET", "//other.shop/x")(self.serve)
            async def serve(self):
                await self.request("GET", "https://stock.shop/items")
        class Named(Connector): ...
        one = Orders()
        two = Named("two.shop")
        two.endpoint("POST", "/y")(print)
        """)  # fmt: skip
    found = {each.host: each for each in scan(folder)}
    assert said(found["orders.shop"].calls) == ONE
    assert said(found["orders.shop"].endpoints) == ["GET other.shop:443/x"]
    assert said(found["two.shop"].endpoints) == ["POST two.shop:443/y"]


@pytest.mark.parametrize("parameters", ["name", "*, name", "more=1, *, name"])
def test_a_class_derived_from_connector_may_take_its_host(tree, parameters):
    given = '"orders.shop"' if parameters == "name" else 'name="orders.shop"'
    folder = tree(main=f"""\
        from subtrie.connector import Connector
        class Named(Connector):
            def __init__(self, {parameters}):
                super().__init__(name)
        orders = Named({given})
        orders.request("GET", "https://stock.shop/items")
        """)  # fmt: skip
    (service,) = scan(folder)
    assert (service.host, said(service.calls), service.dynamic) == ("orders.shop", ONE, ())


def test_uses_are_in_the_order_of_files_and_lines(tree):
    one, two, three = (
        f"async def f(): {CALL.format('orders')}".replace("stock", host)
        for host in ("one", "two", "three")
    )
    read = "from main import orders\n"
    folder = tree(
        main=HEAD,
        b=read + one,
        a=read + "\n\n" + two + "\n" + three.replace("f()", "g()"),
    )  # fmt: skip
    (service,) = scan(folder)
    assert [each.host for each in service.calls] == ["two.shop", "three.shop", "one.shop"]


def test_two_services_and_a_helper_without_callers(tree):
    text = 'from subtrie.connector import Connector\na = Connector("a.shop")\n'
    folder = tree(
        a=text,
        b=text.replace("a.shop", "b.shop"),
        help="from subtrie.connector import Connector\nasync def f(c: Connector): "
        + CALL.format("c"),
    )
    for service in scan(folder):
        (dynamic,) = service.dynamic
        assert "cannot be determined" in dynamic.message
        assert (dynamic.kind, dynamic.use.host) == ("calls", "stock.shop")
        with pytest.raises(PermissionsError) as caught:
            rules(service, "p")
        assert (caught.value.reason, caught.value.line) == ("dynamic", 2)


def test_a_helper_without_callers_may_call_the_control_port(tree):
    text = 'from subtrie.connector import Connector\na = Connector("a.shop")\n'
    folder = tree(
        a=text,
        b=text.replace("a.shop", "b.shop"),
        help="from subtrie.connector import Connector\nasync def f(c: Connector): "
        'await c.request("GET", "https://stock.shop:888/ping")\n',
    )
    for service in scan(folder):
        assert not service.dynamic
        allowed = rules(service, "p")
        assert allowed.can_publish(f"p.safe.888.{service.host.replace('.', '_')}.a._.GET.ping")


def test_stubs_make_no_rules_and_calls_of_them_do(only):
    service = only("""\
        stock = Client("stock.shop")
        @stock.call("GET", "/items/{id}")
        async def item(id: str): ...
        @stock.call("DELETE", ":444/items/{id}")
        async def never(id: str): ...
        async def f(): await stock.item(orders, "7")
        """)
    assert said(service.calls) == ["GET stock.shop:443/items/{id}"]


CLIENTS = (
    'stock, spare = Client("stock.shop"), Client("spare.shop")\n'
    '@stock.call("GET", ":444/items/{id}")\nasync def item(id): ...\n'
    '@spare.call("GET", "/items/{id}")\nasync def item(id): ...\n'
)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            "async def f(client: Client): await client.item(orders, 1)\nf(stock)",
            ["GET stock.shop:444/items/{id}"],
        ),
        (
            "async def f(client: Client): await g(c=client)\n"
            "async def g(*, c: Client): await c.item(orders, 1)\nf(stock); f(spare)",
            ["GET spare.shop:443/items/{id}", "GET stock.shop:444/items/{id}"],
        ),
        (
            "class Basket:\n    def __init__(self, client: Client): self.client = client\n"
            "    async def f(self): await self.client.item(orders, 1)\nBasket(stock)",
            ["GET stock.shop:444/items/{id}"],
        ),
        (
            "async def f(client: Client = spare): await client.item(orders, 1)\nf()",
            ["GET spare.shop:443/items/{id}"],
        ),
        (
            "async def f(*, n=1, client: Client = spare): await client.item(orders, n)\nf()",
            ["GET spare.shop:443/items/{id}"],
        ),
    ],
)
def test_a_client_is_followed_through_parameters(only, text, calls):
    service = only(CLIENTS + text)
    assert sorted(said(service.calls)) == calls
    assert not service.dynamic


def test_a_call_with_a_time_budget_and_an_event_with_a_payload(only):
    service = only("""\
        stock = Client("stock.shop")
        @stock.call("GET", ":444/items/{id}")
        async def item(id): ...
        class Order: ...
        placed = Event[Order]("orders.shop", "/on-placed")
        async def f():
            await stock.item.within(3)(orders, 1)
            await item.within(3)(orders, 1)
            await orders.trigger(placed, 1)
        """)
    assert said(service.calls) == ["GET stock.shop:444/items/{id}"] * 2
    assert said(service.events) == ["POST orders.shop:417/on-placed"]
    assert not service.dynamic
    kept = only(CLIENTS + "later = item.within(3)\n")
    assert len(kept.dynamic) == 1


def test_a_client_parameter_that_may_be_another_is_reported_too(only):
    service = only(
        CLIENTS + "import os\nasync def f(client: Client): await client.item(orders, 1)\n"
        "f(stock)\nf(os.client)"
    )
    assert said(service.calls) == ["GET stock.shop:444/items/{id}"]
    assert len(service.dynamic) == 1


def test_a_client_of_a_host_chosen_at_run_time_keeps_port_and_path(only):
    service = only(
        'import os\nstock = Client(os.environ["S"])\n'
        '@stock.call("GET", ":444/items/{id}")\nasync def item(id): ...\n'
        '@stock.call("POST", "//other.shop/items")\nasync def add(): ...\n'
        "async def f():\n    await stock.item(orders, 1)\n    await stock.add(orders)\n"
    )
    assert said(service.calls) == ["POST other.shop:443/items"]
    (dynamic,) = service.dynamic
    assert (dynamic.use.host, dynamic.use.port, dynamic.use.path) == (None, 444, "/items/{id}")
    granted = rules(service, "p", allow_dynamic=True).publish_allow
    assert "p.safe.444.orders_shop.*.*.GET.items.*" in granted


@pytest.mark.requirement("S0-110", "S0-111")
def test_events_and_hooks(only):
    service = only("""\
        placed = Event("orders.shop", "/on-placed")
        paid = Event("payments.shop", "on-paid/{id}")
        @orders.on(paid)
        async def heard(): await orders.trigger(placed, {})
        @orders.on(placed, queue=None)
        async def own(): ...
        """)
    assert said(service.hooks) == ["POST payments.shop:417/on-paid/{id}"]
    assert said(service.events) == ["POST orders.shop:417/on-placed"]
    assert said(service.endpoints) == ["POST orders.shop:417/on-placed"]
    found = rules(service, "p")
    assert "p.safe.417.*.payments_shop.*.POST.on-paid.*" in found.subscribe_allow
    assert "p.safe.417.orders_shop.orders_shop.*.POST.on-placed" in found.publish_allow
    assert found.sources["subscribe_allow", "p.safe.417.*.payments_shop.*.POST.on-paid.*"][1] == 5


@pytest.mark.requirement("S0-111")
def test_the_event_of_another_host_gets_no_rule_if_a_program_states_it(only):
    """The scan refuses it; ``rules`` does so too, with the host, and a place if there is one."""
    for file, line in ((None, None), ("events.py", 7)):
        event = EndpointUse("stock.shop", 417, "POST", "/on-placed", file, line)
        service = Service("orders.shop", events=(event,))
        with pytest.raises(PermissionsError, match=r"stock\.shop") as caught:
            rules(service, "p1")
        found = caught.value
        assert (found.reason, found.line) == ("event-host", line)
    own = EndpointUse("orders.shop", 417, "POST", "/on-placed")
    granted = rules(Service("orders.shop", events=(own,)), "p1").publish_allow
    assert "p1.safe.417.orders_shop.orders_shop.*.POST.on-placed" in granted


@pytest.mark.requirement("S0-111")
def test_triggering_the_event_of_another_host_is_an_error(only):
    with pytest.raises(PermissionsError) as caught:
        only('paid = Event("payments.shop", "/on-paid")\nasync def f(): await orders.trigger(paid)')
    assert (caught.value.reason, caught.value.line) == ("event-host", 4)
    assert "service.py:4" in str(caught.value)


def test_config_is_covered_by_the_control_rule(only):
    service = only('limit = orders.config("limit", default=3, parse=int)\n')
    assert not service.calls
    assert not service.dynamic
    assert "p.safe.888.orders_shop.>" in rules(service, "p").publish_allow


@pytest.mark.requirement("S0-120")
def test_a_literal_plane_must_be_the_requested_one(tree):
    text = 'from subtrie.connector import Connector\na = Connector("a.shop", plane={})\n'
    (service,) = scan(tree(main=text.format('"prod"')))
    assert rules(service, "prod")
    with pytest.raises(PermissionsError) as caught:
        rules(service, "test")
    assert (caught.value.reason, caught.value.line) == ("other-plane", 2)
    also = 'a = Connector("a.shop", plane="test")\n'
    (service,) = scan(tree(main=text.format('"prod"') + also))
    with pytest.raises(PermissionsError) as caught:
        rules(service, "prod")
    assert (caught.value.reason, caught.value.line) == ("other-plane", 3)
    (service,) = scan(tree(main="import os\n" + text.format('os.environ["PLANE"]')))
    assert rules(service, "test")


@pytest.mark.requirement("A23")
def test_ids_are_pinned_if_the_source_gives_them(tree):
    text = 'from subtrie.connector import Connector\na = Connector("a.shop", id="id-one")\n'
    (service,) = scan(tree(main=text))
    assert "p.reply._.*.a_shop.*" in rules(service, "p").subscribe_allow
    assert "p.reply._.*.a_shop.id-one" in rules(service, "p", pin_ids=True).subscribe_allow
    assert "p.reply._.*.a_shop.*" not in rules(service, "p", pin_ids=True).subscribe_allow
    (service,) = scan(tree(main=text + 'b = Connector("a.shop")\n'))
    with pytest.raises(PermissionsError) as caught:
        rules(service, "p", pin_ids=True)
    assert caught.value.reason == "unstable-ids"


def test_services_of_imported_files_are_not_scanned(tree):
    """The calls of another service do not count; calls to it do."""
    users = (
        'from subtrie.connector import Client, Connector\nusers = Connector("users.shop")\n'
        'api = Client("users.shop")\n@api.call("GET", "/users/{id}")\nasync def user(id): ...\n'
        'async def own(bus): await users.request("GET", "https://secret.shop/x")\n'
        'async def shared(c: Connector): await c.request("GET", "https://shared.shop/x")\n'
        'async def unused(c: Connector): await c.request("GET", "https://unused.shop/x")\n'
        'async def odd(bus): await bus.request("GET", "https://odd.shop/x")\n'
    )
    orders = HEAD + "from users.service import api, shared\n"
    orders += "async def f():\n    await api.user(orders, 1)\n    await shared(orders)\n"
    folder = tree({
        "pyproject.toml": "", "users/service.py": users, "orders/service.py": orders,
    })  # fmt: skip
    (service,) = scan(folder / "orders")
    assert sorted(said(service.calls)) == [
        "GET shared.shop:443/x", "GET users.shop:443/users/{id}",
    ]  # fmt: skip
    assert not service.dynamic
