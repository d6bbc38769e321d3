"""``Finding``, the record of all commands that report what is wrong, and ``Place``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

from .rate import Rate

#: The levels, the most severe first.
LEVELS = ("error", "warning", "note")

#: The fields that JSON always has; the others only if they say something.
_ALWAYS = frozenset(
    ("rule", "level", "message", "witness", "file", "line", "column", "list", "entry")
)
#: A number that changes with each edit of a file, and so is not part of the identity.
_SIZE = re.compile(r"\d[\d,]* bytes")


class Place(NamedTuple):
    """A file, a line, and the column in which something begins, both from 1."""

    file: str
    line: int
    column: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reviewer should look at.

    Attributes:
        rule: the rule that reports it; of an audit, the table.
        level: ``error``, ``warning`` or ``note``.
        message: what was found, in one line.
        witness: a subject, pattern or name that shows it; None without one.
        file: the file that it is in; None if it was not read from a file.
        line: its line.
        column: the column in which it begins.
        list: the permissions list of the entry, as ``publish_allow``; None if it is not about one.
        entry: the entry.
        user: whom it is about, as ``user``, ``account/user`` or a service; empty without one.
        why: why it matters.
        instead: what would work.
        count: how many messages or subscriptions; None if they are not counted.
        rows: how many rows of the table of an audit.
        first: when it was first seen, as ISO 8601 text in UTC; None if that is not known.
        last: when it was last seen.
        rate: how the count went over time; None if not all of it is known.
        command: a command that shows the lines of the log that it is from.
        key: what identifies it among the findings of its rule; empty for its message.
    """

    rule: str
    level: str
    message: str
    witness: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    list: str | None = None
    entry: str | None = None
    user: str = ""
    why: str = ""
    instead: str = ""
    count: int | None = None
    rows: int | None = None
    first: str | None = None
    last: str | None = None
    rate: Rate | None = None
    command: str = ""
    key: tuple[str, ...] = ()

    @classmethod
    def at(cls, place: Place | str, rule: str, level: str, message: str, **more: Any) -> Self:
        """Return a finding at a place, or in a file of which no line is known."""
        if isinstance(place, str):
            return cls(rule, level, message, file=place, **more)
        return cls(rule, level, message, **place._asdict(), **more)

    @property
    def place(self) -> str:
        """File, line and column as editors take them; empty without a file."""
        numbers = (self.line, self.column) if self.line else ()
        parts = (self.file or "", *(str(number) for number in numbers if number))
        return ":".join(parts)

    @property
    def sentence(self) -> str:
        """The message with its example."""
        return f"{self.message}, for example {self.witness}" if self.witness else self.message

    @property
    def identity(self) -> tuple[str, ...]:
        """The parts that stay if the finding moves to another line, or a size changes."""
        return self.rule, *(self.key or (_SIZE.sub("bytes", self.message),))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that say something, as values that JSON has."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {
            name: value._asdict() if isinstance(value, Rate) else value
            for name, value in values
            if name in _ALWAYS or (value is not None and value not in ("", ()))
        }


def counted(findings: Iterable[Finding]) -> str:
    """Return how many findings of each level there are, as ``2 warnings, 1 note``."""
    levels = Counter(each.level for each in findings)
    return ", ".join(
        f"{number} {level}{'s' * (number > 1)}" for level in LEVELS if (number := levels[level])
    )
