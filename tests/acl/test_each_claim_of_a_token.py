"""Each claim of a user, of an account and of an operator by itself: what it changes."""

from __future__ import annotations

import json

import nkeys
import pytest
from click.testing import CliRunner
from operators import Operator, key, token

from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie.acl import Deployment, Permissions, ResponseLimit
from subtrie.acl._uncompared import uncompared

OPERATOR = Operator()
OTHER = key(nkeys.PREFIX_BYTE_ACCOUNT).public_key.decode()


def changed(tmp_path, old, new):
    """The differences of two tokens besides the lists, and the consequences."""
    paths = [tmp_path / "old.jwt", tmp_path / "new.jwt"]
    for path, text in zip(paths, (old, new), strict=True):
        path.write_text(text)
    done = CliRunner().invoke(app, ["acl", "diff", *map(str, paths), "--json"])
    found = json.loads(done.stdout)
    parts = [f"{each['part']} {each['change']}: {each['new']}" for each in found["not_compared"]
             if each["change"] != "not seen"]  # fmt: skip
    return parts + [each["message"] for each in found["consequences"]]


#: Lists of a user, of which each grants or takes by itself.
LISTS = [
    ({"pub": {"allow": ["a"]}}, {"publish_allow": ["a"]}),
    ({"pub": {"deny": ["a"]}}, {"publish_deny": ["a"]}),
    ({"sub": {"allow": ["a"]}}, {"subscribe_allow": ["a"]}),
    ({"sub": {"deny": ["a"]}}, {"subscribe_deny": ["a"]}),
    ({"sub": {"allow": ["a q"]}}, {"subscribe_allow": ["a q"]}),
    ({"resp": {"max": 7}}, {"publish_allow": [], "allow_responses": ResponseLimit(7, 0)}),
    ({"resp": {"ttl": 7_000_000_000}},
     {"publish_allow": [], "allow_responses": ResponseLimit(0, 7.0)}),
    ({"resp": {}}, {"publish_allow": [], "allow_responses": ResponseLimit(0, 0)}),
]  # fmt: skip


@pytest.mark.parametrize("by", ["user", "default_permissions", "template"])
@pytest.mark.parametrize(("claims", "lists"), LISTS)
def test_each_list_of_a_token_grants_or_takes_by_itself(by, claims, lists, tmp_path):
    """Those of the user, those of the account, and those of a signing key."""
    own, scoped = (claims, False) if by == "user" else ({}, by == "template")
    path = tmp_path / "user.jwt"
    account = OPERATOR.account_token({} if by == "user" else {by: claims})
    path.write_text(OPERATOR.user(own, scoped=scoped)[0])
    found = Permissions.load(path, account_jwt=account)
    assert repr(found) == repr(Permissions(**lists, dialect="server"))
    alone = Permissions.load(path)
    assert alone.determined is (by == "user")
    assert not alone.determined or repr(alone) == repr(found)


LATE, EARLY = 4_000_000_000, 1_000_000_000
#: A claim of a user and its value, and what the comparison says about it.
USER = {
    "subs": (5, "6 subscriptions may be held at a time"),
    "payload": (5, "a message of 6 bytes may be published"),
    "src": (["10.0.0.0/8"], "user claims / src added: 10.0.0.0/8"),
    "times": ([{"start": "08:00:00", "end": "17:00:00"}], "user claims / times added: "),
    "times_location": ("Europe/Oslo", "user claims / times_location added: Europe/Oslo"),
    "bearer_token": (True, "user claims / bearer_token added: "),
    "proxy_required": (True, "user claims / proxy_required added: True"),
    "allowed_connection_types": (["MQTT"], "user claims / allowed_connection_types added: MQTT"),
    "tags": (["a"], "user claims / tags added: a"),
    "issuer_account": (OTHER, f"user claims / account changed: {OTHER}"),
    "a_newer_claim": (7, "user claims / a_newer_claim added: 7"),
    "data": (5, None), "description": ("d", None), "pub": ({"allow": ["a"]}, None),
    "sub": ({"deny": ["a"]}, None), "resp": ({"max": 1}, None),
}  # fmt: skip
#: The same for claims beside those of NATS.
BESIDE = {
    "exp": (LATE, "the user may log in without end, and not only until 2096-10-02 07:06:40 UTC"),
    "nbf": (EARLY, "the user may log in at once, and not only from 2001-09-09 01:46:40 UTC on"),
    "aud": ("x", None), "jti": ("x", None), "iat": (EARLY, None), "name": ("other", None),
}  # fmt: skip


def test_each_claim_of_a_user_is_compared_by_itself(tmp_path):
    base = OPERATOR.user({})[0]
    assert changed(tmp_path, base, OPERATOR.user({})[0]) == []
    for name, (value, said) in USER.items():
        tokens = base, OPERATOR.user({name: value})[0]
        assert changed(tmp_path, *tokens) == ([said] if said else []), name
    for name, (value, said) in BESIDE.items():
        tokens = base, OPERATOR.user({}, claims={name: value})[0]
        assert changed(tmp_path, *tokens) == ([said] if said else []), name


@pytest.mark.parametrize("name", ["subs", "payload", "exp", "nbf"])
def test_a_number_of_a_user_that_bounds_nothing_is_as_good_as_absent(name, tmp_path):
    base = OPERATOR.user({})[0]
    number = 0 if name in BESIDE else -1
    beside = {name: number} if name in BESIDE else None
    same = OPERATOR.user({} if beside else {name: number}, claims=beside)[0]
    assert changed(tmp_path, base, same) == []


@pytest.mark.parametrize("name", ["bearer_token"])
def test_a_flag_of_a_user_that_is_off_is_as_good_as_absent(name, tmp_path):
    assert changed(tmp_path, OPERATOR.user({})[0], OPERATOR.user({name: False})[0]) == []


#: Limits of an account: the value, and what is shown of it; None if it does not count.
LIMITS = {
    "subs": 5, "payload": 5, "conn": 5, "leaf": 5, "wildcards": False, "disallow_bearer": True,
    "a_newer_limit": 5,
    "data": None, "imports": None, "exports": None, "streams": None, "consumer": None,
    "max_ack_pending": None, "mem_max_stream_bytes": None, "disk_max_stream_bytes": None,
    "max_bytes_required": None,
}  # fmt: skip
STORED = {"mem_storage": 5, "disk_storage": 5, "tiered_limits": {"R1": {"disk_storage": 5}}}
EXPORT = {"type": "service", "subject": "q"}
IMPORT = {"type": "service", "subject": "q", "account": OTHER}
#: Claims of an account before and after, and the part that is named; None if it does not count.
ACCOUNT = {
    "description": (None, "d", None), "info_url": (None, "u", None),
    "default_permissions": (None, {"pub": {"allow": ["a"]}}, None),
    "signing_keys": (None, [OTHER], "signing_keys added"),
    "revocations": (None, {"*": 7}, "revocations added"),
    "authorization": (None, {"auth_users": ["U"]}, "authorization added"),
    "trace": (None, {"dest": "t"}, "trace added"),
    "cluster_traffic": (None, "owner", "cluster_traffic added: owner"),
    "tags": (None, ["t"], "tags added: t"),
    "a_newer_claim": (None, 7, "a_newer_claim added: 7"),
    "mappings": (None, {"a": [{"subject": "b"}]}, "mappings added"),
    "exports": (None, [EXPORT], "exports added"), "imports": (None, [IMPORT], "imports added"),
}  # fmt: skip
#: The same inside of a claim.
INSIDE = {
    "authorization": ({"auth_users": ["U"]}, {
        "auth_users": ["V"], "allowed_accounts": ["*"], "xkey": "X"}),
    "exports": (EXPORT, {
        "name": "n", "token_req": True, "revocations": {"*": 7}, "response_type": "Stream",
        "response_threshold": 7, "service_latency": {"sampling": 7, "results": "l"},
        "account_token_position": 1, "advertise": True, "allow_trace": True}),
    "imports": (IMPORT, {
        "name": "n", "token": "t", "to": "t", "local_subject": "l", "share": True,
        "allow_trace": True}),
}  # fmt: skip


def stored(tmp_path, name, claims):
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "account.jwt").write_text(OPERATOR.account_token(claims))
    return folder


def account_parts(tmp_path, old, new):
    pair = [stored(tmp_path, name, each) for name, each in (("old", old), ("new", new))]
    start = "account claims / account / "
    return [str(each).removeprefix(start) for each in uncompared(*pair)]


def unlimited(**more):
    names = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
    return {"limits": {**dict.fromkeys(names, -1), "wildcards": True, **more}}


def test_each_limit_of_an_account_is_compared_by_itself(tmp_path):
    for name, value in LIMITS.items():
        given = 5 if value is None else value
        [*found] = account_parts(tmp_path, unlimited(), unlimited(**{name: given}))
        word = "changed: True →" if name == "wildcards" else "added:"
        named = [] if value is None else [f"limits / {name} {word} {value}"]
        assert found == named, name
        assert account_parts(tmp_path, unlimited(), unlimited(**{name: -1})) == (
            [] if value != 5 or name != "a_newer_limit" else [f"limits / {name} added: -1"]
        ) or name in ("wildcards", "disallow_bearer"), name
    for name, value in STORED.items():
        for side in ("old", "new"):
            claims = [unlimited(), unlimited(**{name: value})]
            pair = claims if side == "new" else claims[::-1]
            [part] = account_parts(tmp_path, *pair)
            assert part.startswith(f"limits / {name}"), name


def test_storage_counts_as_there_or_not(tmp_path):
    for name in ("mem_storage", "disk_storage"):
        for old, new, same in ((5, 7, True), (-1, 7, True), (0, 7, False), (0, None, True)):
            pair = [unlimited(**{name: each}) for each in (old, new)]
            assert (account_parts(tmp_path, *pair) == []) is same, (name, old, new)


def test_each_claim_of_an_account_is_compared_by_itself(tmp_path):
    for name, (old, new, named) in ACCOUNT.items():
        pair = [{name: each} for each in (old, new)]
        found = account_parts(tmp_path, *pair)
        assert found == ([named] if named else []), name
    for name, (base, fields) in INSIDE.items():
        listed = name != "authorization"
        label = "service q of " + OTHER if name == "imports" else "service q"
        start = f"{name} / {label} / " if listed else f"{name} / "
        for field, value in fields.items():
            pair = [{name: [each] if listed else each} for each in (base, {**base, field: value})]
            [part] = account_parts(tmp_path, *pair)
            assert part.startswith(start + field), field
            if value is True and field != "advertise":  # off is as good as absent
                pair[1] = {name: [{**base, field: False}]}
                assert account_parts(tmp_path, *pair) == [], field


def test_each_claim_of_an_operator_is_compared_by_itself(tmp_path):
    claims = {
        "signing_keys": [OTHER], "account_server_url": "u", "system_account": OTHER,
        "assert_server_version": "2.9.0", "strict_signing_key_usage": True, "tags": ["t"],
        "a_newer_claim": 7, "operator_service_urls": None,
    }  # fmt: skip
    public = OPERATOR.key.public_key.decode()
    for name, value in claims.items():
        pair = []
        for side, given in (("old", {}), ("new", {name: value or ["nats://h:1"]})):
            folder = tmp_path / side
            folder.mkdir(exist_ok=True)
            nats = {"type": "operator", "kept": 1, **given}
            (folder / "op.jwt").write_text(token(OPERATOR.key, public, "op", nats))
            pair.append(folder)
        parts = [str(each) for each in uncompared(*pair)]
        assert len(parts) == (value is not None), name
        assert all(each.startswith(f"operator claims / op / {name}") for each in parts), parts
        (tmp_path / "new" / "account.jwt").write_text(OPERATOR.account_jwt)
        system = Deployment.load(tmp_path / "new").system_account
        assert (system is not None) is (name == "system_account"), name
        (tmp_path / "new" / "account.jwt").unlink()


#: Claims of an account, and what its user is told to be granted; a reason if it is refused.
DECIDING = [
    ({"default_permissions": {"pub": {"allow": ["a"]}}}, "Permissions(publish_allow=('a',))"),
    ({"authorization": {"auth_users": ["U"]}}, "the authorization callout of the account"),
    ({"authorization": {"allowed_accounts": ["*"]}}, "Permissions()"),
    ({"authorization": {"xkey": "X"}}, "Permissions()"),
    ({"revocations": {"*": 2**40}}, "jwt-revoked"), ({"revocations": {"*": 1}}, "Permissions()"),
    ({"revocations": {"USER": 2**40}}, "jwt-revoked"),
    ({"revocations": {"USER": 1}}, "Permissions()"),
    ({"revocations": {OTHER: 2**40}}, "Permissions()"),
    ({"signing_keys": [OTHER]}, "Permissions()"), ({"mappings": {"a": [{"subject": "b"}]}},
                                                   "Permissions()"),
    ({"exports": [EXPORT]}, "Permissions()"), ({"limits": {"subs": 1}}, "Permissions()"),
]  # fmt: skip


@pytest.mark.parametrize(("claims", "granted"), DECIDING)
def test_each_claim_of_an_account_decides_about_its_users_or_not(claims, granted, tmp_path):
    jwt, seed = OPERATOR.user({})
    public = nkeys.from_seed(seed.encode()).public_key.decode()
    account = OPERATOR.account_token(json.loads(json.dumps(claims).replace("USER", public)))
    path = tmp_path / "user.jwt"
    path.write_text(jwt)
    if granted == "jwt-revoked":
        with pytest.raises(PermissionsError) as caught:
            Permissions.load(path, account_jwt=account)
        assert caught.value.reason == granted
        return
    found = Permissions.load(path, account_jwt=account)
    assert (repr(found) if found.determined else found.decided_by) == granted


def test_a_user_has_the_connections_and_the_time_of_its_own_claims(tmp_path):
    path = tmp_path / "user.jwt"
    for claims, beside, expected in (
        ({"allowed_connection_types": ["mqtt"]}, {}, (("MQTT",), None, None)),
        ({}, {"exp": LATE}, ((), None, LATE)), ({}, {"nbf": EARLY}, ((), EARLY, None)),
        ({"connection_types": ["mqtt"], "exp": LATE, "nbf": EARLY}, {}, ((), None, None)),
    ):  # fmt: skip
        path.write_text(OPERATOR.user(claims, claims=beside)[0])
        found = Permissions.load(path)
        validity = found.validity
        assert (found.connection_types, validity.not_before, validity.expires) == expected


#: What an export has besides, and whether it may be imported without an activation token.
OFFERS = [
    ({}, True), ({"token_req": True}, False), ({"token_req": False}, True),
    ({"account_token_position": 2}, True), ({"account_token_position": 1}, False),
    ({"account_token_position": 0}, True), ({"revocations": {"*": 2**40}}, True),
    ({"type": "stream"}, False), ({"subject": "z.*"}, False), ({"subject": "q.>"}, True),
    ({"advertise": True}, True), ({"allow_trace": True}, True), ({"name": "n"}, True),
    ({"response_type": "Stream"}, True),
]  # fmt: skip


@pytest.mark.parametrize(("more", "allowed"), OFFERS)
def test_each_field_of_an_export_lets_it_be_imported_or_not(more, allowed, tmp_path):
    exporter = OPERATOR.account.public_key.decode()
    export = {"type": "service", "subject": "q.*", **more}
    taken = {"type": "service", "subject": f"q.{OTHER}", "account": exporter}
    nats = {"type": "account", "imports": [taken]}
    (tmp_path / "exporter.jwt").write_text(OPERATOR.account_token({"exports": [export]}))
    (tmp_path / "importer.jwt").write_text(token(OPERATOR.key, OTHER, "importer", nats))
    found = Deployment.load(tmp_path)
    assert [each.subject for each in found.accounts["importer"].imports if not each.implied] == (
        [f"q.{OTHER}"] if allowed else []
    )
    assert bool(found.ignored) is not allowed


@pytest.mark.parametrize("key", ["system_account", "system", "port"])
def test_a_configuration_names_the_system_account_before_its_operator(key, tmp_path):
    nats = {"type": "operator", "system_account": "OF_THE_OPERATOR"}
    jwt = token(OPERATOR.key, OPERATOR.key.public_key.decode(), "op", nats)
    path = tmp_path / "nats.conf"
    path.write_text(f"{key}: {7 if key == 'port' else 'HERE'}\noperator: {jwt}\n")
    expected = "OF_THE_OPERATOR" if key == "port" else "HERE"
    assert Deployment.load(path).system_account == expected


@pytest.mark.parametrize("name", ["type", "Description", "pub", "account"])
def test_an_account_a_user_and_an_operator_may_have_the_name_of_a_claim(name, tmp_path):
    public = OPERATOR.key.public_key.decode()
    tokens = {}
    for side, value in (("old", 1), ("new", 2)):
        (tmp_path / side).mkdir()
        nats = {"a_newer_claim": value}
        tokens[side] = {
            "operator": token(OPERATOR.key, public, name, {"type": "operator", **nats}),
            "account": token(OPERATOR.key, OTHER, name, {"type": "account", **nats}),
            "user": OPERATOR.user(nats, claims={"name": name, "sub": "U"})[0],
        }  # fmt: skip
    for kind in tokens["old"]:
        for side, of in tokens.items():
            for each in of:
                text = of[each] if each == kind else tokens["old"][each]
                (tmp_path / side / f"{each}.jwt").write_text(text)
        [part] = uncompared(tmp_path / "old", tmp_path / "new")
        shown = f"{OPERATOR.account.public_key.decode()}/{name}" if kind == "user" else name
        assert part.keys == (f"{kind} claims", shown, "a_newer_claim")
