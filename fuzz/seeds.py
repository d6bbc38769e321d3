"""Write the initial corpus of the fuzzers: the vectors, in the form that each target takes.

    python fuzz/seeds.py [FOLDER]

One folder for each target under ``fuzz/corpus``; the name of a file is a digest of its
content, so a second run adds nothing. Streams begin with two bytes of options, images with one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from subtrie import SubjectTrie, SubtrieError
from subtrie.wire import capture

HERE = Path(__file__).parent
ROOT = HERE.parent
VECTORS = ROOT / "tests" / "vectors"
CAPTURES = ROOT / "examples" / "captures" / "go_live"
RECORDING = ROOT / "tests" / "recordings" / "go_live"

CONNS = ("client", "server_to_client", "route", "leaf", "route_legacy")
#: All options as usual; the short limits and the strict dialect; a route with its own account.
_OPTIONS = (b"\0\0", b"\3\5", b"\x60\3")


def rows(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a vector file."""
    with (VECTORS / f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def texts(value: Any) -> Iterator[str]:
    """Every text in a row, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)


def _streams() -> Iterator[tuple[str, bytes]]:
    for row in rows("nats_wire"):
        if row["conn"] in CONNS:
            stream = b"".join(map(b64decode, row["chunks_b64"]))
            for options in _OPTIONS:
                yield row["conn"], options + stream
            yield "engines", bytes((CONNS.index(row["conn"]) << 2, 7)) + stream
    with gzip.open(CAPTURES / "wire.jsonl.gz", "rt") as lines:
        for line, _ in zip(lines, range(200), strict=False):
            piece = json.loads(line)
            conn = {"c2s": "client", "s2c": "server_to_client"}[piece["dir"]]
            yield conn, _OPTIONS[0] + b64decode(piece["data"])[:4096]


def _grammar() -> Iterator[tuple[str, bytes]]:
    for row in rows("nats_match"):
        found = [text for key, item in row.items() if key not in ("id", "kind", "from")
                 for text in texts(item)]  # fmt: skip
        for one, other in zip(found, [*found[1:], ""], strict=True):
            yield "subjects", f"{one}\n{other}".encode("utf-8", "surrogatepass")
        for text in found:
            yield "names", text.encode("utf-8", "surrogatepass")
        lines = [f"{'abcd'[place % 4]}{text}" for place, text in enumerate(found)]
        yield "permissions", "\n".join(lines).encode("utf-8", "surrogatepass")


def _addresses() -> Iterator[tuple[str, bytes]]:
    for name in ("microbus", "go_subjects", "go_more"):
        for row in rows(name):
            for text in texts([row.get("in"), row.get("out")]):
                yield "microbus", text.encode("utf-8", "surrogatepass")


def _messages() -> Iterator[tuple[str, bytes]]:
    with gzip.open(RECORDING / "messages.jsonl.gz", "rt") as lines:
        for line in lines:
            yield "http", b64decode(json.loads(line)["bytes"])[:4096]


def _images() -> Iterator[tuple[str, bytes]]:
    for row in rows("nats_match"):
        patterns = row.get("patterns")
        if not patterns or not all(isinstance(item, str) for item in patterns):
            continue
        trie = SubjectTrie()
        for place, pattern in enumerate(patterns):
            try:
                trie.add(pattern, None, queue="q" if place % 3 else None)
            except SubtrieError:
                continue
        yield "image", b"\0" + trie.to_bytes()
        edit = struct.pack(">H", 40) + struct.pack("<Q", 1)
        yield "image", b"\1" + "\n".join(patterns).encode() + b"\0" + edit


def _programs() -> Iterator[tuple[str, bytes]]:
    """Add, ask and remove in turn, with all shapes of patterns."""
    for start in range(0, 256, 8):
        shapes = [(start * 7 + place * 31) % 256 for place in range(60)]
        steps = [(0, 0x81, 7, 0x41, 4, 7, 5, 2)[place % 8] for place in range(60)]
        pairs = zip(steps, shapes, strict=True)
        yield "index", bytes(byte for pair in pairs for byte in pair)


def _captures() -> Iterator[tuple[str, bytes]]:
    stream = [b64decode(data) for row in rows("nats_wire") for data in row.get("chunks_b64", ())]
    for start in range(0, len(stream), 20):
        with tempfile.TemporaryDirectory() as folder:
            with capture.Writer(folder) as writer:
                writer.write("opened", 1, b'{"kind":"client"}', at=1)
                for place, piece in enumerate(stream[start : start + 20]):
                    writer.write(("c2s", "s2c")[place % 2], 1, piece[:256], at=place)
                writer.write("lost", 1, b'{"direction":"c2s","bytes":7}', at=99)
                writer.write("closed", 1, b'{"reason":"closed"}', at=100)
            whole = capture.files(Path(folder))[0].read_bytes()
        yield "capture", whole
        yield "capture", whole[: len(whole) - 9]


def _texts() -> Iterator[tuple[str, bytes]]:
    for row in rows("nats_wire"):
        if row["conn"] == "trace_log":
            yield "trace_log", b"".join(map(b64decode, row["chunks_b64"]))
            yield "trace_events", b"\7" + b"".join(map(b64decode, row["chunks_b64"])) + b"\n"
    with (CAPTURES / "trace.log").open("rb") as lines:
        found = [line[:2000] for line, _ in zip(lines, range(300), strict=False)]
    for line in found:
        yield "trace_log", line.rstrip(b"\n")
    for start in range(0, len(found), 10):
        yield "trace_events", bytes((start % 64,)) + b"".join(found[start : start + 10])
    for answer in _ANSWERS:
        yield "snapshot", json.dumps(answer).encode()


_ANSWERS: tuple[dict[str, Any], ...] = (
    {"server_id": "A", "now": "x", "num_connections": 1, "total": 1, "offset": 0, "limit": 1024,
     "connections": [{"cid": 8, "name": "n", "subscriptions_list_detail": [
         {"account": "$G", "subject": "a.>", "qgroup": "q", "sid": "1", "msgs": 0}]}]},
    {"server_id": "A", "num_routes": 1, "routes": [
        {"rid": 5, "account": "$G", "subscriptions_list": ["a", "b.>"]}]},
    {"num_subscriptions": 1, "total": 1, "subscriptions_list": [
        {"subject": "a", "sid": "1", "cid": 5}]},
)  # fmt: skip


def seeds() -> Iterator[tuple[str, bytes]]:
    """Every seed, with the target it is for."""
    for source in (
        _streams,
        _grammar,
        _addresses,
        _messages,
        _images,
        _programs,
        _captures,
        _texts,
    ):
        yield from source()


def main(folder: Path) -> None:
    count = 0
    for target, data in seeds():
        path = folder / target / hashlib.sha1(data).hexdigest()[:16]
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(data)
            count += 1
    print(f"{count} new seeds in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus")
