"""``Subject`` and ``Pattern``: validated text, as subclasses of ``str``.

Both engines share these classes; the engine in use validates and compares.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from . import engine

#: ``strict`` is the grammar of the documents, ``server`` is what nats-server accepts.
Dialect = Literal["strict", "server"]


class _Checked(str):
    """Validated text that knows its dialect."""

    __slots__ = ("_dialect",)
    _dialect: Dialect

    @classmethod
    def _of(cls, text: str, dialect: Any) -> Self:
        """Wrap text that an engine has validated."""
        # The text itself: str(text) of a subclass, such as an Enum, may be another text.
        self = str.__new__(cls, str.__str__(text))
        self._dialect = dialect
        return self

    @property
    def dialect(self) -> Dialect:
        """``strict`` (the grammar of the documents) or ``server`` (what nats-server accepts)."""
        return self._dialect

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, which dots separate."""
        return tuple(self.split("."))

    # A subject of an index with its own limits, or a witness, may exceed the limits of the dialect
    # (A37), and must still be unpickled. All other rules are applied again.
    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), str(self), self._dialect)

    def __repr__(self) -> str:
        dialect = "" if self._dialect == "strict" else f", dialect={self._dialect!r}"
        return f"{type(self).__name__}({str.__repr__(self)}{dialect})"


class Subject(_Checked):
    """A concrete subject, as a message is published to: no token is a wildcard.

    Args:
        text: At most 1,024 bytes and 64 tokens in ``strict``, 4,096 bytes in ``server``.
        dialect: ``strict`` or ``server``, which also takes characters outside ASCII: for these NATS
            gives no guarantees.

    Raises:
        SubjectError: The text is not a valid subject.

    Example:
        >>> Subject("orders.new").tokens
        ('orders', 'new')
    """

    __slots__ = ()

    # S1-013 to S1-031, A17, A27, A34 to A37
    def __new__(cls, text: str, *, dialect: Dialect = "strict") -> Self:
        engine.check_subject(text, dialect)
        return cls._of(text, dialect)


class Pattern(_Checked):
    """A pattern to subscribe to: ``*`` matches one token, ``>``, which must be last, one or more.

    Args:
        text: Limited as the text of a ``Subject``.
        dialect: ``strict`` or ``server``, which also takes characters outside ASCII: for these NATS
            gives no guarantees.

    Raises:
        PatternError: The text is not a valid pattern.

    Example:
        >>> Pattern("orders.*").matches("orders.new")
        True
    """

    __slots__ = ()

    # S1-029 to S1-048, S2-030, A32, A34
    def __new__(cls, text: str, *, dialect: Dialect = "strict") -> Self:
        engine.check_pattern(text, dialect)
        return cls._of(text, dialect)

    @property
    def is_literal(self) -> bool:
        """Whether no token is a wildcard, so that the pattern matches one subject only."""
        return not any(token in ("*", ">") for token in self.split("."))

    def matches(self, subject: str) -> bool:
        """Return whether the pattern matches a subject.

        Raises:
            SubjectError: Plain text is not a valid subject of the dialect.
        """
        # S1-036 to S1-040
        if not isinstance(subject, Subject):
            subject = Subject(subject, dialect=self._dialect)
        return engine.matches(self, subject)

    def covers(self, other: str) -> bool:
        """Return whether this pattern matches every subject that another one matches.

        Raises:
            PatternError: Plain text is not a valid pattern of the dialect.
        """
        return engine.covers(self, self._pattern(other))

    def overlaps(self, other: str) -> Subject | None:
        """Return a subject that both patterns match, or None.

        A token that both patterns leave open is ``x``. The witness of two long patterns may be
        longer than the limits of the dialect.

        Raises:
            PatternError: Plain text is not a valid pattern of the dialect.
        """
        other = self._pattern(other)
        witness = engine.overlaps(self, other)
        if witness is None:
            return None
        # A token that only nats-server takes for text may be part of the witness.
        dialects = (self._dialect, other._dialect)
        return Subject._of(witness, "server" if "server" in dialects else "strict")

    def _pattern(self, other: str) -> _Checked:
        return other if isinstance(other, _Checked) else Pattern(other, dialect=self._dialect)


# Longer than any text.
_UNBOUNDED = 2**63


def _restored(kind: type[_Checked], text: str, dialect: Dialect) -> _Checked:
    """Return an unpickled text, after applying every rule but the limits of length."""
    check = engine.check_pattern if issubclass(kind, Pattern) else None
    (check or engine.check_subject)(text, dialect, _UNBOUNDED, _UNBOUNDED)
    return kind._of(text, dialect)
