"""Bytes, lists of rules, parameters and headers in every form: both engines take the same."""

from __future__ import annotations

import array
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from forms import NUMBERS, TEXTS, Text, differences
from subtrie import Pattern

STREAM = (
    b"PING\r\nPUB a.b 2\r\nhi\r\nHPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nSUB a q 1\r\nUNSUB 1 5\r\n"
)
#: Objects with the bytes of a stream.
BYTES: dict[str, Callable[[bytes], Any]] = {
    "bytes": bytes,
    "subclass": type("Data", (bytes,), {}),
    "bytearray": bytearray,
    "memoryview": memoryview,
    "part of a view": lambda data: memoryview(b"x" + data + b"y")[1:-1],
    "writable view": lambda data: memoryview(bytearray(data)),
    "every second": lambda data: memoryview(bytes(x for byte in data for x in (byte, 0)))[::2],
    "backwards": lambda data: memoryview(data[::-1])[::-1],
    "signed": lambda data: memoryview(data).cast("b"),
    "two dimensions": lambda data: memoryview(data).cast("B", (1, len(data))),
    "array": lambda data: array.array("B", data),
    "words": lambda data: array.array("H", data + b"\n" * (len(data) % 2)),
    "text": bytes.decode,
    "list": list,
    "None": lambda data: None,
    "int": lambda data: 7,
    "empty": lambda data: b"",
}


@pytest.mark.requirement("M-09")
def test_a_stream_in_every_form():
    def parsed(engine: Any, made: Callable[[bytes], Any], pieces: int) -> Any:
        parser = engine.Parser("client")
        size = -(-len(STREAM) // pieces)
        data = [made(STREAM[at : at + size]) for at in range(0, len(STREAM), size)]
        found = [op for piece in data for op in parser.feed(piece)]
        for piece in data:
            if isinstance(piece, bytearray):
                piece[:] = b"x" * len(piece)  # an operation has bytes of its own
        parts = [(op.op, op.raw, op.as_dict(), op.payload and bytes(op.payload)) for op in found]
        return parts, parser.complete, parser.offset, parser.held

    questions = (
        (f"{form} in {pieces}",
         lambda engine, made=made, pieces=pieces: parsed(engine, made, pieces))
        for form, made in BYTES.items()
        for pieces in (1, 2, 7)
    )  # fmt: skip
    assert differences(questions, least=45, wording=False) == []


def test_what_a_client_receives_in_every_form():
    """The reader of a connector: requests are acknowledged, the rest are operations."""
    data = b"INFO {}\r\nMSG a 1 2\r\nhi\r\nHMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n"

    def read(engine: Any, made: Callable[[bytes], Any]) -> Any:
        rows, frames, answers = engine.DeliveryReader().feed(made(data))
        return len(rows), [str(row) for row in rows], list(frames), answers

    questions = (
        (form, lambda engine, made=made: read(engine, made))
        for form, made in BYTES.items()
        if isinstance(made(data), bytes | str | list | None)  # its connector reads bytes only
    )
    assert differences(questions, least=6, wording=False) == []


#: Forms of a list of texts.
LISTS: dict[str, Callable[[list[str]], Any]] = {
    "list": list, "tuple": tuple, "iterator": iter, "generator": lambda texts: (t for t in texts),
    "deque": deque, "set": set, "dictionary": dict.fromkeys, "empty": lambda texts: [],
    "patterns": lambda texts: [Pattern(text) for text in texts],
    "subclasses": lambda texts: [Text(text) for text in texts],
}  # fmt: skip


def test_rules_in_every_form():
    sets = (["a.>", "b.*"], ["a.x"], ["a.*", "b.>"], ["a.y"])
    functions: dict[str, int] = {
        "rules_witness": 4, "rules_overlap": 4, "rules_proof": 4, "rules_difference": 4,
        "rules_minimised": 2,
    }  # fmt: skip
    questions = [
        (f"{name}: argument {place} as {form}",
         lambda engine, name=name, count=count, place=place, made=made: getattr(engine, name)(*(
             made(texts) if at == place else texts for at, texts in enumerate(sets[:count]))))
        for name, count in functions.items()
        for place in range(count)
        for form, made in LISTS.items()
        if (name, form) not in {("rules_proof", "iterator"), ("rules_proof", "generator")}
    ]  # fmt: skip
    questions += [
        (f"rules_admit: argument {place} as {form}",
         lambda engine, place=place, made=made, queue=queue: engine.rules_admit(*(
             made(texts) if at == place else texts for at, texts in enumerate(sets[:2])),
             "a.x", queue))
        for place in (0, 1)
        for form, made in LISTS.items()
        for queue in (None, "q", Text("q"))
    ]  # fmt: skip
    assert differences(questions, least=200) == []


VALUES: dict[str, Callable[[], Any]] = {
    **{f"text: {form}": lambda made=made: made("x y") for form, made in TEXTS.items()
       if form != "memoryview"},  # its repr is an address
    **{f"number: {form}": lambda made=made: made(12) for form, made in NUMBERS.items()
       if not form.startswith("index")},
    "list": lambda: ["a", 1, None, True], "tuple": lambda: ("a", 2), "empty list": list,
    "set": lambda: {"a"}, "deque": lambda: deque("ab"), "nested": lambda: [["a"], ("b",)],
    "iterator": lambda: iter(()).__class__, "dictionary": lambda: {"a": 1},
    "subclass of list": lambda: type("List", (list,), {})(["a", None]),
}  # fmt: skip
MAPPINGS: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "dictionary": dict, "ordered": OrderedDict, "mapping": UserDict, "proxy": MappingProxyType,
    "items": dict.items, "pairs": lambda params: list(params.items()),
    "lists": lambda params: [list(pair) for pair in params.items()],
    "iterator": lambda params: iter(params.items()),
    "three parts": lambda params: [(*pair, 1) for pair in params.items()],
    "one part": lambda params: [(name,) for name in params],
    "texts of two": lambda params: ["ab", "cd"], "names": list, "text": lambda params: "ab",
    "None": lambda params: None, "number": lambda params: 7,
}  # fmt: skip


@pytest.mark.requirement("M-09")
def test_the_parameters_of_a_request_in_every_form():
    def targets(engine: Any, params: Callable[[], Any]) -> Any:
        call = engine.RequestTargets(plane="p", source="a.b")
        return ["".join(part) for part in call("GET", "https://c.d/{n}?z=1", params())]

    questions = [
        (f"{form} of {value}",
         lambda engine, made=made, given=given: targets(
             engine, lambda: made({"n": given(), "é&": "ü"})))
        for form, made in MAPPINGS.items()
        for value, given in VALUES.items()
        if form in ("dictionary", "mapping", "pairs") or value == "list"
    ]  # fmt: skip
    questions += [
        (f"name {form}", lambda engine, made=made: targets(engine, lambda: [(made("n"), "x")]))
        for form, made in TEXTS.items()
    ]
    assert differences(questions, least=200, wording=False) == []


def test_the_headers_of_a_message_in_every_form():
    def written(engine: Any, name: str, value: Any, body: bytes) -> Any:
        headers = {"X": ["1", "é"], "A": []}
        headers |= {name: [*headers.get(name, []), value, "last"]}
        return (
            engine.write_http_request("GET", "https://a.b:443/c?d=e", headers, body),
            engine.write_http_response(200, "OK", headers, body),
        )

    questions = [
        (f"{name}: {form}",
         lambda engine, name=name, made=made, body=body: written(engine, name, made("v"), body))
        for name in ("X", "B", "User-Agent", "Host", "Content-Length")
        for form, made in TEXTS.items()
        for body in (b"", b"hi")
        if (isinstance(made("v"), str) and "lone" not in form) or name in ("X", "B")  # written ones
    ]  # fmt: skip
    questions += [
        (f"status {status}",
         lambda engine, status=status: engine.write_http_response(status, "OK", {}, b"hi"))
        for status in (0, 7, 100, 101, 199, 200, 204, 205, 304, 404, 599, 999, True)
    ]  # fmt: skip
    assert differences(questions, least=250, wording=False) == []
