"""Users, accounts and top-level keys: the broker's verdict and ours, on a corpus and on mutants.

Together with ``test_load_config.py`` well over 100 configurations, each given to the real broker.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess

import pytest
from raw_client import RawClient
from test_load_config import BAD, ENV, FINE, OURS, P, one

from servers import find_binary, loads, serving
from subtrie import PermissionsError
from subtrie.acl import Permissions, ResponseLimit

USER_KEY = "UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5"
ACCOUNT_KEY = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"


def users(*entries: str, more: str = "") -> str:
    return f"authorization {{ users = [ {', '.join(entries)} ]\n {more} }}\n"


U = "{ user: u, permissions: { publish: a } }"
A = P(publish_allow=["a"])

GOOD = {
    "nkey": (users(f"{{ nkey: {USER_KEY}, permissions: {{ publish: a }} }}"), {USER_KEY: A}),
    "two-users": (users(U, "{ user: v }"), {"u": A, "v": P()}),
    "connections": (users("{ user: u, allowed_connection_types: [standard, MQTT_WS] }"),
                    {"u": P()}),
    "one-connection": (users("{ user: u, clients: WEBSOCKET }"), {"u": P()}),
    "authorization-word": (users("{ user: u, authorization: { publish: a } }"), {"u": A}),
    "block-permissions": (users("{ user: u }", U.replace("u,", "v,"),
                                more="permissions: { subscribe: s }"),
                          {"u": P(subscribe_allow=["s"]), "v": A}),
    "timeout": (users(U, more='timeout: "1s"'), {"u": A}),
    "timeout-number": (users(U, more="timeout: 0.5"), {"u": A}),
    "token": ("authorization { token: hidden-word }", {"token": P()}),
    "no-auth-user": (users(U) + "no_auth_user: u\n", {"u": A}),
    "accounts": ("accounts { A { users = [ " + U + " ] }, B { users = [ { user: b } ] } }",
                 {"A/u": A, "B/b": P()}),
    "accounts-and-users": (users(U) + "accounts { B { users = [ { user: b } ] } }",
                           {"u": A, "B/b": P()}),
    "account-variable": ("accounts { R: { publish: a }\n A { users = [ { user: u, "
                         "permissions: $R } ] } }", {"A/u": A}),
    "account-as-variable": ("accounts { A { users = [ " + U + " ] }\n B: $A }",
                            {"B/u": A}),
    "account-list": (users(U) + "accounts: [A, B]\n", {"u": A}),
    "account-nkey": (f"accounts {{ A {{ nkey: {ACCOUNT_KEY}, users = [ {U} ] }} }}", {"A/u": A}),
    "account-defaults-and-own": (
        "accounts { A { default_permissions { publish: d }, users = [ { user: u }, { user: v, "
        "permissions: {} } ] } }", {"A/u": P(publish_allow=["d"]), "A/v": P()}),
    "top-level": ("port: 4222\nhost: 127.0.0.1\ndebug: off\nmax_payload: 1MB\nping_interval: '2m'\n"
                  "server_name: n1\nlame_duck_duration: 60s\n" + users(U), {"u": A}),
    "top-level-variable": ("nothing_known: [a]\n" + one("{ publish: $nothing_known }"), {"u": A}),
    "cluster": ("cluster { name: c, listen: '127.0.0.1:-1' }\njetstream: off\n" + users(U),
                {"u": A}),
    "bcrypt": (users("{ user: u, password: $2a$11$ooo, permissions: { publish: a } }"), {"u": A}),
    "map-variable": ("R { publish: { allow: a, deny: b } }\n" + one("$R"),
                     {"u": P(publish_allow=["a"], publish_deny=["b"])}),
    "inner-variable-shadows": (one("{ X: a, publish: $X, subscribe: $Y }", "X: b\nY: $X\n"),
                               {"u": P(publish_allow=["a"], subscribe_allow=["b"])}),
    "duplicate-user-key": (users("{ user: first, user: u, permissions: { publish: a } }"),
                           {"u": A}),
    "duplicate-permissions": (users("{ user: u, permissions: { publish: z }, "
                                    "permissions: { publish: a } }"), {"u": A}),
    "duplicate-block": (users("{ user: z }") + users(U), {"u": A}),
    "nested-deny-only": (one("{ publish: { deny: [a, b] }, subscribe: { deny: '> q' } }"),
                         {"u": P(publish_deny=["a", "b"], subscribe_deny=["> q"])}),
    "expires-parts": (one('{ publish: a, allow_responses: { max: 2, expires: "1h0.5m1.5s2ms" } }'),
                      {"u": P(publish_allow=["a"], allow_responses=ResponseLimit(2, 3631.502))}),
    # Bug: a duration of more than 100 characters was refused.
    "expires-long": (one(f"{{ publish: a, allow_responses: {{ max: 2, expires: {'1s' * 60} }} }}"),
                     {"u": P(publish_allow=["a"], allow_responses=ResponseLimit(2, 60))}),
    "expires-nothing": (one('{ publish: a, allow_responses: { expires: "0.4ns" } }'),
                        {"u": P(publish_allow=["a"], allow_responses=ResponseLimit(1, 120))}),
    "no-users": ("authorization { users = [] }", {"anyone": P()}),
}  # fmt: skip

REFUSED = {
    "top-level-unknown": ("listen_on: 4222\n" + users(U), "unknown-key"),
    "top-level-text": ("port: many\n" + users(U), "config-type"),
    "top-level-flag": ("debug: 1\n" + users(U), "config-type"),
    "top-level-span": ("ping_interval: often\n" + users(U), "duration"),
    "top-level-date": ("server_name: 2024-01-02T03:04:05Z\n" + users(U), "config-type"),
    "no-such-date": ("x: 2024-13-02T03:04:05Z\n" + users(U), "conf-number"),
    "user-and-users": ("authorization { user: u, password: hidden-word, users = [] }", "auth-mix"),
    "token-and-users": ("authorization { token: hidden-word, users = [] }", "auth-mix"),
    "token-and-password": ("authorization { token: s, password: hidden-word }", "auth-mix"),
    "user-and-accounts": ("authorization { user: s }\naccounts { A { users = [ " + U + " ] } }",
                          "auth-mix"),
    "token-and-accounts": ("authorization { token: s }\naccounts { A { users = [ " + U + " ] } }",
                           "auth-mix"),
    "nkey-and-user": (users(f"{{ nkey: {USER_KEY}, user: u }}"), "auth-mix"),
    "nkey-and-password": (users(f"{{ nkey: {USER_KEY}, password: hidden-word }}"), "auth-mix"),
    "account-key-as-user": (users(f"{{ nkey: {ACCOUNT_KEY} }}"), "nkey"),
    "nkey-checksum": (users(f"{{ nkey: {USER_KEY[:-1]}6 }}"), "nkey"),
    "nkey-text": (users("{ nkey: nobody }"), "nkey"),
    "account-nkey": (f"accounts {{ A {{ nkey: {USER_KEY} }} }}", "nkey"),
    "password-number": (users("{ user: u, password: 7 }"), "config-type"),
    "user-number": (users("{ user: 7 }"), "config-type"),
    "user-text": (users("u"), "config-type"),
    "proxy-word": (users("{ user: u, proxy_required: perhaps }"), "config-type"),
    "connection-type": (users("{ user: u, allowed_connection_types: [PIGEON] }"),
                        "connection-type"),
    "connection-number": (users("{ user: u, allowed_connection_types: 7 }"), "config-type"),
    "timeout-word": (users(U, more="timeout: soon"), "duration"),
    "timeout-flag": (users(U, more="timeout: true"), "config-type"),
    "reserved-account": ("accounts { $G { users = [ " + U + " ] } }", "account-name"),
    "reserved-listed": ("accounts: [A, '$G']", "account-name"),
    "account-twice": ("accounts: [A, A]", "account-name"),
    "account-text": ("accounts { A: text }", "config-type"),
    "account-unknown-key": ("accounts { A { user: u } }", "unknown-key"),
    "account-users": ("accounts { A { users: { user: u } } }", "config-type"),
    "same-user-two-accounts": ("accounts { A { users = [ " + U + " ] }, B { users = [ " + U
                               + " ] } }", "user-twice"),
    "same-user-both-blocks": (users(U) + "accounts { B { users = [ " + U + " ] } }", "user-twice"),
    "same-nkey-twice": (users(*[f"{{ nkey: {USER_KEY} }}"] * 2), "user-twice"),
    "defaults-bad": (users(U, more="default_permissions: { publish: a..b }"), "empty-token"),
    "defaults-type": (users(U, more="default_permissions: [ a ]"), "config-type"),
    "single-user-bad-defaults": ("authorization { user: u, permissions: { publish: a..b } }",
                                 "empty-token"),
    "callout-issuer": (users(U, more="auth_callout { issuer: A, auth_users: [ u ] }"), "nkey"),
    "callout-without-issuer": (users(U, more="auth_callout { auth_users: [ u ] }"), "callout"),
    "callout-without-users": (users(U, more=f"auth_callout {{ issuer: {ACCOUNT_KEY} }}"),
                              "callout"),
    "callout-unknown": (users(U, more=f"auth_callout {{ issuer: {ACCOUNT_KEY}, "
                                      "auth_users: [ u ], ask: b }"), "unknown-key"),
    "callout-text": (users(U, more="auth_callout: yes please"), "conf-separator"),
    "responses-key": (one("{ allow_responses: { often: 1 } }"), "unknown-key"),
    "responses-max-float": (one("{ allow_responses: { max: 1.5 } }"), "config-type"),
    "long-duration": (one('{ allow_responses: { expires: "9000000h" } }'), "duration"),
    "variable-after": (one("{ publish: $LATER }") + "LATER: a\n", "conf-variable"),
    "variable-of-include": ("include inner.conf\nX: a\n", "conf-variable"),
    "variable-with-more": (one("{ publish: $MORE }"), "conf-variable"),
    "arabic-digits": ("port: \u0663\n", "conf-number"),
    "long-number": ("port: " + "9" * 5000 + "\n", "conf-number"),
    "variable-unused": ("X: b\n" + one("{ X: a, publish: $X }"), "unknown-key"),
    "stray-bracket": (users(U) + "]\n", "conf-key"),
}  # fmt: skip

#: The broker reads these files, and does not start with them.
NO_START = {
    "no-auth-user": (users(U) + "no_auth_user: v\n", "user-unknown"),
    "no-auth-single": ("authorization { user: u, password: hidden-word }\nno_auth_user: u\n",
                       "user-unknown"),
}  # fmt: skip

ENV_HERE = {**ENV, "MORE": "a b: c"}


def written(tmp_path, text):
    path = tmp_path / "nats.conf"
    path.write_text(text)
    (tmp_path / "inner.conf").write_text(one("{ publish: $X }"))
    return path


@pytest.mark.parametrize("name", GOOD)
def test_users_mean_the_same_as_to_the_broker(name, tmp_path):
    text, wanted = GOOD[name]
    path = written(tmp_path, text)
    assert Permissions.load_all(path, env=ENV_HERE) == wanted
    assert loads(path, ENV_HERE)


@pytest.mark.parametrize("name", REFUSED)
def test_users_the_broker_does_not_load_are_refused(name, tmp_path):
    text, reason = REFUSED[name]
    path = written(tmp_path, text)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load_all(path, env=ENV_HERE)
    assert caught.value.reason == reason, caught.value
    assert str(tmp_path) in str(caught.value)
    assert not loads(path, ENV_HERE)


@pytest.mark.parametrize("name", NO_START)
def test_users_the_broker_does_not_start_with_are_refused(name, tmp_path):
    text, reason = NO_START[name]
    path = written(tmp_path, "listen: '127.0.0.1:-1'\n" + text)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load_all(path, env=ENV_HERE)
    assert caught.value.reason == reason
    done = subprocess.run([find_binary(), "-c", path], capture_output=True, check=False, timeout=30)
    assert done.returncode == 1


def test_the_corpus_has_more_than_a_hundred_configurations():
    assert len({**FINE, **BAD, **OURS}) + len({**GOOD, **REFUSED, **NO_START}) > 130


def test_a_callout_decides_for_all_but_its_own_users(tmp_path):
    text = users(
        U, "{ user: caller }", more=f"auth_callout {{ issuer: {ACCOUNT_KEY}, auth_users: [ u ] }}"
    )
    path = written(tmp_path, text + "accounts { B { users = [ { user: b } ] } }")
    assert loads(path, ENV_HERE)
    found = Permissions.load_all(path)
    assert {name: each.determined for name, each in found.items()} == {
        "u": True, "caller": False, "B/b": False, "other users": False,
    }  # fmt: skip
    decision = found["caller"].can_publish("a")
    assert (bool(decision), decision.known) == (False, False)


def test_beside_others_of_a_callout_the_only_user_that_is_listed_is_taken(tmp_path):
    more = f"auth_callout {{ issuer: {ACCOUNT_KEY}, auth_users: [ u ] }}"
    assert Permissions.load(written(tmp_path, users(U, more=more))).publish_allow == ("a",)


@pytest.mark.parametrize(("named", "refused"), [("", True), (", account: B", False)])
def test_a_user_without_an_account_is_one_of_the_callout_of_the_global_account(
    named, refused, tmp_path
):
    """The broker lets none of them ask the callout."""
    more = f"auth_callout {{ issuer: {ACCOUNT_KEY}, auth_users: [ u ]{named} }}"
    text = users("{ user: u }", more=more) + "accounts { B {} }"
    user = Permissions.load_all(written(tmp_path, text))["u"]
    assert bool(user.can_publish("$SYS.REQ.USER.AUTH")) is not refused
    assert user.can_publish("x")


def test_users_with_the_permissions_of_their_account_keep_their_own_places(tmp_path):
    text = (
        "accounts { A { default_permissions { publish: d }\n users = [\n"
        "{ user: u, allowed_connection_types: [ MQTT ] }\n{ user: v } ] } }"
    )
    found = Permissions.load_all(written(tmp_path, text))
    assert {name: (each.publish_allow, each.place.line) for name, each in found.items()} == {
        "A/u": (("d",), 3), "A/v": (("d",), 4),
    }  # fmt: skip


def test_a_configuration_in_operator_mode_has_no_users(tmp_path):
    path = written(tmp_path, "operator: some.jwt\nresolver: MEMORY\n" + users(U))
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert caught.value.reason == "auth-mix"


@pytest.mark.parametrize("word", ["true", "yes", "on", "false", "no", "off"])
def test_a_word_for_yes_or_no_is_that_of_the_broker(word, tmp_path):
    path = tmp_path / "nats.conf"
    for each in (word, word.upper(), word.capitalize()):
        lists = f"publish: r, subscribe: q, allow_responses: {each}"
        text = (
            f"authorization {{ users: [ {{ user: u, password: x, permissions: {{ {lists} }} }}\n"
            "{ user: all, password: x } ] }"
        )
        path.write_text(text)
        with serving(tmp_path / each, text) as url:
            answerer = RawClient(url, user="u", **{"pass": "x"})
            asker = RawClient(url, user="all", **{"pass": "x"})
            answerer.subscribe("q", "1")
            answerer.flush()
            asker.publish("q", reply="answer.here")
            asker.flush()
            answerer.flush()
            answerer.publish("answer.here")
            answerer.flush()
            told = Permissions.load(path, user="u").allow_responses
            assert (told is not None) is (not answerer.refused), each
            answerer.close()
            asker.close()


def test_load_all_of_a_file_of_one_user(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(A.dump())
    assert Permissions.load_all(path) == {"": A}


PIECES = [
    "publish", "allow", "deny", ":", "=", " ", "\n", ",", ";", "{", "}", "[", "]", '"a"', "'b.>'",
    "a.*", "#c\n", "$RULE", "$LIST", "$MORE", "7", "7 ", "2.5", "true", '"x y"', "user", "users",
    "permissions", "accounts", "token", "a..b", "allow_responses", "max", "ttl", '"1s"', "port",
    "\t", "\r\n", "\v", "(", "\\", '"', "{}", "[]", "u: v\n", "no_auth_user", "nkey", USER_KEY,
]  # fmt: skip
WORD = re.compile(r'"[^"]*"|\'[^\']*\'|[\w.*>$-]+|\s+|.', re.DOTALL)


def mutant(rng: random.Random, text: str) -> str:
    words = WORD.findall(text)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(words))
        if rng.random() < 0.4:
            words[at : at + 1] = [" "]
        else:
            words[at : at + rng.randrange(2)] = [rng.choice(PIECES)]
    return "".join(words)


def test_mutants_of_the_corpus_load_only_if_the_broker_loads_them(tmp_path):
    rng = random.Random(5)
    texts = [text for text, _ in {**FINE, **GOOD}.values()]
    loaded = 0
    for number in itertools.count():
        path = written(tmp_path, mutant(rng, rng.choice(texts)))
        try:
            Permissions.load_all(path, env=ENV_HERE)
        except PermissionsError:
            continue
        assert loads(path, ENV_HERE), path.read_text()
        loaded += 1
        if loaded == 40 or number > 2000:
            break
    assert loaded == 40


def test_loaded_permissions_decide_as_the_running_broker(tmp_path):
    """Every spelling of the corpus as a user of one server, and its answers against ours."""
    blocks = {}
    for name, (text, _) in FINE.items():
        if found := re.fullmatch(
            r"[^{]*\sauthorization \{ users = \[ \{ user: u, permissions: (.*) \} \] \}\s*",
            text,
            re.S,
        ):
            blocks[f"u-{name}"] = found[1]
    assert len(blocks) >= 15
    rows = "\n".join(
        f"{{ user: {name}, password: open, permissions: {block} }}"
        for name, block in blocks.items()
    )
    own = "ALL: [a, b.>]\nONE: c\nRULE: env.>\nLIST: [one, two]\n"
    text = f"{own}authorization {{ users = [\n{rows}\n] }}\n"
    path = written(tmp_path, text)
    subjects = ["a", "b", "c", "a.b", "a.x", "x", "x.y", "y", "one", "env.a", "d", "b.c", "foo*"]
    asked = 0
    with serving(tmp_path / "server", text) as url:
        for name in blocks:
            permissions = Permissions.load(path, user=name)
            client = RawClient(url, user=name, **{"pass": "open"})
            pairs = list(itertools.product(subjects, (None, "q", "w")))
            for sid, (subject, queue) in enumerate(pairs):
                client.publish(subject)
                client.subscribe(subject, str(sid), queue)
            client.flush()
            for subject, queue in pairs:
                may = permissions.can_publish(subject, model="broker")
                assert bool(may) == (("Publish", subject, None) not in client.refused), name
                may = permissions.can_subscribe(subject, queue=queue, model="broker")
                assert bool(may) == (("Subscription", subject, queue) not in client.refused), name
                asked += 2
            client.close()
    assert asked > 1000
