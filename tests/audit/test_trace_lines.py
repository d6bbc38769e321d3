"""Lines of a trace log with any prefix and any contents."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from local_run import counts, messages, read

from subtrie.wire._go_quote import unquote
from subtrie.wire.log import parse_line

VECTORS = Path(__file__).parents[1] / "vectors" / "nats_wire.jsonl"
ROWS = [row for row in map(json.loads, VECTORS.open()) if row["conn"] == "trace_log"]
SHORT = "2026/11/21 02:50:31.1"
FRONT = '[7] 2026/11/21 08:00:00.000001 [TRC] 1.2.3.4:5 - cid:8 - "v1:x:n" - "APP/user:u" - '


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_vectors_of_trace_lines(row) -> None:
    record = parse_line(row["text"])
    assert record is not None
    assert [record.as_dict()] == row["expect"]["ops"]


@pytest.mark.parametrize(
    ("rest", "op", "args"),
    [
        ("<<- [PUB foo]bar 3]", "PUB", ("foo]bar", "3")),
        ("<<- [SUB a.b  2]", "SUB", ("a.b", "2")),
        ("<<- [SUB a]b\t q\t2]", "SUB", ("a]b", "q", "2")),
        ('<<- [PUB "]a[" r]] 0]', "PUB", ('"]a["', "r]]", "0")),
        ("<<- [UNSUB 30 ]", "UNSUB", ("30",)),
        ("->> [-ERR 'x y']", "-ERR", ("'x y'",)),
        ('<<- [CONNECT {"a": [1, 2]}]', "CONNECT", ('{"a": [1, 2]}',)),
        ("->> [RMSG $G a | q1 q2 5]", "RMSG", ("$G", "a", "|", "q1", "q2", "5")),
        ("->> [HMSG $G w.x 18 20]", "HMSG", ("$G", "w.x", "18", "20")),
    ],
)
def test_arguments_are_read_from_the_left_and_the_bracket_from_the_end(rest, op, args) -> None:
    record = parse_line(FRONT + rest)
    assert record is not None
    assert (record.op, record.args, record.user, record.name) == (op, args, "u", "n")


@pytest.mark.parametrize(
    ("front", "pid", "ts", "level"),
    [
        ("[1] 2026/11/21 02:50:31.104847 [TRC] ", 1, "2026/11/21 02:50:31.104847", "TRC"),
        ("[1] [TRC] ", 1, None, "TRC"),
        ("2026/11/21 02:50:31.104847 [TRC] ", None, "2026/11/21 02:50:31.104847", "TRC"),
        ("[TRC] ", None, None, "TRC"),
        ("", None, None, None),
        ("Nov 21 08:16:26 host nats-server[9]: ", 9, None, None),
        ("2026-11-21T08:00:00Z stdout F [1] 2026/11/21 02:50:31.1 [TRC] ", 1, SHORT, "TRC"),
        ("[1] 2026/11/21 02:50:31.1 [\x1b[33mTRC\x1b[0m] ", 1, SHORT, "TRC"),
    ],
)  # fmt: skip
def test_the_prefix_is_parsed_leniently(front, pid, ts, level) -> None:
    record = parse_line(front + "[::1]:5 - wid:8 - <<- [PING]")
    assert record is not None
    assert (record.pid, record.ts, record.level) == (pid, ts, level)
    assert (record.peer, record.kind, record.id, record.op) == ("[::1]:5", "websocket", 8, "PING")


def test_the_name_of_a_client_cannot_imitate_other_fields() -> None:
    line = (
        "[7] 2026/11/21 08:00:00.000001 [TRC] 1.2.3.4:5 - cid:8 - "
        r'"v1:x:a\" - \"$G/user:admin\" - <<- [PUB x 1]" - "APP/user:u" - <<- [PUB y 2]'
    )
    record = parse_line(line)
    assert record is not None
    assert (record.user, record.args) == ("u", ("y", "2"))
    rows = messages(read(line.encode() + b"\n"))
    assert [(r["subject"], r["identity"]) for r in rows] == [("y", "u")]


@pytest.mark.parametrize(
    ("rest", "kind", "subject", "queue", "sid"),
    [
        (r'Publish Violation - Subject "a.\"q\\\xff"', "publish", 'a."q\\\udcff', None, None),
        ('Publish Violation - User "u", Subject "a.b"', "publish", "a.b", None, None),
        ('Publish Violation - Reply "$JS.ACK.x"', "reply", "$JS.ACK.x", None, None),
        ('Subscription Violation - Subject "a.>", SID 3', "subscribe", "a.>", None, "3"),
        ('Subscription Violation - Subject "a", Queue: "q", SID x', "subscribe", "a", "q", "x"),
        ('Subscription Violation Too Many Tokens - Subject "a"', "subscribe", "a", None, None),
    ],
)  # fmt: skip
def test_refusals_are_understood(rest, kind, subject, queue, sid) -> None:
    record = parse_line(FRONT.replace("TRC", "ERR") + rest)
    assert record is not None
    assert record.violation == (kind, subject, queue, sid)


@pytest.mark.requirement("P-02")
@pytest.mark.parametrize(
    "line",
    [
        "",
        "junk",
        "\x00\xff",
        '{"level": "info", "msg": "- cid:8 - <<- [PUB a 1]"}',
        "2026-11-21 12:00:00.123 +00:00 [INF] another program",
        '127.0.0.1 - - [21/Nov/2026:08:00:00 +0000] "GET / HTTP/1.1" 200 5',
        FRONT + "<<- [PUB a.b 2",
        FRONT + "<<- ",
        FRONT + "<<-",
        FRONT + "<<- [",
        FRONT + "<<- []",
        FRONT + '<<- MSG_PAYLOAD: ["half',
        FRONT[:40],
        FRONT[:60],
        FRONT + "<",
        "[7] 2026/13/45 99:00",
    ],
)
def test_a_line_that_no_broker_wrote_is_unparseable(line) -> None:
    assert parse_line(line) is None
    assert counts(read(line.encode("latin-1") + b"\n"))["unparseable_lines"] == 1


@pytest.mark.requirement("P-02")
@pytest.mark.parametrize(
    "rest", ["<<- [PUB 5]", "<<- [PUB a b c d]", "<<- [PUB a x]", "->> [MSG a 1]"]
)
def test_an_operation_with_wrong_arguments_is_unparseable(rest) -> None:
    rows = read((FRONT + rest + "\n").encode())
    assert counts(rows)["unparseable_lines"] == 1
    assert [r["position"] for r in rows if r["reason"] is not None] == [0]


def test_go_quoting_is_resolved() -> None:
    assert unquote(r"a\r\n\t\"\\\x41\101\u00e9\U0001f600") == 'a\r\n\t"\\AAé😀'
    assert unquote(r"\xc3\xa9 \xff \ud800") == "é \udcff �"


def test_line_ends_and_empty_lines_count_as_lines() -> None:
    data = b"\r\n\n" + (FRONT + "<<- [PING]\r\n" + FRONT + "->> [PONG]").encode()
    assert counts(read(data)) == {
        "operations": 2,
        "unparseable_lines": 2,
        "payloads": 0,
        "server": 0,
    }


def test_overlong_lines_are_bounded() -> None:
    payload = (FRONT + '<<- MSG_PAYLOAD: ["' + "x" * 3_000_000 + '"]\n').encode()
    operation = (FRONT + "<<- [PUB " + "y" * 400_000 + " 2]\n").encode()
    data = payload + operation + (FRONT + "<<- [PING]\n").encode() + b"z" * 500_000
    rows = read(data, 10, 3_000_000, 3_200_000)
    assert counts(rows) == {"operations": 1, "payloads": 1, "server": 0, "unparseable_lines": 2}
    kept = [row for row in rows if row["reason"] is not None]
    assert [row["reason"] for row in kept] == ["line too long", "not a nats-server line"]
    assert max(len(row["_corrupt_record"]) for row in kept) <= 512


@pytest.mark.parametrize("seed", range(30))
def test_random_bytes_do_not_crash_the_parser(seed, captures) -> None:
    dice = random.Random(seed)
    data = bytearray((captures / "go_live" / "trace.log").read_bytes()[:60_000])
    for _ in range(200):
        at = dice.randrange(len(data))
        if dice.random() < 0.5:
            data[at] = dice.randrange(256)
        else:
            del data[at : at + dice.randrange(40)]
    whole = bytes(data)
    lines = whole.count(b"\n") + (not whole.endswith(b"\n"))
    rows = read(whole)
    cut = read(whole, *(dice.randrange(len(whole)) for _ in range(7)))
    assert sum(counts(rows).values()) == sum(counts(cut).values()) == lines

    assert rows == cut
