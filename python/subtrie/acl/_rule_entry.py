"""One entry of a permissions list: ``pattern``, or ``pattern queue`` for subscriptions.

What nats-server refuses to load is refused, and the message names the entry.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._core import engine as _engine
from .._core.errors import PatternError, SubtrieError, refusal
from .._core.rule_engine import RuleEngine


def checked_entries(
    entries: Iterable[str] | None,
    field: str,
    dialect: str,
    queues: bool,
    engine: RuleEngine = _engine,
) -> tuple[str, ...] | None:
    """Return the entries with one blank before each queue; None stays None.

    Args:
        entries: the entries of one list.
        field: the name of the list, for messages.
        dialect: the dialect of the patterns.
        queues: True if an entry may name a queue.
        engine: the engine that validates.

    Raises:
        PermissionsError: an entry the broker would not load.
        TypeError: not a list of texts.
    """
    if entries is None:
        return None
    if isinstance(entries, str | bytes):
        raise TypeError(f"{field} must be a list of str, not {type(entries).__name__}")
    return tuple(_entry(entry, field, dialect, queues, engine) for entry in entries)


def _entry(entry: object, field: str, dialect: str, queues: bool, engine: RuleEngine) -> str:
    if not isinstance(entry, str):
        raise TypeError(f"{field} must hold str, not {type(entry).__name__}")
    entry = str.__str__(entry)
    words = entry.replace("\t", " ").split(" ")
    parts = [word for word in words if word]
    if len(words) > 1 and not queues:
        raise refusal("PermissionsError", "publish-queue", entry, None, field)
    if len(words) > 1 and len(parts) != 2:
        raise refusal("PermissionsError", "queue-words", entry, None, field)
    if not parts:
        raise refusal("PermissionsError", "empty", entry, 0, field)
    for part in parts:
        check(part, entry, field, dialect, "PermissionsError", engine)
    return " ".join(parts)


def widest(entries: Iterable[str], engine: RuleEngine = _engine) -> list[str]:
    """Return distinct entries, sorted, without those that another of their queue or none covers."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        pattern, _, queue = entry.partition(" ")
        groups.setdefault(queue, []).append(pattern)
    return sorted(
        f"{pattern} {queue}" if queue else pattern
        for queue, patterns in groups.items()
        for pattern in patterns
        if not any(other != pattern and engine.covers(other, pattern) for other in patterns)
    )


def check(
    text: str, whole: str, field: str | None, dialect: str, kind: str, engine: RuleEngine = _engine
) -> None:
    """Raise unless the text is a pattern of the dialect, naming the whole entry it is part of.

    Blanks beyond ASCII are refused too: the broker would split the entry there when it loads it.

    Args:
        text: the pattern or queue.
        whole: the entry it is part of.
        field: the name of the list; None for none.
        dialect: the dialect of the pattern.
        kind: the name of the error class.
        engine: the engine that validates.
    """
    start = len(whole[: whole.find(text)].encode("utf-8", "surrogatepass"))
    if text.split() != [text]:
        index = next((at for at, each in enumerate(text) if each.isspace()), None)
        if index is not None:
            place = start + len(text[:index].encode("utf-8", "surrogatepass"))
            raise refusal(kind, "whitespace", whole, place, field)
    check_published(text, whole, field, dialect, kind, start, engine)


def check_published(
    text: str,
    whole: str,
    field: str | None,
    dialect: str,
    kind: str,
    start: int = 0,
    engine: RuleEngine = _engine,
) -> None:
    """Raise unless the text is a pattern, as ``check``; Unicode blanks are accepted."""
    try:
        engine.check_pattern(text, dialect)
    except PatternError as error:
        raise _named(error, kind, whole, field, start) from None


def _named(
    error: SubtrieError, kind: str, whole: str, field: str | None, start: int
) -> SubtrieError:
    place = None if error.position is None else error.position + start
    return refusal(kind, error.reason, whole, place, field)
