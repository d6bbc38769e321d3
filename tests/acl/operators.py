"""An operator, an account and a server configuration that trusts them (memory resolver)."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from typing import Any

import nkeys


def key(prefix: int) -> Any:
    return nkeys.from_seed(nkeys.encode_seed(os.urandom(32), prefix))


def token(
    issuer: Any,
    subject: str,
    name: str,
    nats: dict[str, Any],
    more: dict[str, Any] | None = None,
) -> str:
    """A signed JWT of NATS."""
    claims = {"jti": "", "iat": int(time.time()), "iss": issuer.public_key.decode()}
    claims |= {"name": name, "sub": subject, "nats": nats | {"version": 2}}
    claims |= more or {}
    digest = hashlib.new("sha512_256", json.dumps(claims).encode()).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    parts = [{"typ": "JWT", "alg": "ed25519-nkey"}, claims]
    signed = b".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts
    )
    signature = base64.urlsafe_b64encode(issuer.sign(signed)).rstrip(b"=")
    return b".".join((signed, signature)).decode()


class Operator:
    """Keys and JWTs of one operator with one account, which may have a scoped signing key."""

    def __init__(
        self, account: dict[str, Any] | None = None, claims: dict[str, Any] | None = None
    ) -> None:
        self.claims = claims
        self.key = key(nkeys.PREFIX_BYTE_OPERATOR)
        self.account = key(nkeys.PREFIX_BYTE_ACCOUNT)
        self.signer = key(nkeys.PREFIX_BYTE_ACCOUNT)
        public = self.key.public_key.decode()
        self.jwt = token(self.key, public, "operator", {"type": "operator"})
        self.account_jwt = self.account_token(account or {})

    def account_token(self, account: dict[str, Any]) -> str:
        """The account's JWT with these claims besides; a template scopes its signing key."""
        limits = dict.fromkeys(
            ("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1
        )
        nats = {"type": "account", "limits": {**limits, "wildcards": True}, **account}
        if "template" in nats:
            template = nats.pop("template")
            scope = {"kind": "user_scope", "key": self.signer.public_key.decode(), "role": "r"}
            nats["signing_keys"] = [{**scope, "template": template}]
        public = self.account.public_key.decode()
        return token(self.key, public, "account", nats, self.claims)

    @property
    def config(self) -> str:
        public = self.account.public_key.decode()
        preload = f"resolver_preload {{ {public}: {self.account_jwt} }}\n"
        return f"operator: {self.jwt}\nresolver: MEMORY\n{preload}"

    def user(
        self,
        nats: dict[str, Any],
        scoped: bool = False,
        claims: dict[str, Any] | None = None,
    ) -> tuple[str, str]:
        """The JWT and the seed of a user with these claims."""
        user = key(nkeys.PREFIX_BYTE_USER)
        nats = {"type": "user", "subs": -1, "data": -1, "payload": -1, **nats}
        signer = self.account
        if scoped:
            signer = self.signer
            nats["issuer_account"] = self.account.public_key.decode()
            for name in ("subs", "data", "payload"):
                nats.pop(name)
        jwt = token(signer, user.public_key.decode(), "user", nats, claims)
        return jwt, user.seed.decode()


def connecting(jwt: str, seed: str) -> dict[str, Any]:
    """Return what a client sends to authenticate as this user."""
    user = nkeys.from_seed(seed.encode())

    def sign(nonce: str) -> str:
        return base64.urlsafe_b64encode(user.sign(nonce.encode())).decode().rstrip("=")

    return {"jwt": jwt, "sign": sign}
