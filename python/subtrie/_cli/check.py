"""``subtrie check``: validate subjects, classify them, and warn of risky characters."""

from __future__ import annotations

import unicodedata
from typing import Any

import click

from .. import classify
from .._errors import SubtrieError
from .._subject import Dialect, Pattern, Subject
from .stream import accepted, console, error_fields, inputs, print_json, rejected


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--pattern", is_flag=True, help="Check patterns, which may contain wildcards.")
@click.option(
    "--dialect",
    type=click.Choice(["strict", "server"]),
    default="strict",
    show_default=True,
    help="The grammar: that of the NATS documentation, or what nats-server accepts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def check(subjects: tuple[str, ...], pattern: bool, dialect: Dialect, as_json: bool) -> None:
    """Validate and classify each SUBJECT, by default each line of standard input.

    Exit code 0 if all are valid, 1 if one is not.
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
                print_json({"subject": text, "valid": False, **error_fields(error)})
            else:
                screen.print(rejected(text, error))
            continue
        notes = warnings_of(checked)
        family = None if pattern else classify(checked)
        if as_json:
            answer: dict[str, Any] = {"subject": text, "valid": True, "class": family}
            print_json({**answer, "tokens": len(checked.tokens), "warnings": notes})
        else:
            screen.print(accepted(text, ", ".join([family or "pattern", *notes])))
    raise SystemExit(0 if all_valid else 1)


def warnings_of(text: str) -> list[str]:
    """List what is valid but risky: invisible, direction-changing and look-alike characters."""
    # A36
    notes = []
    categories = {unicodedata.category(character) for character in text}
    if "Cc" in categories:
        notes.append("contains control characters")
    if "Cf" in categories:
        notes.append("contains invisible or direction-changing characters")
    if not text.isascii():
        notes.append("contains non-ASCII characters: not portable, and look-alikes are possible")
    if any(len(token) > 1 and set("*>") & set(token) for token in text.split(".")):
        notes.append("a wildcard character inside a token is literal text")
    return notes
