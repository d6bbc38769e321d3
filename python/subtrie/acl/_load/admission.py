"""Certificates and authorization callouts, which a broker may want of a connection."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from .._account import GLOBAL
from .config_parser import Node

#: A certificate may be needed, or name the user.
NEEDED, NAMES_THE_USER = "needed", "names the user"


@dataclasses.dataclass(frozen=True, slots=True)
class Admission:
    """The needs of a connection of a client besides the credentials of a user.

    Attributes:
        tls: True if clients must use TLS.
        certificates: ``needed``, ``names the user`` in place of a password, or empty.
        callout: the account whose users answer the authorization callout; empty without one.
    """

    tls: bool = False
    certificates: str = ""
    callout: str = ""


def admission_of(values: Mapping[str, Node]) -> Admission:
    """Return how a configuration admits clients.

    Args:
        values: the values of the configuration by key.
    """
    tls = _fields(values.get("tls"))
    certificates = NEEDED if _is_on(tls, "verify") else ""
    if _is_on(tls, "verify_and_map"):
        certificates = NAMES_THE_USER
    authorization = _fields(values.get("authorization"))
    callout = ""
    for key in ("auth_callout", "auth_hook"):
        if key in authorization:
            fields = _fields(authorization[key])
            named = fields.get("account") or fields.get("acc")
            callout = GLOBAL if named is None else str(named.value)
    return Admission("tls" in values and not _is_on(values, "allow_non_tls"), certificates, callout)


def _is_on(fields: Mapping[str, Node], key: str) -> bool:
    return key in fields and fields[key].value is True


def _fields(node: Node | None) -> dict[str, Node]:
    value = None if node is None else node.value
    return {key.lower(): each for key, each in value.items()} if isinstance(value, dict) else {}
