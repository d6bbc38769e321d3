"""One thing that a change of a deployment makes possible, or impossible."""

from __future__ import annotations

import dataclasses

from .._findings.finding import Place


@dataclasses.dataclass(frozen=True, slots=True)
class Consequence:
    """One thing that a change makes possible, or impossible.

    Attributes:
        gained: True if it is possible only now, False if it was only before.
        message: a sentence.
        witness: the subject of the message of the example, or what shows the change instead.
        user: the user that gains or loses it; None if it is not a user.
        place: where the part that changed stands; None if it is not known.
    """

    gained: bool
    message: str
    witness: str
    user: str | None = None
    place: Place | None = None

    def __str__(self) -> str:
        return self.message
