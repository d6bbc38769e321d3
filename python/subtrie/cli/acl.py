"""``subtrie acl``: permissions shown, compared, reviewed, shortened and tested."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

import click
from rich.text import Text

from ..acl import Decision, Finding, Permissions
from ..acl.lint import jwt_size
from ..errors import SubtrieError
from .acl_diff import diff
from .acl_sarif import sarif_of_findings
from .permission_files import FILE, known, loaded, of_user
from .stream import console, line_of, printable

_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


@click.group()
def acl() -> None:
    """Who may? Permissions shown, compared, reviewed, shortened and tested.

    FILE is a server configuration, a .creds file, a user JWT, or JSON of ours. What accounts
    export, import and map is not looked at: it can widen what a user reaches.
    """


acl.add_command(diff)


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
    screen.print(Text(f"as a user JWT about {jwt_size(permissions)} of 4096 bytes", "dim"))


def _often(most: int) -> str:
    return "any number" if most < 0 else f"{most} for each message received"


def _long(expires: float) -> str:
    return "for ever" if expires < 0 else f"within {expires:g} s"


@acl.command()
@click.argument("files", type=FILE, nargs=-1, required=True)
@of_user
@click.option("--json", "as_json", is_flag=True, help="One JSON object a finding.")
@click.option("--sarif", is_flag=True, help="A SARIF 2.1.0 report for code hosts.")
def lint(
    files: tuple[Path, ...],
    user: str | None,
    account: str | None,
    account_jwt: Path | None,
    as_json: bool,
    sarif: bool,
) -> None:
    """What should a reviewer of FILES look at? Exit code 1 when there is an error or a warning."""
    findings = []
    for file in files:
        for each in known(file, loaded(file, user, account, account_jwt)).lint():
            findings.append(each if each.file else dataclasses.replace(each, file=str(file)))
    if sarif:
        print(json.dumps(sarif_of_findings(findings), indent=2))
    elif as_json:
        for finding in findings:
            line_of(dataclasses.asdict(finding))
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
def minimise(
    file: Path, user: str | None, account: str | None, account_jwt: Path | None, form: str
) -> None:
    """The smallest permissions that grant the same as FILE."""
    permissions = known(file, loaded(file, user, account, account_jwt))
    print(permissions.minimised().dump(form), end="")


@acl.command()
@click.argument("expected", type=FILE)
@click.argument("file", type=FILE)
@of_user
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def test(
    expected: Path,
    file: Path,
    user: str | None,
    account: str | None,
    account_jwt: Path | None,
    as_json: bool,
) -> None:
    """Does FILE answer as EXPECTED says?

    EXPECTED holds lines such as 'yes publish orders.new', 'no subscribe orders.> workers'; blank
    lines and lines that begin with '#' are passed over. Exit code 1 when one answer differs.
    """
    permissions = known(file, loaded(file, user, account, account_jwt))
    screen = console()
    failed = 0
    for number, line in enumerate(expected.read_text().splitlines(), 1):
        words = shlex.split(line, comments=False)
        if not words or words[0].startswith("#"):
            continue
        try:
            wanted, decision = _answer(permissions, words)
        except (SubtrieError, ValueError) as error:
            raise click.UsageError(f"{expected}, line {number}: {error}") from None
        right = wanted == bool(decision)
        failed += not right
        if as_json:
            line_of({"line": number, "expected": wanted, "right": right, "why": decision.why})
        elif not right:
            screen.print(
                Text.assemble(("✗ ", "red"), f"line {number}: {' '.join(words)}: {decision.why}")
            )
    if not as_json and not failed:
        screen.print("[green]✓[/] every answer is as expected")
    raise SystemExit(1 if failed else 0)


def _answer(permissions: Permissions, words: list[str]) -> tuple[bool, Decision]:
    if len(words) not in (3, 4) or words[0] not in ("yes", "no"):
        raise ValueError(
            "write 'yes' or 'no', 'publish' or 'subscribe', a subject, perhaps a queue"
        )
    said, verb, subject, *queue = words
    if verb == "publish" and not queue:
        return said == "yes", permissions.can_publish(subject)
    if verb == "subscribe":
        return said == "yes", permissions.can_subscribe(subject, queue=queue[0] if queue else None)
    raise ValueError("the verb is 'publish', which takes no queue, or 'subscribe'")
