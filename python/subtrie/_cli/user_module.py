"""A module of the user: imported by name, its own errors told as the interpreter does."""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, TracebackType

import click

from .._core.errors import SubtrieError
from .stream import printable

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def imported(name: str) -> ModuleType:
    """Import a module of the user.

    Args:
        name: The dotted name.

    Raises:
        click.UsageError: The name is not valid, or there is no such module.
        SystemExit: The module itself fails (1); its error is printed.
    """
    if name.endswith(".py"):  # before an import, which would run the file
        module = ".".join(Path(name).with_suffix("").parts).lstrip("./")
        raise click.UsageError(f"{name!r} is a file; give its module: {module}")
    if not all(part.isidentifier() for part in name.split(".")):
        raise click.UsageError(f"{name!r} is not a valid module name")
    with told():
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # a module that the target imports
            raise click.UsageError(f"there is no module {error.name!r}") from None


@contextmanager
def told() -> Iterator[None]:
    """Print an error of the user's code, and exit with 1.

    An error of subtrie is one line with the file and the line that caused it, any other the
    traceback from the user's first line on.
    """
    try:
        yield
    except click.ClickException:
        raise
    except Exception as error:
        frames = _users_frames(error.__traceback__)
        if isinstance(error, SubtrieError) and frames is not None:
            own = [each for each in traceback.extract_tb(frames) if not _is_ours(each.filename)]
            place = f"{os.path.relpath(own[-1].filename)}:{own[-1].lineno}"
            click.echo(f"{place}: {printable(str(error))}", err=True)
        else:
            text = "".join(traceback.format_exception(type(error), error, frames))
            click.echo(text, err=True, nl=False)
        raise SystemExit(1) from None


def _users_frames(frames: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first line that is neither of subtrie nor of the import."""
    while frames is not None and _is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _is_ours(file: str) -> bool:
    importing = file.startswith("<frozen importlib") or file == importlib.__file__
    return importing or file.startswith(_PACKAGE)
