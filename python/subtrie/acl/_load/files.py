"""Files that are read: of bearable size, in UTF-8, and private where they hold a seed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..._file_errors import failure

#: The largest file that is read, in bytes.
MAX_FILE = 16 * 1024 * 1024


def read_text(path: Path) -> str:
    """The text of a file of bearable size. Raises ``OSError`` or ``PermissionsError``."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise failure("file-size", path.name, path)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise failure("utf8", path.name, path) from None


def check_private(path: Path) -> None:
    """A file with a seed is its owner's alone, and no link that leaves its folder (A30)."""
    if path.is_symlink() and path.resolve().parent != path.parent.resolve():
        raise failure("creds-link", path.name, path)
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise failure("creds-mode", path.name, path)
