"""The check of subjects on the command line; it needs no option parser, and imports none."""

from __future__ import annotations

import unicodedata
from typing import Any

from .. import classify
from .._core.errors import SubtrieError
from .._core.subject import Dialect, Pattern, Subject
from .stream import error_fields, inputs, print_json, say_accepted, say_rejected

# The options of the command that a hint may name.
_OPTIONS = frozenset(("pattern", "dialect"))


def subjects_are_valid(
    subjects: tuple[str, ...],
    pattern: bool = False,
    dialect: Dialect = "strict",
    as_json: bool = False,
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
                print_json({"subject": text, "valid": False, **error_fields(error, _OPTIONS)})
            else:
                say_rejected(text, error, _OPTIONS)
            continue
        notes = warnings_of(checked)
        family = None if pattern else classify(checked)
        if as_json:
            answer: dict[str, Any] = {"subject": text, "valid": True, "class": family}
            print_json({**answer, "tokens": len(checked.tokens), "warnings": notes})
        else:
            say_accepted(text, ", ".join([family or "pattern", *notes]))
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
