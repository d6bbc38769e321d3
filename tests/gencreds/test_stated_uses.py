"""``Connector(host, uses=[…])``: the list makes the rules, and other calls are reported."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from source_trees import said

from subtrie._cli.app import app
from subtrie.gencreds import Service, rules, scan

Tree = Callable[..., Path]

HEAD = """\
from subtrie.connector import Client, Connector, Event
stock = Client("stock.shop")
@stock.call("GET", "/items/{id}")
async def item(id: int) -> dict: ...
@stock.call("ANY", "/reserve")
async def reserve(id: int) -> dict: ...
PLACED = Event("orders.shop", "/on-placed")
"""


@pytest.fixture
def stated(tree: Tree) -> Callable[[str, str], Service]:
    """The one service with a list of uses and some code."""

    def read(uses: str, code: str = "") -> Service:
        text = f'{HEAD}orders = Connector("orders.shop", uses={uses})\n{textwrap.dedent(code)}'
        (service,) = scan(tree(service=text))
        return service

    return read


@pytest.mark.requirement("A29")
@pytest.mark.parametrize(
    ("uses", "calls", "events"),
    [
        ("[]", [], []),
        ("[item]", ["GET stock.shop:443/items/{}"], []),
        ("[stock.item]", ["GET stock.shop:443/items/{}"], []),
        ("[stock]", ["GET stock.shop:443/items/{}", "POST stock.shop:443/reserve"], []),
        ("(PLACED,)", [], ["POST orders.shop:417/on-placed"]),
        (
            '[("PUT", "https://audit.shop:444/log/{day}")]',
            ["PUT audit.shop:444/log/{}"],
            [],
        ),
    ],
)
def test_the_rules_are_those_of_the_list(stated, uses, calls, events) -> None:
    service = stated(uses)
    shown = [each.replace("{id}", "{}").replace("{day}", "{}") for each in said(service.calls)]
    assert (sorted(shown), said(service.events), service.dynamic) == (sorted(calls), events, ())


@pytest.mark.requirement("A29")
def test_calls_that_the_list_names_are_attributed(stated) -> None:
    service = stated(
        '[stock, PLACED, ("GET", "https://audit.shop/log/{day}")]',
        """
        async def run(n):
            await item(orders, n)
            await stock.reserve(orders, n)
            await orders.trigger(PLACED)
            await orders.request("GET", f"https://audit.shop/log/{n}")
            await orders.request("GET", "https://audit.shop/log/today")
            await orders.request("GET", "https://all:888/ping")
        """,
    )
    assert service.dynamic == ()


@pytest.mark.requirement("A29")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('orders.request("GET", "https://a.shop/x")', "GET a.shop:443/x is not among the uses"),
        ("orders.request('GET', 'https://stock.shop:444/items/7')", "is not among the uses"),
        ("stock.reserve(orders, 1)", "POST stock.shop:443/reserve is not among the uses"),
        ("orders.trigger(PLACED)", "POST orders.shop:417/on-placed is not among the uses"),
        ("def f(u): orders.request('GET', u)", "request: the url depends on"),
        ("ask = orders.request", "request is passed on"),
        ("def f(e): orders.trigger(e)", "trigger: an event that cannot be determined"),
    ],
)
def test_a_call_that_the_list_does_not_name_is_reported_and_not_granted(stated, code, told) -> None:
    service = stated("[item]", code)
    (found,) = service.dynamic
    assert told in found.message
    assert (found.use, found.line) == (None, len(HEAD.splitlines()) + 2)
    assert said(service.calls) == ["GET stock.shop:443/items/{id}"]
    granted = rules(service, "prod", allow_dynamic=True).publish_allow
    assert granted == rules(stated("[item]"), "prod").publish_allow


@pytest.mark.requirement("A29")
@pytest.mark.parametrize(
    "uses",
    [
        "make()", "[make()]", "[*others]", "[each for each in others]", '["GET"]', '[("GET",)]',
        '[(METHOD, "https://a.shop/x")]', '[("GET", "/x")]', "[stock.nothing]", "[make]",
        '[("FETCH", "https://a.shop/x")]', "[orders]",
    ],
)  # fmt: skip
def test_a_list_that_cannot_be_determined_is_reported(stated, uses) -> None:
    service = stated(uses, "def make(): ...")
    assert service.calls == ()
    (found,) = service.dynamic
    assert found.message.startswith("uses: ")
    assert (found.use, found.line) == (None, len(HEAD.splitlines()) + 1)


def test_without_a_list_on_each_connector_the_calls_make_the_rules(tree) -> None:
    text = f"""{HEAD}one = Connector("orders.shop", uses=[item])
two = Connector("orders.shop")
two.request("GET", "https://a.shop/x")
"""
    (service,) = scan(tree(service=text))
    assert said(service.calls) == ["GET a.shop:443/x"]


def test_a_derived_class_passes_its_list(tree) -> None:
    text = f"""{HEAD}class Orders(Connector):
    def __init__(self):
        super().__init__("orders.shop", uses=[item])
    async def run(self):
        await self.request("GET", "https://a.shop/x")
orders = Orders()
"""
    (service,) = scan(tree(service=text))
    assert said(service.calls) == ["GET stock.shop:443/items/{id}"]
    assert [each.message for each in service.dynamic] == [
        "GET a.shop:443/x is not among the uses of orders.shop"
    ]


def test_the_command_names_the_call_and_exits_with_1(tree) -> None:
    text = f'{HEAD}orders = Connector("orders.shop", uses=[item])\n'
    folder = tree(service=f'{text}orders.request("GET", "https://a.shop/x")\n')
    words = ["gencreds", str(folder), "--plane", "prod", "--dry-run"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert "GET a.shop:443/x is not among the uses of orders.shop" in done.output
    assert CliRunner().invoke(app, [*words, "--allow-dynamic"]).exit_code == 0


def test_the_list_of_a_connector_that_an_imported_file_makes_passes_nothing_on(tree):
    base = "class Base(Connector):\n    def __init__(self, host):\n"
    made = (
        'from subtrie.connector import Connector\norders = Connector("orders.shop")\n'
        'async def f(): await orders.request("GET", "https://a.shop/x")\n'
    )
    folder = tree(
        {
            "pyproject.toml": "",
            "orders/service.py": f"{HEAD}{base}        super().__init__(host, uses=[item])\n",
            "orders/main.py": made + "import wiring.make\n",
            "wiring/make.py": 'from orders.service import Base\nother = Base("users.shop")\n',
        }
    )
    (service,) = scan(folder / "orders")
    assert said(service.calls) == ["GET a.shop:443/x"]
    assert service.dynamic == ()
