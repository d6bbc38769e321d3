"""Each key of a configuration by itself: the users, accounts and links that it changes."""

from __future__ import annotations

import json
import urllib.request
from itertools import combinations

import nkeys
import pytest
from operators import key

from servers import monitor, serving
from subtrie.acl import Deployment

ACCOUNT = key(nkeys.PREFIX_BYTE_ACCOUNT).public_key.decode()
CURVE = "XAAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB7QO7"
USER = key(nkeys.PREFIX_BYTE_USER).public_key.decode()
EVERYTHING = "Permissions()"
UNKNOWN = "Permissions(undetermined) the authorization callout of"
RULES = "Permissions(publish_allow=('a',))"
REPLIES = "Permissions(publish_allow=(), allow_responses=ResponseLimit(max={}, expires={}))"
IMPORT = (
    "accounts {{ B {{ exports: [ {{ KIND: s.* }} ] }}\n"
    "A {{ imports: [ {{ KIND: {{ account: B, subject: s.* }}\n{} }} ] }} }}"
)
LISTS = "authorization {{{{ users: [ {{{{ user: u, permissions {{{{ {} }}}} }}}} ] }}}}"
#: Of a flag that changes something, the value that changes nothing.
DEFAULTS = {"true": "false", "false": "true"}
#: A block around a key, and for each key and its other names the value and what it changes.
BLOCKS = {
    "top": ("{}", {
        "accounts": ("{ A { users: [ { user: a } ] } }",
                     {"account A": "", "user A/a of A": EVERYTHING, "user anyone of $G": None}),
        "authorization": ("{ token: t }", {"user token of $G": EVERYTHING,
                                           "user anyone of $G": None}),
        "mappings maps": ("{ a: b }", {"$G maps": "a to b 100 None"}),
        "system_account system": ("S", {"account $SYS": None, "account S": "", "system": "S"}),
        "no_system_account no_system no_sys_acc": (
            "true", {"account $SYS": None, "system": "None"}),
        "jetstream": ("on", {"account $G": "stores"}),
        "cluster": ("{ name: c }", {"cluster": "c", "route c of None": EVERYTHING}),
        "gateway": ("{ name: g }", {"cluster": "g"}),
        "leafnodes leaf": ("{}", {"cluster": "None"}),
        "websocket": ("{ port: 1 }", {"websocket listener websocket of None": EVERYTHING}),
        "ws": ("{ port: 1 }", {"websocket listener ws of None": EVERYTHING}),
        "mqtt": ("{ port: 1 }", {"mqtt listener mqtt of None": EVERYTHING}),
        "tls": ("{}", {"tls": "True"}),
        "operator operators root roots root_operator root_operators trusted trusted_keys": (
            "[x]", {"account $SYS": None, "user anyone of $G": None, "unseen": "given"}),
        "allow_non_tls proxy_protocol": ("true", {}),
        "max_payload max_connections max_subscriptions max_sub_tokens port": ("7", {}),
    }),
    "tls": ("allow_non_tls: false\ntls {{ timeout: 1\n{} }}", {
        "verify": ("true", {
            "certificates": "needed",
            "user anyone of $G": "Permissions() no-authorization certified"}),
        "verify_and_map": ("true", {
            "certificates": "names the user",
            "user anyone of $G": "Permissions() no-authorization certified"}),
        "insecure handshake_first": ("true", {}),
    }),
    "beside tls": ("tls {{ verify: true }}\n{}", {
        "allow_non_tls": ("true", {"tls": "False",
                                   "user anyone of $G": "Permissions() no-authorization"}),
        "websocket ws mqtt": ("{}", {"user anyone of $G": "Permissions() no-authorization"}),
    }),
    "user": ("authorization {{ users: [ {{ user: u\n{} }} ] }}", {
        "permissions permission authorization": ("{ publish: a }", {"user u of $G": RULES}),
        "allowed_connection_types connection_types clients": (
            "mqtt", {"user u of $G": "Permissions() MQTT"}),
        "password pass": ("x", {}), "proxy_required": ("true", {}),
    }),
    **{f"{name} of a user": ("authorization {{ {} }}", {
        "users": (f"[ {{ {name}: {USER} }} ]",
                  {f"user {USER} of $G": EVERYTHING, "user anyone of $G": None}),
    }) for name in ("user", "username", "nkey")},
    "lists": (LISTS.format("{}"), {
        "publish pub import": ("a", {"user u of $G": RULES}),
        "subscribe sub export": ("a", {"user u of $G": "Permissions(subscribe_allow=('a',))"}),
        "allow_responses publish_allow_responses": ("true", {
            "user u of $G": REPLIES.format(1, "120.0")}),
    }),
    **{verb: (LISTS.format(f"{verb} {{{{ {{}} }}}}"), {
        side: ("a", {"user u of $G": f"Permissions({verb}_{side}=('a',))"})
        for side in ("allow", "deny")
    }) for verb in ("publish", "subscribe")},
    "replies": (LISTS.format("allow_responses {{ {} }}"), {
        "max max_msgs max_messages max_responses": (
            "7", {"user u of $G": REPLIES.format(7, "120.0")}),
        "expires expiration ttl": ("'7s'", {"user u of $G": REPLIES.format(1, "7.0")}),
    }),
    "users": ("authorization {{ users: [ {{ user: u }} ]\n{} }}", {
        "default_permissions default_permission permissions": (
            "{ publish: a }", {"user u of $G": RULES}),
        "proxy_required": ("true", {}), "timeout": ("7", {}),
    }),
    **{f"callout of {name}": ("authorization {{ users: [ {{ user: u }} ]\n{} }}", {
        "auth_callout auth_hook": (f"{{ issuer: {ACCOUNT}, {name}: [u] }}", {
            "callout": "$G", "user other users of $G": f"{UNKNOWN} $G",
            "user u of $G": "Permissions(publish_deny=('$SYS.REQ.USER.AUTH',))"}),
    }) for name in ("auth_users", "users")},
    "one user": ("authorization {{ {} }}", {
        "user username": ("u", {"user u of $G": EVERYTHING, "user anyone of $G": None}),
        "token": ("u", {"user token of $G": EVERYTHING, "user anyone of $G": None}),
        "default_permissions default_permission permissions": ("{ publish: a }", {}),
        "password pass": ("x", {}), "proxy_required": ("true", {}), "timeout": ("7", {}),
    }),
    "callout": ("authorization {{ users: [ {{ user: u }} ]\n"
                f"auth_callout {{{{ issuer: {ACCOUNT}, auth_users: [ u ]\n{{}} }}}} }}}}\n"
                "accounts {{ A {{}}, B {{ users: [ {{ user: b }} ] }} }}", {
        "account acc": ("A", {
            "callout": "A", "user u of $G": EVERYTHING,
            **{f"user {name}": f"{UNKNOWN} A"
               for name in ("A/other users of A", "B/b of B", "B/other users of B",
                            "other users of $G")}}),
        "xkey key": (CURVE, {}), "allowed_accounts": ("[A]", {"user B/b of B": EVERYTHING}),
    }),
    "account": ("jetstream: on\naccounts {{ A {{ users: [ {{ user: a }} ]\n{} }}\n"
                "B {{ exports: [ {{ stream: s.* }} ] }} }}", {
        "exports": ("[ { stream: e } ]", {"A exports": "stream e to None at 0"}),
        "imports": ("[ { stream: { account: B, subject: s.x } } ]",
                    {"A imports": "stream s.x of B as s.x"}),
        "default_permissions": ("{ publish: a }", {"user A/a of A": RULES}),
        "mappings maps": ("{ a: b }", {"A maps": "a to b 100 None"}),
        "jetstream": ("on", {"account A": "stores"}),
        "limits": ("{ max_conn: 7 }", {}), "nkey": (ACCOUNT, {}), "msg_trace trace_dest": ("a", {}),
    }),
    "jetstream": ("jetstream {{ store_dir: x\n{} }}", {
        "enabled enable": ("false", {"account $G": ""}),
        "domain": ("d", {}), "strict": ("false", {}),
    }),
    "export": ("accounts {{ B {{}}, A {{ exports: [ {{ service: a.*\n{} }} ] }} }}", {
        "accounts": ("[B]", {"A exports": "service a.* to ('B',) at 0"}),
        "account_token_position": ("2", {"A exports": "service a.* to None at 2"}),
        "response response_type": ("stream", {}), "latency": ("{ sampling: 7, subject: l }", {}),
        "allow_trace": ("true", {}),
        "threshold response_threshold response_max_time response_time": ("'7s'", {}),
    }),
    **{f"response {word}": (
        "accounts {{ A {{ exports: [ {{ service: a, response: WORD\n{} }} ] }} }}".replace(
            "WORD", word), {"latency": ("l", {})})
       for word in ("single", "singleton", "stream", "chunk", "chunked")},
    "stream import": (IMPORT.replace("KIND", "stream"), {
        "to": ("t.$1", {"A imports": "stream s.* of B as t.$1"}),
        "prefix": ("p", {"A imports": "stream s.* of B as p.s.*"}),
        "share allow_trace": ("true", {}),
    }),
    "service import": (IMPORT.replace("KIND", "service"), {
        "to": ("t.$1", {"A imports": "service s.* of B as t.$1"}),
        "prefix": ("p", {}), "share allow_trace": ("true", {}),
    }),
    **{f"{name} of a mapping": ("{}", {
        "mappings": (f"{{ a: {{ {name}: b, weight: 7 }} }}", {"$G maps": "a to b 7 None"})})
       for name in ("dest", "destination")},
    "mapping": ("mappings {{ a: [ {{ dest: b, weight: 7 }}, {{ dest: c, weight: 5\n{} }} ] }}", {
        "cluster": ("d", {"$G maps": "a to b 7 None, a to c 5 d"}),
    }),
    "remote": ("leafnodes {{ remotes: [ {{ hub: true\n{} }} ] }}", {
        "url urls": ("[nats://h:1]", {"leaf  of $G": None, "leaf h:1 of $G": EVERYTHING}),
        "account local": ("A", {"leaf  of $G": None, "leaf  of A": EVERYTHING}),
        "deny_imports deny_import": ("a", {"leaf  of $G": "Permissions(subscribe_deny=('a',))"}),
        "deny_exports deny_export": ("a", {"leaf  of $G": "Permissions(publish_deny=('a',))"}),
        "credentials creds nkey seed": ("x", {}), "no_randomize": ("true", {}),
    }),
    "leaf login": ("leafnodes {{ authorization {{ {} }} }}", {
        "user username": ("x", {"leaf user x of $G": EVERYTHING}),
        "nkey": (USER, {f"leaf user {USER} of $G": EVERYTHING}),
        "users": ("[ { user: x, account: A } ]", {"leaf user x of A": EVERYTHING}),
        "password pass account": ("x", {}), "timeout": ("7", {}), "proxy_required": ("true", {}),
    }),
    "leaf user": ("leafnodes {{ authorization {{ user: x\n{} }} }}", {
        "account": ("A", {"leaf user x of $G": None, "leaf user x of A": EVERYTHING}),
    }),
    "cluster": ("cluster {{ port: 6222\n{} }}", {
        "name": ("c", {"cluster": "c", "route c of None": EVERYTHING,
                       "route cluster of None": None}),
        "permissions": ("{ import: a }",
                        {"route cluster of None": "Permissions(subscribe_allow=('a',))"}),
        "authorization": ("{ user: x }", {}), "accounts": ("[A]", {}), "listen": ("1", {}),
    }),
    "route": ("cluster {{ port: 6222\npermissions {{ {} }} }}", {
        "import pub publish": (
            "a", {"route cluster of None": "Permissions(subscribe_allow=('a',))"}),
        "export sub subscribe": (
            "a", {"route cluster of None": "Permissions(publish_allow=('a',))"}),
    }),
    "denied on a route": ("cluster {{ port: 6222\npermissions {{ {} }} }}", {
        "import": (
            "{ deny: a }", {"route cluster of None": "Permissions(subscribe_deny=('a',))"}),
        "export": (
            "{ deny: a }", {"route cluster of None": "Permissions(publish_deny=('a',))"}),
    }),
    "gateway": ("gateway {{ {} }}", {
        "name": ("g", {"cluster": "g"}),
        "port listen": ("1", {"gateway listener gateway of None": EVERYTHING}),
        "gateways": ("[ { name: h } ]", {"gateway h of None": EVERYTHING}),
        "authorization": ("{ user: x }", {}), "reject_unknown": ("true", {}),
    }),
    **{f"{name} listener": (
        f"authorization {{{{ users: [ {{{{ user: u }}}} ] }}}}\n{name} {{{{ {{}} }}}}", {
            "port listen": ("1", {f"{name} listener {name} of None": EVERYTHING}),
            "no_auth_user": ("u", {"user u of $G": "Permissions() no-auth-user"}),
            "authorization authentication": ("{ user: w }", {"user w of $G": EVERYTHING}),
            "tls": ("{}", {}), "handshake_timeout ack_wait": ("7", {}),
        }) for name in ("websocket", "mqtt")},
    **{f"{name} login": (f"{name} {{{{ authentication {{{{ {{}} }}}} }}}}", {
        "user username": ("w", {"user w of $G": EVERYTHING}),
        "token": ("w", {"user token of $G": EVERYTHING}),
        "password pass": ("w", {}), "timeout": ("7", {}),
    }) for name in ("websocket", "ws", "mqtt")},
    "system alone": ("accounts {{ S {{ users: [ {{ user: s }} ] }} }}\n{}", {
        "system_account system": ("S", {
            "account $SYS": None, "system": "S",
            "user anyone of $G": "Permissions() no-authorization"}),
    }),
    "known user": ("authorization {{ users: [ {{ user: u }} ] }}\n{}", {
        "no_auth_user": ("u", {"anonymous": "u", "user u of $G": "Permissions() no-auth-user"}),
    }),
}  # fmt: skip


def told(path):
    """The content of a configuration, by what each line is about."""
    found = Deployment.load(path, env={})
    lines = {"tls": found.admission.tls, "certificates": found.admission.certificates,
             "callout": found.admission.callout, "system": found.system_account,
             "anonymous": found.no_auth_user, "cluster": found.cluster,
             "unseen": "given" if found.unseen else ""}  # fmt: skip
    for name, user in found.users.items():
        facts = [repr(user), "" if user.determined else user.decided_by, user.anonymous,
                 *user.connection_types, "certified" * user._certified]  # fmt: skip
        lines[f"user {name} of {found.account_of(name).name}"] = " ".join(filter(None, facts))
    for name, account in found.accounts.items():
        lines[f"account {name}"] = "stores" if account.jetstream else ""
        rows = {
            "exports": [f"{e.kind} {e.subject} to {e.accounts} at {e.position}"
                        for e in account.exports],
            "imports": [f"{e.kind} {e.subject} of {e.account} as {e.local}"
                        for e in account.imports if not e.implied],
            "maps": [f"{e.source} to {to.subject} {to.weight} {to.cluster}"
                     for e in account.mappings for to in e.targets],
        }  # fmt: skip
        lines |= {f"{name} {what}": ", ".join(each) for what, each in rows.items() if each}
    for link in found.links:
        lines[f"{link.kind} {link.name} of {link.account}"] = repr(link.permissions)
    return {name: str(value) for name, value in lines.items()}


@pytest.mark.parametrize("block", BLOCKS)
def test_each_key_changes_what_it_is_about_and_nothing_else(block, tmp_path):
    """Bugs: some names of keys were not known as those: ``enable`` of JetStream,
    ``authentication`` of a listener, ``nkey`` of the login of leaf nodes.
    """
    around, keys = BLOCKS[block]
    path = tmp_path / "nats.conf"
    path.write_text(around.format(""))
    plain = told(path)
    for names, (value, changes) in keys.items():
        expected = {key: text for key, text in {**plain, **changes}.items() if text is not None}
        for name in names.split():
            for spelling in {name, name.title()} - {"System_Account", "System"}:
                path.write_text(around.format(f"{spelling}: {value}"))
                assert told(path) == expected, spelling
                if value in DEFAULTS:
                    path.write_text(around.format(f"{spelling}: {DEFAULTS[value]}"))
                    assert told(path) == plain, spelling
    for one, two in combinations([each for _, each in keys.values() if each], 2):
        assert one != two


@pytest.mark.parametrize("line", ["enable: false", "Enabled: false", "ENABLE: true"])
def test_jetstream_is_off_where_the_broker_says_that_it_is(line, tmp_path):
    text = f"jetstream {{ {line}\nstore_dir: {json.dumps(str(tmp_path / 'store'))} }}\n"
    with (
        serving(tmp_path, f"http: '127.0.0.1:-1'\n{text}"),
        urllib.request.urlopen(f"{monitor(tmp_path)}/jsz") as answer,
    ):
        stored = not json.load(answer).get("disabled", False)
    path = tmp_path / "nats.conf"
    path.write_text(text)
    assert Deployment.load(path).accounts["$G"].jetstream is stored
