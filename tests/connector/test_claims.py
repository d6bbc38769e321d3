"""Required claims: the expressions, with the meanings that Go gives them."""

from __future__ import annotations

import pytest

from subtrie import BusError
from subtrie.connector._claims import Claims, flattened

CLAIMS = {
    "iss": "https://access.token.core",
    "sub": "harry@hogwarts.example",
    "roles": ["admin", "manager", 100, True, 2.5],
    "level": 5,
    "ratio": 2.5,
    "tenant": {"id": 7, "name": "north", "tags": ["eu"]},
    "suspended": False,
    "nothing": None,
    "empty": "",
    "zero": 0,
    "list": [],
    "a.b": 1,
}

HOLDS = [
    "true",
    "(TRUE)",
    "roles.admin && !suspended",
    "roles.admin||roles.missing",
    "roles.missing || roles.admin && level>=5",
    "( ( roles.admin )) ",
    "!!roles.admin",
    "!(suspended || missing)",
    "roles.100",
    "roles.true",
    "roles.2.5",
    "level == 5",
    "level==5.0",
    "level != 4 && level<6 && level <= 5 && level>4 && level >= 5",
    "level > -1",
    "sub == 'harry@hogwarts.example'",
    'sub == "harry@hogwarts.example"',
    "sub == `harry@hogwarts.example`",
    "sub > 'harry' && sub < 'i'",
    "tenant.id == 7",
    "tenant.name!='south'",
    "tenant.tags.eu",
    "tenant",
    "list",
    "ratio == 2.5",
    "missing != 'x'",
    "missing == nothing",
    "!nothing && !empty && !zero && !missing",
    "suspended == false",
    "a.b == 1",
    "level != '5'",
    "'(c) || d' != sub",
]
FAILS = [
    "false",
    "missing",
    "missing.deeper",
    "roles.user",
    "suspended",
    "!roles.admin",
    "level == '5'",
    "level < 'x'",
    "missing == 'x'",
    "missing < 1",
    "missing <= 1",
    "roles == 'admin'",
    "roles == roles",
    "tenant == tenant",
    "roles.admin && suspended",
    "suspended <= false && level > 5",
]
REFUSED = [
    ("", 0),
    ("   ", 3),
    ("roles.admin &&", 14),
    ("&& roles", 0),
    ("roles.admin & x", 12),
    ("a = 1", 2),
    ("a =~ 'x'", 2),
    ("a !~ 'x'", 2),
    ("(a", 2),
    ("a)", 1),
    (")(", 0),
    ("a b", 2),
    ("'admin'", 0),
    ("7", 0),
    ("!a == 1", 3),
    ("(a) == 1", 4),
    ("a == b == c", 7),
    ("a == (b)", 5),
    ("a == !b", 5),
    ("a.", 0),
    (".a", 0),
    ("a..b", 0),
    ("a-b", 1),
    ("a == 'x", 5),
    ("a == 1x", 5),
    ("a == 1.2.3", 5),
    ("__import__('os')", 10),
    ("a == é", 5),
    ("!" * 3, 3),
    ("(" * 65 + "a" + ")" * 65, 64),
    ("a " * 4000, 4096),
]


@pytest.mark.parametrize("text", HOLDS)
def test_an_expression_holds(text):
    assert Claims(text).satisfied_by(flattened(CLAIMS))


@pytest.mark.parametrize("text", FAILS)
def test_an_expression_does_not_hold(text):
    assert not Claims(text).satisfied_by(flattened(CLAIMS))


@pytest.mark.parametrize(("text", "position"), REFUSED)
def test_anything_else_is_refused_with_its_place(text, position):
    with pytest.raises(BusError) as caught:
        Claims(text)
    assert (caught.value.reason, caught.value.position) == ("requires", position)


def test_an_expression_is_text():
    with pytest.raises(TypeError, match="requires must be text, not bool"):
        Claims(True)


def test_the_names_of_a_token_are_bounded():
    deep = {}
    for _ in range(20_000):
        deep = {"a": deep}
    wide = {"many": list(range(100_000)), "more": {str(n): n for n in range(100_000)}}
    assert len(flattened(deep)) == 4096
    assert len(flattened(wide)) <= 4097


def test_a_number_beyond_floats_is_missing():
    assert not Claims("big || big > 1").satisfied_by(flattened({"big": 10**400}))
