"""The whole text of each finding of ``lint``, with values that all differ from one another."""

from __future__ import annotations

import json
from datetime import datetime
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from operators import Operator

from subtrie._cli.app import app
from subtrie.acl import Permissions, ResponseLimit, _broker_lint

#: Lists, and the texts of their findings of one rule.
OF_LISTS = {
    "plane-wildcard": (
        {"publish_allow": ["*.safe.443.a.>"], "subscribe_allow": ["*.safe.443.b.>"]},
        ["publish *.safe.443.a.> spans every plane: name the plane",
         "subscribe *.safe.443.b.> spans every plane: name the plane"],
    ),
    "danger": (
        {"publish_allow": ["p.*.666.>"], "subscribe_allow": ["q.*.666.>"]},
        ["publish p.*.666.> reaches the trust root (port 666)",
         "subscribe q.*.666.> reaches the trust root (port 666)"],
    ),
    "inbox": ({"subscribe_allow": ["_INBOX.> q"]},
              ["subscribe _INBOX.> q receives replies to other clients"]),
    "unbounded-depth": (
        {"subscribe_allow": ["a.b.* q", "*.b.c.d"]},
        ["subscribe a.b.* q: whether a.b.> may be subscribed to is not determined; deny subscribe "
         "a.b.*.>, which *.b.c.d would lose in part"],
    ),
    "unchecked": (
        {"publish_allow": [f"a{n}" for n in range(700)],
         "publish_deny": [f"a{n}" for n in range(400)]},
        ["publish: 1100 entries are too many to compare each with all others (at most 1000)"],
    ),
    "shadowed": (
        {"publish_allow": ["a.b", "c"], "publish_deny": ["a.>"],
         "subscribe_allow": ["d.e", "f"], "subscribe_deny": ["d.>"]},
        ["publish a.b is denied completely", "subscribe d.e is denied completely"],
    ),
    "redundant": (
        {"publish_allow": ["a.>", "a.b"], "subscribe_allow": ["c.>", "d.>"],
         "subscribe_deny": ["c.x", "c.*"]},
        ["publish a.b is redundant: the other entries grant the same",
         "deny subscribe c.x is redundant: the other entries deny the same"],
    ),
    "dead": (
        {"publish_allow": ["a"], "publish_deny": ["b"], "subscribe_allow": ["c"],
         "subscribe_deny": ["d"]},
        ["deny publish b has no effect: nothing that it matches is allowed",
         "deny subscribe d has no effect: nothing that it matches is allowed"],
    ),
    "allow-responses": (
        {"publish_allow": ["a"], "allow_responses": ResponseLimit(max=7, expires=9)},
        ["allow_responses: the sender of a message chooses the subject of the answer, which may "
         "be sent 7 times whatever the lists say"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", OF_LISTS)
def test_of_lists(rule):
    lists, wanted = OF_LISTS[rule]
    found = Permissions(**lists).lint(microbus=True)
    assert [each.message for each in found if each.rule == rule] == wanted


def test_a_size_is_that_of_these_lists():
    entries = [f"plane.safe.443.someone.host{n}.*.GET.path" for n in range(70)]
    [found] = [each for each in Permissions(publish_allow=entries).lint() if each.rule == "size"]
    told, limit = "takes about ", " bytes, more than the broker's control line of 4096"
    before, size = found.message.removesuffix(limit).split(told)
    assert before == "with a user JWT of these rules CONNECT "
    assert int(size) > 4096


#: When a token begins and ends, by the year, and the text of its finding.
TIMES = [
    ("2001-02-03 04:05:06", "2002-03-04 05:06:07",
     "the token expired at 2002-03-04 05:06:07 UTC: no client can connect with it"),
    ("2101-02-03 04:05:06", "2102-03-04 05:06:07",
     "the token is not valid before 2101-02-03 04:05:06 UTC"),
    ("2001-02-03 04:05:06", "2038-01-20 05:06:07", "the token expires at 2038-01-20 05:06:07 UTC"),
]  # fmt: skip


@pytest.mark.parametrize(("begins", "ends", "text"), TIMES)
def test_of_the_times_of_a_token(begins, ends, text, tmp_path, monkeypatch):
    monkeypatch.setattr(_broker_lint, "time", SimpleNamespace(time=lambda: 2.0**31))
    moments = [int(datetime.fromisoformat(f"{each}+00:00").timestamp()) for each in (begins, ends)]
    path = tmp_path / "user.jwt"
    claims = dict(zip(("nbf", "exp"), moments, strict=True))
    path.write_text(Operator().user({"pub": {"allow": ["a.>"]}}, claims=claims)[0])
    assert text in [json.loads(line)["message"] for line in _lint(path).splitlines()]


def test_of_an_entry_of_a_token_that_matches_nothing(tmp_path):
    path = tmp_path / "user.jwt"
    path.write_text(Operator().user({"pub": {"allow": ["a", "b.>.c"]}})[0])
    [found] = [each for each in Permissions.load(path).lint() if each.rule == "dead"]
    assert found.message == "publish_allow: b.>.c has '>' before its end and matches nothing"


def _lint(path, *more):
    return CliRunner().invoke(app, ["acl", "lint", str(path), "--json", *more]).output


def _users(publish):
    lists = f'{{ publish: {publish}, subscribe: "own" }}'
    return f"users: [ {{ user: u, password: $PASS, permissions: {lists} }} ]"


#: Parts of a configuration, and the text of its finding of one rule.
OF_BROKERS = {
    "publish-everything": (
        "jetstream {}\naccounts { A { jetstream: enabled, " + _users('">"') + " } }",
        ["A/u: may publish everything, also to answer in place of others, and to manage every "
         "stream"],
    ),
    "jetstream-admin": (
        "authorization { " + _users('["a", "$JS.API.STREAM.>"]') + " }",
        ["u: publish $JS.API.STREAM.> may change any stream or its consumers"],
    ),
    "inbox-publish": (
        "authorization { " + _users('["a", "_INBOX.>"]') + " }",
        ["u: publish _INBOX.> may answer requests in place of others"],
    ),
    "system-account": (
        "system_account: SYS\naccounts { SYS { " + _users('["a", "$SYS.REQ.SERVER.>"]') + " } }",
        ["SYS/u: a user of the system account, which manages the broker: $SYS.REQ.SERVER.>"],
    ),
    "open-listener": (
        "cluster { port: 6222 }\ngateway { name: g, port: 7222 }\nmonitor_port: 8222\n"
        "leafnodes { port: 7422 }",
        ["cluster: routes of other servers connect without a password or a certificate",
         "gateway: gateways of other clusters connect without a password or a certificate",
         "leafnodes: leaf nodes connect without a password or a certificate",
         "monitor_port: the monitoring port shows accounts and connections to everyone"],
    ),
    "plaintext-password": (
        "authorization { users: [ " + ", ".join(
            f"{{ user: u{n}, password: dull }}" for n in range(4)) + " ] }",
        ["a password is in the file as plain text, and 3 more: hash it, or take a variable"],
    ),
    "mapping-unreachable": (
        "accounts { A { " + _users('"plant.*"') + "\n"
        'mappings: { "plant.*": [ { destination: "one.$1", weight: 50 }, '
        '{ destination: "two.$1", weight: 50 } ] } } }',
        ["A: no user of the account may publish what the mapping plant.* → one.$1, two.$1 makes "
         "of a subject"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", OF_BROKERS)
def test_of_brokers(rule, tmp_path, monkeypatch):
    monkeypatch.setenv("PASS", "x")
    config, wanted = OF_BROKERS[rule]
    path = tmp_path / "nats.conf"
    path.write_text(config)
    found = [json.loads(line) for line in _lint(path).splitlines()]
    assert sorted(each["message"] for each in found if each["rule"] == rule) == wanted


def test_of_connections_without_credentials(tmp_path):
    path = tmp_path / "nats.conf"
    user = '{ user: a, password: $P, permissions: { publish: "x.*", subscribe: ["y.*", "z"] } }'
    path.write_text(f"authorization {{ users: [ {user} ] }}\nno_auth_user: a\n")
    found = [json.loads(line)["message"] for line in _lint(path).splitlines()]
    assert found[0] == (
        "a: a connection without credentials is this user: it may publish x.* and subscribe to "
        "y.*, z"
    )
