"""Kinds about a list of patterns: matching subjects, and queries with wildcards."""

from __future__ import annotations

from typing import Any

from .._core.errors import PatternError, SubjectError
from ._kind import Kind, Row
from ._kinds_grammar import UNBOUNDED, check_subject

_NO_MATCHES: Any = {"plain": [], "queues": {}}


def _trie(engine: Any, patterns: list[Any], rejected: tuple[int, ...] = ()) -> Any:
    """Return an index of the patterns, each with its index in the list as its value."""
    trie = engine.SubjectTrie(dialect="server", max_tokens=UNBOUNDED, max_length=UNBOUNDED)
    for place, pattern in enumerate(patterns):
        text, queue = (pattern, None) if isinstance(pattern, str) else (pattern["s"], pattern["q"])
        try:
            trie.add(text, place, queue=queue)
        except PatternError:
            if place not in rejected:
                raise
        else:
            if place in rejected:
                raise AssertionError(f"pattern {place} {text!r} was accepted but must be refused")
    return trie


def _as_text(subject: str, patterns: list[Any], tokens: tuple[str, ...] = ("*", ">")) -> str:
    """Return the subject with each of these tokens replaced by one that no pattern names.

    nats-server treats a published ``foo.*`` as text that only wildcards match. ``match`` refuses it
    (A17), so the answer of the server is tested with an unused token in its place.
    """
    fresh = "fresh"
    while any(fresh in str(pattern) for pattern in patterns):
        fresh += "-"
    return ".".join(fresh if token in tokens else token for token in subject.split("."))


def _by_group(plain: list[Any], queues: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        "plain": sorted(plain),
        "queues": {name: sorted(members) for name, members in queues.items()},
    }


def _match(engine: Any, row: Row) -> dict[str, Any]:
    patterns = row["patterns"]
    trie = _trie(engine, patterns, tuple(row.get("rejected_patterns", ())))
    subject = row["subject"]
    text = _as_text(subject, patterns)
    if text != subject:
        _refuses(trie, subject)
    groups = trie.groups(text)
    answer = _by_group(
        list(groups.plain), {name: list(members) for name, members in groups.queues.items()}
    )
    everyone = sorted([*answer["plain"], *(m for q in answer["queues"].values() for m in q)])
    # The methods must agree with each other.
    _agree("match", sorted(trie.match(text)), everyone)
    _agree("count", trie.count(text), len(everyone))
    _agree("has_interest", trie.has_interest(text), bool(everyone))
    selected = trie.select(text)
    _agree("select", len(selected), len(answer["plain"]) + len(answer["queues"]))
    _agree("select", set(selected) <= set(everyone), True)
    interest = row.get("server_num_interest")
    if interest is not None:  # reliable only as zero or not zero
        _agree("server_num_interest", any(interest), bool(everyone))
    return answer


def _refuses(trie: Any, subject: str) -> None:
    try:
        trie.match(subject)
    except SubjectError:
        return
    raise AssertionError(f"a wildcard was accepted in a subject: {subject!r}")


def _agree(question: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        raise AssertionError(f"{question} returned {got!r}, but groups returned {wanted!r}")


def _reverse(engine: Any, row: Row) -> dict[str, Any]:
    plain: list[Any] = []
    queues: dict[str, list[Any]] = {}
    for subscription in _trie(engine, row["patterns"]).matching(row["subject"]):
        members = plain if subscription.queue is None else queues.setdefault(subscription.queue, [])
        members.append(subscription.value)
    return _by_group(plain, queues)


def _stree(engine: Any, row: Row) -> list[int]:
    found = _trie(engine, row["subjects"]).matching(row["filter"])
    return sorted(subscription.value for subscription in found)


def _queue_name(engine: Any, row: Row) -> bool:
    trie = _trie(engine, [{"s": "a", "q": row["queue"]}])
    groups = trie.groups("a")
    return bool(not groups.plain and dict(groups.queues) == {row["queue"]: (0,)})


def _gsl_intersect(engine: Any, row: Row) -> list[int]:
    trie = _trie(engine, row["patterns"])
    found = []
    for place, subject in enumerate(row["subjects"]):
        check_subject(engine, subject)
        if trie.has_interest(subject):
            found.append(place)
    return found


def _gsl_starting_in(engine: Any, row: Row) -> bool:
    patterns = row["patterns"]
    prefix = _as_text(row["subject"], patterns, ("*", ">", ""))
    trie = _trie(engine, patterns)
    return bool(trie.matching(prefix) or trie.matching(f"{prefix}.>"))


def _deliveries(engine: Any, row: Row) -> dict[str, int]:
    """Return how many subscribers receive a message: all plain ones and one of each queue."""
    # A18
    question = row["in"]
    trie = engine.SubjectTrie()
    for place, subscription in enumerate(question["subs"]):
        trie.add(subscription["subject"], place, queue=subscription["queue"] or None)
    publish = question["publish"]
    text = _as_text(publish, question["subs"])
    if text != publish:
        _refuses(trie, publish)
    return {"nats": len(trie.select(text))}


class _Deliveries(Kind):
    """Compares only the count of nats-server; that of Microbus counts patterns."""  # A18

    __slots__ = ()

    def wanted(self, row: Row) -> Any:
        wanted = super().wanted(row)
        return {"nats": wanted["nats"]} if isinstance(wanted, dict) else wanted


#: Kinds by the value of ``kind``.
KINDS: dict[str, Kind] = {
    "match": Kind(_match, "expect", refused=_NO_MATCHES),
    "reverse": Kind(_reverse, "expect", refused=_NO_MATCHES),
    "stree": Kind(_stree, "expect", refused=[]),
    "queue_name": Kind(_queue_name, "expect", refused=False),
    "gsl_intersect": Kind(_gsl_intersect, "expect"),
    "gsl_starting_in": Kind(_gsl_starting_in, "expect", refused=False),
}

#: Kinds by the value of ``op``.
OPS: dict[str, Kind] = {
    "trie_deliveries": _Deliveries(_deliveries, "out", refused={"nats": 0}),
}
