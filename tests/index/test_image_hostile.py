"""Damaged and crafted images give a SubtrieError or an answer, and nothing else."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest

import damaged_images
import subtrie
from damaged_images import bytes_of, changed, repaired, words_of
from engines import ENGINES

#: No image of some hundred bytes may take more CPU time, whatever it says: native code gives no
#: events to count.
SECONDS = 5.0


def _example(engine):
    trie = engine.SubjectTrie()
    trie.update([("a.*", 0, "q"), ("gone", 1), ("a.*", 2), ("b.>", 3, "w"), ("a.*", 4, "q")])
    trie.remove(list(trie)[1])
    trie.select("a.b")
    return trie.to_bytes()


@pytest.fixture(params=list(ENGINES))
def image(request):
    return _example(ENGINES[request.param])


def asked(engine, image, verify):
    """Open an image and asks all there is to ask: what came out, an error by its reason."""
    began = time.thread_time()
    said = []
    try:
        trie = engine.SubjectTrie.from_bytes(image, verify=verify)
    except subtrie.SubtrieError as error:
        return error.reason
    for ask in (
        lambda: trie.match("a.b"),
        lambda: trie.match("b.c.d"),
        lambda: trie.count("a.b"),
        lambda: trie.has_interest("b.c"),
        lambda: bytes(trie.match_batch(["a.b", "x", "b.c"]).ids),
        lambda: [each.id for each in trie.subscriptions("a.b")],
        lambda: trie.select("a.b"),
        lambda: trie.groups("a.b"),
        lambda: len(trie.matching("a.>")),
        lambda: str(trie) and trie.draw("dot") and trie.draw("mermaid"),
        lambda: trie.stats()[:-1],
        lambda: len(trie.to_bytes()),
        lambda: trie.add("a.b", 9).id,
        lambda: [trie.remove(each) for each in list(trie)],
    ):
        try:
            said.append(ask())
        except subtrie.SubtrieError as error:
            said.append(error.reason)
        except OverflowError:  # ids beyond what a column holds
            said.append("overflow")
    assert time.thread_time() - began < SECONDS
    return said


def test_every_bit_of_the_header(engine, image):
    for bit in range(8 * 256):
        broken = bytearray(image)
        broken[bit // 8] ^= 1 << bit % 8
        for verify in (True, False):
            with pytest.raises(subtrie.SubtrieError) as caught:
                engine.SubjectTrie.from_bytes(broken, verify=verify)
            wanted = "image-magic" if bit < 64 else "image-version" if bit < 128 else "image-header"
            assert caught.value.reason == wanted


def test_every_length(engine, image):
    for length in range(len(image)):
        wanted = "image-magic" if length < 8 else "image-length"
        for verify in (True, False):
            assert asked(engine, image[:length], verify) == wanted
    for more in (b"\0", bytes(8), bytes(4096)):
        assert asked(engine, image + more, False) == "image-length"


def test_every_bit_of_the_content(engine, image):
    for bit in range(8 * 256, 8 * len(image)):
        broken = bytearray(image)
        broken[bit // 8] ^= 1 << bit % 8
        if bit % 8 == 0:
            assert asked(engine, broken, True) == "image-checksum"
        asked(engine, bytes(broken), False)


_NUMBERS = [0, 1, 2, 3, 31, 32, 2**16, 2**31, 2**32 - 1, 2**32, 2**61, 2**63, 2**64 - 1]


def test_every_word_with_edge_case_numbers(engine, image):
    for word in range(len(image) // 8):
        if word in (damaged_images.CONTENT_SUM, damaged_images.HEADER_SUM):
            continue
        for number in _NUMBERS:
            asked(engine, changed(image, word, number), True)


def read_by(engine, image):
    """The subscriptions of an image, or why it is refused."""
    try:
        trie = engine.SubjectTrie.from_bytes(image)
        return [(each.id, str(each.pattern), each.queue) for each in trie], trie.select("a.b")
    except subtrie.SubtrieError as error:
        return error.reason


def test_both_engines_judge_each_changed_word_alike():
    image = damaged_images.example()
    words = words_of(image)
    tried = [
        changed(image, at, number)
        for at, word in enumerate(words)
        if at not in (damaged_images.CONTENT_SUM, damaged_images.HEADER_SUM)
        for number in (*_NUMBERS, word - 1, word + 1, *(word ^ 1 << bit for bit in (0, 32, 63)))
    ]
    apart = [*words[:32], 0, *words[32:]]  # a word between the header and the first section
    for section in range(damaged_images.TABLE, damaged_images.NAMES + 1, 2):
        apart[section] += 1
    end = words[damaged_images.ROW_WORDS] + words[damaged_images.ROW_WORDS + 1]
    longer = [*words[:end], 0, *words[end:]]  # a third of a row
    longer[damaged_images.ROW_WORDS + 1] += 1
    longer[damaged_images.NAMES] += 1
    for each in (*tried, *(repaired(bytes_of(more)) for more in (apart, longer))):
        native, reference = (read_by(engine, each) for engine in ENGINES.values())
        assert native == reference, words_of(each)
    for more in (apart, longer):
        assert read_by(ENGINES["native"], repaired(bytes_of(more))) == "image-header"


def test_many_words_at_random(engine, image):
    chance = random.Random(4)
    words = words_of(image)
    for _ in range(1500):
        broken = list(words)
        for _ in range(chance.randint(1, 4)):
            at = chance.choice([chance.randrange(2, 23), chance.randrange(32, len(words))])
            broken[at] = (
                chance.choice(
                    [*_NUMBERS, chance.getrandbits(64), chance.choice(words), broken[at] + 1]
                )
                % 2**64
            )
        asked(engine, repaired(bytes_of(broken)), True)
        asked(engine, bytes_of(broken), False)


def test_exchanged_sections_are_refused(engine, image):
    words = words_of(image)
    for one in range(damaged_images.TABLE, damaged_images.NAMES + 2):
        for other in range(one):
            broken = list(words)
            broken[one], broken[other] = broken[other], broken[one]
            asked(engine, repaired(bytes_of(broken)), True)


def test_noise(engine):
    chance = random.Random(5)
    for length in (0, 1, 8, 100, 256, 1000):
        for _ in range(20):
            noise = chance.randbytes(length)
            assert asked(engine, noise, True) == "image-magic"
            noise = (b"subtrie\n" + (2).to_bytes(8, "little") + noise).ljust(320, b"\0")[: 8 * 40]
            assert asked(engine, repaired(noise), True) in ("image-header", "image-length")


def test_sizes_in_a_header_do_not_allocate_memory(engine):
    """Opening a small image takes little memory, whatever sizes its header has."""
    image = damaged_images.example()
    claims = [changed(image, word, 2**61) for word in range(2, 24)]
    claims += [
        damaged_images.Damage(0, 1 | (2**32 - 1) << 32, damaged_images.BLOCKS).image(),
        damaged_images.Damage(0, 2**64 - 1, damaged_images.NAMES).image(),
    ]
    tracemalloc.start()
    try:
        for claim in claims:
            asked(engine, claim, True)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("written_by", list(ENGINES))
def test_circular_links_are_refused(engine, written_by):
    words = words_of(_example(ENGINES[written_by]))
    start = words[damaged_images.ROW_WORDS]
    for slot in range(4):
        for target in range(4):
            circle = list(words)
            link = start + 3 * slot + 1
            circle[link] = circle[link] % 2**32 | target << 32
            asked(engine, repaired(bytes_of(circle)), True)
