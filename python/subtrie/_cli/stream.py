"""Input and output of the commands: subjects in, lines of text or JSON out.

Importing click takes longer than the rest of a short command, so only what needs it imports it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from .._core.errors import SubtrieError, shown
from .._core.printable import printable as printable

#: A line: its parts, each a text or a text with its style (``red``, ``bold red``, ``dim`` …).
Line = Sequence[str | tuple[str, str]]

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
        import click

        raise click.UsageError("give subjects as arguments, or one per line on standard input")
    stream = sys.stdin.buffer
    while line := stream.readline(MAX_LINE + 1):
        complete = line.endswith(b"\n")
        yield line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
        while not complete and line:
            line = stream.readline(MAX_LINE)
            complete = line.endswith(b"\n")


@contextlib.contextmanager
def reader_may_leave() -> Iterator[None]:
    """Print for a reader that may close the pipe: the exit code stays that of the answer."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is buffered


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON line and flush it, so that a pipe receives each answer immediately."""
    print(json.dumps(value, ensure_ascii=True), flush=True)


#: The numbers of the styles in escape sequences (ECMA-48, SGR).
_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}


def say(*parts: str | tuple[str, str]) -> None:
    """Print one line; styled parts are coloured if standard output is a terminal."""
    say_lines([parts])


def say_lines(lines: Iterable[Line]) -> None:
    """Print lines, as ``say`` prints one; all at once, which is faster."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    styled = sys.stdout.isatty() and not plain
    line = "\n".join(
        "".join(
            part if isinstance(part, str) else _styled(*part) if styled else part[0]
            for part in parts
        )
        for parts in lines
    )
    if styled and os.name == "nt":  # click makes older consoles understand the sequences
        import click

        click.echo(line)
    else:
        print(line, flush=True)


def _styled(text: str, style: str) -> str:
    numbers = ";".join(str(_STYLES[each]) for each in style.split())
    return f"\x1b[{numbers}m{text}\x1b[0m" if numbers and text else text


def say_good(text: str) -> None:
    """Print the line of an answer in which nothing was found."""
    say(("✓", "green"), f" {text}")


def bad_input(command: str, *lines: str) -> NoReturn:
    """Print an error of a command, and exit with 2."""
    text = "\n".join(map(printable, lines))
    print(f"subtrie {command}: {text}", file=sys.stderr)
    raise SystemExit(2)


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


def in_words_of_the_command(text: str, options: Collection[str] | None = None) -> str:
    """Return a message with options in place of words of Python.

    Args:
        text: The message.
        options: The names of the command's options; by default those of the running command.
    """
    for words, instead in _WORDS.items():
        text = text.replace(words, instead)
    if options is None:
        import click

        context = click.get_current_context(silent=True)
        options = {each.name or "" for each in context.command.params} if context else ()
    for words, by_option in _OPTIONS.items():
        fitting = next((each for each in by_option if each in options), "")
        text = text.replace(words, by_option[fitting])
    return text


def hint_of(error: SubtrieError, options: Collection[str] | None = None) -> str:
    """Return the hint of an error in the words of the command line."""
    return in_words_of_the_command(error.hint, options)


def say_accepted(text: str, note: str) -> None:
    """Print the line for a valid input."""
    say(("✓ ", "green"), printable(text), ("  " + note, "dim"))


def say_rejected(text: str, error: SubtrieError, options: Collection[str] | None = None) -> None:
    """Print the line for an invalid input: the input, the reason, the position and a hint."""
    place = "" if error.position is None else f" at byte {error.position}"
    why = f"  {error.reason}{place}"
    say(("✗ ", "red"), shown(text), (why, "red"), (f": {hint_of(error, options)}", "dim"))


def error_fields(error: SubtrieError, options: Collection[str] | None = None) -> dict[str, Any]:
    """Return the fields of an error, for JSON."""
    return {
        "reason": error.reason,
        "position": error.position,
        "field": error.field,
        "hint": hint_of(error, options),
        "message": str(error),
    }
