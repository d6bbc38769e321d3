"""Claims of the JWT of an account: what is refused, and what each means to a live broker."""

from __future__ import annotations

import base64
import json

import pytest
from operator_mode import OperatorMode
from operators import Operator, connecting, token
from raw_client import RawClient

from patience import wait_until
from servers import serving
from subtrie import PermissionsError
from subtrie.acl import Deployment
from subtrie.acl._load import deployments, files

STREAM = {"type": "stream", "subject": "a"}


def target(subject, weight=100, **more):
    return {"subject": subject, "weight": weight, **more}


#: Claims that are not valid, the reason, and what the message names.
REFUSED = {
    "exports": ({"exports": 7}, "jwt", "exports"),
    "exports-map": ({"exports": {"a": 1}}, "jwt", "exports"),
    "export": ({"exports": [7]}, "jwt", "exports"),
    "imports": ({"imports": "a"}, "jwt", "imports"),
    "import": ({"imports": [["a"]]}, "jwt", "imports"),
    "mappings": ({"mappings": []}, "jwt", "mappings"),
    "mapping": ({"mappings": {"a": {}}}, "jwt", "mappings"),
    "target": ({"mappings": {"a": [7]}}, "jwt", "mappings"),
    "limits": ({"limits": []}, "jwt", "limits"),
    "tiers": ({"limits": {"tiered_limits": []}}, "jwt", "tiered_limits"),
    "type": ({"exports": [{**STREAM, "type": "queue"}]}, "jwt", "type"),
    "no-type": ({"imports": [{"subject": "a"}]}, "jwt", "type"),
    "type-number": ({"exports": [{**STREAM, "type": 7}]}, "jwt", "type"),
    "subject": ({"exports": [{**STREAM, "subject": 7}]}, "jwt", "subject"),
    "empty-token": ({"exports": [{**STREAM, "subject": "a..b"}]}, "empty-token", "a..b"),
    "import-subject": ({"imports": [{**STREAM, "subject": "a.>.b"}]}, "tail-not-last", "a.>.b"),
    "local": ({"imports": [{**STREAM, "local_subject": "a..b"}]}, "empty-token", "a..b"),
    "to": ({"imports": [{**STREAM, "type": "service", "to": "a..b"}]}, "empty-token", "a..b"),
    "account": ({"imports": [{**STREAM, "account": 7}]}, "jwt", "account"),
    "token": ({"imports": [{**STREAM, "token": 7}]}, "jwt", "token"),
    "position": ({"exports": [{**STREAM, "account_token_position": "1"}]}, "jwt",
                 "account_token_position"),
    "position-flag": ({"exports": [{**STREAM, "account_token_position": True}]}, "jwt",
                      "account_token_position"),
    "revoked": ({"exports": [{**STREAM, "revocations": {"X": "1"}}]}, "jwt", "revocations"),
    "revoked-flag": ({"exports": [{**STREAM, "revocations": {"X": 1, "*": True}}]}, "jwt",
                     "revocations"),
    "weight": ({"mappings": {"a": [target("b", 101)]}}, "jwt", "weight"),
    "weight-negative": ({"mappings": {"a": [target("b", -1)]}}, "jwt", "weight"),
    "weight-text": ({"mappings": {"a": [target("b", "50")]}}, "jwt", "weight"),
    "weight-flag": ({"mappings": {"a": [target("b", True)]}}, "jwt", "weight"),
    "weights": ({"mappings": {"a": [target("b", 51), target("c", 50)]}}, "mapping", "exceed"),
    "twice": ({"mappings": {"a": [target("b", 5), target("b", 5)]}}, "mapping", "twice"),
    "destination": ({"mappings": {"a.*": [target("b.$2")]}}, "mapping", "not 2"),
    "source": ({"mappings": {"a..b": [target("c")]}}, "empty-token", "a..b"),
    "cluster": ({"mappings": {"a": [target("c", cluster=7)]}}, "jwt", "cluster"),
}  # fmt: skip
#: Claims much like them that hold.
TAKEN = (
    {"exports": None, "imports": None, "mappings": None, "limits": None},
    {"exports": [STREAM, {**STREAM, "account_token_position": 1}]},
    {"mappings": {"a": [target("b", 50), target("c", 50)], "d": [target("e")]}},
    {"mappings": {"a": [target("b", 51), target("c", 50, cluster="x")]}},
    {"exports": [{**STREAM, "revocations": {"X": 1}}]},
)


def written(tmp_path, claims):
    path = tmp_path / "account.jwt"
    path.write_text(Operator(claims).account_jwt)
    return path


@pytest.mark.parametrize("name", REFUSED)
def test_claims_that_are_not_valid_are_refused_with_the_file(name, tmp_path):
    claims, reason, named = REFUSED[name]
    path = written(tmp_path, claims)
    with pytest.raises(PermissionsError, match=r"account\.jwt: ") as caught:
        Deployment.load(path)
    assert (caught.value.reason, caught.value.file) == (reason, str(path))
    assert named in str(caught.value)


@pytest.mark.parametrize("revoked", [{"*": "1"}, {"*": True}, 7])
def test_revocations_of_users_that_are_not_valid_are_refused_with_the_file(revoked, tmp_path):
    operator = Operator({"revocations": revoked})
    (tmp_path / "account.jwt").write_text(operator.account_jwt)
    (tmp_path / "user.jwt").write_text(operator.user({"pub": {"allow": ["a"]}})[0])
    with pytest.raises(PermissionsError, match="revocations") as caught:
        Deployment.load(tmp_path)
    assert caught.value.file == str(tmp_path / "account.jwt")


@pytest.mark.parametrize("claims", TAKEN)
def test_claims_much_like_those_are_read(claims, tmp_path):
    assert "account" in Deployment.load(written(tmp_path, claims)).accounts


@pytest.mark.parametrize(("limits", "stored"), [
    ({}, False), ({"mem_storage": 0, "disk_storage": 0}, False), ({"mem_storage": 5}, True),
    ({"disk_storage": -1}, True), ({"tiered_limits": {"R1": {"disk_storage": 5}}}, True),
    ({"tiered_limits": {"R1": {}, "R3": {"mem_storage": -1}}}, True),
    ({"tiered_limits": {"R1": {"mem_storage": 0}}}, False), ({"tiered_limits": {"R1": 7}}, False),
    ({"streams": 5}, False),
])  # fmt: skip
def test_an_account_with_room_for_streams_has_jetstream(limits, stored, tmp_path):
    found = Deployment.load(written(tmp_path, {"limits": limits})).accounts["account"]
    assert found.jetstream is stored


#: Imports as their claims, without the account.
IMPORTS = [
    {"type": "stream", "subject": "s1.*"},
    {"type": "stream", "subject": "s2.*", "to": "pre"},
    {"type": "stream", "subject": "s3.*", "local_subject": "here.$1.x"},
    {"type": "stream", "subject": "s5.*.*", "local_subject": "swap.$2.$1"},
    {"type": "service", "subject": "q1.*"},
    {"type": "service", "subject": "mine.q2", "to": "q2.x"},
    {"type": "service", "subject": "q3.*.*", "local_subject": "ask.$2.$1"},
]
SENT = {
    "EXP/e": ["s1.a", "s2.a", "s2.b", "s3.a", "s5.a.b", "m0.a", "m1.a", "m2.x.y"],
    "IMP/i": ["q1.a", "mine.q2", "q2.x", "q3.a.b", "ask.a.b", "m0.a", "zero.a", "some.a"],
}


def test_imports_and_mappings_mean_what_they_mean_to_a_live_broker(tmp_path):
    blocks = {"EXP": {"users": [{"user": "e"}]}, "IMP": {"users": [{"user": "i"}]}}
    mode = OperatorMode(blocks)
    exporter = mode.keys["EXP"].public_key.decode()

    def exports(nats):
        nats["exports"] = [
            {"type": "stream" if one == "s" else "service", "subject": f"{one}{number}.>"}
            for one, number in [*(("s", n) for n in range(1, 6)), *(("q", n) for n in range(1, 4))]
        ]

    def imports(nats):
        nats["imports"] = [{**each, "account": exporter} for each in IMPORTS]
        nats["mappings"] = {
            "zero.*": [{"subject": "z.$1", "weight": 0}], "some.*": [{"subject": "w.$1"}],
        }  # fmt: skip

    mode.change("EXP", exports)
    mode.change("IMP", imports)
    deployment = Deployment.load(mode.store(tmp_path / "store"))
    assert deployment.ignored == []
    with serving(tmp_path / "live", mode.config) as url:
        clients = {name: RawClient(url, **connecting(*mode.users[name])) for name in SENT}
        for client in clients.values():
            client.subscribe(">", "1")
            client.flush()
        arrived = 0
        for sender, subjects in SENT.items():
            for subject in subjects:
                clients[sender].publish(subject)
                clients[sender].flush()
                live = {sender: sorted(row[1] for row in clients[sender].messages)}
                for name, client in clients.items():
                    if name != sender:
                        client.flush()
                        live[name] = sorted(row[1] for row in client.messages)
                for name, found in live.items():
                    answer = deployment.delivery(sender, subject, name, ">")
                    assert answer.determined
                    assert list(answer.subjects) == found, (sender, subject, name)
                    arrived += bool(found) and name != sender
        assert arrived == 8
        for client in clients.values():
            client.close()


def test_the_operator_names_the_system_account(tmp_path):
    """Bug: that of an operator whose JWT stands in a configuration was not read."""
    mode = OperatorMode({"SYS": {"users": [{"user": "s"}]}, "A": {"users": [{"user": "a"}]}})
    public = mode.keys["SYS"].public_key.decode()
    for given, named in ((public, "SYS"), ("", None), (7, None)):
        nats = {"type": "operator", "system_account": given}
        mode.operator_jwt = token(mode.operator, mode.operator.public_key.decode(), "op", nats)
        assert Deployment.load(mode.store(tmp_path / f"store{given}")).system_account == named
        path = tmp_path / "nats.conf"
        path.write_text(mode.config)
        assert Deployment.load(path).system_account == (named or "$SYS")
        path.write_text(f"system_account: {mode.keys['A'].public_key.decode()}\n{mode.config}")
        assert Deployment.load(path).system_account == "A"
        if named is None:
            continue
        with serving(tmp_path / "live", mode.config) as url:
            client = RawClient(url, **connecting(*mode.users["SYS/s"]))
            client.subscribe("back", "1")

            def answered(client=client):
                client.publish("$SYS.REQ.SERVER.PING.IDZ", "back")
                client.flush()
                return bool(client.messages)

            wait_until(answered)
            client.close()


def test_preloaded_accounts_are_a_map(tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text("port: 4222\nresolver_preload: [ a ]\n")
    with pytest.raises(PermissionsError, match=r"nats\.conf:2: ") as caught:
        Deployment.load(path)
    assert caught.value.reason == "config-type"


def test_files_are_bounded_and_text(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE", 1000)
    path = tmp_path / "nats.conf"
    path.write_bytes(b"#" * 1000)
    assert Deployment.load(path).accounts
    for data, reason in ((b"#" * 1001, "file-size"), (b"# \xff", "utf8")):
        path.write_bytes(data)
        with pytest.raises(PermissionsError, match=r"nats\.conf: ") as caught:
            Deployment.load(path)
        assert caught.value.reason == reason


def test_so_many_files_of_a_store_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(deployments, "MAX_FILES", 2)
    for name in ("a", "b"):
        (tmp_path / f"{name}.jwt").write_text(Operator().account_jwt)
    (tmp_path / "c.txt").write_text("")
    assert Deployment.load(tmp_path).accounts
    (tmp_path / "d.jwt").write_text(Operator().account_jwt)
    with pytest.raises(PermissionsError, match="2 files") as caught:
        Deployment.load(tmp_path)
    assert caught.value.reason == "store-files"
    (tmp_path / "empty").mkdir()
    with pytest.raises(PermissionsError) as caught:
        Deployment.load(tmp_path / "empty")
    assert caught.value.reason == "store-empty"


def test_a_connection_of_a_running_broker_has_the_lists_of_its_token(tmp_path):
    """Of a revoked user, the broker closes the connection; such a one does not count."""
    mode = OperatorMode({"A": {"users": [
        {"user": "u", "permissions": {"publish": {"allow": ["p"]}}}, {"user": "gone"},
    ]}})  # fmt: skip
    account = mode.keys["A"].public_key.decode()
    rows = [
        {"cid": n, "account": account, "authorized_user": f"user {n}", "jwt": mode.users[name][0],
         "subscriptions_list_detail": [{"subject": "s.*", "qgroup": "q"}, {"subject": "t"}]}
        for n, name in enumerate(("A/u", "A/gone"))
    ]  # fmt: skip
    revoked = json.loads(_decoded(mode.users["A/gone"][0]))["sub"]
    mode.change("A", lambda nats: nats.update(revocations={revoked: 2**40}))
    path = tmp_path / "told.json"
    detail = {"account_name": account, "jwt": mode.account_jwts["A"], "jetstream_enabled": True}
    path.write_text(
        json.dumps({"server_id": "N", "account_detail": detail})
        + json.dumps({"server_id": "N", "connections": rows})
    )
    found = Deployment.load(path)
    assert found.accounts["A"].jetstream
    assert found.ignored == ["A/gone: the user is revoked"]
    assert found.users["A/u"].publish_allow == ("p",)
    assert found.users["A/u"].place is None
    assert found.subscriptions == {"A/u": {("s.*", "q"), ("t", None)}}
    assert "A/gone" not in found.users


def _decoded(text):
    part = text.split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
