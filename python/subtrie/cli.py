"""The command ``subtrie``, with one module per subcommand, each imported when it runs.

Exit codes: 0 yes, 1 no, 2 bad input, 130 interrupted. Needs the extra ``cli`` (click and rich).
"""

from __future__ import annotations

import io
import sys
import warnings

#: The exit code of a command that was ended by Ctrl-C, as shells have it.
INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # also without the extra
        from . import __version__

        print(f"subtrie, version {__version__}")
        return
    warnings.showwarning = _note
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every encoding has the marks
    try:
        import click

        from ._cli.app import app

        try:
            app(standalone_mode=False)
        except click.exceptions.Abort:
            print("subtrie: interrupted", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        except click.ClickException as error:
            error.show()
            raise SystemExit(error.exit_code) from None
    except ImportError as error:
        if error.name not in ("click", "rich"):
            raise
        print(
            f"subtrie: {error.name} is not installed; run: pip install 'subtrie[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning in one line, without the line of Python that caused it."""
    print(f"subtrie: note: {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
