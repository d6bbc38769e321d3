"""``subtrie acl diff``: what does a change grant, and a subject that shows each grant."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ..acl import Diff, Grant
from ..errors import SubtrieError
from .acl_sarif import sarif_of_grants
from .permission_files import FILE, known, loaded, of_user
from .stream import console, printable


@click.command()
@click.argument("files", metavar="[OLD] NEW", nargs=-1, type=FILE, required=True)
@of_user
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
    before = known(base, loaded(base, user, account, account_jwt))
    after = known(new, loaded(new, user, account, account_jwt))
    try:
        found = before.diff(after)
    except SubtrieError as error:
        raise click.UsageError(str(error)) from None
    form = "json" if as_json else form
    if form == "json":
        print(json.dumps({"added": _rows(found.added), "removed": _rows(found.removed)}))
    elif form == "sarif":
        print(json.dumps(sarif_of_grants(found.added, new, after.sources), indent=2))
    elif form == "markdown":
        print(_markdown(found, new), end="")
    else:
        _text(found)
    raise SystemExit(1 if found.added else 0)


def _rows(grants: tuple[Grant, ...]) -> list[dict[str, Any]]:
    return [{**dataclasses.asdict(each), "witness_queue": each.witness.queue} for each in grants]


def _text(found: Diff) -> None:
    screen = console()
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
    if not found:
        screen.print("[green]✓[/] they grant the same")


def _queue(grant: Grant) -> str:
    return f" in queue {grant.witness.queue}" if grant.witness.queue else ""


def _markdown(found: Diff, new: Path) -> str:
    """For a comment in a review. Backticks and bars of subjects are taken care of."""
    lines = [f"### Permissions of `{new.name}`", ""]
    for title, grants in (("grants more", found.added), ("grants less", found.removed)):
        if not grants:
            continue
        lines += [f"**{title}**", "", "| verb | pattern | unless | such as |", "|---|---|---|---|"]
        for each in grants:
            verb = f"{each.verb} ⚠ danger" if each.danger else each.verb
            pattern = f"{each.pattern} {each.queue}" if each.queue else each.pattern
            unless = " ".join(map(_code, each.unless))
            lines.append(f"| {verb} | {_code(pattern)} | {unless} | {_code(each.witness)} |")
        lines.append("")
    if not found:
        lines += ["No change of what is granted.", ""]
    lines += ["Not looked at: what accounts export, import and map.", ""]
    return "\n".join(lines)


def _code(text: str) -> str:
    escaped = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (
        f"<code>{escaped.replace('|', '&#124;').replace('`', '&#96;').replace('*', '&#42;')}</code>"
    )
