"""Rows and columns in every form: both engines add, match and decode the same."""

from __future__ import annotations

from collections import deque, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from forms import TEXTS, Text, differences
from subtrie import Pattern


class Row(tuple):
    """A subclass of ``tuple``."""


class LongRow(tuple):
    """A subclass that gives other parts than it holds."""

    def __iter__(self) -> Iterator[Any]:
        return iter(("z.z", 9, "other"))


class Rows(list):
    """A subclass of ``list``."""


Pair = namedtuple("Pair", "pattern value")
Triple = namedtuple("Triple", "pattern value queue")

#: Forms of a row; an iterator is made anew for each engine.
ROWS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "tuple": tuple,
    "list": list,
    "subclass of tuple": Row,
    "subclass with other parts": LongRow,
    "subclass of list": Rows,
    "iterator": iter,
    "generator": lambda row: (part for part in row),
    "deque": deque,
    "values of a dictionary": lambda row: dict(enumerate(row)).values(),
    "named": lambda row: {2: Pair, 3: Triple}.get(len(row), lambda *parts: parts)(*row),
}
PARTS: list[tuple[Any, ...]] = [
    ("a.b", 1), ("a.b", 1, None), ("a.b", 1, "q"), ("a.b", None, None), ("a.b", [], "é"),
    (), ("a.b",), ("a.b", 1, None, None), ("a.b", 1, "q", None), ("a..b", 1, ""),
    *((form("a.b"), 1) for form in TEXTS.values()),
    *(("a.*", 2, form("q")) for form in TEXTS.values()),
    *((form("a.b"), 1, None, 4) for form in TEXTS.values()),
]  # fmt: skip


def handles(made: Any) -> list[tuple[Any, ...]]:
    return [
        (type(one.pattern), one.pattern, one.value, type(one.queue), one.queue, one.id)
        for one in made
    ]


def added(engine: Any, dialect: str, rows: Callable[[], Any]) -> Any:
    """Return what ``update`` gives for rows, or its error; and the index afterwards."""
    trie = engine.SubjectTrie(dialect=dialect)
    trie.add("kept", 0)
    try:
        made = trie.update(rows())
    except Exception as error:
        found: Any = type(error), str(error)
    else:
        found = type(made), handles(made)
    return found, handles(trie), trie.match("a.b"), trie.add("last", 1).id


@pytest.mark.requirement("M-09")
@pytest.mark.parametrize("dialect", ["strict", "server"])
def test_a_row_in_every_form(dialect):
    questions = (
        (f"{form} of {parts!a}",
         lambda engine, made=made, parts=parts, given=given: added(
             engine, dialect, lambda: given([("x.y", 0, "q"), made(parts)])))
        for form, made in ROWS.items()
        for at, parts in enumerate(PARTS)
        for given in (list if at % 2 else iter,)
    )  # fmt: skip
    assert differences(questions, least=1_000) == []


@pytest.mark.parametrize("row", ["ab", "abc", Text("ab"), "", b"ab", b"abc", bytearray(b"ab"),
                                 {"a.b": 1, "c": 2}, {"a.b"}, 7, None, [], range(2)],
                         ids=ascii)  # fmt: skip
def test_a_row_that_is_another_object(row):
    questions = [(repr(row), lambda engine: added(engine, "strict", lambda: [row]))]
    questions += [(f"all: {row}", lambda engine: added(engine, "strict", lambda: row))]
    assert differences(questions, least=2) == []


@pytest.mark.parametrize("form", ROWS)
def test_every_row_of_two_or_three_parts_is_added(engine, form):
    """A row is added whatever holds its parts, and its queue may be None."""
    trie = engine.SubjectTrie()
    rows = [("a.*", 1), ("a.b", 2, None), ("a.>", 3, "q")]
    made = trie.update(ROWS[form](row) for row in rows)
    other = form == "subclass with other parts"  # only an exact tuple is read past its iterator
    expected = [("z.z", 9, "other")] * 3 if other else [(*rows[0], None), *rows[1:]]
    assert [(one.pattern, one.value, one.queue) for one in made] == expected


def encoded(rows: list[Any]) -> list[Any]:
    return [row if row is None else row.encode("utf-8", "surrogatepass") for row in rows]


def dictionary(rows: list[Any], keys: Any, values: Any) -> Any:
    """Return a dictionary with nulls among its keys."""
    numbers = [None if row is None else at for at, row in enumerate(rows)]
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers, keys), pa.array([row or "" for row in rows], values)
    )


class Interface:
    """An array of another library, with the Arrow C interface only."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


class Stream:
    """A stream of another library."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._chunks.__arrow_c_stream__(requested_schema)


def around(rows: list[Any], kind: Any) -> Any:
    """Return a slice of a longer array, with nulls beside it."""
    return pa.array(["zz", None, "é", *rows, None, "yy"], kind).slice(3, len(rows))


#: Forms of a column of texts and nulls.
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "deque": deque,
    "subclasses": lambda rows: [row and Text(row) for row in rows],
    "patterns": lambda rows: [Pattern(row) if row == "a.b" else row for row in rows],
    **{
        str(kind): lambda rows, kind=kind: pa.array(rows, kind)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    **{
        str(kind): lambda rows, kind=kind: pa.array(encoded(rows), kind)
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    **{
        f"slice of {kind}": lambda rows, kind=kind: around(rows, kind)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    **{
        f"dictionary of {keys} and {kind}": lambda rows, keys=keys, kind=kind: dictionary(
            rows, keys, kind
        )
        for keys, kind in (
            (pa.int8(), pa.string()),
            (pa.uint8(), pa.large_string()),
            (pa.int64(), pa.string_view()),
        )
    },
    "dictionary with a null value": lambda rows: pa.DictionaryArray.from_arrays(
        pa.array(range(len(rows)), pa.int16()), pa.array(rows, pa.string())
    ),
    "dictionary of what is there": lambda rows: pa.array(rows, pa.string()).dictionary_encode(),
    "slice of a dictionary": lambda rows: around(rows, pa.string()).dictionary_encode(),
    "dictionary of a slice": lambda rows: pa.array(
        ["zz", None, *rows, "yy"], pa.string()
    ).dictionary_encode().slice(2, len(rows)),
    "chunks": lambda rows: pa.chunked_array([rows[:1], [], rows[1:]], pa.string()),
    "chunks of a slice": lambda rows: pa.chunked_array(
        [around(rows[:1], pa.string()), around([], pa.string()), around(rows[1:], pa.string())]
    ),
    "chunks of dictionaries": lambda rows: pa.chunked_array(
        [dictionary(part, pa.int8(), pa.string()) for part in (rows[:1], rows[1:])]
    ),
    "no chunk": lambda rows: pa.chunked_array([], pa.string()),
    "nulls": lambda rows: pa.nulls(len(rows)),
    "another library": lambda rows: Interface(around(rows, pa.string())),
    "stream of another library": lambda rows: Stream(
        pa.chunked_array([rows[:2], rows[2:]], pa.string())
    ),
    "dictionary of python": dict.fromkeys,
    "one text": lambda rows: "a.b",
    "bytes": lambda rows: b"ab",
    "number": lambda rows: 7,
    "a number in it": lambda rows: [*rows[:-1], 7],
    "bytes in it": lambda rows: [*rows[:-1], b"a"],
}  # fmt: skip
CONTENTS: list[list[Any]] = [
    [], ["a.b"], [None], ["a.b", "a.*", "x.y"], ["a.b", None, "x.y"], ["a.b", "a..b", "x.y"],
    ["é.b", "a.日", "😀"], [None, None, ""], ["a", "x.y", None, None, "a.b"], ["a", "*", ">"],
    ["a.b", "\ud800", "q q"],
    ["p.reply._.a_b.c_d.id-1", None, "p.safe.443.a_b.c_d._.GET.x"],
]  # fmt: skip


def of_columns(engine: Any, **columns: Callable[[], Any]) -> Any:
    """Return what ``update`` gives for columns, with the row in the notes; and the index."""
    trie = engine.SubjectTrie()
    try:
        made: Any = handles(trie.update(**{name: made() for name, made in columns.items()}))
    except Exception as error:
        made = type(error), str(error), getattr(error, "reason", None), getattr(
            error, "position", None), getattr(error, "__notes__", None)  # fmt: skip
    return made, handles(trie)


def matched(engine: Any, subjects: Any) -> Any:
    trie = engine.SubjectTrie()
    trie.update([("a.*", 1), ("a.b", 2, "q"), (">", 3)])
    found = trie.match_batch(subjects)
    parts = found.ids, found.offsets, found.valid
    return (
        len(found),
        [part.tolist() for part in parts],
        [found.values(i) for i in range(len(found))],
    )


def decoded(engine: Any, subjects: Any) -> Any:
    batch = engine.decode_batch(subjects, ["kind", "source", "reason"])
    return [batch[row] for row in range(len(batch))]


def columns_of() -> Iterator[tuple[str, list[Any], Callable[[], Any]]]:
    """Yield each content in each form that can hold it."""
    for form, made in COLUMNS.items():
        for rows in CONTENTS:
            try:
                made(rows)
            except UnicodeEncodeError:  # Arrow has no string with a lone surrogate
                continue
            yield f"{form} of {rows!a}", rows, lambda made=made, rows=rows: made(rows)


@pytest.mark.requirement("M-09")
def test_a_column_of_patterns_or_of_queues_in_every_form():
    questions = (
        (f"{name} as {what}",
         lambda engine, what=what, rows=rows, column=column: of_columns(engine, **{
             "patterns": lambda: ["a.*"] * len(rows), "values": lambda: range(len(rows)),
             what: column}))
        for name, rows, column in columns_of()
        for what in ("patterns", "queues")
    )  # fmt: skip
    assert differences(questions, least=600) == []


@pytest.mark.requirement("M-09")
def test_a_column_of_subjects_in_every_form():
    questions = (
        (f"{what}: {name}",
         lambda engine, ask=ask, column=column: ask(engine, column()))
        for name, _, column in columns_of()
        for what, ask in (("match_batch", matched), ("decode_batch", decoded))
    )  # fmt: skip
    assert differences(questions, least=600) == []


@pytest.mark.parametrize("column", [pa.array([1]), pa.array([["a"]]), pa.array([True]),
                                    pa.array([b"ab"], pa.binary(2)), pa.array([{"a": "b"}])],
                         ids=lambda column: str(column.type))  # fmt: skip
def test_a_column_without_texts_is_refused(engine, column):
    trie = engine.SubjectTrie()
    for call in (
        lambda: trie.match_batch(column), lambda: engine.decode_batch(column),
        lambda: trie.update(patterns=column, values=[1]),
        lambda: trie.update(patterns=["a"], values=[1], queues=column),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="a column of subjects"):
            call()
    assert len(trie) == 0


def test_the_fields_of_a_batch_in_every_form():
    given: dict[str, Callable[[], Any]] = {
        "list": lambda: ["kind", "port"], "tuple": lambda: ("port",), "set": lambda: {"slot"},
        "iterator": lambda: iter(["kind"]), "keys": lambda: {"kind": 1, "path": 2},
        "None": lambda: None, "twice": lambda: ["kind", "kind"], "unknown": lambda: ["nope"],
        "none": list, "text": lambda: "kind", "number": lambda: 7,
        "subclass": lambda: [Text("kind")],
        **{f"item: {name}": lambda form=form: ["port", form("kind")]
           for name, form in TEXTS.items() if name != "memoryview"},
    }  # fmt: skip
    questions = (
        (name,
         lambda engine, made=made: [engine.decode_batch(["p.reply._.a.b.x", None], made())[at]
                                    for at in (0, 1)])
        for name, made in given.items()
    )  # fmt: skip
    assert differences(questions, least=40) == []
