"""One row of the table of reasons: what an error says."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """The message of an error, a hint that says what would work, and the HTTP status."""

    sentence: str
    hint: str
    status: int = 400
