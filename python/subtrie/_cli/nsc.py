"""Commands of ``nsc`` that change a user."""

from __future__ import annotations

import shlex

from ..acl import Permissions

_FLAGS = (
    ("publish", 0, "--allow-pub"), ("publish", 1, "--deny-pub"),
    ("subscribe", 0, "--allow-sub"), ("subscribe", 1, "--deny-sub"),
)  # fmt: skip


def nsc_command(words: list[str]) -> str:
    """Return a shell command, with one option on each line if there are several."""
    head, options = words[:3], words[3:]
    pairs = [
        " ".join(map(shlex.quote, options[place : place + 2]))
        for place in range(0, len(options), 2)
    ]
    return " \\\n  ".join([" ".join([*head, pairs[0]]), *pairs[1:]]) + "\n"


def nsc_entry(entry: str) -> str:
    """Return an entry as nsc reads comma-separated lists: quoted if it holds a comma or quote."""
    return '"' + entry.replace('"', '""') + '"' if set(',"') & set(entry) else entry


def edit_user(name: str, account: str, before: Permissions, after: Permissions) -> str:
    """Return the commands that change the lists of a user; no text if they are the same.

    Args:
        name: the user's name.
        account: the account's name; empty for the current one.
        before: the user's permissions now.
        after: the user's permissions then.
    """
    old, new = (
        {flag: _lists(each, verb)[side] for verb, side, flag in _FLAGS} for each in (before, after)
    )
    gone = dict.fromkeys(e for flag in old for e in old[flag] if e not in new[flag])
    # --rm removes an entry from all lists, so one that stays in a list is added again.
    more = {flag: [e for e in new[flag] if e not in old[flag] or e in gone] for flag in new}
    head = ["nsc", "edit", "user", *(["--account", account] if account else []), "--name", name]
    removals = [word for entry in gone for word in ("--rm", nsc_entry(entry))]
    additions = [word for flag in more for e in more[flag] for word in (flag, nsc_entry(e))]
    return "".join(nsc_command([*head, *words]) for words in (removals, additions) if words)


def _lists(permissions: Permissions, verb: str) -> tuple[list[str], list[str]]:
    """Return the lists of a token, in which an empty one allows everything."""
    allow, deny = permissions.lists(verb)
    if getattr(permissions, f"{verb}_allow") is None:
        return [], deny
    return allow, deny if allow else [">"]
