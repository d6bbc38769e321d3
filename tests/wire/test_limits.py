"""Limits, counted as in nats-server, and checked before anything is buffered."""

from __future__ import annotations

import pytest
from streams import read

from subtrie import WireError


def fault(engine, conn, *chunks, **options):
    _, found, _ = read(engine, conn, list(chunks), **options)
    return None if found is None else (found[0], found[2])


@pytest.mark.parametrize(
    ("conn", "most", "line"),
    [
        ("client", 4096, b"SUB %b 1"),
        ("route", 65536, b"RS+ $G %b"),
        ("leaf", 65536, b"LS+ %b"),
        ("route_legacy", 65536, b"SUB %b RSID:1:1"),
        ("server_to_client", 65536, b"-ERR %b"),
    ],
)
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_the_longest_line(engine, conn, most, line, end):
    """The name, the space after it and the line end are not counted."""
    name = line.split(b" ")[0] + b" "
    rest = len(line) - len(name) - 2
    for more in (0, 1):
        stream = line % (b"a" * (most - rest + more)) + end
        wanted = ("max control line", len(name) + most) if more else None
        assert fault(engine, conn, stream) == wanted
        for cut in (len(name) + 1, len(stream) - 1, len(stream) - 2, len(stream) - 3):
            assert fault(engine, conn, stream[:cut], stream[cut:]) == wanted


def test_a_line_without_end_is_refused_as_soon_as_it_is_too_long(engine):
    parser = engine.Parser("client")
    parser.feed(b"PUB " + b"a" * 4096)
    with pytest.raises(WireError, match="max_control_line") as caught:
        parser.feed(b"a")
    assert caught.value.position == 4100
    assert parser.held == 0


@pytest.mark.parametrize(
    "stream", [b"PUB" + b" " * 5000, b"PING" + b"x" * 5000, b"CONNECT" + b"\t" * 5000]
)
def test_spaces_and_the_bytes_after_ping_are_bounded(engine, stream):
    assert fault(engine, "client", stream)[0] == "max control line"


@pytest.mark.parametrize("blank", [b" ", b"\t"])
def test_the_most_blanks_before_the_arguments(engine, blank):
    """The one after the name is not counted, nor are they with the arguments."""
    for more, wanted in ((1, None), (2, ("max control line", len(b"PUB") + 11))):
        stream = b"PUB" + blank * (10 + more) + b"a.b.c.d 0\r\n\r\n"
        for cut in range(len(stream)):
            found = fault(engine, "client", stream[:cut], stream[cut:], max_control_line=10)
            assert found == wanted


@pytest.mark.parametrize(
    ("conn", "line"),
    [
        ("client", b"PUB a %d\r\n"),
        ("client", b"HPUB a 0 %d\r\n"),
        ("server_to_client", b"MSG a 1 %d\r\n"),
        ("route", b"RMSG $G a %d\r\n"),
        ("leaf", b"LMSG a %d\r\n"),
        ("route_legacy", b"MSG a 1 %d\r\n"),
    ],
)
def test_the_largest_payload_is_refused_by_its_line(engine, conn, line):
    parser = engine.Parser(conn)
    parser.feed(line % 1_048_576)
    assert not parser.complete
    place = line.rindex(b"%")
    assert fault(engine, conn, line % 1_048_577) == ("max payload", place)
    assert fault(engine, conn, line % 999_999_999) == ("max payload", place)
    assert fault(engine, conn, line % 999_999_999, max_payload=None) is None
    assert fault(engine, conn, line % 17, max_payload=16) == ("max payload", place)


@pytest.mark.parametrize(
    ("line", "reason", "position"),
    [
        (b"HPUB a 3 2\r\n", "header larger than total", 7),
        (b"HPUB a x 2\r\n", "bad header size", 7),
        (b"HPUB a 2 x\r\n", "bad size", 9),
        (b"HPUB a -1 2\r\n", "bad header size", 7),
        (b"PUB a 1234567890\r\n", "bad size", 6),
        (b"PUB a 0x1\r\n", "bad size", 6),
        (b"PUB a \xd9\xa1\r\n", "bad size", 6),
    ],
)
def test_false_sizes(engine, line, reason, position):
    assert fault(engine, "client", line) == (reason, position)


def test_memory_follows_the_bytes_received_not_the_announced_size(engine):
    parser = engine.Parser("client", max_payload=None)
    parser.feed(b"PUB a 999999999\r\n")
    assert parser.held == len(b"PUB a 999999999\r\n")
    parser.feed(b"x" * 1000)
    assert parser.held == len(b"PUB a 999999999\r\n") + 1000


def test_a_large_payload_in_small_pieces(engine):
    payload = bytes(range(256)) * 4096
    stream = b"PUB a %d\r\n%b\r\nPING\r\n" % (len(payload), payload)
    operations, found, parser = read(
        engine, "client", [stream[at : at + 1500] for at in range(0, len(stream), 1500)]
    )
    assert found is None
    assert [op.op for op in operations] == ["PUB", "PING"]
    assert bytes(operations[0].payload) == payload
    assert parser.complete
