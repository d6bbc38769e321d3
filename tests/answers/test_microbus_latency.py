"""Latency and errors of Microbus requests against worlds whose latencies are known."""

from __future__ import annotations

import gzip
import json
import random
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from subtrie.audit._answers.folding import fold
from subtrie.audit._answers.sums import latency_step
from subtrie.audit._readers.capture_events import capture_events
from subtrie.audit._readers.log_reader import divide, whole_logs
from subtrie.audit._readers.payload_heads import heads_in, heads_of_capture
from subtrie.spark import Questions, audit
from subtrie.wire.capture import Writer

GO_LIVE = Path(__file__).parents[2] / "examples" / "captures" / "go_live"
SERVICES = [f"s{number}.shop" for number in range(5)]
ROUTES = ("items", "orders.list", "on-changed")
Told = tuple[int, str, str, str]  # time in microseconds, service, subject, payload


def request_head(message: str) -> str:
    return rf"GET https://x/y HTTP/1.1\r\nMicrobus-Op-Code: Req\r\nMicrobus-Msg-Id: {message}\r\n"


def response_head(message: str, op: str, status: int) -> str:
    return rf"HTTP/1.1 {status} Text\r\nMicrobus-Msg-Id: {message}\r\nMicrobus-Op-Code: {op}\r\n"


class World:
    """Requests and their responses, with the latency of each."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.told: list[Told] = []
        self.used: set[tuple[str, str]] = set()
        #: By requester, folded subject and responder: times, and how many were errors.
        self.times: dict[tuple[str, str, str | None], list[int]] = defaultdict(list)
        self.errors: Counter[tuple[str, str, str | None]] = Counter()
        self.unanswered: Counter[tuple[str, str]] = Counter()
        for number in range(400):
            self._request(number)
        self.told.sort()

    def _request(self, number: int) -> None:
        dice = self.dice
        asker, *answerers = dice.sample(SERVICES, dice.choice([2, 2, 2, 3, 4]))
        own, host = asker.replace(".", "_"), answerers[0].replace(".", "_")
        trust, port = ("danger", 666) if number % 7 == 0 else ("safe", 443)
        path = dice.choice(ROUTES)
        subject = f"prod.{trust}.{port}.{own}.{host}._.GET.{path}"
        # The ids of two services may be equal.
        message = f"id{number % 90}"
        if (own, message) in self.used:
            message = f"id{number}x"
        self.used.add((own, message))
        at = 1_000_000 * (number + 1) + dice.randrange(1000)
        self._say(at, asker, subject, request_head(message))
        if number % 11 == 0:  # the second fragment of the request, later than the first
            self._say(at + 5, asker, subject, request_head(message))
        pair = asker, fold(subject)
        heard = [each for each in answerers if dice.random() < 0.85]
        if not heard:
            self.unanswered[pair] += 1
        for each in heard:
            took = dice.choice([1, 40, 999, dice.randrange(2, 900_000)])
            op, status, is_error = dice.choice(
                [("Res", 200, 0)] * 6 + [("Err", 500, 1), ("Res", 404, 1), ("Res", 399, 0)]
            )
            reply = f"prod.reply._.{each.replace('.', '_')}.{own}.inst{number % 3}"
            self._say(at + took // 2, each, reply, response_head(message, "Ack", 202))
            self._say(at + took, each, reply, response_head(message, op, status))
            if dice.random() < 0.2:  # a later fragment, which does not count
                self._say(at + took + 7, each, reply, response_head(message, "Err", 500))
            key = (*pair, each)
            self.times[key].append(took)
            self.errors[key] += is_error

    def _say(self, at: int, who: str, subject: str, head: str) -> None:
        self.told.append((at, who, subject, head + r"\r\nsecret body"))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows that the table must have."""
        keys = {*self.times, *((*pair, None) for pair in self.unanswered)}
        for requester, subject, responder in keys:
            times = sorted(self.times[requester, subject, responder])
            yield {
                "kind": "microbus", "requester": requester, "subject": subject,
                "responder": responder, "count": len(times),
                "p50": rank(times, 50), "p99": rank(times, 99),
                "unanswered": 0 if responder else self.unanswered[requester, subject],
                "errors": self.errors[requester, subject, responder], "account": None,
                "user": None, "client": requester,
            }  # fmt: skip

    def write(self, path: Path) -> None:
        """Write the log of a server that received these messages."""
        lines = ["[7] 2026/11/21 00:00:00.000001 [INF] Server is ready"]
        for at, who, subject, payload in self.told:
            cid = 10 + SERVICES.index(who)
            second, micro = divmod(at, 1_000_000)
            minute, second = divmod(second, 60)
            for rest in (f"[PUB {subject} {len(payload)}]", f'MSG_PAYLOAD: ["{payload}"]'):
                lines.append(
                    f"[7] 2026/11/21 {minute // 60:02}:{minute % 60:02}:{second:02}.{micro:06} "
                    f'[TRC] 127.0.0.1:{4000 + cid} - cid:{cid} - "v1:go:{who}" - <<- {rest}'
                )
        path.write_text("\n".join(lines) + "\n")


def rank(ordered: list[int], percent: int) -> int | None:
    """Return the nearest rank, with the three digits that are kept."""
    if not ordered:
        return None
    text = str(ordered[-(-len(ordered) * percent // 100) - 1])
    return int(text[:3].ljust(len(text), "0"))


def test_the_kept_times_are_few_however_many_requests_there_are() -> None:
    assert [latency_step(each) for each in (0, 999, 1_000, 1_001, 12_399, 999_999)] == [
        *(0, 999, 1_000, 1_000, 12_300, 999_000)
    ]
    assert len({latency_step(each) for each in range(1_000_000)}) == 1_000 + 3 * 900


def shown(rows: Any) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("seed", [41])
def test_the_latencies_of_a_world(spark: Any, tmp_path: Path, seed: int) -> None:
    world = World(seed)
    log = tmp_path / "nats.log"
    world.write(log)
    with audit(spark, [str(log)], questions=Questions(payloads="heads")) as found:
        rows = [row for row in found.rows("latency") if row["kind"] == "microbus"]
    expected = shown(world.rows())
    assert sum(world.errors.values()) > 50
    assert sum(world.unanswered.values()) > 20
    assert [row for row in shown(rows) if row not in expected] == []
    assert shown(rows) == expected


def test_a_capture_has_the_heads_of_the_log_of_the_same_traffic(tmp_path: Path) -> None:
    """A real broker's log, and what a tap before it recorded."""
    (whole,) = whole_logs([str(GO_LIVE / "trace.log")])
    of_log = Counter(triple(row) for part in divide(whole) for row in heads_in(part))
    capture = str(recorded(tmp_path / "capture"))
    heads = list(heads_of_capture(capture, 0))
    assert Counter(map(triple, heads)) == of_log
    assert len(of_log) > 100
    published = {
        (row["server"], row["position"])
        for row in capture_events(capture)
        if row["op"] in ("PUB", "HPUB")
    }
    assert {(head["server"], head["position"]) for head in heads} <= published


def recorded(folder: Path) -> Path:
    """Write what the tap read as a capture."""
    begun = 1_700_000_000_000_000_000
    with (
        gzip.open(GO_LIVE / "wire.jsonl.gz", "rt") as lines,
        Writer(folder) as writer,
    ):
        for piece in map(json.loads, lines):
            at = begun + int(piece["t"] * 1e9)
            writer.write(piece["dir"], piece["conn"], b64decode(piece["data"]), at=at)
    return folder


def triple(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["message_id"], row["op_code"], row["status"]
