"""Tokens that have expired or are not valid yet load; ``lint`` and ``acl show`` say so."""

from __future__ import annotations

import base64
import json
import time

import pytest
from click.testing import CliRunner
from operators import Operator

from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie.acl import Permissions

HOUR = 3600
LISTS = {"pub": {"allow": ["orders.>"]}}


def _token(tmp_path, **claims):
    """The file of a user's JWT with these claims beside its lists."""
    path = tmp_path / "user.jwt"
    path.write_text(Operator().user(LISTS, claims=claims)[0])
    return path


def _rules(permissions):
    return [each.rule for each in permissions.lint()]


def test_an_expired_token_loads_and_decides_as_before(tmp_path):
    ends = int(time.time()) - HOUR
    permissions = Permissions.load(_token(tmp_path, exp=ends))
    assert (permissions.expires, permissions.not_before) == (ends, None)
    assert permissions.determined
    for model in ("strict", "broker"):
        assert permissions.can_publish("orders.new", model=model)
        assert not permissions.can_publish("stock.new", model=model)
    plain = Permissions.load(_token(tmp_path))
    assert permissions == plain
    assert "expired" not in _rules(plain)


def test_lint_reports_a_token_that_is_not_good_now(tmp_path):
    now = int(time.time())
    expired = Permissions.load(_token(tmp_path, exp=now - HOUR)).lint()[0]
    assert (expired.rule, expired.level) == ("expired", "error")
    assert "UTC" in expired.message
    early = [
        each
        for each in Permissions.load(_token(tmp_path, nbf=now + HOUR)).lint()
        if each.rule == "not-yet-valid"
    ]
    assert [each.level for each in early] == ["warning"]
    assert "expired" not in _rules(Permissions.load(_token(tmp_path, exp=now + HOUR)))


def test_an_expired_token_without_lists_is_reported_too(tmp_path):
    path = tmp_path / "user.jwt"
    path.write_text(Operator().user({}, claims={"exp": 1})[0])
    permissions = Permissions.load(path)
    assert not permissions.determined
    assert _rules(permissions) == ["expired", "not-determined"]


def test_the_token_of_the_account_counts_too(tmp_path):
    pytest.importorskip("nacl")
    operator = Operator(claims={"exp": 1})
    path = tmp_path / "user.jwt"
    path.write_text(operator.user(LISTS)[0])
    assert Permissions.load(path).expires is None
    assert Permissions.load(path, account_jwt=operator.account_jwt).expires == 1


@pytest.mark.parametrize(
    ("account", "user"), [((2, 9), (3, 8)), ((3, 8), (2, 9)), ((3, 9), (2, 8))]
)
def test_a_user_may_log_in_while_its_token_and_that_of_the_account_are_good(
    tmp_path, account, user
):
    pytest.importorskip("nacl")
    bounds = [dict(zip(("nbf", "exp"), each, strict=True)) for each in (account, user)]
    operator = Operator(claims=bounds[0])
    path = tmp_path / "user.jwt"
    path.write_text(operator.user(LISTS, claims=bounds[1])[0])
    loaded = Permissions.load(path, account_jwt=operator.account_jwt)
    assert (loaded.not_before, loaded.expires) == (3, 8)


def test_show_says_until_when_a_token_is_good(tmp_path):
    now = int(time.time())

    def shown(*options, **claims):
        path = _token(tmp_path, **claims)
        done = CliRunner().invoke(app, ["acl", "show", str(path), *options])
        assert done.exit_code == 0
        return done

    assert "token: expired at 1970-01-01 00:00:01 UTC" in shown(exp=1).output
    assert "token: expires at" in shown(exp=now + HOUR).output
    assert "(not valid yet)" in shown(nbf=now + HOUR).output
    assert "token:" not in shown().output
    as_json = shown("--json", exp=1)
    assert json.loads(as_json.stdout)["publish_allow"] == ["orders.>"]
    assert "expired at" in as_json.stderr


def test_lint_of_an_expired_token_ends_with_1(tmp_path):
    done = CliRunner().invoke(app, ["acl", "lint", str(_token(tmp_path, exp=1))])
    assert done.exit_code == 1
    assert "error expired" in done.output


@pytest.mark.parametrize("name", ["exp", "nbf"])
@pytest.mark.parametrize("value", ["1", 1.5, [], True])
def test_a_time_that_is_not_a_whole_number_is_refused(tmp_path, name, value):
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(_token(tmp_path, **{name: value}))
    assert caught.value.reason == "jwt"


def test_readable_creds_load_if_the_caller_allows_it(tmp_path):
    jwt, seed = Operator().user(LISTS)
    path = tmp_path / "user.creds"
    path.write_text(
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    path.chmod(0o644)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(path)
    assert caught.value.reason == "creds-mode"
    assert Permissions.load(path, allow_readable=True).publish_allow == ("orders.>",)
    rules = tmp_path / "expected.txt"
    rules.write_text("yes publish orders.new\n")
    for code, *words in (
        (0, "show", path), (1, "lint", path), (0, "minimise", path), (0, "diff", path, path),
        (2, "flows", path), (0, "test", rules, path), (0, "who", "orders.new", path),
        (0, "why", "orders.new", path),
    ):  # fmt: skip
        refused, read = (
            CliRunner().invoke(app, ["acl", *map(str, words), *option])
            for option in ([], ["--allow-readable"])
        )
        told = "others may read it"
        assert (refused.exit_code, told in refused.stderr) == (2, True), words
        assert (read.exit_code, told in read.output) == (code, False), (words, read.output)


def _revoked(tmp_path, **revocations):
    """A user's JWT, the JWT of its account that revokes users, and the files of both."""
    operator = Operator()
    user = operator.user(LISTS, claims={"iat": 1_700_000_000})[0]
    key = json.loads(base64.urlsafe_b64decode(user.split(".")[1] + "=="))["sub"]
    seconds = {key if name == "user" else "*": value for name, value in revocations.items()}
    account = operator.account_token({"revocations": seconds})
    for name, text in (("user.jwt", user), ("account.jwt", account)):
        (tmp_path / name).write_text(text)
    return tmp_path / "user.jwt", tmp_path / "account.jwt"


@pytest.mark.parametrize("who", ["user", "everyone"])
def test_a_revoked_user_is_an_error_of_load_and_of_lint(tmp_path, who):
    pytest.importorskip("nacl")
    user, account = _revoked(tmp_path, **{who: 1_700_000_000})
    with pytest.raises(PermissionsError, match="the account has revoked") as caught:
        Permissions.load(user, account_jwt=account.read_text())
    assert (caught.value.reason, caught.value.file) == ("jwt-revoked", str(user))
    done = CliRunner().invoke(app, ["acl", "lint", str(user), "--account-jwt", str(account)])
    assert done.exit_code == 1, done.output
    assert f"{user}: error revoked: " in done.output
    assert Permissions.load(user).publish_allow == ("orders.>",), "without the account, not known"
    for verb in (["show", str(user)], ["who", "orders.new", str(user)]):
        done = CliRunner().invoke(app, ["acl", *verb, "--account-jwt", str(account)])
        assert done.exit_code == 2, "no other verb shows what a revoked user may"


def test_a_user_issued_after_the_revocation_loads(tmp_path):
    pytest.importorskip("nacl")
    user, account = _revoked(tmp_path, user=1_699_999_999, everyone=1)
    assert Permissions.load(user, account_jwt=account.read_text()).determined


@pytest.mark.parametrize("value", [[], {"*": "1"}, {"*": True}, 7])
def test_revocations_of_another_type_are_refused(tmp_path, value):
    pytest.importorskip("nacl")
    operator = Operator()
    (tmp_path / "user.jwt").write_text(operator.user(LISTS)[0])
    account = operator.account_token({"revocations": value})
    with pytest.raises(PermissionsError, match="revocations"):
        Permissions.load(tmp_path / "user.jwt", account_jwt=account)


def test_a_store_whose_user_says_no_number_as_its_time_is_refused(tmp_path):
    operator = Operator()
    account = operator.account_token({"revocations": {"*": 1}})
    (tmp_path / "account.jwt").write_text(account)
    (tmp_path / "user.jwt").write_text(operator.user(LISTS, claims={"iat": "today"})[0])
    with pytest.raises(PermissionsError, match="iat"):
        Permissions.load_all(tmp_path)
