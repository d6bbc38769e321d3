"""Partials of given rows: the missing columns are null."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from subtrie.audit._partial.kinds import kind_schema
from subtrie.audit._partial.partial import Partial


def head_of(**kinds: list[dict[str, Any]]) -> Partial:
    """Return a partial with rows of some kinds."""
    found = Partial()
    for kind, rows in kinds.items():
        schema = kind_schema(kind)
        none: dict[str, Any] = dict.fromkeys(schema.names)
        found.add_list(kind, pa.Table.from_pylist([none | row for row in rows], schema))
    return found
