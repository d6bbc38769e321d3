"""Slow consumers in the log of a real nats-server without Microbus traffic, up to the report."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import nats
import pytest
from broker import running

from patience import settled, wait_until
from plain_trace_log import read_events
from subtrie.audit._results.row_lines import row_lines
from subtrie.report import read_report, to_markdown
from subtrie.spark import Questions, audit, verdict

# A client that reads nothing has more than this waiting after a few hundred messages.
CONFIGURATION = """
trace: true
debug: true
logfile: "{log}"
max_traced_msg_len: 16
max_payload: 65536
max_pending: 1000000
authorization {{ users: [
  {{ user: "shop", password: "hidden-word", permissions: {{ publish: "orders.>" }} }}
  {{ user: "billing", password: "hidden-word" }}
] }}
"""
BODY = b"x" * 50_000
#: Who, account, user, client, and what the identity rests on.
KEYS = ["billing", "$G", "billing", "stuck", "user"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished log."""
    folder = tmp_path_factory.mktemp("slow")
    path = folder / "nats.log"
    (folder / "nats.conf").write_text(CONFIGURATION.format(log=path))
    with running(folder / "nats.conf") as address:
        asyncio.run(traffic(address, path))
    return path


async def traffic(address: str, log: Path) -> None:
    """Run a client that reads nothing, one that reads, and one that publishes."""
    host, _, port = address.rpartition(":")

    async def ignore(_: Exception) -> None:
        pass

    async def client(user: str) -> Any:
        return await nats.connect(
            f"nats://{address}", user=user, password="hidden-word", error_cb=ignore
        )

    async def heard(_: Any) -> None:
        pass

    shop, billing = await client("shop"), await client("billing")
    await billing.subscribe("orders.*.paid", cb=heard)
    await billing.subscribe("orders.*.shipped", cb=heard)
    await settled(billing)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((host, int(port)))
        login = '{"user":"billing","pass":"hidden-word","name":"stuck","lang":"c","version":"1"}'
        deaf.sendall(f"CONNECT {login}\r\nSUB orders.> 1\r\nPING\r\n".encode())
        wait_until(lambda: "[SUB orders.> 1]" in log.read_text())
        for number in range(400):
            await shop.publish(f"orders.{number}.paid", BODY)
            await settled(shop)
            if "Slow Consumer" in log.read_text():
                break
    await shop.publish("orders.7.pad", b"")
    await shop.publish("stock.7", b"")  # refused
    await settled(shop)
    await shop.close()
    await billing.close()


@pytest.fixture(scope="module")
def result(spark: Any, log: Path) -> Any:
    """The audit of the log."""
    with audit(spark, [str(log)], questions=Questions(automatic=True)) as found:
        yield found


def test_the_connection_is_in_the_tables(result: Any, log: Path) -> None:
    told = [row for row in read_events(log.read_bytes())[0] if row["op"] == "SLOW"]
    (row,) = result.rows("slow_consumers")
    assert (row["who"], row["count"]) == ("billing", 1)
    # O17: another client of this user reads in time.
    whose = ("account", "user", "client", "identity_source")
    assert [row[name] for name in whose] == ["$G", "billing", "stuck", "user"]
    assert len({each["conn"] for each in told}) == 1
    assert (row["first"], row["last"]) == (told[0]["time"], told[-1]["time"])


def test_the_first_screen_has_who_is_refused_slow_and_silent(result: Any) -> None:
    assert result.summary["planes"] == []
    assert verdict(result) == "1 undelivered, 1 refused, 1 slow consumer"
    report = read_report(result)
    assert "# Traffic without Microbus" in to_markdown(report)
    found = {each.rule: each for each in report.findings}
    # What the client that read too slowly lost after its end is part of the finding about it.
    assert set(found) == {"refused", "slow_consumers", "coverage"}
    slow = found["slow_consumers"]
    assert slow.message.startswith(
        "billing (client stuck) reads more slowly than the broker sends to it, and was cut off: "
    )
    assert slow.first is not None
    keys = "billing '$G' billing stuck user"
    assert slow.command == f"subtrie report lines --log LOG -- RUN slow_consumers {keys}"
    assert found["coverage"].message.endswith("such as orders.*.shipped")


def test_the_row_has_its_line(result: Any, log: Path) -> None:
    lines = [each.text for each in row_lines(result, "slow_consumers", KEYS, [str(log)])]
    assert lines
    assert all(" - Slow Consumer Detected: MaxPending of 1000000 Exceeded" in x for x in lines)
