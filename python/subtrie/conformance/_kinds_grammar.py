"""Kinds about one text or two: may it be a subject or pattern, what does it cover, do two collide?

The broker's own answers, so all are asked in the ``server`` dialect with its bounds lifted: the
broker bounds a control line, not a subject. What the broker tests beyond A36 stands here.
"""

from __future__ import annotations

from typing import Any

from .._errors import SubjectError
from ._kind import Kind, Row

#: Longer than any recorded subject.
UNBOUNDED = 1 << 30

_SERVER = {"dialect": "server", "max_tokens": UNBOUNDED, "max_length": UNBOUNDED}


def check_subject(engine: Any, text: str) -> None:
    """Refuses what the broker would not take for a concrete subject."""
    engine.check_subject(text, **_SERVER)


def check_pattern(engine: Any, text: str) -> None:
    """Refuses what the broker would not let anybody subscribe to."""
    engine.check_pattern(text, **_SERVER)


def has_wildcard(engine: Any, text: str) -> bool:
    """Is any token a wildcard? Asked of any text, also of one with empty tokens."""
    found = False
    for token in text.split("."):
        if not token:
            continue
        try:
            check_subject(engine, token)
        except SubjectError as error:
            if error.reason != "wildcard":
                raise
            found = True
    return found


def _insert(engine: Any, row: Row) -> bool:
    trie = engine.SubjectTrie(**_SERVER)
    trie.add(row["pattern"], 0)
    return len(trie) == 1


def _valid(engine: Any, row: Row) -> bool:
    check_pattern(engine, row["subject"])
    return "\f" not in row["subject"]


def _valid_runes(engine: Any, row: Row) -> bool:
    return _valid(engine, row) and not {"\0", "\ufffd"} & set(row["subject"])


def _valid_literal(engine: Any, row: Row) -> bool:
    check_subject(engine, row["subject"])
    return True


def _valid_publish(engine: Any, row: Row) -> bool:
    return _valid_literal(engine, row) and _valid(engine, row)


def _is_literal(engine: Any, row: Row) -> bool:
    return not has_wildcard(engine, row["subject"])


def _has_wildcard(engine: Any, row: Row) -> bool:
    return has_wildcard(engine, row["subject"])


def _match_literal(engine: Any, row: Row) -> bool:
    check_subject(engine, row["literal"])
    check_pattern(engine, row["filter"])
    return bool(engine.matches(row["filter"], row["literal"]))


def _subset(engine: Any, row: Row) -> bool:
    check_pattern(engine, row["subject"])
    check_pattern(engine, row["filter"])
    return bool(engine.covers(row["filter"], row["subject"]))


def _collide(engine: Any, row: Row) -> bool:
    check_pattern(engine, row["a"])
    check_pattern(engine, row["b"])
    witness = engine.overlaps(row["a"], row["b"])
    if witness is None:
        return False
    # A witness that one side does not match is no witness.
    check_subject(engine, witness)
    return bool(engine.matches(row["a"], witness) and engine.matches(row["b"], witness))


def _one_match(engine: Any, row: Row) -> bool:
    question = row["in"]
    engine.check_pattern(question["pattern"])
    engine.check_subject(question["subject"])
    return bool(engine.matches(question["pattern"], question["subject"]))


def _subsumes(engine: Any, row: Row) -> bool:
    question = row["in"]
    engine.check_pattern(question["a"])
    engine.check_pattern(question["b"])
    return bool(engine.covers(question["a"], question["b"]))


#: Rows that name themselves by ``kind``.
KINDS: dict[str, Kind] = {
    "insert": Kind(_insert, "expect", refused=False),
    "valid": Kind(_valid, "expect", refused=False),
    "valid_runes": Kind(_valid_runes, "expect", refused=False),
    "valid_literal": Kind(_valid_literal, "expect", refused=False),
    "valid_publish": Kind(_valid_publish, "expect", refused=False),
    "is_literal": Kind(_is_literal, "expect", refused=False),
    "has_wildcard": Kind(_has_wildcard, "expect", refused=False),
    "match_literal": Kind(_match_literal, "expect", refused=False),
    "subset": Kind(_subset, "expect", refused=False),
    "collide": Kind(_collide, "expect", refused=False),
}

#: Rows that name themselves by ``op``: Microbus's own, so in ``strict``.
OPS: dict[str, Kind] = {
    "match": Kind(_one_match, "out", refused=False),
    "acl_subsumes": Kind(_subsumes, "out", refused=False),
}
