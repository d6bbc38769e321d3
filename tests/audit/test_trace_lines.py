"""Lines of a trace log with any prefix and any contents."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_run import counts, messages, read

from subtrie import WireError, wire
from subtrie.wire._go_quote import unquote
from subtrie.wire._trace_operations import log_operation
from subtrie.wire.log import parse_line, read_prefix

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


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize(
    "line",
    [FRONT + "<<- [PUB caf\u00e9 0]", FRONT + '<<- MSG_PAYLOAD: ["x"]',
     f"[7] {SHORT} [INF] Server is ready",
     json.dumps({"log": FRONT + "<<- [PING]\n", "stream": "stderr"}).replace(": ", ":", 1)],
    ids=["operation", "payload", "message", "docker"],
)  # fmt: skip
def test_a_line_as_a_file_gives_it_is_read(line, end) -> None:
    """With its end it was None, which says that nats-server did not write it."""
    record = parse_line(line)
    assert record is not None
    assert parse_line(line + end) == record
    assert parse_line((line + end).encode()) == record


def test_bytes_that_are_not_utf_8_are_kept() -> None:
    line = FRONT.encode() + b"<<- [PUB a\xff 0]\n"
    assert parse_line(line) == parse_line(line.decode("utf-8", "surrogateescape"))


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


REST = "1.2.3.4:5 - cid:8 - <<- [PING]"


@pytest.mark.parametrize("colour", ["", "\x1b[33m"])
@pytest.mark.parametrize(
    ("front", "known"),
    [
        ("app: [9] ", (9, None, None)), ("app [9]: ", (9, None, None)),
        (f"app: {SHORT} ", (None, SHORT, None)), ("app: [TRC] ", (None, None, "TRC")),
        ("app: [XXX] ", None), ("app: ", None), ("app: [9]x ", None), ("app: [12345678901] ", None),
        (f"[1]: [2]: {SHORT} [INF] [ERR] ", (2, SHORT, "ERR")),
        (f"{'x' * 295}[9] ", (9, None, None)), (f"{'x' * 296}[9] ", (9, None, None)),
        (f"{'x' * 297}[9] ", None),
    ],
)  # fmt: skip
def test_a_part_of_the_prefix_says_that_the_broker_wrote_a_line(front, known, colour) -> None:
    if colour and len(front) > 200:
        return
    record = parse_line(colour + front + REST)
    assert (None if record is None else (record.pid, record.ts, record.level)) == known
    if record is not None:
        assert (record.peer, record.kind, record.id, record.op) == (
            "1.2.3.4:5",
            "client",
            8,
            "PING",
        )


@pytest.mark.parametrize(
    ("letters", "kind"),
    [("cid", "client"), ("wid", "websocket"), ("mid", "mqtt"), ("rid", "route"),
     ("gid", "gateway"), ("lid", "leaf"), ("cid_ws", "client"), ("xid", None)],
)  # fmt: skip
@pytest.mark.parametrize(("arrow", "way"), [("<<-", "in"), ("->>", "out"), ("<->", "local")])
def test_each_kind_of_connection_and_direction_is_read(letters, kind, arrow, way) -> None:
    record = parse_line(f"[1] [TRC] 1.2.3.4:5 - {letters}:8 - {arrow} [PING]")
    assert (None if record is None else (record.kind, record.direction)) == (kind and (kind, way))
    payload = parse_line(f'[1] [TRC] 1.2.3.4:5 - {letters}:8 - {arrow} MSG_PAYLOAD: ["a\\n"]')
    assert (None if payload is None else (payload.payload, payload.direction)) == (
        kind and ("a\n", way)
    )


@pytest.mark.parametrize(
    ("client", "name"),
    [("v1:go:n", "n"), ("v1:go:a:b", "a:b"), ("v1:go:", None), ("v1:go", None), ("n", None)],
)
def test_the_name_of_a_client_is_the_third_part(client, name) -> None:
    record = parse_line(f'[1] [TRC] 1.2.3.4:5 - cid:8 - "{client}" - <<- [PING]')
    assert record is not None
    assert (record.client, record.name, record.user, record.account) == (client, name, None, None)


@pytest.mark.parametrize(
    ("login", "account", "user"),
    [("APP/user:u", "APP", "u"), ("user:u", None, "u"), ("APP/jwt:u", "APP", "u"),
     ("APP/nkey:UX", "APP", "UX"), ("APP/token", "APP", None), ("token", None, None),
     ("APP/other:u", None, None), ("A/B/user:u", "A", "u"), ("APP/user:a/b", "APP", "a/b")],
)  # fmt: skip
def test_each_kind_of_login_is_read(login, account, user) -> None:
    record = parse_line(f'[1] [TRC] 1.2.3.4:5 - cid:8 - "v1:go:n" - "{login}" - <<- [PING]')
    assert record is not None
    assert (record.account, record.user) == (account, user)


@pytest.mark.parametrize(
    "front", [f"[7] {SHORT} [INF] ", f"{SHORT} [INF] ", "[INF] ", "Nov 21 host nats-server[7]: ",
              f"app: [7] {SHORT} [INF] ", f"\x1b[0m[7] {SHORT} [\x1b[32mINF\x1b[0m] "]
)  # fmt: skip
def test_secrets_of_messages_are_redacted_unless_revealed(front) -> None:
    said = "reloaded eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl"
    for reveal, wanted in ((False, "reloaded [REDACTED]"), (True, said)):
        record = parse_line(front + said, reveal=reveal)
        assert record is not None
        assert (record.message, record.kind, record.op) == (wanted, None, None)


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


#: The control characters that Go names, and how else it may write a character.
NAMED = dict(zip("\a\b\f\n\r\t\v\\\"'", "abfnrtv\\\"'", strict=True))
FORMS = (
    lambda char: char if char not in '\\"' else f"\\{char}",
    lambda char: f"\\{NAMED.get(char, char)}" if char in NAMED else char,
    lambda char: "".join(f"\\x{byte:02x}" for byte in char.encode()),
    lambda char: "".join(f"\\{byte:03o}" for byte in char.encode()),
    lambda char: f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}",
    lambda char: f"\\U{ord(char):08X}",
)


@given(st.lists(st.tuples(st.characters(codec="utf-8"), st.sampled_from(FORMS))))
def test_any_text_has_the_same_meaning_in_each_of_the_quotings_of_go(chars) -> None:
    assert unquote("".join(form(char) for char, form in chars)) == "".join(c for c, _ in chars)


@pytest.mark.parametrize("char", [*NAMED, "\ud7ff", "\ue000", "\uffff", "\U0010ffff", "\0", "é"])
def test_each_character_has_the_same_meaning_in_each_of_the_quotings_of_go(char) -> None:
    for form in FORMS:
        assert unquote(f"<{form(char)}>{form('x')}") == f"<{char}>x"


@pytest.mark.parametrize("escape", ["d800", "dfff", "U00110000", "Uffffffff", "dC00"])
def test_what_is_not_a_character_is_the_replacement(escape) -> None:
    assert unquote(f"a\\{escape if escape[0] == 'U' else 'u' + escape}b") == "a\ufffdb"


def test_what_go_does_not_write_is_kept() -> None:
    assert unquote(r"\q\é\777 \x4 \u12 \9") == "qé\udcff x4 u12 9"
    assert unquote("\udcff\\n") == "\udcff\n"
    assert unquote("\ud800\\n") == "?\n"
    assert unquote("\\") == "\\"


_HEAD = b"NATS/1.0 503 No\r\nA: b\r\n\r\n"
_SIZES = f"{len(_HEAD)} {len(_HEAD) + 2}"
#: What each end of a connection may say: the conn of its parser, and its lines.
SAID = {
    ("cid", "<<-"): ("client", (
        'CONNECT {"a":1}', "PUB a 2", "PUB a r 2", f"HPUB a {_SIZES}", f"HPUB a r {_SIZES}",
        "SUB a 1", "SUB a q 1", "UNSUB 1", "UNSUB 1 5", "PING", "PONG",
    )),
    ("cid", "->>"): ("server_to_client", (
        'INFO {"a":1}', "MSG a 1 2", "MSG a 1 r 2", f"HMSG a 1 {_SIZES}", f"HMSG a 1 r {_SIZES}",
        "+OK", "-ERR 'x y'", "PING", "PONG",
    )),
    ("rid", "<<-"): ("route", (
        "RS+ $G a", "RS+ $G a q 1", "RS- $G a", "RMSG $G a 2", "RMSG $G a r 2",
        "RMSG $G a + r q 2", "RMSG $G a | q 2", f"HMSG $G a {_SIZES}", f"LMSG o $G a {_SIZES}",
        "LS+ o $G a", "A+ X", "PING",
    )),
    ("lid", "<<-"): ("leaf", (
        "LS+ a", "LS+ a q 1", "LS- a", "LMSG a 2", "LMSG a r 2", "LMSG a | q 2",
        f"HMSG a {_SIZES}", "PING",
    )),
}  # fmt: skip
SAID["wid", "<<-"], SAID["wid", "->>"] = SAID["cid", "<<-"], SAID["cid", "->>"]
SAID["rid", "->>"], SAID["lid", "->>"] = SAID["rid", "<<-"], SAID["lid", "<<-"]
_OF_PAYLOADS = ("payload_b64", "status", "description", "headers")


def _traced(kind, arrow, line):
    line = line.removeprefix("+") if line == "+OK" else line
    return parse_line(f"[1] [TRC] 1.2.3.4:5 - {kind}:8 - {arrow} [{line}]", reveal=True)


@pytest.mark.parametrize(
    ("kind", "arrow", "line"), [(*way, line) for way, (_, lines) in SAID.items() for line in lines]
)
def test_an_operation_of_a_log_is_that_of_the_connection(kind, arrow, line) -> None:
    data = line.encode() + b"\r\n"
    if "MSG" in line or "PUB" in line:
        data += (_HEAD + b"xy" if line.endswith(_SIZES) else b"xy") + b"\r\n"
    (op,) = wire.Parser(SAID[kind, arrow][0]).feed(data)
    wanted = {key: value for key, value in op.as_dict().items() if key not in _OF_PAYLOADS}
    assert log_operation(_traced(kind, arrow, line)) == wanted


@pytest.mark.parametrize(
    ("kind", "arrow", "line"),
    [
        ("cid", "<<-", "PUB a x"), ("cid", "<<-", "PUB a 1.5"), ("cid", "<<-", f"PUB a {10**18}"),
        ("cid", "<<-", "HPUB a x 5"), ("cid", "<<-", "HPUB a 5 x"), ("cid", "->>", "MSG a 1 x"),
        ("rid", "<<-", "LMSG o $G a x 9"), ("lid", "<<-", "LMSG a x"), ("cid", "<<-", "NONE a"),
        ("cid", "<<-", "pub a 2"), ("cid", "<<-", "PUB a b c 2"), ("cid", "->>", "PUB a 2"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_an_operation_has_the_reason_of_its_bytes(kind, arrow, line) -> None:
    with pytest.raises(WireError) as caught:
        log_operation(_traced(kind, arrow, line))
    if line == "pub a 2":  # which a client may send, but the log names it in capitals
        assert (caught.value.reason, caught.value.position) == ("unknown op", 0)
        return
    with pytest.raises(WireError) as bytes_told:
        wire.Parser(SAID[kind, arrow][0], max_payload=None).feed(line.encode() + b"\r\n")
    told, wanted = caught.value, bytes_told.value
    assert (told.cause, told.position) == (wanted.cause, wanted.position)


@pytest.mark.parametrize("lnocu", [True, False])
def test_a_peer_of_a_route_names_the_origin_of_a_leaf_node_if_it_said_so(lnocu) -> None:
    lines = ("LS- o $G a", "LS- $G a", "LS- $G a q", "LS- o $G a q", "LS+ o $G a", "RS- $G a")
    for line in lines:
        read_as, wanted = [], []
        for found, tell in (
            (read_as, lambda line=line: log_operation(_traced("rid", "<<-", line), lnocu=lnocu)),
            (wanted, lambda line=line: wire.Parser("route", lnocu=lnocu)
             .feed(line.encode() + b"\r\n")[0].as_dict()),
        ):  # fmt: skip
            try:
                found.append(tell())
            except WireError as error:
                found.append(error.cause)
        assert read_as == wanted, line
    told = [
        log_operation(_traced("rid", "<<-", "LS- o $G a"), lnocu=each) for each in (True, False)
    ]
    assert told[0] != told[1]
    assert log_operation(_traced("rid", "<<-", "LS- o $G a")) == told[0], "a recent peer"


def test_a_line_of_a_log_may_be_longer_than_what_a_server_reads() -> None:
    found = log_operation(_traced("cid", "<<-", f"SUB {'a' * 100_000} 1"))
    assert found["subject"] == "a" * 100_000


def test_a_surrogate_that_does_not_stand_for_a_byte_is_replaced_alone() -> None:
    assert unquote("ab\ud800c\\n\udcff") == "ab?c\n\udcff"
    assert unquote("ab\udcff\\n") == "ab\udcff\n"


@pytest.mark.parametrize(
    ("login", "user", "how"),
    [("APP/user:u", "u", "user"), ("APP/nkey:U", "U", "nkey"), ("APP/jwt:J", "J", "jwt"),
     ("APP/token", None, "token"), ("APP/other:x", None, None)],
)  # fmt: skip
def test_a_prefix_says_what_its_user_is(login, user, how) -> None:
    found = read_prefix(FRONT.replace("APP/user:u", login) + "<<- [PING]")
    assert found is not None
    assert (found[0].user, found[0].login) == (user, how)


def test_a_size_has_up_to_eighteen_digits() -> None:
    found = log_operation(_traced("cid", "<<-", f"HPUB a {10**17} {10**18 - 1}"))
    assert (found["header_size"], found["size"]) == (10**17, 10**18 - 1)


@pytest.mark.parametrize(
    ("kind", "arrow", "line"),
    [("mid", "<<-", "PING"), ("gid", "->>", "PING"), ("cid", "<->", "DELSUB 1"),
     ("cid", "<<-", "MAPPING a"), ("cid", "<<-", "PUB")],
)  # fmt: skip
def test_what_is_not_of_the_protocol_has_no_operation(kind, arrow, line) -> None:
    assert log_operation(_traced(kind, arrow, line)) is None
    payload = parse_line(f'[1] [TRC] 1.2.3.4:5 - {kind}:8 - {arrow} MSG_PAYLOAD: ["x"]')
    assert payload is not None
    assert log_operation(payload) is None
    said = parse_line(f"[1] [TRC] 1.2.3.4:5 - {kind}:8 - Client connection created")
    assert said is None or log_operation(said) is None


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
