"""Every operation of every connection with few arguments, in every layout: the engines agree.

Random streams draw a line without arguments, or with one too many, seldom; here each is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from streams import CONNS, NAMES, everything, read

from engines import ENGINES
from subtrie.reference._wire.parser import NAMES as OF_CONN

MOST = 6  # arguments; no operation with a fixed number has more than five
#: What stands in the place of each argument in turn, by dialect.
WORDS = {
    "server": [b"0", b"x", b"+", b"|", b"0" * 8 + b"2", b"0" * 9 + b"2", b"9" * 10, b"RSID:1:2"],
    "strict": [b"0", b"x", b"*", b"a..b", b"ab\xff"],
}
#: Words around eight bytes, as many as a search for blanks reads at once.
LONG = [b"a" * length for length in (7, 8, 9, 16, 17)] + [b"aaaaaaa\rb", b"\x01" * 9, b"\xe9" * 9]
TEXTS = [
    b"'",
    b"''",
    b"'a",
    b"a'",
    b"'Stale Connection'",
    b"stale connection",
    b"x y",
    b"x\ty",
    b"\xff",
]
JSONS = [
    b"{}", b"{", b"}", b"{}{}", b"[]", b"1", b"null", b'"a"', b'{"a":1}', b'{"a":12}',
    b'{"a":-12.50E+17}', b'{"a":"\\\xff"}', b'{"a":"\\\\\xff"}', b'{"a":"\\\\\\\xff"}',
    b'{"a":012}', b'{"a":1,"a":2}', b'{"a":1,}', b'{"a"}', b'{a:1}', b"{'a':1}", b'{"a":"\xff"}',
    b'{"a":"\\ud800"}', b'{ "a" : [ 1 , { } ] }', b'{"a":"\x01"}', b'{"a":tr}', b"\xef\xbb\xbf{}",
]  # fmt: skip
PARSERS: list[tuple[str, dict[str, Any]]] = [
    (conn, {"dialect": dialect}) for dialect in ("server", "strict") for conn in CONNS
]
#: A route of one account, and one that names the origin of what ends.
ROUTES: list[tuple[str, dict[str, Any]]] = [
    ("route", {"dialect": "server", **options})
    for options in (
        {"lnocu": True},
        {"pinned_account": "A"},
        {"pinned_account": "A", "lnocu": True},
    )
]
IDS = [" ".join([conn, *map(str, options.values())]) for conn, options in PARSERS + ROUTES]


def different(conn: str, options: dict[str, Any], streams: Iterable[bytes]) -> list[str]:
    """Return the streams that the engines read differently."""
    found = []
    for stream in streams:
        answers = []
        for engine in ENGINES.values():
            operations, fault, parser = read(engine, conn, [stream], **options)
            parts = list(map(everything, operations))
            answers.append((parts, fault, parser.complete, parser.offset, parser.held))
        if answers[0] != answers[1]:
            found.append(f"{stream!r}\n  native    {answers[0]}\n  reference {answers[1]}")
    return found


def named(conn: str) -> list[bytes]:
    """Return the names of the operations of a connection."""
    return [name.encode() for name in OF_CONN[conn]]


def with_payload(words: tuple[bytes, ...]) -> bytes:
    """Return what follows a line: as many bytes as its last argument says, if it says so."""
    last = words[-1] if words else b""
    size = int(last) if last.isdigit() else 0
    return (b"x" * size if size < 100 else b"") + b"\r\n"


def counted(count: int) -> tuple[bytes, ...]:
    """Return so many arguments; the last two are sizes."""
    return (b"a",) * max(0, count - 2) + (b"2",) * min(2, count)


def of_words(conn: str, words: list[bytes]) -> Iterator[bytes]:
    """Yield each operation with none to six arguments, each of which is once another word."""
    for name in named(conn):
        for count in range(MOST + 1):
            base = counted(count)
            lines = [base]
            lines += [(*base[:at], word, *base[at + 1 :]) for at in range(count) for word in words]
            if count >= 2:
                lines += [(*base[:-2], one, two) for one in (b"3", b"x") for two in (b"2", b"x")]
            for line in lines:
                yield b" ".join((name, *line)) + b"\r\n" + with_payload(line)


@pytest.mark.requirement("M-09")
@pytest.mark.parametrize(("conn", "options"), PARSERS + ROUTES, ids=IDS)
def test_each_number_of_arguments_and_each_word_in_each_place(conn, options):
    words = [b"x", b"+", b"|"] if len(options) > 1 else WORDS[options["dialect"]]
    assert different(conn, options, of_words(conn, words)) == []


def layouts(name: bytes, words: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield a line with other blanks, ends and cases, one change at a time."""
    after = with_payload(words)
    plain = b" ".join(words)
    for end in (b"\r\n", b"\n", b"\r", b"\r\r\n", b"\n\r\n", b" \r\n", b"\t\n", b"\r \n", b""):
        yield name + b" " + plain + end + after
        yield name + plain + end + after
    for blank in (b"\t", b"  ", b" \t ", b"\x0b", b"\xa0", b"\0", b"\r"):
        yield name + blank + plain + b"\r\n" + after
        yield name + b" " + blank.join(words) + b"\r\n" + after
        yield name + b" " + plain + blank + b"\r\n" + after
    for written in (
        name.lower(),
        name.title(),
        name.swapcase(),
        name[:-1],
        name + b"X",
        b" " + name,
    ):
        yield written + b" " + plain + b"\r\n" + after


@pytest.mark.requirement("M-09")
@pytest.mark.parametrize(("conn", "options"), PARSERS, ids=IDS[: len(PARSERS)])
def test_each_layout_of_each_operation(conn, options):
    counts = (0, 3) if options["dialect"] == "server" else (3,)
    streams = (
        stream for name in named(conn) for count in counts
        for stream in layouts(name, counted(count))
    )  # fmt: skip
    assert different(conn, options, streams) == []


@pytest.mark.parametrize("conn", CONNS)
def test_each_length_of_a_word(conn):
    def streams() -> Iterator[bytes]:
        for name in named(conn):
            for text in (*TEXTS, *LONG):
                yield name + b" " + text + b"\r\n"
                yield name + b" " + text + b" 0\n\r\n"
        for length in range(1, 20):
            for name in (b"PUB", b"MSG", b"LMSG"):
                yield name + b" " + b"a" * length + b" 1 " + b"b" * length + b"\t0\r\n\r\n"

    assert different(conn, {}, streams()) == []


@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_each_object_of_info_and_connect(dialect):
    streams = (
        name + blank + json + end
        for name in (b"INFO", b"connect")
        for blank in (b"", b" ", b"\t ")
        for json in JSONS
        for end in (b"\r\n", b" \r\n", b"\n", b"x\r\n")
    )
    assert different("client", {"dialect": dialect}, streams) == []


@pytest.mark.parametrize("conn", CONNS)
def test_each_beginning_of_each_operation(conn):
    """A stream may end anywhere; the names of other connections are refused at the same byte."""
    streams = (
        (name.encode() + b" a 1\t2 1\r\nx\r\nPING\r\n")[:end]
        for name in NAMES
        for end in range(1, len(name) + 21)
    )
    assert different(conn, {}, streams) == []


@pytest.mark.parametrize("conn", CONNS)
@pytest.mark.parametrize("blanks", [b" ", b"\t", b" \t "])
def test_an_error_without_a_text_is_refused(engine, conn, blanks):
    """In ``strict``; nats-server takes the CR for the text."""
    operations, fault, _ = read(engine, conn, [b"-ERR" + blanks + b"\r\n"], dialect="strict")
    assert operations == []
    assert fault is not None
    assert fault[1] == "arg count"
