"""The identity of a connection: what the broker proved of it, before what its client claims.

And its account.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._core.address import is_host

#: What an identity rests on that the broker proved.
PROVEN = ("jwt", "nkey", "user")


@dataclass(frozen=True, slots=True)
class Who:
    """The identity of a connection.

    Attributes:
        identity: The name in the JWT, the nkey or the user, as the broker proved it; else the name
            that the client gave itself, also beside a user that cannot be the host of a service.
        source: What the identity rests on: ``jwt``, ``nkey``, ``user``, ``token`` (which names
            no user), ``claimed``; None if there is nothing.
        user: The user as the broker knows it: the subject of the JWT, the nkey or the user.
        client: The name that the client gave itself.
        claimed: Another user than the proven one that CONNECT names; None for none.
    """

    identity: str | None = None
    source: str | None = None
    user: str | None = None
    client: str | None = None
    claimed: str | None = None

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns of a row of events."""
        return {
            "identity": self.identity,
            "identity_source": self.source,
            "user": self.user,
            "client": self.client,
        }


def who_connected(
    options: Mapping[str, Any], account: str | None = None, *, checked: bool = True
) -> Who:
    """Return who is behind a connection, by the options of its CONNECT.

    Args:
        options: The options; those of a second CONNECT replace those of the first.
        account: The account of the connection, as the server says; None if it is not known. A JWT
            that another account issued is not what the server accepted.
        checked: Whether the server checks credentials; otherwise all of them are claims.
    """  # A82
    said = as_read(options)
    named = (said.get(key) for key in ("name", "nkey", "user", "auth_token", "jwt"))
    client, nkey, user, token, jwt = (_text(value) for value in named)
    claims = _claims(jwt)
    name, subject, *issuers = claims
    if not checked:
        claimed = user or name or client
        return Who(claimed, claimed and "claimed", None, client)
    if name is not None and (account is None or account in issuers):
        return Who(name, "jwt", subject or name, client, _other((user, nkey), (name, subject)))
    for proven, source in ((nkey, "nkey"), (user, "user")):
        if proven is not None:
            other = _other((user, nkey, name), (proven,))
            # A user that is not the host of a service may be that of many: the client's name says
            # which.
            if source == "user" and not is_host(user) and is_host(client):
                return Who(client, "claimed", user, client, other)
            return Who(proven, source, proven, client, other)
    if client is None and token is not None:
        return Who(None, "token")
    return Who(client, client and "claimed", None, client)


def may_be_equal(one: str | None, other: str | None) -> bool:
    """Return whether two accounts, of which None is one that is not told, can be the same."""
    return one is None or other is None or one == other


def as_read(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the server reads them: names without case; null says nothing."""
    return {name.upper().lower(): value for name, value in options.items() if value is not None}


def identity_of_options(options: Mapping[str, Any]) -> str | None:
    """Return the identity in the options of CONNECT."""
    return who_connected(options).identity


def who_is_listed(entry: Mapping[str, Any]) -> Who:
    """Return who is behind a connection in the response of ``/connz`` or ``/routez``.

    The server lists a user that the client names beside its JWT as the authorized one.
    """
    user, jwt, account, name, remote = (
        _text(entry.get(key))
        for key in ("authorized_user", "jwt", "account", "name", "remote_name")
    )
    return who_connected({"name": name or remote, "user": user, "jwt": jwt}, account)


def _text(value: Any) -> str | None:
    """Return a text that is not empty."""
    return value if isinstance(value, str) and value else None


def _other(claimed: tuple[str | None, ...], proven: tuple[str | None, ...]) -> str | None:
    """Return the first claim that is not what was proven."""
    return next((each for each in claimed if each is not None and each not in proven), None)


def _claims(token: str | None) -> tuple[str | None, str | None, str | None, str | None]:
    """Return name (or subject), subject, issuer and account of a JWT, which is not verified here.

    The server did that, if it accepted it.
    """
    parts = token.split(".") if token is not None else []
    if len(parts) != 3:
        return None, None, None, None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None, None, None, None
    if not isinstance(claims, dict):
        return None, None, None, None
    name, subject, issuer = (_text(claims.get(key)) for key in ("name", "sub", "iss"))
    nats = claims.get("nats")
    account = _text(nats.get("issuer_account")) if isinstance(nats, dict) else None
    return name or subject, subject, issuer, account
