"""Both indexes in step on random programs, and both against a plain scan."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import subtrie._subtrie
import subtrie.reference
import wide_texts
from subtrie import Pattern, Subject, SubtrieError
from subtrie._core import engine as _engine

ENGINES = (subtrie._subtrie, subtrie.reference)

# A small alphabet, so that patterns meet; now and then a text that is refused.
_small = st.lists(st.sampled_from("aab*"), min_size=1, max_size=4).map(".".join)
_small_patterns = st.builds(
    lambda text, end: text + end, _small, st.sampled_from(["", "", ".>"])
) | st.just(">")
_small_subjects = st.lists(st.sampled_from("aabx"), min_size=1, max_size=5).map(".".join)
_refused = st.sampled_from(["", "a..b", "a.>.b", "a b", "é", "\ud800", "a*", ".", "a." * 70 + "a"])

# Taken by the server dialect; the other one refuses them where they stop to be ASCII.
_wide = st.lists(st.sampled_from([*wide_texts.TOKENS[:5], "*"]), min_size=1, max_size=3)
_wide_patterns = st.builds(
    lambda tokens, end: ".".join(tokens) + end, _wide, st.sampled_from(["", ".>"])
)
_wide_subjects = _wide.map(lambda tokens: ".".join(tokens).replace("*", "日本"))

# What Microbus subscribes to and sends.
_hosts = st.sampled_from(["com.shop.orders", "com.shop.web", "id-1.com.shop.orders"])
_tail = st.lists(st.sampled_from(["v1", "orders", "*", "7"]), min_size=1, max_size=3).map(".".join)
_bus_patterns = st.builds(
    "microbus.{}.{}.*.{}.{}.{}.{}{}".format,
    st.sampled_from(["safe", "danger"]),
    st.sampled_from(["443", "*", "417"]),
    _hosts.map(lambda host: host.replace(".", "_")),
    st.sampled_from(["_", "id1", "eu"]),
    st.sampled_from(["GET", "POST", "*"]),
    _tail,
    st.sampled_from(["", ".>"]),
)
_bus_subjects = st.builds(
    "microbus.safe.{}.web.{}.{}.{}.{}".format,
    st.sampled_from(["443", "417", "80"]),
    _hosts.map(lambda host: host.replace(".", "_")),
    st.sampled_from(["_", "id1"]),
    st.sampled_from(["GET", "POST"]),
    _tail.map(lambda tail: tail.replace("*", "x")),
)

PATTERNS = _small_patterns | _bus_patterns
SUBJECTS = _small_subjects | _bus_subjects
QUEUES = st.none() | st.sampled_from(["q", "w", "a.b", "é"])


def outcome(ask):
    """Return an outcome comparable between engines: handles by id, errors by all fields."""
    try:
        return plain(ask())
    except SubtrieError as error:
        return type(error), str(error), vars(error)


def loaded(engine, data):
    """Return what a process with this engine unpickles."""
    before, _engine.module = _engine.module, engine
    try:
        return pickle.loads(data)
    finally:
        _engine.module = before


def plain(answer):
    if isinstance(answer, tuple(engine.Subscription for engine in ENGINES)):
        return answer.id, answer.pattern, answer.value, answer.queue
    if isinstance(answer, subtrie.Explanation):
        near = [(m.pattern, m.differs_at, m.subscription.id) for m in answer.nearest]
        return str(answer), plain(answer.matches), near, answer.differs_at
    if isinstance(answer, subtrie.Groups):
        return answer.plain, list(answer.queues.items())
    if isinstance(answer, (tuple, list)):
        return [plain(part) for part in answer]
    return answer


class InStep(RuleBasedStateMachine):
    @initialize(
        options=st.fixed_dictionaries(
            {"dialect": st.sampled_from(["strict", "strict", "server"])},
            optional={"max_tokens": st.integers(3, 9), "max_length": st.integers(5, 90)},
        )
    )
    def begin(self, options):
        self.tries = [engine.SubjectTrie(**options) for engine in ENGINES]
        self.gone = [[], []]

    def same(self, ask):
        left, right = (outcome(lambda trie=trie: ask(trie)) for trie in self.tries)
        assert left == right
        return left

    @rule(
        pattern=PATTERNS | _wide_patterns | _refused,
        queue=QUEUES | st.sampled_from(["", "a b", "*", "\ud800"]),
    )
    def add(self, pattern, queue):
        self.same(lambda trie: trie.add(pattern, pattern, queue=queue))

    @rule(rows=st.lists(st.tuples(PATTERNS, st.integers(), QUEUES), max_size=6), bad=st.booleans())
    def update(self, rows, bad):
        self.same(lambda trie: trie.update([*rows, *([("a..b", 0)] if bad else [])]))

    @rule(place=st.integers(0, 50))
    def remove(self, place):
        for trie, gone in zip(self.tries, self.gone, strict=True):
            handles = list(trie)
            if handles:
                gone.append(handles[place % len(handles)])
                assert trie.remove(gone[-1])
                assert not trie.remove(gone[-1])

    @rule()
    def remove_all_but_one(self):
        for trie in self.tries:
            for handle in list(trie)[:-1]:
                assert trie.remove(handle)

    @rule(subject=SUBJECTS | _wide_subjects | _refused | PATTERNS, limit=st.integers(0, 5))
    def ask(self, subject, limit):
        for name in ("match", "subscriptions", "groups", "select", "has_interest", "count"):
            self.same(lambda trie, name=name: getattr(trie, name)(subject))
        self.same(lambda trie: trie.explain(subject, limit=limit))

    @rule(pattern=PATTERNS | _wide_patterns | _refused)
    def ask_by_pattern(self, pattern):
        self.same(lambda trie: trie.matching(pattern))
        self.same(lambda trie: trie.covered_by(pattern))

    @rule()
    def go_on_with_a_copy(self):
        self.tries = [trie.copy() for trie in self.tries]

    @rule()
    def swap_through_pickles(self):
        # Each engine goes on with what the other one wrote.
        states = [pickle.dumps(trie.__reduce__()[1:]) for trie in self.tries]
        fresh = []
        for engine, data in zip(ENGINES, reversed(states), strict=True):
            options, state = loaded(engine, data)
            names = ("dialect", "max_tokens", "max_length")
            trie = engine.SubjectTrie(**dict(zip(names, options, strict=True)))
            trie.__setstate__(state)
            fresh.append(trie)
        self.tries = fresh
        self.gone = [[], []]

    @rule()
    def clear(self):
        self.same(lambda trie: trie.clear())

    @invariant()
    def look_alike(self):
        if hasattr(self, "tries"):
            self.same(str)
            self.same(repr)
            self.same(len)
            self.same(list)
            self.same(lambda trie: trie.stats()[:-1])
            for trie, gone in zip(self.tries, self.gone, strict=True):
                assert not any(handle in trie for handle in gone)


InStep.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestInStep = InStep.TestCase


# Against a scan that knows nothing of trees


def nearest_by_scan(rows, subject, limit):
    """The oldest subscription of each pattern, by how many leading tokens agree, then by age."""
    tokens = subject.split(".")
    best = {}
    for row in rows:
        agree = 0
        for token, other in zip(tokens, row.pattern.split("."), strict=False):
            if other == ">" or other not in ("*", token):
                agree += other == ">"
                break
            agree += 1
        best.setdefault(str(row.pattern), (-agree, row.id, row))
    return [(row, -agree) for agree, _, row in sorted(best.values(), key=lambda b: b[:2])][:limit]


@settings(max_examples=150)
@given(
    rows=st.lists(st.tuples(PATTERNS, QUEUES), max_size=25),
    subject=SUBJECTS,
    query=PATTERNS,
    limit=st.integers(0, 6),
)
def test_answers_equal_a_scan(rows, subject, query, limit):
    for engine in ENGINES:
        trie = engine.SubjectTrie()
        made = [trie.add(pattern, n, queue=queue) for n, (pattern, queue) in enumerate(rows)]
        heard = [row for row in made if row.pattern.matches(Subject(subject))]
        assert list(trie.subscriptions(subject)) == heard
        assert trie.has_interest(subject) == bool(heard)
        assert trie.count(subject) == len(heard)
        asked = Pattern(query)
        overlapping = [row for row in made if asked.overlaps(row.pattern) is not None]
        assert list(trie.matching(query)) == overlapping
        assert list(trie.covered_by(query)) == [row for row in made if asked.covers(row.pattern)]
        why = trie.explain(subject, limit=limit)
        assert list(why.matches) == heard
        expected = [] if heard else nearest_by_scan(made, subject, limit)
        assert [(near.subscription, near.differs_at) for near in why.nearest] == expected
        if isinstance(trie, subtrie._subtrie.SubjectTrie):
            found = [] if heard else nearest_by_scan(made, subject, 1)
            ids, tokens = map(list, subtrie._subtrie.nearest_batch(trie, [subject]))
            one = [(near.id, token) for near, token in found] or [(-1, -1)]
            assert list(zip(ids, tokens, strict=True)) == one
