"""Errors in files: the message begins with the file and the line."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import SubtrieError, refusal

#: A seed is never part of a message, even where a file of seeds is read as something else.
_SEED = re.compile(r"S[A-Z][A-Z2-7]{20,}")


def file_error(
    reason: str,
    value: object,
    file: Path | None = None,
    line: int | None = None,
    position: int | None = None,
    field: str | None = None,
) -> SubtrieError:
    """Return the error for a file, with the attributes ``file`` and ``line``."""
    shown = _SEED.sub("[seed]", value) if isinstance(value, str) else value  # T16
    return located(refusal("PermissionsError", reason, shown, position, field), file, line)


def located(error: SubtrieError, file: Path | None, line: int | None) -> SubtrieError:
    """Add the file and the line to an error and return it."""
    if file is not None:
        place = f"{file}" if line is None else f"{file}:{line}"
        error.args = (f"{place}: {error.args[0]}",)
    error.__dict__.update(file=None if file is None else str(file), line=line)
    return error


def check_no_pipe(path: Path) -> None:
    """Refuse a pipe where the beginning of a file tells how all of it is read.

    Raises:
        OSError: It is one.
    """
    if path.is_fifo():
        raise OSError(f"{path} is a pipe, which can be read only once: save it in a file first")


#: Most mistakes of one run that are kept.
MAX_MISTAKES = 100


class Mistakes:
    """The mistakes of one file or several, collected so that a user sees all of them at once."""

    def __init__(self) -> None:
        self._found: list[SubtrieError] = []

    def add(self, error: SubtrieError) -> None:
        """Keep an error and those that it carries.

        Raises:
            SubtrieError: there are more than are kept.
        """
        self._found += [error, *other_mistakes(error)]
        if len(self._found) >= MAX_MISTAKES:
            self.check()

    def check(self) -> None:
        """Raise the first error if there is one, with the others attached."""
        if self._found:
            first, *others = self._found
            first.__dict__["others"] = tuple(others[: MAX_MISTAKES - 1])
            raise first


def other_mistakes(error: Exception) -> tuple[SubtrieError, ...]:
    """Return the further mistakes that were found in the same run as an error."""
    others: tuple[SubtrieError, ...] = getattr(error, "others", ())
    return others
