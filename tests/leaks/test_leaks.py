"""The short form of ``make leaks``: what is counted, not the memory of the process."""

from __future__ import annotations

import asyncio
import gc
import itertools
import weakref

import pytest

from connector.nats_server import NatsServer

from .work import changes, requests


def test_changes_with_new_tokens_keep_the_memory_of_an_index(engine):
    seen = list(changes(engine, 3_000, 300, kept=100))
    assert max(seen[1:]) <= seen[0] * 1.5, seen


def test_a_handler_that_refers_to_its_trie_is_collected(engine):
    class Handler:
        def __init__(self, trie):
            self.trie = trie

        def __call__(self, message):
            return self.trie.match(message)

    trie = engine.SubjectTrie()
    handlers = [Handler(trie), Handler(trie)]
    trie.add("a.>", handlers[0])
    trie.add("a.b", handlers[1].__call__, queue="q")
    assert len(trie.match("a.b")) == 2
    watches = [weakref.ref(each) for each in (trie, *handlers)]
    del trie, handlers
    gc.collect()
    assert [watch() for watch in watches] == [None] * 3


@pytest.mark.parametrize("short_circuit", [True, False], ids=["in process", "over the broker"])
def test_requests_keep_the_memory_of_a_connector(tmp_path, monkeypatch, short_circuit):
    monkeypatch.chdir(tmp_path)
    seen: list[int] = []

    def note():
        gc.collect()
        seen.append(len(gc.get_objects()))

    server = NatsServer(tmp_path / "nats").start()
    try:
        asyncio.run(requests(server.url, 800, 200, note, short_circuit=short_circuit))
    finally:
        server.stop()
    # What is kept on purpose grows once; one object kept of each request would be 200 each time.
    growth = [after - before for before, after in itertools.pairwise(seen)]
    assert min(growth) < 100, seen
