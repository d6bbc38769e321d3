"""The command ``subtrie``, with one module per subcommand, each imported when it runs.

Exit codes: 0 yes, 1 no, 2 bad input, 130 interrupted. Needs the extra ``cli`` (click and rich).
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import warnings
from typing import NoReturn

__all__ = ["INTERRUPTED", "main"]

#: Marks of the output, and what is written where the encoding lacks them.
_WORDS = {"✓": "ok", "✗": "no", "→": "->", "…": "...", "⚠": "!"}

#: The exit code of a command that was ended by Ctrl-C, as shells have it.
INTERRUPTED = 130

# The extra of each package that a command may need.
_EXTRAS = {
    "click": "cli",
    "rich": "cli",
    "nats": "nats-py",
    "h11": "connector",
    "prometheus_client": "connector",
    "nkeys": "creds",
    "google": "wire",
    "pyarrow": "audit",
    "numpy": "audit",
    "pyspark": "spark",
    "pandas": "spark",
}


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # also without the extra
        from . import __version__

        print(f"subtrie, version {__version__}")
        return
    warnings.showwarning = _note
    codecs.register_error("subtrie.marks", _marks)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="subtrie.marks")  # not every encoding has the marks
    if _only_subjects_to_check(sys.argv[1:]):
        _check(tuple(sys.argv[2:]))
    try:
        import click

        from ._cli.app import app

        try:
            app(prog_name="subtrie", standalone_mode=False)  # also as ``python -m``
        except click.exceptions.Abort:
            print("subtrie: interrupted", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        except click.ClickException as error:
            error.show()
            raise SystemExit(error.exit_code) from None
    except ImportError as error:
        root = (error.name or "").partition(".")[0]
        if root not in _EXTRAS:
            raise
        from ._core.extras import install_command

        run = install_command(_EXTRAS[root])
        print(f"subtrie: {root} is not installed; run: {run}", file=sys.stderr)
        raise SystemExit(2) from None


def _only_subjects_to_check(words: list[str]) -> bool:
    """Tell whether the words are ``check SUBJECT…`` without options.

    There is nothing to parse then, and importing click would take longer than all the rest.
    """
    return len(words) > 1 and words[0] == "check" and not any(w.startswith("-") for w in words)


def _check(subjects: tuple[str, ...]) -> NoReturn:
    """Check subjects, and exit as every command does when it is interrupted or its pipe closes."""
    from ._cli.subject_check import subjects_are_valid

    try:
        raise SystemExit(0 if subjects_are_valid(subjects) else 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is buffered
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("subtrie: interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def _marks(error: UnicodeError) -> tuple[str, int]:
    """Write words in place of the marks that an encoding lacks, and ``?`` for other characters."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_WORDS.get(each, "?") for each in lacking), error.end


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning in one line, without the line of Python that caused it."""
    print(f"subtrie: note: {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
