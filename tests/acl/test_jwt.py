"""User JWTs and creds: reading, undetermined users, signing; compared with a server."""

from __future__ import annotations

import base64
import itertools
import json
import os
import random

import pytest
from operators import Operator, connecting
from raw_client import RawClient

from secrets_watch import SECRETS, leaked
from servers import serving
from subtrie import PermissionsError
from subtrie.acl import Permissions, ResponseLimit
from subtrie.acl._lint import jwt_size
from subtrie.gencreds import sign, write

SUBJECTS = [".".join(t) for n in (1, 2) for t in itertools.product("abx", repeat=n)]

CLAIMS = {
    "lists": {"pub": {"allow": ["a.>", "b"]}, "sub": {"allow": ["a.* q", "b"], "deny": ["b.x"]}},
    "deny-only": {"pub": {"deny": ["a.b"]}, "sub": {"deny": ["a.b"]}},
    "empty-allow-beside-deny": {"pub": {"allow": [], "deny": ["a.b"]}},
    "empty-sub-allow": {"pub": {"allow": ["a"]}, "sub": {"allow": [], "deny": ["b"]}},
    "responses": {"resp": {"max": 2, "ttl": 10_000_000_000}},
    "responses-defaults": {"pub": {"deny": ["b"]}, "resp": {"max": 0, "ttl": 0}},
    "dead-allow": {"pub": {"allow": ["a.>.b"]}, "sub": {"allow": ["b.>.x"], "deny": ["a.>.b"]}},
    "dead-deny": {"pub": {"allow": ["a.>"], "deny": ["a.>.b", "a.b"]}},
}


def _load(tmp_path, text, **options):
    path = tmp_path / "user.jwt"
    path.write_text(text)
    return Permissions.load(path, **options)


def _compared(url, credentials, permissions, what):
    client = RawClient(url, **credentials)
    for subject in SUBJECTS:
        client.publish(subject)
    queues = [None, "q"]
    asked = list(itertools.product([*SUBJECTS, "a.*", "*.b", "b.*"], queues))
    for sid, (pattern, queue) in enumerate(asked):
        client.subscribe(pattern, str(sid), queue)
    client.flush()
    for subject in SUBJECTS:
        said = ("Publish", subject, None) not in client.refused
        assert bool(permissions.can_publish(subject, model="broker")) == said, (what, subject)
    for pattern, queue in asked:
        said = ("Subscription", pattern, queue) not in client.refused
        ours = permissions.can_subscribe(pattern, queue=queue, model="broker")
        assert bool(ours) == said, (what, pattern, queue, ours)
    client.close()


def test_claims_mean_the_same_as_to_the_broker(tmp_path):
    operator = Operator()
    with serving(tmp_path / "server", operator.config) as url:
        for what, claims in CLAIMS.items():
            jwt, seed = operator.user(claims)
            permissions = _load(tmp_path, jwt)
            assert permissions.determined
            _compared(url, connecting(jwt, seed), permissions, what)
    dead = _load(tmp_path, operator.user(CLAIMS["dead-allow"])[0])
    assert dead.publish_allow == ()
    assert [each.rule for each in dead.lint()][:3] == ["dead"] * 3


def test_a_decision_of_the_account_is_undetermined(tmp_path):
    lists = {"pub": {"allow": ["a.b"]}, "sub": {"allow": ["a.*"]}}
    for account, scoped in (({"default_permissions": lists}, False), ({"template": lists}, True)):
        operator = Operator(account)
        jwt, seed = operator.user({}, scoped=scoped)
        alone = _load(tmp_path, jwt)
        for decision in (alone.can_publish("a.b"), alone.can_subscribe("a.b", model="broker")):
            assert not decision
            assert not decision.known
        with pytest.raises(PermissionsError):
            alone.minimised()
        trusted = [operator.key.public_key.decode()]
        whole = _load(tmp_path, jwt, account_jwt=operator.account_jwt, trusted=trusted)
        assert whole == Permissions(publish_allow=["a.b"], subscribe_allow=["a.*"])
        with serving(tmp_path / f"server{scoped}", operator.config) as url:
            _compared(url, connecting(jwt, seed), whole, account)


def test_the_chain_is_checked_when_keys_are_given(tmp_path):
    operator, other = Operator(), Operator()
    jwt, _ = operator.user(CLAIMS["lists"])
    trusted = [operator.key.public_key.decode()]
    assert _load(tmp_path, jwt, account_jwt=operator.account_jwt, trusted=trusted).determined
    header, claims, signature = jwt.split(".")
    forged = json.loads(base64.urlsafe_b64decode(claims + "=="))
    forged["nats"]["pub"] = {"allow": [">"]}
    body = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
    for text, account, keys, reason in (
        (jwt, other.account_jwt, trusted, "jwt-chain"),
        (jwt, operator.account_jwt, [other.key.public_key.decode()], "jwt-chain"),
        (jwt, None, trusted, "jwt-chain"),
        (f"{header}.{body}.{signature}", operator.account_jwt, trusted, "jwt-signature"),
        (operator.account_jwt, None, (), "jwt-kind"),
        (operator.jwt, None, (), "jwt-kind"),
        (jwt, jwt, trusted, "jwt-kind"),
    ):
        with pytest.raises(PermissionsError) as caught:
            _load(tmp_path, text, account_jwt=account, trusted=keys)
        assert caught.value.reason == reason


BAD_CLAIMS = [
    {"pub": {"allow": ["a..b"]}},
    {"pub": {"allow": ["a q"]}},
    {"pub": {"allow": [""]}},
    {"sub": {"allow": ["a b c"]}},
    {"sub": {"allow": ["a  q"]}},
    {"sub": {"allow": [" a"]}},
    {"sub": {"allow": ["a "]}},
    {"sub": {"allow": ["a q."]}},
    {"sub": {"allow": ["a q..r"]}},
    {"sub": {"deny": ["a."]}},
    {"sub": {"deny": [".a"]}},
]


def test_tokens_that_cannot_log_in_are_refused(tmp_path):
    operator = Operator({"template": {"pub": {"allow": ["a"]}}})
    rows = [(operator.user(claims), {}) for claims in BAD_CLAIMS]
    scoped = operator.user({"pub": {"allow": ["a"]}}, scoped=True)
    rows.append((scoped, {"account_jwt": operator.account_jwt}))
    with serving(tmp_path / "server", operator.config) as url:
        for (jwt, seed), options in rows:
            with pytest.raises(PermissionsError):
                _load(tmp_path, jwt, **options)
            with pytest.raises(ConnectionError):
                RawClient(url, **connecting(jwt, seed))
        jwt, seed = operator.user({"sub": {"allow": ["a\tq"]}})
        RawClient(url, **connecting(jwt, seed)).close()
        assert _load(tmp_path, jwt).subscribe_allow == ("a q",)


@pytest.mark.parametrize("text", ["a.b.c", "e30.e30.e30", "eyJ0.e30.x", f"{'e30.' * 2}"])
def test_broken_tokens(text, tmp_path):
    with pytest.raises(PermissionsError):
        _load(tmp_path, text)


def test_the_broker_enforces_signed_creds(tmp_path):
    rng = random.Random(31)
    operator = Operator()
    account = operator.account.seed.decode()
    sets = [
        Permissions(),
        Permissions(publish_allow=(), subscribe_allow=()),
        Permissions(publish_allow=(), allow_responses=ResponseLimit(2, 5.0)),
        Permissions(allow_responses=ResponseLimit(-1, -1)),
        Permissions(publish_allow=["a"], publish_deny=["b"], subscribe_deny=["a.b q"]),
    ]
    for _ in range(15):
        some = [".".join(rng.choices("ab*", k=rng.randint(1, 2))) for _ in range(4)]
        sets.append(Permissions(publish_allow=some[:2], subscribe_allow=[some[2], f"{some[3]} q"]))
    with serving(tmp_path / "server", operator.config) as url:
        for permissions in sets:
            creds = sign(permissions, account, name="user", expires=3600)
            path = tmp_path / "user.creds"
            write(creds, path)
            assert Permissions.load(path) == permissions
            _compared(url, connecting(creds.jwt, creds.seed), permissions, permissions)
        creds = sign(Permissions(), account, name="user", expires=-10)
        with pytest.raises(ConnectionError):
            RawClient(url, **connecting(creds.jwt, creds.seed))


@pytest.mark.requirement("T16")
def test_only_the_owner_may_read_creds(tmp_path):
    creds = sign(Permissions(), Operator().account.seed.decode(), name="user")
    path = tmp_path / "user.creds"
    before = os.umask(0)
    try:
        write(creds, path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text().count("END USER NKEY SEED------\n") == 1
    for secret in (creds.seed, creds.jwt):
        assert secret not in repr(creds)
        assert secret not in str(creds)
    path.chmod(0o640)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert caught.value.reason == "creds-mode"
    path.chmod(0o600)
    (tmp_path / "inner").mkdir()
    link = tmp_path / "inner" / "linked.creds"
    link.symlink_to(path)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(link)
    assert caught.value.reason == "creds-link"
    path.write_text(path.read_text() * 2)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert caught.value.reason == "creds-blocks"
    assert creds.seed not in str(caught.value)


def test_creds_with_other_dashes_and_line_ends(tmp_path):
    creds = sign(Permissions(publish_allow=["a"]), Operator().account.seed.decode(), name="u")
    path = tmp_path / "user.creds"
    write(creds, path)
    path.write_bytes(creds.text.replace("------", "---").replace("\n", "\r\n").encode())
    assert Permissions.load(path).publish_allow == ("a",)


@pytest.mark.requirement("T17")
def test_only_an_accounts_seed_signs():
    operator = Operator()
    user = operator.user({})[1]
    account = operator.account.seed.decode()
    wrong = [operator.key.seed.decode(), user, operator.account.public_key.decode(), "", "SA"]
    wrong += [account[:-1] + ("A" if account[-1] != "A" else "B"), account[:30], "SA" + "!" * 56]
    for seed in wrong:
        with pytest.raises(PermissionsError) as caught:
            sign(Permissions(), seed, name="user")
        assert caught.value.reason in ("seed-kind", "seed")
        assert not seed or len(seed) < 5 or seed not in str(caught.value)
    with pytest.raises(PermissionsError):
        sign(Permissions(), account, name="user", user_seed=account)
    kept = sign(Permissions(), account, name="user", user_seed=user)
    assert kept.seed == user


@pytest.mark.requirement("A37")
def test_a_jwt_beyond_the_control_line_is_refused():
    many = Permissions(publish_allow=[f"plane.safe.443.me.host{n}.*.GET.path" for n in range(90)])
    with pytest.raises(PermissionsError) as caught:
        sign(many, Operator().account.seed.decode(), name="user")
    assert caught.value.reason == "jwt-size"
    assert "size" in [each.rule for each in many.lint()]


@pytest.mark.requirement("A37")
@pytest.mark.parametrize("count", [0, 5, 30, 60])
def test_the_size_in_lint_is_that_of_connect(count):
    rules = Permissions(publish_allow=[f"p.safe.443.me.h{n}.*.GET.path" for n in range(count)])
    creds = sign(rules, Operator().account.seed.decode(), name="orders.shop.example")
    assert 0 <= jwt_size(rules) - (len(creds.jwt) + 288) < 64


@pytest.mark.requirement("T16")
def test_the_search_for_secrets_finds_one():
    seed = Operator().account.seed.decode()
    assert seed in SECRETS
    assert leaked(f"the seed {seed} was refused") == [seed]
    assert leaked("SU" + "A" * 56) == ["SU" + "A" * 56]
    assert not leaked("SA… was refused")


def odd(rng: random.Random, depth: int = 0):
    """Anything JSON can hold, mostly shaped as claims are."""
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind < 6:
        return rng.choice(
            [None, True, 0, -1, 2**70, 1.5, "", "a.>", "a q", "\ud800", "{{name()}}", "UA", []]
        )
    if kind == 6:
        return [odd(rng, depth + 1) for _ in range(rng.randrange(3))]
    names = ["pub", "sub", "allow", "deny", "resp", "max", "ttl", "key", "template", "nats", "PUB"]
    return {rng.choice(names): odd(rng, depth + 1) for _ in range(rng.randrange(4))}


def test_claims_of_any_shape_are_read_or_refused(tmp_path):
    rng = random.Random(41)
    operator = Operator()
    read = refused = 0
    for _ in range(400):
        nats = {name: odd(rng) for name in ("pub", "sub", "resp") if rng.random() < 0.5}
        jwt, _ = operator.user(nats)
        extra = {name: odd(rng) for name in ("signing_keys", "default_permissions")}
        account = Operator(extra).account_jwt if rng.random() < 0.2 else None
        try:
            _load(tmp_path, jwt, account_jwt=account)
            read += 1
        except PermissionsError:
            refused += 1
    assert read > 30
    assert refused > 100


def test_duplicate_claims_or_another_case_are_refused(tmp_path):
    """The broker takes names in any case, so a list could hide behind another."""
    operator = Operator()
    for nats in ({"PUB": {"allow": [">"]}}, {"pub": {"Allow": [">"]}}):
        with pytest.raises(PermissionsError) as caught:
            _load(tmp_path, operator.user({"pub": {"allow": ["a"]}, **nats})[0])
        assert caught.value.reason == "jwt"


def test_a_user_of_a_plain_signing_key_belongs_to_the_account(tmp_path):
    """Signed by a key the account lists without a scope: its own lists count, else the defaults."""
    operator = Operator()
    key = operator.signer.public_key.decode()
    defaults = {"pub": {"allow": ["d"]}, "sub": {"allow": ["d"]}}
    listed = operator.account_token({"signing_keys": [key], "default_permissions": defaults})
    trusted = [operator.key.public_key.decode()]
    own, _ = operator.user({"pub": {"allow": ["a"]}}, scoped=True)
    silent, _ = operator.user({}, scoped=True)
    known = {"account_jwt": listed, "trusted": trusted}
    assert _load(tmp_path, own, **known).publish_allow == ("a",)
    assert _load(tmp_path, silent, **known).publish_allow == ("d",)
    with pytest.raises(PermissionsError) as caught:
        _load(tmp_path, own, account_jwt=operator.account_jwt, trusted=trusted)
    assert caught.value.reason == "jwt-chain"


def test_a_duplicate_list_is_refused(tmp_path):
    jwt, _ = Operator().user({"pub": {"allow": ["a"]}})
    header, claims, signature = jwt.split(".")
    text = base64.urlsafe_b64decode(claims + "==").decode()
    twice = text.replace('"pub":', '"pub": {"allow": [">"]}, "pub":')
    claims = base64.urlsafe_b64encode(twice.encode()).decode().rstrip("=")
    with pytest.raises(PermissionsError) as caught:
        _load(tmp_path, f"{header}.{claims}.{signature}")
    assert caught.value.reason == "jwt"
