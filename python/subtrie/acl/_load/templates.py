"""Templates of scoped signing keys, filled with the names and tags of a user and its account.

A broker fills them at login: ``{{name()}}``, ``{{subject()}}``, ``{{tag(x)}}``, and of the account
``{{account-name()}}``, ``{{account-subject()}}``, ``{{account-tag(x)}}``. A tag with several values
gives an entry for each. The tests ask a running server.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from ..._core import engine
from ..._core.errors import SubtrieError

_FIELD = re.compile(r"\{\{[^}]*\}\}")
_TAG = re.compile(r"(account-)?tag\((.*)\)")

#: Most entries that one entry may give, as in nats-server.
MAX_ENTRIES = 4_096


class LoginRefused(Exception):
    """The broker refuses the login, because it cannot fill a template."""


def has_template(lists: Any) -> bool:
    """Return True if an entry of the lists is a template."""
    sides = (lists.get(name) for name in ("pub", "sub")) if isinstance(lists, dict) else ()
    entries = (
        entry
        for side in sides
        if isinstance(side, dict)
        for each in side.values()
        if isinstance(each, list)
        for entry in each
    )
    return any(isinstance(entry, str) and "{{" in entry for entry in entries)


def filled(
    lists: Mapping[str, Any], user: Mapping[str, Any], account: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the lists of a template for one user.

    Args:
        lists: the template of a scoped signing key.
        user: the claims of the user's JWT.
        account: those of the account's.

    Raises:
        LoginRefused: an entry that is not defined, or a deny entry without a value.
    """
    found = dict(lists)
    for name in ("pub", "sub"):
        side = lists.get(name)
        if not isinstance(side, dict):
            continue
        allow, deny = side.get("allow") or [], side.get("deny") or []
        filled_allow = _entries(allow, user, account, needed=False)
        filled_deny = _entries(deny, user, account, needed=True)
        if allow and not filled_allow:
            filled_deny = [*filled_deny, ">"]
        # An empty list of a JWT may count, so what was absent stays absent.
        found[name] = {
            **side,
            **({"allow": filled_allow} if allow else {}),
            **({"deny": filled_deny} if filled_deny else {}),
        }
    return found


def _entries(
    entries: list[Any], user: Mapping[str, Any], account: Mapping[str, Any], *, needed: bool
) -> list[Any]:
    """The entries of one list; without a template in it, the list itself."""
    if not any(isinstance(each, str) and "{{" in each for each in entries):
        return entries
    found = []
    for entry in entries:
        fields = _FIELD.findall(entry)
        rows = [_values(each, entry, user, account) for each in fields]
        if needed and not all(rows):
            raise LoginRefused(f"{entry} has no value")
        count = 1
        for row in rows:
            count *= len(row)
        if count > MAX_ENTRIES:
            raise LoginRefused(f"{entry} gives more than {MAX_ENTRIES:,} entries")
        for values in itertools.product(*rows):
            text = entry
            for field, value in zip(fields, values, strict=True):
                text = text.replace(field, value, 1)
            if _is_subject(text):
                found.append(text)
            elif needed:
                raise LoginRefused(f"{entry} gives {text}, which is not a valid subject")
    return found


def _values(
    field: str, entry: str, user: Mapping[str, Any], account: Mapping[str, Any]
) -> list[str]:
    """The values of one field."""
    name = field[2:-2].strip().lower()
    known = {
        "name()": user.get("name"), "subject()": user.get("sub"),
        "account-name()": account.get("name"), "account-subject()": account.get("sub"),
    }  # fmt: skip
    if name in known:
        return [str(known[name] or "")]
    tag = _TAG.fullmatch(name)
    if tag is None:
        raise LoginRefused(f"{entry}: {name} is not defined")
    tags = (account if tag[1] else user)["nats"].get("tags") or []
    prefix = f"{tag[2]}:"
    # The name in the template is in lower case by then; a tag is compared as it is written.
    return [each[len(prefix) :] for each in map(str, tags) if each.startswith(prefix)]


def _is_subject(text: str) -> bool:
    if " " in text or "\t" in text:
        return False
    try:
        engine.check_pattern(text, "server")
    except SubtrieError:
        return False
    return True
