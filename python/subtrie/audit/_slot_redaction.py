"""Redaction of slots of Microbus subjects, before a row leaves the worker that read it.

Each token is replaced by a keyed digest of its own: equal tokens stay equal, so counts and joins
still work, and the patterns of subscriptions, whose tokens are replaced in the same way, match the
same subjects. Wildcards are kept. Without the key a digest cannot be recomputed from a guess.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: The slots that can be redacted: the path after the method, and ids of instances.
SLOTS = ("path", "id")
#: The first token of the path of a request, and the token with an id.
_PATH, _ID = 7, 5
_TRUST = ("safe", "danger", "*")
_DIGITS = 12


@dataclass(frozen=True)
class Redaction:
    """The slots that are redacted, and the key of the digests."""

    slots: tuple[str, ...]
    key: bytes

    def __post_init__(self) -> None:
        unknown = [slot for slot in self.slots if slot not in SLOTS]
        if unknown:
            raise ValueError(f"a slot to redact is one of {', '.join(SLOTS)}, not {unknown[0]!r}")
        if not 16 <= len(self.key) <= 64:
            raise ValueError("the key of a redaction has 16 to 64 bytes")

    def text(self, subject: str | None) -> str | None:
        """Return a subject, or patterns with blanks between them, with the slots replaced."""
        if subject is None:
            return None
        if " " in subject:  # the filters of a consumer
            return " ".join(str(self.text(each)) for each in subject.split(" "))
        tokens = subject.split(".")
        if len(tokens) <= _ID:  # neither slot
            return subject
        is_reply = len(tokens) == _ID + 1 and tokens[1] == "reply"
        if not is_reply and tokens[1] not in _TRUST:
            return subject
        if "id" in self.slots and tokens[_ID].startswith("id-"):
            tokens[_ID] = f"id-{self._digest(tokens[_ID])}"
        if "path" in self.slots:
            tokens[_PATH:] = [t if t in ("*", ">") else self._digest(t) for t in tokens[_PATH:]]
        return ".".join(tokens)

    def columns(self, batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        """Return events with the slots replaced in some columns, and without unparseable text."""
        import pyarrow as pa

        for name in names:
            place = batch.schema.get_field_index(name)
            if place < 0:
                continue
            if name in ("_corrupt_record", "text"):  # unknown which part of it is a slot
                column = pa.nulls(batch.num_rows, pa.string())
            else:
                distinct = batch.column(place).dictionary_encode()
                texts = _texts(map(self.text, distinct.dictionary.to_pylist()))
                column = texts.take(distinct.indices)
            batch = batch.set_column(place, name, column)
        return batch

    def _digest(self, token: str) -> str:
        data = token.encode("utf-8", "surrogateescape")
        return hashlib.blake2b(data, key=self.key, digest_size=_DIGITS // 2).hexdigest()


def _texts(texts: Iterable[str | None]) -> pa.Array:
    import pyarrow as pa

    return pa.array(list(texts), pa.string())
