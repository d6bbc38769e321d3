"""``Subject`` and ``Pattern``: text that was checked once and is a ``str`` ever after.

Both engines share these classes; whichever is in use does the checking and comparing.
"""

from __future__ import annotations

from typing import Any, Self

from . import _engine


class _Checked(str):
    """A checked text that remembers its dialect."""

    __slots__ = ("_dialect",)
    _dialect: str

    @classmethod
    def _of(cls, text: str, dialect: str) -> Self:
        """Wraps text that an engine has already checked."""
        # Not what a subclass prints (an Enum's name, say): what was checked is the text itself.
        self = str.__new__(cls, str.__str__(text))
        self._dialect = dialect
        return self

    @property
    def dialect(self) -> str:
        """``strict`` (the documents' grammar) or ``server`` (the broker's)."""
        return self._dialect

    @property
    def tokens(self) -> tuple[str, ...]:
        """The parts between the dots."""
        return tuple(self.split("."))

    # An index with bounds of its own, or a witness, may hold more than the dialect's own bounds
    # allow (A37), and what was once taken must come back. All other rules are applied again.
    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), str(self), self._dialect)

    def __repr__(self) -> str:
        dialect = "" if self._dialect == "strict" else f", dialect={self._dialect!r}"
        return f"{type(self).__name__}({str.__repr__(self)}{dialect})"


class Subject(_Checked):
    """A concrete subject: what is published and matched, never holding a wildcard token.

    Raises ``SubjectError``. Bounds: 1,024 bytes and 64 tokens in ``strict``, 4,096 bytes in
    ``server`` (A37). Cost: one pass. Rules: S1-013 to S1-031, A17, A27, A34 to A37.
    """

    __slots__ = ()

    def __new__(cls, text: str, *, dialect: str = "strict") -> Self:
        _engine.check_subject(text, dialect)
        return cls._of(text, dialect)


class Pattern(_Checked):
    """What is subscribed to: tokens, ``*`` for any one of them, ``>`` last for one or more.

    Raises ``PatternError``. Bounds as ``Subject``. Rules: S1-029 to S1-048, S2-030, A32, A34.
    """

    __slots__ = ()

    def __new__(cls, text: str, *, dialect: str = "strict") -> Self:
        _engine.check_pattern(text, dialect)
        return cls._of(text, dialect)

    @property
    def is_literal(self) -> bool:
        """True when no token is a wildcard, so that the pattern matches one subject only."""
        return not any(token in ("*", ">") for token in self.split("."))

    def matches(self, subject: str) -> bool:
        """Is the subject one that this pattern selects? Raises ``SubjectError`` for plain text
        that is no subject. Cost: one pass over both. S1-036 to S1-040."""
        if not isinstance(subject, Subject):
            subject = Subject(subject, dialect=self._dialect)
        return bool(_engine.matches(self, subject))

    def covers(self, other: str) -> bool:
        """Does this pattern match every subject that the other one matches? Reflexive.

        Raises ``PatternError`` for plain text that is no pattern. Cost: one pass over both.
        """
        return bool(_engine.covers(self, self._pattern(other)))

    def overlaps(self, other: str) -> Subject | None:
        """A subject that both patterns match (free tokens read ``x``), or None.

        Raises ``PatternError`` for plain text that is no pattern. Cost: one pass over both.
        Bounds play no part: two long patterns may have a witness longer than a subject may be.
        """
        other = self._pattern(other)
        witness = _engine.overlaps(self, other)
        if witness is None:
            return None
        # What only the broker takes for text may stand in the witness.
        dialects = (self._dialect, other._dialect)
        return Subject._of(witness, "server" if "server" in dialects else "strict")

    def _pattern(self, other: str) -> _Checked:
        return other if isinstance(other, _Checked) else Pattern(other, dialect=self._dialect)


# More than any text holds.
_UNBOUNDED = 2**63


def _restored(kind: type[_Checked], text: str, dialect: str) -> _Checked:
    """What a pickle or a copy gives back: every rule applied but the bounds."""
    check = _engine.check_pattern if issubclass(kind, Pattern) else None
    (check or _engine.check_subject)(text, dialect, _UNBOUNDED, _UNBOUNDED)
    return kind._of(text, dialect)
