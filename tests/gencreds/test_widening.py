"""Wider rules that gencreds refuses: functions that escape, star imports, literal wildcards."""

from __future__ import annotations

import pytest
from source_trees import HEAD, said

from subtrie.gencreds import scan

A = """from subtrie.connector import Connector
a = Connector("a.shop")
async def helper(bus: Connector):
    await bus.request("POST", "https://vault.shop/open")
"""
B = """from subtrie.connector import Connector
import a
b = Connector("b.shop")
{}
"""
ESCAPES = {
    "in a dict": 'REG = {"h": a.helper}\nasync def f(): await REG["h"](b)',
    "in a list": "REG = [a.helper]\nasync def f(): await REG[0](b)",
    "passed on": "async def f(): await T(a.helper).go(b)",
    "under another name": "from a import helper as h\ntable = h",
}


@pytest.mark.requirement("A29")
@pytest.mark.parametrize("form", ESCAPES)
def test_a_function_that_escapes_belongs_to_no_service_of_several(tree, form):
    services = scan(tree(a=A, b=B.format(ESCAPES[form])))
    a = next(each for each in services if each.host == "a.shop")
    assert not a.calls
    assert any("vault" in str(one.use) for each in services for one in each.dynamic)


def test_a_function_that_is_called_belongs_to_the_caller(tree):
    services = {each.host: each for each in scan(tree(a=A, b=B.format(
        "async def f(): await a.helper(b)")))}  # fmt: skip
    assert said(services["b.shop"].calls) == ["POST vault.shop:443/open"]
    assert not services["a.shop"].calls


@pytest.mark.parametrize(
    "text",
    [
        "def g():\n    helper = {}\n    def h(): return helper\n    return h",
        "helper = {}\ntable = [helper]",
        "def g(helper): return [helper]",
        "def g(x): return [x.helper]",
        "def g(x: a.helper): pass",
        "y: a.helper = 1",
    ],
)
def test_a_variable_or_field_with_the_name_of_a_function_is_not_the_function(tree, text):
    call = "async def f(): await a.helper(b)\n"
    services = {each.host: each for each in scan(tree(a=A, b=B.format(call), c=text))}
    assert said(services["b.shop"].calls) == ["POST vault.shop:443/open"]


CONSTS = 'U = "https://bank.shop/pay"\n_H = "https://hidden.shop/x"\n'
CALL = '\nasync def f(): await orders.request("POST", {})'
STARS = {
    "below the name": ('U = "https://vault.shop/open"\nfrom consts import *', "U"),
    "of two modules": ("from consts import *\nfrom more import *", "U"),
    "from outside": ("from consts import *\nfrom elsewhere import *", "U"),
    "from outside below the name": ('U = "https://a.shop/x"\nfrom elsewhere import *', "U"),
    "of a module that lists no names": ("from closed import *", "U"),
    "of a name with an underscore": ("from consts import *", "_H"),
    "of a list that is computed": ("from computed import *", "U"),
}
MODULES = {
    "consts": CONSTS, "more": 'U = "https://other.shop/x"\n', "closed": CONSTS + "__all__ = []\n",
    "computed": CONSTS + "__all__ = names()\n", "open": CONSTS + '__all__ = ["_H"]\n',
}  # fmt: skip


@pytest.mark.requirement("A29")
@pytest.mark.parametrize("form", STARS)
def test_a_star_import_that_may_give_another_value_is_unresolved(tree, form):
    text, name = STARS[form]
    source = HEAD + text + CALL.format(name)
    (service,) = scan(tree(main=source, **MODULES))
    assert not service.calls
    assert service.dynamic


@pytest.mark.parametrize(
    ("text", "name", "host"),
    [
        ("from consts import *", "U", "bank.shop"),
        ("from open import *", "_H", "hidden.shop"),
        ('from consts import *\nU = "https://vault.shop/open"', "U", "vault.shop"),
    ],
)
def test_a_star_import_that_gives_one_value(tree, text, name, host):
    (service,) = scan(tree(main=HEAD + text + CALL.format(name), **MODULES))
    assert [each.host for each in service.calls] == [host]
    assert not service.dynamic


@pytest.mark.requirement("A29")
def test_a_literal_wildcard_in_a_url_makes_a_call_unresolved(only):
    service = only('async def f(): await orders.request("GET", "https://a.shop/*")')
    assert not service.calls
    (dynamic,) = service.dynamic
    assert "literal '*'" in dynamic.message


def test_an_unknown_port_is_noted(only):
    service = only('async def f(x): await orders.request("GET", f"https://a.shop:44{x}/p")')
    assert any("port" in each.message for each in service.notes)
