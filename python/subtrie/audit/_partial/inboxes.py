"""Bound the inboxes of a partial: a sample of them stays single, the others are counted together.

Each request on plain NATS has an inbox of its own, such as ``_INBOX.<connection>.<request>``. Of
each bucket the inboxes with the least hashes stay (bottom-k sampling: Cohen and Kaplan 2007). An
inbox that is among the least of all is among the least of each part. So partials still add up in
any order and division, and it does not matter when and how often they are bounded.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .kinds import BUCKETS, SUMMED
from .partial import Partial

if TYPE_CHECKING:
    import pyarrow as pa

#: The inboxes that stay single: about 1.4 KB each with their messages and requests. More of them
#: make the sample of the latency larger, and each refresh slower.
MOST_INBOXES = 65_536
#: The counts of the messages on inboxes that are counted together, and of the requests whose
#: latency is therefore not known.
FOLDED = ("folded_messages", "untimed_requests")
#: An inbox of one request: those of a connection differ in the last token only.
_INBOX = r"^_INBOX[^.]*\.(?:[^.]+\.)+[^.*]+$"
_LAST = r"[^.]+$"
_KEY = b"subtrie.audit"


def bounded(partial: Partial, most: int = MOST_INBOXES) -> Partial:
    """Take a partial, and return it with at most so many inboxes; the others end in ``*``.

    The requests with these have no latency, and none of their undelivered messages has a position.
    What was changed is counted.

    Args:
        partial: The partial, which is emptied.
        most: The number of inboxes that stay.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    taken, others = list(partial._take_summed()), list(partial._take_others())
    rows = [*((kind, table) for kind, _, table in taken), *others]
    rows = [each for each in rows if each[1].num_rows]  # sums without rows have no columns
    named = [table[_column(kind)] for kind, table in rows if _column(kind)]
    together = pa.array(_together(named, most // BUCKETS), pa.string())
    found, counts = Partial(), dict.fromkeys(FOLDED, 0)
    if not len(together):
        found._add_taken(taken, others)
        return found
    for kind, table in rows:
        name = _column(kind)
        inside = pc.is_in(table[name], value_set=together) if name else None
        if inside is None or not pc.any(inside).as_py():
            found._add_rows(kind, table)
            continue
        found._add_rows(kind, table.filter(pc.invert(inside)))
        beyond = table.filter(inside)
        if kind == "request":
            counts["untimed_requests"] += beyond.num_rows
        elif kind in SUMMED:
            if "published" in beyond.column_names:  # a sum of zeros has no column
                counts["folded_messages"] += pc.sum(beyond["published"]).as_py()
            place = beyond.schema.get_field_index(name)
            folded = pc.replace_substring_regex(beyond[name], _LAST, "*")
            found._add_rows(kind, beyond.set_column(place, name, folded))
    found.add_counts({name: count for name, count in counts.items() if count})
    return found


def _column(kind: str) -> str:
    """Return the column of a kind that can have inboxes, or nothing."""
    return {"publish": "subject", "delivery": "subject", "undelivered": "subject",
            "request": "reply"}.get(kind, "")  # fmt: skip


def _together(columns: Iterable[pa.ChunkedArray], most: int) -> list[str]:
    """Return the inboxes beyond those with the least hashes of each bucket."""
    import pyarrow.compute as pc

    buckets: dict[int, set[str]] = defaultdict(set)
    for column in columns:
        texts = pc.unique(column).drop_null()
        for text in texts.filter(pc.match_substring_regex(texts, _INBOX)).to_pylist():
            buckets[zlib.crc32(text.encode()) % BUCKETS].add(text)
    found: list[str] = []
    for inboxes in buckets.values():
        if len(inboxes) > most:
            found += sorted(inboxes, key=_hash)[most:]
    return found


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16, key=_KEY).digest()
