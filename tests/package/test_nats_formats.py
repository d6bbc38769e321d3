"""Formats of NATS and Microbus: durations, path arguments, nkeys, creds and secret files."""

from __future__ import annotations

import os

import pytest

from subtrie import PermissionsError
from subtrie._core.duration import format_duration, parse_duration
from subtrie._nats.creds_file import format_creds, is_creds, jwt_in_creds
from subtrie._nats.jwt import Validity, utc_text, validity_of, validity_of_token
from subtrie._nats.nkey import ACCOUNT_KEY, USER_KEY, check_secret_file, holds_seed, is_public_key
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
