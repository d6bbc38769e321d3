"""Reading of text files and of standard input, bounded in size."""

from __future__ import annotations

import os
import stat
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
    elif stat.S_ISFIFO((told := path.stat()).st_mode):
        data = _bytes_of_pipe(path, told)
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


#: The bytes of the latest pipes, by device, inode, and the time of the last write.
_PIPES: dict[tuple[int, int, int], bytes] = {}
_MOST_PIPES = 8


def _bytes_of_pipe(path: Path, told: os.stat_result) -> bytes:
    """The bytes of a pipe, such as that of ``<(command)``, which can be read once only."""
    known = _PIPES.get((told.st_dev, told.st_ino, told.st_mtime_ns))
    if known is not None:
        return known
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
        told = os.fstat(file.fileno())
    if len(_PIPES) >= _MOST_PIPES:
        del _PIPES[next(iter(_PIPES))]
    _PIPES[told.st_dev, told.st_ino, told.st_mtime_ns] = data
    return data
