"""Conversion of values: every type both ways as Go writes it, and a bound on the work."""

from __future__ import annotations

import contextlib
import enum
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Generic, Literal, NewType, TypedDict, TypeVar, Union
from uuid import UUID

import pytest

from subtrie.connector import HTTPError
from subtrie.connector._conversion.compile import converter_of
from subtrie.connector._conversion.converter import (
    MAX_STEPS,
    Conversion,
    Misfit,
    TooLong,
    Unconvertible,
)
from subtrie.connector._conversion.query import tree
from subtrie.connector._conversion.writing import deep_object
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


def test_the_alternative_is_the_one_whose_members_are_there():
    anywhere = Union[And, Or, Leaf]  # noqa: UP007
    assert read(anywhere, {"field": "x"}) == Leaf("x")
    assert read(anywhere, {"left": {"field": "x"}}) == And(Leaf("x"))
    assert read(Leaf | dict, {"other": 1}) == {"other": 1}
    assert read(Leaf | dict, {"field": "x"}) == Leaf("x")
    assert "is not a valid And | Or | Leaf" in misfit(anywhere, {"other": 1})
    assert "is not a valid int | str" in misfit(int | str, [])


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
