"""Validation of the JSON options of INFO and CONNECT.

The text must be one object of standard JSON, nested at most 128 levels, with numbers of at most
1,024 characters and unique names in each object. Bytes outside ASCII are allowed in strings only.
"""

# A66

from __future__ import annotations

import re

_DEPTH = 128
_DIGITS = 1024
_BLANKS = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(rb"true|false|null")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NAMED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def is_object(text: bytes) -> bool:
    """Return whether the text is exactly one object."""
    return text[:1] == b"{" and _value(text) == len(text)


def _value(text: bytes) -> int | None:
    """Return the end of the value at the beginning of the text, or None."""
    at = 0
    open_names: list[set[str] | None] = []  # a set for an object, None for an array
    while True:
        at = _after(_BLANKS, text, at) or at
        byte = text[at : at + 1]
        if byte in (b"{", b"["):
            at = _after(_BLANKS, text, at + 1) or at
            if text[at : at + 1] == (b"}" if byte == b"{" else b"]"):
                at += 1
            else:
                names: set[str] | None = set() if byte == b"{" else None
                if names is not None:
                    named = _name(text, at, names)
                    if named is None:
                        return None
                    at = named
                open_names.append(names)
                if len(open_names) > _DEPTH:
                    return None
                continue
        else:
            end = _scalar(text, at)
            if end is None:
                return None
            at = end
        # After a value, the enclosing objects and arrays may end too.
        while open_names:
            at = _after(_BLANKS, text, at) or at
            names, byte = open_names[-1], text[at : at + 1]
            if byte == b",":
                at += 1
                if names is not None:
                    named = _name(text, _after(_BLANKS, text, at) or at, names)
                    if named is None:
                        return None
                    at = named
                break
            if byte != (b"]" if names is None else b"}"):
                return None
            at += 1
            open_names.pop()
        else:
            return at


def _after(pattern: re.Pattern[bytes], text: bytes, at: int) -> int | None:
    found = pattern.match(text, at)
    return None if found is None else found.end()


def _scalar(text: bytes, at: int) -> int | None:
    number = _after(_NUMBER, text, at)
    if number is not None:
        return None if number - at > _DIGITS else number
    return _after(_STRING, text, at) or _after(_WORD, text, at)


def _name(text: bytes, at: int, names: set[str]) -> int | None:
    """Return the end of a name and its colon, or None if it is missing or not unique."""
    end = _after(_STRING, text, at)
    if end is None:
        return None
    name = _spelled(text[at + 1 : end - 1])
    if name in names:
        return None
    names.add(name)
    at = _after(_BLANKS, text, end) or end
    return at + 1 if text[at : at + 1] == b":" else None


def _spelled(name: bytes) -> str:
    """Return the name with its escapes decoded, so that two spellings are equal."""

    def resolved(found: re.Match[str]) -> str:
        unit, named = found.groups()
        return chr(int(unit, 16)) if unit else _NAMED.get(named, named)

    text = _ESCAPE.sub(resolved, name.decode("utf-8", "surrogateescape"))
    # Two halves of a surrogate pair are one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
