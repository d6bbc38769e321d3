"""Where a log lies: a local file, or a URI that ``pyarrow.fs`` can open."""

from __future__ import annotations

import os
from typing import BinaryIO, cast


def settled(path: str) -> str:
    """The log under a name that means the same in every process, which ``/dev/stdin`` does not."""
    return path if "://" in path else os.path.realpath(path)


def open_log(path: str) -> BinaryIO:
    """Opens a log for reading bytes, wherever it lies."""
    if "://" not in path:
        return open(path, "rb")
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(path)
    return cast(BinaryIO, system.open_input_file(inner))


def size_of(path: str) -> int:
    """Bytes of the log now. Raises ``OSError`` where there is no such file."""
    try:
        with open_log(path) as stream:
            return int(stream.seek(0, 2))
    except ValueError as error:  # a name that no file can have, a scheme that nobody knows
        raise OSError(str(error)) from None
