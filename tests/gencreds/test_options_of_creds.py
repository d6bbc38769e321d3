"""The options of creds are in their token, and count towards its size."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from creds_command import ORDERS, account_seed, run, seed_file
from operators import Operator

from subtrie import PermissionsError
from subtrie.acl import Permissions
from subtrie.gencreds import plan, sign

OPERATOR = Operator()
ACCOUNT = OPERATOR.account.public_key.decode()


def claims(file: Path) -> tuple[int, dict[str, Any]]:
    """Return the size of the token of creds, and its claims."""
    token = file.read_text().splitlines()[1]
    body = token.split(".")[1]
    return len(token), json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


@pytest.mark.parametrize(
    ("words", "seconds", "issuer"),
    [([], None, None), (["--expires", "2h"], 7200, None), (["--account", ACCOUNT], None, ACCOUNT)],
    ids=["neither", "expires", "account"],
)
def test_creds_that_are_written(tree, tmp_path, monkeypatch, words, seconds, issuer):
    monkeypatch.chdir(tmp_path)
    folder, key = tree(orders=ORDERS), seed_file(account_seed(OPERATOR))
    words = ["--plane", "prod", "--signing-key", key, "--out", "creds", "--json", *words]
    done = run(folder, *words)
    assert done.exit_code == 0, done.output
    size, told = claims(tmp_path / "creds" / "orders.shop_nats.creds")
    assert (told.get("exp", told["iat"]) - told["iat"] or None) == seconds
    assert told["nats"].get("issuer_account") == issuer
    assert str(size) in done.stdout, "what is said of the size is true"


@pytest.mark.parametrize("source", [True, False], ids=["services", "everything"])
def test_creds_of_a_trial_expire_as_others(tree, tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    words = [tree(orders=ORDERS), "--plane", "prod"] if source else []
    for more, seconds in ([], None), (["--expires", "3d"], 3 * 86_400):
        done = run(*words, "--try", "trial", *more)
        assert done.exit_code == 0, done.output
        (file,) = (tmp_path / "trial").glob("*.creds")
        _, told = claims(file)
        assert (told.get("exp", told["iat"]) - told["iat"] or None) == seconds


@pytest.mark.parametrize("given", [{"expires": 60}, {"issuer_account": ACCOUNT}])
def test_what_fits_without_an_option_is_refused_if_it_does_not_fit_with_it(given):
    planned = plan(Permissions(publish_allow=["p"], subscribe_allow=["p.>"]), name="a")
    for length in range((planned.limit - planned.size) // 4 * 3 - 400, 4000):
        permissions = Permissions(publish_allow=["p." + "x" * length], subscribe_allow=["p.>"])
        if not plan(permissions, name="a", **given).fits:
            break
    assert plan(permissions, name="a").fits
    assert sign(permissions, account_seed(OPERATOR), name="a").jwt
    with pytest.raises(PermissionsError) as refused:
        sign(permissions, account_seed(OPERATOR), name="a", **given)
    assert refused.value.reason == "jwt-size"
