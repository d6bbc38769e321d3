"""Errors in files: the message begins with the file and the line."""

from __future__ import annotations

import re
from pathlib import Path

from ._errors import SubtrieError, refusal

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
        place = f"{file}" if line is None else f"{file}, line {line}"
        error.args = (f"{place}: {error.args[0]}",)
    error.__dict__.update(file=None if file is None else str(file), line=line)
    return error
