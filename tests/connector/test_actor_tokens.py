"""Actor tokens: who signed them, until when, and where their keys come from."""

from __future__ import annotations

import asyncio
import base64
import builtins
import json
import sys

import nacl.signing
import pytest

from subtrie._core import control_headers
from subtrie.connector import AckTimeout, HTTPError, _actor
from subtrie.connector._actor import ISSUERS, ActorVerifier
from subtrie.connector._claims import Claims
from subtrie.testing import actor_token

ACCESS, BEARER = ISSUERS
NOW = 1_800_000_000


def encoded(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class TokenService:
    """A token service of a test: its keys, and the requests for them."""

    def __init__(self, host=ACCESS):
        self.host, self.keys, self.asked, self.answered_by = host, {}, [], None

    def add(self, key_id):
        self.keys[key_id] = nacl.signing.SigningKey.generate()

    def sign(self, key_id="k1", header=None, **claims):
        header = {"alg": "EdDSA", "typ": "JWT", "kid": key_id} | (header or {})
        signed = f"{encoded(header)}.{encoded({'iss': f'https://{self.host}', **claims})}"
        return f"{signed}.{encoded(self.keys[key_id].sign(signed.encode()).signature)}"

    def jwks(self):
        return {
            "keys": [
                {"kty": "OKP", "crv": "Ed25519", "kid": i, "x": encoded(bytes(key.verify_key))}
                for i, key in self.keys.items()
            ]
        }

    async def fetch(self, url, timeout):
        self.asked.append(url)
        await asyncio.sleep(0)
        return self.answered_by or url.split("/")[2].partition(":")[0], self.jwks()


@pytest.fixture
def service():
    made = TokenService()
    made.add("k1")
    return made


def verifier(service, **options):
    options = {"allow_unsigned": lambda: False, "clock": lambda: NOW, **options}
    return ActorVerifier(service.fetch, **options)


async def status_of(verifier, token, requires=None):
    try:
        return await verifier.check(token, Claims(requires) if requires else None)
    except HTTPError as error:
        return error.status


async def test_a_signed_token_gives_its_claims(service):
    checks = verifier(service)
    for _ in range(3):
        assert (await status_of(checks, service.sign(sub="ann")))["sub"] == "ann"
    assert service.asked == ["https://access.token.core:888/jwks"]


async def test_the_issuer_chooses_between_two_hosts_and_routes_to_no_other():
    for issuer, asked in (
        ("https://bearer.token.core", ["https://bearer.token.core:888/jwks"]),
        ("bearer.token.core", ["https://bearer.token.core:888/jwks"]),
        ("https://evil.example", []),
        ("https://access.token.core.evil.example", []),
        ("https://access.token.core:888", []),
        ("https://access.token.core/x", []),
        ("", []),
        (7, []),
    ):
        service = TokenService(BEARER)
        service.add("k1")
        token = service.sign(iss=issuer)
        result = await status_of(verifier(service), token)
        assert service.asked == asked
        assert isinstance(result, dict) if asked else result == 401


async def test_keys_that_another_host_sends_are_not_used(service):
    service.answered_by = "evil.example"
    assert await status_of(verifier(service), service.sign()) == 401


@pytest.mark.requirement("A76")
@pytest.mark.parametrize(("issuer", "other"), [(ACCESS, BEARER), (BEARER, ACCESS)])
async def test_keys_that_the_other_issuer_sends_are_not_used(service, issuer, other):
    service.answered_by = other
    assert await status_of(verifier(service), service.sign(iss=issuer)) == 401


@pytest.mark.requirement("A76")
async def test_keys_of_one_issuer_do_not_verify_tokens_of_the_other(service):
    checks = verifier(service)
    assert await status_of(checks, service.sign()) != 401
    service.jwks = lambda: {"keys": []}
    assert await status_of(checks, service.sign(iss="https://bearer.token.core")) == 401


@pytest.mark.requirement("A76")
async def test_a_forged_token_is_refused(service):
    other = TokenService()
    other.add("k1")
    good = service.sign(sub="ann", roles=["user"])
    head, _, signature = good.split(".")
    changed = f"{head}.{encoded({'iss': 'https://access.token.core', 'roles': ['admin']})}"
    for token in (
        other.sign(sub="ann"),
        f"{changed}.{signature}",
        good[:-4] + "AAAA",
        good.rpartition(".")[0] + ".",
        good + "A",
        good + ".x",
        good + " ",
        "garbage",
        "a.b.c",
        "." * 3,
        f"{encoded([1])}.{encoded({})}.x",
        f"{encoded(b'[' * 9000)}.{encoded({})}.x",
        "A" * 20_000,
    ):
        assert await status_of(verifier(service), token) == 401


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "ES256"},
        {"alg": "eddsa"},
        {"alg": None},
        {"kid": ""},
        {"kid": 7},
        {"kid": "other"},
        {"crit": ["x"]},
    ],
)
async def test_only_ed25519_with_a_known_key_counts(service, header):
    assert await status_of(verifier(service), service.sign(header=header)) == 401


async def test_an_actor_token_counts_in_tests_alone(service):
    token = actor_token({"sub": "ann", "iss": "https://anyone.example"})
    assert await status_of(verifier(service), token) == 401
    testing = verifier(service, allow_unsigned=lambda: True)
    assert (await status_of(testing, token))["sub"] == "ann"
    assert await status_of(testing, token + "AAAA") == 401
    assert await status_of(testing, actor_token({"exp": NOW - 1})) == 401


@pytest.mark.parametrize(
    ("claims", "accepted"),
    [
        ({"exp": NOW + 1}, True),
        ({"exp": NOW}, False),
        ({"exp": NOW - 1}, False),
        ({"exp": NOW + 0.5}, True),
        ({"exp": 0}, True),
        ({"exp": None}, True),
        ({"exp": "tomorrow"}, False),
        ({"exp": True}, False),
        ({"nbf": NOW}, True),
        ({"nbf": NOW + 1}, False),
        ({"nbf": [NOW]}, False),
    ],
)
async def test_the_time_of_a_token_is_checked(service, claims, accepted):
    result = await status_of(verifier(service), service.sign(**claims))
    assert isinstance(result, dict) if accepted else result == 401


async def test_a_token_that_was_accepted_expires(service):
    now = [NOW]
    checks = verifier(service, clock=lambda: now[0])
    token = service.sign(exp=NOW + 10)
    assert await status_of(checks, token) != 401
    now[0] += 10
    assert await status_of(checks, token) == 401


async def test_an_unknown_key_makes_the_keys_be_requested_once(service):
    checks = verifier(service)
    assert await status_of(checks, service.sign()) != 401
    service.add("k2")
    checks._fetched[ACCESS] -= 2.0  # the last request was two seconds ago
    tokens = [service.sign("k2", n=n) for n in range(20)]
    assert 401 not in await asyncio.gather(*(status_of(checks, token) for token in tokens))
    assert len(service.asked) == 2
    for n in range(50):
        assert await status_of(checks, service.sign(header={"kid": f"unknown{n}"})) == 401
    assert len(service.asked) == 2


async def test_a_key_that_is_published_no_more_ends_its_tokens(service):
    checks = verifier(service)
    token = service.sign()
    assert await status_of(checks, token) != 401
    del service.keys["k1"]
    service.add("k2")
    checks._fetched[ACCESS] -= 2.0
    assert await status_of(checks, service.sign("k2")) != 401
    checks._fetched[ACCESS] -= 2.0
    assert await status_of(checks, token) == 401


@pytest.mark.parametrize(
    "jwks",
    [None, [], {}, {"keys": 7}, {"keys": [7, {}, {"kid": "k1"}, {"kid": "k1", "x": "AA"}]}],
)
async def test_keys_that_cannot_be_read_accept_nothing(service, jwks):
    service.jwks = lambda: jwks
    assert await status_of(verifier(service), service.sign()) == 401


async def test_no_token_service_is_a_401(service):
    async def fetch(url, timeout):
        raise HTTPError("ack timeout", status=404)

    assert (
        await status_of(ActorVerifier(fetch, allow_unsigned=lambda: False), service.sign()) == 401
    )


async def test_a_late_acknowledgement_of_the_token_service_refuses_no_valid_token(service):
    tries = []

    async def fetch(url, timeout):
        tries.append(url)
        if len(tries) == 1:  # on a busy machine the acknowledgement of one request may be late
            raise AckTimeout
        return await service.fetch(url, timeout)

    checks = ActorVerifier(fetch, allow_unsigned=lambda: False, clock=lambda: NOW)
    assert (await checks.check(service.sign(sub="ann"), None))["sub"] == "ann"
    assert len(tries) == 2


async def test_a_token_service_that_is_down_is_asked_twice_at_most(service):
    tries = []

    async def fetch(url, timeout):
        tries.append(url)
        raise AckTimeout

    checks = ActorVerifier(fetch, allow_unsigned=lambda: False, clock=lambda: NOW)
    assert await status_of(checks, service.sign()) == 401
    assert len(tries) == 2


@pytest.mark.requirement("A76")
async def test_required_claims(service):
    checks = verifier(service)
    assert await status_of(checks, "") is None
    assert await status_of(checks, "", "true") == 401
    token = service.sign(roles=["admin"])
    assert await status_of(checks, token, "roles.user") == 403
    assert await status_of(checks, token, "roles.user || roles.admin") != 403


async def test_a_handler_that_changes_its_claims_changes_no_others(service):
    checks, token = verifier(service), service.sign(roles=["user"])
    (await checks.check(token, None))["roles"].append("admin")
    assert await status_of(checks, token, "roles.admin") == 403
    assert (await checks.check(token, None))["roles"] == ["user"]


async def test_without_pynacl_a_token_is_a_401_with_a_hint(service, monkeypatch, caplog):
    imports = builtins.__import__

    def refuse(name, *arguments, **named):
        if name.startswith("nacl"):
            raise ImportError(name)
        return imports(name, *arguments, **named)

    checks, token = verifier(service), service.sign()
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(HTTPError, match="its log says why") as caught:
        await checks.check(token, None)
    assert caught.value.status == 401
    assert "actor tokens need PyNaCl: pip install" in caplog.text


@pytest.mark.requirement("A76")
async def test_claims_never_say_who_sends(make):
    """The token names an end user; the source is that of the subject whatever the token says."""
    shop, web, seen = make("shop.example"), make("web.example"), []
    shop.endpoint("GET", "/who")(
        lambda request: seen.append((request.source, request.actor["sub"], request.actor["host"]))
    )
    token = actor_token({"sub": "victim.example", "host": "victim.example"})
    async with shop, web:
        headers = {control_headers.ACTOR: token, control_headers.FROM_HOST: "victim.example"}
        await web.request("GET", "https://shop.example/who", headers=headers)
    assert seen == [("web.example", "victim.example", "victim.example")]


async def test_the_signatures_of_the_latest_tokens_are_not_checked_again(service, monkeypatch):
    monkeypatch.setattr(_actor, "_REMEMBERED", 2)
    checks, tokens = verifier(service), [service.sign(sub=name) for name in ("ann", "bob", "eve")]
    for token in tokens:
        assert await status_of(checks, token) != 401
    monkeypatch.setitem(sys.modules, "nacl.signing", None)  # it cannot be imported any more
    assert await status_of(checks, tokens[0]) == 401, "forgotten"
    assert [(await status_of(checks, each))["sub"] for each in tokens[1:]] == ["bob", "eve"]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: f"{x[:20]}\r\n{x[20:]}",
        lambda x: f"+/{x[2:]}",
        lambda x: f"{x}A",
        lambda x: x[:-1],
        lambda x: f"é{x[1:]}",
    ],
    ids=["lines", "alphabet", "long", "short", "not-ascii"],
)
async def test_a_key_is_43_characters_of_base64url(service, change):
    jwks = service.jwks()
    for padding in ("", "="):
        service.jwks = lambda padding=padding: {
            "keys": [each | {"x": each["x"] + padding} for each in jwks["keys"]]
        }
        assert await status_of(verifier(service), service.sign()) != 401
    service.jwks = lambda: {"keys": [each | {"x": change(each["x"])} for each in jwks["keys"]]}
    token = service.sign()
    checks = verifier(service)
    assert await status_of(checks, token) == 401
    assert checks._keys[ACCESS] == {}


async def test_the_claims_of_a_token_without_a_valid_signature_are_not_unfolded(
    service, monkeypatch
):
    unfolded, flattened = [], _actor.flattened
    monkeypatch.setattr(_actor, "flattened", lambda c: (unfolded.append(1), flattened(c))[1])
    checks = verifier(service)
    nested: dict[str, object] = {}
    for _ in range(400):
        nested = {"a": nested}
    token = service.sign(claims=nested)
    head, payload, _ = token.split(".")
    forged = f"{head}.{payload}.{encoded(bytes(64))}"
    for each in (forged, f"{head}.{payload}."):
        assert await status_of(checks, each) == 401
    assert not unfolded
    assert (await status_of(checks, token))["claims"] == nested
    assert unfolded


@pytest.mark.parametrize(
    ("issuer", "issued"),
    [(f"https://{ACCESS}", True), (BEARER, True), ("https://idp.example", False), ("", False),
     (f"{ACCESS}.evil.example", False), ([ACCESS], False), (7, False), (None, False)],
)  # fmt: skip
def test_a_token_that_names_another_issuer_is_none_of_the_two_services(service, issuer, issued):
    checks = verifier(service)
    assert checks.issued(service.sign(iss=issuer)) is issued
    unsigned = f"{encoded({'alg': 'none'})}.{encoded({'iss': issuer})}."
    assert checks.issued(unsigned) is issued
    assert verifier(service, allow_unsigned=lambda: True).issued(unsigned)
    assert not checks.issued("not.a" + "." + "token!")


async def test_a_token_of_exactly_16384_characters_is_read(service):
    checks = verifier(service, allow_unsigned=lambda: True)
    empty = len(f"{encoded({'alg': 'none'})}.{encoded({'iss': BEARER, 'n': ''})}.")
    for room in range(16_384 - empty, 0, -1):
        token = (
            f"{encoded({'alg': 'none'})}.{encoded({'iss': BEARER, 'n': 'x' * (room * 3 // 4)})}."
        )
        if len(token) <= 16_384:
            break
    assert len(token) == 16_384
    longer = token.replace(".", "A.", 1)
    assert checks.issued(token)
    assert (await checks.check(token, None))["iss"] == BEARER
    assert not checks.issued(longer)


@pytest.mark.parametrize(
    ("claims", "valid"),
    [({"exp": NOW + 1}, True), ({"exp": NOW}, False), ({"nbf": NOW}, True),
     ({"nbf": NOW + 1}, False), ({"exp": NOW + 1, "nbf": NOW}, True)],
)  # fmt: skip
async def test_a_token_is_valid_from_its_first_second_and_before_its_last(service, claims, valid):
    assert (await status_of(verifier(service), service.sign(**claims)) != 401) is valid
