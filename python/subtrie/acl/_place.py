"""``Place``: where an entry of permissions was read."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A file, a line, and the column in which the entry begins, both from 1."""

    file: str
    line: int
    column: int = 1
