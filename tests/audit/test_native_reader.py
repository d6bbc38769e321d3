"""The native reader of trace logs against the rules in plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_run import Events, deliveries, read, received
from plain_audit import read as read_plainly
from trace_writer import Trace, random_trace

from subtrie._core.redaction import redact_text

SECRET_JWT = "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl"
SEED = "SUA" + "B" * 55


def assert_same(data: bytes, rows: Events) -> None:
    """Compare all that both readers say about a log."""
    (plain,), unmatched = read_plainly([data])
    assert dict(rows.counts) == {**plain.counts, "unmatched": unmatched}
    assert [row_of(row) for row in received(rows)] == [
        (m.pos, m.end, m.conn, m.size, m.refused, *settled(m)) for m in plain.messages
    ]
    subscriptions = {line.pos: line.subscription for line in plain.lines}
    assert {r["position"]: (r["queue"], r["subscription"]) for r in deliveries(rows)} == {
        pos: (None, None) if found is None else (found.queue, found.start)
        for pos, found in subscriptions.items()
    }
    assert [
        (r["offset"], r["reason"], r["_corrupt_record"]) for r in rows if r["reason"] is not None
    ] == [(row["offset"], row["reason"], row["text"]) for row in plain.unparseable]


def row_of(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("position", "until", "conn", "size", "refused", "deliveries", "forwarded", "ambiguous")
    return tuple(row[name] for name in names)


def settled(message: Any) -> tuple[Any, ...]:
    if message.refused is not None:
        return (None, None, None)
    return (message.delivered, len(message.hops), message.ambiguous)


@pytest.mark.parametrize("seed", range(200))
def test_random_traffic(seed: int) -> None:
    data = random_trace(seed).encode("latin-1")
    rows = read(data)
    assert_same(data, rows)
    dice = random.Random(seed)
    edges = [dice.randrange(1, len(data)) for _ in range(dice.randint(1, 9))]
    divided = read(data, *edges, piece=dice.choice([None, 1, 7, 1000]))
    assert divided == rows
    assert divided.counts == rows.counts


FRONTS = st.sampled_from(
    ["[7] ", "", "\x1b[36m[7] ", "Nov 21 08:16:26 host nats-server[9]: ", "[7] [TRC] ", "x [1] "]
)
TIMES = st.sampled_from(
    [
        *("2026/11/21 08:00:00.000001 ", "2026/11/21 08:00:00.5 ", "2026/11/21 08:00:01.600000 "),
        *("2026/13/01 08:00:00.000001 ", "2026/02/30 08:00:00 ", "2026/11/22 09:00:00.000001 ", ""),
    ]
)
PEERS = st.sampled_from(
    [
        *("1.2.3.4:5 - cid:1", "1.2.3.4:5 - cid:2", "[::1]:5 - wid:3", "1.2.3.4:6 - rid:4"),
        *("1.2.3.4:6 - lid_ws:5", "1.2.3.4 - zid:1", ""),
    ]
)
LOGINS = st.sampled_from(
    [
        *(
            "",
            ' - "v1:go"',
            ' - "v1:go:shop.example"',
            ' - "v1:go:x\\"y" - "APP/user:shop.example"',
        ),
        *(' - "v1" - "$G/user:a/user:bank.core"', ' - "v1:go:n" - "$G/token"', ' - "half'),
    ]
)
RESTS = st.sampled_from(
    [
        *("<<- [PUB a 2]", "<<- [PUB a r 2]", "<<- [HPUB a 12 14]", '<<- MSG_PAYLOAD: ["hi"]'),
        *("<<- [PUB b 2]", "<<- [PING]", "<<- [SUB a  1]", "<<- [SUB a q 1]", "<<- [UNSUB 1 ]"),
        *("->> [MSG a 1 2]", "->> [MSG a 1 r 2]", "->> [HMSG a 1 12 14]", "->> [MSG a 2 2]"),
        *("<-> [DELSUB 1]", "<<- [UNSUB 1 5]", "->> [RMSG $G a 2]", "->> [RMSG $G a + r q 2]"),
        *(
            "<<- [RMSG $G a 2]",
            "<<- [RMSG $G a | q 2]",
            "->> [LMSG a r 2]",
            "<<- [LMSG hub a r 2]",
            "->> [HMSG $G a 12 14]",
        ),
        *("<<- [PUB a 2", "<<- [PUB a x]", "<<- [PUB a]", "<<- [", "<<-", '<<- MSG_PAYLOAD: ["h'),
        *('Publish Violation - Subject "a"', 'Publish Violation - User "u", Subject "b"'),
        *('Publish Violation - Reply "r"', 'Subscription Violation - Subject "a", SID 1'),
        *("Client connection closed: Client Closed", "Starting nats-server", "<<- [PUB a\xff\t 2]"),
    ]
)
LINES = st.builds(
    lambda front, time, level, peer, login, rest: f"{front}{time}{level}{peer}{login} - {rest}",
    FRONTS, TIMES, st.sampled_from(["[TRC] ", "[ERR] ", "[DBG] ", ""]), PEERS, LOGINS, RESTS,
)  # fmt: skip
JUNK = st.one_of(
    st.just("[7] 2026/11/21 08:00:00.000001 [INF] Starting nats-server"),
    st.text(st.characters(max_codepoint=255, exclude_characters="\n\r"), max_size=40),
)


@settings(max_examples=400)
@given(st.lists(st.one_of(LINES, LINES, LINES, JUNK), max_size=30), st.data())
def test_lines_of_any_form(lines: list[str], draw: Any) -> None:
    data = "".join(line + "\n" for line in lines).encode("latin-1")
    rows = read(data)
    assert_same(data, rows)
    edges = draw.draw(st.lists(st.integers(1, max(1, len(data))), max_size=3))
    divided = read(data, *edges, piece=draw.draw(st.sampled_from([None, 1, 5, 64])))
    assert divided == rows
    assert divided.counts == rows.counts


@pytest.mark.parametrize("line", ["<<- [RMSG $G a 2]", "->> [LMSG hub a 2]", "<<- [LMSG a r 2]"])
@pytest.mark.parametrize("peer", ["1.2.3.4:6 - lid_ws:5", "1.2.3.4:6 - rid:4"])
def test_both_readers_read_a_message_of_a_leaf_node_alike(peer: str, line: str) -> None:
    """Bug: the plain rules took the first of two names on a leaf node's line for an account."""
    front = "[7] 2026/11/21 08:00:00.000001 [TRC] "
    sender = f"{front}1.2.3.4:5 - cid:1 - "
    rest = ["<<- [PUB a 2]", "<<- [PUB a r 2]"]
    lines = [*(sender + text for text in rest), f"{front}{peer} - {line}"]
    lines.append(f"{front}1.2.3.4:5 - cid:2 - ->> [MSG a 2 2]")
    data = "\n".join(lines).encode()
    assert_same(data, read(data))


@pytest.mark.parametrize(
    "damaged",
    [
        "[7] 2026/11/22 09:00:00.000001 [TRC] 1.2.3.4:5 - cid:9 - <<- [PUB a.b",
        '[7] 2026/11/22 09:00:00.000001 [TRC] 1.2.3.4:5 - cid:9 - <<- MSG_PAYLOAD: ["half',
        "[7] 2026/11/22 09:00:00.000001 [TRC] 1.2.3.4:5 - cid:9 - <<- [PUB a.b x]",
        "[7] 2026/11/22 09:00:00.000001 [TRC] half",
    ],
)
def test_the_time_on_a_damaged_line_ends_no_window(damaged: str) -> None:
    """Bug: one damaged line with tomorrow's date made a delivered request undelivered."""
    trace = Trace()
    trace.publish(1, "a")
    trace.lines.append(damaged)
    trace.deliver(2, "a", "1")
    rows = read(trace.text().encode())
    assert [row["deliveries"] for row in received(rows)] == [1]
    assert rows.counts["unparseable_lines"] == 1


def test_a_restart_ends_the_subscriptions_of_its_process() -> None:
    """Bug: connection numbers that come again after a restart were taken for the same ones."""
    trace = Trace()
    trace.subscribe(1, "a", "1", "old")
    trace.lines.append("[7] 2026/11/21 08:00:00.000000 [INF] Starting nats-server")
    trace.subscribe(1, "a", "1", "new")
    trace.deliver(1, "a", "1")
    rows = read(trace.text().encode())
    assert [row["queue"] for row in deliveries(rows)] == ["new"]
    assert [(row["op"], row["conn"]) for row in rows if row["op"] == "START"] == [
        ("START", "7/server")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Cookie:x", "AUTHORIZATION \t:\t a b", 'a "cookie: c: d" e', "Set-Cookie: a; Cookie: b",
        "x-cookie: a 1cookie: b", "cookie:", "a:b:cookie: c", r"\r\nProxy-Authorization: x\r\nA: b",
    ],
)  # fmt: skip
def test_the_values_of_headers_are_redacted_as_in_python(text: str) -> None:
    (row,) = read(text.encode())
    assert row["_corrupt_record"] == redact_text(text)


def test_secrets_are_redacted_in_every_column() -> None:
    front = "[7] 2026/11/21 08:00:00.000001 [TRC] 1.2.3.4:5 - cid:8 - "
    lines = [
        f'{front}"v1:x:{SECRET_JWT}" - "{SECRET_JWT}/user:{SEED}" - '
        f"<<- [PUB {SECRET_JWT} {SEED} 2]",
        f"{front}<<- [SUB {SECRET_JWT} {SEED} {SECRET_JWT}]",
        f'{front}<<- [CONNECT {{"jwt":"{SECRET_JWT}","pass":"hunter2',
    ]
    rows = read("\n".join(lines).encode())
    text = str(rows)
    assert len(rows) == 3
    assert SECRET_JWT not in text
    assert SEED not in text
    assert "hunter2" not in text
    assert text.count("[REDACTED]") >= 8


def _of_account(second: int, cid: int, account: str | None, *rest: str) -> list[str]:
    login = "" if account is None else f' - "{account}/user:u"'
    front = (
        f'[7] 2026/11/21 08:00:00.{second:06} [TRC] 1.2.3.4:5 - cid:{cid} - "v1:go:n{cid}"{login}'
    )
    return [f"{front} - {each}\n" for each in rest]


@pytest.mark.parametrize(
    ("publishers", "receiver", "served"),
    [
        (("A", "B"), "B", [0, 1]), (("A", "B"), "A", [1, 0]),
        # A message that its account imported is the latest one of another account.
        (("A", "B"), "C", [0, 1]), (("B", "A"), "C", [0, 1]), (("A", "B", "D"), "C", [0, 0, 1]),
        (("D", "B", "A"), "C", [0, 0, 1]), (("A", "B", "A"), "C", [1, 0, 0]),
        (("B", "A", "D", "A"), "C", [0, 1, 0, 0]),
        # Clients without an account are of $G, which the server prints for some of them.
        ((None, "B"), "$G", [1, 0]), (("$G", "B"), None, [1, 0]), ((None, "B"), None, [1, 0]),
        (("B", None), "$G", [0, 1]),
    ],
    ids=range(12),
)  # fmt: skip
def test_a_delivery_is_of_a_message_of_its_account_else_of_the_latest(publishers, receiver, served):
    lines = _of_account(0, 9, receiver, "<<- [SUB a 1]")
    for number, account in enumerate(publishers, 1):
        said = ("<<- [PUB a 2]", '<<- MSG_PAYLOAD: ["hi"]')
        lines += _of_account(number, number, account, *said)
    lines += _of_account(50, 9, receiver, "->> [MSG a 1 2]")
    rows = read("".join(lines).encode())
    assert [row["deliveries"] for row in rows if row["op"] == "PUB"] == served
