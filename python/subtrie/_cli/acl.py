"""``subtrie acl``: show, compare, lint, minimise and test permissions."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
from rich.text import Text

from .._nats.jwt import utc_text
from ..acl import Finding, Permissions, jwt_size
from .acl_diff import diff
from .acl_test import test
from .permission_files import FILE, Selection, every_user, of_user
from .sarif import sarif_of_findings
from .stream import console, print_json, printable

_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


@click.group()
def acl() -> None:
    """Show, compare, lint, minimise and test permissions.

    FILE is a server configuration, a .creds file, a user JWT, or subtrie permissions JSON.
    Exports, imports and mappings of accounts are not checked: they can widen what a user reaches.
    """


acl.add_command(diff)
acl.add_command(test)


@acl.command()
@click.argument("file", type=FILE)
@of_user
@click.option("--json", "as_json", is_flag=True, help="Print subtrie permissions JSON.")
def show(file: Path, selection: Selection, as_json: bool) -> None:
    """Show what FILE grants."""
    permissions = selection.load_determined(file)
    if as_json:
        if (validity := _validity(permissions)) is not None:
            click.echo(f"{printable(str(file))}: {validity}", err=True)
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
    if (validity := _validity(permissions)) is not None:
        screen.print(Text(validity, "red" if permissions.validity.fault() else ""))
    screen.print(
        Text(f"with a user JWT, CONNECT takes about {jwt_size(permissions)} of 4096 bytes", "dim")
    )


def _often(most: int) -> str:
    return "any number" if most < 0 else f"{most} for each message received"


def _long(expires: float) -> str:
    return "without a time limit" if expires < 0 else f"within {expires:g} s"


def _validity(permissions: Permissions) -> str | None:
    """From when and until when the token is good; None if it is good for ever."""
    parts = []
    fault = permissions.validity.fault()
    if permissions.not_before is not None:
        parts.append(f"valid from {utc_text(permissions.not_before)}")
    if permissions.expires is not None:
        verb = "expired at" if fault == "expired" else "expires at"
        parts.append(f"{verb} {utc_text(permissions.expires)}")
    if not parts:
        return None
    return "token: " + ", ".join(parts) + (" (not valid yet)" if fault == "not-yet-valid" else "")


@acl.command()
@click.argument("files", type=FILE, nargs=-1, required=True)
@of_user
@every_user
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each finding.")
@click.option("--sarif", is_flag=True, help="Print a SARIF 2.1.0 report for code hosts.")
def lint(
    files: tuple[Path, ...], selection: Selection, every_user: bool, as_json: bool, sarif: bool
) -> None:
    """Report rules in FILES that reach too far, have no effect, or are too many.

    Exit code 1 if there is an error or a warning.
    """
    findings = []
    for file in files:
        if every_user:
            users = selection.load_each(file, skip_undetermined=True)
        else:
            users = {"": selection.load_determined(file)}
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
        example = f"  example: {each.witness}" if each.witness else ""
        line = Text.assemble(
            printable(place), (each.level, colours[each.level]), f" {each.rule}: ",
            printable(each.message), (printable(example), "dim"),
        )  # fmt: skip
        screen.print(line)
    if not findings:
        screen.print("[green]✓[/] no findings")


@acl.command()
@click.argument("file", type=FILE)
@of_user
@click.option(
    "--format", "form", type=click.Choice(["json", "conf"]), default="json", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def minimise(file: Path, selection: Selection, form: str, as_json: bool) -> None:
    """Print the smallest permissions that grant the same as FILE."""
    permissions = selection.load_determined(file)
    print(permissions.minimised().dump("json" if as_json else form), end="")
