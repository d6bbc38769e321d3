"""Conversion of values: every type both ways as Go writes it, and a bound on the work."""

from __future__ import annotations

import contextlib
import enum
import inspect
import itertools
import json
from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import jsonschema
import pydantic
import pytest

from subtrie.connector import REQUIRED, HTTPError
from subtrie.connector._conversion.compile import converter_of
from subtrie.connector._conversion.converter import (
    MAX_STEPS,
    Conversion,
    Misfit,
    TooLong,
    Unconvertible,
)
from subtrie.connector._conversion.query import merged, tree
from subtrie.connector._conversion.writing import deep_object, plain
from subtrie.connector._json import json_bytes, json_value

pytestmark = pytest.mark.requirement("A80")
T = TypeVar("T")
Count = NewType("Count", int)


@dataclass
class And:
    left: Union[And, Or, Leaf]  # noqa: UP007 - as in an older program


@dataclass
class Or:
    left: Union[And, Or, Leaf]  # noqa: UP007


@dataclass
class Leaf:
    field: str


@dataclass
class Through:
    inner: Union[And2, Or2]  # noqa: UP007


@dataclass
class And2:
    left: Through
    right: int


@dataclass
class Or2:
    left: Through
    right: str


@dataclass
class Turn:
    to: Left | Right | None = None


@dataclass
class Left:
    turn: Turn
    end: int


@dataclass
class Right:
    turn: Turn
    end: str


@dataclass
class Page(Generic[T]):
    items: list[T]
    next: Page[T] | None = None


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass
class Dog:
    kind: Literal["dog"]
    lives: int


class Colour(enum.Enum):
    RED = "red"
    NONE = ""


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 9


class Typed(TypedDict):
    at: datetime
    by: UUID


def read(annotation: Any, value: Any) -> Any:
    return converter_of(annotation).read(value, Conversion())


def misfit(annotation: Any, value: Any) -> str:
    with pytest.raises(Misfit) as caught:
        read(annotation, value)
    return caught.value.described("x")


HALF_PAST = timezone(timedelta(hours=5, minutes=30))
IDENTITY = UUID("12345678-1234-5678-1234-567812345678")

#: A type, a value, and its JSON; both ways.
BOTH_WAYS: list[tuple[Any, Any, str]] = [
    (datetime, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), '"2026-01-02T03:04:05Z"'),
    (datetime, datetime(2026, 1, 2, 3, 4, 5, 120_000, UTC), '"2026-01-02T03:04:05.12Z"'),
    (datetime, datetime(2026, 1, 2, 3, 4, 5, 1, HALF_PAST), '"2026-01-02T03:04:05.000001+05:30"'),
    (datetime, datetime(1, 1, 1, tzinfo=UTC), '"0001-01-01T00:00:00Z"'),
    (date, date(2026, 1, 2), '"2026-01-02"'),
    (timedelta, timedelta(seconds=1.5), "1500000000"),
    (timedelta, timedelta(microseconds=-7), "-7000"),
    (UUID, IDENTITY, f'"{IDENTITY}"'),
    (Decimal, Decimal("1.50"), '"1.50"'),
    (bytes, b"\x00\xff>", '"AP8+"'),
    (Colour, Colour.RED, '"red"'),
    (Level, Level.HIGH, "9"),
    (dict[UUID, set[int]], {IDENTITY: {3}}, f'{{"{IDENTITY}":[3]}}'),
    (dict[int, Colour], {4: Colour.RED}, '{"4":"red"}'),
    (tuple[int, str], (1, "a"), '[1,"a"]'),
    (tuple[int, ...], (1, 2), "[1,2]"),
    (Sequence[date], [date(2026, 1, 2)], '["2026-01-02"]'),
    (Page[Count], Page([Count(1)], Page([])), '{"items":[1],"next":{"items":[],"next":null}}'),
    (Typed, {"at": datetime(2026, 1, 2, tzinfo=UTC), "by": IDENTITY}, ""),
    (Cat | Dog, Dog("dog", 1), '{"kind":"dog","lives":1}'),
    (list[int | str | None], [1, "a", None], '[1,"a",null]'),
]


@pytest.mark.parametrize(("annotation", "value", "text"), BOTH_WAYS, ids=str)
def test_a_value_travels_both_ways_as_go_writes_it(annotation, value, text):
    written = json_bytes(value)
    assert not text or written.decode() == text
    assert read(annotation, json_value(written)) == value
    texts: dict[str, list[str]] = {}
    for name, each in deep_object("v", value):
        texts.setdefault(name, []).append(each)
    if "v" in tree(texts) and value != Page([Count(1)], Page([])):
        assert read(annotation, tree(texts)["v"]) == value, "in a query"


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (datetime, '"2026-01-02T03:04:05.123456789Z"', datetime(2026, 1, 2, 3, 4, 5, 123456, UTC)),
        (datetime, '"2026-01-02T03:04:05.1+00:00"', datetime(2026, 1, 2, 3, 4, 5, 100_000, UTC)),
        (timedelta, "1999", timedelta(microseconds=1)),
        (timedelta, "-1999", timedelta(microseconds=-1)),
        (Decimal, "1.5", Decimal("1.5")),
        (Decimal, "7", Decimal(7)),
        (float, "7", 7.0),
    ],
)
def test_what_go_writes_otherwise_is_read_too(annotation, text, value):
    assert read(annotation, json.loads(text)) == value


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (datetime, "2026-01-02"),
        (datetime, "2026-01-02T03:04:05"),
        (datetime, "2026-13-02T03:04:05Z"),
        (datetime, 5),
        (date, "2026-1-2"),
        (date, "20260102"),
        (date, "2026-W01-5"),
        (date, "2026-01-02T03:04:05Z"),
        (timedelta, "1s"),
        (timedelta, 2**63),
        (timedelta, 1.5),
        (UUID, "1234"),
        (UUID, "{12345678-1234-5678-1234-567812345678}"[:36]),
        (Decimal, "NaN"),
        (Decimal, "1_0"),
        (bytes, "a"),
        (bytes, "*AP8="),
        (Colour, "blue"),
        (Colour, ["red"]),
        (Level, True),
        (Level, 9.0),
        (int, True),
        (int, 5.0),
        (int, "5"),
        (float, True),
        (float, float("inf")),
        (float, 10**400),
        (bool, 1),
        (str, 5),
        (tuple[int, str], [1]),
        (set[Any], [[1]]),
        (dict[int, int], {"a": 1}),
    ],
)
def test_what_does_not_fit_is_refused(annotation, value):
    told = misfit(annotation, value)
    assert told.startswith("'x")
    assert "is not a valid" in told


@pytest.mark.parametrize("text", ["nan", "inf", "1_0", " 5", "0x5", "５", "1" * 500])
@pytest.mark.parametrize("annotation", [int, float, Decimal, timedelta])
def test_a_text_of_a_query_is_a_number_as_in_json(annotation, text):
    misfit(annotation, tree({"n": [text]})["n"])


@pytest.mark.parametrize(
    "value",
    [float("nan"), {"a": [float("-inf")]}, Decimal("NaN"), {float("nan"): 1}],
    ids=str,
)
def test_what_is_not_a_number_cannot_be_written(value):
    with pytest.raises(ValueError, match="not a number"):
        json_bytes(value)


def test_values_without_a_meaning_elsewhere_cannot_be_written():
    with pytest.raises(ValueError, match="no zone"):
        json_bytes({"at": datetime(2026, 1, 2)})
    with pytest.raises(ValueError, match="292 years"):
        json_bytes(timedelta(days=200_000))
    with pytest.raises(TypeError, match="object cannot be represented in JSON"):
        json_bytes([object()])


def test_a_type_that_cannot_be_converted_is_named():
    @dataclass
    class Holder:
        deep: dict[str, list[complex]] = field(default_factory=dict)

    for annotation in (complex, list[Holder], Holder | None, type, dict[str, object | complex]):
        with pytest.raises(Unconvertible, match="cannot be converted to and from JSON"):
            converter_of(annotation)


def chain(depth: int, leaf: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"field": leaf}
    for _ in range(depth):
        found = {"left": found, **more}
    return found


def steps(annotation: Any, value: Any) -> int:
    conversion = Conversion()
    with contextlib.suppress(Misfit):
        converter_of(annotation).read(value, conversion)
    return MAX_STEPS - conversion.left


def test_a_union_within_a_union_does_not_double_the_work_with_each_level():
    anywhere = Union[And, Or, Leaf]  # noqa: UP007
    for leaf in (5, "x"):
        work = [steps(anywhere, chain(depth, leaf)) for depth in (16, 32, 64, 128)]
        assert all(later <= 3 * before for before, later in itertools.pairwise(work))
        assert work[-1] < 128 * 16
    both = Union[And2, Or2]  # noqa: UP007
    for last in (5, "x", None):
        work = []
        for depth in (16, 32, 64):
            value: dict[str, Any] = {"left": {}, "right": last}
            for level in range(depth):
                value = {"left": {"inner": value}, "right": level if level % 2 else "x"}
            work.append(steps(both, value))
        assert all(later <= 3 * before for before, later in itertools.pairwise(work))
    work = []
    for depth in (16, 32, 64):
        value, wanted = {}, Turn()
        for _ in range(depth):  # the first alternative fails after all that is within it was read
            value, wanted = {"to": {"turn": value, "end": "x"}}, Turn(Right(wanted, "x"))
        assert read(Turn, value) == wanted
        work.append(steps(Turn, value))
    assert all(later <= 3 * before for before, later in itertools.pairwise(work))


@dataclass
class Few:
    a: int


@dataclass
class More:
    a: int
    b: int = 0


def test_the_alternative_is_the_one_whose_members_are_there():
    anywhere = Union[And, Or, Leaf]  # noqa: UP007
    assert read(anywhere, {"field": "x"}) == Leaf("x")
    assert read(anywhere, {"left": {"field": "x"}}) == And(Leaf("x"))
    assert read(Leaf | dict, {"other": 1}) == {"other": 1}
    assert read(Leaf | dict, {"field": "x"}) == Leaf("x")
    assert read(Leaf | dict, {"field": 7}) == {"field": 7}
    assert read(Leaf | And, {}) == Leaf("")
    assert read(int | Leaf, {"other": 1}) == Leaf("")
    for annotation in (Few | More, More | Few):
        assert read(annotation, {"a": 1, "b": 2}) == More(1, 2), "the one with more of them"
    assert read(Few | More, {"a": 1}) == Few(1), "the first one of those with as many"
    assert read(More | Few, {"a": 1}) == More(1)
    assert "is not a valid And | Or | Leaf" in misfit(anywhere, {"other": 1})
    assert "is not a valid int | str" in misfit(int | str, [])


@pytest.mark.parametrize("inner", [Leaf | And, Leaf | None, Leaf | dict, dict | None])
def test_the_members_of_a_union_are_those_of_a_union_within_it(inner):
    within = Annotated[inner, "not a part of the outer one"]
    for annotation in (within | Cat, Cat | within):
        value = {"field": "x"}
        assert read(annotation, value) == (value if inner == dict | None else Leaf("x"))
        if dict in inner.__args__:
            assert read(annotation, {"other": 1}) == {"other": 1}
        else:
            assert "is not a valid" in misfit(annotation, {"other": 1})
        assert read(annotation, {"kind": "cat", "lives": 9}) == Cat("cat", 9)


async def test_one_message_of_a_recursive_union_does_not_stop_the_event_loop(make_memory):
    shop, web = make_memory("shop.example"), make_memory("web.example")

    @shop.endpoint("POST", "/find")
    async def find(where: And) -> None: ...

    body = json.dumps({"where": chain(28, 5)}).encode()
    assert len(body) < 400
    async with shop, web:
        with pytest.raises(HTTPError, match=r"where\.left\.left.*…") as caught:
            await web.request("POST", "https://shop.example/find", body=body)
        assert caught.value.status == 400
        assert len(caught.value.message) < 300
        deep = b'{"where":' + b'{"left":' * 700 + b'{"field":"x"}' + b"}" * 701
        with pytest.raises(HTTPError, match="nested too deeply") as caught:
            await web.request("POST", "https://shop.example/find", body=deep)
        assert caught.value.status == 400


def test_the_steps_of_one_conversion_are_bounded():
    conversion = Conversion()
    conversion.left = 100
    with pytest.raises(TooLong):
        converter_of(list[int | str]).read([1] * 101, conversion)


def test_the_text_of_an_error_does_not_grow_with_the_value():
    for value in ("x" * 10_000, {"k" * 10_000: 1, "l": 2}, [1] * 10_000, 10**5_000):
        assert len(misfit(bool, value)) < 200
    assert len(misfit(dict[str, int], {"k" * 10_000: "x"})) < 250


# --- every type, every table, both sides of every limit


class Open(TypedDict, total=False):
    must: Required[int]
    may: str


class Closed(TypedDict):
    must: int
    may: NotRequired[str]


@dataclass
class Marked:
    at: Annotated[str, REQUIRED]
    of: int
    made: str = field(default="x", init=False)
    more: list[int] = field(default_factory=lambda: [7])


B = TypeVar("B", bound=int)

#: A type and its zero; MISSING if it has none.
MISSING: Any = object()
ZEROS: list[tuple[Any, Any]] = [
    (int, 0), (float, 0.0), (str, ""), (bool, False), (bytes, b""), (list[int], []),
    (datetime, datetime(1, 1, 1, tzinfo=UTC)), (date, date(1, 1, 1)), (timedelta, timedelta(0)),
    (UUID, UUID(int=0)), (Decimal, Decimal(0)), (set[str], set()), (dict[str, int], {}),
    (tuple[int, str], (0, "")), (tuple[int, ...], ()), (int | None, None), (None, None),
    (str | int, ""), (Any, None), (Colour, Colour.NONE), (Level, Level.LOW), (Count, 0), (B, 0),
    (Literal["a", ""], ""), (Literal["a", 0], 0), (Literal["a", False], False),
    (Literal["a", None], None), (Literal["a"], MISSING), (Literal["a"] | int, 0),
    (tuple[Literal["a"], int], MISSING), (Closed, {"must": 0}), (Open, {"must": 0}),
    (Leaf, Leaf("")), (And, And(Or(Leaf("")))), (Through, MISSING), (Marked, MISSING),
    (Page[int], Page([], None)), (Annotated[int, "of tea"], 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "zero"), ZEROS, ids=lambda each: "missing" if each is MISSING else str(each)
)
def test_every_type_has_its_zero(annotation, zero):
    converter = converter_of(annotation)
    if zero is MISSING:
        with pytest.raises(Misfit, match="is missing"):
            converter.zero()
    else:
        found = converter.zero()
        assert (found, type(found)) == (zero, type(zero))
        assert read(list[annotation], [None]) == [None if converter.nullable else zero]
        assert read(tuple[int, annotation], [1, None])[1] == zero or converter.nullable
        assert read(dict[str, annotation], {"a": None})["a"] == zero or converter.nullable


@pytest.mark.parametrize(("annotation", "value", "text"), BOTH_WAYS, ids=str)
def test_what_is_written_is_valid_by_the_schema(annotation, value, text):
    schema = converter_of(annotation).schema(0)
    written = json.loads(json_bytes(value))
    jsonschema.validate(written, schema)
    for wrong in ({"other": True}, [True], True, 0.5, None):
        with contextlib.suppress(Misfit):
            read(annotation, wrong)
            continue
        if "properties" not in str(schema) or not isinstance(wrong, dict):
            assert not jsonschema.Draft202012Validator(schema).is_valid(wrong), wrong


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}), (UUID, {"type": "string", "format": "uuid"}),
        (Decimal, {"type": "string", "format": "decimal"}), (timedelta, {"type": "integer"}),
        (Colour, {"enum": ["red", ""]}), (Any, {}), (None, {"type": "null"}),
        (tuple[int, str], {"type": "array", "items": False,
                           "prefixItems": [{"type": "integer"}, {"type": "string"}]}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Marked, {"type": "object", "required": ["at"], "properties": {
            "at": {"type": "string"}, "of": {"type": "integer"},
            "more": {"type": "array", "items": {"type": "integer"}}}}),
        (Leaf, {"type": "object", "properties": {"field": {"type": "string"}}}),
    ],
)  # fmt: skip
def test_the_schema_of_a_type(annotation, schema):
    assert converter_of(annotation).schema(0) == schema


@pytest.mark.parametrize(
    "annotation",
    [And, Through, list[And], And2 | Or2, dict[str, And], tuple[And], And | None],
)
def test_the_schema_of_a_type_that_contains_itself_ends(annotation):
    assert len(json.dumps(converter_of(annotation).schema(0))) < 100_000


def nested(annotation: Any, levels: int, inner: Any = int) -> Any:
    for _ in range(levels):
        inner = annotation[str, inner] if annotation is dict else annotation[inner]
    return inner


@pytest.mark.parametrize(
    ("annotation", "items"),
    [(list, "'items': "), (Sequence, "'items': "), (tuple, "'prefixItems': ["),
     (dict, "'additionalProperties': ")],
)  # fmt: skip
def test_a_schema_of_eight_levels_is_whole(annotation, items):
    for levels, whole in ((8, True), (9, False)):
        text = str(converter_of(nested(annotation, levels)).schema(0))
        assert ("'integer'" in text, text.count(items)) == (whole, levels)


@pytest.mark.parametrize("value", [{"a": 1}, {}, [1], [], "x", "", "null", 1, 1.5, True, None])
def test_json_without_a_type_stays_what_it_is(value):
    for annotation in (Any, object, Any | None, *((Any | UUID, UUID | Any) if value else ())):
        assert read(annotation, value) is value
    items, members = [value], {"1": value}
    assert read(list, items) is read(list[Any], items) is items
    for annotation in (dict, dict[str, Any], dict[Any, Any]):
        assert read(annotation, members) is members
    assert read(dict[Any, int], {"1": 2}) == {"1": 2}


@pytest.mark.parametrize(
    ("annotation", "made"),
    [(list, [1]), (set, {1}), (frozenset, frozenset({1})), (abc.Sequence, [1]),
     (abc.MutableSequence, [1]), (abc.Collection, [1]), (abc.Iterable, [1]), (abc.Set, {1}),
     (abc.MutableSet, {1}), (tuple[int, ...], (1,)), (tuple, (1,))],
)  # fmt: skip
def test_every_kind_of_list_is_read(annotation, made):
    for each in (
        annotation,
        annotation if annotation in (tuple, tuple[int, ...]) else annotation[int],
    ):
        for value in ([1], tree({"v[0]": ["1"]})["v"], tree({"v": ["1"]})["v"]):
            found = read(each, value)
            assert (found, type(found)) == (made, type(made))


@pytest.mark.parametrize("annotation", [dict, abc.Mapping, abc.MutableMapping])
def test_every_kind_of_mapping_is_read(annotation):
    for each in (annotation, annotation[str, Any], annotation[str, int]):
        assert read(each, {"a": 1}) == read(each, tree({"v[a]": ["1"]})["v"]) == {"a": 1}


TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@pytest.mark.parametrize("text", [*TRUE, *FALSE])
def test_a_boolean_of_a_query_in_every_spelling(text):
    for each in (text, text.upper(), text.capitalize()):
        assert read(bool, tree({"b": [each]})["b"]) is (text in TRUE)
    misfit(bool, tree({"b": [f"{text}2"]})["b"])


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "1" * 400, int("1" * 400)), (int, "-" + "1" * 400, -int("1" * 400)),
        (int, "1" * 401, None), (int, "+1", None), (int, "", None),
        (Decimal, "1" * 400, Decimal("1" * 400)), (Decimal, "1" * 401, None),
        (float, "0" * 399 + "2", 2.0), (float, "0" * 400 + "2", None), (float, "1e400", None),
        (float, "1.5E+2", 150.0), (float, ".5", None), (float, "5.", None),
        (timedelta, str(2**63 - 1), timedelta(microseconds=(2**63 - 1) // 1000)),
        (timedelta, str(2**63), None),
        (timedelta, str(-(2**63)), timedelta(microseconds=-(2**63 // 1000))),
        (timedelta, str(-(2**63) - 1), None),
        (datetime, "2026-01-02T03:04:05-23:59",
         datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(-timedelta(hours=23, minutes=59)))),
        (datetime, "2026-01-02T03:04:05+24:00", None),
        (datetime, "2026-01-02T03:04:05+05:60", None),
        (datetime, "2026-01-02T03:04:05+23:60", None),
        (bytes, "A\r\nP8\n+", b"\x00\xff>"), (bytes, "AP8+\t", None),
        (UUID, str(IDENTITY), IDENTITY), (UUID, IDENTITY.hex, None), (UUID, IDENTITY.urn, None),
        (str, "null", "null"), (None, "null", None), (None, "0", None),
        (Literal["null"], "null", "null"), (Literal[1, "2"], "1", 1), (Literal[1, "2"], "2", "2"),
        (Literal[True], "true", True), (Literal[None, 1], "null", None), (Level, "9", Level.HIGH),
        (int | None, "null", None), (str | None, "null", None), (int | str, "x", "x"),
        (tuple[int, str], "1", None),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
def test_a_text_of_a_query_stands_for_a_value(annotation, text, value):
    given = tree({"v": [text]})["v"]
    if value is None and not (text == "null" and annotation is not int):
        misfit(annotation, given)
    else:
        found = read(annotation, given)
        assert (found, type(found)) == (value, type(value))
        assert getattr(found, "tzinfo", None) == getattr(value, "tzinfo", None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("false", False), ("null", None), ("7", 7), ("-1.5e1", -15.0), ("01", "01"),
     ("+1", "+1"), ("1e999", "1e999"), ("True", "True"), ("", ""), ("1 ", "1 "), ("x", "x"),
     ("1" * 309, int("1" * 309)), ("1" * 401, "1" * 401)],
)  # fmt: skip
def test_what_a_text_of_a_query_stands_for_without_a_type(text, value):
    given = tree({"v": [text], "o[a]": [text], "l[0]": [text], "l[1]": ["x"], "m[1]": [text]})
    for annotation in (Any, object):
        assert read(annotation, given["v"]) == value
        assert type(read(annotation, given["v"])) is type(value)
        assert read(annotation, given["o"]) == {"a": value}
        assert read(annotation, given["l"]) == [value, "x"]
        assert read(annotation, given["m"]) == {"1": value}
    plain = read(inspect.Parameter.empty, given["v"])
    assert (plain, type(plain)) == (text, str)


@pytest.mark.parametrize("digits", [309, 310, 400])
def test_an_integer_beyond_floats_in_a_query_is_an_integer_as_in_json(digits):
    assert read(Any, tree({"v": ["1" * digits]})["v"]) == json.loads("1" * digits)


def test_the_names_of_a_query_are_a_tree():
    assert tree({"a.b": ["1"], "a[c]": ["2"], "d[0][e]": ["3"], "f": ["4", "5"]}) == {
        "a": {"b": "1", "c": "2"}, "d": {"0": {"e": "3"}}, "f": "5",
    }  # fmt: skip
    assert read(list[int], tree({"f": ["4", "5"]})["f"]) == [4, 5]
    assert tree({"a": ["1"], "a.b": ["2"]}) == {"a": {"b": "2"}}
    assert tree({".".join("a" * 64): ["1"]})
    with pytest.raises(ValueError, match=rf"'{'a.' * 20}' has more than 64 parts"):
        tree({".".join("a" * 65): ["1"]})


@pytest.mark.parametrize(
    ("below", "above", "merged_value"),
    [({"a": 1, "b": {"c": 2}}, {"v[b][d]": ["3"]}, {"a": 1, "b": {"c": 2, "d": "3"}}),
     ({"a": 1}, {"v[a]": ["2"]}, {"a": "2"}), ({"a": 1}, {"v": ["2"]}, "2"),
     (5, {"v[a]": ["2"]}, {"a": "2"}), ({"b": 1}, {"v[b][c]": ["2"]}, {"b": {"c": "2"}})],
)  # fmt: skip
def test_members_of_a_query_win_over_those_of_a_body(below, above, merged_value):
    assert merged(below, tree(above)["v"]) == merged_value


# --- writing


class Name(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": {1}}, '{"a":[1]}'), (frozenset({1}), "[1]"), ((1, "a"), '[1,"a"]'),
        (b"\xff", '"/w=="'), (bytearray(b"\xff"), '"/w=="'), (memoryview(b"\xff"), '"/w=="'),
        (Colour.RED, '"red"'), (Level.HIGH, "9"), (Name("x"), '"x"'), (Decimal("1.50"), '"1.50"'),
        (datetime(2026, 1, 2, 3, 4, 5, 100_000, timezone(-timedelta(hours=5, minutes=30))),
         '"2026-01-02T03:04:05.1-05:30"'),
        (datetime(2026, 1, 2, 3, 4, 50, tzinfo=UTC), '"2026-01-02T03:04:50Z"'),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(seconds=5))),
         '"2026-01-02T03:04:00Z"'),
        (timedelta(microseconds=(2**63 - 1) // 1000), str((2**63 - 1) // 1000 * 1000)),
        (timedelta(microseconds=-(2**63 // 1000)), str(-(2**63 // 1000) * 1000)),
        ({None: 1, True: 2, False: 3, 4: 5, Colour.RED: 6, IDENTITY: 7},
         f'{{"null":1,"true":2,"false":3,"4":5,"red":6,"{IDENTITY}":7}}'),
        ({date(2026, 1, 2): [{date(2026, 1, 2)}]}, '{"2026-01-02":[["2026-01-02"]]}'),
        (Page([Leaf("x")]), '{"items":[{"field":"x"}],"next":null}'),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, memoryview) else str(each)[:40],
)  # fmt: skip
def test_a_value_is_written_by_its_own_type(value, text):
    assert json_bytes(value).decode() == text
    assert json.dumps(plain(value), separators=(",", ":")) == text


@pytest.mark.parametrize(
    ("value", "error"),
    [({(1, 2): 1}, "a key of a mapping cannot be an object or a list"), (1j, "complex cannot be"),
     (timedelta(microseconds=2**63 // 1000 + 1), "292 years"),
     (timedelta(microseconds=-(2**63 // 1000) - 1), "292 years")],
    ids=str,
)  # fmt: skip
def test_what_has_no_json_is_refused(value, error):
    with pytest.raises((TypeError, ValueError), match=error):
        json_bytes(value)


@pytest.mark.parametrize(
    ("value", "pairs"),
    [(None, [("v", "null")]), (True, [("v", "true")]), (1.5, [("v", "1.5")]), ({}, []),
     ({"a": [1, {"b": None}]}, [("v[a][0]", "1"), ("v[a][1][b]", "null")]),
     ((date(2026, 1, 2),), [("v[0]", "2026-01-02")])],
)  # fmt: skip
def test_a_value_of_a_query_is_written_by_its_members(value, pairs):
    assert list(deep_object("v", value)) == pairs


# --- errors


@pytest.mark.parametrize(
    ("value", "told"),
    [({}, "{}"), ({"a": 1, "b": 1, "c": 1}, 'an object with "a", "b", "c"'),
     ({"a": 1, "b": 1, "c": 1, "d": 1}, 'an object with "a", "b", "c", …'), ([], "[]"),
     ({"k" * 20 + "l": 1}, f'an object with "{"k" * 20}"'), ([1, 2], "a list of 2"), (2, "2"),
     ("x" * 58, f'"{"x" * 58}"'), ("x" * 99, f'"{"x" * 59}'), (None, "null"),
     (2**1024 - 1, str(2**1024 - 1)[:60]), (2**1024, "a number of more than 300 digits")],
    ids=lambda each: str(each)[:20],
)  # fmt: skip
def test_the_beginning_of_a_value_is_shown(value, told):
    assert misfit(bytes, value) == f"'x' is not a valid bytes: {told}"


@pytest.mark.parametrize(
    ("annotation", "value", "place"),
    [(list[int], [1, "a"], "x[1]"), (tuple[int, str], [1, 2], "x[1]"),
     (Leaf, {"field": 1}, "x.field"),
     (dict[str, list[int]], {"a": [1, "b"]}, "x.a[1]"), (set[int], ["a"], "x[0]"),
     (Marked, {"of": 1}, "x.at"), (Marked, {"at": None}, "x.at"),
     (dict[str, int], {"k" * 118: "a"}, f"x.{'k' * 118}"),
     (dict[str, int], {"k" * 119: "a"}, f"x.{'k' * 58}…{'k' * 40}"),
     (nested(list, 11), json.loads("[" * 11 + '"a"' + "]" * 11), "x" + "[0]" * 11),
     (nested(list, 12), json.loads("[" * 12 + '"a"' + "]" * 12), f"x{'[0]' * 5}…{'[0]' * 5}")],
    ids=lambda each: str(each)[:30],
)  # fmt: skip
def test_an_error_names_its_place(annotation, value, place):
    assert misfit(annotation, value).startswith(f"{place!r} is ")


def test_the_steps_are_those_of_all_values():
    for annotation, value, count in (
        (list[int], [1, 2], 3), (tuple[int, int], [1, 2], 3), (Leaf, {"field": "x"}, 2),
        (dict[str, int], {"a": 1}, 2), (list[list[int]], [[1], [2]], 7),
        (Cat | Dog, {"kind": "dog", "lives": 1}, 8),
    ):  # fmt: skip
        assert steps(annotation, value) == count
        conversion = Conversion()
        conversion.left = count
        converter_of(annotation).read(value, conversion)
        conversion.left = count - 1
        with pytest.raises(TooLong, match="more than 1000000 values"):
            converter_of(annotation).read(value, conversion)


def test_members_are_required_left_out_or_zero():
    assert read(And, {}) == converter_of(And).zero() == And(Or(Leaf("")))
    assert read(Marked, {"at": "a"}) == Marked("a", 0)
    assert read(Marked, {"at": "a", "made": "y", "more": None}) == Marked("a", 0)
    assert read(Open, {}) == {"must": 0}
    assert read(Closed, {"may": "x"}) == {"must": 0, "may": "x"}
    assert read(Closed, {}) == {"must": 0}
    with pytest.raises(Unconvertible, match=r"Odd\.x: complex cannot be"):
        converter_of(make_dataclass("Odd", [("x", complex)]))


def test_the_text_null_is_a_text_in_json_and_nothing_in_a_query():
    for annotation in (list[int], dict[str, int], tuple[int]):
        misfit(annotation, {"a": "null"} if annotation == dict[str, int] else ["null"])
    misfit(Marked, {"at": "a", "of": "null"})
    texts = tree({"l[0]": ["null"], "l[1]": ["1"], "o[at]": ["null"], "o[of]": ["null"]})
    assert read(list[int], texts["l"]) == [0, 1]
    assert read(list[str], texts["l"]) == ["null", "1"]
    assert read(list[str | int], texts["l"]) == ["null", "1"]
    assert read(list[int | None], texts["l"]) == [None, 1]
    assert read(Marked, texts["o"]) == Marked("null", 0)


@pytest.mark.parametrize("annotation", [
    int | Annotated[str | None, ""], Annotated[int | None, ""] | str, int | Literal["a", None],
])  # fmt: skip
def test_none_may_be_a_value_within_an_alternative(annotation):
    """It was read as the zero of the first alternative."""
    made = make_dataclass("Made", [("x", annotation)])
    assert read(made, {"x": None}) == made(None)
    assert read(made, {"x": 3}) == made(3)
    assert read(made, {"x": "a"}) == made("a")
    assert {"type": "null"} in converter_of(annotation).schema(0)["anyOf"]


def test_a_schema_of_objects_is_as_deep():
    found: Any = Leaf
    for level in range(10):
        found = make_dataclass(f"Level{level}", [("x", found)])
        text = str(converter_of(found).schema(0))
        assert text.count("'properties'") == min(level + 2, 9)


@pytest.mark.parametrize("other", [str, None])
def test_a_schema_of_unions_is_as_deep(other):
    for levels, whole in ((8, True), (9, False)):
        found: Any = int | str
        for level in range(levels):
            found = make_dataclass(f"Level{level}", [("x", found)])
        assert ("'anyOf'" in str(converter_of(found).schema(0))) is whole
    found = Leaf
    for level in range(10):
        found = make_dataclass(f"Level{level}", [("x", found)]) | other
    text = str(converter_of(found).schema(0))
    assert text.count("'properties'") == 4, "at every other of eight levels"


def test_the_error_of_a_class_is_told_in_short():
    @dataclass
    class Refusing:
        text: str

        def __post_init__(self) -> None:
            raise (ValueError if self.text else TypeError)(f"no {self.text}")

    class Model(pydantic.BaseModel):
        n: int = pydantic.Field(alias="number")
        many: list[int] = []

    assert misfit(list[Refusing], [{"text": "tea"}]) == "'x[0]' is not a valid Refusing: no tea"
    assert misfit(Refusing, {"text": "x" * 999}).endswith(f": no {'x' * 397}")
    assert misfit(Refusing, {}) == "'x' is not a valid Refusing: no "
    assert misfit(list[Model], [{"number": "x"}]).startswith("'x[0]' is not valid: 1 validation")
    assert len(misfit(Model, {"many": ["x"] * 99})) < 450
    in_query = tree({"m[number]": ["7"], "m[many][0]": ["1"], "m[many][1]": ["2"]})["m"]
    assert read(Model, in_query) == read(Leaf | Model, in_query) == Model(number=7, many=[1, 2])
    assert read(Leaf | Model, {"number": 7}) == Model(number=7)
    assert steps(list[Model], [{"number": 7}] * 3) == 7
    assert json_bytes([Model(number=7)]) == b'[{"n":7,"many":[]}]'
