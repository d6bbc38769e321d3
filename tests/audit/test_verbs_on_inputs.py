"""``who`` and ``wire`` on the inputs of the audit, and rows that are one for many ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from trace_writer import Trace

from subtrie._cli.app import app
from subtrie.audit import audit

FRONT = "[7] 2026/11/21 08:00:00.000000 "
LEAF = f"{FRONT}[TRC] 10.0.0.9:1 - lid:9 - "


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def log_in(folder: Path, *lines: str) -> Path:
    path = folder / "trace.log"
    path.write_text("\n".join([*lines, ""]))
    return path


def test_subscriptions_of_leaf_nodes_are_listed(tmp_path):
    """They were "no matching subscription"."""
    path = log_in(tmp_path, f"{LEAF}<<- [LS+ cmd.edge.*]", f"{LEAF}<<- [LS+ jobs.> pool 1]")
    done = command("who", "-s", path, "cmd.edge.1", "jobs.2")
    assert done.exit_code == 0
    assert "cmd.edge.*  line 1" in done.stdout
    assert "jobs.>  queue pool  line 2" in done.stdout


def test_subscriptions_of_before_a_restart_are_not_listed(tmp_path):
    first, second = Trace(), Trace()
    first.subscribe(1, "orders.>", "1")
    second.subscribe(1, "orders.>", "1")
    text = first.text() + f"{FRONT}[INF] Starting nats-server\n" + second.text()
    path = tmp_path / "trace.log"
    path.write_text(text)
    done = command("who", "-s", path, "orders.1", "--format", "json")
    lines = [each["line"] for each in json.loads(done.stdout)["matches"]]
    assert lines == [len(text.splitlines())]


def test_a_saved_monitoring_response_has_subscriptions(tmp_path):
    """It was read as patterns: "a queue group contains a wildcard"."""
    page = tmp_path / "connz.json"
    detail = {"cid": 8, "subscriptions_list_detail": [{"subject": "a.*", "sid": "1", "cid": 8}]}
    page.write_text(json.dumps({"connections": [detail]}))
    done = command("who", "-s", page, "a.1")
    assert (done.exit_code, "a.*  conn 8" in done.stdout) == (0, True)


def test_a_capture_has_subscriptions(folder):
    """A capture was refused."""
    done = command("who", "-s", folder, ">")
    assert done.exit_code == 0
    assert "conn " in done.stdout


def test_no_pattern_is_nearest_that_shares_no_token(tmp_path):
    path = tmp_path / "patterns.txt"
    path.write_text("_INBOX.abc\ntax.*.x\n")
    done = command("who", "-s", path, "tax.1", "other.1")
    assert done.exit_code == 1
    assert "nearest tax.*.x" in done.stdout
    assert "_INBOX" not in done.stdout
    assert "no matching subscription" in done.stdout.partition("other.1")[2]


def test_the_check_of_a_capture_prints_what_was_seen(folder):
    """27 of 30 lines were "not seen"."""
    short, long = (command("wire", folder, "--check", *more) for more in ((), ("--long",)))
    assert "not seen" not in short.stdout
    assert short.stdout.splitlines()[-1].endswith("--long")
    hidden = sum("not seen" in line for line in long.stdout.splitlines())
    assert hidden > 3
    assert len(long.stdout.splitlines()) == len(short.stdout.splitlines()) - 1 + hidden


MQTT = f'{FRONT}[TRC] 10.0.0.9:1 - mid:9 - "s" - '


def test_lines_of_mqtt_are_counted_by_name(tmp_path):
    """They were passed over in silence."""
    packets = ["CONNECT clientID=s username=m", "PUBLISH a/b dup=false QoS=0 retain=false size=2"]
    path = log_in(tmp_path, *(f"{MQTT}<<- [{each}]" for each in packets))
    done = command("wire", path)
    assert done.exit_code == 0
    assert "2 lines of MQTT not read" in done.stdout
    done = command("audit", path)
    assert "2 lines of MQTT not read" in done.stdout.splitlines()[0]
    assert "lines of MQTT: 2 (not read: " in done.stdout


@pytest.mark.parametrize("long", [False, True])
def test_refusals_of_many_ids_are_one_row(tmp_path, long):
    """``payments.0.refund`` to ``payments.9.refund`` were ten rows."""
    about = f'{FRONT}[ERR] 10.0.0.9:1 - cid:9 - "v1:go:web" - "$G/user:web" - Publish Violation - '
    lines = (f'{about}Subject "payments.{number}.refund"' for number in range(10))
    path = log_in(tmp_path, f"{FRONT}[INF] Server is ready", *lines)
    done = command("audit", path, *(["--long"] if long else []))
    assert done.stdout.count(".refund  ") == (10 if long else 1), done.stdout
    assert ("payments.*.refund  10" in done.stdout) != long
    with audit([str(path)]) as run:
        assert run.count("refused") == 10


def test_what_is_published_after_its_stream_was_deleted_has_no_receiver(tmp_path):
    """It was "stored" to the end of the log."""
    trace = Trace()
    created = (
        r"{\"type\":\"io.nats.jetstream.api.v1.stream_create_response\",\"config\":"
        r"{\"name\":\"ORDERS\",\"subjects\":[\"orders.*\"]}}"
    )
    trace.publish(1, "orders.1")  # before it was created
    front = f'{FRONT}[TRC] 10.0.0.9:1 - cid:1 - "v1:x" - '
    text = trace.text()
    text += f'{front}->> MSG_PAYLOAD: ["{created}"]\n'
    more = Trace()
    for number in range(5):
        more.publish(1, f"orders.{number}")
    text += more.text()
    text += f"{front}<<- [PUB $JS.API.STREAM.DELETE.ORDERS _INBOX.1 0]\n{front}<<- [PING]\n"
    last = Trace()
    for number in range(3):
        last.publish(1, f"orders.{number}")
    path = tmp_path / "trace.log"
    path.write_text(text + last.text())
    from subtrie.audit import Questions

    with audit([str(path)], questions=Questions()) as run:
        found = {
            row["subscriber"]: (row["published"], row["undelivered"])
            for row in run.rows("flows")
            if row["pattern"] == "orders.*"
        }
    assert found == {"stream ORDERS": (6, 0), None: (3, 3)}
