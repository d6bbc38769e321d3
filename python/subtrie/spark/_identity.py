"""The identity of a connection, from what it was authenticated as and what it calls itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from .. import microbus
from .._errors import SubtrieError


def is_host(name: str | None) -> bool:
    """Return whether a name can be the host of a service."""
    try:
        microbus.check_identity_host(name or "")
    except SubtrieError:
        return False
    return True


def identity_of(*names: str | None) -> str | None:
    """Return the first name that can be the host of a service, else the first one there is."""
    given = [name for name in names if name]
    for name in given:
        try:
            return str(microbus.check_identity_host(name))
        except SubtrieError:
            continue
    return given[0] if given else None


def identity_of_options(options: Mapping[str, Any]) -> str | None:
    """Return the identity in the options of CONNECT: the user, the name in its JWT, or its name."""
    named = (options.get(key) for key in ("user", "nkey", "name"))
    user, nkey, name = (text if isinstance(text, str) else None for text in named)
    return identity_of(user, _name_of_token(options.get("jwt")), name, nkey)


def _name_of_token(token: Any) -> str | None:
    """Return the name in the claims of a JWT, which is not verified here: the server did that."""
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    name = claims.get("name") if isinstance(claims, dict) else None
    return name if isinstance(name, str) else None
