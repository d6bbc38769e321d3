"""The size of a JWT: exact before signing, and compared with the limit of a broker."""

from __future__ import annotations

import csv

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from operators import Operator, connecting
from raw_client import RawClient
from source_trees import HEAD

from servers import serving
from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie._cli.nsc import nsc_entry
from subtrie.acl import Permissions
from subtrie.gencreds import plan, sign, write_all
from subtrie.gencreds._size import Plan, jwt_limit

OPERATOR = Operator()
SEED = OPERATOR.account.seed.decode()
TOKENS = st.text("abcxyz%*0", min_size=1, max_size=30).filter(lambda text: "**" not in text)
RULES = st.lists(TOKENS.map(lambda text: f"p.{text}.>"), min_size=0, max_size=20)


@settings(max_examples=60)
@given(RULES, RULES, st.one_of(st.none(), st.integers(1, 10**9)), st.text("ab.", max_size=9))
def test_a_plan_is_the_size_of_the_jwt(publish, subscribe, expires, name):
    permissions = Permissions(publish_allow=publish, subscribe_allow=subscribe)
    planned = plan(permissions, name=name, expires=expires)
    assert planned.size == len(sign(permissions, SEED, name=name, expires=expires).jwt)
    assert len(planned.costliest) == min(5, len(publish) + len(subscribe))
    costs = [cost for *_, cost in planned.costliest]
    assert costs == sorted(costs, reverse=True)


def _of_size(name: str, bytes_left: int) -> Permissions:
    """Rules with which the JWT has just so many bytes left, to the few bytes of base64."""
    for length in range(1, 4000):
        permissions = Permissions(publish_allow=["p." + "x" * length], subscribe_allow=["p.>"])
        planned = plan(permissions, name=name)
        if planned.limit - planned.size <= bytes_left:
            return permissions
    raise AssertionError("no such size")


@pytest.mark.requirement("A37")
@pytest.mark.parametrize("name", ["a", "orders.shop", "x" * 200, 'é"' * 20])
def test_the_largest_that_fits_connects_and_one_more_is_refused(tmp_path, name):
    """With all that a client of nats-py says besides."""
    largest = _of_size(name, 1)
    creds = sign(largest, SEED, name=name)
    assert jwt_limit(name) - len(creds.jwt) in (0, 1)
    said = {
        "lang": "python3", "version": "2.15.0", "protocol": 1, "name": name, "no_responders": True,
        "tls_required": False,
    }  # fmt: skip
    with serving(tmp_path / "server", OPERATOR.config) as url:
        client = RawClient(url, **said, **connecting(creds.jwt, creds.seed))
        client.publish("p.other")
        client.flush()
        assert client.refused == [("Publish", "p.other", None)]
        client.close()
    with pytest.raises(PermissionsError) as caught:
        sign(_of_size(name, -1), SEED, name=name)
    assert caught.value.reason == "jwt-size"


def test_the_costliest_rules_are_named():
    rules = [f"p.safe.443.orders_shop.stock_shop.*.GET.items.{n}{'y' * n}" for n in range(60)]
    permissions = Permissions(publish_allow=rules, subscribe_allow=["p.>"])
    planned = plan(permissions, name="orders.shop")
    assert not planned.fits
    assert [rule for _, rule, _ in planned.costliest] == rules[:-6:-1]
    with pytest.raises(PermissionsError) as caught:
        sign(permissions, SEED, name="orders.shop")
    message = str(caught.value)
    assert message.count("\n") == 0
    assert f"{planned.size:,} of 3,795 bytes" in message
    for _, rule, cost in planned.costliest:
        assert f"{rule} ({cost} bytes)" in message


def test_a_token_of_just_the_limit_fits_and_of_equal_rules_the_first_by_verb_are_named():
    assert [Plan(size, 10, ()).fits for size in (9, 10, 11)] == [True, True, False]
    permissions = Permissions(publish_allow=["q.b", "q.a"], subscribe_allow=["p.c", "p.d"])
    told = [(verb, rule) for verb, rule, _ in plan(permissions, name="a").costliest]
    assert told == [
        ("publish", "q.a"),
        ("publish", "q.b"),
        ("subscribe", "p.c"),
        ("subscribe", "p.d"),
    ]


def test_the_bytes_of_a_rule_are_those_that_the_token_loses_without_it():
    rules = [f"p.{'y' * n}" for n in range(1, 40)]
    whole = plan(Permissions(publish_allow=rules, subscribe_allow=()), name="a").size
    for n in (0, 7, 38):
        left = Permissions(publish_allow=rules[:n] + rules[n + 1 :], subscribe_allow=())
        one = Permissions(publish_allow=[rules[n]], subscribe_allow=())
        ((_, _, cost),) = plan(one, name="a").costliest
        assert abs(whole - plan(left, name="a").size - cost) <= 1


def test_files_are_written_whole_and_what_a_killed_run_left_goes(tmp_path):
    """A link is replaced, not followed; a folder is refused, and then no file changes."""
    left, other = tmp_path / ".a.creds.0.subtrie-part", tmp_path / ".a.part"
    for each in (left, other, tmp_path / "target"):
        each.write_text("before")
    (tmp_path / "folder").mkdir()
    for name, leads in (("link", "target"), ("to-folder", "folder"), ("broken", "nothing")):
        (tmp_path / name).symlink_to(tmp_path / leads)
    names = ["a.creds", "link", "to-folder", "broken"]
    write_all([(name, tmp_path / name) for name in names])
    assert not left.exists()
    assert (other.read_text(), (tmp_path / "target").read_text()) == ("before", "before")
    for name in names:
        path = tmp_path / name
        assert not path.is_symlink()
        assert path.read_text() == name
        assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(IsADirectoryError, match="folder is a folder"):
        write_all([("new", tmp_path / "a.creds"), ("new", tmp_path / "folder")])
    assert (tmp_path / "a.creds").read_text() == "a.creds"
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [*names, ".a.part", "target", "folder"]
    )


@given(st.text(st.sampled_from('ab.*>," \\'), min_size=1, max_size=8))
def test_an_entry_of_a_command_is_one_value_of_a_list(entry):
    """nsc reads lists as lines of CSV, as encoding/csv of Go."""
    assert next(csv.reader([f"{nsc_entry(entry)},b"], strict=True)) == [entry, "b"]
    assert (nsc_entry(entry) == entry) is not bool({",", '"'} & set(entry))


@pytest.mark.parametrize(("given_time", "minutes"), [
    ("1s", "1m"), ("119s", "1m"), ("2m", "2m"), ("1d", "1440m"), ("1w", "10080m"),
])  # fmt: skip
def test_the_expiry_of_a_command_is_at_least_a_minute(tmp_path, given_time, minutes):
    (tmp_path / "shop.py").write_text(HEAD)
    words = ["gencreds", "--plane", "p", str(tmp_path), "--format", "nsc", "--expires", given_time]
    assert f"--expiry {minutes}\n" in CliRunner().invoke(app, words).output
