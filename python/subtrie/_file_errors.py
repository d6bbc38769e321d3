"""Errors in files: the message begins with the file and the line."""

from __future__ import annotations

from pathlib import Path

from ._errors import SubtrieError, refusal


def file_error(
    reason: str,
    value: object,
    file: Path | None = None,
    line: int | None = None,
    position: int | None = None,
    field: str | None = None,
) -> SubtrieError:
    """Return the error for a file, with the attributes ``file`` and ``line``."""
    return located(refusal("PermissionsError", reason, value, position, field), file, line)


def located(error: SubtrieError, file: Path | None, line: int | None) -> SubtrieError:
    """Add the file and the line to an error and return it."""
    if file is not None:
        place = f"{file}" if line is None else f"{file}, line {line}"
        error.args = (f"{place}: {error.args[0]}",)
    error.__dict__.update(file=None if file is None else str(file), line=line)
    return error
