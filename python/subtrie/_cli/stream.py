"""What the verbs share: inputs from arguments or standard input, answers as text or JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from .._errors import SubtrieError, shown

# The longest line read from standard input, in bytes: far above any subject's bound.
MAX_LINE = 65_536


def inputs(arguments: tuple[str, ...]) -> Iterator[str]:
    """The arguments, or standard input line by line when there are none.

    Bytes that are no UTF-8 become lone surrogates, which every check refuses by name. A line
    longer than 65,536 bytes is cut there, and so refused as too long.
    """
    if arguments:
        yield from arguments
        return
    if sys.stdin.isatty():
        raise click.UsageError("give subjects as arguments, or one per line on standard input")
    stream = sys.stdin.buffer
    while line := stream.readline(MAX_LINE + 1):
        complete = line.endswith(b"\n")
        yield line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
        while not complete and line:
            line = stream.readline(MAX_LINE)
            complete = line.endswith(b"\n")


def console() -> Console:
    """A console that is coloured in a terminal and plain, unwrapped text in a pipe."""
    return Console(highlight=False, soft_wrap=True)


def line_of(value: dict[str, Any]) -> None:
    """Prints one JSON line at once, so that a pipe sees each answer as it comes."""
    print(json.dumps(value, ensure_ascii=True), flush=True)


def yes(text: str, note: str) -> Text:
    """A line for an accepted input."""
    return Text.assemble(("✓ ", "green"), printable(text), ("  " + note, "dim"))


def no(text: str, error: SubtrieError) -> Text:
    """A line for a refused input: what, why, where, and what would work."""
    place = "" if error.position is None else f" at byte {error.position}"
    why = f"  {error.reason}{place}"
    return Text.assemble(("✗ ", "red"), shown(text), (why, "red"), (f": {error.hint}", "dim"))


def refused(error: SubtrieError) -> dict[str, Any]:
    """The fields of an error, for JSON."""
    return {
        "reason": error.reason,
        "position": error.position,
        "field": error.field,
        "hint": error.hint,
        "message": str(error),
    }


def printable(text: str) -> str:
    """The text as a terminal may see it: control and direction characters escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]
