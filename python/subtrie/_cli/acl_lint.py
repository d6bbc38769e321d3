"""``subtrie acl lint`` and ``subtrie acl rule``: findings for a reviewer, and what they mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import click

from .._core.errors import SubtrieError
from .._findings.finding import Finding
from .._findings.junit import Passed
from .._findings.sarif import fingerprint
from ..acl import LINT_RULES, Deployment, Permissions
from ..acl._broker_lint import (
    configuration_findings,
    deployment_findings,
    user_findings,
)
from ..acl._load import is_configuration
from ..acl._microbus import about_microbus
from .format_option import JSON, MARKDOWN, TEXT, by_format, formats
from .lint_baseline import Comments, read_baseline, write_baseline
from .output_formats import print_findings
from .permission_files import (
    FILE,
    SOURCE,
    BadFile,
    UserSelection,
    bad_file,
    by_plane,
    every_user,
    of_user,
)
from .stream import printable, say


class _RuleCodes(click.ParamType):  # type: ignore[type-arg]
    """Codes of lint rules, separated by commas."""

    name = "code,…"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[str]:
        """Return the codes."""
        codes = [each.strip() for each in str(value).split(",")]
        for each in codes:
            if each not in LINT_RULES:
                self.fail(f"no lint rule is called {printable(each)}; see subtrie acl rule")
        return frozenset(codes)


@click.command()
@click.argument("files", type=SOURCE, nargs=-1, required=True)
@of_user
@every_user
@by_plane
@click.option("--select", type=_RuleCodes(), multiple=True, help="Only these rules.")
@click.option("--ignore", type=_RuleCodes(), multiple=True, help="All rules but these.")
@click.option("--baseline", type=FILE, help="Leave out the findings in this file.")
@click.option(
    "--write-baseline", "new_baseline", type=click.Path(dir_okay=False, path_type=Path),
    help="Write all findings to this file, as accepted; exit code 0.",
)  # fmt: skip
@by_format
def lint(
    files: tuple[Path, ...],
    selection: UserSelection,
    every_user: bool,
    plane: str | None,
    select: tuple[frozenset[str], ...],
    ignore: tuple[frozenset[str], ...],
    baseline: Path | None,
    new_baseline: Path | None,
    form: str,
) -> None:
    r"""Report rules in FILES that reach too far, have no effect, or are too many.

    A comment '# subtrie: ignore[code]' on the line of an entry, or alone above it, suppresses a
    finding.
    Exit code 1 if there is an error or a warning; 2 if the permissions of users are not in FILES,
    which is a finding, too, that --ignore and a baseline accept.

    \b
    Examples:
      subtrie acl lint nats.conf
      subtrie acl lint nats.conf --ignore allow-responses --format sarif
    """
    chosen = frozenset[str]().union(*select) if select else frozenset(LINT_RULES)
    chosen -= frozenset[str]().union(*ignore)
    known = set() if baseline is None else read_baseline(baseline)
    comments = Comments()
    findings = [
        each
        for file in files
        for each in findings_of(file, selection, plane)
        if each.rule in chosen and not comments.suppress(each) and fingerprint(each) not in known
    ]
    if new_baseline is not None:
        write_baseline(new_baseline, findings)
        click.echo(f"{printable(str(new_baseline))}: {len(findings)} findings", err=True)
        return
    clean = sorted({str(file) for file in files} - {each.file for each in findings})
    passed = [Passed(file, "no findings") for file in clean]
    print_findings(form, "subtrie acl lint", findings, passed=passed)
    if any(each.rule == "not-determined" for each in findings):
        raise SystemExit(2)
    raise SystemExit(1 if any(each.level != "note" for each in findings) else 0)


def findings_of(file: Path, selection: UserSelection, plane: str | None) -> list[Finding]:
    """Return all findings about a file, each with its user; of the broker those without a user.

    Args:
        file: the file, also ``-``.
        selection: the users.
        plane: the plane of a Microbus deployment; None if the entries tell.
    """
    deployment = None
    try:
        if selection.names_a_user:
            users = {"": selection.load_determined(file)}
        else:
            users = selection.load_each(file)
        deployment = selection.deployment(file)
    except BadFile as error:
        if error.reason != "jwt-revoked":
            raise
        message = "the account has revoked this user: no client can connect with the token"
        return [Finding("revoked", "error", message, file=str(file))]
    if list(users) == [""] and deployment is not None:
        known = [each for each in deployment.users if selection.concerns(each)]
        users = {known[0]: users[""]} if len(known) == 1 else users
    microbus = plane is not None or about_microbus(users.values())
    found = []
    for name, permissions in users.items():
        for each in permissions.lint(microbus=microbus):
            message = f"{name}: {each.message}" if name else each.message
            where = each.file or str(file)
            found.append(dataclasses.replace(each, message=message, file=where, user=name))
    return [*found, *_of_broker(file, selection, users, deployment)]


def _of_broker(
    file: Path,
    selection: UserSelection,
    users: dict[str, Permissions],
    deployment: Deployment | None,
) -> Iterator[Finding]:
    """Findings about the broker, and about what users may do to it."""
    found = list(user_findings(users, deployment))
    if deployment is not None and not selection.names_a_user:
        found += deployment_findings(deployment)
        try:
            if is_configuration(file):
                found += configuration_findings(Path(file))
        except (SubtrieError, OSError) as error:
            raise bad_file(error) from None
    for each in found:
        message = f"{each.user}: {each.message}" if each.user else each.message
        yield dataclasses.replace(each, message=message, file=each.file or str(file))


@click.command()
@click.argument("name", metavar="[CODE]", required=False)
@formats((TEXT, JSON, MARKDOWN))
def rule(name: str | None, form: str) -> None:
    r"""Explain the lint rule CODE, or list all.

    \b
    Examples:
      subtrie acl rule
      subtrie acl rule unbounded-depth
    """
    if name is not None and name not in LINT_RULES:
        raise click.UsageError(f"no lint rule is called {printable(name)}; see subtrie acl rule")
    chosen = [each for each in LINT_RULES.values() if name in (None, each.code)]
    if form != TEXT:
        fields = chosen[0]._fields
        cells = [[str(getattr(each, field)) for field in fields] for each in chosen]
        objects = (each._asdict() for each in chosen)
        print_findings(form, "subtrie acl rule", (), objects=objects, table=(fields, cells))
        return
    for each in chosen:
        if name is None:
            say(f"{each.code:16} {each.level:8} {each.summary}")
        else:
            scope = "\nApplies to subjects of Microbus only." if each.microbus else ""
            say(f"{each.code} ({each.level}): {each.summary}{scope}\n")
            say(f"Why: {each.why}\nInstead: {each.instead}")
            say((f"Suppress: # subtrie: ignore[{each.code}]", "dim"))
