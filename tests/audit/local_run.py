"""The reader of trace logs without Spark: the events of a log, in one process."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa

from subtrie.audit._readers.log_reader import native
from subtrie.audit._schema import EVENTS

COLUMNS = [name for name, _ in EVENTS if name not in ("server", "file")]
CLIENTS = ("client", "websocket", "mqtt")


class Events(list[dict[str, Any]]):
    """The events of a log in the order of its lines, and the number of lines by category."""

    counts: Counter[str]


def read(data: bytes, *edges: int, piece: int | None = None, skim: int | None = None) -> Events:
    """Return the events of a log that is divided at ``edges`` and arrives in pieces."""
    divider = native().LogDivider(list(edges), skim=skim)
    divider.feed(data)
    parts = [(0, None), *divider.take()]
    ends = [*(at for at, _ in parts[1:]), None]
    found = Events()
    found.counts = Counter(operations=0, payloads=0, server=0, unparseable_lines=0)
    for (start, state), end in zip(parts, ends, strict=True):
        reader = native().TraceReader(COLUMNS, start, end, state=state)
        body = data[start:]
        step = piece or max(1, len(body))
        for at in range(0, len(body), step):
            if reader.feed(body[at : at + step]):
                break
            if random.Random(at).random() < 0.1:  # rows may be taken at any time
                found += pa.array(reader.take()).to_pylist()
        else:
            reader.finish()
        found += pa.array(reader.take()).to_pylist()
        assert len(reader) == 0
        found.counts.update(reader.counts)
    found.sort(key=lambda row: row["position"])
    return found


def counts(rows: Events) -> Counter[str]:
    """Return the number of lines by category."""
    return Counter({name: n for name, n in rows.counts.items() if name != "unmatched"})


def messages(rows: Events) -> list[dict[str, Any]]:
    """Return the messages of clients that the server accepted."""
    return [row for row in received(rows) if row["refused"] is None and of_client(row)]


def received(rows: Events) -> list[dict[str, Any]]:
    """Return the messages that the server received."""
    return [row for row in rows if row["until"] is not None]


def deliveries(rows: Events) -> list[dict[str, Any]]:
    """Return the lines to clients."""
    return [r for r in rows if r["op"] in ("MSG", "HMSG") and of_client(r)]


def of_client(row: dict[str, Any]) -> bool:
    """Whether a row is about the connection of a client."""
    return row["conn"].split("/")[1].split(":")[0] in CLIENTS
