"""Required claims: the expressions, with the meanings that Go gives them."""

from __future__ import annotations

import itertools
import random

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
    ("'é\ud800' == a b", 13),  # bytes, as everywhere
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


VALUES = [1, 2.5, -7, "a", "b", "", True, False, None, [], ["a"], {}, {"a": 1}]


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_values_are_compared_as_those_of_one_type(sign):
    """By a model: Python's comparison of two numbers or two texts; else only equality."""
    for left, right in itertools.product(VALUES, repeat=2):
        numbers, texts = (
            all(type(each) in kinds for each in (left, right)) for kinds in ((int, float), (str,))
        )
        equal = type(left) in (bool, type(None)) and left is right
        if numbers or texts:
            equal = left == right
            ordered = {"<": left < right, ">": left > right}.get(sign[0], False)
        else:
            ordered = False
        holds = not equal if sign == "!=" else equal if sign == "==" else ordered
        holds = holds or (sign in ("<=", ">=") and equal)
        claims = flattened({"l": left, "r": right})
        assert Claims(f"l {sign} r").satisfied_by(claims) is holds, (left, right)


@pytest.mark.parametrize("value", VALUES)
def test_a_claim_alone_holds_unless_it_is_false_zero_or_empty(value):
    holds = value not in (None, False, "", 0) if not isinstance(value, list | dict) else True
    assert Claims("x").satisfied_by(flattened({"x": value})) is holds
    assert Claims("!x").satisfied_by(flattened({"x": value})) is not holds


def test_operators_bind_as_in_python():
    """By a model: Python evaluates the same expression."""
    draw = random.Random(7)

    def expression(depth: int) -> str:
        if not depth:
            return draw.choice("abc")
        form = draw.choice(["{} && {}", "{} || {}", "!({})", "({} || {})", "({} && {})", "!!({})"])
        return form.format(*(expression(depth - 1) for _ in range(form.count("{}"))))

    for text in (expression(draw.randrange(1, 6)) for _ in range(300)):
        values = {each: draw.random() < 0.5 for each in "abc"}
        python = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        assert Claims(text).satisfied_by(flattened(values)) is eval(python, {}, values), text


@pytest.mark.parametrize(
    ("value", "names"),
    [(["a", 7, 2.0, 2.5, True, False, None, ["b"], {"c": 1}],
      ["a", "7", "2", "2.5", "true", "false"]), ([], []), ([10**400], [str(10**400)])],
    ids=["all", "empty", "long"],
)  # fmt: skip
def test_the_elements_of_a_list_are_names(value, names):
    assert flattened({"l": value}) == {"l": value, **{f"l.{name}": True for name in names}}


def test_numbers_are_floats_as_in_go():
    found = flattened({"a": 1, "b": True, "c": {"d": 2, "e": {"f": "x"}}, "g": 10**400})
    assert found == {"a": 1.0, "b": True, "c": {"d": 2, "e": {"f": "x"}}, "c.d": 2.0,
                     "c.e": {"f": "x"}, "c.e.f": "x", "g": None}  # fmt: skip
    assert [type(found[name]) for name in ("a", "b", "c.d")] == [float, bool, float]


def test_as_many_names_as_the_limit():
    for count in (4095, 4096, 4097):
        wide = {f"n{each}": 1 for each in range(count)}
        assert len(flattened(wide)) == min(count, 4096)
        listed = flattened({"l": list(range(count))})
        assert len(listed) == min(count + 1, 4096)


@pytest.mark.parametrize(
    ("text", "holds"),
    [("(" * 64 + "a" + ")" * 64, True), ("(" * 65 + "a" + ")" * 65, None),
     ("(a)" + "&&(a)" * 100, True), ("a" + " " * 4095, True), ("a" + " " * 4096, None),
     ("!" * 1000 + "a", True), ("false || TRUE", True), ("tRuE && !FaLsE", True),
     ("a == true", True), ("true == a", True), ("_a || a_1.b_2", False), ("a\t&&\na", True),
     ("1.5 <= 2 && -1 < 0", True), ("'\"`' == \"x\"", False), ("'é' == 'é'", True)],
    ids=lambda each: str(each)[:30],
)  # fmt: skip
def test_the_limits_of_an_expression(text, holds):
    if holds is None:
        with pytest.raises(BusError, match="requires"):
            Claims(text)
    else:
        assert Claims(text).satisfied_by({"a": True}) is holds


def test_an_expression_is_shown():
    assert repr(Claims("a && b")) == "Claims('a && b')"
