"""Clients that other brokers may bring in; flows between two accounts; ``acl why``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from raw_client import RawClient
from test_who_across_accounts import CONFIG

from servers import free_port, serving
from subtrie._cli.app import app

HUB = """accounts {
  A { users: [ { user: svc, password: open } ] }
  B { users: [ { user: b, password: open, permissions: { publish: "y", subscribe: "y" } } ] }
}
"""


def run(*words, status):
    done = CliRunner().invoke(app, ["acl", *map(str, words)])
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture
def hub(tmp_path):
    path = tmp_path / "hub.conf"
    path.write_text(f"{HUB}leafnodes {{ listen: '127.0.0.1:-1' }}\nmqtt {{ port: 1883 }}\n")
    return path


def test_a_listener_for_leaf_nodes_was_said_to_link_no_other_broker(hub):
    said = run("flows", hub, status=0)
    assert "no account takes" not in said
    assert "listener leafnodes: leaf nodes of other brokers may connect as any user of A, B" in said
    assert "listener mqtt: clients may connect by MQTT" in said
    rows = [json.loads(line) for line in run("who", "A:x", hub, "--json", status=2).splitlines()]
    assert [(each["user"], each["allowed"]) for each in rows] == [
        ("A/svc", True), ("others by leaf nodes as A/svc (line 5)", None),
    ]  # fmt: skip
    # As user b, a leaf node may bring in no client that publishes x.
    run("who", "B:x", hub, status=1)
    run("who", "A:x", hub, "--user", "svc", status=0)


def test_leaf_nodes_are_named_once_for_each_account_with_such_a_user(tmp_path):
    path = tmp_path / "hub.conf"
    more = HUB.replace("svc, password: open }", "svc, password: open }, { user: two, password: x }")
    path.write_text(f"{more}leafnodes {{ listen: '127.0.0.1:-1' }}\n")
    rows = [json.loads(line) for line in run("who", "A:x", path, "--json", status=2).splitlines()]
    assert [each["user"] for each in rows] == [
        "A/svc", "A/two", "others by leaf nodes as A/svc (line 5)",
    ]  # fmt: skip


def test_a_leaf_node_brings_in_a_client_without_a_login(hub, tmp_path):
    """The case of the listener, on two live brokers."""
    port = free_port()
    listener = f"leafnodes {{ listen: '127.0.0.1:{port}' }}\n"
    with serving(tmp_path / "hub", HUB + listener) as url:
        leaf = f"nats-leaf://svc:open@127.0.0.1:{port}"
        config = f'leafnodes {{ remotes: [ {{ url: "{leaf}" }} ] }}\n'
        with serving(tmp_path / "leaf", config) as other:
            svc, stranger = RawClient(url, user="svc", **{"pass": "open"}), RawClient(other)
            svc.subscribe("x", "1")
            found: list[object] = []
            while not found:  # until the link is up
                stranger.publish("x")
                stranger.flush()
                svc.flush()
                found += svc.messages
            svc.close()
            stranger.close()


@pytest.mark.parametrize(("link", "account", "publish", "receive"), [
    ('leafnodes { remotes: [ { url: "nats-leaf://h:1", account: A, deny_imports: "x" } ] }',
     "A", False, True),
    ('leafnodes { remotes: [ { url: "nats-leaf://h:1", account: A, deny_exports: "x" } ] }',
     "A", True, False),
    ('leafnodes { remotes: [ { url: "nats-leaf://h:1", account: B } ] }', "A", False, False),
    ("cluster { name: c, port: 6222 }", "B", True, True),
    ('cluster { name: c, port: 6222, permissions { import: "y", export: "x" } }', "A", False, True),
    ('gateway { name: g, port: 7222, gateways: [ { name: h, url: "nats://h:1" } ] }',
     "A", True, True),
])  # fmt: skip
def test_other_brokers_are_a_reason_for_not_determined(link, account, publish, receive, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(f"{HUB}{link}\n")
    for verb, known in (("publish", publish), ("receive", receive)):
        done = CliRunner().invoke(app, ["acl", "who", f"{account}:x", str(path), "--verb", verb])
        assert ("? others by" in done.output) is known, (verb, done.output)
        assert (done.exit_code == 2) is known


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(CONFIG)
    return path


def test_flows_between_two_accounts(site):
    said = run("flows", site, "--from", "PAY:settled.1.2", "--to", "WEB", status=0)
    assert said.splitlines() == [
        "stream PAY → WEB  settled.x.x as x.x",
        "  published by: PAY/svc",
        "  received by: WEB/page, WEB/admin",
    ]
    assert "service WEB → PAY" in run("flows", site, "--to", "PAY", status=0)
    assert run("flows", site, "--from", "PAY:other", "--to", "WEB", status=1) == "no import fits\n"
    run("flows", site, "--from", "WEB", "--to", "EVIL", status=1)
    assert "stream" in run("flows", site, "--user", "page", status=0)
    run("flows", site, "--user", "mallory", status=1)
    assert "there are $G, SYS" in run("flows", site, "--from", "NONE", status=2)
    assert "there are SYS/ops" in run("flows", site, "--user", "nobody", status=2)
    assert run("flows", site, "--to", "EVIL", "--json", status=1) == ""


def test_why_beside_the_other_verbs_takes_the_file_last(site):
    assert "✓ old.7  mapped to new.7" in run("why", "old.7", site, "--user", "svc", status=0)
    one = CliRunner().invoke(app, ["why", "old.7", "x", str(site), "--user", "svc"])
    assert one.exit_code == 1
    assert len(one.output.splitlines()) == 2
    assert run("why", status=2)


def test_a_request_with_the_filter_of_a_consumer_is_a_question(site):
    """It was refused as a pattern; a broker takes the wildcard as text."""
    asked = "$JS.API.CONSUMER.CREATE.PAY.c.payments.>"
    assert "✗" in run("why", asked, site, "--user", "svc", status=1)
    assert "✓" in run("why", asked, site, "--user", "admin", status=0)
    run("why", "a.>", site, "--user", "admin", status=2)
