"""``subtrie check``: is it a subject, which family does it belong to, what should worry me?"""

from __future__ import annotations

import unicodedata
from typing import Any

import click

from .. import classify
from .._errors import SubtrieError
from .._subject import Pattern, Subject
from .stream import console, inputs, line_of, no, refused, yes


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--pattern", is_flag=True, help="Check patterns, which may hold wildcards.")
@click.option(
    "--dialect",
    type=click.Choice(["strict", "server"]),
    default="strict",
    show_default=True,
    help="Whose grammar: the documents' or nats-server's.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def check(subjects: tuple[str, ...], pattern: bool, dialect: str, as_json: bool) -> None:
    """Is each SUBJECT valid? Reads one per line from standard input when none is given.

    Exit code 0 when all are, 1 when one is not.
    """
    screen = console()
    kind = Pattern if pattern else Subject
    all_valid = True
    for text in inputs(subjects):
        try:
            checked = kind(text, dialect=dialect)
        except SubtrieError as error:
            all_valid = False
            if as_json:
                line_of({"subject": text, "valid": False, **refused(error)})
            else:
                screen.print(no(text, error))
            continue
        notes = warnings_of(checked)
        family = None if pattern else classify(checked)
        if as_json:
            answer: dict[str, Any] = {"subject": text, "valid": True, "class": family}
            line_of({**answer, "tokens": len(checked.tokens), "warnings": notes})
        else:
            screen.print(yes(text, ", ".join([family or "pattern", *notes])))
    raise SystemExit(0 if all_valid else 1)


def warnings_of(text: str) -> list[str]:
    """What is allowed and still unwise: characters that hide, turn or imitate (A36)."""
    notes = []
    categories = {unicodedata.category(character) for character in text}
    if "Cc" in categories:
        notes.append("holds control characters")
    if "Cf" in categories:
        notes.append("holds invisible or direction characters")
    if not text.isascii():
        notes.append("holds characters beyond ASCII: no guarantees, and look-alikes are possible")
    if any(len(token) > 1 and set("*>") & set(token) for token in text.split(".")):
        notes.append("a wildcard character inside a token is plain text")
    return notes
