"""Images: written by either engine, opened by either, the same index."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import damaged_images
import subtrie
import wide_texts
from engines import ENGINES

BOTH = list(ENGINES)


def told(subscriptions):
    return [(each.id, each.pattern, each.queue) for each in subscriptions]


_TOKENS = st.sampled_from(["a", "b", "aa", "*", "*", "x" * 9, "_"])
_SERVER_TOKENS = _TOKENS | st.sampled_from([*wide_texts.TOKENS, "a*", ">a", "\x00", '"\\'])
_QUEUES = st.none() | st.sampled_from(["q", "w", "v1.é", "\x00", "q" * 40])


def _patterns(tokens):
    body = st.lists(tokens, min_size=1, max_size=10).map(".".join)
    return st.builds("{}{}".format, body, st.sampled_from(["", "", ".>"])) | st.just(">")


@st.composite
def programs(draw):
    """The options of an index, what is added, what is taken out, which subjects are selected."""
    server = draw(st.booleans())
    options = {"dialect": "server"} if server else {}
    if draw(st.booleans()):
        options["max_tokens"] = draw(st.integers(11, 2**64 - 2))
    if draw(st.booleans()):
        options["max_length"] = draw(st.integers(300, 2**64 - 2))
    pattern = _patterns(_SERVER_TOKENS if server else _TOKENS)
    rows = draw(st.lists(st.tuples(pattern, st.integers(), _QUEUES), max_size=20))
    gone = draw(st.sets(st.integers(0, 19)))
    return options, rows, gone


SUBJECTS = ["a", "b", "a.a", "a.b", "aa.a.b", "a.a.a.a", "b.xxxxxxxxx._", "_." * 9 + "a", "z.a"]


def built(engine, program):
    options, rows, gone = program
    trie = engine.SubjectTrie(**options)
    for number, handle in enumerate(trie.update(rows)):
        if number in gone:
            trie.remove(handle)
    for subject in SUBJECTS[:4] * 2:
        trie.select(subject)
    return trie


def asked(trie):
    """Return the subjects to ask for: those beyond ASCII are of the server dialect."""
    return [*SUBJECTS, *wide_texts.TOKENS] if trie.dialect == "server" else SUBJECTS


def same(one, other):
    """Return whether two indexes give the same answers; the round robin advances in both."""
    for name in ("dialect", "max_tokens", "max_length"):
        assert getattr(one, name) == getattr(other, name)
    assert len(one) == len(other)
    for subject in asked(one):
        assert told(one.subscriptions(subject)) == told(other.subscriptions(subject))
        assert one.count(subject) == other.count(subject)
        assert one.has_interest(subject) is other.has_interest(subject)
    assert told(one) == told(other)
    assert str(one) == str(other)
    assert one.stats()[:-1] == other.stats()[:-1]
    assert told(one.matching("a.>")) == told(other.matching("a.>"))
    assert told(one.covered_by("*.*")) == told(other.covered_by("*.*"))


@settings(max_examples=60)
@given(program=programs())
def test_an_image_opens_in_every_engine(program):
    for writer in ENGINES.values():
        trie = built(writer, program)
        image = trie.to_bytes()
        values = {each.id: each.value for each in trie}
        for reader in ENGINES.values():
            back = reader.SubjectTrie.from_bytes(image, values)
            for subject in asked(trie):
                assert back.match(subject) == trie.match(subject)
            same(trie.copy(), back)
            assert [each.value for each in back] == [each.value for each in trie]
            twin = trie.copy()
            for _ in range(3):  # turns were kept, and go on
                for subject in SUBJECTS[:5]:
                    assert back.select(subject) == twin.select(subject)
            assert back.add("a", "new").id == twin.add("a", "new").id
            assert back.match("a")[-1] == "new"


@settings(max_examples=25)
@given(program=programs())
def test_an_image_of_an_opened_index_is_the_same(program):
    for writer in ENGINES.values():
        image = built(writer, program).to_bytes()
        plain = subtrie.reference.SubjectTrie.from_bytes(image).to_bytes()
        for reader in ENGINES.values():
            again = reader.SubjectTrie.from_bytes(image).to_bytes()
            assert subtrie.reference.SubjectTrie.from_bytes(again).to_bytes() == plain


def test_images_of_both_engines_have_the_same_rows_and_patterns():
    sections = []
    for engine in ENGINES.values():
        trie = engine.SubjectTrie()
        trie.update([("a.*", 0, "q"), ("b", 1), ("a.*", 2, "w"), ("*." * 7 + "*", 3, "q")])
        trie.remove(next(iter(trie)))
        words = damaged_images.words_of(trie.to_bytes())
        found = []
        for section in (
            damaged_images.BLOCKS,
            damaged_images.ROW_WORDS,
            damaged_images.NAMES,
        ):
            start, count = words[section : section + 2]
            found.append(words[start : start + count])
        sections.append((words[6:11], found))
    assert sections[0] == sections[1]


# Values


def written(engine):
    trie = engine.SubjectTrie()
    trie.update([("a.*", "zero"), ("a.>", "one"), ("b", "two")])
    trie.remove(list(trie)[1])
    return trie.to_bytes()


@pytest.fixture(params=BOTH)
def image(request):
    return written(ENGINES[request.param])


@pytest.fixture
def tabled():
    """An image that can be asked as it is. Of one without a table, all values may be asked for
    when it is opened."""
    return written(ENGINES["native"])


def test_without_values_the_ids_are_the_values(engine, image):
    trie = engine.SubjectTrie.from_bytes(image)
    assert (trie.match("a.b"), trie.match("b"), trie("b")) == ((0,), (2,), (2,))
    assert trie.select("b") == (2,)
    assert [each.value for each in trie] == [0, 2]


@pytest.mark.parametrize("values", [["x", "y", "z"], {0: "x", 2: "z"}, "xyz"], ids=repr)
def test_values_come_from_a_sequence_or_a_mapping(engine, image, values):
    trie = engine.SubjectTrie.from_bytes(image, values)
    assert trie.match("a.b") == ("x",)
    assert trie.match_batch(["b", "a.b"]).values(0) == ("z",)
    assert trie.subscriptions("b")[0].value == "z"
    assert trie.match("b") == ("z",)


def test_values_are_looked_up_on_demand(engine, tabled):
    asked = []

    class Values:
        def __getitem__(self, number):
            asked.append(number)
            return f"value {number}"

    trie = engine.SubjectTrie.from_bytes(tabled, Values())
    assert (trie.count("a.b"), trie.has_interest("b"), len(trie)) == (1, True, 2)
    assert list(trie.match_batch(["a.b"]).ids) == [0]
    assert asked == []
    assert trie.match("b") == ("value 2",)
    assert asked == [2]
    assert [each.value for each in trie] == ["value 0", "value 2"]
    before = len(asked)
    assert trie.match("a.b") == ("value 0",)
    assert trie.groups("b").plain == ("value 2",)
    assert len(asked) == before  # they were kept


@pytest.mark.parametrize(
    ("values", "error"), [({0: "x"}, KeyError), (["x"], IndexError), (7, TypeError)], ids=repr
)
def test_an_exception_of_values_is_raised_by_the_call_that_needs_them(
    engine, tabled, values, error
):
    trie = engine.SubjectTrie.from_bytes(tabled, values)
    assert trie.count("b") == 1
    for ask in (
        lambda: trie.match("b"),
        lambda: trie.subscriptions("b"),
        lambda: trie.select("b"),
        lambda: trie.add("c", 1),
        lambda: list(trie),
        lambda: trie.copy(),
    ):
        with pytest.raises(error):
            ask()
    assert len(trie) == 2
    if values != 7:
        assert trie.match("a.b") == ("x",)


def test_values_may_use_the_index_they_are_for(engine, tabled):
    class Values:
        def __getitem__(self, number):
            return trie.count("b"), len(trie), number

    trie = engine.SubjectTrie.from_bytes(tabled, Values())
    assert trie.match("a.b") == ((1, 2, 0),)
    assert [each.value for each in trie] == [(1, 2, 0), (1, 2, 2)]


# Going on


def test_an_opened_index_is_an_index(engine, image):
    trie = engine.SubjectTrie.from_bytes(image)
    first, last = list(trie)
    assert trie.subscriptions("b") == (last,)
    assert first in trie
    assert trie.copy().remove(first)
    assert trie.remove(first)
    assert not trie.remove(first)
    assert trie.match("a.b") == ()
    made = trie.add("a.b", "made", queue="q")
    assert (made.id, trie.match("a.b")) == (3, ("made",))
    assert (type(made.pattern), made.pattern.dialect) == (subtrie.Pattern, "strict")
    with pytest.raises(subtrie.PatternError):
        trie.add("a..b", 1)
    trie.clear()
    assert (len(trie), trie.match("b"), trie.add("b", 1).id) == (0, (), 4)


def test_handles_of_an_opened_index_stay_when_it_changes(engine, image):
    trie = engine.SubjectTrie.from_bytes(image)
    (found,) = trie.matching("b")
    explained = trie.explain("b")
    assert (explained.matches, trie.subscriptions("b")) == ((found,), (found,))
    assert found in trie
    assert trie.covered_by("nothing.here") == ()
    added = trie.add("b", "added")
    assert found in trie
    assert trie.subscriptions("b") == (found, added)
    assert trie.matching("b") == (found, added)
    assert trie.remove(found)
    assert found not in trie
    assert trie.matching("b") == (added,)


def test_turns_of_a_large_opened_index_go_on_when_it_changes(engine):
    trie = engine.SubjectTrie()
    for number in range(200):
        trie.add(f"a.{number}", number)
    for number in range(200, 203):
        trie.add("g", number, queue="q")
    assert [trie.select("g") for _ in range(2)] == [(200,), (201,)]
    opened = engine.SubjectTrie.from_bytes(trie.to_bytes())
    opened.add("b", "added")
    assert [opened.select("g") for _ in range(2)] == [(202,), (200,)]


class _Counted(dict):
    """Values by id that count how many were read."""

    reads = 0

    def __getitem__(self, key):
        self.reads += 1
        return super().__getitem__(key)


def test_lookups_of_an_opened_index_read_only_the_values_they_find_and_a_query_all_once():
    engine = ENGINES["native"]
    trie = engine.SubjectTrie()
    trie.update((f"a.b{number}.*", number) for number in range(100))
    trie.update([("a.b7.*", 100), ("c.>", 101)])
    values = _Counted((number, f"v{number}") for number in range(102))
    opened = engine.SubjectTrie.from_bytes(trie.to_bytes(), values)
    assert (opened.match("a.b7.x"), opened("c.d")) == (("v7", "v100"), ("v101",))
    assert (opened.count("a.b7.x"), opened.has_interest("c.d"), len(opened)) == (2, True, 102)
    assert opened.match_batch(["c.d", "a..b"]).ids.tolist() == [101]
    assert values.reads == 3
    with pytest.raises(subtrie.SubjectError):
        opened.match("a.*")
    # The first query by pattern makes an index.
    matching = opened.matching("a.b7.x")
    assert [each.value for each in matching] == ["v7", "v100"]
    assert matching[0].pattern is matching[1].pattern
    assert values.reads == 3 + 102
    assert opened.match("a.b7.x") == ("v7", "v100")
    assert opened.matching("a.b7.x") == matching
    assert values.reads == 3 + 102


def test_clear_needs_no_values(engine, tabled):
    trie = engine.SubjectTrie.from_bytes(tabled, {})
    trie.clear()
    assert (trie.add("b", 1).id, trie.match("b")) == (3, (1,))


def test_an_empty_index_has_an_image(engine):
    for writer in ENGINES.values():
        empty = writer.SubjectTrie(dialect="server", max_tokens=3)
        empty.add("a", 1)
        empty.clear()
        back = engine.SubjectTrie.from_bytes(empty.to_bytes())
        assert (back.dialect, back.max_tokens, back.max_length) == ("server", 3, 4096)
        assert (back.match("a"), len(back), back.stats()[:-1]) == ((), 0, (0,) * 6)
        assert back.add("a", 2).id == 1


def test_long_and_deep_and_starry_patterns(engine):
    options = {"dialect": "server", "max_tokens": 10**5, "max_length": 2**22}
    patterns = [
        ".".join("*" * 6), ".".join("*" * 7), ".".join(["a"] * 62 + ["*"]),
        ".".join(["a"] * 63 + ["*"]), ".".join(["a"] * 64 + ["*", ">"]), "a" * (2**20 - 1),
        "a" * 2**20, "a" * (2**20 - 4) + ".*.>", ".".join("a" * 30_000),
    ]  # fmt: skip
    for writer in ENGINES.values():
        trie = writer.SubjectTrie(**options)
        trie.update((pattern, None) for pattern in patterns)
        back = engine.SubjectTrie.from_bytes(trie.to_bytes())
        for number, pattern in enumerate(patterns):
            subject = pattern.replace("*", "a").replace(">", "b.c")
            assert number in back.match(subject)
            assert back.match(subject) == tuple(each.id for each in trie.subscriptions(subject))
        assert told(back) == told(trie)


def test_a_pattern_of_many_subscriptions_is_kept_once():
    """Bug: a short image of one long pattern with many rows took a copy of it for each."""
    trie = subtrie.reference.SubjectTrie(dialect="server", max_length=2**20)
    trie.update([("a" * 2**12, None)] * 300)
    back = subtrie.reference.SubjectTrie.from_bytes(trie.to_bytes())
    assert len({id(each.pattern) for each in back}) == 1


# Bytes


def test_verify_is_a_bool(engine, image):
    with pytest.raises(TypeError):
        engine.SubjectTrie.from_bytes(image, verify="no")


def test_a_changed_bit_is_found_if_the_image_is_verified(engine, image):
    broken = bytearray(image)
    broken[-1] ^= 1
    with pytest.raises(subtrie.SubtrieError) as caught:
        engine.SubjectTrie.from_bytes(broken)
    assert (caught.value.reason, caught.value.status) == ("image-checksum", 400)
    assert "\n" not in str(caught.value)
    assert len(engine.SubjectTrie.from_bytes(broken, verify=False)) == 2


def test_ids_are_limited_to_64_bits(engine):
    image = damaged_images.example()
    last = damaged_images.changed(image, damaged_images.NEXT_ID, 2**64 - 2)
    trie = engine.SubjectTrie.from_bytes(damaged_images.repaired(last))
    handle = trie.add("the.last.id", None)
    assert handle.id == 2**64 - 2
    for late in (lambda: trie.add("a", 1), lambda: trie.update([("a", 1)])):
        with pytest.raises(subtrie.PatternError) as refused:
            late()
        assert refused.value.reason == "index-full"
    assert trie.update([]) == []
    assert trie.match("the.last.id") == (None,)


def test_a_limit_of_zero_is_refused(engine):
    image = damaged_images.example()
    for word in (damaged_images.TOKENS, damaged_images.LENGTH):
        damaged = damaged_images.repaired(damaged_images.changed(image, word, 0))
        with pytest.raises(subtrie.SubtrieError) as refused:
            engine.SubjectTrie.from_bytes(damaged)
        assert refused.value.reason == "image-header"


def test_the_largest_limit_is_kept(engine):
    trie = engine.SubjectTrie(max_tokens=2**80)
    assert engine.SubjectTrie.from_bytes(trie.to_bytes()).max_tokens == 2**64 - 2


def test_one_long_pattern_with_very_many_subscriptions_is_read_once(engine):
    trie = engine.SubjectTrie(max_length=2**20)
    trie.update([("a" * 5_000, None)] * 500)
    again = engine.SubjectTrie.from_bytes(trie.to_bytes())
    shared = {id(each.pattern) for each in again}
    assert (len(again), len(shared)) == (500, 1)
