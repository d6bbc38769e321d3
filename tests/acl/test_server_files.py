"""Configurations of kinds that a reviewer meets, each asked of a live broker too."""

from __future__ import annotations

import json
import os

import command_runs
import nkeys
import pytest
from command_runs import written
from operators import Operator, connecting, key, token
from raw_client import RawClient

from servers import loads, serving
from subtrie.acl import Deployment, Permissions

KEY = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"


def run(*words, status=None):
    return command_runs.run("acl", *words, status=status)


def user(name, more=""):
    return f"{{ user: {name}, password: hidden-word{more} }}"


def admitted(url, **login):
    """The connection of a login; None if the broker refuses it."""
    try:
        return RawClient(url, **login)
    except (ConnectionError, OSError):
        return None


ACCOUNTS = (
    f"accounts {{ AUTH {{ users: [ {user('gate')} ] }}, "
    f"FOO {{ users: [ {user('foo', ', permissions: { publish: a }')} ] }}, "
    f"BAR {{ users: [ {user('bar')} ] }} }}\nno_auth_user: foo\n"
)
CALLOUT = "authorization {{ auth_callout {{ issuer: {}, account: AUTH, users: [ gate ]{} }} }}\n"


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("allowed", ["", ", allowed_accounts: [ BAR ]"])
def test_a_callout_for_some_accounts_decided_about_all_users(allowed, tmp_path):
    """Users of other accounts keep their own lists, and so does no_auth_user."""
    text = ACCOUNTS + CALLOUT.format(KEY, allowed)
    with serving(tmp_path / "live", f"{text}") as url:
        own = admitted(url, user="foo", **{"pass": "hidden-word"})
        without = admitted(url)
        assert (own is not None) is (without is not None) is bool(allowed)
        for each in filter(None, (own, without)):
            each.publish("b")
            each.flush()
            assert each.refused == [("Publish", "b", None)]
            each.close()
    users = Permissions.load_all(written(tmp_path, text))
    assert users["FOO/foo"].determined is bool(allowed)
    assert not users["BAR/bar"].determined
    assert bool(users["FOO/foo"].anonymous) is bool(allowed)
    said = run("who", "FOO:a", tmp_path / "nats.conf", status=2)
    assert ("✓ FOO/foo  a (no_auth_user" in said) is bool(allowed)


@pytest.mark.requirement("A81")
def test_users_of_a_callout_could_ask_it_themselves(tmp_path):
    """The broker lets none of the callout's account publish what asks the callout."""
    text = ACCOUNTS + CALLOUT.format(KEY, "")
    with serving(tmp_path / "live", text) as url:
        gate = admitted(url, user="gate", **{"pass": "hidden-word"})
        gate.publish("$SYS.REQ.USER.AUTH")
        gate.publish("x")
        gate.flush()
        assert gate.refused == [("Publish", "$SYS.REQ.USER.AUTH", None)]
        gate.close()
    gate = Permissions.load_all(written(tmp_path, text))["AUTH/gate"]
    assert not gate.can_publish("$SYS.REQ.USER.AUTH")
    assert gate.can_publish("x")


@pytest.mark.requirement("A80", "A81")
def test_users_of_an_account_with_a_callout_had_the_lists_of_their_tokens(tmp_path):
    """In operator mode the claim ``authorization`` of an account delegates all other users."""
    operator = Operator()
    gate = key(nkeys.PREFIX_BYTE_USER)
    external = {"authorization": {"auth_users": [gate.public_key.decode()]}}
    operator.account_jwt = operator.account_token(external)
    lists = {"type": "user", "subs": -1, "data": -1, "payload": -1, "pub": {"allow": ["a"]}}
    exempt = token(operator.account, gate.public_key.decode(), "gate", lists)
    lists = {key: each for key, each in lists.items() if key != "pub"}
    wide = token(operator.account, gate.public_key.decode(), "wide", lists)
    delegated, seed = operator.user({"pub": {"allow": ["a"]}})
    with serving(tmp_path / "live", operator.config) as url:
        client = admitted(url, **connecting(exempt, gate.seed.decode()))
        client.publish("a")
        client.flush()
        assert client.refused == []
        client.close()
        client = admitted(url, **connecting(wide, gate.seed.decode()))
        client.publish("$SYS.REQ.USER.AUTH")
        client.publish("x")
        client.flush()
        assert client.refused == [("Publish", "$SYS.REQ.USER.AUTH", None)]
        client.close()
        assert admitted(url, **connecting(delegated, seed)) is None  # no callout answers
    store = tmp_path / "store"
    store.mkdir()
    for name, text in (("op", operator.jwt), ("account", operator.account_jwt),
                       ("gate", exempt), ("wide", wide), ("user", delegated)):  # fmt: skip
        (store / f"{name}.jwt").write_text(text)
    users = Permissions.load_all(store)
    assert users["account/gate"].can_publish("a")
    assert users["account/wide"].can_publish("x")
    assert not users["account/wide"].can_publish("$SYS.REQ.USER.AUTH")
    assert not users["account/user"].determined
    assert "the authorization callout" in users["account/user"].decided_by


def test_an_import_that_renames_to_a_wildcard_was_nothing_at_all(tmp_path):
    """The broker takes it, and the subject of each message has the wildcard as text."""
    text = (
        f"accounts {{ A {{ users: [ {user('a')} ], exports: [ {{ stream: deliver.one }} ] }}\n"
        f"B {{ users: [ {user('b')} ]\n"
        'imports: [ { stream: { account: A, subject: deliver.one }, to: "d.*" } ] } }\n'
    )
    with serving(tmp_path / "live", text) as url:
        a, b = (admitted(url, user=each, **{"pass": "hidden-word"}) for each in "ab")
        b.subscribe("d.*", "1")
        b.flush()
        a.publish("deliver.one")
        a.flush()
        b.flush()
        assert [each[1] for each in b.messages] == ["d.*"]
        a.close()
        b.close()
    path = written(tmp_path, text)
    answer = Deployment.load(path).delivery("A/a", "deliver.one", "B/b", "d.*")
    assert not answer.determined
    assert "has no wildcard" in answer.explanation
    said = run("who", "A:deliver.one", path, "--verb", "receive", status=2)
    assert "? B/b  not determined" in said
    assert "stream A → B  deliver.one" in run("flows", path)


@pytest.mark.requirement("A81")
def test_an_open_broker_that_wants_certificates_admitted_everyone(tmp_path, certificates):
    text = certificates.block("verify: true")
    path = written(tmp_path, text)
    with serving(tmp_path / "live", text) as url:
        assert admitted(url) is None
        assert certificates.admitted(url, "client")
        assert not certificates.admitted(url, None)
    said = run("who", "a", path, status=0)
    assert "✓ anyone  everything (no authorization: every connection with a certificate" in said
    assert (
        "warning no-authorization: anyone: no authorization: every connection with a certificate"
        in (run("lint", path, status=1))
    )
    assert "a connection with a certificate and without credentials is anyone" in (
        run("flows", path, status=1)
    )
    for more in ("allow_non_tls: true\n", "websocket { port: 8080, no_tls: true }\n"):
        assert "with a certificate" not in run("who", "a", written(tmp_path, more + text))


@pytest.mark.requirement("A81")
def test_two_open_brokers_were_not_compared(tmp_path):
    old, same = (written(tmp_path, f"port: {n}\n", f"{n}.conf") for n in (4222, 4333))
    closed = written(tmp_path, f"authorization {{ users: [ {user('a')} ] }}\n", "closed.conf")
    assert run("diff", old, same, status=0) == "✓ no difference\n"
    assert run("diff", old, old, status=0) == "✓ no difference\n"
    said = run("diff", closed, old, status=1)
    assert said.startswith("anyone:\n+ publish >  example: ")
    said = json.loads(run("diff", closed, old, "--json", status=1))
    assert said["not_compared"] == []
    assert "- publish >" in run("diff", old, closed)


def test_operator_mode_had_no_way_out_in_show(tmp_path):
    operator = Operator()
    path = written(tmp_path, operator.config)
    assert loads(path, dict(os.environ))
    assert "a folder of JWTs" in run("show", path, status=2)
