"""Tables and findings name whom they are about: account, user, file, line; how and until when."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from operators import Operator

from subtrie._cli.app import app
from subtrie._nats.creds_file import format_creds
from subtrie.acl import Permissions

#: The end of a token: October 2096.
END = 4_000_000_000
NKEY = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"


def run(*words, status):
    done = CliRunner().invoke(app, ["acl", *map(str, words)])
    assert done.exit_code == status, done.output
    return done.output


def written(folder, text, name="nats.conf"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def operator():
    return Operator()


def stored(folder, operator, **claims):
    """A folder of JWTs as nsc keeps them, and that of its user."""
    written(folder, operator.account_jwt, "A.jwt")
    user, _ = operator.user({"sub": {"allow": [">"]}, **claims})
    return written(folder, user, "user.jwt")


def test_types_of_connections_and_the_end_of_a_token_were_not_shown(tmp_path, operator):
    """O22"""
    path = written(
        tmp_path,
        "authorization { users: [ { user: page, password: x, "
        "allowed_connection_types: [ websocket, MQTT ] }, { user: other, password: x } ] }",
    )
    shown = run("show", path, status=0)
    assert "types" in shown.splitlines()[0]
    assert "expires" not in shown
    assert "WEBSOCKET, MQTT" in shown
    first, second = map(json.loads, run("show", path, "--json", status=0).splitlines())
    assert (first["types"], second["types"]) == (["WEBSOCKET", "MQTT"], [])
    assert "connections: WEBSOCKET, MQTT" in run("show", path, "--user", "page", status=0)
    user, seed = operator.user({"allowed_connection_types": ["LEAFNODE"]}, claims={"exp": END})
    creds = written(tmp_path, format_creds(jwt=user, seed=seed), "a.creds")
    creds.chmod(0o600)
    row = json.loads(run("show", creds, "--every-user", "--json", status=2))
    assert (row["types"], row["expires"]) == (["LEAFNODE"], "2096-10-02 07:06:40 UTC")
    assert Permissions.load(creds).connection_types == ("LEAFNODE",)


def test_a_finding_about_a_user_of_a_token_had_no_file_and_no_line(tmp_path, operator):
    """O24"""
    token = stored(tmp_path, operator)
    for what in (tmp_path, token):
        line = next(each for each in run("lint", what, status=1).splitlines() if " inbox: " in each)
        assert line.startswith(f"{token}:1:1: warning inbox: "), line
    creds = tmp_path / "creds"
    creds.mkdir()
    user, seed = operator.user({"sub": {"allow": [">"]}})
    path = written(creds, f"\n\n{format_creds(jwt=user, seed=seed)}", "a.creds")
    path.chmod(0o600)
    assert run("lint", path, status=1).startswith(f"{path}:4:1: warning inbox: ")


def test_a_finding_about_the_only_user_had_no_name(tmp_path):
    """O24"""
    path = written(tmp_path, "accounts { A { users: [ { user: web, password: $P } ] } }")
    for more in ([], ["--user", "web"]):
        found = run("lint", path, *more, status=1).splitlines()[:-1]
        assert all(f"{path}:1:" in each and ": A/web: " in each for each in found), found
        rows = map(json.loads, run("lint", path, *more, "--json", status=1).splitlines())
        assert {each["user"] for each in rows} == {"A/web"}


def test_a_public_key_made_the_table_wider_than_a_screen(tmp_path):
    """O24"""
    path = written(tmp_path, f"authorization {{ users: [ {{ nkey: {NKEY} }} ] }}")
    shown = run("show", path, "--every-user", status=0)
    assert NKEY not in shown
    assert "UDXU4R…NLCNF4" in shown
    assert json.loads(run("show", path, "--every-user", "--json", status=0))["user"] == NKEY


def test_a_file_before_the_question_is_answered_with_the_right_command(tmp_path):
    path = written(tmp_path, "accounts { A { users: [ { user: a, password: x } ] } }")
    said = run("who", path, "A:orders.>", status=2)
    assert f"what is asked comes first, files after: subtrie acl who 'A:orders.>' {path}" in (
        said.replace("app acl", "subtrie acl")
    )
    said = run("why", path, "orders.x", status=2)
    assert f"what is asked comes first, files after: subtrie acl why orders.x {path}" in (
        said.replace("app acl", "subtrie acl")
    )
    assert run("who", "x", tmp_path / "none", status=2).endswith("none: no such file\n")


def test_a_subject_that_is_also_the_name_of_a_file_is_a_subject(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("orders.new", "nats.conf"):
        (tmp_path / name).write_text(
            "authorization { users: [ { user: a, permissions: { publish: 'orders.*' } } ] }"
        )
    done = CliRunner().invoke(app, ["why", "orders.new", "nats.conf", "--user", "a"])
    assert (done.exit_code, done.output[:12]) == (0, "✓ orders.new"), done.output
