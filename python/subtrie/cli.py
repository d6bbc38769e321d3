"""The command ``subtrie``, with one module per subcommand, each imported when it runs.

Exit codes: 0 yes, 1 no, 2 bad input. Needs the extra ``cli`` (click and rich).
"""

from __future__ import annotations

import sys
import warnings


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _note
    try:
        from ._cli.app import app

        app()
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
