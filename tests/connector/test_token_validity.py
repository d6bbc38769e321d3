"""A connector refuses to start with a token that the broker would refuse."""

from __future__ import annotations

import time

import nkeys
import pytest

from subtrie import BusError
from subtrie.connector import Connector

from .test_credentials import _jwt, _pair, _public

HOUR = 3600


def _creds(tmp_path, **claims):
    account, user = _pair(nkeys.PREFIX_BYTE_ACCOUNT), _pair(nkeys.PREFIX_BYTE_USER)
    token = _jwt(account, user, "shop.example", {"type": "user"}, **claims)
    path = tmp_path / "nats.creds"
    path.write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    path.chmod(0o600)
    return path


async def _refused(path):
    connector = Connector("shop.example", plane="p", nats="nats://127.0.0.1:9", creds=path)
    with pytest.raises(BusError) as caught:
        await connector.startup()
    return caught.value


async def test_a_connector_does_not_start_with_an_expired_token(tmp_path):
    error = await _refused(_creds(tmp_path, exp=int(time.time()) - HOUR))
    assert error.reason == "creds-expired"
    assert "nats.creds" in str(error)
    assert "expired at" in str(error)


async def test_a_connector_does_not_start_with_a_token_of_the_future(tmp_path):
    error = await _refused(_creds(tmp_path, nbf=int(time.time()) + HOUR))
    assert error.reason == "creds-not-yet-valid"


async def test_a_token_in_a_variable_is_checked_too(tmp_path, monkeypatch):
    account, user = _pair(nkeys.PREFIX_BYTE_ACCOUNT), _pair(nkeys.PREFIX_BYTE_USER)
    token = _jwt(account, user, "shop.example", {"type": "user"}, exp=1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MICROBUS_NATS_USER_JWT", token)
    monkeypatch.setenv("MICROBUS_NATS_NKEY_SEED", user.seed.decode())
    error = await _refused(None)
    assert error.reason == "creds-expired"
    assert "MICROBUS_NATS_USER_JWT" in str(error)
    assert _public(user) not in str(error)
