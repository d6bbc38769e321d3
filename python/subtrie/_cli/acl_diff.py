"""``subtrie acl diff``: what a change of permissions grants and revokes."""

# A81

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from .._core.errors import SubtrieError
from .._findings.finding import Finding, Place
from .._findings.junit import Passed
from .._findings.text import file_first
from ..acl import Diff, Permissions
from ..acl._consequence import Consequence
from ..acl._consequences import Consequences
from ..acl._microbus import about_microbus
from ..acl._uncompared import Uncompared, uncompared
from .acl_changes import Change, change_lines, changes_markdown, new_access, queue_text
from .format_option import JSON, MARKDOWN, TEXT, by_format
from .git_trees import pairs
from .output_formats import print_findings
from .permission_files import (
    SOURCE,
    BadFile,
    UserSelection,
    bad_file,
    by_plane,
    every_user,
    of_user,
)
from .stream import Line, printable, say_good, say_lines


@click.command()
@click.argument("files", metavar="[OLD] NEW", nargs=-1, type=SOURCE, required=True)
@of_user
@every_user
@click.option(
    "--no-new-access-than", "policy", type=SOURCE, metavar="RULES",
    help="Compare NEW with these permissions, such as subtrie acl minimise writes, instead of OLD.",
)  # fmt: skip
@click.option(
    "--git", "revisions", metavar="OLD[..NEW]",
    help="Compare each file with that of a git revision, which includes the files of its own tree.",
)  # fmt: skip
@by_plane
@by_format
def diff(
    files: tuple[Path, ...],
    selection: UserSelection,
    every_user: bool,
    policy: Path | None,
    revisions: str | None,
    plane: str | None,
    form: str,
) -> None:
    r"""Show what NEW grants that OLD does not, and the reverse; the most far-reaching first.

    Compared are the lists of each user, and, by an example of a message that now reaches another
    user, imports, exports, mappings, no_auth_user, the system account, leaf nodes, and types of
    connections. What else differs and may change who may do what, or has no such example, is named
    as not compared. With --git, the files are those after the change: of the working tree, or of
    NEW. Exit code 2 if something was not compared, 1 if NEW grants anything more, 0 otherwise.

    \b
    Examples:
      subtrie acl diff old.conf new.conf
      subtrie acl diff --git origin/main nats.conf
      subtrie acl diff --no-new-access-than rules.json orders.creds --format sarif
    """
    if revisions is not None:
        if policy is not None:
            raise click.UsageError("--git names OLD; leave out --no-new-access-than")
        if len(files) > 1 and form in ("sarif", "junit"):
            raise click.UsageError(f"--format {form} takes one file at a time")
        with pairs(revisions, files) as found:
            codes = [_compare(each.old, each.new, selection, every_user, False, plane, form,
                              each.shown) for each in found]  # fmt: skip
        raise SystemExit(max(codes))
    both = files if policy is None else (policy, *files)
    if len(both) != 2:
        raise click.UsageError("give OLD and NEW, or NEW and --no-new-access-than RULES")
    code = _compare(*both, selection, every_user, policy is not None, plane, form, str)
    raise SystemExit(code)


def _compare(
    base: Path,
    new: Path,
    selection: UserSelection,
    every_user: bool,
    of_policy: bool,
    plane: str | None,
    form: str,
    shown_as: Callable[[str], str],
) -> int:
    """Print how two inputs differ, and return the exit code.

    Args:
        base: the input before the change.
        new: that after it.
        selection: the user.
        every_user: True to name the user also if there is only one.
        of_policy: True if ``base`` is a policy.
        plane: the plane of a Microbus deployment.
        form: the format.
        shown_as: returns a path as a reader knows it.
    """
    try:
        (old_users, new_users), unseen = _compared((base, new), selection)
        both = {**old_users, **new_users}
        opened = len(both) > 1 and any(each.anonymous for each in both.values())
        if not (every_user or unseen or opened) and len(old_users) == len(new_users) == 1:
            if not of_policy:
                unseen += _renamed(*old_users.items(), *new_users.items())
            old_users, new_users = _alone(old_users), _alone(new_users)
        every_user = [*old_users, *new_users] != ["", ""] or every_user
        shown = plane is not None or about_microbus([*old_users.values(), *new_users.values()])
        changes = _of_each(old_users, new_users, shown)
        parts = [each for each in uncompared(base, new) if selection.concerns(each.user)]
        consequences: list[Consequence] = []
        if parts and not selection.names_a_user and not of_policy:
            consequences, parts = _explained(base, new, selection, parts)
        unseen += parts
        unseen += [each for change in changes for each in _of_broker(change)]
    except (SubtrieError, OSError) as error:
        raise bad_file(error) from None
    unseen = [_placed(each, shown_as) for each in unseen]
    consequences = [_placed(each, shown_as) for each in consequences]
    rows = [_row(each, new) for each in unseen]
    gains = [_gain(each, new) for each in consequences if each.gained]
    if form == JSON:
        lists = {name: _rows(found) for name, found, _ in changes}
        named, reached = _objects(unseen), _objects(consequences)
        answer = {"users": lists} if every_user else lists[""]
        print(json.dumps(answer | {"consequences": reached, "not_compared": named}))
    elif form == MARKDOWN:
        print(changes_markdown(changes, Path(new).name, rows, consequences), end="")
    elif form == TEXT:
        _text(changes, consequences, rows)
    else:
        found = [*new_access(changes, new), *gains, *rows]
        passed = () if found else [Passed(str(new), "no new access")]
        print_findings(form, "subtrie acl diff", found, passed=passed)
    if unseen:
        return 2
    return 1 if gains or any(found.added for _, found, _ in changes) else 0


_Placed = TypeVar("_Placed", Uncompared, Consequence)


def _placed(each: _Placed, shown_as: Callable[[str], str]) -> _Placed:
    """The same, with the file of its place as a reader knows it."""
    if each.place is None:
        return each
    return dataclasses.replace(each, place=each.place._replace(file=shown_as(each.place.file)))


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
    known = [{name: each for name, each in users.items() if name not in unseen} for users in sides]
    return known, list(unseen.values())


def _explained(
    base: Path, new: Path, selection: UserSelection, parts: list[Uncompared]
) -> tuple[list[Consequence], list[Uncompared]]:
    """Return what parts that differ lead to, and those without an example."""
    old, after = (selection.deployment(each) for each in (base, new))
    if old is None or after is None:
        return Consequences.of_token(parts)
    return Consequences(old, after).explain(parts)


def _gain(each: Consequence, file: Path) -> Finding:
    """Something that is possible only now, as a finding: in NEW, as code hosts show only that."""
    inside = each.place is not None and _is_below(each.place.file, Path(file).parent)
    where = each.place if inside and each.place is not None else str(file)
    message = f"New access: {each.message}"
    return Finding.at(where, "new-access", "error", message, witness=each.witness)


def _is_below(file: str, folder: Path) -> bool:
    return Path(file).resolve().is_relative_to(folder.resolve())


#: Fields that the others say in words.
_INSIDE = ("keys", "times")


def _objects(found: Sequence[Consequence] | Sequence[Uncompared]) -> list[dict[str, Any]]:
    rows = (dataclasses.asdict(each) | {"place": _place(each.place)} for each in found)
    return [{key: value for key, value in row.items() if key not in _INSIDE} for row in rows]


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


def _text(
    changes: list[Change], consequences: list[Consequence], not_compared: list[Finding]
) -> None:
    lines: list[Line] = []
    for name, found, _ in changes:
        if name and found:
            lines.append([(file_first(f"{printable(name)}:"), "bold")])
        lines += change_lines(found)
    for each in consequences:
        mark = ("+", "red") if each.gained else ("-", "green")
        line = file_first(printable(f"{_where(each.place)}{each.message}"))
        lines.append([mark, f" {line}"])
    for row in not_compared:
        line = file_first(printable(f"{row.place}: {row.message}"))
        lines.append([("?", "yellow"), f" {line}"])
    say_lines(lines) if lines else say_good("no difference")


def _where(place: Place | None) -> str:
    return "" if place is None else f"{place.file}:{place.line}:{place.column}: "
