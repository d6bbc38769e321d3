"""``acl diff`` names a changed limit, time, link or login by what is possible on one side only."""

from __future__ import annotations

import json
import random

import nkeys
import pytest
from click.testing import CliRunner
from login_pairs import KINDS
from operators import Operator, key, token

from subtrie._cli.app import app

DAY = 86_400
#: 2030-01-01 00:00:00 UTC.
THEN = 1_893_456_000


def run(*words, status=None):
    done = CliRunner().invoke(app, ["acl", "diff", *map(str, words)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert status in (None, done.exit_code), done.output
    return done.output


def differs(tmp_path, old, new, status):
    for name, text in (("old.conf", old), ("new.conf", new)):
        (tmp_path / name).write_text(text)
    said = run(tmp_path / "old.conf", tmp_path / "new.conf", status=status)
    return [line.partition(" ")[0] + " " + line.partition(": ")[2] for line in said.splitlines()]


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("kind", KINDS[1::], ids=lambda each: each.__name__)
def test_a_live_broker_shows_what_a_change_makes_possible(kind, tmp_path):
    """The first pair of a kind that matters is named with an example."""
    rng = random.Random(11)
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        pair = kind(rng, folder)
        sides = [pair.old, pair.new]
        if kind.__name__ != "times":
            for side, text in enumerate(sides):
                (folder / f"{side}.conf").write_text(text)
            sides = [folder / "0.conf", folder / "1.conf"]
        before, after = (
            pair.probe(folder / f"live{side}", text)
            for side, text in enumerate((pair.old, pair.new))
        )
        if after - before:
            said = run(*sides)
            assert [line for line in said.splitlines() if line.startswith("+")], said
            return
    raise AssertionError("no change mattered")


@pytest.mark.requirement("A81")
def test_limits_were_left_out(tmp_path):
    account = "accounts {{ A {{ users: [ {{ user: a, password: x }} ]{} }} }}\n"
    for old, new, gained in (
        ("max_payload: 100\n", "max_payload: 200\n", "a message of 101 bytes may be published"),
        ("max_payload: 100\n", "", "a message of 101 bytes may be published"),
        ("max_conn: 3\n", "max_connections: 4\n", "4 connections may be open at a time"),
        ("max_subs: 3\n", "", "4 subscriptions may be held at a time"),
    ):
        texts = [each + account.format("") for each in (old, new)]
        assert differs(tmp_path, *texts, status=1) == [f"+ {gained}"]
        assert differs(tmp_path, *texts[::-1], status=0) == [f"- {gained}"]
    texts = [account.format(each) for each in ("\nlimits { max_conn: 1 }", "")]
    assert differs(tmp_path, *texts, status=1) == ["+ 2 connections may be open at a time in A"]
    assert differs(tmp_path, account.format(""), "max_payload: 1MiB\n" + account.format(""),
                   status=0)  # fmt: skip


@pytest.mark.requirement("A80", "A81")
def test_a_token_that_ends_later_was_not_named(tmp_path):
    operator, user = Operator(), key(nkeys.PREFIX_BYTE_USER)
    lists = {"type": "user", "subs": -1, "data": -1, "payload": -1}
    for name, bound in (("short", {"exp": THEN}), ("long", {"exp": THEN + DAY}), ("none", {}),
                        ("later", {"nbf": THEN})):  # fmt: skip
        folder = tmp_path / name
        folder.mkdir()
        (folder / "account.jwt").write_text(operator.account_jwt)
        jwt = token(operator.account, user.public_key.decode(), "u", lists, bound)
        (folder / "u.jwt").write_text(jwt)
        (tmp_path / f"{name}.jwt").write_text(jwt)

    def folders(*names):
        return [tmp_path / each for each in names]

    until = "may log in until 2030-01-02 00:00:00 UTC, and not only until 2030-01-01 00:00:00 UTC"
    assert f"account/u {until}" in run(*folders("short", "long"), status=1)
    assert f"- {tmp_path}" in run(*folders("long", "short"), status=0)
    assert "account/u may log in without end, and not only until" in (
        run(*folders("short", "none"), status=1)
    )
    assert "may log in at once, and not only from 2030-01-01" in (
        run(*folders("later", "none"), status=1)
    )
    told = json.loads(run(*folders("short", "long"), "--json", status=1))
    assert [each["witness"] for each in told["consequences"]] == ["2030-01-02 00:00:00 UTC"]
    assert until in run(*folders("short.jwt", "long.jwt"), status=2)  # the account decides


@pytest.mark.requirement("A81")
def test_a_limit_of_a_new_account_is_not_named_beside_it(tmp_path):
    old = "accounts { A { users: [ { user: a, password: x } ] } }\n"
    new = old.replace(
        "} ] } }",
        "} ] }, B { limits { max_conn: 2 }, users: [ { user: b, password: x } ] } }",
    )
    assert "2 connections" not in "".join(differs(tmp_path, old, new, status=1))


@pytest.mark.requirement("A81")
def test_one_part_does_not_explain_another(tmp_path):
    """The listener that is new says nothing about the flag of a leaf node that changed."""
    old = 'leafnodes { remotes: [ { url: "nats-leaf://h:7422" } ] }\n'
    new = 'leafnodes { port: 7422, remotes: [ { url: "nats-leaf://h:7422", hub: true } ] }\n'
    lines = differs(tmp_path, old, new, status=2)
    assert any("hub added: True" in each for each in lines)
    assert any("may connect by a leaf node" in each for each in lines)
