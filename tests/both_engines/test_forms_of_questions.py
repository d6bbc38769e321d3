"""Questions to an index in every form: its fast entries and the slow ones, images and pickles."""

from __future__ import annotations

import array
import mmap
import pickle
from collections import UserDict, UserList
from collections.abc import Callable
from typing import Any

import pytest

from forms import NUMBERS, SWITCHES, TEXTS, Text, differences
from subtrie import Pattern

ROWS = [("a.*", 1), ("a.b", 2, "q"), ("a.b", 3, "q"), ("a.>", 4), ("*.*", 5), ("A.>", 6)]
#: Methods of one text.
ASKED = (
    "match", "__call__", "select", "count", "has_interest", "subscriptions", "groups", "explain",
    "matching", "covered_by", "__contains__",
)  # fmt: skip


def filled(engine: Any, dialect: str = "strict") -> Any:
    trie = engine.SubjectTrie(dialect=dialect)
    trie.update(ROWS)
    if dialect == "server":
        trie.add("é*.>", 7)
    return trie


def opened(engine: Any) -> Any:
    return engine.SubjectTrie.from_bytes(filled(engine).to_bytes(), [row[1] for row in ROWS])


def shown(found: Any) -> Any:
    """Return an answer with its subscriptions as their parts."""
    if isinstance(found, tuple) and type(found) is tuple:
        return tuple(map(shown, found))
    if type(found).__name__ == "Subscription":
        return found.id, found.pattern, found.value, found.queue
    return str(found) if type(found).__name__ == "Explanation" else found


@pytest.mark.requirement("M-09")
@pytest.mark.parametrize("made", [filled, opened, lambda engine: filled(engine, "server")],
                         ids=["strict", "image", "server"])  # fmt: skip
def test_a_text_in_every_form_to_every_question(made):
    questions = (
        (f"{method}({form} of {text})",
         lambda engine, method=method, given=given: shown(getattr(made(engine), method)(given)))
        for method in ASKED
        for text in ("a.b", "a.*")
        for form, of in TEXTS.items()
        for given in [of(text)]
    )  # fmt: skip
    assert differences(questions, least=700) == []


@pytest.mark.parametrize("method", ["match", "select", "count", "has_interest"])
def test_a_question_by_position_and_by_name(engine, method):
    ask = getattr(filled(engine), method)
    answers = {
        str(call()) for call in (
            lambda: getattr(filled(engine), method)("a.b"),
            lambda: getattr(filled(engine), method)(subject="a.b"),
            lambda: getattr(filled(engine), method)(Text("a.b")),
            lambda: getattr(filled(engine), method)(subject=Pattern("a.b")),
            lambda: getattr(type(ask.__self__), method)(filled(engine), "a.b"),
        )
    }  # fmt: skip
    assert len(answers) == 1
    for given, named in (((), {}), (("a.b", "a.b"), {}), (("a.b",), {"subject": "a.b"}),
                         ((), {"other": "a.b"}), (("a.b",), {"other": 1})):  # fmt: skip
        with pytest.raises(TypeError, match=method):
            ask(*given, **named)


def test_a_number_in_every_form():
    asks: dict[str, Callable[[Any, Any], Any]] = {
        "limit": lambda trie, given: shown(trie.explain("z", limit=given)),
        "threads": lambda trie, given: list(trie.match_batch(["a.b", "z"] * 20, threads=given).ids),
        "row": lambda trie, given: trie.match_batch(["a.b"] * 8).values(given),
        "item": lambda trie, given: trie.match_batch(["a.b"] * 8)[given],
    }
    questions = (
        (f"{name}={form}",
         lambda engine, ask=ask, of=of, name=name: ask(filled(engine), of(2)))
        for name, ask in asks.items()
        for form, of in NUMBERS.items()
        # more threads than a machine can start; a place beyond any row is an error of the bindings
        if (name == "threads") <= ("bits" not in form or "negative" in form)
        if name not in ("row", "item") or "bits" not in form
    )  # fmt: skip
    assert differences(questions, least=50, wording=False) == []


def writable_map(data: bytes) -> Any:
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memory


#: Objects with the bytes of an image.
IMAGES: dict[str, Callable[[bytes], Any]] = {
    "bytes": bytes,
    "subclass of bytes": type("Image", (bytes,), {}),
    "bytearray": bytearray,
    "memoryview": memoryview,
    "view of a bytearray": lambda data: memoryview(bytearray(data)),
    "read-only view of a bytearray": lambda data: memoryview(bytearray(data)).toreadonly(),
    "view of a view": lambda data: memoryview(memoryview(data)),
    "part of a view": lambda data: memoryview(b"x" + data + b"yy")[1:-2],
    "unaligned part": lambda data: memoryview(b"xyz" + data)[3:],
    "not contiguous": lambda data: memoryview(bytes(x for byte in data for x in (byte, 0)))[::2],
    "backwards": lambda data: memoryview(data[::-1])[::-1],
    "words": lambda data: memoryview(data).cast("Q"),
    "array of bytes": lambda data: array.array("B", data),
    "array of words": lambda data: array.array("Q", data),
    "memory map": writable_map,
    "text": lambda data: data.decode("latin-1"),
    "list": list,
    "None": lambda data: None,
    "empty": lambda data: b"",
    "short": lambda data: data[:-1],
    "long": lambda data: data + b"\0",
}
#: The values of an image by id.
VALUES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list, "tuple": tuple, "subclass of list": UserList, "None": lambda values: None,
    "dictionary": lambda values: dict(enumerate(values)),
    "mapping": lambda values: UserDict(enumerate(values)), "range": lambda values: range(90, 99),
    "text": lambda values: "uvwxyz", "bytes": lambda values: b"uvwxyz",
    "short": lambda values: values[:2], "empty": lambda values: [], "number": lambda values: 7,
    "array": lambda values: array.array("q", values), "iterator": iter,
    "other keys": lambda values: {str(at): value for at, value in enumerate(values)},
}  # fmt: skip


@pytest.mark.requirement("M-09")
def test_an_image_and_its_values_in_every_form():
    def answers(engine: Any, image: Any, values: Any, verify: Any = True) -> Any:
        trie = engine.SubjectTrie.from_bytes(image, values, verify=verify)
        found = [trie.match("a.b"), trie.count("a.b"), list(trie.match_batch(["a.b"]).ids)]
        return *found, trie.select("a.b"), trie.add("z", 9).id, trie.match("a.c"), len(trie)

    values = [row[1] for row in ROWS]
    forms = [(image, "list", True) for image in IMAGES if image not in ("words", "array of words")]
    forms += [("bytes", each, True) for each in VALUES]
    forms += [("bytes", "list", each(True)) for name, each in SWITCHES.items() if name[0] in "TF"]
    questions = (
        (f"{image} with {kind}, verify={verify}",
         lambda engine, image=image, kind=kind, verify=verify: answers(
             engine, IMAGES[image](filled(engine).to_bytes()), VALUES[kind](values), verify))
        for image, kind, verify in forms
    )  # fmt: skip
    assert differences(questions, least=36, wording=False) == []


def test_a_pickle_in_every_form():
    """A pickle has rows of six parts: those of the other engine, and of a damaged file."""
    rows = [(None, "a.*", 1, None, 0, 0), (None, "a.b", 2, "q", 1, 3), (None, "a.>", 3, "q", 4, 0)]
    states: dict[str, Any] = {
        "as made": (5, tuple(rows)), "list of rows": (5, rows), "no rows": (0, ()),
        "next too small": (4, tuple(rows)), "not ascending": (5, tuple(rows[::-1])),
        "a handle that is none": (5, (("x", *rows[0][1:]),)),
        "bad pattern": (5, ((None, "a..b", 1, None, 0, 0),)),
        "bad queue": (5, ((None, "a", 1, "", 0, 0),)), "twice": (5, (rows[0], rows[0])),
        "subclasses": (5, ((None, Text("a.*"), 1, Text("q"), 0, 0),)),
    }  # fmt: skip

    def restored(engine: Any, state: Any) -> Any:
        trie = engine.SubjectTrie()
        trie.__setstate__(state)
        again = pickle.loads(pickle.dumps(trie))
        assert [shown(one) for one in again] == [shown(one) for one in trie]
        queues = [type(one.queue) for one in trie]
        return [shown(one) for one in trie], queues, again.select("a.b"), again.add("z", 1).id

    questions = (
        (name, lambda engine, state=state: restored(engine, state))
        for name, state in states.items()
    )
    assert differences(questions, least=10) == []
