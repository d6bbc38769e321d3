"""The subjects with the most messages, from parts that name only the most frequent of theirs.

A part that has all messages of its subjects names the first 100. One that has some of the messages
names more, and says how many messages a subject has at most that it does not name (``unnamed``). A
sum over such parts is exact if each of them names the subject, and it is among the first if it is
greater than all that others can have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._partial.add_up import add_up
from .._schema import TABLE_COLUMNS, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from .subjects import Subjects

#: The name of their table.
HOT = "hot_subjects"
#: The number of rows of ``hot_subjects``.
HOTTEST = 100
#: The subjects that a part names if it has only some of their messages.
NAMED = 4_096
_ORDER: list[tuple[str, Any]] = [("published", "descending"), ("subject", "ascending")]


def most_published(summed: pa.Table, subjects: Subjects, most: int) -> tuple[pa.Table, int]:
    """Return the subjects with the most messages, and how many the next one has.

    Args:
        summed: The number of each subject (``at``), ``published`` and ``bytes``; one row each.
        subjects: The subjects.
        most: The number of subjects.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    beyond = 0
    if summed.num_rows > most:
        counts = summed["published"].to_numpy()
        place = len(counts) - most
        ordered = np.partition(counts, [place - 1, place])
        beyond = int(ordered[place - 1])
        summed = summed.filter(pc.greater_equal(summed["published"], int(ordered[place])))
    texts = subjects.texts.take(summed["at"].combine_chunks())
    found = pa.table({"subject": texts, "published": summed["published"], "bytes": summed["bytes"]})
    if found.num_rows > most:  # subjects with as many messages as the last of them
        found = found.take(pc.select_k_unstable(found, most, _ORDER))
    return found, beyond


def hottest(tables: Iterable[pa.Table], published: int, unnamed: int) -> pa.Table | None:
    """Return the rows of ``hot_subjects``, or None if the parts do not tell which they are.

    Args:
        tables: What the parts name; all rows of a subject are in one table. A row of a part that
            has only some messages has the column ``unnamed``.
        published: The number of accepted messages.
        unnamed: The sum of ``unnamed`` over all parts.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    best: pa.Table | None = None
    others = 0  # the most that a subject can have that is not among the best
    for table in tables:
        if "unnamed" not in table.column_names:
            table = table.append_column("unnamed", pa.repeat(pa.scalar(0), table.num_rows))
        added = add_up(table.drop_columns(["key"]), ("subject",))
        hidden = pc.subtract(unnamed, added["unnamed"])
        added = added.drop_columns(["unnamed"]).append_column("hidden", hidden)
        both = added if best is None else pa.concat_tables([best, added])
        ordered = both.sort_by(_ORDER)
        best, rest = ordered.slice(0, HOTTEST), ordered.slice(HOTTEST)
        rest = rest.filter(pc.greater(rest["hidden"], 0))
        if rest.num_rows:
            others = max(others, pc.max(pc.add(rest["published"], rest["hidden"])).as_py())
    if best is None:
        return hot_rows([], published) if not unnamed else None
    if unnamed:
        least = best["published"][-1].as_py() if best.num_rows == HOTTEST else 0
        if pc.max(best["hidden"]).as_py() or least <= max(others, unnamed):
            return None
    return hot_rows(best.to_pylist(), published)


def hot_rows(rows: Iterable[dict[str, Any]], published: int) -> pa.Table:
    """Return rows of ``hot_subjects``, sorted by subject, with their share."""
    import pyarrow as pa

    made = [
        {name: row[name] for name in ("subject", "published", "bytes")}
        | {"share": row["published"] / published}
        for row in sorted(rows, key=lambda row: row["subject"])
    ]
    return pa.Table.from_pylist(made, arrow_schema(TABLE_COLUMNS[HOT]))
