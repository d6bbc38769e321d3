"""``acl diff`` names a changed limit, time, link or login by what is possible on one side only."""

from __future__ import annotations

import json
import random

import nkeys
import pytest
from click.testing import CliRunner
from login_pairs import KINDS
from operator_mode import OperatorMode
from operators import Operator, key, token

from subtrie._cli.app import app
from subtrie.acl._uncompared import uncompared

DAY = 86_400
#: 2030-01-01 00:00:00 UTC.
THEN = 1_893_456_000


def run(*words, status=None):
    done = CliRunner().invoke(app, ["acl", "diff", *map(str, words)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert status in (None, done.exit_code), done.output
    return done.output


def differs(tmp_path, old, new, status):
    for name, text in (("old.conf", old), ("new.conf", new)):
        (tmp_path / name).write_text(text)
    said = run(tmp_path / "old.conf", tmp_path / "new.conf", status=status)
    return [line.partition(" ")[0] + " " + line.partition(": ")[2] for line in said.splitlines()]


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("kind", KINDS[1::], ids=lambda each: each.__name__)
def test_a_live_broker_shows_what_a_change_makes_possible(kind, tmp_path):
    """The first pair of a kind that matters is named with an example."""
    rng = random.Random(11)
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        pair = kind(rng, folder)
        sides = [pair.old, pair.new]
        if kind.__name__ != "times":
            for side, text in enumerate(sides):
                (folder / f"{side}.conf").write_text(text)
            sides = [folder / "0.conf", folder / "1.conf"]
        before, after = (
            pair.probe(folder / f"live{side}", text)
            for side, text in enumerate((pair.old, pair.new))
        )
        if after - before:
            said = run(*sides)
            assert [line for line in said.splitlines() if line.startswith("+")], said
            return
    raise AssertionError("no change mattered")


@pytest.mark.requirement("A81")
def test_limits_were_left_out(tmp_path):
    account = "accounts {{ A {{ users: [ {{ user: a, password: x }} ]{} }} }}\n"
    for old, new, gained in (
        ("max_payload: 100\n", "max_payload: 200\n", "a message of 101 bytes may be published"),
        ("max_payload: 100\n", "", "a message of 101 bytes may be published"),
        ("max_conn: 3\n", "max_connections: 4\n", "4 connections may be open at a time"),
        ("max_subs: 3\n", "", "4 subscriptions may be held at a time"),
    ):
        texts = [each + account.format("") for each in (old, new)]
        assert differs(tmp_path, *texts, status=1) == [f"+ {gained}"]
        assert differs(tmp_path, *texts[::-1], status=0) == [f"- {gained}"]
    texts = [account.format(each) for each in ("\nlimits { max_conn: 1 }", "")]
    assert differs(tmp_path, *texts, status=1) == ["+ 2 connections may be open at a time in A"]
    assert differs(tmp_path, account.format(""), "max_payload: 1MiB\n" + account.format(""),
                   status=0)  # fmt: skip


@pytest.mark.requirement("A80", "A81")
def test_a_token_that_ends_later_was_not_named(tmp_path):
    operator, user = Operator(), key(nkeys.PREFIX_BYTE_USER)
    lists = {"type": "user", "subs": -1, "data": -1, "payload": -1}
    for name, bound in (("short", {"exp": THEN}), ("long", {"exp": THEN + DAY}), ("none", {}),
                        ("later", {"nbf": THEN}), ("far", {"exp": 1000 * THEN}),
                        ("far-later", {"nbf": 1000 * THEN})):  # fmt: skip
        folder = tmp_path / name
        folder.mkdir()
        (folder / "account.jwt").write_text(operator.account_jwt)
        jwt = token(operator.account, user.public_key.decode(), "u", lists, bound)
        (folder / "u.jwt").write_text(jwt)
        (tmp_path / f"{name}.jwt").write_text(jwt)

    def folders(*names):
        return [tmp_path / each for each in names]

    until = "may log in until 2030-01-02 00:00:00 UTC, and not only until 2030-01-01 00:00:00 UTC"
    assert f"account/u {until}" in run(*folders("short", "long"), status=1)
    assert f"- {tmp_path}" in run(*folders("long", "short"), status=0)
    assert "account/u may log in without end, and not only until" in (
        run(*folders("short", "none"), status=1)
    )
    assert "may log in at once, and not only from 2030-01-01" in (
        run(*folders("later", "none"), status=1)
    )
    # Milliseconds are beyond every date: numbers are compared.
    for old, new, sign in (("short", "far", "+"), ("far", "short", "-"),
                           ("far-later", "later", "+"), ("later", "far-later", "-")):  # fmt: skip
        assert run(*folders(old, new), status=1 if sign == "+" else 0).startswith(f"{sign} ")
    told = json.loads(run(*folders("short", "long"), "--json", status=1))
    assert [each["witness"] for each in told["consequences"]] == ["2030-01-02 00:00:00 UTC"]
    assert until in run(*folders("short.jwt", "long.jwt"), status=2)  # the account decides


@pytest.mark.requirement("A81")
def test_a_limit_of_a_new_account_is_not_named_beside_it(tmp_path):
    old = "accounts { A { users: [ { user: a, password: x } ] } }\n"
    new = old.replace(
        "} ] } }",
        "} ] }, B { limits { max_conn: 2 }, users: [ { user: b, password: x } ] } }",
    )
    assert "2 connections" not in "".join(differs(tmp_path, old, new, status=1))


@pytest.mark.requirement("A81")
def test_one_part_does_not_explain_another(tmp_path):
    """The listener that is new says nothing about the flag of a leaf node that changed."""
    old = 'leafnodes { remotes: [ { url: "nats-leaf://h:7422" } ] }\n'
    new = 'leafnodes { port: 7422, remotes: [ { url: "nats-leaf://h:7422", hub: true } ] }\n'
    lines = differs(tmp_path, old, new, status=2)
    assert any("hub added: True" in each for each in lines)
    assert any("may connect by a leaf node" in each for each in lines)


KEYS = (
    "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C",
    "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA",
)
USERS = """accounts { B {}, A { users: [ { user: a, password: x, permissions: { publish: p } }
{ user: b, password: x, permissions: { publish: { deny: ">" }, subscribe: s } }
{ user: n, password: x, permissions: { publish: { deny: ">" }, subscribe: { deny: ">" } } }
{ user: c, password: x }, { user: d, password: x } ] } }
"""
CALLOUT = f"""authorization {{ users: [ {{ user: u, password: x }}, {{ user: v, password: x }} ]
auth_callout {{ issuer: {KEYS[0]}, auth_users: [ u ] }} }}
"""
NAMED = [
    "a certificate that names a logs in as A/a without its password, and may publish p",
    "a certificate that names b logs in as A/b without its password, and may subscribe s",
    "a certificate that names c logs in as A/c without its password, and may publish x",
]


def connect(means):
    grants = {"a": "publish p", "b": "subscribe s", "c": "publish x"}
    return [f"A/{user} may connect by {means}, and {what} so" for user, what in grants.items()]


#: What is on one side only, and what that side alone makes possible; then the same of the other.
ONE_SIDED = {
    "tls": ("", ["a connection without TLS is taken"], "tls { timeout: 3 }\n", []),
    "certificates": (
        "tls { verify: off }\n", ["a connection without a certificate is taken"],
        "tls { verify: on }\n", [],
    ),
    "names": ("tls { verify_and_map: true }\n", NAMED, "tls {}\n",
              ["a connection without a certificate is taken"]),
    "names-or-passwords": (
        "tls { verify_and_map: true }\n", NAMED,
        "tls { verify: true }\n", ["a password is enough to log in"],
    ),
    "websocket": ("websocket { port: 1, no_tls: true }\n", connect("WebSocket"), "", []),
    "ws": ("ws { listen: 1, no_tls: true }\n", connect("WebSocket"), "", []),
    "mqtt": ("mqtt { port: 1 }\n", connect("MQTT"), "", []),
    "leaf": ("leaf { port: 1 }\n", connect("a leaf node"), "", []),
    "gateway": ("gateway { name: g, port: 1 }\n", ["gateways of other clusters bring x"],
                "gateway { name: g }\n", []),
    "leaf-user": (
        "leafnodes { port: 1, authorization { users: [ { user: l, account: A } ] } }\n",
        ["a leaf node may log in as l of A, and bring x"], "leafnodes { port: 1 }\n", [],
    ),
    "callout": (
        CALLOUT, ["the callout of $G may admit any login, as a user of any account with lists of "
                  "its own choice"],
        CALLOUT[: CALLOUT.index("auth_callout")] + "}\n", [],
    ),
    "issuer": (
        CALLOUT, [f"a login that {KEYS[0]} signs is admitted"],
        CALLOUT.replace(*KEYS), [f"a login that {KEYS[1]} signs is admitted"],
    ),
    "exempt": (
        CALLOUT.replace("[ u ]", "[ u, v, w ]"),
        [f"{each} logs in by the lists, without the callout" for each in "vw"], CALLOUT, [],
    ),
    "account": (
        CALLOUT.replace("[ u ]", "[ u ], account: A"),
        ["users of A answer the callout, and may admit any login"],
        CALLOUT.replace("[ u ]", "[ u ], account: B"),
        ["users of B answer the callout, and may admit any login"],
    ),
    "delegated": (
        CALLOUT.replace("[ u ]", "[ u ], allowed_accounts: [ B ]"),
        [f"A/{each} logs in by the lists, without the callout" for each in "abncd"], CALLOUT, [],
    ),
}  # fmt: skip


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("change", ONE_SIDED)
def test_what_one_side_alone_makes_possible(change, tmp_path):
    old, lost, new, gained = ONE_SIDED[change]
    texts = [old + USERS, new + USERS]
    for sides, signs in ((texts, "-+"), (texts[::-1], "+-")):
        lines = [each for each in differs(tmp_path, *sides, None) if each[0] != "?"]
        told = [f"{sign} {each}" for sign, row in zip(signs, (lost, gained), strict=True)
                for each in row]  # fmt: skip
        if change == "callout":  # its lists differ too
            lines = [each for each in lines if "callout of" in each]
        assert sorted(lines) == sorted(told)


@pytest.mark.parametrize(("old", "new"), [("A", "B"), ("B", "A")])
def test_another_system_account(old, new, tmp_path):
    users = "".join(f"{each} {{ users: [ {{ user: of{each}, password: x }} ] }}\n" for each in "AB")
    text = f"accounts {{\n{users}}}\nsystem_account: "
    assert differs(tmp_path, text + old, text + new, 1) == [
        f"{sign} {account}/of{account} {what} $SYS.x of the system account"
        for sign, account in (("+", new), ("-", old)) for what in ("receives", "may publish")
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["password", "proxy_required"])
def test_a_user_that_needs_less_to_log_in(key, tmp_path):
    more = "password: x" if key == "password" else "proxy_required: true, password: x"
    texts = [USERS.replace("user: c, password: x", f"user: c{each}") for each in
             (f", {more}", ", password: x" if key != "password" else "")]  # fmt: skip
    how = "without a password" if key == "password" else "without a trusted proxy"
    assert differs(tmp_path, *texts, 1) == [f"+ A/c may log in {how}"]
    assert differs(tmp_path, *texts[::-1], 0) == [f"- A/c may log in {how}"]


@pytest.mark.requirement("A81")
@pytest.mark.parametrize(("kind", "expected"), [
    ("verify", "a certificate of the {} ca_file is taken"),
    ("verify_and_map", "a certificate of the {} ca_file that names a logs in as A/a without its "
                       "password, and may publish p"),
])  # fmt: skip
def test_certificates_of_another_authority(kind, expected, tmp_path):
    texts = [f"tls {{ ca_file: {name}, {kind}: true }}\n{USERS}" for name in ("x", "y")]
    lines = differs(tmp_path, *texts, 1)
    assert f"+ {expected.format('new')}" in lines
    assert f"- {expected.format('old')}" in lines
    assert differs(tmp_path, *(each.replace("true", "false") for each in texts), 2)


#: Keys of limits, and what one more makes possible.
LIMITS = {
    "max_payload": "a message of 6 bytes may be published",
    "max_connections": "6 connections may be open at a time",
    "max_subscriptions": "6 subscriptions may be held at a time",
    "max_leafnodes": "6 leaf nodes may connect at a time",
}
CLAIMS = dict(zip(("payload", "conn", "subs", "leaf"), LIMITS.values(), strict=True))


@pytest.mark.parametrize("key", LIMITS)
def test_each_limit_of_an_account(key, tmp_path):
    texts = [f"accounts {{ A {{ users: [ {{ user: a, password: x }} ], limits {{ {each} }} }} }}\n"
             for each in (f"{key}: 5", f"{key}: 9", "", f"{key}: -1")]  # fmt: skip
    for wide in texts[1:]:
        assert differs(tmp_path, texts[0], wide, 1) == [f"+ {LIMITS[key]} in A"]
        assert differs(tmp_path, wide, texts[0], 0) == [f"- {LIMITS[key]} in A"]
    assert differs(tmp_path, texts[2], texts[3], 0) == ["✓ "]


@pytest.mark.parametrize("claim", CLAIMS)
def test_each_limit_of_a_token(claim, tmp_path):
    mode = OperatorMode({"PAY": {"users": [{"user": "till"}], "exports": [], "imports": []}})
    for name, limit in (("few", 5), ("many", 9), ("any", -1)):
        mode.change("PAY", lambda nats, limit=limit: nats["limits"].update({claim: limit}))
        mode.store(tmp_path / name)
    for wide in ("many", "any"):
        for sides, sign in ((("few", wide), "+"), ((wide, "few"), "-")):
            said = run(*(tmp_path / each for each in sides)).splitlines()
            assert [each[0] for each in said if f"{CLAIMS[claim]} in PAY" in each] == [sign]


@pytest.mark.parametrize("claim", ["payload", "subs"])
def test_each_limit_of_the_token_of_a_user(claim, tmp_path):
    account, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    for name, limit in (("few", 5), ("many", -1)):
        claims = {"type": "user", "pub": {"allow": ["a"]}, "subs": -1, "payload": -1, claim: limit}
        text = token(account, user.public_key.decode(), "u", claims)
        (tmp_path / f"{name}.jwt").write_text(text)
    said = run(tmp_path / "few.jwt", tmp_path / "many.jwt", status=1)
    assert said.startswith("+ ")
    assert CLAIMS[claim] in said


def test_a_token_that_is_enough_without_its_key(tmp_path):
    operator, user = Operator(), key(nkeys.PREFIX_BYTE_USER)
    for name, more in (("key", {}), ("bearer", {"bearer_token": True})):
        claims = {"type": "user", "pub": {"allow": ["a"]}, **more}
        (tmp_path / name).mkdir()
        text = token(operator.account, user.public_key.decode(), "u", claims)
        (tmp_path / name / "u.jwt").write_text(text)
        (tmp_path / name / "account.jwt").write_text(operator.account_jwt)
    for sides, sign, status in ((("key", "bearer"), "+", 1), (("bearer", "key"), "-", 0)):
        said = run(*(tmp_path / each for each in sides), status=status)
        assert said.startswith(f"{sign} ")
        assert "account/u may log in with the token alone, without its key" in said


@pytest.mark.requirement("A81")
def test_removing_the_encryption_of_clients_was_not_seen(tmp_path):
    """Of a block ``tls`` with certificates of the broker only, nothing was compared."""
    texts = ["tls { cert_file: x, key_file: y }\n" + USERS, USERS]
    assert differs(tmp_path, *texts, 1) == ["+ a connection without TLS is taken"]
    assert differs(tmp_path, *texts[::-1], 0) == ["- a connection without TLS is taken"]
    texts[1] = texts[0].replace("y }", "z }")
    assert differs(tmp_path, *texts, 0) == ["✓ "]


#: Two accounts: the users of the second, and its imports.
CROSSING = """accounts {{
 PAY {{ users: [ {{ user: till, password: x }} ],
        exports: [ {{ stream: "pay.*" }}, {{ service: "ask.*" }}, {{ service: "pay.*" }} ]
        mappings: {{ "old.*": "new.$1"
                     "was.*": "is.$1" }} }}
 WEB {{ users: [ {} ]
        imports: [ {} ] }}
}}
"""
STREAM = '{ stream: { account: PAY, subject: "pay.*" } }'
SERVICE = '{ service: { account: PAY, subject: "ask.*" }, to: "q.*" }'


def crossing(tmp_path, old, new, status, heard=">"):
    page = f'{{ user: page, password: x, permissions: {{ subscribe: "{heard}" }} }}'
    return differs(tmp_path, *(CROSSING.format(page, each) for each in (old, new)), status)


@pytest.mark.parametrize(
    ("heard", "subject"),
    [("pay.*", "pay.x"), ("pay.1", "pay.1"), ("pay.0", "pay.0"), ("pay.a", None)],
)
def test_three_subjects_of_a_pattern_are_tried_as_an_example(heard, subject, tmp_path):
    lines = crossing(tmp_path, "", STREAM, 2 if subject is None else 1, heard)
    if subject is None:
        assert lines == ["? not compared: accounts / WEB / imports / stream pay.* of PAY added"]
    else:
        assert lines == [f"+ PAY:{subject} reaches WEB/page, published by PAY/till"]


def test_a_part_has_at_most_five_examples(tmp_path):
    for count, shown in ((5, 5), (6, 5)):
        users = ", ".join(f"{{ user: u{n}, password: x }}" for n in range(count))
        texts = [CROSSING.format(users, each) for each in ("", STREAM)]
        assert len(differs(tmp_path, *texts, 1)) == shown


def test_an_example_of_a_service_is_what_its_caller_publishes(tmp_path):
    assert crossing(tmp_path, "", SERVICE, 1) == [
        "+ WEB:q.x reaches PAY/till as ask.x, published by WEB/page"
    ]


def test_a_new_access_stands_before_one_that_is_gone(tmp_path):
    for sides in ((STREAM, SERVICE), (SERVICE, STREAM)):
        assert [each[0] for each in crossing(tmp_path, *sides, 1)] == ["+", "-"]


def test_each_example_has_the_place_of_its_own_part(tmp_path):
    """Of a stream and a service of one subject, and of two mappings."""
    both = STREAM + "\n" + '{ service: { account: PAY, subject: "pay.*" }, to: "p.*" }'
    user = "{ user: page, password: x }"
    texts = [CROSSING.format(user, each) for each in ("", both)]
    texts += [texts[0].replace("new.$1", "newer.$1").replace("is.$1", "was.to.$1")]
    for new, lines in ((texts[1], {"PAY:pay.x": 7, "WEB:p.x": 8}),
                       (texts[2], {"PAY:old.x": 4, "PAY:was.x": 5})):  # fmt: skip
        (tmp_path / "old.conf").write_text(texts[0])
        (tmp_path / "new.conf").write_text(new)
        told = json.loads(run(tmp_path / "old.conf", tmp_path / "new.conf", "--json", status=1))
        found = {e["message"].partition(" ")[0]: e["place"]["line"] for e in told["consequences"]}
        assert found == lines


TWO = """accounts { A { users: [ { user: a, password: x } ] }
           B { users: [ { user: b, password: x } ] } }
"""


def test_a_user_without_credentials_in_another_account_may_do_all_anew(tmp_path):
    def lines(name, sign):
        return [f"{sign} a connection without credentials may {verb} x in {name.upper()}, as "
                f"{name.upper()}/{name}" for verb in ("publish", "subscribe")]  # fmt: skip

    texts = [f"no_auth_user: {each}\n{TWO}" for each in "ab"]
    assert differs(tmp_path, *texts, 1) == [*lines("b", "+"), *lines("a", "-")]
    listener = "websocket {{ listen: '127.0.0.1:-1', no_tls: true, no_auth_user: {} }}\n"
    for name, other in ("ab", "ba"):  # that of the other clients counts
        text = listener.format(other) + TWO
        found = differs(tmp_path, text, f"no_auth_user: {name}\n{text}", 1)
        assert found[:2] == lines(name, "+")


def test_an_account_without_a_limit_has_none(tmp_path):
    texts = [f"accounts {{ A {{ users: [ {{ user: a, password: x }} ]{each} }} }}\n"
             for each in (", limits { max_connections: 70000 }", "")]  # fmt: skip
    told = "70,001 connections may be open at a time in A"
    assert differs(tmp_path, *texts, 1) == [f"+ {told}"]
    assert differs(tmp_path, *texts[::-1], 0) == [f"- {told}"]
    found = json.loads(run(tmp_path / "old.conf", tmp_path / "new.conf", "--json"))
    assert [each["witness"] for each in found["consequences"]] == ["70001"]


def test_limits_of_a_token_are_named_one_by_one_where_one_side_has_none(tmp_path):
    mode = OperatorMode({"PAY": {"users": [{"user": "till"}], "exports": [], "imports": []}})
    mode.change(
        "PAY",
        lambda nats: nats.update(
            limits={"conn": 5, "subs": 7}, exports=[{"subject": "a", "type": "stream"}]
        ),
    )
    mode.store(tmp_path / "limited")
    mode.change("PAY", lambda nats: nats.pop("limits"))
    mode.store(tmp_path / "none")
    found = uncompared(tmp_path / "limited", tmp_path / "none")
    parts = {each.keys[2:] for each in found}
    assert {("limits", "conn"), ("limits", "subs")} <= parts
    assert ("limits",) not in parts


def test_the_times_of_a_token_are_not_missed_in_a_configuration(tmp_path):
    account, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    claims = {"type": "user", "pub": {"allow": ["a"]}, "subs": -1, "payload": -1}
    text = token(account, user.public_key.decode(), "u", claims, {"exp": THEN + DAY, "nbf": THEN})
    (tmp_path / "u.jwt").write_text(text)
    (tmp_path / "nats.conf").write_text(
        'authorization { users: [ { user: u, password: x, permissions: { publish: "a" } } ] }\n'
    )
    for sides in (("u.jwt", "nats.conf"), ("nats.conf", "u.jwt")):
        found = uncompared(*(tmp_path / each for each in sides))
        assert not {each.keys[-1] for each in found} & {"exp", "nbf", "password", "account"}


def test_a_token_and_a_configuration_are_compared_either_way(tmp_path):
    """A limit of the token has an example; what a token cannot tell is named."""
    account, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    claims = {"type": "user", "pub": {"allow": ["a"]}, "sub": {"allow": ["b"]}, "subs": 5}
    text = token(account, user.public_key.decode(), "u", claims, {})
    (tmp_path / "u.jwt").write_text(text)
    (tmp_path / "nats.conf").write_text(
        "accounts { A { users: [ { user: u, password: x, permissions: "
        '{ publish: a, subscribe: b } } ], exports: [ { stream: "x.>" } ] } }\n'
    )
    for old, new, change, mark in (
        ("u.jwt", "nats.conf", "added", "+"), ("nats.conf", "u.jwt", "removed", "-"),
    ):  # fmt: skip
        limit, export = run(tmp_path / old, tmp_path / new, status=2).splitlines()
        assert limit[0] == mark
        assert limit.endswith(": 6 subscriptions may be held at a time")
        assert export[0] == "?"
        assert f"accounts / A / exports / stream x.> {change}" in export
