"""Lint of a broker and not only of its lists: each rule, and what it leaves alone."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import nkeys
import pytest
from click.testing import CliRunner
from operators import key, token
from raw_client import RawClient

from servers import loads, serving
from subtrie._cli.app import app
from subtrie.acl import LINT_RULES, _broker_lint

PASSWORD = "$2a$11$W2zko751KUvVy59mUTWmpOdWjpEm5qhcCZRd05GjI/sSOT.xtiHyG"
#: A configuration without any of the findings.
CLEAN = f"""system_account: SYS
http: "127.0.0.1:8222"
jetstream {{ store_dir: "js" }}
accounts {{
  SYS {{ users: [ {{ user: ops, password: "{PASSWORD}", permissions: {{
    publish: "a", subscribe: "_INBOX.ops.>" }} }} ] }}
  A {{
    jetstream: enabled
    users: [ {{ user: a, password: "{PASSWORD}", permissions: {{
      publish: [ "new.>", "$JS.API.STREAM.DELETE.OWN" ], subscribe: "_INBOX.a.>" }} }} ]
    mappings: {{ "old.*": "new.$1" }}
  }}
}}
"""
PUBLISH = 'publish: [ "new.>", "$JS.API.STREAM.DELETE.OWN" ]'

#: Of each rule: what is replaced, by what reports it, and what is much like it and does not.
RULES = {
    "publish-everything": (
        PUBLISH, 'publish: ">"',
        'publish: { allow: ">", deny: ["$JS.>", "_INBOX.>", "$SYS.>"] }',
    ),
    "jetstream-admin": ('"$JS.API.STREAM.DELETE.OWN"', '"$JS.API.>"', '"$JS.API.STREAM.INFO.*"'),
    "inbox-publish": (
        PUBLISH, 'publish: [ "new.>", "_INBOX.>" ]', 'publish: [ "new.>", "_INBOX.a.x" ]',
    ),
    "system-account": ('publish: "a"', 'publish: "$SYS.REQ.>"', 'publish: "$SYS.x"'),
    "open-listener": (
        "http:", "cluster { port: 6222 }\nhttp:",
        "cluster { port: 6222, authorization { user: r, password: $PASS } }\nhttp:",
    ),
    "plaintext-password": (
        f'user: a, password: "{PASSWORD}"', "user: a, password: dull",
        "user: a, password: $PASSWORD",
    ),
    "mapping-unreachable": ('"new.$1"', '"else.$1"', '"new.b.$1"'),
}  # fmt: skip

LISTENERS = {
    'http: "127.0.0.1:8222"': False, 'http: "localhost:8222"': False, 'http: "[::1]:8222"': False,
    "http: 8222": True, 'http: "0.0.0.0:8222"': True, "http_port: 8222": True,
    "host: 127.0.0.1\nhttp_port: 8222": False, "gateway { name: g, port: 7222 }": True,
    "gateway { name: g, port: 7222, authorization { user: g, password: $PASS } }": False,
    "leafnodes { port: 7422 }": False, "monitor_port: 8222": True, "cluster { name: c }": False,
    "net: 127.0.0.1\nmonitor_port: 8222": False, "host: '::1'\nhttp_port: 8222": False,
    "host: 0.0.0.0\nhttp: 8222": True, "host: 127.0.0.1\nhttp: 8222": False,
    "host: 127.0.0.1\nhttp: '0.0.0.0:8222'": True, "host: 127.0.0.1\nhttp: '10.0.0.1:8222'": True,
    "CLUSTER { LISTEN: 6222 }": True, "Gateway { Name: g, Port: 7222 }": True,
    "HTTP_PORT: 8222": True, "https: 8223": False,
}  # fmt: skip


def lint(path, *more):
    done = CliRunner().invoke(app, ["acl", "lint", str(path), "--json", *more])
    assert done.exit_code in (0, 1, 2), done.output
    assert "dull" not in done.output
    return [json.loads(line) for line in done.output.splitlines()]


@pytest.fixture
def conf(tmp_path):
    def write(*change):
        text = CLEAN.replace(*change) if change else CLEAN
        assert change == () or text != CLEAN
        path = tmp_path / "nats.conf"
        path.write_text(text)
        assert loads(path, {**os.environ, "PASS": "x", "PASSWORD": "x"})
        return path

    return write


def test_a_clean_broker_has_no_findings(conf):
    assert lint(conf()) == []


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_reports_and_leaves_alone(rule, conf):
    before, firing, silent = RULES[rule]
    found = [each for each in lint(conf(before, firing)) if each["rule"] == rule]
    assert len(found) == 1
    assert found[0]["file"].endswith("nats.conf")
    assert found[0]["level"] in ("note", "warning")
    assert rule not in [each["rule"] for each in lint(conf(before, silent))]
    assert rule in LINT_RULES
    done = CliRunner().invoke(app, ["acl", "rule", rule])
    assert "Instead:" in done.output


def test_findings_about_one_of_several_users_name_its_account(conf):
    path = conf(PUBLISH, 'publish: ">"')
    (found,) = lint(path, "--user", "a")
    assert (found["rule"], found["user"]) == ("publish-everything", "A/a")
    assert "manage every stream" in found["message"]  # its account has JetStream
    path = conf('publish: "a"', 'publish: "$SYS.REQ.>"')
    (found,) = lint(path, "--user", "ops")
    assert (found["rule"], found["user"], found["level"]) == ("system-account", "SYS/ops", "note")


@pytest.mark.parametrize("listener", LISTENERS)
def test_listeners_that_admit_everyone(listener, conf):
    first = 'http: "127.0.0.1:8222"'
    path = conf() if listener == first else conf(first, listener)
    assert ("open-listener" in [each["rule"] for each in lint(path)]) is LISTENERS[listener]


@pytest.mark.parametrize("key", ["leaf", "leafnodes"])
def test_a_leaf_listener_without_users_is_open(key, tmp_path):
    path = tmp_path / "open.conf"
    path.write_text(f"{key} {{ port: 7422 }}\n")
    assert {"open-listener", "no-authorization"} <= {each["rule"] for each in lint(path)}
    for users in ("authorization { user: u, password: $P }", "accounts { A {} }", "operator: x"):
        path.write_text(f"{users}\n{key} {{ port: 7422 }}\n")
        assert "open-listener" not in {each["rule"] for each in lint(path)}


@pytest.mark.parametrize("key", ["cluster", "gateway", "leafnodes"])
def test_a_listener_that_checks_certificates_is_not_open(key, tmp_path):
    path = tmp_path / "tls.conf"
    for tls, found in (
        ("verify: true", False), ("VERIFY_AND_MAP: true", False), ("verify: false", True),
        ("timeout: 3", True), ("verify: false, verify_and_map: true", False),
    ):  # fmt: skip
        path.write_text(f"{key} {{ port: 6222, tls {{ {tls} }} }}\n")
        opened = [each for each in lint(path) if each["rule"] == "open-listener"]
        assert bool(opened) is found, tls
        assert all(each["message"].startswith(f"{key}: ") for each in opened)


#: Values of keys, and whether they are passwords in plain text.
PLAIN = {
    "password: dull": True, "pass: dull": True, "token: dull": True, "PASSWORD: dull": True,
    "xpassword: dull": False, "password: ''": False, "password: $UNKNOWN": False,
    "password: $KNOWN": False, **{f"password: '$2{each}$11$aaa'": False for each in "abxy"},
    "password: '$2c$11$dull'": True, "password: '2a$dull'": True,
}  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_each_password_that_is_written_out_is_found(line, tmp_path, monkeypatch):
    monkeypatch.setenv("KNOWN", "dull-and-long")
    path = tmp_path / "nats.conf"
    place = "remotes: [ { url: nats://a:1, authorization: {\n %s } } ]"
    path.write_text(f"leafnodes {{ {place % line} }}\n")
    found = [each for each in lint(path) if each["rule"] == "plaintext-password"]
    assert [each["line"] for each in found] == [2] * PLAIN[line]
    path.write_text(f"mqtt {{ authorization {{ {line} }} }}\nleafnodes {{ {place % line} }}\n")
    found = [each for each in lint(path) if each["rule"] == "plaintext-password"]
    assert [(each["line"], "and 1 more" in each["message"]) for each in found] == [
        (1, True)
    ] * PLAIN[line]


def test_a_result_of_a_mapping_that_no_user_may_publish_is_refused(conf, tmp_path):
    """The lists apply to the result, so a live broker refuses what the list allows."""
    rules = 'permissions: { publish: "plant.*.temp" }'
    users = f"users: [ {{ user: a, password: open, {rules} }} ]"
    config = f"""accounts {{ A {{ {users}
      mappings: {{ "plant.*.temp": "plant.a.$1.temp" }} }} }}"""
    path = tmp_path / "plant.conf"
    path.write_text(config)
    [found] = [each for each in lint(path) if each["rule"] == "mapping-unreachable"]
    assert "plant.*.temp → plant.a.$1.temp" in found["message"]
    with serving(tmp_path / "live", config) as url:
        client = RawClient(url, user="a", **{"pass": "open"})
        client.publish(found["witness"])
        client.flush()
        assert client.refused == [("Publish", "plant.a.x.temp", None)]
        client.close()


@pytest.mark.parametrize("order", [1, -1])
def test_a_result_of_a_mapping_that_one_of_two_users_may_publish_is_none(order, tmp_path):
    users = [
        'one, password: open, permissions: { publish: "plant.>" }',
        'two, password: open, permissions: { publish: "x" }',
    ]
    listed = ", ".join(f"{{ user: {each} }}" for each in users[::order])
    path = tmp_path / "plant.conf"
    mapping = 'mappings: { "plant.*.temp": "plant.a.$1.temp" }'
    path.write_text(f"accounts {{ A {{ users: [ {listed} ], {mapping} }} }}")
    assert not [each for each in lint(path) if each["rule"] == "mapping-unreachable"]


def test_a_password_of_the_environment_is_not_in_the_file(conf, monkeypatch):
    monkeypatch.setenv("PASSWORD", "dull-and-long")
    path = conf(f'user: a, password: "{PASSWORD}"', "user: a, password: $PASSWORD")
    assert lint(path) == []


@pytest.mark.parametrize(("seconds", "soon"), [
    (1, True), (30 * 86_400 - 1, True), (30 * 86_400, False), (0, False), (-1, False),
])  # fmt: skip
def test_a_token_that_expires_soon(seconds, soon, tmp_path, monkeypatch):
    monkeypatch.setattr(_broker_lint, "time", SimpleNamespace(time=lambda: 2.0**31))
    account, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    claims = {"type": "user", "pub": {"allow": ["a"]}, "sub": {"allow": ["b"]}}
    path = tmp_path / "u.jwt"
    text = token(account, user.public_key.decode(), "u", claims, {"exp": 2**31 + seconds})
    path.write_text(text)
    assert ("expires-soon" in [each["rule"] for each in lint(path)]) is soon


def test_allow_responses_is_a_note(conf):
    path = conf('subscribe: "_INBOX.a.>"', 'subscribe: "_INBOX.a.>", allow_responses: true')
    assert [(each["rule"], each["level"]) for each in lint(path)] == [("allow-responses", "note")]


@pytest.mark.parametrize(
    "entry",
    [
        "$JS.API.STREAM.PEER.>", "$JS.API.STREAM.LEADER.STEPDOWN.*", "$JS.API.CONSUMER.>",
        "$JS.API.CONSUMER.DELETE.*.*", "$JS.hub.API.STREAM.DELETE.*", "$JS.hub.API.>",
    ],
)  # fmt: skip
def test_what_administers_streams_is_read_from_the_table_of_the_api(entry, tmp_path):
    path = tmp_path / "nats.conf"
    for one, found in (
        (entry, True), (entry.replace("*", "OWN"), "*" not in entry),
        ("$JS.API.CONSUMER.MSG.NEXT.*.*", False), ("$JS.API.CONSUMER.CREATE.OWN.>", False),
    ):  # fmt: skip
        path.write_text(CLEAN.replace("$JS.API.STREAM.DELETE.OWN", one))
        output = CliRunner().invoke(app, ["acl", "lint", str(path)]).output
        assert ("jetstream-admin" in output) is found, (one, output)
