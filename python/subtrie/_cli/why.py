"""``subtrie why``: decide publishes and subscriptions, and name the rule that decides."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path

import click

from .._errors import SubtrieError
from ..acl import Decision
from .permission_files import FILE, FORMATS, Selection, by_model, every_user, of_user
from .stream import error_fields, inputs, print_json, printable, say, say_rejected


@click.command()
@click.argument("subjects", nargs=-1)
@click.option(
    "-p", "--permissions", "source", type=FILE, required=True,
    help=f"{FORMATS[0].upper()}{FORMATS[1:]}.",
)  # fmt: skip
@of_user
@click.option(
    "--verb", type=click.Choice(["publish", "subscribe"]), default="publish", show_default=True
)
@click.option("--queue", help="The queue group of a subscription.")
@every_user
@by_model
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each subject.")
def why(
    subjects: tuple[str, ...],
    source: Path,
    selection: Selection,
    verb: str,
    queue: str | None,
    every_user: bool,
    model: str,
    as_json: bool,
) -> None:
    r"""Decide whether each SUBJECT may be published (or subscribed to), and explain why.

    Reads one per line from standard input if none is given. Exit code 0 if all are allowed, 1 if
    one is refused or not determined, 2 if one is not a valid subject.

    \b
    subtrie why -p nats.conf --user web prod.safe.443.web_shop.orders_shop._.GET.orders.7
    subtrie why -p web.creds --verb subscribe 'prod.>'
    """
    if queue is not None and verb != "subscribe":
        raise click.UsageError("--queue goes with --verb subscribe")
    users = (
        selection.load_each(source, undetermined="keep")
        if every_user
        else {"": selection.load(source)}
    )
    all_allowed = all_subjects = True
    for text, (name, permissions) in product(inputs(subjects), users.items()):
        try:
            if verb == "publish":
                decision = permissions.can_publish(text, model=model)
            else:
                decision = permissions.can_subscribe(text, queue=queue, model=model)
        except SubtrieError as error:
            all_subjects = False
            if as_json:
                print_json({"subject": text, "allowed": None, **error_fields(error)})
            else:
                say_rejected(text, error)
            continue
        all_allowed &= bool(decision)
        if as_json:
            answer = dataclasses.asdict(decision)
            asked = {"subject": text, "verb": verb, "queue": queue}
            print_json({**({"user": name} if name else {}), **asked, **answer})
        else:
            _say(f"{name}: {text}" if name else text, decision)
    raise SystemExit(2 if not all_subjects else 0 if all_allowed else 1)


def _say(text: str, decision: Decision) -> None:
    mark = ("✓ ", "green") if decision else ("✗ ", "red")
    if not decision.determined:
        mark = ("? ", "yellow")
    say(mark, printable(text), ("  " + printable(decision.explanation), "dim"))
