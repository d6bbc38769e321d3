"""The same argument in every form: what a fast path takes, and what only a slow one does.

A native function may read an exact ``str`` or tuple, ASCII, or contiguous memory by a short way. A
law over these forms asks both engines the same, and compares value and types, or the error.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from engines import ENGINES
from subtrie import Pattern, Subject


class Text(str):
    """A subclass with another text than its characters, as members of an ``Enum`` have."""

    def __str__(self) -> str:
        return "other"


class Number(int):
    """A subclass of ``int``."""


class Small(enum.IntEnum):
    """Numbers with names."""

    ONE = 1
    PORT = 443


class Index:
    """An object that stands for a number."""

    def __init__(self, number: object) -> None:
        self._number = number

    def __index__(self) -> Any:
        return self._number


Form = Callable[[Any], Any]


def _subject(text: str) -> str:
    """Return the text as ``Subject``, or as ``Pattern``, or itself where it is neither."""
    for kind in (Subject, Pattern):
        try:
            return kind(text, dialect="server")
        except ValueError:
            continue
    return text


#: Forms of one text: types, and characters of every width.
TEXTS: dict[str, Form] = {
    "text": str,
    "built": lambda text: "".join(list(text)),
    "subclass": Text,
    "subject": _subject,
    "bytes": str.encode,
    "bytearray": lambda text: bytearray(text.encode()),
    "memoryview": lambda text: memoryview(text.encode()),
    "list": lambda text: [text],
    "tuple": lambda text: (text,),
    "characters": list,
    "None": lambda text: None,
    "int": lambda text: 7,
    "bool": lambda text: True,
    "float": lambda text: 1.5,
    "empty": lambda text: "",
    "upper": str.upper,
    "lower": str.lower,
    "twice": lambda text: text * 2,
    "long": lambda text: text + "a" * 1100,
    **{
        f"{name} {where}": lambda text, more=more, where=where: (
            more + text if where == "before" else text + more
        )
        for name, more in {
            "two bytes": "é", "three bytes": "日", "four bytes": "😀", "lone": "\ud800",
            "NUL": "\0", "DEL": "\x7f", "space": " ", "LF": "\n",
        }.items()
        for where in ("before", "after")
    },
    "subclass with a lone surrogate": lambda text: Text("\ud800" + text),
    "long and lone": lambda text: "\ud800" * 1100 + text,
}  # fmt: skip

#: Forms of one number.
NUMBERS: dict[str, Form] = {
    "int": int,
    "subclass": Number,
    "named": lambda number: Small.PORT,
    "True": lambda number: True,
    "False": lambda number: False,
    "index": Index,
    "index of 0": lambda number: Index(0),
    "index of a text": lambda number: Index("1"),
    "0": lambda number: 0,
    "1": lambda number: 1,
    "negative": lambda number: -number,
    "32 bits": lambda number: 1 << 32,
    "63 bits": lambda number: 1 << 63,
    "64 bits": lambda number: (1 << 64) - 1,
    "65 bits": lambda number: 1 << 64,
    "negative of 65 bits": lambda number: -(1 << 64),
    "float": float,
    "text": str,
    "None": lambda number: None,
    "list": lambda number: [number],
}

#: Forms of a switch.
SWITCHES: dict[str, Form] = {
    "True": lambda on: True,
    "False": lambda on: False,
    "1": lambda on: 1,
    "None": lambda on: None,
    "text": lambda on: "true",
}


def plain(value: Any) -> Any:
    """Return a value with the types of all that it consists of, comparable between engines."""
    kind = type(value).__name__
    if isinstance(value, list | tuple):
        return kind, [plain(each) for each in value]
    if isinstance(value, dict):
        return kind, [(plain(key), plain(each)) for key, each in value.items()]
    if isinstance(value, str | bytes | int | float | None):
        return kind, value
    return kind, repr(value)


def outcome(ask: Callable[[ModuleType], Any], engine: ModuleType) -> tuple[Any, ...]:
    """Return what an engine answers, or its error with all its attributes."""
    try:
        value = ask(engine)
    except Exception as error:
        told = {name: plain(value) for name, value in vars(error).items() if name != "__notes__"}
        return "raised", type(error), str(error), told, getattr(error, "__notes__", [])
    return "returned", plain(value)


def characters(text: Any) -> Any:
    """Return the characters of a text, where it may be the given object or a copy."""
    return "".join(list(text)) if isinstance(text, str) else text


def agree(native: tuple[Any, ...], reference: tuple[Any, ...], wording: bool) -> bool:
    """Return whether two outcomes are equal, the wording of errors included or not.

    Arguments whose type the bindings themselves refuse have an error of a class that fits, with
    another text.
    """
    if native[0] == "raised" == reference[0]:
        if any(note.startswith("while processing") for note in native[4]):
            return issubclass(native[1], reference[1])
        if not wording:
            return native[1] is reference[1]
    return native == reference


def differences(
    questions: Iterable[tuple[str, Callable[[ModuleType], Any]]], least: int, wording: bool = True
) -> list[str]:
    """Ask both engines; return what they answered differently.

    There are at least so many questions, a tenth of which have an answer and no error.
    """
    found, asked, answered = [], 0, 0
    for name, ask in questions:
        native, reference = (outcome(ask, engine) for engine in ENGINES.values())
        asked += 1
        answered += native[0] == "returned"
        if not agree(native, reference, wording):
            found.append(f"{name}\n  native    {native}\n  reference {reference}"[:600])
    assert asked >= least, asked
    assert answered >= asked / 10, (answered, asked)
    return found
