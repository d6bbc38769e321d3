"""Links to other brokers, listeners, and what a connection needs: each key by itself."""

from __future__ import annotations

import pytest

from subtrie import PermissionsError
from subtrie.acl import Deployment, Permissions

REMOTE = "leafnodes {{ remotes: [ {{ {} }} ] }}"
#: A block, and the kind, the name and the account of the links that it makes.
LINKS = {
    "port: 4222": [], "cluster { name: c }": [("route", "c", None)],
    "cluster { port: 6222 }": [("route", "cluster", None)],
    "gateway { name: g, gateways: [ { name: h }, { url: x } ] }": [("gateway", "h", None)],
    **{f"{key} {{ {port}: 1 }}": [(f"{kind} listener", key, None)]
       for key, kind in (("leaf", "leaf"), ("leafnodes", "leaf"), ("gateway", "gateway"),
                         ("websocket", "websocket"), ("ws", "websocket"), ("mqtt", "mqtt"))
       for port in ("port", "listen", "PORT")},
    "websocket { no_tls: true }": [], "leafnodes { remotes: {} }": [], "leafnodes: off": [],
    REMOTE.format("url: 'nats://u:p@h:1'"): [("leaf", "h:1", "$G")],
    REMOTE.format("urls: [ 'nats://h:1', 'nats://i:1' ], account: A"): [("leaf", "h:1", "A")],
    REMOTE.format("url: h, local: A"): [("leaf", "h", "A")],
    REMOTE.format("account: A"): [("leaf", "", "A")],
    REMOTE.format("urls: []"): [("leaf", "", "$G")],
    "leafnodes { authorization { user: a } }": [("leaf user", "a", "$G")],
    "leafnodes { authorization { username: a, account: A } }": [("leaf user", "a", "A")],
    "leaf { authorization { users: [ { user: a }, { nkey: N, account: A }, { account: B } ] } }":
        [("leaf user", "a", "$G"), ("leaf user", "N", "A"), ("leaf user", "", "B")],
    "leafnodes { authorization { timeout: 1 } }": [],
}  # fmt: skip


@pytest.mark.parametrize("block", LINKS)
def test_the_links_of_a_block(block, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(f"\n{block}\n")
    links = Deployment.load(path).links
    assert [(each.kind, each.name, each.account) for each in links] == LINKS[block]
    assert {each.line for each in links} <= {2}


def test_the_permissions_of_a_link_are_those_of_its_direction(tmp_path):
    path = tmp_path / "nats.conf"
    for side, denied in (("import", "subscribe_deny"), ("export", "publish_deny")):
        for key, value in ((f"deny_{side}", "x"), (f"deny_{side}s", "[ x ]")):
            path.write_text(f"leafnodes {{ remotes: [ {{ {key}: {value} }} ] }}\n")
            [link] = Deployment.load(path).links
            assert link.permissions == Permissions(**{denied: ["x"]}), key
    path.write_text("cluster { permissions { import: { allow: a, deny: b }, export: [ c ] } }\n")
    [link] = Deployment.load(path).links
    assert link.permissions == Permissions(
        subscribe_allow=["a"], subscribe_deny=["b"], publish_allow=["c"]
    )
    for text in ("cluster { permissions { allow_responses: true } }",
                 "leafnodes { remotes: [ { url: 'nats://[::1' } ] }"):  # fmt: skip
        path.write_text(f"\n{text}\n")
        with pytest.raises(PermissionsError, match=r"nats\.conf:2: ") as caught:
            Deployment.load(path)
        assert caught.value.reason == "config-type"


@pytest.mark.parametrize(("text", "cluster"), [
    ("port: 1", ""), ("cluster { name: c }", "c"), ("gateway { name: g }", "g"),
    ("gateway { name: g }\ncluster { name: c }", "c"), ("cluster { port: 1 }", None),
    ("gateway { port: 1 }", None), ("leaf { port: 1 }", None), ("leafnodes { port: 1 }", None),
    ("CLUSTER { NAME: c }", "c"),
])  # fmt: skip
def test_the_name_of_the_cluster(text, cluster, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(text)
    assert Deployment.load(path).cluster == cluster


@pytest.mark.parametrize(("text", "tls", "certificates", "callout"), [
    ("", False, "", ""), ("tls {}", True, "", ""), ("tls {}\nallow_non_tls: true", False, "", ""),
    ("tls {}\nallow_non_tls: false", True, "", ""), ("tls { verify: true }", True, "needed", ""),
    ("tls { verify: false }", True, "", ""),
    ("tls { verify_and_map: true }", True, "names the user", ""),
    ("tls { VERIFY: true, verify_and_map: false }", True, "needed", ""),
    *((f"authorization {{ {key} {{ issuer: KEY, users: [ u ] {more} }} }}", False, "", name)
      for key in ("auth_callout", "auth_hook")
      for more, name in (("", "$G"), (", account: A", "A"), (", acc: A", "A"))),
])  # fmt: skip
def test_what_a_connection_needs(text, tls, certificates, callout, tmp_path):
    path = tmp_path / "nats.conf"
    key = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
    path.write_text(f"{text.replace('KEY', key)}\n")
    found = Deployment.load(path).admission
    assert (found.tls, found.certificates, found.callout) == (tls, certificates, callout)


@pytest.mark.parametrize(("text", "named"), [
    ("", {"anyone": "no-authorization"}),
    ("authorization { user: u }", {"u": ""}),
    ("authorization { users: [ { user: u } ] }\nno_auth_user: u", {"u": "no-auth-user"}),
    *((f"authorization {{ users: [ {{ user: u }} ] }}\n{key} {{ no_auth_user: u }}",
       {"u": "no-auth-user"}) for key in ("websocket", "ws", "mqtt")),
    ("accounts { A { users: [ { user: u } ] } }", {"A/u": ""}),
    ("accounts { $SYS { users: [ { user: u } ] } }", {"$SYS/u": "", "anyone": "no-authorization"}),
    ("system_account: S\naccounts { S { users: [ { user: u } ] } }",
     {"S/u": "", "anyone": "no-authorization"}),
    ("system: S\naccounts { S { users: [ { user: u } ] }, B {} }", {"S/u": ""}),
    ("accounts { A {} }", {"anyone": "no-authorization"}),
    *((f"authorization {{ user: u }}\n{key} {{ authorization {{ {login}: w }} }}",
       {"u": "", "token" if login == "token" else "w": ""})
      for key in ("websocket", "ws", "mqtt") for login in ("user", "username", "token")),
])  # fmt: skip
def test_the_users_that_a_broker_has_beside_those_listed(text, named, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(f"{text}\n")
    users = Permissions.load_all(path, env={})
    assert {name: each.anonymous for name, each in users.items()} == named


@pytest.mark.parametrize(("text", "certified"), [
    ("", False), ("tls { verify: true }", True), ("tls { verify_and_map: true }", True),
    ("tls { verify: false }", False), ("tls { verify: true }\nallow_non_tls: true", False),
    ("tls { verify: true }\nallow_non_tls: false", True), ("tls { timeout: 1 }", False),
    *((f"tls {{ verify: true }}\n{key} {{}}", False) for key in ("websocket", "ws", "mqtt")),
])  # fmt: skip
def test_a_certificate_that_every_connection_needs_is_told(text, certified, tmp_path):
    path = tmp_path / "nats.conf"
    for more in ("", "authorization { users: [ { user: u } ] }\nno_auth_user: u\n"):
        path.write_text(f"{text}\n{more}")
        [user] = Permissions.load_all(path, env={}).values()
        [finding] = [
            each for each in user.lint() if each.rule in ("no-authorization", "no-auth-user")
        ]
        assert ("connection with a certificate" in finding.message) is certified
        assert finding.level == ("warning" if certified else "error")
