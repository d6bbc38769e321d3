"""Reading of text files and of standard input, bounded in size."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from ..._core.file_errors import file_error

#: The largest file that is read, in bytes.
MAX_FILE = 16 * 1024 * 1024

#: The path that stands for standard input.
STANDARD_INPUT = Path("-")


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; of standard input if the path is ``-``.

    Raises:
        PermissionsError: too large, or not UTF-8.
        OSError: the file cannot be read.
    """
    if path == STANDARD_INPUT:
        data = _bytes_of(sys.stdin.buffer)
    else:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise file_error("file-size", path.name, path)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise file_error("utf8", path.name, path) from None


@lru_cache(1)
def _bytes_of(standard_input: BinaryIO) -> bytes:
    """The bytes of standard input, kept because a file is read more than once."""
    return standard_input.read(MAX_FILE + 1)
