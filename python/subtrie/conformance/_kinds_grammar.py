"""Kinds about subjects and patterns: validity, matching, coverage and overlap.

The answers are those of nats-server, so the ``server`` dialect is used without limits: the server
limits a line, not a subject. Checks of the server that the dialect does not have (A36) are here.
"""

from __future__ import annotations

from typing import Any

from .._core.errors import SubjectError
from ._kind import Kind, Row

#: Longer than any recorded subject.
UNBOUNDED = 1 << 30

_SERVER = {"dialect": "server", "max_tokens": UNBOUNDED, "max_length": UNBOUNDED}


def check_subject(engine: Any, text: str) -> None:
    """Raise unless nats-server accepts the text as a concrete subject."""
    engine.check_subject(text, **_SERVER)


def check_pattern(engine: Any, text: str) -> None:
    """Raise unless nats-server accepts the text as a pattern."""
    engine.check_pattern(text, **_SERVER)


def has_wildcard(engine: Any, text: str) -> bool:
    """Return whether any token is a wildcard; the text may have empty tokens."""
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
    # Both patterns must match the witness.
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


#: Kinds by the value of ``kind``.
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

#: Kinds by the value of ``op``; these use the ``strict`` dialect of Microbus.
OPS: dict[str, Kind] = {
    "match": Kind(_one_match, "out", refused=False),
    "acl_subsumes": Kind(_subsumes, "out", refused=False),
}
