"""Deployments from configurations, JWTs, a folder of them, and a running broker."""

from __future__ import annotations

import contextlib
import json
import sys
import urllib.request

import nkeys
import pytest
from click.testing import CliRunner
from operator_mode import OperatorMode
from operators import Operator, connecting, key, token
from raw_client import RawClient

from servers import loads, monitor, serving
from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie._nats.jwt import claims_of
from subtrie.acl import Deployment
from subtrie.acl._load.settings import load_settings

ACCOUNTS = {
    "SHOP": {
        "users": [{"user": "till", "password": "open"}],
        "exports": [
            {"stream": "sales.*.*"},
            {"service": "stock.>", "accounts": ["WEB"]},
            {"stream": "never"},
        ],
        "imports": [],
        "mappings": {"old.*": [{"destination": "sales.$1.done", "weight": 100}]},
    },
    "WEB": {
        "users": [
            {"user": "page", "password": "open"},
            {"user": "shut", "password": "open",
             "permissions": {"subscribe": {"deny": ["sold.>"]}}},
        ],
        "exports": [],
        "imports": [
            {"stream": {"account": "SHOP", "subject": "sales.*.*"}, "to": "sold.$2.$1"},
            {"service": {"account": "SHOP", "subject": "stock.>"}, "to": "shelf.>"},
        ],
    },
}  # fmt: skip
CONFIG = f"accounts {json.dumps(ACCOUNTS)}\n"


@pytest.fixture
def configured(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(CONFIG)
    return path


def _answers(shop):
    """Answers that tell whether accounts, imports, mappings and permissions were read."""
    ask = shop.delivery
    return [
        ask("SHOP/till", "sales.book.new", "WEB/page", "sold.>").subjects,
        ask("SHOP/till", "old.book", "WEB/page", "sold.>").subjects,
        ask("WEB/page", "shelf.a", "SHOP/till", "stock.>").subjects,
        ask("SHOP/till", "sales.book.new", "WEB/shut", "sold.>").subjects,
    ]


EXPECTED = [("sold.new.book",), ("sold.done.book",), ("stock.a",), ()]


def test_every_input_tells_the_same(tmp_path, configured):
    assert _answers(Deployment.load(configured)) == EXPECTED
    operator = OperatorMode(ACCOUNTS)
    store = Deployment.load(operator.store(tmp_path / "store"))
    assert _answers(store) == EXPECTED
    assert store.ignored == []
    preload = tmp_path / "operator.conf"
    preload.write_text(operator.config)
    users = []
    for label, (jwt, _) in operator.users.items():
        users.append(tmp_path / f"{label.replace('/', '-')}.jwt")
        users[-1].write_text(jwt)
    assert _answers(Deployment.load(preload, *users)) == EXPECTED
    # The page of permission reviews names such a configuration; `show` refused it.
    shown = CliRunner().invoke(app, ["acl", "show", str(preload), "--json"])
    assert shown.exit_code == 2, shown.output
    [row] = map(json.loads, shown.stdout.splitlines())
    assert (row["user"], row["publish"]) == ("other users", "not determined")


def test_a_running_broker_and_its_saved_answers(tmp_path, configured):
    with serving(tmp_path / "s", CONFIG + "http: '127.0.0.1:-1'\n") as url:
        page = RawClient(url, user="page", **{"pass": "open"})
        page.subscribe("sold.new.*", "1", "workers")
        page.flush()
        address = monitor(tmp_path / "s")
        live = Deployment.load(configured, address)
        saved = tmp_path / "saved.json"
        asked = ["accountz", "accountz?acc=SHOP", "accountz?acc=WEB", "connz?auth=1&subs=detail"]
        saved.write_bytes(
            b"\n".join(urllib.request.urlopen(f"{address}/{each}").read() for each in asked)
        )
        plain = tmp_path / "plain.json"
        plain.write_bytes(urllib.request.urlopen(f"{address}/connz").read())
        page.close()
    assert _answers(live) == EXPECTED
    assert live.subscribed("WEB", "sold.>") == ("WEB/page",)
    assert live.subscribed("WEB", "sold.old.>") == ()
    alone = Deployment.load(saved)
    assert alone.subscriptions == {"WEB/page": {("sold.new.*", "workers")}}
    assert not alone.users["WEB/page"].determined
    # The broker does not tell that the wildcards change places, so neither do we.
    both = Deployment.load(configured, saved)
    both.accounts = alone.accounts
    answer = both.delivery("SHOP/till", "sales.book.new", "WEB/page", "sold.>")
    assert (answer.subjects, answer.determined) == ((), False)
    assert "order" in answer.explanation
    assert both.delivery("WEB/page", "shelf.a", "SHOP/till", "stock.>").subjects == ("stock.a",)
    with pytest.raises(PermissionsError) as caught:
        Deployment.load(plain)
    assert caught.value.reason == "snapshot-auth"


def test_connections_of_a_broker_without_accounts_are_of_the_global_one(tmp_path):
    """They come without an account, and were taken for an answer without auth=1."""
    users = [{"user": "api", "password": "open"}]
    config = f"authorization {json.dumps({'users': users})}\nhttp: '127.0.0.1:-1'\n"
    with serving(tmp_path / "s", config) as url:
        client = RawClient(url, user="api", **{"pass": "open"})
        client.subscribe("orders.*", "1")
        client.flush()
        address = monitor(tmp_path / "s")
        live = Deployment.load(address)
        told = CliRunner().invoke(app, ["acl", "who", "orders.new", address])
        rows = {
            (verb, asked): CliRunner().invoke(app, ["acl", "who", asked, address, "--verb", verb])
            for verb, asked in (
                ("receive", "orders.new"), ("receive", "orders.>"), ("subscribe", "orders.*"),
                ("subscribe", "orders.>"), ("publish", "orders.new"),
            )
        }  # fmt: skip
        client.close()
    assert live.subscriptions == {"api": {("orders.*", None)}}
    assert "connections come without accounts" not in told.output
    assert "api" in told.output
    # What it subscribes to now it may receive, though its permissions are not told.
    line = {
        key: next(row for row in each.output.splitlines() if "api" in row)
        for key, each in rows.items()
    }
    unknown = (
        "? api  decided elsewhere, by the broker, which does not tell permissions; give its "
        "configuration"
    )
    assert line == {
        ("receive", "orders.new"): "✓ api  its subscription orders.*",
        ("receive", "orders.>"): "✓ api  its subscription orders.*  example: orders.x",
        ("subscribe", "orders.*"): "✓ api  its subscription orders.*",
        ("subscribe", "orders.>"): unknown,
        ("publish", "orders.new"): unknown,
    }
    assert {each.exit_code for each in rows.values()} == {2}  # of users that are not connected


def test_what_a_store_holds_and_the_broker_ignores(tmp_path):
    accounts = json.loads(json.dumps(ACCOUNTS))
    accounts["SHOP"]["exports"][1]["service"] = "other.>"  # the import of stock.> has no export
    operator = OperatorMode(accounts)
    folder = operator.store(tmp_path / "store")
    shop = Deployment.load(folder)
    assert shop.ignored == ["WEB: no export allows the service import stock.> of SHOP"]
    assert _answers(shop)[2] == ()
    done = CliRunner().invoke(app, ["acl", "flows", str(folder)])
    line = f"{folder}: warning ignored: {shop.ignored[0]}\n"
    assert (done.exit_code, done.output.count(line)) == (1, 1), done.output
    (tmp_path / "empty").mkdir()
    with pytest.raises(PermissionsError) as caught:
        Deployment.load(tmp_path / "empty")
    assert caught.value.reason == "store-empty"


def test_an_import_from_an_account_that_is_not_given_may_be_allowed(tmp_path):
    operator = OperatorMode(ACCOUNTS)
    folder = operator.store(tmp_path / "store")
    (folder / "op" / "accounts" / "SHOP" / "SHOP.jwt").unlink()
    web = Deployment.load(folder)
    assert len(web.accounts["WEB"].imports) == 2
    assert web.ignored == []
    shop = operator.keys["SHOP"].public_key.decode()
    assert any(f"the account {shop} is not given" in each for each in web.unseen)


def test_accounts_of_one_name_are_named_by_their_keys(tmp_path):
    keys = set()
    for number in range(2):
        operator = Operator()
        keys.add(operator.account.public_key.decode())
        (tmp_path / f"account{number}.jwt").write_text(operator.account_jwt)
        (tmp_path / f"user{number}.jwt").write_text(operator.user({"pub": {"allow": ["a"]}})[0])
    found = Deployment.load(tmp_path)
    assert keys <= found.accounts.keys()
    assert found.users.keys() == {f"{each}/user" for each in keys}
    (tmp_path / "account1.jwt").unlink()
    (tmp_path / "user1.jwt").unlink()
    assert Deployment.load(tmp_path).users.keys() == {"account/user"}


@pytest.mark.parametrize("source", ["store", "connections"])
def test_users_of_one_name_are_named_by_their_keys(source, tmp_path):
    """Only the last was kept, and no answer had what the others may do."""
    operator = Operator()
    users = [operator.user({"pub": {"allow": [f"{each}.>"]}}) for each in ("a", "b")]
    other = key(nkeys.PREFIX_BYTE_USER).public_key.decode()
    rules = {"type": "user", "pub": {"allow": ["c.>"]}, "subs": -1, "data": -1, "payload": -1}
    users.append((token(operator.account, other, "other", rules), ""))
    keys = [claims_of(each[0], tmp_path, "user")["sub"] for each in users]
    account = operator.account.public_key.decode()
    if source == "store":
        (tmp_path / "account.jwt").write_text(operator.account_jwt)
        for number, each in enumerate(users):
            (tmp_path / f"user{number}.jwt").write_text(each[0])
        where, shown = tmp_path, "account"
    else:
        rows = [{"cid": number, "account": account, "jwt": each[0], "authorized_user": sub}
                for number, (each, sub) in enumerate(zip([*users, users[0]], [*keys, keys[0]],
                                                         strict=True))]  # fmt: skip
        where, shown = tmp_path / "connz.json", account
        where.write_text(json.dumps({"server_id": "N", "num_connections": 4, "total": 4,
                                     "connections": rows}))  # fmt: skip
    found = Deployment.load(where)
    assert {name: each.publish_allow for name, each in found.users.items() if each.determined} == {
        f"{shown}/{keys[0]}": ("a.>",), f"{shown}/{keys[1]}": ("b.>",), f"{shown}/other": ("c.>",),
    }  # fmt: skip
    if source == "store":  # one that is revoked does not share its name any longer
        revoked = operator.account_token({"revocations": {keys[0]: 2_000_000_000}})
        (tmp_path / "account.jwt").write_text(revoked)
        assert Deployment.load(tmp_path).users.keys() == {"account/user", "account/other"}


def test_the_claims_of_accounts_and_users_of_one_name_are_compared_each(tmp_path):
    """Only those of the last were compared."""
    operators, users = [Operator(), Operator()], []
    for number, operator in enumerate(operators):
        users += [(number, operator.user({"pub": {"allow": ["a"]}})[0]) for _ in "ab"]
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        for number, each in enumerate(operators):
            (tmp_path / name / f"account{number}.jwt").write_text(each.account_jwt)
        for place, (number, text) in enumerate(users):
            (tmp_path / name / f"user{number}{place}.jwt").write_text(text)
    old = load_settings(tmp_path / "old").root.value
    keys = {each.account.public_key.decode() for each in operators}
    assert old["account claims"].value.keys() == keys
    subjects = [claims_of(text, tmp_path, "user")["sub"] for _, text in users]
    assert old["user claims"].value.keys() == {
        f"{operators[number].account.public_key.decode()}/{sub}"
        for (number, _), sub in zip(users, subjects, strict=True)
    }


#: Who signs an activation token, what it says, what the exporting account revokes, and if it holds.
TOKENS = {
    "its own": ("SHOP", {}, {}, True),
    "none": (None, {}, {}, False),
    "another account": ("WEB", {}, {}, False),
    "another account in its name": ("WEB", {"issuer_account": "SHOP"}, {}, False),
    "a signing key": ("signer", {"issuer_account": "SHOP"}, {}, True),
    "a signing key without the account": ("signer", {}, {}, False),
    "for another subject": ("SHOP", {"subject": "other.>"}, {}, False),
    "of another kind": ("SHOP", {"kind": "stream"}, {}, False),
    "forged": ("forger", {}, {}, False),
    "revoked": ("SHOP", {}, {"WEB": 2_000_000_000}, False),
    "all revoked": ("SHOP", {}, {"*": 2_000_000_000}, False),
    "older ones revoked": ("SHOP", {}, {"WEB": 1_000_000_000}, True),
    "that of another revoked": ("SHOP", {}, {"SHOP": 2_000_000_000}, True),
    "revoked to its second": ("SHOP", {"iat": 1_500_000_000}, {"WEB": 1_500_000_000}, False),
    "revoked to the one before": ("SHOP", {"iat": 1_500_000_000}, {"WEB": 1_499_999_999}, True),
    "expired": ("SHOP", {"exp": 1_500_000_000}, {}, False),
    "not expired yet": ("SHOP", {"exp": 4_000_000_000}, {}, True),
}


def _with_token(signer, more, revoked):
    """A deployment in operator mode whose import has such an activation token."""
    operator = OperatorMode(ACCOUNTS)
    public = {name: each.public_key.decode() for name, each in operator.keys.items()}
    keys = {**operator.keys, "signer": key(nkeys.PREFIX_BYTE_ACCOUNT)}
    claims = {"type": "activation", "subject": "stock.>", "kind": "service", **more}
    times = {name: claims.pop(name) for name in ("iat", "exp") if name in claims}
    if "issuer_account" in claims:
        claims["issuer_account"] = public[claims["issuer_account"]]
    given = None
    if signer is not None:
        given = token(keys.get(signer, keys["SHOP"]), public["WEB"], "t", claims, times)
    if signer == "forger":
        signed, _, signature = given.rpartition(".")
        given = f"{signed}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"

    def offer(nats):
        nats["signing_keys"] = [keys["signer"].public_key.decode()]
        nats["exports"][1]["revocations"] = {public.get(n, n): at for n, at in revoked.items()}

    def take(nats):
        nats["imports"][1].pop("token")
        if given is not None:
            nats["imports"][1]["token"] = given

    operator.change("SHOP", offer)
    operator.change("WEB", take)
    return operator


@pytest.mark.parametrize("case", TOKENS)
def test_an_activation_token_holds_if_the_broker_takes_it(case, tmp_path):
    signer, more, revoked, holds = TOKENS[case]
    operator = _with_token(signer, more, revoked)
    with serving(tmp_path / "s", operator.config) as url:
        till = RawClient(url, **connecting(*operator.users["SHOP/till"]))
        till.subscribe("stock.>", "1")
        till.flush()
        arrived: tuple[str, ...] = ()
        with contextlib.suppress(ConnectionError):  # with some, no user of WEB may connect
            page = RawClient(url, **connecting(*operator.users["WEB/page"]))
            page.publish("shelf.a")
            page.flush()
            till.flush()
            arrived = tuple(subject for _, subject, _ in till.messages)
            page.close()
        till.close()
    shop = Deployment.load(operator.store(tmp_path / "store"))
    assert shop.delivery("WEB/page", "shelf.a", "SHOP/till", "stock.>").subjects == arrived
    assert bool(arrived) is holds
    assert len(shop.ignored) == (not holds)
    assert shop.unverified == []


def test_without_the_extra_a_signature_is_not_verified(tmp_path, monkeypatch):
    operator = _with_token(*TOKENS["its own"][:3])
    for path in operator.store(tmp_path / "store").rglob("users/*.jwt"):
        path.unlink()
    monkeypatch.setitem(sys.modules, "nacl", None)
    monkeypatch.setitem(sys.modules, "nacl.signing", None)
    shop = Deployment.load(tmp_path / "store")
    assert shop.unverified == [
        "WEB: the signature of the activation token for the service import stock.> of SHOP"
    ]
    done = CliRunner().invoke(app, ["acl", "flows", str(tmp_path / "store")])
    assert (
        f"{tmp_path / 'store'}: note not-verified: {shop.unverified[0]} is not verified"
        in done.output
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("a.*", "b.$1"), ("a.*", "b.$2"), ("a.*", "b.*"), ("a.>", "b"), ("a", "b.>"),
        ("a.>", "b.>"), ("a.b", "c.$1"), ("a.b", "c.{{partition(3)}}"), ("a.b", "c.{{left(1,2)}}"),
        ("a.*", "b.{{left(1)}}"), ("a.*", "b.{{left(1,2,3)}}"), ("a.*", "b.{{left(1,x)}}"),
        ("a.*", "b.{{split(1,-)}}"), ("a.*", "b.{{split(1)}}"), ("a.*", "b.{{nothing(1)}}"),
        ("a.*", "b.{{wildcard()}}"), ("a.*", "b.{{wildcard(1,1)}}"), ("a.*", "b..$1"),
        ("a.*", "b.{{partition(2,1)}}"), ("a.*", "b.{{partition(2,2)}}"), ("a.*", "b.$x"),
        ("a.*", "b.{{random(9)}}"), ("a.*", "b.{{random(1,2)}}"), ("a.*", "b c.$1"),
        ("a.*", "b.{{partition()}}"), ("a.*.*", "b.$2"), ("a.*", "$0"), ("a.*", "b.>.c"),
    ],
)  # fmt: skip
def test_a_destination_is_refused_if_the_broker_refuses_it(source, target, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(f'mappings: {{ "{source}": "{target}" }}\n')
    if loads(path, {}):
        Deployment.load(path)
    else:
        with pytest.raises(PermissionsError) as caught:
            Deployment.load(path)
        assert caught.value.reason == "mapping"
        assert caught.value.line == 1


def test_weights_and_clusters(tmp_path):
    path = tmp_path / "nats.conf"

    def asked(cluster: str, rows: str):
        path.write_text(
            f'{cluster}\nmappings: {{ "a.*": [ {rows} ] }}\n'
            "authorization { users: [ { user: u, password: open } ] }\n"
        )
        answer = Deployment.load(path).delivery("u", "a.x", "u", ">")
        return answer.subjects, answer.possible

    east = "{ dest: 'east.$1', weight: 100, cluster: east }, { dest: 'else.$1', weight: 100 }"
    assert asked("", east) == (("else.x",), ())
    assert asked("cluster { name: east }", east) == (("east.x",), ())
    assert asked("cluster { name: west }", east) == (("else.x",), ())
    assert asked("cluster { port: -1 }", east) == ((), (("east.x",), ("else.x",)))
    some = "{ dest: 'b.$1', weight: 30 }, { dest: 'c.$1', weight: '30%' }"
    assert asked("", some) == ((), (("a.x",), ("b.x",), ("c.x",)))
    lost = "{ dest: 'b.$1', weight: 30 }, { dest: 'a.*', weight: 30 }"
    with pytest.raises(PermissionsError):
        asked("", lost)
    for wrong in (
        "{ dest: b }", "{ dest: 'b.$1', weight: 60 }, { dest: 'c.$1', weight: 60 }",
        "{ dest: 'b.$1', weight: 20 }, { dest: 'b.$1', weight: 20 }", "{ dest: 'b.$1' }",
    ):  # fmt: skip
        with pytest.raises(PermissionsError) as caught:
            asked("", wrong)
        assert caught.value.line
        assert not loads(path, {})


def test_subjects_of_the_system_account_are_those_of_the_broker(tmp_path):
    config = f"""
accounts {{
  SYS {{ users: [ {{ user: sys, password: open }} ] }}
  APP {{ jetstream: enabled, users: [ {{ user: app, password: open }} ] }}
  BARE {{ users: [ {{ user: bare, password: open }} ] }}
}}
system_account: SYS
jetstream {{ store_dir: "{tmp_path}/js" }}
"""
    path = tmp_path / "nats.conf"
    path.write_text(config)
    model = Deployment.load(path)
    found = 0
    with serving(tmp_path / "s", config) as url:
        clients = {name: RawClient(url, user=name, **{"pass": "open"}) for name in ("app", "bare")}
        sys = RawClient(url, user="sys", **{"pass": "open"})
        for user, name in (("APP/app", "app"), ("BARE/bare", "bare")):
            for subject in (
                "$JS.API.INFO", "$JS.API.STREAM.DELETE.x", "$SYS.REQ.USER.INFO", "other",
                "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.PING.CONNZ",
                "$SYS.REQ.ACCOUNT.PING.STATZ", "$SYS.REQ.SERVER.PING.VARZ",
            ):  # fmt: skip
                for pattern in ("$JS.>", "$SYS.REQ.>", "other"):
                    sys.subscribe(pattern, "7")
                    sys.flush()
                    clients[name].publish(subject, "_INBOX.x")
                    clients[name].flush()
                    sys.unsubscribe("7")
                    sys.flush()
                    said = tuple(sorted(each for _, each, _ in sys.messages))
                    found += len(said)
                    assert model.delivery(user, subject, "SYS/sys", pattern).subjects == said
        for each in (sys, *clients.values()):
            each.close()
    assert found == 12
    kinds = [(flow.source, flow.target, flow.published) for flow in model.flows()]
    assert kinds == [("APP", "SYS", "$JS.API.x")]


@pytest.mark.parametrize("broker", [True, False])
@pytest.mark.parametrize("account", [True, False])
def test_the_api_of_streams_is_an_import_where_the_broker_has_them(broker, account, tmp_path):
    """Also of an account for which they are not enabled."""
    path = tmp_path / "nats.conf"
    enabled = "jetstream: on, " * account
    path.write_text(
        "jetstream: on\n" * broker + "system_account: SYS\n"
        f"accounts {{ SYS {{ users: [] }}, A {{ {enabled}users: [] }} }}\n"
    )
    implied = [each.subject for each in Deployment.load(path).accounts["A"].implied]
    assert ("$JS.API.>" in implied) is broker
    assert "$SYS.REQ.USER.A.INFO" in implied


def test_connections_to_other_brokers(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(
        CONFIG
        + """
no_auth_user: page
cluster { name: east, port: -1, permissions: { import: "in.>", export: { deny: "secret.>" } } }
gateway { name: east, port: -1, gateways: [ { name: west, url: "nats://u:p@west:7222" } ] }
leafnodes {
  authorization { users: [ { user: edge, password: $EDGE, account: WEB } ] }
  remotes: [ { url: "nats-leaf://me:hidden@hub:7422", account: SHOP
               deny_imports: "hub.secret.>", deny_exports: [ "till.>" ] } ]
}
"""
    )
    shop = Deployment.load(path)
    assert loads(path, {"EDGE": "x"})
    assert (shop.no_auth_user, shop.cluster, shop.system_account) == ("page", "east", "$SYS")
    rows = {(each.kind, each.name, each.account): each.permissions for each in shop.links}
    assert set(rows) == {
        ("leaf", "hub:7422", "SHOP"), ("leaf user", "edge", "WEB"),
        ("route", "east", None), ("gateway", "west", None), ("gateway listener", "gateway", None),
    }  # fmt: skip
    hub = rows["leaf", "hub:7422", "SHOP"]
    assert (hub.publish_deny, hub.subscribe_deny) == (("till.>",), ("hub.secret.>",))
    east = rows["route", "east", None]
    assert east.subscribe_allow == ("in.>",)
    assert east.publish_deny == ("secret.>",)


def test_who_decides_elsewhere_is_named(tmp_path):
    path = tmp_path / "nats.conf"
    issuer = key(nkeys.PREFIX_BYTE_ACCOUNT).public_key.decode()
    path.write_text(
        "accounts { AUTH { users: [ { user: gate, password: open } ] }, APP {} }\n"
        f"authorization {{ auth_callout {{ issuer: {issuer}, account: AUTH, users: [ gate ] }} }}\n"
        "leafnodes { }\n"
    )
    users = Deployment.load(path).users
    assert users["AUTH/gate"].determined
    path.write_text(path.read_text().replace("gate, password", "other, password"))
    answer = Deployment.load(path).users["AUTH/other"].can_publish("a")
    assert answer.explanation == "decided elsewhere, by the authorization callout of AUTH"
    assert not answer.determined


def test_an_account_that_cannot_be_read_is_left_out_by_name(tmp_path):
    """A JWT of version 1 made the whole file unreadable, without saying which one it is."""
    operator = OperatorMode({
        "SHOP": {"users": [], "exports": [{"stream": "sales.*"}]},
        "OLD": {"users": []},
    })  # fmt: skip
    old = operator.keys["OLD"].public_key.decode()
    operator.account_jwts["OLD"] = token(operator.operator, old, "OLD", {}, {"type": "account"})
    path = tmp_path / "nats.conf"
    path.write_text(operator.config)
    site = Deployment.load(path)
    assert "SHOP" in site.accounts
    [reason] = [each for each in site.unseen if old in each]
    assert f"the account {old} cannot be read ({path}:5)" in reason
    done = CliRunner().invoke(app, ["acl", "flows", str(path)])
    assert done.exit_code == 2
    assert "not-seen: the account" in done.output
    assert "public-export: SHOP" in done.output
