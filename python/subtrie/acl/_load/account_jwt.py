"""Accounts from their JWTs: exports, imports with activation tokens, and mappings."""

from __future__ import annotations

import time
from collections.abc import Mapping as MappingOf
from pathlib import Path
from typing import Any

from ..._core import engine
from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error
from ..._nats.jwt import array_claim, check_signature, claims_of, object_claim, signing_keys
from .._account import Account, Activation, Export, Import, Mapping, Target, pattern_of
from .._subject_transform import SubjectTransform


def account_in_jwt(token: str, path: Path) -> tuple[str, str, Account]:
    """Return the public key, the name and the account of an account's JWT.

    The accounts of its imports are named by their public keys; an import that no export allows
    is kept.

    Args:
        token: the JWT.
        path: the file it was read from, for messages.

    Raises:
        PermissionsError: not an account's JWT, or a claim of another type.
    """
    claims = claims_of(token, path, "account")
    key, nats = str(claims["sub"]), claims["nats"]
    account = account_of_claims(nats, key, path)
    limits = object_claim(nats.get("limits"), "limits", path)
    tiers = object_claim(limits.get("tiered_limits"), "tiered_limits", path)
    storage = [limits, *(each for each in tiers.values() if isinstance(each, dict))]
    names = ("mem_storage", "disk_storage")
    account.jetstream = any(each.get(name) not in (None, 0) for each in storage for name in names)
    return key, str(claims.get("name") or key), account


def account_of_claims(nats: dict[str, Any], key: str, path: Path) -> Account:
    """Return the account that claims describe, named by its key; see ``account_in_jwt``."""
    account = Account(key)
    for each in array_claim(nats.get("exports"), "exports", path):
        account.exports.append(_export(object_claim(each, "exports", path), path))
    for each in array_claim(nats.get("imports"), "imports", path):
        account.imports.append(_import(object_claim(each, "imports", path), key, path))
    for source, rows in object_claim(nats.get("mappings"), "mappings", path).items():
        account.mappings.append(_mapping(source, array_claim(rows, "mappings", path), path))
    return account


def text_claim(values: MappingOf[str, Any], name: str, path: Path) -> str:
    """Return a claim that is a text; an absent one is empty. Raises ``PermissionsError``."""
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise file_error("jwt", name, path, field=name)
    return value


def _pattern(values: dict[str, Any], name: str, path: Path) -> str:
    text = text_claim(values, name, path)
    try:
        engine.check_pattern(pattern_of(text), "server")
    except SubtrieError as error:
        raise file_error(error.reason, text, path, None, error.position) from None
    return text


def _kind(values: dict[str, Any], path: Path) -> str:
    kind = text_claim(values, "type", path)
    if kind not in ("stream", "service"):
        raise file_error("jwt", "type", path, field="type")
    return kind


def _export(values: dict[str, Any], path: Path) -> Export:
    position = values.get("account_token_position") or 0
    if type(position) is not int:
        raise file_error("jwt", "account_token_position", path)
    revoked = object_claim(values.get("revocations"), "revocations", path)
    if any(type(second) is not int for second in revoked.values()):
        raise file_error("jwt", "revocations", path)
    return Export(
        _kind(values, path),
        _pattern(values, "subject", path),
        token=values.get("token_req") is True,
        position=position,
        revoked=tuple(revoked.items()),
    )


def _import(values: dict[str, Any], importer: str, path: Path) -> Import:
    kind, account = _kind(values, path), text_claim(values, "account", path)
    subject = _pattern(values, "subject", path)
    local, to = text_claim(values, "local_subject", path), text_claim(values, "to", path)
    if local:
        _pattern(values, "local_subject", path)
    elif to and kind == "stream":
        local = f"{to}.{subject}"  # then it is a prefix
    elif to:
        subject, local = _pattern(values, "to", path), subject
    token = text_claim(values, "token", path)
    activation = _activation(token, kind, account, subject, importer, path) if token else None
    return Import(kind, account, subject, local or subject, activation=activation)


def _activation(
    token: str, kind: str, account: str, subject: str, importer: str, path: Path
) -> Activation | None:
    """Return what an activation token shows; None if it does not let the account import it.

    Whether its issuer may sign for the exporting account is in that account's JWT: see
    ``issued_by_account``.
    """
    try:
        claims = claims_of(token, path, "activation")
        verified = _verified(token, claims, path)
    except SubtrieError:
        return None
    nats, issuer = claims["nats"], claims["iss"]
    expires, issued = claims.get("exp") or 0, claims.get("iat")
    issued_by = nats.get("issuer_account") or issuer
    offered = nats.get("subject")
    if (
        (issued_by, claims["sub"], nats.get("kind")) == (account, importer, kind)
        and (not expires or expires > time.time())
        and isinstance(offered, str)
        and _covers(offered, pattern_of(subject))
    ):
        return Activation(issuer, issued if type(issued) is int else 0, verified)
    return None


def _verified(token: str, claims: dict[str, Any], path: Path) -> bool:
    """True if the signature is good, False if the extra for it is not installed; else raise."""
    try:
        check_signature(token, claims, {claims["iss"]}, path)
    except ImportError:
        return False
    return True


def issued_by_account(activation: Activation, token: str, path: Path) -> bool:
    """Return True if an activation token is issued by an account or one of its signing keys.

    Args:
        activation: what the activation token shows.
        token: the account's JWT.
        path: the file of the account's JWT, for messages.
    """
    claims = claims_of(token, path, "account")
    return activation.issuer in {claims["sub"], *signing_keys(claims["nats"], path)}


def _covers(offered: str, pattern: str) -> bool:
    try:
        return engine.covers(offered, pattern)
    except SubtrieError:
        return False


def _mapping(source: str, rows: list[Any], path: Path) -> Mapping:
    targets = []
    for row in rows:
        values = object_claim(row, "mappings", path)
        # Of a JWT, a weight of 0 is one of 100.
        weight = values.get("weight") or 100
        subject = text_claim(values, "subject", path)
        if type(weight) is not int or not 0 < weight <= 100:
            raise file_error("jwt", "weight", path, field="weight")
        targets.append(Target(subject, weight, text_claim(values, "cluster", path) or None))
    mapping = Mapping(source, tuple(targets))
    check_mapping(mapping, path)
    return mapping


def check_mapping(mapping: Mapping, path: Path) -> None:
    """Raise ``PermissionsError`` if the broker refuses a mapping."""
    try:
        engine.check_pattern(mapping.source, "server")
        for each in mapping.targets:
            SubjectTransform(mapping.source, each.subject)
    except SubtrieError as error:
        raise file_error(error.reason, mapping.source, path, None, error.position) from None
    except ValueError as error:
        raise file_error("mapping", f"{mapping.source}: {error}", path) from None
    if fault := mapping.fault():
        raise file_error("mapping", fault, path)
