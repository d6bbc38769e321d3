"""The memory of an image: borrowed if nothing can write to it, else copied."""

from __future__ import annotations

import array
import mmap
import subprocess
import sys

import pytest

from engines import ENGINES

native = ENGINES["native"]


def written_by(engine):
    trie = engine.SubjectTrie()
    trie.update([("a.*", "zero"), ("a.>", "one"), ("b", "two")])
    trie.remove(list(trie)[1])
    return trie.to_bytes()


@pytest.fixture(params=ENGINES)
def image(request):
    return written_by(ENGINES[request.param])


@pytest.mark.parametrize(
    "kind", [bytes, bytearray, memoryview, lambda image: array.array("B", image)]
)
def test_any_buffer_of_bytes_is_accepted(engine, image, kind):
    assert engine.SubjectTrie.from_bytes(kind(image)).match("b") == (2,)
    shifted = memoryview(b"x" + image)[1:]  # where no word would lie
    assert engine.SubjectTrie.from_bytes(shifted).match("b") == (2,)


def _written_map(image: bytes) -> mmap.mmap:
    mapped = mmap.mmap(-1, len(image))
    mapped[:] = image
    return mapped


@pytest.mark.parametrize(
    "kind", [bytearray, lambda image: memoryview(bytearray(image)), _written_map]
)
def test_an_image_in_a_writable_buffer_is_copied(engine, image, kind):
    buffer = kind(image)
    trie = engine.SubjectTrie.from_bytes(buffer)
    buffer[:] = bytes(len(image))  # would be read by the next lookup if it were borrowed
    assert trie.match("b") == (2,)
    assert engine.SubjectTrie.from_bytes(trie.to_bytes()).match("b") == (2,)


@pytest.mark.parametrize("kind", [bytearray, _written_map, lambda image: array.array("B", image)])
@pytest.mark.parametrize("views", [1, 2])
def test_a_read_only_view_of_memory_that_is_written_to_is_copied(engine, image, kind, views):
    buffer = kind(image)
    view = memoryview(buffer).toreadonly()
    if views == 2:
        view = memoryview(view)[:]
    trie = engine.SubjectTrie.from_bytes(view)
    memoryview(buffer)[:] = bytes(len(image))
    assert trie.match("b") == (2,)
    assert engine.SubjectTrie.from_bytes(trie.to_bytes()).match("b") == (2,)


class _Bytes(bytes):
    """Bytes whose buffer is another memory."""

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.memory).toreadonly()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes export buffers since Python 3.12")
def test_the_buffer_of_a_subclass_of_bytes_is_copied(engine, image):
    given = _Bytes(image)
    given.memory = bytearray(image)
    trie = engine.SubjectTrie.from_bytes(given)
    given.memory[:] = bytes(len(image))
    assert trie.match("b") == (2,)


@pytest.mark.parametrize("kind", [bytes, memoryview, "map", "view of a map"])
def test_bytes_and_read_only_maps_are_not_copied(tmp_path, kind):
    image = written_by(native)  # with a table, so it is read in place
    path = tmp_path / "image"
    path.write_bytes(image)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if kind is bytes:
        given = bytes(bytearray(image))  # an object of which this is the only reference
        before = sys.getrefcount(given)
        trie = native.SubjectTrie.from_bytes(given)
        assert sys.getrefcount(given) == before + 1
    else:
        given = {memoryview: memoryview(image), "map": mapped}.get(kind) or memoryview(mapped)
        trie = native.SubjectTrie.from_bytes(given)
        with pytest.raises(BufferError):  # the index refers to the memory
            given.close() if kind == "map" else given.release()
    assert trie.match("b") == (2,)
    del trie
    if kind == "map":
        given.close()


def test_a_writable_buffer_is_released_at_once(engine, image):
    buffer = bytearray(image)
    trie = engine.SubjectTrie.from_bytes(buffer)
    buffer.clear()  # a BufferError while a view of it exists
    assert trie.match("b") == (2,)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, TypeError),
        ("subtrie\n", TypeError),
        ([1, 2], TypeError),
        (memoryview(bytes(512))[::2], BufferError),
        (array.array("Q", [1, 2]), BufferError),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_buffer_that_is_not_contiguous_is_refused(engine, given, error):
    with pytest.raises(error):
        engine.SubjectTrie.from_bytes(given)


def test_a_memory_map_shared_by_processes(engine, image, tmp_path):
    path = tmp_path / "index.image"
    path.write_bytes(image)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        trie = engine.SubjectTrie.from_bytes(mapped, ["x", "y", "z"])
        assert trie.match("b") == ("z",)
        other = subprocess.run(
            [sys.executable, "-c", _OTHER, engine.__name__, str(path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert other.stdout == "(0,) (2,)\n"
        del trie


_OTHER = """
import importlib, mmap, sys
name, path = sys.argv[1:]
with open(path, "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
trie = importlib.import_module(name).SubjectTrie.from_bytes(mapped)
print(trie.match("a.b"), trie.match("b"))
"""
