"""Formats of NATS and Microbus: durations, path arguments, nkeys, creds and secret files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest

from subtrie import PermissionsError, SubtrieError
from subtrie._core.duration import format_duration, parse_duration, readable_duration
from subtrie._core.file_errors import MAX_MISTAKES, Mistakes, file_error, other_mistakes
from subtrie._nats.creds_file import format_creds, is_creds, jwt_in_creds
from subtrie._nats.jwt import (
    MAX_JWT,
    Validity,
    account_claims,
    claims_of,
    is_revoked,
    kind_of_token,
    operator_claims,
    permission_claims,
    signing_keys,
    unpadded_base64,
    user_claims,
    utc_text,
    validity_of,
    validity_of_token,
)
from subtrie._nats.nkey import (
    ACCOUNT_KEY,
    CURVE_KEY,
    OPERATOR_KEY,
    USER_KEY,
    check_secret_file,
    fresh_seed,
    holds_seed,
    is_public_key,
    key_pair,
    seed_in,
    seed_of,
)
from subtrie._nats.path_template import path_argument
from subtrie._nats.secret_file import secret_file_fault

#: Nanoseconds and the text of Go's ``Duration.String``.
WRITTEN = [
    (0, "0s"), (1, "1ns"), (1_500, "1.5µs"), (2_000_000, "2ms"), (19_999_000_000, "19.999s"),
    (60_000_000_000, "1m0s"), (90_000_000_000, "1m30s"), (3_600_000_000_000, "1h0m0s"),
    (5_430_500_000_000, "1h30m30.5s"), (-90_000_000_000, "-1m30s"),
]  # fmt: skip


@pytest.mark.parametrize(("nanoseconds", "text"), WRITTEN)
def test_a_duration_is_written_as_go_writes_it_and_read_back(nanoseconds, text):
    assert format_duration(nanoseconds) == text
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        (f"{2**63 - 1}ns", 2**63 - 1), (f"{2**63}ns", None), (f"-{2**63 - 1}ns", 1 - 2**63),
        (f"-{2**63}ns", -(2**63)), (f"-{2**63 + 1}ns", None),
        ("0" * 998 + "1s", 10**9), ("0" * 999 + "1s", None),
        ("+0", 0), ("-0", 0), ("0", 0), ("00", None), ("1", None), ("1.s", 10**9),
        (".5s", 5 * 10**8), (".s", None), ("1h1h", 7200 * 10**9), ("1.9ns", 1), ("1us", 1000),
        ("1µs", 1000), ("1μs", 1000), ("1 s", None), ("1S", None), ("- 1s", None), ("", None),
    ],
)  # fmt: skip
def test_a_duration_is_read_up_to_the_limits_of_go(text, nanoseconds):
    """Bug: the least duration of Go was none."""
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["999ns", "1µs", "999.999µs", "1ms", "999.999999ms", "1s",
                                  "59.999999999s", "1m0s", "59m59s", "1h0m0s", "1h0m0.5s",
                                  "-1.5µs", "0s"])  # fmt: skip
def test_a_duration_on_either_side_of_each_unit_is_written_with_it(text):
    nanoseconds = parse_duration(text)
    assert nanoseconds is not None
    assert format_duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(60, "1m"), (3600, "1h"), (3660, "1h1m"), (3601, "1h0m1s"), (90, "1m30s"), (0, "0s"),
     (-1, "any time"), (600, "10m"), (36000, "10h"), (1.5e-6, "1.5µs")],
)  # fmt: skip
def test_a_duration_is_shown_without_parts_that_are_zero(seconds, text):
    assert readable_duration(seconds) == text


@pytest.mark.parametrize("count", [0, 1, MAX_MISTAKES - 1, MAX_MISTAKES, MAX_MISTAKES + 5])
def test_the_first_mistakes_of_a_file_are_raised_together(count, tmp_path):
    found = Mistakes()

    def add_all():
        for line in range(1, count + 1):
            found.add(file_error("jwt", f"S{'U' * 30} x", tmp_path / "f", line))
        found.check()

    if not count:
        add_all()
        return
    with pytest.raises(SubtrieError) as caught:
        add_all()
    mistakes = [caught.value, *other_mistakes(caught.value)]
    assert [each.line for each in mistakes] == [*range(1, min(count, MAX_MISTAKES) + 1)]
    for each in mistakes:
        assert str(each).startswith(f"{tmp_path / 'f'}:{each.line}: ")
        assert each.file == str(tmp_path / "f")
        assert "[seed] x" in str(each)
        assert "UUU" not in str(each)
    alone = file_error("jwt", 7, tmp_path / "f")
    assert str(alone).startswith(f"{tmp_path / 'f'}: ")
    assert alone.line is None
    nowhere = file_error("jwt", 7)
    assert (nowhere.file, nowhere.line) == (None, None)
    assert str(nowhere) in str(alone)
    assert other_mistakes(nowhere) == ()


def test_mistakes_that_carry_others_are_together_no_more_than_are_kept(tmp_path):
    """As those of two files that a third one includes."""
    most = MAX_MISTAKES - 10
    found = Mistakes()
    for name in ("f", "g"):
        of_file = Mistakes()
        for line in range(1, most + 1):
            of_file.add(file_error("jwt", "x", tmp_path / name, line))
        with pytest.raises(SubtrieError) as caught:
            of_file.check()
        if name == "f":
            found.add(caught.value)
    with pytest.raises(SubtrieError) as raised:
        found.add(caught.value)
    mistakes = [raised.value, *other_mistakes(raised.value)]
    assert [each.line for each in mistakes] == [*range(1, most + 1), *range(1, 11)]


@pytest.mark.parametrize("kind", ["SO", "SA", "SU", "SN", "SC", "SX"])
def test_a_seed_of_any_kind_is_not_part_of_the_message_of_a_file(kind, tmp_path):
    seed = f"{kind}{'A' * 56}"
    error = file_error("jwt", f"{seed} x", tmp_path / "f", 1)
    assert "[seed] x" in str(error)
    assert seed[:20] not in str(error)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0), ("+5s", 5_000_000_000), (".5s", 500_000_000), ("1.s", 1_000_000_000),
        ("1s1s", 2_000_000_000), ("1us", 1_000), ("1μs", 1_000), ("1.0000000019s", 1_000_000_001),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)  # fmt: skip
def test_other_spellings_of_a_duration_are_read(text, nanoseconds):
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    ["", "5", "s", ".s", "1 s", "1d", "1S", "-", "1e3s", "9223372036854775808ns", "1" * 2000],
)
def test_other_texts_are_not_durations(text):
    assert parse_duration(text) is None


def test_a_part_of_a_path_is_an_argument_or_text():
    assert path_argument("{id}") == ("id", False)
    assert path_argument("{rest...}") == ("rest", True)
    assert path_argument("{}") == ("", False)
    assert path_argument("{...}") == ("", True)
    assert path_argument("items") is None
    assert path_argument("{id") is None


def test_the_kind_of_a_public_key_is_checked():
    nkeys = pytest.importorskip("nkeys")
    pair = nkeys.from_seed(nkeys.encode_seed(bytes(32), nkeys.PREFIX_BYTE_USER))
    key = pair.public_key.decode()
    assert is_public_key(key, USER_KEY)
    assert not is_public_key(key, ACCOUNT_KEY)
    assert not is_public_key(key[:-1] + ("A" if key[-1] != "A" else "B"), USER_KEY)
    assert not is_public_key("not base32!", USER_KEY)
    assert holds_seed(f"--key {pair.seed.decode()}")
    assert not holds_seed(key)


def test_a_creds_file_is_written_and_read():
    text = format_creds("a.b.c", "the seed")
    assert is_creds(text)
    assert jwt_in_creds(text) == "a.b.c"
    assert jwt_in_creds(text * 2) is None
    token, seed = text.split("\n\n", 1)
    assert jwt_in_creds(token) == "a.b.c"
    assert jwt_in_creds(f"{token}\n{seed}") == "a.b.c"
    assert jwt_in_creds(f"{token}\n{seed}{seed}") is None
    assert not is_creds("a.b.c")


@pytest.mark.requirement("A30")
@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_secret_file_is_judged_by_where_its_link_ends(tmp_path):
    mounted, data = tmp_path / "mounted", tmp_path / "mounted" / "..2026_01"
    data.mkdir(parents=True)
    secret = data / "nats.creds"
    secret.write_text("secret")
    secret.chmod(0o600)
    (mounted / "..data").symlink_to("..2026_01")
    link = mounted / "nats.creds"
    link.symlink_to("..data/nats.creds")  # as Kubernetes mounts a secret
    assert secret_file_fault(link) is None
    (tmp_path / "alias").symlink_to("mounted")
    assert secret_file_fault(tmp_path / "alias" / "nats.creds") is None
    secret.chmod(0o644)
    assert secret_file_fault(link) == "readable"
    assert secret_file_fault(link, allow_readable=True) is None
    outside = tmp_path / "outside"
    outside.write_text("secret")
    outside.chmod(0o600)
    link.unlink()
    link.symlink_to("../outside")
    assert secret_file_fault(link) == "link"
    assert secret_file_fault(link, allow_readable=True) == "link"
    with pytest.raises(PermissionsError) as caught:
        check_secret_file(link)
    assert caught.value.reason == "creds-link"


@pytest.mark.requirement("A30")
@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
def test_a_pipe_may_hold_a_secret(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o644)
    assert secret_file_fault(tmp_path / "pipe") is None


def test_a_token_is_good_in_its_first_and_its_last_second():
    validity = Validity(not_before=100, expires=200)
    faults = {now: validity.fault(now) for now in (99.9, 100, 200.9, 201)}
    assert faults == {99.9: "not-yet-valid", 100: None, 200.9: None, 201: "expired"}
    assert Validity().fault() is None


def test_two_tokens_are_good_while_both_are():
    both = Validity(100, None) & Validity(50, 200)
    assert both == Validity(100, 200)
    assert Validity() & Validity() == Validity()


def test_zero_sets_no_bound_on_a_token():
    assert validity_of({"exp": 0, "nbf": 0}) == Validity()
    assert validity_of({"exp": 5}) == Validity(None, 5)
    assert validity_of_token("not a token") is None


def test_a_moment_beyond_the_calendar_has_a_text():
    assert utc_text(0) == "1970-01-01 00:00:00 UTC"
    assert utc_text(2**62) == f"{2**62} seconds after 1970"


def jwt(claims, header=None, *, raw=None):
    """A token with these claims, not signed; ``raw`` in place of the JSON of its claims."""
    parts = [json.dumps({"typ": "JWT", "alg": "ed25519-nkey"} | (header or {})),
             json.dumps(claims) if raw is None else raw, "signature"]  # fmt: skip
    return ".".join(unpadded_base64(each.encode()).decode() for each in parts)


def claims(**more):
    return {"iss": "A", "sub": "U", "nats": {"type": "user", "version": 2}, **more}


NATS = {"type": "user", "version": 2}
#: Tokens that are not read, and the reason.
TOKENS = {
    "two-parts": (jwt(claims()).rpartition(".")[0], "jwt"),
    "four-parts": (jwt(claims()) + ".a", "jwt"),
    "characters": (jwt(claims()).replace(".", ".!", 1), "jwt"),
    "array": (jwt([]), "jwt"), "text": (jwt({}, raw="{"), "jwt"),
    "deep": (jwt({}, raw="[" * 100_000), "jwt"),
    "twice": (jwt({}, raw='{"iss": "A", "iss": "B"}'), "jwt"),
    "twice-in-case": (jwt({}, raw='{"other": 1, "Other": 2}'), "jwt"),
    "known-in-case": (jwt(claims(Iss="B")), "jwt"),
    "nats-in-case": (jwt({"iss": "A", "sub": "U", "Nats": NATS}), "jwt"),
    "allow-in-case": (jwt(claims(nats={**NATS, "pub": {"Allow": []}})), "jwt"),
    "typ": (jwt(claims(), {"typ": "JWS"}), "jwt-kind"),
    "alg": (jwt(claims(), {"alg": "none"}), "jwt-kind"),
    "no-nats": (jwt({"iss": "A", "sub": "U"}), "jwt-kind"),
    "nats-text": (jwt(claims(nats="user")), "jwt-kind"),
    "kind": (jwt(claims(nats={**NATS, "type": "account"})), "jwt-kind"),
    "version": (jwt(claims(nats={**NATS, "version": 1})), "jwt-kind"),
    "issuer": (jwt(claims(iss=7)), "jwt"), "subject": (jwt(claims(sub=None)), "jwt"),
    "issuer-account": (jwt(claims(nats={**NATS, "issuer_account": 7})), "jwt"),
    **{f"{name}-{value}": (jwt(claims(**{name: value})), "jwt")
       for name in ("exp", "nbf", "iat") for value in ("7", 7.5, True)},
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
def test_tokens_that_are_not_valid_are_refused_with_the_file(name):
    token, reason = TOKENS[name]
    with pytest.raises(PermissionsError, match=r"^u\.jwt: ") as caught:
        claims_of(token, Path("u.jwt"), "user")
    assert caught.value.reason == reason
    assert validity_of_token(token) is None


@pytest.mark.parametrize("token", [
    jwt(claims()), f"\n {jwt(claims())} \n", jwt(claims(), {"typ": "jwt"}), jwt(claims(Other=1)),
    jwt(claims(exp=None, nbf=0, iat=-5)), jwt(claims(nats={**NATS, "issuer_account": "A"})),
])  # fmt: skip
def test_tokens_much_like_those_are_read(token):
    assert claims_of(token, Path("u.jwt"), "user")["sub"] == "U"
    assert kind_of_token(token, Path("u.jwt")) == "user"


def test_a_token_of_so_many_bytes_is_read():
    token = jwt(claims(name="x" * (MAX_JWT * 3 // 4 - 200)))
    longest = token + "A" * (MAX_JWT - len(token))
    for read in (lambda t: claims_of(t, Path("u"), "user"), lambda t: kind_of_token(t, Path("u"))):
        assert read(longest)
        with pytest.raises(PermissionsError) as caught:
            read(longest + "A")
        assert caught.value.reason == "jwt"


def test_the_kind_of_a_token_may_be_missing():
    for nats in ({}, {"type": 7}, "user", None):
        assert kind_of_token(jwt(claims(nats=nats)), Path("u")) == ""
    for token in ("a.b", "a.b.c.d", "a.b.c"):
        with pytest.raises(PermissionsError):
            kind_of_token(token, Path("u"))


def test_signing_keys_have_a_scope_or_none():
    scope = {"key": "B", "template": {}}
    assert signing_keys({"signing_keys": ["A", scope]}, Path("a")) == {"A": None, "B": scope}
    assert signing_keys({}, Path("a")) == {}
    for wrong in ([7], [{}], [{"key": 7}], {}, "A"):
        with pytest.raises(PermissionsError, match="signing_keys"):
            signing_keys({"signing_keys": wrong}, Path("a"))


@pytest.mark.parametrize(("revoked", "issued", "expected"), [
    ({}, 5, False), ({"U": 5}, 5, True), ({"U": 5}, 6, False), ({"*": 5}, 5, True),
    ({"*": 5}, 6, False), ({"V": 9}, 5, False), ({"U": 1, "*": 9}, 5, True), ({"U": 0}, None, True),
    ({"U": 9, "*": 1}, 5, True), (None, 5, False),
])  # fmt: skip
def test_a_user_is_revoked_up_to_the_second(revoked, issued, expected):
    assert is_revoked(claims(iat=issued), {"nats": {"revocations": revoked}}, Path("a")) is expected
    for wrong in ({"V": "1"}, {"V": True}, [], "U"):
        with pytest.raises(PermissionsError, match="revocations"):
            is_revoked(claims(iat=5), {"nats": {"revocations": wrong}}, Path("a"))


@pytest.mark.parametrize(("publish", "subscribe", "response", "expected"), [
    ((["a"], []), (["b"], ["c"]), None,
     {"pub": {"allow": ["a"]}, "sub": {"allow": ["b"], "deny": ["c"]}}),
    (([], []), ([], ["c"]), None, {"pub": {"deny": [">"]}, "sub": {"deny": [">"]}}),
    (([">"], ["d"]), ([">"], []), (2, 1.5),
     {"pub": {"allow": [">"], "deny": ["d"]}, "sub": {"allow": [">"]},
      "resp": {"max": 2, "ttl": 1_500_000_000}}),
    (([], []), (["b"], []), (-1, -1), {"pub": {}, "sub": {"allow": ["b"]},
                                       "resp": {"max": -1, "ttl": -1_000_000_000}}),
])  # fmt: skip
def test_lists_are_written_as_claims(publish, subscribe, response, expected):
    assert permission_claims(publish, subscribe, response) == expected


def test_claims_that_are_written_have_an_id_and_an_end():
    user = user_claims({"pub": {}}, "name", "A", "U", 60.4, "B")
    assert user["exp"] - user["iat"] == 60
    assert user["nats"] == {"pub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user",
                            "version": 2, "issuer_account": "B"}  # fmt: skip
    digest = hashlib.new(
        "sha512_256",
        json.dumps({**user, "jti": ""}, separators=(",", ":"), ensure_ascii=False).encode(),
    ).digest()
    assert user["jti"] == base64.b32encode(digest).decode().rstrip("=")
    forever = user_claims({}, "name", "A", "U", None, None)
    assert "exp" not in forever
    assert "issuer_account" not in forever["nats"]
    assert (forever["iss"], forever["name"], forever["sub"]) == ("A", "name", "U")
    operator = operator_claims("op", "O")
    assert (operator["iss"], operator["sub"], operator["nats"]) == (
        "O", "O", {"type": "operator", "version": 2},
    )  # fmt: skip
    account = account_claims("acc", "O", "A")["nats"]
    unlimited = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
    assert account["limits"] == {**dict.fromkeys(unlimited, -1), "wildcards": True}
    assert account["type"] == "account"


@pytest.mark.parametrize(("kind", "prefix"), [("SO", OPERATOR_KEY), ("SA", ACCOUNT_KEY),
                                              ("SU", USER_KEY)])  # fmt: skip
def test_a_fresh_seed_is_one_of_its_kind(kind, prefix):
    seed = fresh_seed(kind)
    public = key_pair(f" {seed}\n", kind).public_key.decode()
    for other in (OPERATOR_KEY, ACCOUNT_KEY, USER_KEY, CURVE_KEY):
        assert is_public_key(public, other) is (other == prefix)
    assert not is_public_key(public[:-8], prefix)
    assert fresh_seed(kind) != seed
    with pytest.raises(PermissionsError) as caught:
        key_pair(seed[:-1] + ("A" if seed[-1] != "A" else "B"), kind)
    assert (caught.value.reason, seed[5:20] in str(caught.value)) == ("seed", False)


@pytest.mark.parametrize(("given", "named"), [
    ("SA", "an account seed in place of a user seed"), ("SO", "an operator seed"),
    ("SN", "a server seed"), ("SC", "a cluster seed"), ("SX", "a curve seed"),
    ("U", "something else"), ("", "something else"),
])  # fmt: skip
def test_a_seed_of_another_kind_is_named_by_its_kind(given, named):
    with pytest.raises(PermissionsError, match=named) as caught:
        key_pair(f"{given}AAAA", "SU")
    assert caught.value.reason == "seed-kind"
    with pytest.raises(TypeError, match="not bytes"):
        key_pair(b"SUAAAA", "SU")


def test_a_file_holds_one_seed(tmp_path):
    seed = fresh_seed()
    path = tmp_path / "user.nk"
    for text in (seed, f"-----\n  {seed} \r\n-----\n", f"# one\n{seed}\n"):
        assert seed_of(text.encode()) == seed
        path.write_text(text)
        path.chmod(0o600)
        assert seed_in(path) == seed
    for text, count in (("", 0), (f"{seed}\n{seed}\n", 2), (f"a {seed}", 0), (seed[:21], 0)):
        with pytest.raises(PermissionsError, match=f"{count} seeds") as caught:
            seed_of(text.encode(), path)
        assert (caught.value.reason, caught.value.file) == ("seed", str(path))
    path.chmod(0o640)
    with pytest.raises(PermissionsError) as caught:
        seed_in(path)
    assert caught.value.reason == "creds-mode"
