"""``subtrie acl``: permissions shown, compared, reviewed, shortened and tested."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
from rich.text import Text

from ..acl import Finding, jwt_size
from .acl_diff import diff
from .acl_test import test
from .permission_files import FILE, each_loaded, every_user, known, loaded, of_user
from .sarif import sarif_of_findings
from .stream import console, print_json, printable

_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


@click.group()
def acl() -> None:
    """Who may? Permissions shown, compared, reviewed, shortened and tested.

    FILE is a server configuration, a .creds file, a user JWT, or JSON of ours. What accounts
    export, import and map is not looked at: it can widen what a user reaches.
    """


acl.add_command(diff)
acl.add_command(test)


@acl.command()
@click.argument("file", type=FILE)
@of_user
@click.option("--json", "as_json", is_flag=True, help="The permissions as JSON of ours.")
def show(
    file: Path, user: str | None, account: str | None, account_jwt: Path | None, as_json: bool
) -> None:
    """What does FILE grant?"""
    permissions = known(file, loaded(file, user, account, account_jwt))
    if as_json:
        print(permissions.dump("json"), end="")
        return
    screen = console()
    for name in _LISTS:
        entries = getattr(permissions, name)
        if entries == () and name.endswith("deny"):
            continue
        title = name.replace("_", " ")
        if not entries:
            screen.print(f"{title}: {'everything' if entries is None else 'nothing'}")
            continue
        screen.print(f"{title}:")
        for entry in entries:
            screen.print(Text("  " + printable(entry)))
    if permissions.allow_responses is not None:
        limit = permissions.allow_responses
        screen.print(f"allow responses: {_often(limit.max)}, {_long(limit.expires)}")
    screen.print(
        Text(f"with a user JWT, CONNECT takes about {jwt_size(permissions)} of 4096 bytes", "dim")
    )


def _often(most: int) -> str:
    return "any number" if most < 0 else f"{most} for each message received"


def _long(expires: float) -> str:
    return "for ever" if expires < 0 else f"within {expires:g} s"


@acl.command()
@click.argument("files", type=FILE, nargs=-1, required=True)
@of_user
@every_user
@click.option("--json", "as_json", is_flag=True, help="One JSON object a finding.")
@click.option("--sarif", is_flag=True, help="A SARIF 2.1.0 report for code hosts.")
def lint(
    files: tuple[Path, ...],
    user: str | None,
    account: str | None,
    account_jwt: Path | None,
    every_user: bool,
    as_json: bool,
    sarif: bool,
) -> None:
    """What should a reviewer of FILES look at? Exit code 1 when there is an error or a warning."""
    findings = []
    for file in files:
        if every_user:
            users = each_loaded(file, account_jwt, leave_out=True)
        else:
            users = {"": known(file, loaded(file, user, account, account_jwt))}
        for name, permissions in users.items():
            for each in permissions.lint():
                message = f"{name}: {each.message}" if name else each.message
                place = each.file or str(file)
                findings.append(dataclasses.replace(each, message=message, file=place))
    if sarif:
        print(json.dumps(sarif_of_findings(findings), indent=2))
    elif as_json:
        for finding in findings:
            print_json(dataclasses.asdict(finding))
    else:
        _print(findings)
    raise SystemExit(1 if any(each.level != "note" for each in findings) else 0)


def _print(findings: list[Finding]) -> None:
    screen = console()
    colours = {"error": "red", "warning": "yellow", "note": "dim"}
    for each in findings:
        place = f"{each.file}:{each.line}: " if each.line else f"{each.file}: "
        example = f"  such as {each.witness}" if each.witness else ""
        line = Text.assemble(
            printable(place), (each.level, colours[each.level]), f" {each.rule}: ",
            printable(each.message), (printable(example), "dim"),
        )  # fmt: skip
        screen.print(line)
    if not findings:
        screen.print("[green]✓[/] nothing to remark")


@acl.command()
@click.argument("file", type=FILE)
@of_user
@click.option(
    "--format", "form", type=click.Choice(["json", "conf"]), default="json", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def minimise(
    file: Path,
    user: str | None,
    account: str | None,
    account_jwt: Path | None,
    form: str,
    as_json: bool,
) -> None:
    """The smallest permissions that grant the same as FILE."""
    permissions = known(file, loaded(file, user, account, account_jwt))
    print(permissions.minimised().dump("json" if as_json else form), end="")
