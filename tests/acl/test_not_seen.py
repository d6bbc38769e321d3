"""No answer is "no user" or "no findings" where the input does not hold what could change it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from command_runs import run, written
from operator_mode import OperatorMode
from operators import connecting
from raw_client import RawClient

from servers import serving
from subtrie._cli.app import app
from subtrie.acl import Deployment, Permissions, decided
from subtrie.acl._entitlement import entitlement
from subtrie.audit._answers.questions import load_rules

SYS = "SYS { users: [ { user: s, password: hidden-word } ] }"
APP = "A { users: [ { user: a, password: hidden-word } ] }"
PAGE = 'A { users: [ { user: page, password: x, permissions: { publish: "a.>" } } ] }'
KEY = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
CALLOUT = f"auth_callout {{ issuer: {KEY}, auth_users: [ u ] }}"

#: Configurations, and whether nats-server admits a connection without credentials as a user of $G.
ADMITTED = {
    "empty": ("", True),
    "no-users": ("authorization { users = [] }", True),
    "no-login": ("authorization { timeout: 2 }", True),
    "defaults": ("authorization { default_permissions: { publish: x } }", True),
    "password-alone": ("authorization { password: hidden-word }", True),
    "empty-user": ('authorization { user: "", password: hidden-word }', True),
    "empty-token": ('authorization { token: "" }', True),
    "account-names": ("accounts: [A, B]", True),
    "accounts-without-users": ("accounts { A {}, B { users: [] } }", True),
    "system-account": (f"accounts {{ {SYS} }}\nsystem_account: SYS", True),
    "default-system-account": (f'accounts {{ "$SYS" {SYS[4:]} }}', True),
    "resolver-alone": ("resolver: MEMORY", True),
    "mappings": ("mappings { a: b }", True),
    "token": ("authorization { token: hidden-word }", False),
    "user": ("authorization { user: u, password: hidden-word }", False),
    "account": (f"accounts {{ {APP} }}", False),
    "two-accounts": (f"accounts {{ {SYS}, {APP} }}\nsystem_account: SYS", False),
    "another-account": (f"accounts {{ {SYS}, A {{}} }}\nsystem_account: SYS", False),
    "system-and-block": (
        f"accounts {{ {SYS} }}\nsystem_account: SYS\nauthorization {{ timeout: 1 }}", False,
    ),
    "callout": (f"authorization {{ {CALLOUT} }}", False),
    "empty-name": (f'accounts {{ {APP} }}\nno_auth_user: ""', False),
}  # fmt: skip


def is_open(url):
    """Return whether a connection without credentials may do everything."""
    try:
        client = RawClient(url)
    except ConnectionError:
        return False
    client.subscribe(">", "1")
    client.publish("orders.new")
    client.flush()
    heard, refused = client.messages, client.refused
    client.close()
    return [each[1] for each in heard] == ["orders.new"] and not refused


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("name", ADMITTED)
def test_every_connection_is_a_user_exactly_where_the_broker_admits_it(name, tmp_path):
    text, admitted = ADMITTED[name]
    with serving(tmp_path / "live", text) as url:
        assert is_open(url) is admitted
    users = Permissions.load_all(written(tmp_path, text))
    assert ("anyone" in users) is admitted
    if admitted:
        assert users["anyone"].can_publish("orders.new")
        assert Deployment.load(tmp_path / "nats.conf").account_of("anyone").name == "$G"


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("name", ["empty", "system-account", "accounts-without-users"])
def test_an_open_broker_was_without_findings_and_without_users(name, tmp_path):
    path = written(tmp_path, ADMITTED[name][0])
    assert "error no-authorization: " in run("acl", "lint", path, status=1)
    said = run("acl", "who", "payments.1", path, status=0)
    assert "✓ anyone  everything (no authorization: every connection is this user)" in said
    assert "no-authorization: a connection without credentials is anyone: it may publish" in (
        run("acl", "flows", path, status=1)
    )
    assert "no authorization" in run("acl", "show", path, status=0)
    assert "no authorization" in run("why", "a", "-p", path, "--user", "anyone", status=0)
    policy = written(tmp_path, "no publish a\n", "policy.txt")
    said = run("acl", "test", policy, path, "--user", "anyone", status=1)
    assert "no authorization" in said


def test_what_a_user_without_credentials_may_do_was_not_named(tmp_path):
    text = f"accounts {{ {PAGE} }}\nno_auth_user: page\n"
    path = written(tmp_path, text)
    with serving(tmp_path / "live", text) as url:
        client = RawClient(url)
        client.publish("b")
        client.flush()
        assert client.refused == [("Publish", "b", None)]
        client.subscribe(">", "1")
        client.publish("a.x")
        client.flush()
        assert ([each[1] for each in client.messages], client.refused) == (["a.x"], [])
        client.close()
    may = "it may publish a.> and subscribe to everything"
    assert f"error no-auth-user: A/page: a connection without credentials is this user: {may}" in (
        run("acl", "lint", path, status=1)
    )
    assert f"no-auth-user: a connection without credentials is A/page: {may}" in (
        run("acl", "flows", path, status=0)
    )
    assert "no_auth_user" in run("acl", "who", "a.x", path, status=0)
    listener = "websocket { listen: '127.0.0.1:-1', no_tls: true, no_auth_user: page }"
    path.write_text(f"accounts {{ {PAGE} }}\n{listener}\n")
    assert Permissions.load_all(path)["A/page"].anonymous == "no-auth-user"


def test_a_listener_with_a_login_of_its_own_has_a_user(tmp_path):
    listener = "mqtt { authorization { user: m, password: hidden-word } }"
    path = written(tmp_path, f"authorization {{ token: hidden-word }}\n{listener}\n")
    assert list(Permissions.load_all(path)) == ["token", "m"]


@pytest.mark.requirement("A81")
def test_a_broker_in_operator_mode_had_no_users_and_no_findings(tmp_path):
    user = {"user": "page", "permissions": {"publish": {"allow": ["quote"]}}}
    operator = OperatorMode({"WEB": {"users": [user]}})
    with serving(tmp_path / "live", operator.config) as url:
        client = RawClient(url, **connecting(*operator.users["WEB/page"]))
        client.publish("quote")
        client.flush()
        assert client.refused == []
        client.close()
    policy = written(tmp_path, "no publish quote\n", "policy.txt")
    jwt = written(tmp_path, operator.operator_jwt, "op.jwt")
    bare = f"operator: {jwt}\nresolver: {{ type: full, dir: '{tmp_path}' }}\n"
    for number, text in enumerate((operator.config, bare)):
        path = written(tmp_path, text, f"{number}.conf")
        said = run("acl", "who", "quote", path, status=2)
        assert said.startswith("? other" if text == bare else "? WEB/other")
        assert "other users  decided elsewhere, by the JWTs" in said
        assert "no findings" not in run("acl", "lint", path, status=2)
        run("acl", "flows", path, status=2 if text == bare else None)
        assert f"{path}: other users: " in run("acl", "show", path, status=2)
        run("why", "quote", "-p", path, status=2)
        assert "? other users: quote" in run("why", "quote", "-p", path, "--every-user", status=2)
        run("acl", "test", policy, path, status=2)
        with pytest.raises(ValueError, match="the JWTs of users, which are not given"):
            load_rules([path])
    assert "not-seen: the accounts are JWTs, which are not given" in run("acl", "flows", path)
    # With the store that nsc keeps, users are given.
    store = operator.store(tmp_path / "store")
    assert "✓ WEB/page" in run("acl", "who", "quote", store, status=0)
    assert Deployment.load(path, store).unseen == []


def test_an_import_without_known_users_at_its_ends_was_of_no_use(tmp_path):
    taken = {"stream": {"account": "SHOP", "subject": "sales.*"}}
    operator = OperatorMode({
        "SHOP": {"users": [], "exports": [{"stream": "sales.*"}]},
        "WEB": {"users": [{"user": "page"}], "imports": [taken]},
    })  # fmt: skip
    store = operator.store(tmp_path / "store")
    said = run("acl", "flows", store, status=2)
    assert "published by: not known" in said
    assert "received by: WEB/page" in said
    assert "not determined: SHOP/other users" in said
    assert "unused-import" not in said
    assert "? SHOP/other users" in run("acl", "who", "x", store, status=2)


def test_a_jwt_of_a_user_told_nothing_of_its_account(tmp_path):
    operator = OperatorMode({"WEB": {"users": [{"user": "page"}]}})
    path = written(tmp_path, operator.users["WEB/page"][0], "page.jwt")
    said = run("acl", "flows", path, status=2)
    assert "not-seen: the account" in said
    assert "no account takes messages" not in said


@pytest.mark.requirement("A81")
def test_a_callout_admits_users_that_are_not_listed(tmp_path):
    listed = '{ user: u, password: hidden-word, permissions: { publish: "a", subscribe: "a" } }'
    text = f"authorization {{ users = [ {listed} ], {CALLOUT} }}\n"
    path = written(tmp_path, text)
    said = run("acl", "who", "payments.1", path, status=2)
    assert said.startswith("? other users  decided elsewhere, by the authorization callout of $G")
    assert "error not-determined: other users: " in run("acl", "lint", path, status=2)
    accepted = "not-determined,plaintext-password"
    assert run("acl", "lint", path, "--ignore", accepted, status=0) == "✓ no findings\n"
    junit = run("acl", "who", "a", path, "--format", "junit", status=2)
    assert "<failure" in junit
    with pytest.raises(ValueError, match="decided elsewhere, by the authorization callout"):
        load_rules([path])
    # Without a subject, too, what users may do is not known.
    for words, code in ((["--every-user"], 2), (["--user", "u"], 0)):
        done = CliRunner().invoke(app, ["why", "-p", str(path), *words], input="")
        assert (done.exit_code, done.output) == (code, ""), words
    assert list(load_rules([f"u={path}"])) == ["u"]


def test_rules_of_an_open_broker_were_an_empty_list_to_the_audit(tmp_path):
    with pytest.raises(ValueError, match="no authorization: every connection may do everything"):
        load_rules([written(tmp_path, "port: 4222\n")])


SHALLOW = (
    'authorization { users: [ { user: a, password: open, permissions: { subscribe: "orders.*" } }\n'
    '  { user: p, password: open, permissions: { subscribe: { deny: "orders.eu.>" } } } ] }\n'
)


@pytest.mark.requirement("A67", "A81")
def test_a_broker_delivered_what_a_policy_said_it_does_not(tmp_path):
    with serving(tmp_path / "live", SHALLOW) as url:
        a, p = (RawClient(url, user=each, **{"pass": "open"}) for each in "ap")
        a.subscribe("orders.>", "1")
        a.flush()
        assert a.refused == []
        p.publish("orders.eu.card")
        p.flush()
        a.flush()
        assert [each[1] for each in a.messages] == ["orders.eu.card"]
        a.close()
        p.close()
    path = written(tmp_path, SHALLOW)
    policy = written(tmp_path, "no subscribe orders.>\n", "policy.txt")
    assert "? line 1: no subscribe orders.>: the models do not agree: 'strict' refuses it" in (
        run("acl", "test", policy, path, "--user", "a", status=1)
    )
    said = run("acl", "who", "orders.eu.card", path, "--verb", "receive", status=2)
    assert said.startswith("? a  by a subscription to orders.>: not determined: ")
    assert "p" not in said.split()
    said = run("acl", "who", "orders.>", path, "--verb", "subscribe", status=2)
    assert "? a  the models do not agree" in said
    # A wider subscription takes the messages, too; --verb receive alone told it.
    said = run("acl", "who", "orders.eu.*", path, "--verb", "subscribe", status=2)
    assert said.startswith("? a  by a subscription to orders.>: not determined: ")
    ask = ("why", "orders.>", "-p", path, "--user", "a", "--verb", "subscribe")
    assert "? orders.>  the models do not agree" in run(*ask, status=2)  # as acl who; it was 1
    row = json.loads(run(*ask, "--json", status=2))
    assert (row["model"], row["determined"], row["models_disagree"]) == ("both", False, True)
    assert "✗" in run(*ask, "--model", "strict", status=1)
    # A line or an option may name one model.
    policy.write_text("strict no subscribe orders.>\nno subscribe stock.>\n")
    run("acl", "test", policy, path, "--user", "a", status=0)
    policy.write_text("broker no subscribe orders.>\n")
    run("acl", "test", policy, path, "--user", "a", status=1)
    policy.write_text("no subscribe orders.>\n")
    run("acl", "test", policy, path, "--user", "a", "--model", "strict", status=0)
    strict = ("acl", "who", "orders.eu.card", path, "--verb", "receive", "--model", "strict")
    assert "no user may receive" in run(*strict, status=1)


def test_a_broker_filters_what_the_strict_model_refuses():
    some = Permissions(subscribe_allow=["a.>"], subscribe_deny=["a.secret"])
    answer = decided(lambda model: some.can_subscribe("a.*", model=model))
    assert (bool(answer), answer.determined, answer.models_disagree) == (False, False, True)
    assert decided(lambda model: some.can_subscribe("a.*", model=model), "broker")
    assert decided(lambda model: some.can_subscribe("a.b", model=model)).model == "both"


def test_a_user_that_may_subscribe_in_a_queue_only_was_not_listed():
    worker = Permissions(subscribe_allow=["orders.> workers"])
    assert entitlement(worker, "orders.new", "subscribe").rule == "orders.> workers"
    assert entitlement(worker, "stock.new", "subscribe") is None


def test_an_import_that_a_broker_may_deliver_was_of_no_use(tmp_path):
    page = '{ user: page, password: x, permissions: { subscribe: "sales.*" } }'
    path = written(tmp_path, "accounts { SHOP { users: [ { user: till, password: x } ]\n"
        '  exports: [ { stream: "sales.>" } ] }\n'
        f"WEB {{ users: [ {page} ]\n"
        '  imports: [ { stream: { account: SHOP, subject: "sales.eu.card" } } ] } }\n')  # fmt: skip
    said = run("acl", "flows", path, status=2)
    assert "received by: not known\n  not determined: WEB/page" in said
    assert "unused-import" not in said
    for words in (["--to", "WEB"], ["--from", "SHOP"], ["--user", "page"], ["--user", "till"]):
        assert "not determined: WEB/page" in run("acl", "flows", path, *words, status=2)
    path.write_text(path.read_text().replace("sales.eu.card", "sales.*"))
    run("acl", "flows", path, "--user", "page", status=0)


def test_flows_with_a_stream_of_users_that_are_not_known_had_exit_code_0(tmp_path):
    """As of a question about the same stream, it is 2."""
    shop = "SHOP { jetstream: enabled, users: [ { user: u, password: x } ] }"
    path = written(tmp_path, f"accounts {{ {shop} }}\n")
    config = {"name": "S", "subjects": ["s.a\u202e.>"]}
    row = {"name": "SHOP", "id": "SHOP", "stream_detail": [{"name": "S", "config": config}]}
    streams = written(
        tmp_path, json.dumps({"server_id": "N", "account_details": [row]}), "jsz.json"
    )
    questions = [[], ["--to", "SHOP"], ["--from", "SHOP"], ["--user", "u"]]
    for words in questions:
        run("acl", "flows", path, streams, *words, status=0)
    path.write_text(f"accounts {{ {shop} }}\nauthorization {{ {CALLOUT} }}\n")
    for words in questions:
        said = run("acl", "flows", path, streams, *words, status=2)
        assert "  not determined: SHOP/other users\n" in said
        assert run("acl", "flows", path, streams, *words, "--json", status=2)
    # The names of a configuration and of a stream may have control characters.
    odd = shop.replace("user: u", 'user: "u\u202e"')
    path.write_text(f"accounts {{ {odd} }}\n")
    lines = run("acl", "flows", path, streams, status=0).splitlines()
    assert lines[:2] == ["stream SHOP:S  s.a\\u202e.>", "  written by: SHOP/u\\u202e"]


STREAM = {"name": "S", "config": {"name": "S", "subjects": ["s"]}, "consumer_detail": []}
PAGE_OF_STREAMS = {"account_details": [{"name": "A", "stream_detail": [STREAM]}]}


def test_a_stream_whose_users_are_not_known_had_no_user(tmp_path):
    page = written(tmp_path, json.dumps({"server_id": "N", **PAGE_OF_STREAMS}), "jsz.json")
    callout = f"authorization {{ auth_callout {{ issuer: {KEY}, account: B, auth_users: [ b ] }} }}"
    nothing = 'permissions: { publish: { deny: ">" }, subscribe: { deny: ">" } }'
    users = f"A {{ users: [ {{ user: a, password: x, {nothing} }} ] }}"
    for more, said in ((callout, "not known"), ("", "no user")):
        bob = "B { users: [ { user: b, password: x } ] }"
        path = written(tmp_path, f"accounts {{ {users}, {bob} }}\n{more}\n")
        text = run("acl", "flows", path, page)
        assert f"written by: {said}\n  read by: {said}\n" in text
        assert f"| `{said}` | `{said}` |" in run("acl", "flows", path, page, "--format", "markdown")


@pytest.mark.parametrize("words", [["who", "S"], ["streams"]])
def test_markdown_had_nothing_to_report_of_what_is_not_seen(words, tmp_path):
    path = written(tmp_path, f"accounts {{ {APP} }}\n")
    page = written(tmp_path, json.dumps({
        "server_id": "N", "streams": 2, **PAGE_OF_STREAMS}), "jsz.json")  # fmt: skip
    more = [path, page, "--verb", "read"] if words[0] == "who" else [page]
    text = run("acl", *words, *more, "--format", "markdown", status=2)
    assert "| `not seen` |  | `" in text
    assert "1 of 2 streams are not in the page" in text
