"""Where a log lies: a local file, or a URI that ``pyarrow.fs`` can open."""

from __future__ import annotations

from typing import BinaryIO, cast


def open_log(path: str) -> BinaryIO:
    """Opens a log for reading bytes, wherever it lies."""
    if "://" not in path:
        return open(path, "rb")
    from pyarrow import fs

    system, inner = fs.FileSystem.from_uri(path)
    return cast(BinaryIO, system.open_input_file(inner))


def size_of(path: str) -> int:
    """Bytes of the log now. Raises ``OSError`` where there is no such file."""
    with open_log(path) as stream:
        return int(stream.seek(0, 2))
