"""The JSON of CONNECT and of the claims of a JWT in a log: read where Python's ``json`` reads it.

Numbers, escapes, literals and structures are enumerated, each beside the name of a user: a text
that is not JSON has no name.
"""

from __future__ import annotations

import base64
import itertools
import json
import string
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from local_run import read

from plain_trace_log import read_events

NUMBERS = [
    "".join(parts)
    for parts in itertools.product(
        ("", "-"),
        ("", "0", "7", "00", "07", "10", "12", "12345678901234567890"),
        ("", ".", ".0", ".05", ".12.", ".x"),
        ("", "e", "E5", "e+07", "e-", "E-12", "e5.0", "e 5"),
    )
]
LITERALS = [
    "true", "false", "null", "True", "tr", "truex", "nullx", "n", "t", "NaN", "Infinity",
    "-Infinity", "undefined", "+1", "--1", "- 1",
     "'a'", "a", "0x1f", "1_000", "1,2", "", "/**/1", "\u0661",
]  # fmt: skip
STRINGS = [
    *(f"\\{sign}" for sign in map(chr, range(0x20, 0x7F))),
    *(f"\\u{digits}" for digits in (
        "0041", "00e9", "00E9", "20ac", "0000", "ffff", "041", "004g", " 041", "+041", "",
        "d83d", "dc00", "d83d\\ude00", "D83D\\uDE00", "d83d\\u0041", "d83d\\", "d83d\\u", "d83dx",
        "d83d\\udc", "ude00\\ud83d", "d83d\\ud83d\\ude00", "dbff\\udfff", "d800\\udc00",
    )),
    *(f"a{chr(sign)}b" for sign in (*range(1, 0x20), 0x7F, 0x85, 0xA0, 0x2028) if sign != 0x0A),
    "é", "😀", "", " ", "\\\\", "\\\\\\", '\\"', '"', "a\\nb", "]", "[", "a]b", "x" * 300,
]  # fmt: skip
SIGNS = ["{", "}", "[", "]", ",", ":", '"a"', "12"]
WHOLE = (
    '{"user":"u","n":12.5e+3,"l":[1,-20,{"a":null,"b":[true,false,{}]},[]],"o":{"user":"in",'
    '"nats":{"x":"\\u00e9\\"\\\\"}},"s":"{[]}","last":0}'
)


def objects() -> Iterator[str]:
    """Yield texts in the place of a JSON object, most with the user ``u``."""
    for value in (*NUMBERS, *LITERALS):
        yield f'{{"n":{value},"user":"u"}}'
        yield f'{{"user":"u","n":[{value}]}}'
    for text in STRINGS:
        yield f'{{"user":"{text}"}}'
        yield f'{{"{text}":1,"user":"u"}}'
    for count in range(4):
        for signs in itertools.product(SIGNS, repeat=count):
            yield '{"user":"u"' + "".join(signs) + "}"
            if count < 3:
                yield '{"user":"u","x":' + "".join(signs) + "}"
    for end in range(len(WHOLE) + 1):
        yield WHOLE[:end]
        yield WHOLE[:end] + WHOLE[end + 1 :]
    for blank in map(chr, (*range(10), *range(11, 0x21), 0xA0, 0xFEFF)):
        yield blank.join(['{"user"', ":", '"u"', ",", '"n"', ":", "[", "1", ",", "12", "]", "}"])
        yield f'{blank}{{"user":"u"}}'
        yield f'{{"user":"u"}}{blank}'
    for name, other in itertools.product(
        ("user", "USER", "uſer", "us\\u0065r", "user ", "nkey"), repeat=2
    ):
        for value in ('"v"', '""', "null", "12", '{"user":"w"}', '["w"]'):
            yield f'{{"{name}":"u","{other}":{value}}}'


def is_read(text: str) -> bool:
    """Return whether Python reads an object, beside control characters and what it adds to JSON."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        return isinstance(json.loads(text, strict=False, parse_constant=refuse), dict)
    except ValueError:
        return False


def events(options: Iterable[str]) -> tuple[list[Any], list[Any]]:
    """Return what both readers tell of a subscription of each connection, with these options."""
    lines = []
    for number, text in enumerate(options, 1):
        for rest in (f"[CONNECT {text}]", "[LS+ a]"):
            lines.append(
                f"[7] 2026/11/21 08:00:00.000001 [TRC] 10.0.0.1:4 - lid:{number} - <<- {rest}\n"
            )
    data = "".join(lines).encode()
    names = ("conn", "op", "identity", "identity_source", "user", "client")
    plain, _ = read_events(data)
    native = read(data)
    return tuple(
        [[row[name] for name in names] for row in rows if row["op"] == "LS+"]
        for rows in (native, plain)
    )  # fmt: skip


@pytest.mark.requirement("P-03")
def test_the_user_of_a_connect_is_that_of_the_json():
    given = list(objects())
    native, plain = events(given)
    different = [
        (text, ours, theirs)
        for text, ours, theirs in zip(given, native, plain, strict=True)
        if ours != theirs
    ]
    assert different[:5] == []
    wrong = [
        text for text, row in zip(given, native, strict=True)
        if row[2] is not None and not is_read(text)
    ]  # fmt: skip
    assert wrong[:5] == []
    named = sum(row[2] == "u" for row in native)
    assert len(given) / 10 < named < len(given) / 2


def test_the_claims_of_a_jwt_are_those_of_the_json():
    """They are JSON in base64, without padding."""

    def token(claims: str) -> str:
        part = base64.urlsafe_b64encode(claims.encode()).decode().rstrip("=")
        return json.dumps({"jwt": f"h.{part}.s"})

    claims = [
        text.replace('"user"', '"sub"').replace("USER", "Sub")
        for text in itertools.islice(objects(), 0, None, 7)
    ]
    claims += ['{\n"sub"\n:\r\n"u"}', *('{"sub":"u","n":1}' + " " * count for count in range(4))]
    native, plain = events(map(token, claims))
    assert native == plain
    assert sum(row[2] == "u" for row in native) > len(claims) / 10
    bent = [token('{"sub":"u","n":"é?>~"}')]
    bent += [
        bent[0][:at] + sign + bent[0][at + 1 :]
        for at in range(8, len(bent[0]) - 5)
        for sign in "=+/. _-"
    ]
    bent += [bent[0][:at] + bent[0][at + 1 :] for at in range(8, len(bent[0]) - 5)]
    native, plain = events(bent)
    assert native == plain
    assert {row[2] for row in native} >= {"u", None}


@pytest.mark.parametrize("digits", string.digits)
def test_a_number_of_several_digits_is_json(digits):
    native, _ = events(
        f'{{"version":{digits * count if digits != "0" else "1" + "0" * count},"user":"u"}}'
        for count in range(1, 21)
    )
    assert [row[2] for row in native] == ["u"] * 20
