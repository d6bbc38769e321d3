"""Server configurations: what nats-server refuses to load is refused, with file and line."""

from __future__ import annotations

import itertools
import os
import random

import pytest

from servers import loads
from subtrie import PermissionsError
from subtrie.acl import Deployment, Permissions, ResponseLimit
from subtrie.acl._load.config_parser import each_file_once, parse_file

ENV = {"RULE": "env.>", "LIST": "[one, two]", "LOOP": "$LOOP", "HOME": "/nowhere"}


def one(permissions: str, before: str = "") -> str:
    return f"{before}\nauthorization {{ users = [ {{ user: u, permissions: {permissions} }} ] }}\n"


def P(**lists) -> Permissions:
    return Permissions(**lists)


NUMBERS = (
    "max_payload", "max_connections", "max_subscriptions", "max_pending", "max_control_line",
    "ping_max", "port", "lame_duck_duration", "ping_interval", "write_deadline",
)  # fmt: skip

FINE = {
    "lists": (one('{ publish: ["a.>", b], subscribe: "c q" }'),
              P(publish_allow=["a.>", "b"], subscribe_allow=["c q"])),
    "sides": (one("{ pub { allow: a, deny = [a.b] }; sub { deny: [x.>\n y] } }"),
              P(publish_allow=["a"], publish_deny=["a.b"], subscribe_deny=["x.>", "y"])),
    "import-export": (one("{ import: a, export: b }"),
                      P(publish_allow=["a"], subscribe_allow=["b"])),
    "case": (one("{ PUBLISH: a, Sub: { ALLOW: b } }"),
             P(publish_allow=["a"], subscribe_allow=["b"])),
    "blanks": (one('{ subscribe: ["a \\t q ", "\\tb  w"] }'), P(subscribe_allow=["a q", "b w"])),
    "empty-lists": (one("{ publish: [], subscribe: { allow: [] } }"), P()),
    "empty": (one("{ }"), P()),
    "responses": (one("{ allow_responses: true }"),
                  P(publish_allow=(), allow_responses=ResponseLimit())),
    "responses-off": (one("{ allow_responses: off }"), P()),
    "responses-map": (one('{ publish: a, allow_responses { max_msgs: 5, ttl: "1m30s" } }'),
                      P(publish_allow=["a"], allow_responses=ResponseLimit(5, 90.0))),
    "responses-defaults": (one('{ publish_allow_responses { max: 0, expires: "0" } }'),
                           P(publish_allow=(), allow_responses=ResponseLimit(1, 120.0))),
    "responses-unbounded": (one('{ allow_responses { max: -1, expires: "-1s" } }'),
                            P(publish_allow=(), allow_responses=ResponseLimit(-1, -1.0))),
    "variables": (one("{ publish: $ALL, subscribe: [$ONE, $RULE] }", "ALL: [a, b.>]\nONE = c"),
                  P(publish_allow=["a", "b.>"], subscribe_allow=["c", "env.>"])),
    "environment": (one("{ publish: $LIST }"), P(publish_allow=["one", "two"])),
    "inner-variable": (one("{ X: a.b, publish: $X }"), P(publish_allow=["a.b"])),
    "defaults": ("authorization { default_permissions: { publish: d }, users: [ { user: u } ] }",
                 P(publish_allow=["d"])),
    "defaults-cancelled": (
        "authorization { default_permissions: { publish: d }, "
        "users: [ { user: u, permissions: {} } ] }", P()),
    "last-wins": (one("{ publish: a, publish: b }"), P(publish_allow=["b"])),
    "comments": ("# one\n// two\nport: 4222 # three\n" + one("{ publish: a } // four\n # five\n"),
                 P(publish_allow=["a"])),
    "json": ('{"authorization": {"users": [{"user": "u", "permissions": {"publish": "a"}}]}}',
             P(publish_allow=["a"])),
    "account": ("accounts { A { users = [ { user: u, permissions: { publish: a } } ] } }",
                P(publish_allow=["a"])),
    "account-defaults": (
        "accounts { A { default_permissions { subscribe: s }, users = [ { user: u } ] } }",
        P(subscribe_allow=["s"])),
    "single": ("authorization { user: u, password: hidden-word }", P()),
    "plain": (one("{ publish: [a.*, *, >, foo*, b-c_d, é.ü] }"),
              P(publish_allow=["a.*", "*", ">", "foo*", "b-c_d", "é.ü"])),
    "quotes": (one("{ publish: ['a.>', \"b\\x2ec\"] }"), P(publish_allow=["a.>", "b.c"])),
}  # fmt: skip

BAD = {
    "empty-token": (one("{ publish: a..b }"), "empty-token"),
    "tail": (one('{ publish: ["a", "a.>.b"] }'), "tail-not-last"),
    "publish-queue": (one('{ publish: "a q" }'), "publish-queue"),
    "publish-deny-queue": (one('{ publish: { deny: "a q" } }'), "publish-queue"),
    "three-words": (one('{ subscribe: "a b c" }'), "queue-words"),
    "bad-queue": (one('{ subscribe: "a q..r" }'), "empty-token"),
    "empty-entry": (one('{ publish: "" }'), "empty"),
    "unknown-key": (one("{ publish: a, publisch: b }"), "unknown-key"),
    "unknown-side": (one("{ publish: { permit: b } }"), "unknown-key"),
    "unknown-user-key": ("authorization { users [ { user: u, rights: a } ] }", "unknown-key"),
    "unknown-block-key": ("authorization { users [ { user: u } ], usrs: 1 }", "unknown-key"),
    "number": (one("{ publish: [ 7 ] }"), "config-type"),
    "permissions-type": (one("a"), "config-type"),
    "users-type": ("authorization { users: u }", "config-type"),
    "duration": (one("{ allow_responses: { max: 1, expires: 60 } }"), "duration"),
    "duration-unit": (one('{ allow_responses: { max: 1, expires: "60" } }'), "duration"),
    "responses-word": (one("{ allow_responses: often }"), "config-type"),
    "max-word": (one("{ allow_responses: { max: many } }"), "config-type"),
    "user-name": ("authorization { users [ { password: hidden-word } ] }", "user-name"),
    "twice": ("authorization { users [ { user: u }, { user: u } ] }", "user-twice"),
    "unclosed": ("authorization { users [ { user: u ", "conf-end"),
    "unclosed-text": ('authorization { users [ { user: "u } ] }', "conf-end"),
    "no-value": ("authorization:\n", "conf-value"),
    "variable": (one("{ publish: $NOWHERE }"), "conf-variable"),
    "variable-loop": (one("{ publish: $LOOP }"), "conf-variable"),
    "escape": (one('{ publish: "a\\q" }'), "conf-escape"),
    "double-comma": (one("{ publish: [a,, b] }"), "conf-separator"),
}

#: Refused by subtrie only: what the broker parses by accident or against its meaning.
OURS = {
    "two-words": (one("{ pub: a, publish: b }"), "alias-twice"),
    "comma-key": (one("{ publish: a,, subscribe: b }"), "conf-key"),
    "block-text": (one("{ publish: a }", "x: (\nlong\n)"), "conf-block"),
    "vertical-tab": (one('{ subscribe: "a\vq" }'), "whitespace"),
    "no-break-space": (one('{ subscribe: "a\u00a0q" }'), "whitespace"),
}


@pytest.mark.parametrize("name", FINE)
def test_configurations_mean_the_same_as_to_the_broker(name, tmp_path):
    text, wanted = FINE[name]
    path = tmp_path / "nats.conf"
    path.write_text(text)
    permissions = Permissions.load(path, env=ENV)
    assert permissions == wanted
    for part in ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny"):
        assert getattr(permissions, part) == getattr(wanted, part), part
    assert loads(path, ENV)


@pytest.mark.parametrize("name", BAD)
def test_configurations_the_broker_refuses_are_refused(name, tmp_path):
    text, reason = BAD[name]
    path = tmp_path / "nats.conf"
    path.write_text(text)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path, env=ENV)
    assert caught.value.reason == reason, caught.value
    assert str(path) in str(caught.value)
    assert "hidden-word" not in str(caught.value)
    assert not loads(path, ENV)


@pytest.mark.parametrize("name", OURS)
def test_files_that_only_this_loader_refuses(name, tmp_path):
    text, reason = OURS[name]
    path = tmp_path / "nats.conf"
    path.write_text(text)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path, env=ENV)
    assert caught.value.reason == reason


def test_the_message_names_file_line_and_entry(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("port: 4222\n" + one('{\n publish: [\n  "a.b"\n  "a..c"\n ] }'))
    with pytest.raises(PermissionsError, match=r"nats\.conf:6: publish_allow 'a\.\.c'") as e:
        Permissions.load(path)
    assert (e.value.line, e.value.field, e.value.position) == (6, "publish_allow", 2)


def test_several_users_without_user_are_an_error(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(
        "accounts { A { users [ { user: a, permissions: { publish: a } }, { user: b } ] }\n"
        " B { users [ { user: c } ] } }"
    )
    with pytest.raises(PermissionsError, match="A/a, A/b, B/c") as caught:
        Permissions.load(path)
    assert caught.value.reason == "several-users"
    assert Permissions.load(path, user="a").publish_allow == ("a",)
    assert Permissions.load(path, account="B") == Permissions()
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path, user="d")
    assert caught.value.reason == "user-unknown"


def test_includes(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "users.conf").write_text("users [ { user: u, include 'perms.conf' } ]")
    (tmp_path / "inner" / "perms.conf").write_text("permissions { publish: a }")
    path = tmp_path / "nats.conf"
    path.write_text('authorization {\n include "inner/users.conf"\n}\n')
    assert Permissions.load(path).publish_allow == ("a",)
    assert loads(path, ENV)


@pytest.mark.requirement("T18")
@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"nats.conf": "include nats.conf\n"}, "include-cycle"),
        ({"nats.conf": "include b.conf\n", "b.conf": "include nats.conf\n"}, "include-cycle"),
        ({"nats.conf": "include ../outside.conf\n"}, "include-root"),
        ({"nats.conf": "include nobody.conf\n"}, "include-file"),
        ({f"f{n}.conf": f"include f{n + 1}.conf\n" for n in range(40)}, "include-depth"),
    ],
)
def test_invalid_includes_are_refused(files, reason, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.conf").write_text(one("{ publish: a }"))
    for name, text in files.items():
        (root / name).write_text(text)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(root / next(iter(files)))
    assert caught.value.reason == reason


def test_an_include_may_leave_the_folder_if_root_allows_it(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.conf").write_text(one("{ publish: a }"))
    path = tmp_path / "root" / "nats.conf"
    path.write_text("include ../outside.conf\n")
    assert Permissions.load(path, root=tmp_path).publish_allow == ("a",)


@pytest.mark.requirement("T8")
def test_nesting_is_bounded(tmp_path):
    path = tmp_path / "nats.conf"
    for text in ("{a: " * 50_000, "a: " + "[" * 50_000, "a {" * 50_000):
        path.write_text(text)
        with pytest.raises(PermissionsError):
            Permissions.load(path)


def test_random_configurations_load_if_the_broker_loads_them(tmp_path):
    """Texts made of the language's own pieces: where we load, the broker loads."""
    rng = random.Random(21)
    pieces = ["publish", "subscribe", ":", "=", " ", "\n", ",", ";", "{", "}", "[", "]", '"a"',
              "'b.>'", "a.*", "allow", "deny", "#c\n", "$RULE", "7 ", "true", '"x y"']  # fmt: skip
    path = tmp_path / "nats.conf"
    ours = asked = 0
    for number in itertools.count():
        body = "".join(rng.choices(pieces, k=rng.randint(1, 7)))
        path.write_text(one(f"{{ {body} }}"))
        try:
            Permissions.load(path, env=ENV)
        except PermissionsError:
            continue
        assert loads(path, ENV), path.read_text()
        ours += 1
        asked += 1
        if ours == 25 or number > 40_000:
            break
    assert ours == 25


@pytest.mark.requirement("T16")
def test_an_undefined_variable_is_unknown_text_for_a_secret_and_named_elsewhere(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("authorization { users [ { user: u, password: $NO_SUCH }, { nkey: $KEY } ] }\n")
    assert list(Permissions.load_all(path, env={})) == ["u", "$KEY"]
    path.write_text(
        "authorization { users [ { user: $A, password: $P }, { user: $B, pass: $P } ] }\n"
    )
    assert list(Permissions.load_all(path, env={})) == ["$A", "$B"]
    path.write_text("authorization { token: $NO_SUCH }\n")
    assert Permissions.load(path, env={}).can_publish("a")
    path.write_text("authorization { users [ { user: u, password: x,\n permissions: $RULES } ] }\n")
    with pytest.raises(PermissionsError, match=r"nats\.conf:2: 'RULES'") as caught:
        Permissions.load(path, env={})
    assert caught.value.reason == "conf-variable"


@pytest.mark.requirement("T16")
@pytest.mark.parametrize("text", ["{}", "{}\n", "seed {}", "{}: x", "a {{ {} }}", "include {}\n"])
def test_a_seed_is_never_part_of_a_message(text, tmp_path):
    seed = "SUAM" + "A2" * 27
    path = tmp_path / "user.nk"
    path.write_text(text.format(seed))
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert seed not in str(caught.value)


def test_a_line_of_dashes_is_read_in_linear_time(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("-" * 2_000_000 + " BEGIN NATS USER JWT\n")
    with pytest.raises(PermissionsError):
        Permissions.load(path)


def test_a_pipe_is_not_included(tmp_path):
    os.mkfifo(tmp_path / "pipe.conf")
    path = tmp_path / "nats.conf"
    path.write_text("include pipe.conf\n")
    with pytest.raises(PermissionsError, match="include"):
        Permissions.load(path)


@pytest.mark.parametrize("name", ["values.yaml", "nats.txt"])
def test_yaml_says_what_to_give(name, tmp_path):
    text = "apiVersion: v1\nkind: ConfigMap\ndata:\n  nats.conf: |\n    port: 4222\n"
    (tmp_path / name).write_text(text)
    with pytest.raises(PermissionsError, match="kubectl get configmap") as refused:
        Permissions.load_all(tmp_path / name)
    assert refused.value.reason == "conf-yaml"


def test_a_broker_in_operator_mode_says_what_to_give(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("operator: /etc/nats/operator.jwt\nresolver: MEMORY\n")
    with pytest.raises(PermissionsError, match=r"\.creds file or JWT") as caught:
        Permissions.load(path)
    assert caught.value.reason == "operator-mode"


@pytest.mark.requirement("T16")
@pytest.mark.parametrize(
    "line",
    ["a, hidden-word", "a hidden-word", "'a\nb' , hidden-word }", "\\hidden-word",
     "(hidden-word", '"hidden-word', "hidden-word: b", "'hidden-word", "2024-01-02Thidden-word"],
    ids=lambda line: f"{len(line)}-bytes",  # a name of a test is printed too
)  # fmt: skip
def test_a_broken_line_with_a_password_is_not_repeated(line, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(f"authorization {{ users [ {{ user: u, password: {line} }} ] }}\n")
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert "hidden" not in f"{caught.value}"
    assert not loads(path, ENV)


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", ["true", "false", "on"])
def test_true_and_false_are_refused_as_numbers_and_times(tmp_path, key, value):
    path = tmp_path / "server.conf"
    path.write_text(f"{key}: {value}\n" + one("{ publish: a }"))
    assert not loads(path, {})
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert (caught.value.reason, caught.value.line) == ("config-type", 1)


OFFERS = 'exports: [ { stream: "s.*" }, { service: "q.*" }, { stream: "t.*.>" } ]'
ISSUER = "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA"


def _two_accounts(one="", two="", top=""):
    return (
        f"{top}\naccounts {{\n A {{ users: [ {{ user: a, password: x }} ]\n {one} }}\n"
        f" B {{ users: [ {{ user: b, password: x }} ]\n {two} }}\n}}\n"
    )


def _between_accounts():
    names = ("x", "x.*", "x.>", "x.*.*", "x.$1", "x.$2", "x.$1.$1", "x.$1.*", "x.$1.>", ">", "*",
             "x.{{wildcard(1)}}")  # fmt: skip
    for kind, subject in (("stream", "s.*"), ("service", "q.*"), ("stream", "t.*.>"),
                          ("stream", "s.a"), ("service", "q.a")):  # fmt: skip
        taken = f"{{ {kind}: {{ account: A, subject: '{subject}' }}"
        yield from (_two_accounts(OFFERS, f"imports: [ {taken}, to: '{n}' }} ]") for n in names)
    for prefix in ("p", "p.", "p.q", "p.*", "p.>", "p..q"):
        taken = f"{{ stream: {{ account: A, subject: 's.*' }}, prefix: '{prefix}' }}"
        yield _two_accounts(OFFERS, f"imports: [ {taken} ]")
    for more in ("accounts: [ B ]", "accounts: [ NOBODY ]", "accounts: B", "accounts: [ $G ]",
                 *(f"response: {each}" for each in ("stream", "Chunked", "chunk", "often", "3")),
                 *(f"threshold: {each}" for each in ("1s", "often", "5")),
                 *(f"latency: {each}" for each in (
                     "l", "'l.*'", "'l..m'", "5", "{ sampling: 10 }", "{ subject: 'l.*' }",
                     *(f"{{ sampling: {n}, subject: l }}" for n in (
                         "0", "1", "100", "101", "1%", "headers", "often"))))):  # fmt: skip
        for kind in ("stream", "service"):
            text = _two_accounts(f"exports: [ {{ {kind}: e, {more} }} ]")
            yield text.replace("$G", '"$G"')
    for key, values in (("jetstream", ("often", "5", "enable", "disabled", "true", "'off'")),
                        ("limits", ("often", "5", "{ max_conn: 1 }"))):  # fmt: skip
        yield from (_two_accounts(f"{key}: {each}", top="jetstream: on") for each in values)
    for account in ("B", "NOBODY", '"$G"', '"$SYS"', '"*"'):
        callout = (
            f"issuer: {ISSUER}, auth_users: [ a ], account: A, allowed_accounts: [ {account} ]"
        )
        yield _two_accounts(top=f"authorization {{ auth_callout {{ {callout} }} }}")


def test_what_accounts_offer_and_take_is_refused_as_the_broker_refuses_it(tmp_path):
    """A name of an import without the wildcards, and an unknown account, were taken."""
    path, refused, count = tmp_path / "nats.conf", 0, 0
    for text in _between_accounts():
        path.write_text(text.replace("jetstream: on", f"jetstream {{ store_dir: '{tmp_path}' }}"))
        try:
            Deployment.load(path)
            loaded = True
        except PermissionsError:
            loaded = False
        # What depends on the order in which the broker meets two keys is refused now and then.
        assert loaded == all(loads(path, {}) for _ in range(1 if loaded else 30)), text
        refused += not loaded
        count += 1
    assert min(refused, count - refused) > 40


def test_a_prefix_may_end_with_a_dot(tmp_path):
    path = tmp_path / "nats.conf"
    for prefix in ("p", "p."):
        taken = f"{{ stream: {{ account: A, subject: 's.*' }}, prefix: '{prefix}' }}"
        path.write_text(_two_accounts(OFFERS, f"imports: [ {taken} ]"))
        (found,) = Deployment.load(path).accounts["B"].imports
        assert found.local == "p.s.*"


def test_a_file_is_read_anew_after_the_block_that_reads_each_once(tmp_path):
    path = tmp_path / "server.conf"
    for number in (1, 2):
        path.write_text(f"max_payload: {number}\n")
        with each_file_once():
            kept = [parse_file(path, ENV, tmp_path)]
            path.write_text("max_payload: 9\n")
            kept.append(parse_file(path, ENV, tmp_path))
        assert [each.value["max_payload"].value for each in kept] == [number, number]
        assert parse_file(path, ENV, tmp_path).value["max_payload"].value == 9
