"""``subtrie check``: validate subjects, classify them, and warn of risky characters."""

from __future__ import annotations

import unicodedata
from typing import Any

import click

from .. import check_name, classify
from .._errors import SubtrieError, shown
from .._subject import Dialect, Pattern, Subject
from ..names import KINDS, LEVELS
from .dialect import by_dialect
from .stream import error_fields, inputs, print_json, say, say_accepted, say_rejected


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--pattern", is_flag=True, help="Check patterns, which may contain wildcards.")
@by_dialect
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    metavar="KIND",
    help="Check names of this kind by the rules of ADR-6: stream, durable, consumer, account, "
    "queue, kv-key, kv-bucket, os-bucket, os-object, subject, pattern, reply-to, …",
)
@click.option(
    "--level", type=click.Choice(LEVELS), help="With --kind: the rules to check.  [default: adr6]"
)
@click.option("--windows", is_flag=True, help="With --kind: what a file name on Windows may hold.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def check(
    subjects: tuple[str, ...],
    pattern: bool,
    dialect: Dialect,
    kind: str | None,
    level: str | None,
    windows: bool,
    as_json: bool,
) -> None:
    r"""Validate and classify each SUBJECT, by default each line of standard input.

    With --kind, SUBJECTS are names, such as that of a stream. Exit code 0 if all are valid, 1 if
    one is not.

    \b
    Examples:
      subtrie check orders.eu.new '$JS.API.INFO'
      subtrie check --kind stream ORDERS.EU
    """
    if kind is None:
        if level is not None or windows:
            raise click.UsageError("--level and --windows go with --kind")
        raise SystemExit(0 if _subjects_are_valid(subjects, pattern, dialect, as_json) else 1)
    if pattern or dialect != "strict":
        raise click.UsageError("--kind has rules of its own; leave out --pattern and --dialect")
    raise SystemExit(
        0 if _names_are_valid(subjects, kind, level or "adr6", windows, as_json) else 1
    )


def _subjects_are_valid(
    subjects: tuple[str, ...], pattern: bool, dialect: Dialect, as_json: bool
) -> bool:
    """Print the answer for each subject, and return whether all are valid."""
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
                say_rejected(text, error)
            continue
        notes = warnings_of(checked)
        family = None if pattern else classify(checked)
        if as_json:
            answer: dict[str, Any] = {"subject": text, "valid": True, "class": family}
            print_json({**answer, "tokens": len(checked.tokens), "warnings": notes})
        else:
            say_accepted(text, ", ".join([family or "pattern", *notes]))
    return all_valid


def _names_are_valid(
    names: tuple[str, ...], kind: str, level: str, windows: bool, as_json: bool
) -> bool:
    """Print the answer for each name, and return whether all are valid."""
    all_valid = True
    for text in inputs(names):
        report = check_name(text, kind, level=level, windows=windows)
        all_valid &= bool(report)
        notes = [] if report.portable else ["not portable: Windows reserves it for a device"]
        if report.reserved is not None:
            notes.append(f"reserved for {report.reserved.owner}")
        if as_json:
            print_json(
                {
                    "name": text, "kind": kind, "level": level, "windows": windows,
                    "valid": bool(report), "rule": report.rule, "reason": report.reason,
                    "position": report.position, "legal": report.legal, "warnings": notes,
                }
            )  # fmt: skip
        elif report:
            say_accepted(text, ", ".join([kind, *notes]))
        else:
            place = "" if report.position is None else f" at byte {report.position}"
            why = (f"  {report.reason}{place}", "red")
            say(("✗ ", "red"), shown(text), why, (f": valid: {report.legal}", "dim"))
    return all_valid


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
