"""Reading of text files and of standard input, bounded in size."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

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
        data = _standard_input()
    else:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise file_error("file-size", path.name, path)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise file_error("utf8", path.name, path) from None


@cache
def _standard_input() -> bytes:
    """The bytes of standard input, kept because a file is read more than once."""
    return sys.stdin.buffer.read(MAX_FILE + 1)
