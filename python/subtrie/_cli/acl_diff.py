"""``subtrie acl diff``: what a change of permissions grants and revokes."""

# A81

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from .._core.errors import SubtrieError
from .._findings.finding import Finding, Place
from .._findings.junit import Passed
from .._findings.text import file_first
from ..acl import Diff, Permissions
from ..acl._microbus import about_microbus
from ..acl._uncompared import Uncompared, uncompared
from .acl_changes import Change, change_lines, changes_markdown, new_access, queue_text
from .output_formats import JSON, MARKDOWN, TEXT, by_format, print_findings
from .permission_files import (
    SOURCE,
    BadFile,
    UserSelection,
    bad_file,
    by_plane,
    every_user,
    of_user,
)
from .stream import console, printable

#: Why a connection without credentials is a user, of a broker without authorization.
NO_AUTHORIZATION = "no-authorization"


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
    selection: UserSelection,
    every_user: bool,
    policy: Path | None,
    plane: str | None,
    form: str,
) -> None:
    r"""Show what NEW grants that OLD does not, and the reverse; the most far-reaching first.

    Compared are the lists of each user. What else differs and may change who may do what, such as
    exports, mappings, no_auth_user, links to other brokers, and types of connections, is named as
    not compared. Exit code 2 if there is any, 1 if NEW grants anything more, 0 otherwise.

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
        (old_users, new_users), unseen = _compared((base, new), selection)
        if not (every_user or unseen) and len(old_users) == len(new_users) == 1:
            if policy is None:
                unseen += _renamed(*old_users.items(), *new_users.items())
            old_users, new_users = _alone(old_users), _alone(new_users)
        every_user = [*old_users, *new_users] != ["", ""] or every_user
        shown = plane is not None or about_microbus([*old_users.values(), *new_users.values()])
        changes = _of_each(old_users, new_users, shown)
        unseen += [each for each in uncompared(base, new) if selection.concerns(each.user)]
        unseen += [each for change in changes for each in _of_broker(change)]
    except (SubtrieError, OSError) as error:
        raise bad_file(error) from None
    rows = [_row(each, new) for each in unseen]
    if form == JSON:
        lists = {name: _rows(found) for name, found, _ in changes}
        parts = [dataclasses.asdict(each) | {"place": _place(each.place)} for each in unseen]
        answer = {"users": lists} if every_user else lists[""]
        print(json.dumps(answer | {"not_compared": parts}))
    elif form == MARKDOWN:
        print(changes_markdown(changes, Path(new).name, rows), end="")
    elif form == TEXT:
        _text(changes, rows)
    else:
        found = [*new_access(changes, new), *rows]
        passed = () if found else [Passed(str(new), "no new access")]
        print_findings(form, "subtrie acl diff", found, passed=passed)
    if unseen:
        raise SystemExit(2)
    raise SystemExit(1 if any(found.added for _, found, _ in changes) else 0)


def _compared(
    files: tuple[Path, Path], selection: UserSelection
) -> tuple[list[dict[str, Permissions]], list[Uncompared]]:
    """The users whose lists are compared, before and after; and what is not known of others."""
    if selection.names_a_user:
        return [{"": selection.load_determined(each)} for each in files], []
    sides = [selection.load_each(each) for each in files]
    unseen: dict[str, Uncompared] = {}
    for file, users in zip(files, sides, strict=True):
        for name, each in users.items():
            if not each.determined:
                part = f"permissions of {name or file}, decided by {each.decided_by}"
                unseen[name] = Uncompared(part, "not seen", user=name, place=each.place)
            elif each.anonymous == NO_AUTHORIZATION:
                part = (
                    f"users of {file}, which has no authorization: any connection may do everything"
                )
                unseen[f"{name} of {file}"] = Uncompared(part, "not seen")
    known = [{name: each for name, each in users.items() if name not in unseen} for users in sides]
    return known, list(unseen.values())


def _renamed(old: tuple[str, Permissions], new: tuple[str, Permissions]) -> list[Uncompared]:
    """The only users of two configurations, if they have different names."""
    (before, _), (after, permissions) = old, new
    if not before or not after or before == after:
        return []
    return [Uncompared("name of the user", "changed", before, after, place=permissions.place)]


def _of_broker(change: Change) -> Iterator[Uncompared]:
    """The subscriptions on which the sets of subjects do not tell what a broker does."""
    whose = f"{change.user}: " if change.user else ""
    for each in change.diff.broker:
        part = f"{whose}subscribe {each}{queue_text(each)}, which a broker may take only now"
        yield Uncompared(part, "not seen", user=change.user or None, place=change.after.place)


def _row(part: Uncompared, file: Path) -> Finding:
    """A part as a finding: in NEW, as code hosts show nothing of OLD."""
    message, place = f"not compared: {part}", part.place
    if place is not None and part.change == "removed":
        message, place = f"{message} (was at {place.file}:{place.line})", None
    return Finding.at(place or str(file), "not-compared", "error", message)


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else place._asdict()


def _alone(users: dict[str, Permissions]) -> dict[str, Permissions]:
    """The only user, without its name: two users of different names are compared."""
    return dict.fromkeys([""], *users.values())


def _of_each(
    before: dict[str, Permissions], after: dict[str, Permissions], microbus: bool
) -> list[Change]:
    """The change for each user; a new one had no permissions, a removed one has none."""
    if ("" in before) != ("" in after):
        raise BadFile("one file has one user, the other several: select one with --user")
    nothing = Permissions(publish_allow=(), subscribe_allow=())
    changes = []
    for name in dict.fromkeys([*after, *before]):
        one, other = before.get(name, nothing), after.get(name, nothing)
        changes.append(Change(name, one.diff(other, microbus=microbus), other))
    return changes


def _rows(found: Diff) -> dict[str, list[dict[str, Any]]]:
    return {
        side: [
            {**dataclasses.asdict(each), "witness_queue": each.witness.queue}
            for each in getattr(found, side)
        ]
        for side in ("added", "removed")
    }


def _text(changes: list[Change], not_compared: list[Finding]) -> None:
    lines: list[Text] = []
    for name, found, _ in changes:
        if name and found:
            lines.append(Text(file_first(f"{printable(name)}:"), "bold"))
        lines += change_lines(found)
    for row in not_compared:
        line = file_first(printable(f"{row.place}: {row.message}"))
        lines.append(Text.assemble(("?", "yellow"), f" {line}"))
    # One call: each takes as long as a comparison of two users.
    console().print(Text("\n").join(lines) if lines else "[green]✓[/] no difference")
