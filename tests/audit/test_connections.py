"""Logins, links between servers, and what servers say of themselves, in the audit of a log."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import nats
import pytest
from click.testing import CliRunner
from nats.errors import Error
from test_trace_reference import compare

from patience import settled, until, wait_until
from servers import serving
from subtrie._cli.app import app
from subtrie.audit import Questions, audit, verdict
from subtrie.audit._results.row_lines import key_text, row_lines
from subtrie.audit._schema import TABLE_KEYS
from subtrie.report._findings import all_findings

HUB = """
debug: true
trace: true
leafnodes { host: "127.0.0.1", port: -1 }
authorization { users: [ { user: web, password: web }, { user: leaf, password: leaf } ] }
"""
EDGE = 'debug: true\nleafnodes { remotes: [ { url: "nats://leaf:leaf@%s" } ] }'


async def _logins(url: str) -> None:
    """Sign in twice, and fail to do so three times."""
    for user, password in (
        ("web", "web"),
        ("web", "no"),
        ("web", "no"),
        ("eve", "no"),
        ("web", "web"),
    ):
        try:
            how: dict[str, Any] = {"allow_reconnect": False, "error_cb": _quiet, "name": "prog"}
            client = await nats.connect(url, user=user, password=password, **how)
        except Error:
            continue
        await client.publish("a", b"1")
        await settled(client)
        await client.close()


async def _quiet(error: Exception) -> None:
    """Errors are what the log is about."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a server to which clients came and a leaf node, which went again."""
    folder = tmp_path_factory.mktemp("hub")
    with serving(folder, HUB) as url:
        path = folder / "server.log"
        listening = re.search(r"for leafnode connections on (\S+)", path.read_text())
        assert listening is not None
        edge = tmp_path_factory.mktemp("edge")
        with serving(edge, EDGE % listening[1]):
            wait_until(lambda: "Leafnode connection created" in path.read_text())
            asyncio.run(_logins(url))
        wait_until(lambda: "Leafnode connection closed" in path.read_text())
    return path


def test_logins_links_and_servers_of_a_running_system(log):
    """Five logins, a leaf node and a stop were nowhere."""
    with audit([str(log)]) as run:
        logins = [
            (row["who"], row["address"], row["outcome"], row["why"], row["count"])
            for row in run.rows("logins")
        ]
        links = list(run.rows("links"))
        events = [row["event"] for row in run.rows("servers")]
        told, found = verdict(run), all_findings(run)
        for table, lines in (("logins", 1), ("links", 3), ("servers", 1)):
            for row in run.rows(table):
                keys = [key_text(row[name]) for name in TABLE_KEYS[table]]
                assert len(list(row_lines(run, table, keys, [str(log)]))) >= lines, row
    why = "authentication error"
    assert sorted(logins, key=str) == [
        ("eve", "127.0.0.1", "refused", why, 1),
        ("leaf", "127.0.0.1", "accepted", None, 1),
        ("web", "127.0.0.1", "accepted", None, 2),
        ("web", "127.0.0.1", "refused", why, 2),
    ]
    [link] = links
    assert (link["kind"], link["address"], link["user"]) == ("leaf", "127.0.0.1", "leaf")
    assert link["remote"].startswith("N")  # the edge has no other name than its id
    assert link["start"] < link["end"]
    assert events == ["start", "ready", "stop"]
    assert told.endswith("3 refused logins, 1 link ended")
    messages = {each.message: each for each in found}
    refused = messages["The broker refused logins of web"]
    assert (refused.level, refused.count, refused.witness) == ("warning", 2, "127.0.0.1")
    assert any(each.startswith("The leaf connection to N") for each in messages)


async def _across(hub: str, edge: str) -> None:
    """A program at the edge receives 21 messages of ``web`` and sends 15."""
    web = await nats.connect(hub, user="web", password="web", name="w", error_cb=_quiet)
    program = await nats.connect(edge, name="program", error_cb=_quiet)
    received = 0

    async def take(message: Any) -> None:
        nonlocal received
        received += 1

    await program.subscribe("cmd.*", cb=take)
    await program.subscribe("job.*", "workers", cb=take)
    await web.subscribe("telemetry.>", cb=take)
    await settled(program)
    await settled(web)
    while received < 2:  # both know of the other's subscriptions
        await web.publish("cmd.0", b"ready?")
        await program.publish("telemetry.0", b"ready?")
        await asyncio.sleep(0.05)
    for number in range(1, 21):
        await web.publish(f"cmd.{number}", b"go")
    for number in range(1, 16):
        await program.publish(f"telemetry.{number}", b"12345", reply="answers.here")
    await web.publish("job.1", b"go")
    await until(lambda: received >= 38)
    await program.close()
    await web.close()


def test_a_leaf_node_is_a_subscriber_and_its_user_is_used(tmp_path):
    """Its user was unused, and the subscriber of what went to it was ``-``."""
    hub, edge = tmp_path / "hub", tmp_path / "edge"
    hub.mkdir()
    edge.mkdir()
    log, config = hub / "server.log", hub / "nats.conf"
    config.write_text(HUB)
    with serving(hub, HUB) as url:
        listening = re.search(r"for leafnode connections on (\S+)", log.read_text())
        assert listening is not None
        with serving(edge, EDGE % listening[1]) as other:
            wait_until(lambda: "Leafnode connection created" in log.read_text())
            asyncio.run(_across(url, other))
        wait_until(lambda: "Leafnode connection closed" in log.read_text())
    compare(log.read_bytes())
    with audit([str(log)], questions=Questions()) as run:
        flows = {
            (row["publisher"], row["pattern"], row["subscriber"]): row["published"]
            for row in run.rows("flows")
        }
        [link] = run.rows("links")
        subscribed = {row["pattern"]: row for row in run.rows("subscriptions")}
    pings = flows["web", "cmd.*", "leaf"] - 20
    assert pings > 0
    assert flows["web", "job.*", "leaf"] == 1
    sent = flows["leaf", "telemetry.>", "web"]
    assert sent > 15
    assert len(flows) == 3
    crossed = {name: link[name] for name in link if name.endswith(("_in", "_out"))}
    assert crossed == {
        "messages_in": sent, "bytes_in": 15 * 5 + (sent - 15) * 6,
        "messages_out": pings + 21, "bytes_out": pings * 6 + 21 * 2,
    }  # fmt: skip
    assert subscribed["cmd.*"]["identity"] == "leaf"
    assert subscribed["cmd.*"]["end"] is not None
    assert (subscribed["job.*"]["queue"], subscribed["job.*"]["sid"]) == (
        "workers",
        "job.* workers",
    )
    done = CliRunner().invoke(app, ["acl", "usage", str(config), "--log", str(log)])
    assert "unused-user" not in done.stdout
    assert "+ subscribe $LDS.*\n" in done.stdout
    assert "+ subscribe cmd.*\n" in done.stdout


LINES = """Starting nats-server
Server is ready
127.0.0.1:6222 - rid:9 - Route connection created
10.1.2.3:7522 - gid:10 - Processing inbound gateway connection
10.1.2.3:7522 - gid:10 - Inbound gateway connection from "B" (NABC) registered
[::1]:4222 - lid:11 - Leafnode connection created for account: $G
[::1]:4222 - lid:11 - "$G/user:x" - Leafnode connection closed: Client Closed - Remote: edge
127.0.0.1:50 - lid:12 - authentication error - User "le\\"af"
127.0.0.1:51 - cid:13 - Authentication Timeout
127.0.0.1:52 - cid:14 - authentication error - Nkey "UAB"
127.0.0.1:52 - cid:14 - maximum connections exceeded
10.1.2.3:7522 - gid:10 - Gateway connection closed: Client Closed
127.0.0.1:6222 - rid:8 - Router connection closed: Client Closed
Reloaded server configuration
Entering lame duck mode, stop accepting new clients
Initiating Shutdown...
"""


def test_what_servers_write_about_connections(tmp_path):
    front = "[7] 2026/11/21 08:00:{:02}.000000 [INF] "
    lines = [front.format(at) + line for at, line in enumerate(LINES.splitlines())]
    data = "\n".join([*lines, ""]).encode()
    compare(data)
    path = tmp_path / "trace.log"
    path.write_bytes(data)
    with audit([str(path)]) as run:
        links = [
            (row["conn"], row["remote"], row["address"], row["start"] is None, row["end"] is None)
            for row in run.rows("links")
        ]
        assert sorted(links) == [
            ("7/gateway:10", "B", "10.1.2.3", False, False),
            ("7/leaf:11", "edge", "::1", False, False),
            ("7/route:8", None, "127.0.0.1", True, False),
            ("7/route:9", None, "127.0.0.1", False, True),
        ]
        denied = [(row["who"], row["why"]) for row in run.rows("logins")]
        assert sorted(denied, key=str) == [
            ('UAB', "authentication error"), ('le"af', "authentication error"),
            (None, "Authentication Timeout"), (None, "maximum connections exceeded"),
        ]  # fmt: skip
        events = [row["event"] for row in run.rows("servers")]
        assert events == ["start", "ready", "reload", "lame duck", "stop"]
        assert "1 reload, 1 lame duck, 3 links ended" in verdict(run)
        assert run.summary["server"] == len(LINES.splitlines())
