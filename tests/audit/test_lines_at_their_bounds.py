"""Each form of a line of a log on both sides of its bounds, in both readers."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from test_trace_reference import compare

STAMP = "2026/11/21 08:00:00.000001"


def line(rest: str, *, conn: str = "cid:1", pid: str = "[7] ", time: str = STAMP,
         level: str = "TRC", peer: str = "1.2.3.4:5") -> str:  # fmt: skip
    return f"{pid}{time}{' ' if time else ''}[{level}] {peer} - {conn} - {rest}"


def both(*lines: str) -> list[dict[str, Any]]:
    """Return the rows of a log, in which both readers agree."""
    return compare("".join(each + "\n" for each in lines).encode("utf-8", "surrogateescape"))


def at(seconds: float) -> str:
    return f"2026/11/21 08:00:{seconds:09.6f}"


def test_every_day_of_a_month_exists_or_not() -> None:
    days = product((1900, 2000, 2023), range(14), (0, 1, 28, 29, 30, 31, 32))
    rows = both(*(line("<<- [PING]", time=f"{y:04}/{m:02}/{d:02} 08:00:00") for y, m, d in days))
    assert {row["reason"] for row in rows} == {None, "bad time"}


def test_every_time_of_a_day_exists_or_not() -> None:
    times = [f"{h}:{m}:{s}" for h, m, s in product(("00", "23", "24"), ("59", "60"), ("59", "60"))]
    fractions = ["", ".", *(f".{'123456789012'[:length]}" for length in range(1, 12))]
    stamps = [*times, *(f"08:00:00{each}" for each in fractions)]
    both(*(line("<<- [PING]", time=f"2026/11/21 {stamp}") for stamp in stamps))


def test_the_kind_and_the_number_of_a_connection_name_it() -> None:
    numbers = ["0", "00", "7", "007", "1" * 18, "1" * 19, "1" * 20, ""]
    kinds = ["cid", "wid", "mid", "rid", "gid", "lid", "xid", "id", "lid_ws", "cid_ws", "wid_w"]
    rows = both(*(line("<<- [PING]", conn=f"{kind}:{n}") for kind, n in product(kinds, numbers)))
    assert {row["conn"] for row in rows if row["sid"] is None} >= {
        f"7/{kind}:{n}" for kind in ("client", "websocket", "mqtt", "route", "gateway", "leaf")
        for n in (0, 7)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rest", "level"), [("<<- [SUB a 1]", "TRC"), ("Client connection closed: x", "DBG")]
)
def test_a_process_has_one_to_ten_digits(rest: str, level: str) -> None:
    pids = ["", "[] ", "[0] ", "[007] ", f"[{'1' * 10}] ", f"[{'1' * 11}] ", "[7]", "[a] "]
    rows = both(*(line(rest, pid=pid, level=level) for pid in pids))
    assert {"-/client:1", "0/client:1", "7/client:1"} <= {row["conn"] for row in rows}


@pytest.mark.parametrize("level", ["TRC", "DBG", "INF", "WRN", "ERR", "FTL", "FAT", "trc", ""])
def test_each_level_is_read_or_not(level: str) -> None:
    texts = ["<<- [PING]", "Client connection closed: x", "odd", "<<-", "<<- ", "<<- x", "<<- ["]
    named = [line(text, level=level) for text in texts]
    messages = ["Server is ready", "JETSTREAM - x", "AB - x", "A - x", "A- x", " A - x", "AB -x"]
    both(*named, *(f"[7] {STAMP} [{level}] {text}" for text in messages))


WIDE = ["x", "\u00e9", "\U0001f600", "\udcff"]


@pytest.mark.parametrize("filler", WIDE)
def test_another_program_writes_a_bounded_text_before_a_line(filler: str) -> None:
    """At most 300 characters before a connection, 200 before a message."""
    for text in (line("<<- [PING]"), f"[7] {STAMP} [INF] Server is ready", "1.2.3.4:5 - cid:1 - x",
                 "nats-server[9]: Server is ready", "nats-server[9]: 1:5 - cid:1 - <<- [PING]",
                 "[9] 1:5 - cid:1 - <<- [PING]", "[9]x 1:5 - cid:1 - <<- [PING]"):  # fmt: skip
        lengths = [0, 1, *range(180, 203), *range(255, 303)]
        both(*(filler * length + end + text for length in lengths for end in ("", " ")))


def test_colours_are_taken_out_of_the_first_characters() -> None:
    codes = ["\x1b[36m", "\x1b[m", "\x1b[1;36m", "\x1b[36x", "\x1b[", "\x1b", "\x1b[36"]
    plain = line("<<- [PUB a 2]")
    cuts = [0, 1, 4, 5, 31, 36, len(plain) - 3]
    both(*(plain[:cut] + code + plain[cut:] for code in codes for cut in cuts))
    both(*("\x1b[0m" + " " * length + "\x1b[36m" + plain for length in range(240, 300)))


def test_a_subject_that_looks_coloured_is_kept() -> None:
    """Bug: the first line of a connection lost what looked like a colour, the others kept it."""
    rows = both(*[line("<<- [PUB a\x1b[36m 2]")] * 2, line("<<- [PUB a 2]"))
    assert [row["subject"] for row in rows] == ["a\x1b[36m", "a\x1b[36m", "a"]


def test_a_leaf_node_that_was_closed_has_no_user() -> None:
    """Bug: later lines of the connection named its user, unless another reader went on there."""
    known = [line('<<- [CONNECT {"user":"u.x"}]', conn="lid:1"), line("<<- [LS+ a]", conn="lid:1")]
    for text in ("Leaf connection closed: x", "Authentication Timeout"):
        after = [line(text, conn="lid:1", level="ERR"), line("<<- [LS+ b]", conn="lid:1")]
        rows = both(*known, *after)
        assert [row["user"] for row in rows if row["op"] == "LS+"] == ["u.x", None]


def test_a_leaf_node_logs_in_with_its_first_subscription() -> None:
    """The server answers and asks before it accepts the node: these lines are not its login."""
    connect = line('<<- [CONNECT {"user":"u.x"}]', conn="lid:1")
    for count, op in product(range(3), ("PING", "PONG", "INFO {}", "MAPPING")):
        before = [line(f"<<- [{op}]", conn="lid:1")] * count
        rows = both(connect, *before, *[line("<<- [LS+ a]", conn="lid:1")] * 2, *before)
        first = next(row["position"] for row in rows if row["op"] == "LS+")
        assert [row["position"] for row in rows if row["op"] == "LOGIN"] == [first]


@pytest.mark.parametrize("pid", ["[7] ", ""])
def test_a_server_that_starts_again_has_other_clients_of_the_same_numbers(pid: str) -> None:
    """Also in the same process, as the only one of a container has."""
    lines = []
    for user in ("u.v", "u.w"):
        lines += [
            line(f'<<- [CONNECT {{"nkey":"UN","user":"{user}"}}]', pid=pid),
            *[line('"v1:go" - "A/nkey:UN" - <<- [PING]', pid=pid)] * 2,
            f"{pid}{STAMP} [INF] Starting nats-server",
        ]
    rows = both(*lines)
    told = [(row["op"], row["subject"]) for row in rows if row["op"] in ("LOGIN", "CLAIM")]
    assert told == [("LOGIN", "1.2.3.4"), ("CLAIM", "u.v"), ("LOGIN", "1.2.3.4"), ("CLAIM", "u.w")]


OPERATIONS = ["PUB", "HPUB", "MSG", "HMSG", "SUB", "UNSUB", "DELSUB", "MAPPING", "PING", "LS+",
              "LS-", "RMSG", "LMSG", "A" * 12, "A" * 13, "A1", ""]  # fmt: skip
SIZES = ["2", "0", "9" * 17, "9" * 18, "x", "-1"]


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("arrow", ["<<-", "->>", "<->"])
def test_an_operation_of_a_client_has_its_number_of_words(op: str, arrow: str) -> None:
    words = ["a", "b", "->", "d", "e", "f"]
    texts = [[op, *words[:count]] for count in range(6)]
    texts += [[op, *words[:count], size] for count in range(6) for size in SIZES]
    both(*(line(f"{arrow} [{' '.join(text)}]") for text in texts))
    both(*(line(f"{arrow} [\t{'  '.join(text)} ]") for text in texts))


@pytest.mark.parametrize("conn", ["rid:3", "gid:3", "lid:3"])
@pytest.mark.parametrize("arrow", ["<<-", "->>", "<->"])
def test_a_message_between_servers_has_its_names(conn: str, arrow: str) -> None:
    names = [(), ("a",), ("A", "a"), ("A", "a", "r"), ("h", "A", "a", "r"), ("A", "a", "|", "q"),
             ("A", "a", "+", "r", "q"), ("a", "+", "r"), ("a", "+"), ("|", "a"), ("+", "a", "r"),
             ("h", "A", "a", "|", "q"), ("A", "12", "a"), ("a", "|")]  # fmt: skip
    ops = ["RMSG", "HMSG", "LMSG", "MSG", "LS+", "LS-", "RS+", "INFO"]
    texts = [
        " ".join([op, *some, *sizes])
        for op, some, sizes in product(ops, names, ([], ["2"], ["12", "14"], ["x"]))
    ]
    rows = both(*(line(f"{arrow} [{text}]", conn=conn) for text in texts))
    assert any(row["subject"] == "a" for row in rows) or arrow == "<->"


def test_a_message_is_forwarded_under_each_reading_of_its_names() -> None:
    """Of two names the first is an account or the subject, as there is an open window."""
    for words in (("A", "a"), ("a", "r"), ("A", "a", "r"), ("$G", "a"), ("A", "a", "+", "r", "q")):
        for publish in ("a 2", "a r 2", "r 2", "b 2"):
            who = '"v1:go" - "A/user:x"'
            both(
                line(f"{who} - <<- [PUB {publish}]"),
                line(f"->> [RMSG {' '.join(words)} 2]", conn="rid:3"),
                line(f"->> [RMSG {' '.join(words)} 2]", conn="rid:4"),
                line("<<- [PING]"),
            )


@pytest.mark.parametrize("conn", ["cid:1", "rid:1", "gid:1", "lid:1"])
def test_a_message_about_a_connection_has_its_row(conn: str) -> None:
    texts = [
        "Client connection closed: x", "Router_2 connection closed", " connection closed",
        "a-b connection closed", "a  connection closed", "x connection close",
        "Slow Consumer Detected: x", "Slow Consumer Detected", "slow Consumer Detected: x",
        "maximum payload exceeded: 3 vs 2", "maximum payload exceeded",
        "Authentication Timeout", 'authentication error - User "u"', "authentication error",
        'AUTHENTICATION error - Nkey "U", x - y', 'authentication error - User "a\\"b"',
        "Authorization Timeout", "authorization time", "maximum connections exceeded",
        'maximum connections exceeded - "x', "maximum connections", "authentication",
        "Route connection created", "x connection created: y", "Registered", "x registered",
        'Outbound "NAME" registered', 'Leaf connection closed. Remote: "r\\"x" ',
        "Leaf connection closed: Client Closed Remote:  r ", 'Gateway connection closed "n"',
    ]  # fmt: skip
    peers = ["1.2.3.4:5", "[::1]:5", "::1:5", "host", "[::1]"]
    message = "PUB a 2" if conn == "cid:1" else "LMSG a 2"
    before = [line('<<- [CONNECT {"user":"u.x"}]', conn=conn), line("<<- [LS+ a]", conn=conn),
              line(f"<<- [{message}]", conn=conn)]  # fmt: skip
    after = [line("<<- [PUB a 2]", conn=conn), line("<<- [PUB b 2]", conn="cid:9"),
             line("<<- [LMSG a 2]", conn=conn)]  # fmt: skip
    for text in texts:
        both(*before, line(text, conn=conn, level="ERR"), *after)
    both(*(line(text, conn=conn, peer=peer, level="INF") for text in texts for peer in peers))


@pytest.mark.parametrize(
    "text",
    ["Server is ready", "Server is", "Reloaded server configuration", "Entering lame duck mode, x",
     "Initiating Shutdown...", "Starting nats-server", "Starting nats", "x Server is ready"],
)  # fmt: skip
def test_what_a_server_says_about_itself_has_its_row(text: str) -> None:
    about = [f"[7] {STAMP} [INF] {text}", f"{STAMP} [INF] {text}", f"[INF] {text}",
             f"x nats-server[8]: {text}", f"nats-server[8] {text}",
             f"nats-serve[8]: {text}"]  # fmt: skip
    who = '"v1:go" - "A/user:x.y"'
    for told in about:
        both(
            line('<<- [CONNECT {"name":"n"}]'), line("<<- [SUB a q 1]"), line("<<- [PUB a 2]"),
            line("<<- [SUB a q 1]", pid="[8] "), line("<<- [SUB a q 1]", pid="[77] "), told,
            line("->> [MSG a 1 2]"), line(f"{who} - <<- [SUB a p 1]"), line("->> [MSG a 1 2]"),
            line("<<- [SUB a p 1]", pid="[8] "), line("->> [MSG a 1 2]", pid="[8] "),
            line("<<- [SUB a p 1]", pid="[77] "), line("->> [MSG a 1 2]", pid="[77] "),
        )  # fmt: skip


VIOLATIONS = [
    f"{kind} Violation{tokens} - {user}{what} \"{name}\"{queue}{sid}"
    for kind, tokens, user, what, name, queue, sid in product(
        ("Publish", "Subscription"), ("", " Too Many Tokens"),
        ("", 'JWT User "a\\"b", ', '"u", '), ("Subject", "Reply"),
        ("a", "b"), ("", ', Queue: "q"'), ("", ", SID 1", "x"),
    )
]  # fmt: skip


@pytest.mark.parametrize("conn", ["cid:1", "rid:1"])
def test_a_violation_refuses_the_message_or_the_subscription_that_it_names(conn: str) -> None:
    lines = []
    for text in VIOLATIONS:
        lines += [line("<<- [SUB a q 1]"), line("<<- [PUB a r 2]"), line("->> [MSG a 1 r 2]"),
                  line(text, conn=conn, level="ERR"), line("->> [MSG a 1 r 2]"),
                  line("<<- [PUB c 2]")]  # fmt: skip
    rows = both(*lines)
    refused = {row["refused"] for row in rows if row["until"] is not None}
    assert refused == ({None, "publish", "reply"} if conn == "cid:1" else {None})


def test_a_refused_reply_subject_refuses_the_message_that_is_open() -> None:
    """The line of the server names the reply subject, not that of the message."""
    for named, refused in (("Reply", "reply"), ("Subject", None)):
        violation = line(f'Publish Violation - {named} "r"', level="ERR")
        rows = both(line("<<- [PUB a r 2]"), violation, line("->> [MSG a 1 r 2]", conn="cid:2"))
        assert (rows[0]["refused"], rows[0]["until"] == rows[1]["position"]) == (
            refused, refused is not None,
        )  # fmt: skip


@pytest.mark.parametrize("payload", [0, 0.4, 1, None])
@pytest.mark.parametrize("extra", [-0.000001, 0, 0.000001])
@pytest.mark.parametrize("between", [False, True])
def test_a_window_lasts_a_second_after_the_payload(
    payload: float | None, extra: float, between: bool
) -> None:
    end = 1 + (payload or 0) + extra
    lines = [line("<<- [PUB a 2]", time=at(0))]
    if payload is not None:
        lines.append(line('<<- MSG_PAYLOAD: ["hi"]', time=at(payload)))
    if between:
        lines.append(line("<<- [PING]", conn="cid:3", time=at(end - 0.000002)))
    rows = both(*lines, line("->> [MSG a 1 2]", conn="cid:2", time=at(end)))
    assert rows[0]["deliveries"] == (0 if extra > 0 else 1)


def test_windows_end_in_the_order_of_their_messages() -> None:
    """Two messages of equal names share a line; who takes it depends on the order."""
    for first, second in product((0, 0.2), (0, 0.1, 0.3)):
        both(
            line("<<- [PUB a 2]", time=at(0)), line("<<- [PUB a 2]", conn="cid:2", time=at(0)),
            line('<<- MSG_PAYLOAD: ["hi"]', conn="cid:2", time=at(second)),
            line('<<- MSG_PAYLOAD: ["hi"]', time=at(first)),
            line("->> [MSG a 1 2]", conn="cid:3", time=at(0.5)),
            line("->> [MSG a 2 2]", conn="cid:3", time=at(0.5)),
            line("->> [MSG a 1 2]", conn="cid:3", time=at(0.5)),
            line("<<- [PING]", conn="cid:4", time=at(9)),
        )  # fmt: skip


def test_a_mapped_message_keeps_its_reply_and_its_size() -> None:
    for publish in ("PUB a 2", "PUB a r 2", "HPUB a r 12 14"):
        for mapped in ("a -> b", "a b", "a -> b c", "a => b"):
            rows = both(
                line(f"<<- [{publish}]"), line(f"<<- [MAPPING {mapped}]"),
                line("->> [MSG b 1 2]", conn="cid:2"), line("->> [MSG b 1 r 2]", conn="cid:2"),
                line("->> [HMSG b 2 r 12 14]", conn="cid:2"), line("<<- [PING]"),
            )  # fmt: skip
            if mapped == "a -> b":
                assert (rows[0]["direction"], rows[1]["deliveries"]) == ("local", 1)
    both(line("<<- [MAPPING a -> b]"), line("<<- [PING]"))


def test_a_message_takes_a_line_of_another_account_if_its_own_has_none() -> None:
    """The latest message that is open takes it; ``$G`` and no account are one."""
    names = ["", ' - "v1" - "$G/user:x"', ' - "v1" - "A/user:x"', ' - "v1" - "B/user:x"']
    for first, second, third in product(names, repeat=3):
        both(
            line("<<- [PUB a 2]", conn=f"cid:1{first}"),
            line("<<- [PUB a 2]", conn=f"cid:2{second}"),
            line("->> [MSG a 1 2]", conn=f"cid:3{third}"), line("<<- [PING]"),
            line("->> [MSG a 1 2]", conn=f"cid:3{third}"), line("<<- [PING]", conn="cid:2"),
        )  # fmt: skip


def test_a_queue_group_is_one_receiver_within_its_account() -> None:
    accounts = [' - "v1" - "A/user:x"', ' - "v1" - "B/user:x"']
    for queue, left, right in product(("", "q", "p"), accounts, accounts):
        both(
            line("<<- [SUB a q 1]", conn=f"cid:2{left}"),
            line(f"<<- [SUB a {queue} 1]", conn=f"cid:3{right}"),
            line("<<- [PUB a 2]"), line("->> [MSG a 1 2]", conn=f"cid:2{left}"),
            *[line("->> [MSG a 1 2]", conn=f"cid:3{right}")] * 2, line("<<- [PING]"),
        )  # fmt: skip


def test_a_subscription_begins_and_ends_once() -> None:
    """An id in use is not taken again; deliveries after the end belong to it until then."""
    steps = ["<<- [SUB a q 1]", "<<- [SUB a p 1]", "<<- [SUB a 1]", "<<- [UNSUB 1]",
             "<<- [UNSUB 1 5]", "<<- [UNSUB 1 0]", "<-> [DELSUB 1]", "->> [DELSUB 1]",
             "Client connection closed: x"]  # fmt: skip
    lines = []
    for number, three in enumerate(product(steps, repeat=3), 3):
        conn = f"cid:{number}"
        for step in three:
            level = "DBG" if step.startswith("Client") else "TRC"
            lines += [line(step, conn=conn, level=level), line("->> [MSG a 1 2]", conn=conn)]
    both(*lines)
