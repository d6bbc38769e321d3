"""``acl diff`` is only green if all that may change who may do what was compared and is equal."""

from __future__ import annotations

import json
import os
from xml.etree import ElementTree

import nkeys
import pytest
from click.testing import CliRunner
from operator_mode import OperatorMode
from operators import key, token
from raw_client import RawClient
from sarif_schema import checked

from servers import loads, serving
from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie.acl import Permissions
from subtrie.acl._uncompared import uncompared

SITE = """port: 4222
jetstream: enabled
system_account: SYS
accounts {
  SYS { users: [ { user: ops, password: hidden-word } ] }
  PAY {
    jetstream: enabled
    users: [ { user: till, password: hidden-word
               permissions: { publish: "payments.>", subscribe: "_INBOX.till.>" } } ]
    exports: [ { stream: "settled.>" } ]
  }
  WEB {
    users: [ { user: page, password: hidden-word, allowed_connection_types: [ WEBSOCKET ]
               permissions: { publish: "ask.>", subscribe: [ "_INBOX.page.>", "settled.>" ] } } ]
    imports: [ { stream: { account: PAY, subject: "settled.>" } } ]
    mappings: { "old.*": "ask.$1" }
  }
}
leafnodes { remotes: [
  { url: "nats-leaf://edge:hidden-word@127.0.0.1:7422", account: PAY, deny_imports: "payments.>" }
] }
"""

#: The change, what of it differs, its line in the new file (None: only in the old one), and whose.
CHANGES = {
    "an export and import of all payments": (
        [('{ stream: "settled.>" }', '{ stream: "settled.>" }, { stream: "payments.>" }'),
         ('subject: "settled.>" } }', 'subject: "settled.>" } }\n'
          '{ stream: { account: PAY, subject: "payments.>" } }')],
        {"accounts / PAY / exports / stream payments.> added": 10,
         "accounts / WEB / imports / stream payments.> of PAY added": 16},
        None,
    ),
    "everyone is the user of the system account": (
        [("port: 4222", "no_auth_user: ops")], {"no_auth_user added: ops": 1}, None,
    ),
    "a leaf node takes payments": (
        [(', deny_imports: "payments.>"', "")],
        {"leafnodes / remotes / 127.0.0.1:7422 for PAY / deny_imports removed: payments.>": None},
        None,
    ),
    "a user of browsers connects with anything": (
        [(", allowed_connection_types: [ WEBSOCKET ]", "")],
        {"accounts / WEB / users / page / allowed_connection_types removed: WEBSOCKET": None},
        "WEB/page",
    ),
    "a mapping leads to the API of JetStream": (
        [('"ask.$1"', '"ask.$1", ask.quote: "$JS.API.INFO"')],
        {"accounts / WEB / mappings / ask.quote added: $JS.API.INFO": 16},
        None,
    ),
}  # fmt: skip


def run(*words):
    done = CliRunner().invoke(app, ["acl", "diff", *map(str, words)])
    assert "hidden-word" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.conf").write_text(SITE)
    return tmp_path


def _changed(site, replacements, text=SITE):
    for before, after in replacements:
        assert text.count(before) == 1
        text = text.replace(before, after)
    (site / "new.conf").write_text(text)


#: What the changes make possible; of the first, no user may receive what crosses.
EXPLAINED = {
    "everyone is the user of the system account": [
        "+ new.conf:1:15: a connection without credentials may publish x in SYS, as SYS/ops",
        "+ new.conf:1:15: a connection without credentials may subscribe x in SYS, as SYS/ops",
    ],
    "a leaf node takes payments": [
        "+ old.conf:20:85: the leaf node of 127.0.0.1:7422, account PAY brings payments.x",
    ],
    "a user of browsers connects with anything": [
        "+ old.conf:13:77: WEB/page may connect as LEAFNODE, LEAFNODE_WS, MQTT, MQTT_WS, STANDARD, "
        "and publish ask.x so",
    ],
    "a mapping leads to the API of JetStream": [
        "+ new.conf:16:47: WEB:ask.quote reaches SYS/ops as $JS.API.INFO, "
        "which no user of the input may publish today",
    ],
}


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("change", EXPLAINED)
def test_a_grant_outside_of_the_lists_has_an_example(change, site):
    replacements, parts, _ = CHANGES[change]
    _changed(site, replacements)
    for name in ("old.conf", "new.conf"):
        assert loads(site / name, dict(os.environ))
    assert [str(each) for each in uncompared("old.conf", "new.conf")] == list(parts)
    done = run("old.conf", "new.conf")
    assert (done.exit_code, done.output.splitlines()) == (1, EXPLAINED[change])
    told = json.loads(run("old.conf", "new.conf", "--json").output)
    assert told["not_compared"] == []
    assert [each["gained"] for each in told["consequences"]] == [True] * len(EXPLAINED[change])
    results = checked(run("old.conf", "new.conf", "--sarif").output)["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == ["new-access"] * len(EXPLAINED[change])
    cases = ElementTree.fromstring(run("old.conf", "new.conf", "--format", "junit").output)
    assert cases.get("failures") == str(len(EXPLAINED[change]))
    assert "**new access**" in run("old.conf", "new.conf", "--format", "markdown").output
    back = run("new.conf", "old.conf")
    assert back.exit_code in (0, 2)
    assert [line for line in back.output.splitlines() if line.startswith("+")] == []


def test_types_of_connections_are_read_in_any_case(site):
    _changed(site, [("[ WEBSOCKET ]", "[ websocket, Mqtt ]")])
    assert loads(site / "new.conf", dict(os.environ))
    done = run("old.conf", "new.conf")
    assert (done.exit_code, done.output.splitlines()) == (
        1, ["+ new.conf:13:77: WEB/page may connect as MQTT, and publish ask.x so"],
    )  # fmt: skip


@pytest.mark.requirement("A81")
def test_an_import_that_lets_a_message_reach_another_user_has_an_example(site, tmp_path):
    _changed(site, [
        *CHANGES["an export and import of all payments"][0], ('"settled.>" ] } }', '">" ] } }'),
    ])  # fmt: skip
    done = run("old.conf", "new.conf")
    example = "+ new.conf:16:1: PAY:payments.x reaches WEB/page, published by PAY/till"
    assert example.partition(": ")[2] in done.output
    assert "not compared" not in done.output
    assert done.exit_code == 1
    for name, heard in (("old", []), ("new", ["payments.x"])):
        with serving(tmp_path / name, _local((site / f"{name}.conf").read_text())) as url:
            login = {"pass": "hidden-word"}
            page = RawClient(url, user="page", **login)
            till = RawClient(url, user="till", **login)
            page.subscribe("payments.x", "1")
            page.flush()
            till.publish("payments.x")
            till.flush()
            page.flush()
            assert [subject for _, subject, _ in page.messages] == heard
            page.close()
            till.close()


def _local(text):
    """The configuration without what a test cannot serve: links, ports, types of connections."""
    text = text[: text.index("leafnodes")].replace("port: 4222\njetstream: enabled\n", "")
    text = text.replace("    jetstream: enabled\n", "")
    return text.replace(", allowed_connection_types: [ WEBSOCKET ]", "")


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("change", [each for each in CHANGES if each not in EXPLAINED])
def test_a_grant_outside_of_the_lists_was_not_seen(change, site):
    replacements, parts, user = CHANGES[change]
    _changed(site, replacements)
    for name in ("old.conf", "new.conf"):
        assert loads(site / name, dict(os.environ))
    done = run("old.conf", "new.conf")
    assert done.exit_code == 2
    assert "no difference" not in done.output
    lines = done.output.splitlines()
    assert len(lines) == len(parts)
    for line, (part, number) in zip(lines, parts.items(), strict=True):
        assert line.startswith(f"? new.conf:{number}:" if number else "? new.conf: ")
        assert f"not compared: {part}" in line
        assert number or "(was at old.conf:" in line
    told = json.loads(run("old.conf", "new.conf", "--json").output)["not_compared"]
    assert [each["user"] for each in told] == [user] * len(parts)
    assert [each["place"]["file"] for each in told] == [
        "new.conf" if number else "old.conf" for number in parts.values()
    ]
    results = checked(run("old.conf", "new.conf", "--sarif").output)["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == ["not-compared"] * len(parts)
    cases = ElementTree.fromstring(run("old.conf", "new.conf", "--format", "junit").output)
    assert cases.get("failures") == str(len(parts))
    markdown = run("old.conf", "new.conf", "--format", "markdown")
    assert markdown.exit_code == 2
    assert "No difference" not in markdown.output
    assert markdown.output.count("not compared:") == len(parts)


@pytest.mark.requirement("A81")
def test_no_difference_is_said_of_files_that_differ_in_nothing_that_counts(site):
    _changed(site, [
        ("port: 4222", 'port: 4333\nhttp: 8222\ndebug: true\nmax_pending: 2MB\nserver_name: "n2"'),
        ("jetstream: enabled\nsystem", 'jetstream { store_dir: "/data", max_mem: 1G }\nsystem'),
        ('{ stream: { account: PAY, subject: "settled.>" } }',
         '\n# a comment\n{ stream: { subject: "settled.>", account: "PAY" } }'),
        ("deny_imports", "deny_import"),
        ("edge:hidden-word@", "edge:another@"),
        ("user: ops, password: hidden-word", "password: $NEW_PASSWORD, user: ops"),
    ])  # fmt: skip
    done = run("old.conf", "new.conf")
    assert (done.exit_code, done.output) == (0, "✓ no difference\n")
    assert json.loads(run("old.conf", "new.conf", "--json").output)["not_compared"] == []
    assert "No difference." in run("old.conf", "new.conf", "--format", "markdown").output
    assert uncompared("old.conf", "new.conf") == []


#: An account of operator mode.
PAY = {"users": [{"user": "till", "permissions": {"publish": {"allow": ["x"]}}}],
       "exports": [], "imports": []}  # fmt: skip

#: A change, and the parts that are named.
OTHER_PARTS = {
    "new-account-with-exports": (
        ("  WEB {", '  EVIL { users: [], exports: [ { service: "x" } ] }\n  WEB {'),
        ["accounts / EVIL / exports / service x added"],
    ),
    "export-for-some-accounts": (
        ('{ stream: "settled.>" }', '{ stream: "settled.>", accounts: [ WEB ] }'),
        ["accounts / PAY / exports / stream settled.> / accounts added: WEB"],
    ),
    "system-account": (
        ("system_account: SYS", "system_account: PAY"),
        ["system_account changed: SYS → PAY"],
    ),
    "jetstream": (("    jetstream: enabled\n", ""), ["accounts / PAY / jetstream removed"]),
    "password": ((", password: hidden-word } ]", " } ]"),
                 ["accounts / SYS / users / ops / password removed"]),
    "listener-of-leaf-nodes": (("leafnodes {", "leafnodes { port: 7422\n"),
                               ["leafnodes / port added"]),
    "leaf-user": (
        ("leafnodes {", "leafnodes { authorization { users: [ { user: svc, account: PAY } ] }\n"),
        ["leafnodes / authorization added"],
    ),
    "leaf-account": (
        ("account: PAY, deny", "account: WEB, deny"),
        ["leafnodes / remotes / 127.0.0.1:7422 for WEB added",
         "leafnodes / remotes / 127.0.0.1:7422 for PAY removed"],
    ),
    "cluster": (("port: 4222", 'cluster { port: 6222, permissions { import: ">" } }'),
                ["cluster added"]),
    "gateway": (("port: 4222", "gateway { name: G, port: 7222 }"), ["gateway added"]),
    "websocket": (("port: 4222", "websocket { port: 8080, no_tls: true, no_auth_user: ops }"),
                  ["websocket added"]),
    "mqtt": (("port: 4222", "mqtt { port: 1883 }"), ["mqtt added"]),
    "users-by-certificate": (("port: 4222", "tls { verify_and_map: true }"), ["tls added"]),
    "key-of-tomorrow": (("port: 4222", "feature_flags { open_doors: true }"),
                        ["feature_flags added"]),
    "proxies": (("port: 4222", "proxies { trusted: [ { key: PX } ] }"), ["proxies added"]),
    "mapping-by-cluster": (
        ('"ask.$1"', '[ { destination: "ask.$1", weight: 100, cluster: east } ]'),
        ["accounts / WEB / mappings / old.* changed: ask.$1"],
    ),
}  # fmt: skip


#: Of these, what is possible on one side only.
TOLD = {
    "leaf-account": ("+", "the leaf node of 127.0.0.1:7422, account WEB gets x"),
    "jetstream": ("-", "JetStream answers requests in PAY, such as $JS.API.INFO"),
    "password": ("+", "SYS/ops may log in without a password"),
    "listener-of-leaf-nodes": (
        "+", "PAY/till may connect by a leaf node, and publish payments.x so",
    ),
    "leaf-user": ("+", "a leaf node may log in as svc of PAY, and bring x"),
    "cluster": ("+", "the cluster cluster brings x"),
    "gateway": ("+", "gateways of other clusters bring x"),
    "websocket": ("+", "a connection without credentials may publish x in SYS, as SYS/ops"),
    "mqtt": ("+", "SYS/ops may connect by MQTT, and publish x so"),
    "users-by-certificate": (
        "+", "a certificate that names till logs in as PAY/till without its password, "
        "and may publish payments.x",
    ),
}  # fmt: skip


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("change", OTHER_PARTS)
def test_every_other_part_that_may_count_is_named_too(change, site):
    replacement, parts = OTHER_PARTS[change]
    _changed(site, [replacement])
    assert [str(each) for each in uncompared("old.conf", "new.conf")] == parts
    done = run("old.conf", "new.conf")
    if change not in TOLD:
        assert done.exit_code == 2
        return
    sign, example = TOLD[change]
    assert done.exit_code == (1 if sign == "+" else 0)
    assert example in [line.partition(": ")[2] for line in done.output.splitlines()
                       if line.startswith(sign)]  # fmt: skip
    assert "not compared" not in done.output


def test_parts_within_a_block_are_named_one_by_one(site):
    blocks = (
        "cluster { name: east, port: 6222, routes: [ nats://r:hidden-word@h:6222 ] }\n"
        "mqtt { port: 1883, no_auth_user: ops }\ntls { ca_file: ca.pem, verify: true }\n"
    )
    (site / "old.conf").write_text(blocks + SITE)
    changes = [("east, port: 6222", "west, listen: 6333"), (", no_auth_user: ops", "")]
    _changed(site, [*changes, ("verify: true", "verify: false")], blocks + SITE)
    assert [str(each) for each in uncompared("old.conf", "new.conf")] == [
        "cluster / name changed: east → west",
        "mqtt / no_auth_user removed: ops",
        "tls / verify removed: True",
    ]


def test_a_second_spelling_or_element_hides_nothing(site):
    """Each key and each element of a list counts, also where two have one name."""
    cluster = "cluster { port: 6222, authorization { user: r, password: hidden-word\n"
    for old, new, part in (
        ("{ urls: [ nats://b:1 ], url: nats://a:1 }", "{ urls: [ nats://c:1 ], url: nats://a:1 }",
         "urls changed"),
        ("{ url: nats://a:1 }, { url: nats://a:1, hub: true }",
         "{ url: nats://a:1 }, { url: nats://a:1 }", "hub removed: True"),
    ):  # fmt: skip
        for name, remotes in (("old.conf", old), ("new.conf", new)):
            (site / name).write_text(f"leafnodes {{ remotes: [ {remotes} ] }}\n")
        assert part in str(uncompared("old.conf", "new.conf")[0])
    for name, allowed in (("old.conf", "a"), ("new.conf", "b")):
        lists = f"default_permissions {{ publish: {allowed} }}"
        (site / name).write_text(f"{cluster}{lists} }} }}\n")
    [part] = uncompared("old.conf", "new.conf")
    assert "cluster / authorization / default_permissions / publish changed: a → b" in str(part)


@pytest.mark.requirement("A81")
def test_a_running_broker_tells_only_of_present_users(site):
    told = {"server_id": "N", "account_detail": {"account_name": "PAY"}}
    for name in ("old.json", "new.json"):
        (site / name).write_text(json.dumps(told))
    done = run("old.json", "new.json")
    assert done.exit_code == 2
    assert done.output.count("users without a connection at the time") == 2


def test_claims_that_are_too_deep_are_one_error(site):
    deep = []
    for _ in range(300):
        deep = [deep]
    account, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    claims = {"type": "user", "pub": {"allow": ["a"]}, "tags": deep}
    (site / "deep.jwt").write_text(token(account, user.public_key.decode(), "u", claims))
    done = run("deep.jwt", "deep.jwt")
    assert done.exit_code == 2
    assert "deep.jwt" in done.output


def test_a_login_in_an_address_is_not_shown(site):
    for name, host in (("old.conf", "a"), ("new.conf", "b")):
        routes = f"[ nats://hidden-word@{host}:1, nats://r:hidden-word@{host}:2 ]"
        (site / name).write_text(f"cluster {{ port: 6222, routes: {routes} }}\n")
    assert (
        "routes changed: nats://a:1, nats://a:2 → nats://b:1" in run("old.conf", "new.conf").output
    )


def test_another_user_is_a_difference_of_lists(site):
    user = '{ user: guest, password: hidden-word, permissions: { publish: "hello" } }'
    _changed(site, [("users: [ { user: till", f"users: [ {user}\n{{ user: till")])
    done = run("old.conf", "new.conf")
    assert done.exit_code == 1
    assert "PAY/guest:\n+ subscribe >  example: x\n+ publish hello" in done.output
    assert "not compared" not in done.output


def test_one_user_is_not_concerned_by_the_connection_types_of_another(site):
    _changed(site, CHANGES["a user of browsers connects with anything"][0])
    assert run("old.conf", "new.conf", "--user", "till").exit_code == 0
    assert run("old.conf", "new.conf", "--user", "WEB/page").exit_code == 2
    assert run("old.conf", "new.conf", "--user", "page", "--account", "WEB").exit_code == 2
    _changed(site, CHANGES["everyone is the user of the system account"][0])
    assert run("old.conf", "new.conf", "--user", "till").exit_code == 2


def test_a_message_that_is_gone_has_the_place_of_the_import_that_is_gone(site):
    """It had that of a new import beside it, whose subjects overlap."""
    text = 'accounts {{ PAY {{ users: [ {{ user: p }} ], exports: [ {{ stream: "a.>" }} ] }}\n' \
        "WEB {{ users: [ {{ user: w }} ], imports: [{}\n" \
        '{{ stream: {{ account: PAY, subject: "{}" }} }} ] }} }}\n'  # fmt: skip
    (site / "old.conf").write_text(text.format("", "a.c.*"))
    (site / "new.conf").write_text(text.format("\n", "a.*.d"))
    assert run("old.conf", "new.conf").output.splitlines() == [
        "+ new.conf:4:1: PAY:a.x.d reaches WEB/w, published by PAY/p",
        "- old.conf:3:1: PAY:a.c.x reaches WEB/w, published by PAY/p",
    ]


_EXPORTERS = "".join(
    f'{name} {{ users: [ {{ user: {name.lower()} }} ], exports: [ {{ stream: "a.>" }} ] }}, '
    for name in ("PAY", "SAY")
)


def _importing(path, imports, exporters=_EXPORTERS):
    """A configuration whose imports begin in its second line, one in a line."""
    lines = "\n".join(f"{{ {each} }}" for each in imports)
    path.write_text(
        f"accounts {{ {exporters}WEB {{ users: [ {{ user: w }} ], imports: [\n{lines}\n] }} }}\n"
    )


@pytest.mark.parametrize("kept", [True, False])
def test_the_example_of_an_import_is_not_a_message_of_another_one(site, kept):
    """It had the place of one whose subjects overlap, also where that was from another account."""
    imports = [
        f'stream: {{ account: {each}" }}'
        for each in ('PAY, subject: "a.x', 'PAY, subject: "a.*', 'SAY, subject: "a.*')
    ]
    _importing(site / "old.conf", imports[:kept])
    _importing(site / "new.conf", imports)
    found = [
        *(() if kept else ("new.conf:2:1: PAY:a.x reaches WEB/w, published by PAY/pay",)),
        "new.conf:3:1: PAY:a.x1 reaches WEB/w, published by PAY/pay",
        "new.conf:4:1: SAY:a.x reaches WEB/w, published by SAY/say",
    ]
    assert run("old.conf", "new.conf").output.splitlines() == [f"+ {each}" for each in found]
    assert run("new.conf", "old.conf").output.splitlines() == [f"- {each}" for each in found]


def test_the_example_of_an_import_under_several_subjects_is_its_own(site):
    imports = [f'stream: {{ account: PAY, subject: "a.*" }}, to: "{to}.$1"' for to in "bcd"]
    _importing(site / "old.conf", imports[:1])
    _importing(site / "new.conf", imports)
    assert run("old.conf", "new.conf").output.splitlines() == [
        "+ new.conf:3:1: PAY:a.x reaches WEB/w as b.x, c.x, d.x, published by PAY/pay",
    ]


def test_the_example_of_an_export_is_of_its_kind(site):
    """An import of the other kind, whose subjects overlap, has another export."""
    service = 'service: { account: PAY, subject: "a.q" }, to: "q"'
    stream = 'stream: { account: PAY, subject: "a.>" }'
    exporters = "PAY {{ users: [ {{ user: pay }} ], exports: [\n{}\n] }}, "
    exports = [f"{{ {each.partition(': ')[0]}: {each.split('subject: ')[1].split()[0]} }}"
               for each in (stream, service)]  # fmt: skip
    _importing(site / "old.conf", [], exporters.format(""))
    _importing(site / "new.conf", [stream, service], exporters.format("\n".join(exports)))
    assert run("old.conf", "new.conf").output.splitlines() == [
        "+ new.conf:2:1: PAY:a.x reaches WEB/w, published by PAY/pay",
        "+ new.conf:3:1: WEB:q reaches PAY/pay as a.q, published by WEB/w",
    ]


def test_the_example_of_an_import_in_a_jwt_is_its_own(site):
    """Accounts are named there by their keys."""
    mode = OperatorMode({
        name: {"users": [{"user": name.lower()}], "imports": [],
               "exports": [] if name == "WEB" else [{"stream": "a.>"}]}
        for name in ("PAY", "SAY", "WEB")
    })  # fmt: skip
    imports = [{"name": each, "subject": each, "account": mode.keys[account].public_key.decode(),
                "type": "stream"}
               for account, each in (("PAY", "a.x"), ("PAY", "a.*"), ("SAY", "a.*"))]  # fmt: skip
    for name, some in (("old", imports[:1]), ("new", imports)):
        mode.change("WEB", lambda nats, some=some: nats.update(imports=some))
        mode.store(site / name)
    assert run("old", "new").output.splitlines() == [
        "+ new:1:1: PAY:a.x1 reaches WEB/web, published by PAY/pay",
        "+ new:1:1: SAY:a.x reaches WEB/web, published by SAY/say",
    ]


@pytest.mark.requirement("A81")
def test_an_open_broker_was_compared_as_one_that_grants_nothing(site):
    (site / "open.conf").write_text("port: 4222\n")
    (site / "one.conf").write_text("authorization { user: a, password: hidden-word }\n")
    for closed in ("old.conf", "one.conf"):
        done = run(closed, "open.conf")
        assert done.exit_code in (1, 2)
        assert "anyone:\n+ publish >" in done.output
        assert "anyone:\n- publish >" in run("open.conf", closed).output
    (site / "new.conf").write_text("port: 4333\n")
    assert run("open.conf", "new.conf").output == "✓ no difference\n"


@pytest.mark.requirement("A81")
def test_operator_mode_without_the_users_was_green(site):
    """The users of a memory resolver, and those of a folder of JWTs that is not given."""
    mode = OperatorMode({"PAY": PAY})
    (site / "old.conf").write_text(mode.config)
    (site / "new.conf").write_text(mode.config)
    done = run("old.conf", "new.conf")
    assert done.exit_code == 2
    assert "decided by the JWTs of users, which are not given" in done.output
    mode.change("PAY", lambda nats: nats.update(exports=[{"subject": "x", "type": "stream"}]))
    (site / "new.conf").write_text(mode.config)
    assert "resolver_preload / A" in run("old.conf", "new.conf").output
    told = f"operator: {mode.operator_jwt}\nresolver {{ type: full, dir: jwt }}\n"
    (site / "new.conf").write_text(told)
    assert run("new.conf", "new.conf").exit_code == 2


@pytest.mark.requirement("A81")
def test_exports_in_the_jwt_of_an_account_were_not_seen(site):
    mode = OperatorMode({"PAY": PAY})
    mode.store(site / "old")
    mode.store(site / "same")
    assert run("old", "same").exit_code == 0
    mode.change("PAY", lambda nats: nats.update(
        exports=[{"name": "all", "subject": "payments.>", "type": "stream"}],
        mappings={"a": [{"subject": "b", "weight": 100}]},
        description="of no effect",
    ))  # fmt: skip
    mode.store(site / "new")
    done = run("old", "new")
    assert done.exit_code == 2
    assert "account claims / PAY / exports added" in done.output
    assert "PAY:a reaches PAY/till as b" in done.output
    assert "description" not in done.output


@pytest.mark.requirement("A81")
def test_types_of_connections_in_a_user_jwt_were_not_seen(site):
    account, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    lists = {"pub": {"allow": ["a"]}, "sub": {"allow": ["b"]}, "type": "user"}
    for name, more in (("old", {"allowed_connection_types": ["MQTT"]}), ("new", {})):
        public = user.public_key.decode()
        (site / f"{name}.jwt").write_text(token(account, public, "till", {**lists, **more}))
    done = run("old.jwt", "new.jwt")
    assert done.exit_code == 2
    assert "user claims / allowed_connection_types removed: MQTT" in done.output
    other = token(key(nkeys.PREFIX_BYTE_ACCOUNT), public, "till", lists)
    (site / "other.jwt").write_text(other)
    assert "user claims / account changed" in run("new.jwt", "other.jwt").output
    (site / "new.json").write_text(Permissions.load("new.jwt").dump())
    assert run("new.json", "new.jwt").exit_code == 0
    assert run("old.jwt", "new.json").exit_code == 2
    one = 'accounts: {PAY: {users: [{user: till, permissions: {publish: "a", subscribe: "b"}}]}}'
    (site / "one.conf").write_text(one)
    for files, change in ((("old.jwt", "one.conf"), "removed"), (("one.conf", "old.jwt"), "added")):
        done = run(*files, "--user", "till")
        assert done.exit_code == 2
        assert f"user claims / allowed_connection_types {change}: MQTT" in done.output


@pytest.mark.requirement("A67", "A69", "A81")
def test_a_rule_dropped_that_only_a_broker_minds_was_green(site):
    """The sets of subjects are equal, and a running broker takes more."""
    text = (
        "authorization {{ users = [ {{ user: a, password: hidden-word, permissions: {{\n"
        "publish: [], subscribe: {} }} }} ] }}\n"
    )
    for before, after, subscription in (
        ('[ "foo", "foo v1" ]', '[ "foo" ]', "subscribe foo in queue another-group"),
        ('{ allow: "orders.*", deny: "orders.*.>" }', '[ "orders.*" ]', "subscribe orders.>"),
    ):
        (site / "old.conf").write_text(text.format(before))
        (site / "new.conf").write_text(text.format(after))
        done = run("old.conf", "new.conf")
        assert done.exit_code == 2
        assert f"{subscription}, which a broker may take only now" in done.output
        assert run("new.conf", "old.conf").exit_code == 0
        assert "a: subscribe" in run("old.conf", "new.conf", "--every-user").output


def test_a_redundant_rule_less_makes_none():
    wide = Permissions(subscribe_allow=["orders.*", "orders.new"], subscribe_deny=["x", "x.y"])
    narrow = Permissions(subscribe_allow=["orders.*"], subscribe_deny=["x"])
    assert not wide.diff(narrow).broker
    assert not narrow.diff(wide).broker


@pytest.mark.requirement("A81")
def test_a_policy_names_what_it_says_nothing_about(site):
    lists = {"publish_allow": ["ask.>"], "subscribe_allow": ["_INBOX.page.>", "settled.>"]}
    (site / "policy.json").write_text(json.dumps({"subtrie": 1, **lists}))
    done = run("--no-new-access-than", "policy.json", "old.conf", "--user", "page")
    assert done.exit_code == 2
    assert "accounts / WEB / imports / stream settled.> of PAY added" in done.output
    (site / "one.conf").write_text(
        "authorization { users = [ { user: a, password: hidden-word, permissions: {\n"
        'publish: "ask.x", subscribe: "settled.>" } } ] }\n'
    )
    assert run("--no-new-access-than", "policy.json", "one.conf").exit_code == 0


@pytest.mark.requirement("A81")
def test_an_include_that_both_sides_read_was_compared_with_itself(site):
    """The old configuration beside the new one includes the new file."""
    rules = (
        'legacy { users: [ { user: l, password: hidden-word, permissions: { publish: "%s" } } ] }'
    )
    (site / "before").mkdir()
    for folder, subject in ((site / "before", "old.x"), (site, ">")):
        (folder / "accounts.inc").write_text(rules % subject)
        (folder / "nats.conf").write_text("accounts {\n  include accounts.inc\n}\n")
    (site / "before.conf").write_text((site / "before" / "nats.conf").read_text())
    done = run("before.conf", "nats.conf")
    assert done.exit_code == 2
    assert f"{site / 'accounts.inc'}: 'accounts.inc': both inputs read this file" in done.output
    assert "git worktree add" in done.output
    with pytest.raises(PermissionsError) as caught:
        uncompared("before.conf", "nats.conf")
    assert (caught.value.reason, caught.value.file) == ("shared-file", str(site / "accounts.inc"))
    done = run("before/nats.conf", "nats.conf")
    assert done.exit_code == 1
    assert "+ publish >" in done.output
    (site / "link.conf").symlink_to("nats.conf")
    assert run("nats.conf", "link.conf").exit_code == 0  # one file, and nothing is hidden


def test_a_file_of_certificates_counts_by_its_content(site):
    conf = "tls { ca_file: ca.pem, verify_and_map: true }\n" + SITE
    for name, text in (("one", "A"), ("two", "A"), ("three", "B")):
        (site / name).mkdir()
        (site / name / "ca.pem").write_text(text)
        (site / name / "nats.conf").write_text(conf)
    (site / "one" / "other.conf").write_text(conf)
    assert run("one/nats.conf", "two/nats.conf").exit_code == 0
    done = run("one/nats.conf", "three/nats.conf")
    assert "a certificate of the new ca_file that names till logs in as PAY/till" in done.output
    assert done.exit_code == 1
    assert "both inputs read this file" in run("one/nats.conf", "one/other.conf").output
