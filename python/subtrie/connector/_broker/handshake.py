"""``CONNECT``: what a client says of itself, and how it authenticates.

A creds file (JWT and seed, or the seed of an nkey alone) comes first, then user and password, then
the token, then what stands in the URL.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from ..._nats.creds_file import jwt_in_creds
from ..._nats.nkey import key_pair, seed_of
from .._credentials import Credentials
from .server_info import ServerInfo
from .servers import Server


def connect_line(
    credentials: Credentials, server: Server, info: ServerInfo, *, name: str, tls: bool
) -> bytes:
    """Return the ``CONNECT`` line.

    Args:
        credentials: The credentials of the service.
        server: The server; its URL may name a user.
        info: What the server said in ``INFO``.
        name: The name of the connection.
        tls: Whether the connection is encrypted.

    Raises:
        PermissionsError: The creds do not hold exactly one valid seed of a user.
        ImportError: There are creds, and the package ``nkeys`` is missing.
    """
    from ... import __version__

    options: dict[str, Any] = {
        "verbose": False,
        "pedantic": False,
        "tls_required": tls,
        "name": name,
        "lang": "python-subtrie",
        "version": __version__,
        "protocol": 1,
        "echo": True,
        "headers": True,
        "no_responders": True,
    }
    options |= _authentication(credentials, server, info.nonce)
    return b"CONNECT " + json.dumps(options).encode() + b"\r\n"


def _authentication(credentials: Credentials, server: Server, nonce: str) -> dict[str, str]:
    if credentials.creds:
        key = key_pair(seed_of(credentials.creds.encode()), "SU")
        signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).rstrip(b"=").decode()
        jwt = jwt_in_creds(credentials.creds)
        if jwt is not None:
            return {"jwt": jwt, "sig": signature}
        return {"nkey": key.public_key.decode(), "sig": signature}
    if credentials.user and credentials.password:
        return {"user": credentials.user, "pass": credentials.password}
    if credentials.token:
        return {"auth_token": credentials.token}
    if server.user and server.password is None:
        return {"auth_token": server.user}
    if server.user:
        return {"user": server.user, "pass": server.password or ""}
    return {}
