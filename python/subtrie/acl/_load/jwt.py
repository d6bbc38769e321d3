"""User JWTs: the lists in the claims, and what they leave to the account.

The format of a token itself is read in ``subtrie._nats.jwt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error, located
from ..._findings.finding import Place
from ..._nats.jwt import (
    array_claim,
    check_signature,
    claims_of,
    is_revoked,
    object_claim,
    signing_keys,
    validity_of,
)
from .._response_limit import ResponseLimit
from .._rule_entry import checked_entries
from .loaded import LoadedPermissions
from .templates import LoginRefused, filled, has_template

_BLANK = re.compile("[ \t]")


def permissions_in_jwt(
    token: str, path: Path, account_jwt: str | None, trusted: Iterable[str], line: int = 1
) -> LoadedPermissions:
    """Return what a user's JWT grants; undetermined if the account decides and is not given.

    An expired token loads like any other: its bounds are in ``validity``. A user whom the account
    has revoked does not.

    Args:
        token: the user's JWT.
        path: the file it was read from, for messages.
        account_jwt: the account's own JWT; with it, the signature of the user's JWT is checked.
        trusted: public keys of operators; with them, that of the account's JWT is checked too.
        line: the line of the file in which the token begins.

    Raises:
        PermissionsError: a token is malformed, of another kind, or revoked, or the chain does not
            hold.
    """
    claims = claims_of(token, path, "user")
    validity = validity_of(claims)
    if account_jwt is not None:
        validity &= validity_of(claims_of(account_jwt, path, "account"))
    loaded = _permissions_of(token, claims, path, account_jwt, tuple(trusted))
    loaded.validity, loaded.from_token = validity, True
    loaded.connection_types = _connection_types(claims["nats"], path)
    loaded.place = Place(str(path), line)
    return loaded


def _connection_types(nats: dict[str, Any], path: Path) -> tuple[str, ...]:
    given = array_claim(nats.get("allowed_connection_types"), "allowed_connection_types", path)
    return tuple(str(each).upper() for each in given)


def _permissions_of(
    token: str,
    claims: dict[str, Any],
    path: Path,
    account_jwt: str | None,
    trusted: tuple[str, ...],
) -> LoadedPermissions:
    nats = claims["nats"]
    own = _lists(nats, path)
    if account_jwt is None:
        if trusted:
            raise file_error("jwt-chain", "the chain", path)
        return LoadedPermissions.undetermined() if own is None else own
    account = claims_of(account_jwt, path, "account")
    if account["sub"] != (nats.get("issuer_account") or claims["iss"]):
        raise file_error("jwt-chain", "the account JWT", path)
    scopes = signing_keys(account["nats"], path)
    check_signature(token, claims, {account["sub"], *scopes}, path)
    if trusted:
        check_signature(account_jwt, account, set(trusted), path)
    if is_revoked(claims, account, path):
        raise file_error("jwt-revoked", claims.get("name") or claims["sub"], path)
    external = array_claim(
        object_claim(account["nats"].get("authorization"), "authorization", path).get("auth_users"),
        "authorization.auth_users", path,
    )  # fmt: skip
    if external and claims["sub"] not in external:
        return LoadedPermissions.undetermined("the authorization callout of the account")
    given = _granted(claims, account, scopes, own, path)
    if external and given.determined:
        given.deny_callout()
    return given


def _granted(
    claims: dict[str, Any],
    account: dict[str, Any],
    scopes: dict[str, Any],
    own: LoadedPermissions | None,
    path: Path,
) -> LoadedPermissions:
    """The lists that a user has by its own lists, by a scoped signing key, or by its account."""
    scope = scopes.get(claims["iss"])
    if scope is None:
        return own or _granted_by_account(account["nats"].get("default_permissions"), path)
    if own is not None:
        # A user signed by a scoped key has no lists of its own.
        raise file_error("jwt-scoped", "the token", path)
    template = scope.get("template")
    if template is None or not has_template(template):
        return _granted_by_account(template, path)
    try:
        return _granted_by_account(filled(template, claims, account), path)
    except LoginRefused as error:
        refused = f"the template of its signing key, with which the broker refuses it: {error}"
        return LoadedPermissions.undetermined(refused)


def _granted_by_account(lists: Any, path: Path) -> LoadedPermissions:
    """The permissions from an account, in which ``{{name()}}`` stands for itself."""
    return (_lists(object_claim(lists, "the account's lists", path), path)) or LoadedPermissions()


def _lists(nats: dict[str, Any], path: Path) -> LoadedPermissions | None:
    """The lists of a user, or of what an account grants; None if there are none."""
    loaded = LoadedPermissions()
    has_lists = False
    for verb, name in (("publish", "pub"), ("subscribe", "sub")):
        sides = object_claim(nats.get(name), name, path)
        for kind in ("allow", "deny"):
            entries = array_claim(sides.get(kind), f"{name}.{kind}", path)
            field = f"{verb}_{kind}"
            effective: list[str] = []
            for entry in entries:
                if not isinstance(entry, str):
                    raise file_error("jwt", f"{name}.{kind}", path, field=field)
                if len(_BLANK.split(entry)) > 2:  # one blank or tab; a configuration allows many
                    raise file_error("queue-words", entry, path, field=field)
                if _matches_nothing(entry, verb):
                    loaded.unmatchable = (*loaded.unmatchable, (field, entry))
                    continue
                try:
                    effective += (
                        checked_entries([entry], field, "server", verb == "subscribe") or ()
                    )
                except SubtrieError as error:
                    raise located(error, path, None) from None
            has_lists |= bool(entries)
            # An empty list counts together with a deny if it is that of publish.
            if entries or (
                field == "publish_allow" and sides.get(kind) == [] and sides.get("deny")
            ):
                setattr(loaded, field, tuple(effective))
    limit = nats.get("resp")
    if limit is not None:
        limit = object_claim(limit, "resp", path)
        numbers = [limit.get("max", 0), limit.get("ttl", 0)]
        if any(type(number) is not int for number in numbers):
            raise file_error("jwt", "resp", path, field="resp")
        loaded.allow_responses = ResponseLimit(numbers[0], numbers[1] / 1e9)
        if loaded.publish_allow is None:
            loaded.publish_allow = ()
    return loaded if has_lists or limit is not None else None


def _matches_nothing(entry: str, verb: str) -> bool:
    """Return whether an entry has ``>`` before its end.

    nats-server loads it from a JWT and never matches it.
    """
    subject = entry.split(" ")[0] if verb == "subscribe" else entry
    return ">" in subject.split(".")[:-1]
