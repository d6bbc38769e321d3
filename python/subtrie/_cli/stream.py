"""Input and output of the commands: subjects in, lines of text or JSON out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .._errors import SubtrieError, shown
from .._printable import printable as printable

if TYPE_CHECKING:
    from rich.console import Console

# The longest line read from standard input, in bytes: far above the limit of any subject.
MAX_LINE = 65_536


def inputs(arguments: tuple[str, ...]) -> Iterator[str]:
    """Yield the arguments, or the lines of standard input when there are none.

    Bytes that are not valid UTF-8 become lone surrogates, which every check refuses by name. A
    line longer than 65,536 bytes is cut there, and therefore refused as too long.

    Raises:
        click.UsageError: There are no arguments, and standard input is a terminal.
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
    """Return a console with colours in a terminal, and plain, unwrapped text in a pipe.

    Single lines are printed with ``say`` instead: importing rich takes longer than they do.
    """
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON line and flush it, so that a pipe receives each answer immediately."""
    print(json.dumps(value, ensure_ascii=True), flush=True)


def line_of_output(text: str) -> str:
    """Return a line that begins with the name of a file, so that it is not a runner's command.

    A line that begins with ``::`` is a command to the runner of a GitHub Action.
    """
    return f"./{text}" if text.lstrip().startswith("::") else text


def say(*parts: str | tuple[str, str]) -> None:
    """Print one line; a part with a style (``red``, ``bold``, ``dim`` …) has it in a terminal."""
    line = [part if isinstance(part, str) else _styled(*part) for part in parts]
    click.echo("".join(line))


def _styled(text: str, style: str) -> str:
    if "NO_COLOR" in os.environ:
        return text
    if style in ("bold", "dim"):
        return click.style(text, bold=style == "bold" or None, dim=style == "dim" or None)
    return click.style(text, fg=style)


#: Words of Python in messages, and what to write on the command line instead.
_WORDS = {
    "choose one with user= (and account=)": "choose one with --user (and --account)",
    "pass --account-jwt, or account_jwt= in Python": "pass --account-jwt",
    "pass allow_readable=True": "pass --allow-readable",
    "pass root= if this is intended": "copy it there",
    "write it as Permissions.dump() does": "write it as 'subtrie acl minimise' does",
    "give both the same dialect=": "give both the same dialect",
    "; it may be allowed as a reply, see session()": "; it may be allowed as a reply",
}
#: The same for options that not every command has: the option, and the words without it.
_OPTIONS = {
    "use Pattern for a subscription": {
        "pattern": "pass --pattern for a subscription",
        "verb": "pass --verb subscribe for a subscription",
        "": "it is the subject of one message",
    },
    ", or use dialect='server', for which NATS gives no guarantees": {
        "dialect": ", or pass --dialect server, for which NATS gives no guarantees", "": "",
    },
    "; dialect='server' accepts it as literal text": {
        "dialect": "; --dialect server accepts it as literal text", "": "",
    },
    ", or dialect='server'": {"dialect": ", or --dialect server", "": ""},
    ", or 4,096 with dialect='server'": {"dialect": ", or 4,096 with --dialect server", "": ""},
}  # fmt: skip


def in_words_of_the_command(text: str) -> str:
    """Return a message with the options of the running command in place of words of Python."""
    for words, instead in _WORDS.items():
        text = text.replace(words, instead)
    context = click.get_current_context(silent=True)
    options = {each.name for each in context.command.params} if context is not None else set()
    for words, by_option in _OPTIONS.items():
        fitting = next((each for each in by_option if each in options), "")
        text = text.replace(words, by_option[fitting])
    return text


def hint_of(error: SubtrieError) -> str:
    """Return the hint of an error in the words of the command line."""
    return in_words_of_the_command(error.hint)


def say_accepted(text: str, note: str) -> None:
    """Print the line for a valid input."""
    say(("✓ ", "green"), printable(text), ("  " + note, "dim"))


def say_rejected(text: str, error: SubtrieError) -> None:
    """Print the line for an invalid input: the input, the reason, the position and a hint."""
    place = "" if error.position is None else f" at byte {error.position}"
    why = f"  {error.reason}{place}"
    say(("✗ ", "red"), shown(text), (why, "red"), (f": {hint_of(error)}", "dim"))


def error_fields(error: SubtrieError) -> dict[str, Any]:
    """Return the fields of an error, for JSON."""
    return {
        "reason": error.reason,
        "position": error.position,
        "field": error.field,
        "hint": hint_of(error),
        "message": str(error),
    }
