"""Random changes of bytes and of JSON values, from a seed."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from typing import Any

from bad_inputs import TEXTS

#: No variation is longer.
MOST_BYTES = 128 * 1024

_WORDS = [text.encode("utf-8", "surrogatepass") for text in TEXTS if isinstance(text, str) and text]
_TOKENS = [word for word in _WORDS if len(word) < 100] + [
    b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\r\n", b"\n", b"\n\n", b"{", b"}", b"[", b"]",
    b'"', b"\\ud800", b"\\u0000", b"'", b"-1", b"0", b"1e400", b"NaN", b"9" * 400,
    b"18446744073709551616",
    b"null", b"true", b"../", b"/etc/passwd", b"$", b"{{name()}}", b"include", b"#", b"//", b"eyJ",
    b"-----BEGIN NATS USER JWT-----", b"\x1b[2J", b"<script>", b" ", b"\t", b":", b",", b"=",
    b"[[[[", b"]]]]", b"(" * 40, b"*", b">", b"%", b"\xe2\x80\xa8", b"\xef\xbb\xbf",
]  # fmt: skip
_DEEP = (
    b"[",
    b"{",
    b'{"a":',
    b"(",
    b"a{",
    b"a.",
    b"-",
    b"*.",
    b"\n ",
    b"eyJ",
    b"x:\n",
    b"if x:\n ",
)


def vary(data: bytes, dice: random.Random, others: list[bytes] | None = None) -> bytes:
    """Return some bytes after a few random changes.

    Args:
        data: The bytes.
        dice: What decides.
        others: Bytes of the same kind, parts of which may come in.
    """
    for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3, 5, 12))):
        data = _changed(data, dice, others or [data])[:MOST_BYTES]
    return data


def _changed(data: bytes, dice: random.Random, others: list[bytes]) -> bytes:
    start = dice.randint(0, len(data))
    end = min(len(data), start + dice.choice((0, 1, 2, 8, 40, 400)))
    before, part, after = data[:start], data[start:end], data[end:]
    kind = dice.randrange(9)
    if kind == 0:
        part = bytes(dice.randrange(256) for _ in part)
    elif kind == 1:
        part = b""
    elif kind == 2:
        part *= dice.choice((2, 3, 30, 1000))
    elif kind == 3:
        part = dice.choice(_TOKENS)
    elif kind == 4:
        part += dice.choice(_WORDS)
    elif kind == 5:
        after = b""
    elif kind == 6:
        part += dice.choice(_DEEP) * dice.choice((3, 30, 300, 3000, 30_000))
    elif kind == 7:
        other = dice.choice(others)
        at = dice.randint(0, len(other))
        part = other[at : at + dice.choice((10, 100, 1000))]
    else:
        lines = data.split(b"\n")
        one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[one], lines[two] = lines[two], dice.choice((lines[one], lines[two], b""))
        return b"\n".join(lines)
    return before + part + after


_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**300, 1.5, float("inf"),
    float("nan"), "", "a", ">", "*", "a.>", "a b", "a\tb c", "\ud800", "\0", "\x1b[2J", "../x",
    "/dev/zero", "9" * 5000, "{{name()}}", "2026-13-45T99:99:99Z", [], {}, [[]], [None], {"": None},
    ["a"] * 3, {"a": {"a": {"a": {}}}}, [1, "a", None], "a" * 70_000,
]  # fmt: skip


def vary_json(value: Any, dice: random.Random) -> Any:
    """Return a JSON value in which a few values are others, left out, repeated or deeper."""
    value = json.loads(json.dumps(value))
    for _ in range(dice.choice((0, 1, 1, 2, 3, 6))):
        places = list(_places(value))
        if not places:
            return value
        with contextlib.suppress(RecursionError):  # deep enough
            _change(dice, places)
    return value


def _change(dice: random.Random, places: list[Any]) -> None:
    """Change one of the values of a tree, whose places these are."""
    holder, key = dice.choice(places)
    kind = dice.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, name = dice.choice(places)
        holder[key] = copy.deepcopy(other[name])
    elif kind == 2:
        depth = dice.choice((3, 100, 400))
        for _ in range(depth):
            holder[key] = [holder[key]] if dice.random() < 0.5 else {"a": holder[key]}
    elif kind == 3 and isinstance(holder, list):
        repeated = holder[key]
        holder += [copy.deepcopy(repeated) for _ in range(dice.choice((1, 10, 100)))]
    else:
        holder[key] = copy.deepcopy(dice.choice(_VALUES))


def _places(value: Any) -> Any:
    """Yield each object or array with each of its keys."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                yield holder, key
                waiting.append(holder[key])


def json_bytes(value: Any, dice: random.Random) -> bytes:
    """Return a JSON value as bytes, sometimes changed once more."""
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "[" * 5000
    data = text.encode("utf-8", "surrogatepass")[: 4 * MOST_BYTES]
    return vary(data, dice) if dice.random() < 0.2 else data
