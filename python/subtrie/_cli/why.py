"""``subtrie why``: decide publishes and subscriptions, and name the rule that decides."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import click

from .._core.errors import SubtrieError
from .._findings.finding import Finding
from .._findings.junit import Passed
from ..acl import Decision, Permissions, decided
from ..acl._load.files import STANDARD_INPUT
from .anonymous import with_reason
from .format_option import JSON, TEXT, by_format
from .output_formats import print_findings
from .permission_files import (
    FORMATS,
    SOURCE,
    BadFile,
    UserSelection,
    by_model,
    files_after,
    of_user,
)
from .stream import (
    error_fields,
    in_words_of_the_command,
    inputs,
    print_json,
    printable,
    say,
    say_rejected,
)


@click.command()
@click.argument("words", metavar="[SUBJECT]… [FILE]", nargs=-1)
@click.option(
    "-p", "--permissions", "source", type=SOURCE,
    help=f"The FILE: {FORMATS}. Without it, the last argument.",
)  # fmt: skip
@of_user
@click.option(
    "--verb", type=click.Choice(["publish", "subscribe"]), default="publish", show_default=True
)
@click.option("--queue", help="The queue group of a subscription.")
@click.option("--every-user", is_flag=True, help="All users of a server configuration, one by one.")
@by_model
@by_format
def why(
    words: tuple[str, ...],
    source: Path | None,
    selection: UserSelection,
    verb: str,
    queue: str | None,
    every_user: bool,
    model: str | None,
    form: str,
) -> None:
    r"""Decide whether each SUBJECT may be published (or subscribed to), and explain why.

    Reads one per line from standard input if none is given. Exit code 0 if all are allowed, 1 if
    one is refused, 2 if one is not a valid subject or not determined (?): the models differ, a
    mapping does not tell, or the permissions of a user are decided elsewhere.

    \b
    Examples:
      subtrie why orders.eu.new nats.conf --user web
      subtrie why -p web.creds --verb subscribe 'prod.>'
    """
    subjects = words
    if source is None:
        if not words:
            raise click.UsageError("give a FILE after the subjects, or with -p")
        *asked, file = words
        if not Path(file).exists() and (first := next(filter(os.path.exists, asked), None)):
            context = click.get_current_context()
            raise BadFile(f"{file}: no such file{files_after(context, file, first)}")
        source = Path(SOURCE.convert(file, None, None))
        subjects = tuple(asked)
    if queue is not None and verb != "subscribe":
        raise click.UsageError("--queue goes with --verb subscribe")
    if not subjects and source == STANDARD_INPUT:
        raise click.UsageError("standard input cannot hold both the permissions and the subjects")
    users = selection.load_each(source) if every_user else {"": selection.load(source)}
    publish = selection.may_publish(source)
    answers = []
    for text, (name, permissions) in product(inputs(subjects), users.items()):
        try:
            if verb == "publish":
                answer = publish(permissions, name, text, model)
            else:
                answer = decided(_subscription(permissions, text, queue), model)
            said: Decision | SubtrieError = with_reason(answer, permissions)
        except SubtrieError as error:
            said = error
        answers.append((text, name, said))
        # At once, because the subjects may come one by one.
        if form == JSON:
            print_json(_object(text, name, verb, queue, said))
        elif form == TEXT:
            _say(text, name, said)
    if form not in (JSON, TEXT):
        _report(form, answers, verb, str(source))
    known = all(each.determined for each in users.values())
    if not known or any(isinstance(s, SubtrieError) or not s.determined for _, _, s in answers):
        raise SystemExit(2)
    raise SystemExit(0 if all(said for _, _, said in answers) else 1)


def _subscription(
    permissions: Permissions, text: str, queue: str | None
) -> Callable[[str], Decision]:
    """The question about one subscription, which gets the name of a model."""
    return lambda model: permissions.can_subscribe(text, queue=queue, model=model)


def _object(
    text: str, name: str, verb: str, queue: str | None, said: Decision | SubtrieError
) -> dict[str, Any]:
    if isinstance(said, SubtrieError):
        return {"subject": text, "allowed": None, **error_fields(said)}
    asked = {"subject": text, "verb": verb, "queue": queue}
    return {**({"user": name} if name else {}), **asked, **dataclasses.asdict(said)}


def _report(
    form: str, answers: list[tuple[str, str, Decision | SubtrieError]], verb: str, file: str
) -> None:
    rows, passed, cells = [], [], []
    for text, name, said in answers:
        allowed, code, because = _told(said)
        asked = f"{name}: {verb} {text}" if name else f"{verb} {text}"
        if code is None:
            passed.append(Passed(file, asked))
        else:
            rows.append(Finding.at(file, code, "error", f"{asked}: {because}"))
        cells.append((name, text, allowed, because))
    table = (("user", verb, "allowed", "why"), cells)
    print_findings(form, "subtrie why", rows, table=table, passed=passed)


def _told(said: Decision | SubtrieError) -> tuple[str, str | None, str]:
    """Return whether it is allowed, the rule of the finding if it is not certain, and why."""
    if isinstance(said, SubtrieError):
        return "no", "refused", in_words_of_the_command(str(said))
    if not said.determined:
        return "not determined", "not-determined", said.explanation
    return ("yes", None, said.explanation) if said else ("no", "refused", said.explanation)


def _say(text: str, name: str, said: Decision | SubtrieError) -> None:
    if isinstance(said, SubtrieError):
        say_rejected(text, said)
        return
    mark = ("✓ ", "green") if said else ("✗ ", "red")
    if not said.determined:
        mark = ("? ", "yellow")
    because = printable(said.explanation)
    say(mark, printable(f"{name}: {text}" if name else text), ("  " + because, "dim"))
