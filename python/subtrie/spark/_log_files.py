"""Open logs: local files, or URIs that ``pyarrow.fs`` can open."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import BinaryIO, cast


def resolve_path(path: str) -> str:
    """Return a path that names the same log in every process, as ``/dev/stdin`` does not.

    Local paths become absolute, with symbolic links resolved; URIs are unchanged.
    """
    return path if "://" in path else os.path.realpath(path)


def open_log(path: str) -> BinaryIO:
    """Open a log for reading bytes."""
    if "://" not in path:
        return open(path, "rb")
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(path)
    return cast(BinaryIO, system.open_input_file(inner))


def log_size(path: str) -> int:
    """Return the current size of a log in bytes.

    Raises:
        OSError: The log does not exist or cannot be opened.
    """
    try:
        with open_log(path) as stream:
            return int(stream.seek(0, 2))
    except ValueError as error:  # an invalid file name or an unknown URI scheme
        raise OSError(str(error)) from None


def log_files(paths: Sequence[str]) -> list[str]:
    """Return the files of paths, of which each may be a file, a directory or a shell pattern.

    Raises:
        FileNotFoundError: A directory has no file, or a pattern matches none.
    """
    found: list[str] = []
    for path in paths:
        files = [path]
        if "://" not in path and glob.has_magic(path) and not os.path.exists(path):
            files = sorted(glob.glob(path))
        elif "://" not in path and os.path.isdir(path):
            files = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
        if not files:
            raise FileNotFoundError(f"no log in {path}")
        found += files
    return found
