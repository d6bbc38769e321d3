"""The targets of the fuzzers on their corpus, and regression tests of their findings."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from subtrie import WireError
from subtrie.wire import capture, log, monitor
from subtrie.wire._trace_operations import log_operation

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

import seeds
import texts


def test_every_corpus_input_satisfies_the_properties():
    count: Counter[str] = Counter()
    for target, data in seeds.seeds():
        count[target] += 1
        if target in texts.TARGETS:
            texts.TARGETS[target](data)
    assert set(count) > set(texts.TARGETS)
    assert set(seeds.CONNS) < set(count)
    assert min(count.values()) >= 3


FRONT = "[1] 2026/11/21 02:50:31.104847 [TRC] 127.0.0.1:4 - cid:8 - <<- "


@pytest.mark.parametrize(
    ("line", "reason", "position"),
    [
        ("[PUB foo.b repUNSU2]", "bad size", 10),
        ("[PUB foo -1]", "bad size", 8),
        ("[HPUB foo 1x 2]", "bad header size", 9),
        ("[HPUB 2]", "arg count", 0),
        ("[pub foo 2]", "unknown op", 0),
    ],
)
def test_found_by_fuzzing_a_logged_size_that_is_not_a_number(line, reason, position):
    record = log.parse_line(FRONT + line)
    with pytest.raises(WireError) as caught:
        log_operation(record)
    assert (caught.value.reason, caught.value.position) == (reason, position)


@pytest.mark.parametrize(
    "page",
    [
        {"num_subscriptions": 2, "total": [{}]},
        {"num_subscriptions": 2, "offset": "1"},
        {"connections": "ab"},
        {"connections": {"a": 1}},
        {"connections": [{"cid": "8", "subscriptions_list": ["a"]}]},
        {"subscriptions_list": [{"subject": ["a"]}]},
        {"subscriptions_list": [{"subject": "a", "qgroup": 7}]},
        {"subscriptions_list": [{"subject": "a", "sid": 7}]},
        {"routes": [{"rid": True, "subscriptions_list": ["a"]}]},
        {"server_id": 7, "routes": []},
    ],
)
def test_found_by_fuzzing_a_snapshot_with_wrong_types(page):
    with pytest.raises(WireError) as caught:
        monitor.loads(json.dumps(page))
    assert caught.value.reason == "monitor"


def test_a_record_about_a_connection_may_have_any_data(tmp_path):
    with capture.Writer(tmp_path) as writer:
        for about in (b"", b"[]", b"{", b"\xff", b'{"kind":7}', b'{"kind":"server"}', b"[" * 9999):
            writer.write("opened", 1, about)
            writer.write("lost", 1, about)
            writer.write("closed", 1, about)
    (file,) = capture.files(tmp_path)
    texts.TARGETS["capture"](file.read_bytes())


def test_the_search_among_bytes_that_look_like_records_is_bounded(tmp_path, monkeypatch):
    """A client can choose its payload so that a naive search in a damaged file takes hours."""
    monkeypatch.setattr(capture, "_MAX_CHECKSUMMED", 1 << 22)
    head = capture.MARK + (1 << 20).to_bytes(4, "little") + b"\0\0\0\0"
    with capture.Writer(tmp_path) as writer:
        writer.write("c2s", 1, head * 80_000)
        writer.write("c2s", 1, head * 80_000)
        writer.write("s2c", 1, b"PONG\r\n")
    (file,) = capture.files(tmp_path)
    data = bytearray(file.read_bytes())
    data[len(capture.MAGIC) + 20] ^= 1
    file.write_bytes(data)
    with pytest.raises(WireError) as caught:
        list(capture.read(file))
    assert (caught.value.reason, caught.value.resume) == ("record", None)
    assert caught.value.position == len(capture.MAGIC)
