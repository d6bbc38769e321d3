"""Conformance finds an engine that is wrong in one field of one answer, for every kind of row."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from subtrie import PatternError, SubtrieError, WireError, conformance, reference
from subtrie.conformance import _kinds_wire as kinds_wire
from subtrie.conformance import _run
from subtrie.conformance._kind import Refusal

VECTORS = Path(__file__).parents[1] / "vectors"
#: The most rows of a kind, each of another form where there are so many.
MOST = 24
#: Longer streams are left out: each is read byte by byte.
LONGEST = 600
NAMES = [name for _, name in _run._KINDS]
#: Kinds that another part of the package answers, whatever the engine.
WITHOUT_ENGINE = {"trace_log", "who", "parse_time_budget", "parse_fragment"}


def form(answer):
    """Return the structure of an answer without its texts and numbers."""
    if isinstance(answer, dict):
        return tuple((key, form(value)) for key, value in answer.items())
    if isinstance(answer, list):
        return tuple(sorted({str(form(each)) for each in answer})), len(answer) > 1
    return answer if isinstance(answer, bool | None) else type(answer).__name__


@cache
def rows_of_kinds():
    """Return rows of each kind, as many forms of answers as there are."""
    found: dict[tuple[str, str], dict] = defaultdict(dict)
    others = defaultdict(list)
    for file in sorted(VECTORS.glob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            if b"chunks_b64" in line and len(line) > LONGEST:
                continue
            row = json.loads(line)
            key = next(key for key in _run._NAMED_BY if key in row)
            kind = _run._KINDS[key, row[key]]
            wanted = kind.wanted(row)
            decided = [name for name in ("differs", "strict", "quirk", "ours") if name in row]
            error = wanted["error"] if isinstance(wanted, dict) and "error" in wanted else None
            chosen = found[key, row[key]].setdefault((str(form(wanted)), error, *decided), row)
            if chosen is not row:
                others[key, row[key]].append(row)
    return {name: [*rows.values(), *others[name]][:MOST] for name, rows in found.items()}


def bent(answer):
    """Yield the answer with one part changed, and where."""
    if isinstance(answer, Refusal):
        yield "answered", "x"
        yield "answered", True
    elif isinstance(answer, dict):
        for key, value in answer.items():
            yield "without", {other: each for other, each in answer.items() if other != key}
            for _, wrong in bent(value):
                yield key, {**answer, key: wrong}
        yield "another", {**answer, "another": 1}
    elif isinstance(answer, list):
        yield "longer", [*answer, answer[-1] if answer else "x"]
        for place, value in enumerate(answer):
            yield "shorter", [*answer[:place], *answer[place + 1 :]]
            for _, wrong in bent(value):
                yield place, [*answer[:place], wrong, *answer[place + 1 :]]
    elif isinstance(answer, bool):
        yield "not", not answer
    elif isinstance(answer, int):
        yield "more", answer + 1
    elif isinstance(answer, str):
        yield "longer", f"{answer}x"
        yield "none", None
    else:
        assert answer is None
        yield "some", "x"


def left_open(wanted):
    """Return whether a row of the protocol expects neither an operation nor an error."""
    return wanted == {"ops": [], "complete": True, "error": None}


@pytest.mark.parametrize("name", _run._KINDS, ids=NAMES)
def test_an_answer_that_is_wrong_in_one_field_fails_its_row(name):
    kind = _run._KINDS[name]
    changed = 0
    for row in rows_of_kinds()[name]:
        wanted, got = kind.wanted(row), kind.answer(reference, row)
        assert kind.judge(wanted, got), row
        for where, wrong in bent(got):
            if (
                isinstance(wanted, dict)
                and left_open(wanted)
                and where in ("ops", "another", "without")
            ):
                continue
            changed += 1
            assert not kind.judge(wanted, wrong), (row.get("id"), where, wrong)
        if isinstance(got, bool):
            assert not kind.judge(wanted, int(got)), row
        if isinstance(wanted, Refusal) and wanted.status is not None:
            assert not kind.judge(wanted, Refusal(status=wanted.status + 1)), row
        if not isinstance(got, Refusal):
            assert not kind.judge(wanted, Refusal("x", 400)) or kind.refused == wanted, row
    assert changed


class Wrong:
    """The reference whose function of one name answers wrongly; which functions were called."""

    def __init__(self, name="", lie=None):
        self._name, self._lie = name, lie
        self.called = {}

    def __getattr__(self, name):
        return self._of(reference, name, name)

    def _of(self, made, attribute, name):
        value = getattr(made, attribute)
        if isinstance(value, type) and attribute in ("SubjectTrie", "Parser"):
            return lambda *given, **options: Part(self, value(*given, **options), name)
        if not callable(value):
            return self._told(name, lambda: value)
        return lambda *given, **options: self._told(name, lambda: value(*given, **options))

    def _told(self, name, call):
        try:
            value = call()
        except SubtrieError as error:
            self.called.setdefault((name, "accepts"), None)
            if (name, "accepts") == (self._name, self._lie):
                return getattr(error, "operations", "x")
            if isinstance(error, WireError):
                self.called.setdefault((name, "reason"), None)
                if (name, "reason") == (self._name, self._lie):
                    error.reason = "another"
            raise
        self.called.setdefault((name, "refuses"), None)
        if (name, "refuses") == (self._name, self._lie):
            raise PatternError("x", reason="empty-token", position=0)
        for field, wrong in lies(value):
            self.called.setdefault((name, field), None)
            if (name, field) == (self._name, self._lie):
                return wrong
        return value


#: The parts of answers that rows name.
FIELDS = {
    "RequestAddress": ("plane", "trust", "port", "source", "host", "slot", "method"),
    "ReplyAddress": ("plane", "source", "host", "id"),
    "Groups": ("plain", "queues"),
}


class Instead:
    """A part of an answer with another value in one of its fields."""

    def __init__(self, made, **fields):
        self.__dict__ |= {"_made": made, **fields}

    def __getattr__(self, name):
        return getattr(self._made, name)

    def __bytes__(self):
        return bytes(self._made)

    def __eq__(self, other):
        return self._made == getattr(other, "_made", other)

    __hash__ = None


class Part:
    """An index or a parser of a wrong engine."""

    def __init__(self, engine, made, name):
        self._engine, self._made, self._name = engine, made, name

    def __getattr__(self, name):
        return self._engine._of(self._made, name, f"{self._name}.{name}")

    def __len__(self):
        return len(self._made)


def lies(value):
    """Yield wrong answers of the same type as a value of an engine, and the field that is wrong."""
    if isinstance(value, bool):
        yield "value", not value
    elif isinstance(value, str):
        yield "value", ".".join(f"{token}x" for token in value.split("."))
    elif isinstance(value, int):
        yield "value", value + 1
    elif type(value) in (tuple, list):
        kind, last = type(value), value[-1] if value else "x"
        yield "longer", kind([*value, f"{last}x" if isinstance(last, str) else last])
        if value:
            yield "shorter", value[:-1]
        if isinstance(last, int):
            yield "one", kind([*value[:-1], last + 1000])
        if value and hasattr(last, "as_dict"):
            for key, part in last.as_dict().items():
                for _, wrong in bent(part):
                    said = {**last.as_dict(), key: wrong}
                    yield key, [*value[:-1], Instead(last, as_dict=lambda said=said: said)]
    elif type(value).__name__ in FIELDS:
        for field in FIELDS[type(value).__name__]:
            if isinstance(part := getattr(value, field), dict):
                yield field, Instead(value, **{field: {**part, "another": ()}})
            for _, wrong in lies(part):
                yield field, Instead(value, **{field: wrong})


#: Functions that the rows of a kind ask for, beside the one that gives the answer.
ALSO_ASKED = {
    **{name: {"Parser.feed", "Parser.complete", "Parser.offset"} for name in kinds_wire.CONNS},
    "trace_log": set(),
    "match": {f"SubjectTrie.{name}" for name in ("match", "count", "has_interest", "select")},
    "collide": {"check_subject", "matches"},
}

#: Lies after which the answer is the right one: about what the row does not name, or where another
#: function refuses as well.
HARMLESS = {
    "validate_plane": {("check_plane", "value")},
    "validate_hostname": {("check_identity_host", "value")},
    "validate_route_path": {("check_route_path", "value")},
    "valid_wire_method": {
        ("decode", f) for f in ("plane", "trust", "port", "source", "host", "slot")
    },
    "split_subject": {("decode", "method")},
    "trie_deliveries": {("SubjectTrie.select", "one")},
    "collide": {("check_pattern", "accepts")},
    "perm": {
        ("matches", "value"),
        *((f"rules_{name}", lie) for name in ("admit", "witness") for lie in ("longer", "shorter")),
    },
    "subset": {("check_pattern", "accepts")},
    "match": {("check_pattern", "accepts")},
    "valid_publish": {("check_subject", "accepts")},
    "queue_name": {("SubjectTrie.add", "accepts")},
}


@cache
def lies_of_kind(name):
    """Return the functions that the rows of a kind ask for, each with its possible lies."""
    honest = Wrong()
    for row in rows_of_kinds()[name]:
        _run._KINDS[name].answer(honest, row)
    return list(honest.called)


@pytest.mark.parametrize("name", _run._KINDS, ids=NAMES)
def test_an_engine_with_one_wrong_function_is_found(name, tmp_path):
    file = tmp_path / "rows.jsonl"
    text = "\n".join(json.dumps(row) for row in rows_of_kinds()[name])
    file.write_text(text, encoding="utf-8")
    assert conformance.run(file, engine=Wrong())
    found = lies_of_kind(name)
    assert bool(found) is (name[1] not in WITHOUT_ENGINE)
    if name != ("op", "match"):
        assert ALSO_ASKED.get(name[1], set()) <= {function for function, _ in found}
    missed = {lie for lie in found if conformance.run(file, engine=Wrong(*lie))}
    assert missed <= HARMLESS.get(name[1], set())
