"""``subtrie acl diff``: what does a change grant, and a subject that shows each grant."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from .._errors import SubtrieError
from ..acl import Diff, Grant, Permissions
from .markdown import markdown
from .permission_files import FILE, each_loaded, every_user, known, loaded, of_user
from .sarif import sarif_of_grants
from .stream import console, printable


class _Change(NamedTuple):
    """What changed for one user; the name is empty where it is the only one."""

    user: str
    diff: Diff
    after: Permissions


@click.command()
@click.argument("files", metavar="[OLD] NEW", nargs=-1, type=FILE, required=True)
@of_user
@every_user
@click.option(
    "--no-new-access-than", "policy", type=FILE,
    help="Hold NEW against this policy, in the place of OLD.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown", "sarif"]), default="text",
    show_default=True,
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def diff(
    files: tuple[Path, ...],
    user: str | None,
    account: str | None,
    account_jwt: Path | None,
    every_user: bool,
    policy: Path | None,
    form: str,
    as_json: bool,
) -> None:
    """What does NEW grant that OLD does not, and the reverse? The worst comes first.

    Exit code 1 when NEW grants anything more, 0 otherwise.
    """
    both = files if policy is None else (policy, *files)
    if len(both) != 2:
        raise click.UsageError("give OLD and NEW, or NEW and --no-new-access-than POLICY")
    base, new = both
    try:
        if every_user:
            changes = _of_each(each_loaded(base, account_jwt), each_loaded(new, account_jwt))
        else:
            before = known(base, loaded(base, user, account, account_jwt))
            after = known(new, loaded(new, user, account, account_jwt))
            changes = [_Change("", before.diff(after), after)]
    except SubtrieError as error:
        raise click.UsageError(str(error)) from None
    form = "json" if as_json else form
    if form == "json":
        rows = {name: _rows(found) for name, found, _ in changes}
        print(json.dumps({"users": rows} if every_user else rows[""]))
    elif form == "sarif":
        grants = [(name, each, after) for name, found, after in changes for each in found.added]
        print(json.dumps(sarif_of_grants(grants, new), indent=2))
    elif form == "markdown":
        print(markdown(changes, new.name), end="")
    else:
        _text(changes)
    raise SystemExit(1 if any(found.added for _, found, _ in changes) else 0)


def _of_each(before: dict[str, Permissions], after: dict[str, Permissions]) -> list[_Change]:
    """By user; one that is new had nothing, one that went has nothing."""
    if ("" in before) != ("" in after):
        raise click.UsageError("one file is of one user, the other of several: name it with --user")
    nothing = Permissions(publish_allow=(), subscribe_allow=())
    changes = []
    for name in dict.fromkeys([*after, *before]):
        one, other = before.get(name, nothing), after.get(name, nothing)
        changes.append(_Change(name, one.diff(other), other))
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
    screen = console()
    for name, found, _ in changes:
        if name and found:
            screen.print(Text(f"{printable(name)}:", "bold"))
        for sign, colour, grants in (("+", "red", found.added), ("-", "green", found.removed)):
            for grant in grants:
                danger = (" danger", "red bold") if grant.danger else ""
                screen.print(
                    Text.assemble(
                        (sign, colour),
                        f" {printable(str(grant))}",
                        danger,
                        (f"  such as {printable(grant.witness)}{_queue(grant)}", "dim"),
                    )
                )
    if not any(found for _, found, _ in changes):
        screen.print("[green]✓[/] they grant the same")


def _queue(grant: Grant) -> str:
    return f" in queue {printable(grant.witness.queue)}" if grant.witness.queue else ""
