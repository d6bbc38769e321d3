"""``subtrie acl``: show, compare, lint, minimise and test permissions; who may do what."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import click

from .._core.duration import readable_duration
from .._core.reasons import REASONS
from .._findings.finding import Finding
from .._nats.jwt import utc_text
from ..acl import Permissions, ResponseLimit
from ..acl._lint import jwt_size
from ..acl._load.connections import OTHER_USERS, USERS_NOT_GIVEN
from .acl_diff import diff
from .acl_flows import flows
from .acl_lint import findings_of, lint, rule
from .acl_need import need
from .acl_streams import streams
from .acl_test import test
from .acl_usage import usage
from .acl_users import show_users
from .acl_who import who
from .anonymous import anonymity
from .command_group import CommandGroup
from .format_option import FORMS, JSON, TEXT, by_format, formats
from .lint_baseline import Comments
from .output_formats import print_findings
from .permission_files import SOURCE, UserSelection, by_plane, every_user, of_user
from .stream import printable, say
from .why import why

_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


@click.group(cls=CommandGroup)
def acl() -> None:
    """Show, compare, lint, minimise and test permissions.

    FILE is a server configuration, a .creds file, a user JWT, subtrie permissions JSON, a folder
    of JWTs as nsc keeps them, saved answers of /accountz and /connz, the address of a broker's
    monitoring port (http://127.0.0.1:8222), or - for standard input.
    'who', 'diff' and 'flows' follow exports, imports and mappings of accounts.
    """


for _command in (diff, flows, lint, need, rule, streams, test, usage, who, copy(why)):
    acl.add_command(_command)
acl.commands["why"].help = (why.help or "").replace("subtrie why", "subtrie acl why")


@acl.command()
@click.argument("file", type=SOURCE)
@of_user
@every_user
@by_plane
@by_format
def show(
    file: Path, selection: UserSelection, every_user: bool, plane: str | None, form: str
) -> None:
    r"""Show what FILE grants: the lists of one user, or a table of all users.

    As JSON, subtrie permissions JSON; of several users, one object for each row. As SARIF and
    JUnit, one note or passed test case for each entry; of several users, for each user. The
    findings are those of lint. Exit code 2 if what a user may do is decided elsewhere.

    \b
    Examples:
      subtrie acl show nats.conf
      subtrie acl show orders.creds --format json
    """
    if not selection.names_a_user:
        users = selection.load_each(file)
        if every_user or len(users) > 1 or OTHER_USERS in users:
            found = findings_of(file, selection, plane)
            show_users(users, str(file), itertools.filterfalse(Comments().suppress, found), form)
            if any(each.decided_by == USERS_NOT_GIVEN for each in users.values()):
                hint = REASONS["operator-mode"].hint
                click.echo(f"{printable(str(file))}: other users: {hint}", err=True)
            raise SystemExit(0 if all(each.determined for each in users.values()) else 2)
    permissions = selection.load_determined(file)
    if form == JSON:
        if (validity := _validity(permissions)) is not None:
            click.echo(f"{printable(str(file))}: {validity}", err=True)
        print(permissions.dump("json"), end="")
        return
    if form != TEXT:
        cells = list(_cells(permissions))
        rows = [_note("entry", f"{title}: {entry}", title, entry, permissions, file)
                for title, entry in cells]  # fmt: skip
        print_findings(form, "subtrie acl show", rows, table=(("list", "entry"), cells))
        return
    for name in _LISTS:
        entries = getattr(permissions, name)
        if entries == () and name.endswith("deny"):
            continue
        title = name.replace("_", " ")
        if not entries:
            say(f"{title}: {'everything' if entries is None else 'nothing'}")
            continue
        say(f"{title}:")
        for entry in entries:
            say("  " + printable(entry))
    if permissions.allow_responses is not None:
        say(f"allow responses: {_responses(permissions.allow_responses)}")
    if (reason := anonymity(permissions)) is not None:
        say(reason)
    if permissions.connection_types:
        say(printable(f"connections: {', '.join(permissions.connection_types)}"))
    if (validity := _validity(permissions)) is not None:
        say((validity, "red" if permissions.validity.fault() else ""))
    if not permissions.from_token and (permissions.place is not None or permissions.anonymous):
        return  # a user of a configuration has no JWT
    size = jwt_size(permissions)
    say((f"with a user JWT, CONNECT takes about {size} of 4096 bytes", "dim"))


def _cells(permissions: Permissions) -> Iterator[tuple[str, str]]:
    """The lists as a table."""
    for name in _LISTS:
        entries = getattr(permissions, name)
        title = name.replace("_", " ")
        if entries is None or (not entries and name.endswith("allow")):
            yield title, "everything" if entries is None else "nothing"
        for entry in entries or ():
            yield title, entry
    if permissions.allow_responses is not None:
        yield "allow responses", _responses(permissions.allow_responses)


def _responses(limit: ResponseLimit) -> str:
    often = "any number" if limit.max < 0 else f"{limit.max} for each message received"
    within = readable_duration(limit.expires)
    return f"{often}, {'without a time limit' if limit.expires < 0 else f'within {within}'}"


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


def _note(
    rule: str, message: str, title: str, entry: str, permissions: Permissions, file: Path
) -> Finding:
    """A finding about an entry of a list, at its place if that is known."""
    place = permissions.sources.get((title.replace(" ", "_"), entry), permissions.place)
    return Finding.at(place or str(file), rule, "note", message)


@acl.command()
@click.argument("file", type=SOURCE)
@of_user
@formats((JSON, "conf", *(each for each in FORMS if each not in (TEXT, JSON))))
def minimise(file: Path, selection: UserSelection, form: str) -> None:
    r"""Print the smallest permissions that grant the same as FILE.

    As SARIF and JUnit, one note or passed test case for each entry that they leave out or add.

    \b
    Examples:
      subtrie acl minimise nats.conf --user web
      subtrie acl minimise orders.creds --format conf
    """
    permissions = selection.load_determined(file)
    smallest = permissions.minimised()
    if form in (JSON, "conf"):
        print(smallest.dump(form), end="")
        return
    before, after = (dict.fromkeys(_cells(each)) for each in (permissions, smallest))
    rows = [
        _note("smallest", f"{title} {entry} is {what} the smallest form", title, entry,
              permissions, file)
        for what, these, others in (("not in", before, after), ("new in", after, before))
        for title, entry in these
        if (title, entry) not in others
    ]  # fmt: skip
    print_findings(form, "subtrie acl minimise", rows, table=(("list", "entry"), after))
