"""The users of a broker beside those that its configuration lists.

Without authorization nats-server makes every connection a user of ``$G``; ``no_auth_user`` makes
those without credentials one of the users; in operator mode users have JWTs, and an authorization
callout admits whom it likes. The tests ask a running server.
"""

# A81

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .config_parser import Node

#: The name of the user that every connection is, if the broker has no authorization.
ANYONE = "anyone"
#: The name that stands for all users that the input does not hold.
OTHER_USERS = "other users"
#: Who decides about them, if their JWTs do.
USERS_NOT_GIVEN = "the JWTs of users, which are not given"

#: Why a connection without credentials is a user.
NO_AUTHORIZATION, NO_AUTH_USER = "no-authorization", "no-auth-user"

#: The keys with which users have JWTs.
OPERATORS = frozenset(
    ("operator", "operators", "roots", "root", "root_operators", "root_operator", "trusted",
     "trusted_keys")
)  # fmt: skip

#: Listeners that may have logins of their own.
_LISTENERS = ("websocket", "ws", "mqtt")


def no_auth_users(values: Mapping[str, Node]) -> set[str]:
    """Return the names of the users that connections without credentials are."""
    blocks = [values, *(_fields(values.get(name)) for name in _LISTENERS)]
    named = (block.get("no_auth_user") for block in blocks)
    return {str(each.value) for each in named if each is not None and each.value}


def system_account_alone(values: Mapping[str, Node], accounts: Sequence[str]) -> bool:
    """Return True if the system account alone has users, so that ``$G`` stays open.

    Args:
        values: the values of the configuration by key.
        accounts: the names in the block ``accounts``.
    """
    named = [values[key].value for key in ("system_account", "system") if key in values]
    system = named[0] if named and named[0] else "$SYS"
    return "authorization" not in values and list(accounts) == [system]


def needs_certificate(values: Mapping[str, Node]) -> bool:
    """Return True if every connection must have a certificate.

    Clients of WebSocket and MQTT come by listeners with rules of their own.
    """
    tls = _fields(values.get("tls"))
    checked = any(tls[key].value is True for key in ("verify", "verify_and_map") if key in tls)
    plain = values.get("allow_non_tls")
    other = any(name in values for name in _LISTENERS)
    return checked and not other and (plain is None or plain.value is not True)


def listener_logins(values: Mapping[str, Node]) -> Iterator[tuple[str, Node]]:
    """Yield the user, or ``token``, of listeners with a login of their own, which is one of $G."""
    for name in _LISTENERS:
        block = _fields(values.get(name))
        for word in ("authorization", "authentication"):
            login = block.get(word)
            fields = _fields(login)
            for key in ("user", "username", "token"):
                if login is not None and key in fields and fields[key].value:
                    yield "token" if key == "token" else str(fields[key].value), login


def _fields(node: Node | None) -> dict[str, Node]:
    value: Any = None if node is None else node.value
    return {key.lower(): each for key, each in value.items()} if isinstance(value, dict) else {}
