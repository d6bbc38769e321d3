"""Texts of CONNECT, INFO and snapshots that UTF-8 cannot encode: an audit reads them all."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from subtrie.audit._partial.parts import EVENT_COLUMNS, SavedPart, read_part
from subtrie.audit._readers.payload_heads import heads_of_capture
from subtrie.audit._readers.text_encoding import escape_surrogates
from subtrie.spark import TABLES, audit
from subtrie.wire import Tap, capture
from tests.answers.broker import running

LONE = "\\ud800"  # as JSON has it
SHOWN = r"\xed\xa0\x80"
CALL = "p1.safe.443.a_com.b_com._.GET.x"

#: Every option of CONNECT and INFO that is a text, and those of the entries of snapshots.
CONNECT = (
    *("user", "pass", "auth_token", "name", "lang", "version", "jwt", "nkey", "sig"),
    *("account", "cluster"),
)
INFO = (
    *("server_id", "server_name", "version", "go", "git_commit", "host", "nonce", "cluster"),
    *("domain", "client_ip", "remote_account", "ip", "xkey"),
)
ENTRY = (
    *("kind", "type", "ip", "name", "lang", "version", "account", "authorized_user", "name_tag"),
    *("jwt", "issuer_key", "mqtt_client", "remote_name", "remote_id", "start", "reason"),
)
SUBSCRIPTION = ("account", "account_tag", "subject", "qgroup", "sid")


def options(names: tuple[str, ...], **more: object) -> str:
    """Return a JSON object in which each name has a lone surrogate."""
    given = dict.fromkeys(names, "LONE") | more
    return json.dumps(given).replace("LONE", f"x{LONE}")


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    with audit(None, [str(path)]) as found:
        return {name: list(found.rows(name)) for name in TABLES}


def test_a_client_that_never_logged_in_does_not_end_the_audit_of_a_capture(tmp_path):
    """A lone surrogate in any text of CONNECT or INFO ended it, without a table."""
    with capture.Writer(tmp_path / "taken") as writer:
        for conn, (info, connect) in enumerate(
            [(each, ()) for each in INFO] + [((), each) for each in CONNECT], 1
        ):
            told = options((info,) if info else (), client_id=conn)
            said = options((connect,) if connect else ())
            writer.write("opened", conn, b'{"kind":"client"}', at=conn)
            writer.write("s2c", conn, b"INFO " + told.encode() + b"\r\n", at=conn)
            writer.write("c2s", conn, b"CONNECT " + said.encode() + b"\r\n", at=conn)
            writer.write("c2s", conn, f"SUB a.{conn} 1\r\nPUB {CALL} 0\r\n\r\n".encode(), at=conn)
            writer.write("s2c", conn, b'-ERR \'Permissions Violation for Publish to "'
                         + CALL.encode() + b"\"'\r\n", at=conn)  # fmt: skip
    found = tables_of(tmp_path / "taken")
    assert len(found["subscriptions"]) == len(INFO) + len(CONNECT)
    names = {row["identity"] for row in found["subscriptions"]}
    assert f"x{SHOWN}" in names
    assert f"x{SHOWN}" in {row["server"] for row in found["subscriptions"]}
    assert sum(row["count"] for row in found["refused"]) == len(INFO) + len(CONNECT)


def test_the_heads_of_a_capture_name_the_server_as_its_events_do(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nMicrobus-Msg-Id: 1\r\nMicrobus-Op-Code: Res\r\n\r\n"
    with capture.Writer(tmp_path / "taken") as writer:
        writer.write("opened", 1, b'{"kind":"client"}', at=1)
        writer.write("s2c", 1, f'INFO {{"server_id":"{LONE}"}}\r\n'.encode(), at=1)
        writer.write("c2s", 1, b"PUB a %d\r\n%s\r\n" % (len(head), head), at=1)
    (head_of_message,), (event,) = (
        list(heads_of_capture(str(tmp_path / "taken"), 0)),
        [row for row in events_of(tmp_path / "taken") if row["op"] == "PUB"],
    )
    assert head_of_message["server"] == event["server"] == SHOWN


def events_of(path: Path) -> list[dict[str, Any]]:
    part = SavedPart("capture", str(path), 0)
    return [row for batch in read_part(part, EVENT_COLUMNS, {}) for row in batch.to_pylist()]


@pytest.mark.parametrize("endpoint", ["connz", "subsz", "routez"])
def test_a_text_of_a_snapshot_does_not_end_the_audit(tmp_path, endpoint):
    entry = json.loads(options(SUBSCRIPTION, cid=1))
    whole: dict[str, Any] = {"server_id": "x\ud800", "now": "x\ud800", "server_name": "\ud800"}
    whole |= {"cluster": "\ud800", "limit": 9}
    about = json.loads(options(ENTRY, subscriptions_list_detail=[entry]))
    match endpoint:
        case "connz":
            whole["connections"] = [about | {"cid": 1}]
        case "subsz":
            whole |= {"num_subscriptions": 1, "subscriptions_list": [entry]}
        case _:
            whole["routes"] = [about | {"rid": 1}]
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(whole))
    found = tables_of(path)["subscriptions"]
    expected = [] if endpoint == "routez" else [f"x{SHOWN}"]  # those of clients
    assert [row["pattern"] for row in found] == [row["queue"] for row in found] == expected


def test_a_tap_before_a_real_broker_takes_a_lone_surrogate_and_the_audit_reads_it(tmp_path):
    """The broker takes the CONNECT, and the session goes on."""
    config = tmp_path / "nats.conf"
    config.write_text("debug: false\n")
    asyncio.run(tapped(tmp_path / "taken", config))
    found = tables_of(tmp_path / "taken")
    assert [row["identity"] for row in found["subscriptions"]] == [SHOWN]


async def tapped(folder: Path, config: Path) -> None:
    """Run a client through a tap before a broker."""
    with running(config) as address:
        host, port = address.rsplit(":", 1)
        async with Tap(to=(host, int(port)), out=folder) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            await reader.readline()  # INFO
            said = f'CONNECT {{"verbose":false,"name":"{LONE}"}}\r\nSUB a 1\r\nPING\r\n'
            writer.write(said.encode())
            while await reader.readline() != b"PONG\r\n":
                pass
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("é", "é"),
        ("a\udcff", r"a\xff"),
        ("a\ud800", r"a\xed\xa0\x80"),
        *((f"\ud800{chr(0xDC00 + byte)}", rf"\xed\xa0\x80\x{byte:02x}") for byte in (0x80, 0xFF)),
        ("\udc7f\udd00", r"\xed\xb1\xbf\xed\xb4\x80"),
        ("\udcffé\ud800\udfff\U0001f600", r"\xffé\xed\xa0\x80\xed\xbf\xbf" + "\U0001f600"),
    ],
)
def test_a_text_becomes_one_that_can_be_written_as_utf_8(text, shown):
    assert escape_surrogates(text) == shown
    assert shown.encode()
