"""Heads of payloads: message id, op code and status, wherever a log is divided."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from subtrie.audit import Questions, Run, audit, open_run
from subtrie.audit._growing import GrowingAudit
from subtrie.audit._readers.log_reader import divide, whole_logs
from subtrie.audit._readers.payload_heads import heads_in, heads_of_capture
from subtrie.wire.capture import Writer

CALL = "prod.safe.443.web_shop.stock_shop._.GET.items"
REPLY = "prod.reply._.stock_shop.web_shop.id1"
END = r"\r\n"  # as the log quotes it
BODY = r"\r\n\r\nSECRET \r\nMicrobus-Msg-Id: false\r\nMicrobus-Op-Code: Res\r\n"
HEAD = r"GET https://stock.shop/items HTTP/1.1\r\nMicrobus-Op-Code: Req\r\n"
REQUEST = rf"{HEAD}Microbus-Msg-Id: {{}}{BODY}"
RESPONSE = (
    rf"HTTP/1.1 {{1}} x\r\nMicrobus-Msg-Id: {{0}}\r\nX: \"y\"\r\nmicrobus-op-code: {{2}}{BODY}"
)


def line(second: float, cid: int, rest: str, name: str = "v1:go:x") -> str:
    return (
        f'[7] 2026/11/21 08:00:{second:09.6f} [TRC] 127.0.0.1:4 - cid:{cid} - "{name}" - {rest}\n'
    )


def message(second: float, cid: int, subject: str, payload: str) -> list[str]:
    return [
        line(second, cid, f"<<- [PUB {subject} {len(payload)}]"),
        line(second + 1e-6, cid, f'<<- MSG_PAYLOAD: ["{payload}"]'),
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: Any) -> tuple[Path, list[tuple[str, str, int | None]]]:
    """A log of several connections whose lines alternate, and what its heads are."""
    dice = random.Random(4)
    expected: list[tuple[str, str, int | None]] = []
    streams: list[list[str]] = []
    for cid in range(1, 6):
        own: list[str] = []
        for number in range(12):
            at, name = number + cid / 10, f"id-{cid}_{number}"
            kind = dice.choice(["Req", "Res", "Err", "Ack", "none", "cut", "late", "empty"])
            if kind == "Req":
                own += message(at, cid, CALL, REQUEST.format(name))
                expected.append((name, kind, None))
            elif kind in ("Res", "Err", "Ack"):
                status = {"Res": 200, "Err": 404, "Ack": 202}[kind]
                own += message(at, cid, REPLY, RESPONSE.format(name, status, kind))
                expected.append((name, kind, status))
            elif kind == "none":
                own += message(at, cid, CALL, rf"HTTP/1.1 200 OK\r\nHost: a{BODY}")
            elif kind == "late":  # cut, but after what is read
                head = rf"{HEAD}Microbus-Msg-Id: {name}\r\nMicrobus-Fro..."
                own += message(at, cid, CALL, head)
                expected.append((name, "Req", None))
            elif kind == "cut":
                own += message(at, cid, CALL, REQUEST.format(name)[:90] + "...")
            else:
                own += [line(at, cid, f"<<- [PUB {CALL} 0]")]
        streams.append(own)
    lines = ["[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n"]
    hostile = REQUEST.format("false")
    lines += [
        line(1, 9, "<<- [PING]", name=f"- <<- [PUB {CALL} 9] - <<- MSG_PAYLOAD: [{hostile}]"),
        line(1, 9, rf'->> MSG_PAYLOAD: ["{RESPONSE.format("false", 200, "Res")}"]'),
    ]
    while any(streams):
        stream = dice.choice([each for each in streams if each])
        lines.append(stream.pop(0))
    path = tmp_path_factory.mktemp("heads") / "nats.log"
    path.write_text("".join(lines))
    return path, sorted(expected, key=str)


def read(path: Path, split_bytes: int) -> list[dict[str, Any]]:
    (whole,) = whole_logs([str(path)])
    return [row for part in divide(whole, split_bytes) for row in heads_in(part)]


@pytest.mark.parametrize("split_bytes", [1_000_000, 3_000, 700, 150])
def test_each_head_is_read_once_however_the_log_is_divided(log: Any, split_bytes: int) -> None:
    path, expected = log
    rows = read(path, split_bytes)
    assert sorted(((r["message_id"], r["op_code"], r["status"]) for r in rows), key=str) == expected
    data = path.read_bytes()
    for row in rows:  # the position is that of the publish
        assert data[row["position"] :].split(b"\n")[0].count(b"<<- [PUB ") == 1
    assert len({row["position"] for row in rows}) == len(rows)
    assert "SECRET" not in str(rows)


def said(tmp_path: Path, *lines: str) -> list[tuple[Any, ...]]:
    """The heads in a log of some lines of one connection: id, op code, status, line of publish."""
    texts = [line(number, 4, rest) for number, rest in enumerate(lines)]
    path = tmp_path / "nats.log"
    path.write_text("".join(texts).removesuffix("\n"))  # the last line has no end yet
    starts = [sum(map(len, texts[:number])) for number in range(len(texts))]
    return [
        (r["message_id"], r["op_code"], r["status"], starts.index(r["position"]))
        for r in read(path, 1_000_000)
    ]


PAIR = r"Microbus-Msg-Id: m\r\nMicrobus-Op-Code: Res\r\n"
PUB, HPUB, NOTHING = f"<<- [PUB {REPLY} 9]", f"<<- [HPUB {REPLY} 12 21]", f"<<- [PUB {REPLY} 0]"


def payload(text: str) -> str:
    return f'<<- MSG_PAYLOAD: ["{text}"]'


GOOD = payload(rf"HTTP/1.1 200 OK\r\n{PAIR}\r\nbody")


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ((PUB, GOOD), [("m", "Res", 200, 0)]),
        ((HPUB, GOOD), [("m", "Res", 200, 0)]),
        ((NOTHING, GOOD), []),
        ((PUB, NOTHING, GOOD), []),
        ((PUB, HPUB, GOOD), [("m", "Res", 200, 1)]),
        ((PUB, GOOD, GOOD), [("m", "Res", 200, 0)]),
        ((GOOD,), []),
    ],
    ids=["publish", "headers", "empty", "nothing-after", "the-last", "twice", "none"],
)
def test_a_payload_is_that_of_the_last_publish_of_its_connection(
    lines: tuple[str, ...], wanted: list[Any], tmp_path: Path
) -> None:
    assert said(tmp_path, *lines) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *(
            (rf"HTTP/1.1 {status}{end}{PAIR}\r\n", ("m", "Res", read_as))
            for status, end, read_as in (
                *(("100", " x\\r\\n", 100), ("599", "\\r\\n", 599), ("600", " x\\r\\n", None)),
                *(("099", " x\\r\\n", None), ("2000", " x\\r\\n", None), ("204", "x\\r\\n", None)),
            )
        ),
        (rf"HTTP/1.0 200 OK\r\n{PAIR}\r\n", ("m", "Res", 200)),
        (rf"HTTP/2.0 200 OK\r\n{PAIR}\r\n", ("m", "Res", None)),
        (
            r"GET / HTTP/1.1\r\nMICROBUS-MSG-ID: m\r\nmicrobus-op-code: Res\r\n\r\n",
            ("m", "Res", None),
        ),
        (rf"GET / HTTP/1.1\r\n{PAIR.replace(': m', ':   m  ')}\r\n", ("m", "Res", None)),
        (rf"GET / HTTP/1.1\r\n{PAIR.replace(': m', ': ' + 64 * 'i')}\r\n", (64 * "i", "Res", None)),
        (rf"GET / HTTP/1.1\r\n{PAIR.replace(': m', ': ' + 65 * 'i')}\r\n", None),
        (rf"GET / HTTP/1.1\r\n{PAIR.replace(': m', ': a.b')}\r\n", None),
        # Cut off in the middle of the last value, and between two lines.
        (rf"GET / HTTP/1.1\r\n{PAIR.removesuffix(END)}", None),
        (rf"GET / HTTP/1.1\r\n{PAIR}", ("m", "Res", None)),
        (rf"GET / HTTP/1.1\r\nX: {'x' * 60_000}\r\n{PAIR}\r\n", ("m", "Res", None)),
        (rf"GET / HTTP/1.1\r\nX: {'x' * 66_000}\r\n{PAIR}\r\n", None),
    ],
    ids=range(17),
)
def test_what_is_read_of_a_head(text: str, wanted: tuple[Any, ...] | None, tmp_path: Path) -> None:
    rows = said(tmp_path, PUB, payload(text))
    assert [row[:3] for row in rows] == ([] if wanted is None else [wanted])


def test_a_backslash_in_a_payload_is_not_the_end_of_a_line(tmp_path: Path) -> None:
    """The log quotes it, and a capture has it as it was sent."""
    hostile = b"GET / HTTP/1.1\r\nX: " + PAIR.join((END, "")).encode()
    good = b"GET / HTTP/1.1\r\nMicrobus-Msg-Id: m\r\nMicrobus-Op-Code: Req\r\n"
    with Writer(tmp_path / "capture") as writer:
        for number, head in enumerate((hostile, good)):
            body = head + b"\r\n\r\n"
            sent = b"PUB %b %d\r\n%b\r\n" % (CALL.encode(), len(body), body)
            writer.write("c2s", 1, sent, at=number)
    heads = list(heads_of_capture(str(tmp_path / "capture"), 0))
    assert [(head["op_code"], head["status"]) for head in heads] == [("Req", None)]


def test_a_compressed_log_has_the_same_heads(log: Any, tmp_path: Path) -> None:
    path, _ = log
    packed = tmp_path / "nats.log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed, 500) == read(path, 1_000_000)


def test_a_log_that_grows_has_the_latencies_of_its_whole(tmp_path: Path) -> None:
    lines = ["[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n"]
    for number in range(4):
        lines += message(2 * number + 1, 1, CALL, REQUEST.format(f"m{number}"))
        lines += message(2 * number + 1.5, 2, REPLY, RESPONSE.format(f"m{number}", 200, "Res"))
    log = tmp_path / "nats.log"
    log.write_text("".join(lines))
    questions = Questions(payloads="heads")

    def latencies(run: Run) -> list[dict[str, Any]]:
        return [row for row in run.rows("latency") if row["kind"] == "microbus"]

    with audit([str(log)], questions=questions) as whole:
        wanted = latencies(whole)
    assert [(row["count"], row["errors"]) for row in wanted] == [(4, 0)]
    log.write_text("".join(lines[: len(lines) // 2]))
    growing = GrowingAudit([str(log)], str(tmp_path / "out"), questions=questions)
    growing.read_on()
    log.write_text("".join(lines))
    growing.read_on(complete=True)
    with open_run(tmp_path / "out") as result:
        assert latencies(result) == wanted


def test_a_request_that_the_server_refused_awaits_no_answer(tmp_path: Path) -> None:
    refused = line(1.5, 1, f'Publish Violation - Subject "{CALL}"').replace("[TRC]", "[ERR]")
    for more, count in (([], 1), ([refused], 0)):
        log = tmp_path / "trace.log"
        log.write_text("".join([*message(1, 1, CALL, REQUEST.format("id-1")), *more]))
        with audit([str(log)], questions=Questions(payloads="heads")) as run:
            rows = [row for row in run.rows("latency") if row["kind"] == "microbus"]
        assert [row["unanswered"] for row in rows] == [1] * count


def test_snapshots_have_no_payloads(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="payloads is 'heads' or None"):
        Questions(payloads="all")
    saved = tmp_path / "connz.json"
    saved.write_text('{"server_id": "A", "connections": []}')
    with pytest.raises(ValueError, match="from trace logs and captures, not from snapshots"):
        audit([str(saved)], questions=Questions(payloads="heads"))
