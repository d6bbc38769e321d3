"""``subtrie acl diff``: what a change of permissions grants and revokes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from .._errors import SubtrieError
from ..acl import Diff, Grant, Permissions, about_microbus
from .junit import Case, junit
from .markdown import markdown
from .permission_files import SOURCE, BadFile, Selection, bad_file, by_plane, every_user, of_user
from .report_forms import by_format
from .sarif import sarif_of_grants
from .stream import console, printable


class _Change(NamedTuple):
    """The change for one user; the name is empty if it is the only one."""

    user: str
    diff: Diff
    after: Permissions


@click.command()
@click.argument("files", metavar="[OLD] NEW", nargs=-1, type=SOURCE, required=True)
@of_user
@every_user
@click.option(
    "--no-new-access-than", "policy", type=SOURCE,
    help="Compare NEW with this policy instead of OLD.",
)  # fmt: skip
@by_plane
@by_format
def diff(
    files: tuple[Path, ...],
    selection: Selection,
    every_user: bool,
    policy: Path | None,
    plane: str | None,
    form: str,
) -> None:
    r"""Show what NEW grants that OLD does not, and the reverse; the most far-reaching first.

    Exit code 1 if NEW grants anything more, 0 otherwise.

    \b
    Examples:
      subtrie acl diff old.conf new.conf
      subtrie acl diff --no-new-access-than policy.json orders.creds --format sarif
    """
    both = files if policy is None else (policy, *files)
    if len(both) != 2:
        raise click.UsageError("give OLD and NEW, or NEW and --no-new-access-than POLICY")
    base, new = both
    try:
        if selection.names_a_user:
            old_users = {"": selection.load_determined(base)}
            new_users = {"": selection.load_determined(new)}
        else:
            old_users, new_users = selection.load_each(base), selection.load_each(new)
            if not every_user and len(old_users) == len(new_users) == 1:
                old_users, new_users = _alone(old_users), _alone(new_users)
        every_user = [*old_users, *new_users] != ["", ""] or every_user
        shown = plane is not None or about_microbus([*old_users.values(), *new_users.values()])
        changes = _of_each(old_users, new_users, shown)
    except SubtrieError as error:
        raise bad_file(error) from None
    if form == "json":
        rows = {name: _rows(found) for name, found, _ in changes}
        print(json.dumps({"users": rows} if every_user else rows[""]))
    elif form == "sarif":
        grants = [(name, each, after) for name, found, after in changes for each in found.added]
        print(json.dumps(sarif_of_grants(grants, new), indent=2))
    elif form == "junit":
        cases = [
            Case(str(new), " ".join(filter(None, (name, str(each)))), f"new: {each.witness}")
            for name, found, _ in changes
            for each in found.added
        ]
        print(junit("subtrie acl diff", cases or [Case(str(new), "no new access")]))
    elif form == "markdown":
        print(markdown(changes, Path(new).name), end="")
    else:
        _text(changes)
    raise SystemExit(1 if any(found.added for _, found, _ in changes) else 0)


def _alone(users: dict[str, Permissions]) -> dict[str, Permissions]:
    """The only user, without its name: two users of different names are compared."""
    return dict.fromkeys([""], *users.values())


def _of_each(
    before: dict[str, Permissions], after: dict[str, Permissions], microbus: bool
) -> list[_Change]:
    """The change for each user; a new one had no permissions, a removed one has none."""
    if ("" in before) != ("" in after):
        raise BadFile("one file has one user, the other several: select one with --user")
    nothing = Permissions(publish_allow=(), subscribe_allow=())
    changes = []
    for name in dict.fromkeys([*after, *before]):
        one, other = before.get(name, nothing), after.get(name, nothing)
        changes.append(_Change(name, one.diff(other, microbus=microbus), other))
    return changes


def _rows(found: Diff) -> dict[str, list[dict[str, Any]]]:
    return {
        side: [
            {**dataclasses.asdict(each), "witness_queue": each.witness.queue}
            for each in getattr(found, side)
        ]
        for side in ("added", "removed")
    }


def _text(changes: list[_Change]) -> None:
    lines: list[Text] = []
    for name, found, _ in changes:
        if name and found:
            lines.append(Text(f"{printable(name)}:", "bold"))
        for sign, colour, grants in (("+", "red", found.added), ("-", "green", found.removed)):
            for grant in grants:
                danger = (" danger", "red bold") if grant.danger else ""
                lines.append(
                    Text.assemble(
                        (sign, colour),
                        f" {printable(str(grant))}",
                        danger,
                        (f"  example: {printable(grant.witness)}{_queue(grant)}", "dim"),
                    )
                )
    # One call: each takes as long as a comparison of two users.
    console().print(Text("\n").join(lines) if lines else "[green]✓[/] no difference")


def _queue(grant: Grant) -> str:
    return f" in queue {printable(grant.witness.queue)}" if grant.witness.queue else ""
