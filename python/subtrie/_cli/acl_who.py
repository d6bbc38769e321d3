"""``subtrie acl who``: the users that may do one thing, in all accounts of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from .._core import engine
from .._core.errors import SubtrieError
from .._findings.finding import Finding
from ..acl import Deployment, Permissions
from ..acl._access import Access, AccessReview, split_question
from ..acl._entitlement import entitlement
from ..acl._jetstream.access import VERBS
from ..acl._load.connections import OTHER_USERS, USERS_NOT_GIVEN
from .acl_stream_access import who_stream
from .anonymous import anonymity
from .format_option import TEXT, by_format
from .output_formats import print_findings
from .permission_files import SOURCE, BadFile, UserSelection, bad_file, by_model, of_user
from .stream import printable, say

#: The rule and the level of a row, by whether the user may.
_KINDS = {True: ("may", "note"), None: ("not-determined", "error")}


@click.command()
@click.argument("question", metavar="[ACCOUNT:]SUBJECT")
@click.argument("files", type=SOURCE, nargs=-1, required=True)
@of_user
@click.option(
    "--verb", type=click.Choice(["publish", "subscribe", "receive", *VERBS]), default="publish",
    show_default=True,
)  # fmt: skip
@by_model
@by_format
def who(
    question: str,
    files: tuple[Path, ...],
    selection: UserSelection,
    verb: str,
    model: str | None,
    form: str,
) -> None:
    r"""List the users of FILES that may publish SUBJECT; --verb asks another question.

    With --verb read, write, delete or admin, SUBJECT is a stream, or a subject that streams
    capture, and FILES hold the streams, too: a saved answer of
    /jsz?accounts=1&streams=1&consumers=1&config=1, or the address of a monitoring port.

    SUBJECT is one of ACCOUNT, as its clients publish it. Users of other accounts are listed, too,
    if exports, imports or mappings lead there, with the subject by which they know the message.
    Without an account, every account is asked. Each user comes with the rule that decides. SUBJECT
    may be a pattern: then who may do so with any subject of it, and an example; to subscribe means
    with the whole pattern, so that who may receive some of it alone is not listed. A user about
    whom it is not known, because the permissions are decided elsewhere or the models differ, has a
    question mark, and so have clients of other brokers that a cluster, a gateway or a leaf node may
    bring in. Of a monitoring port or a saved /connz, which tell no permissions, a user may receive
    and subscribe to what it subscribes to now. Each of FILES is asked by itself. Exit code 1 if no
    user may, 2 if that is not known of one.

    \b
    Examples:
      subtrie acl who orders.eu.new nats.conf
      subtrie acl who 'ORDERS:orders.>' nats.conf --verb receive
      subtrie acl who ORDERS nats.conf jsz.json --verb read
    """
    if verb in VERBS:
        raise SystemExit(who_stream(question, files, selection, verb, form))
    try:
        found = [
            {"file": str(file), **row}
            for file in files
            for row in _who(file, selection, question, verb, model)
        ]
    except SubtrieError as error:
        raise bad_file(error) from None
    if form == TEXT:
        _print(found, question, verb)
    else:
        rows = [
            Finding.at(each["file"], *_KINDS[each["allowed"]], _sentence(each)) for each in found
        ]
        headings = ("account", "user", "rule", "example", "known as")
        table = (
            (e["account"] or "", e["user"] or e["file"], e["rule"], e["witness"] or "",
             e["known_as"] or "") for e in found
        )  # fmt: skip
        print_findings(form, "subtrie acl who", rows, objects=found, table=(headings, table))
    if any(each["allowed"] is None for each in found):
        raise SystemExit(2)
    raise SystemExit(0 if found else 1)


def _who(
    file: Path, selection: UserSelection, question: str, verb: str, model: str | None
) -> Iterator[dict[str, Any]]:
    deployment = selection.deployment(file)
    if deployment is None:
        engine.check_pattern(question, "server")
        users = {"": selection.load(file)} if selection.names_a_user else selection.load_each(file)
        yield from _of_users(users, question, verb, model)
        return
    account, subject = split_question(question, deployment.accounts)
    if account is None and ":" in question and "." not in (named := question.partition(":")[0]):
        known = printable(", ".join(deployment.accounts))
        click.echo(
            f"{printable(str(file))}: no account is called {printable(named)}; there are {known}: "
            f"{printable(question)} is taken as a subject of each of them",
            err=True,
        )
    engine.check_pattern(subject, "server")
    _check_selection(selection, deployment, file)
    review = AccessReview(deployment, model)
    names = [account] if account is not None else list(deployment.accounts)
    for name in names:
        for each in review.who(name, subject, verb):
            if selection.concerns(each.user):
                user = deployment.users.get(each.user, Permissions())
                yield _row(each, user, subject, verb)
    if not deployment.users:  # accounts that are not given have them
        rule = f"decided elsewhere, by {USERS_NOT_GIVEN}"
        unknown = Access("", OTHER_USERS, rule, determined=False)
        yield _row(unknown, Permissions(), subject, verb)


def _check_selection(selection: UserSelection, deployment: Deployment, file: Path) -> None:
    if deployment.users and not any(map(selection.concerns, deployment.users)):
        names = ", ".join(deployment.users)
        raise BadFile(f"{file}: no such user; there are {names}")


def _of_users(
    users: dict[str, Permissions], subject: str, verb: str, model: str | None
) -> Iterator[dict[str, Any]]:
    """Rows about lists of users, whose accounts are not known."""
    for name, permissions in users.items():
        means = entitlement(permissions, subject, verb, model)
        if means is not None:
            found = Access("", name, means.rule, means.witness, determined=means.determined)
            yield _row(found, permissions, subject, verb)


def _row(found: Access, permissions: Permissions, subject: str, verb: str) -> dict[str, Any]:
    reason = anonymity(permissions)
    rule = found.rule if reason is None else f"{found.rule} ({reason})"
    return {
        "account": found.account or None,
        "subject": subject,
        "user": found.user,
        "verb": verb,
        "allowed": True if found.determined else None,
        "witness": found.witness,
        "known_as": found.known_as,
        "way": list(found.way),
        "rule": rule,
    }


def _asked(row: dict[str, Any]) -> str:
    return f"{row['account']}:{row['subject']}" if row["account"] else str(row["subject"])


def _way(row: dict[str, Any]) -> str:
    known = f" as {row['known_as']}" if row["known_as"] not in (None, row["subject"]) else ""
    return known + "".join(f", {each}" for each in row["way"])


def _sentence(row: dict[str, Any]) -> str:
    name = row["user"] or "the user"
    if row["allowed"] is None:
        return f"{name}: {row['verb']} {_asked(row)}: {row['rule']}{_way(row)}"
    example = f", for example {row['witness']}" if row["witness"] else ""
    return f"{name} may {row['verb']} {_asked(row)} by {row['rule']}{_way(row)}{example}"


def _print(found: list[dict[str, Any]], question: str, verb: str) -> None:
    grouped = len({(row["file"], row["account"]) for row in found}) > 1
    group = None
    for row in found:
        if grouped and (row["file"], row["account"]) != group:
            group = (row["file"], row["account"])
            if row["account"]:
                say((printable(_asked(row)), "bold"))
        mark = ("✓ ", "green") if row["allowed"] else ("? ", "yellow")
        name = printable(row["user"] or row["file"])
        example = f"  example: {row['witness']}" if row["witness"] else ""
        rule = f"  {printable(row['rule'])}"
        way = printable(_way(row))
        say(mark, name, rule, way, (printable(example), "dim"))
    if not found:
        say(f"no user may {verb} {printable(question)}")
