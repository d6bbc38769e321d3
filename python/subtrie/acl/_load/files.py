"""Reading of text files, bounded in size."""

from __future__ import annotations

from pathlib import Path

from ..._file_errors import file_error

#: The largest file that is read, in bytes.
MAX_FILE = 16 * 1024 * 1024


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file. Raises ``OSError``, ``PermissionsError``."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise file_error("file-size", path.name, path)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise file_error("utf8", path.name, path) from None
