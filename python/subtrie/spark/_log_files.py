"""Open logs: local files, or URIs that ``pyarrow.fs`` can open."""

from __future__ import annotations

import os
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
