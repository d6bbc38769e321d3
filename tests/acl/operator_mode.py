"""Accounts of a server configuration as JWTs of an operator, with the creds of each user."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nkeys
from operators import key, token

_UNLIMITED = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)


class OperatorMode:
    """The accounts ``{name: block}`` of a configuration, signed.

    Attributes:
        operator: the key pair of the operator.
        keys: the key pair of each account.
        account_jwts: the JWT of each account.
        users: the JWT and the seed of each user by ``account/user``.
    """

    def __init__(self, accounts: dict[str, dict[str, Any]]) -> None:
        self.operator = operator = key(nkeys.PREFIX_BYTE_OPERATOR)
        self.keys = keys = {name: key(nkeys.PREFIX_BYTE_ACCOUNT) for name in accounts}
        public = {name: each.public_key.decode() for name, each in keys.items()}
        self.operator_jwt = token(
            operator, operator.public_key.decode(), "op", {"type": "operator"}
        )
        #: The signing key of each role, by account and role.
        roles = {
            (name, role): key(nkeys.PREFIX_BYTE_ACCOUNT)
            for name, block in accounts.items()
            for role in block.get("roles", {})
        }
        self.account_jwts = {}
        for name, block in accounts.items():
            claims = _account(name, accounts, public, keys)
            claims |= {"tags": block["tags"]} if "tags" in block else {}
            scopes = [
                {"kind": "user_scope", "key": roles[name, role].public_key.decode(),
                 "role": role, "template": template}
                for role, template in block.get("roles", {}).items()
            ]  # fmt: skip
            claims |= {"signing_keys": scopes} if scopes else {}
            self.account_jwts[name] = token(operator, public[name], name, claims)
        self.users: dict[str, tuple[str, str]] = {}
        for name, block in accounts.items():
            for each in block["users"]:
                user = key(nkeys.PREFIX_BYTE_USER)
                claims, signer = _user(each), keys[name]
                if "role" in each:
                    claims = {"type": "user", "issuer_account": public[name]}
                    signer = roles[name, each["role"]]
                claims |= {"tags": each["tags"]} if "tags" in each else {}
                jwt = token(signer, user.public_key.decode(), each["user"], claims)
                self.users[f"{name}/{each['user']}"] = (jwt, user.seed.decode())

    @property
    def config(self) -> str:
        """The server configuration, with a memory resolver."""
        rows = "".join(
            f"  {self.keys[name].public_key.decode()}: {jwt}\n"
            for name, jwt in self.account_jwts.items()
        )
        return f"operator: {self.operator_jwt}\nresolver: MEMORY\nresolver_preload {{\n{rows}}}\n"

    def change(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the claims of an account, and sign them again."""
        part = self.account_jwts[name].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        change(claims["nats"])
        self.account_jwts[name] = token(self.operator, claims["sub"], name, claims["nats"])

    def store(self, folder: Path) -> Path:
        """Write the JWTs as nsc keeps them, and return the folder."""
        (folder / "op").mkdir(parents=True)
        (folder / "op" / "op.jwt").write_text(self.operator_jwt)
        for name, jwt in self.account_jwts.items():
            users = folder / "op" / "accounts" / name / "users"
            users.mkdir(parents=True)
            (users.parent / f"{name}.jwt").write_text(jwt)
            for label, (user, _) in self.users.items():
                if label.partition("/")[0] == name:
                    (users / f"{label.partition('/')[2]}.jwt").write_text(user)
        return folder


def _account(
    name: str,
    accounts: dict[str, dict[str, Any]],
    public: dict[str, str],
    keys: dict[str, Any],
) -> dict[str, Any]:
    block = accounts[name]
    exports = []
    for each in block.get("exports", []):
        kind = "stream" if "stream" in each else "service"
        row = {"type": kind, "subject": each[kind]}
        exports.append(row | ({"token_req": True} if "accounts" in each else {}))
    mappings: dict[str, Any] = {}
    for source, target in block.get("mappings", {}).items():
        rows = target if isinstance(target, list) else [{"destination": target, "weight": 100}]
        mappings[source] = [_target(each) for each in rows]
    imports = []
    for each in block.get("imports", []):
        kind = "stream" if "stream" in each else "service"
        exporter, subject = each[kind]["account"], each[kind]["subject"]
        claims = {"type": kind, "account": public[exporter], "subject": subject}
        if "to" in each:
            claims["local_subject"] = each["to"]
        elif "prefix" in each:
            claims["local_subject"] = f"{each['prefix']}.{_counted(subject)}"
        offers = [row for row in accounts[exporter]["exports"] if row.get(kind) == subject]
        if any("accounts" in row for row in offers):
            nats = {"type": "activation", "subject": subject, "kind": kind}
            claims["token"] = token(keys[exporter], public[name], subject, nats)
        imports.append(claims)
    limits = {**_UNLIMITED, "wildcards": True}
    claims = {"type": "account", "limits": limits, "exports": exports, "imports": imports}
    return claims | ({"mappings": mappings} if mappings else {})


def _target(row: dict[str, Any]) -> dict[str, Any]:
    weight = row["weight"]
    weight = int(weight.removesuffix("%")) if isinstance(weight, str) else weight
    target = {"subject": row.get("destination") or row["dest"], "weight": weight}
    return target | ({"cluster": row["cluster"]} if "cluster" in row else {})


def _counted(subject: str) -> str:
    """A pattern with numbers in place of stars, as the local subject of a JWT has them."""
    tokens, number = subject.split("."), 0
    for index, each in enumerate(tokens):
        if each == "*":
            number += 1
            tokens[index] = f"${number}"
    return ".".join(tokens)


def _user(row: dict[str, Any]) -> dict[str, Any]:
    claims: dict[str, Any] = {"type": "user", "subs": -1, "data": -1, "payload": -1}
    permissions = row.get("permissions", {})
    for verb, name in (("publish", "pub"), ("subscribe", "sub")):
        if verb in permissions:
            claims[name] = permissions[verb]
    return claims
