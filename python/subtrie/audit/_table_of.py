"""One table of an audit, from a partial in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ._answers.questions import Questions
from ._answers.tables import sorted_rows
from ._here import micros, rows_of_buckets
from ._partial.partial import Partial
from ._partial.parts import Reading, partials_of_part, plan
from ._runs.run_writer import merged
from ._schema import ANSWERS, TABLE_COLUMNS, TABLES, arrow_schema
from ._tables.context import context_of

if TYPE_CHECKING:
    import pyarrow as pa


def partials_of(
    logs: Sequence[str], *, window: int | None = None, heads: bool = False
) -> Iterator[Partial]:
    """Yield the partials of trace logs, captures and snapshots; they add up in any order.

    Args:
        logs: The inputs, as ``audit`` takes them.
        window: The length of a period of the call graph and of ``permission_usage``, in seconds.
        heads: Whether to read the heads of payloads, for the latency of Microbus requests.

    Raises:
        OSError: A log cannot be read.
        ValueError: Two logs are copies of one.
    """
    inputs = plan(logs)
    reading = Reading(micros(window), follow=inputs.logs > 1, answers=True, heads=heads)
    for part in inputs.parts:
        yield from partials_of_part(part, reading)


def table_of(
    name: str,
    partials: Iterable[Partial],
    *,
    planes: Sequence[str] = (),
    questions: Questions | None = None,
    window: int | None = None,
) -> pa.Table:
    """Return one table of an audit, the rows that ``audit`` writes.

    Args:
        name: A table of ``TABLES`` but ``runs``.
        partials: The partials of the traffic, which are emptied.
        planes: The planes to audit. Without them they are detected from the traffic.
        questions: What answers are asked; by default those without rules and code.
        window: The length of a period in seconds, as the partials were made with.

    Raises:
        ValueError: No such table, or the rules name no service of the traffic.

    Example:
        >>> table_of("undelivered", []).num_rows
        0
    """
    import pyarrow as pa

    if name not in TABLES or name == "runs":
        known = ", ".join(sorted(TABLES.keys() - {"runs"}))
        raise ValueError(f"no table {name!r}; the tables are: {known}")
    found = Partial()
    for partial in partials:
        found.add(partial)
    asked = (questions or Questions()) if name in ANSWERS else None
    whole = context_of(found.head(), planes, asked, micros(window))
    rows = list(rows_of_buckets([found], whole, (name,)))
    schema = arrow_schema(TABLE_COLUMNS[name])
    if whole.answers is not None:
        whole.answers.check()
        made = sorted_rows(name, whole.answers.tables()[name])
        return pa.Table.from_pylist(made, schema)
    if not rows:
        return schema.empty_table()
    keys = [("table", "ascending"), ("key", "ascending")]
    batches = pa.Table.from_batches(rows).sort_by(keys).to_batches()
    tables = [table for each, table in merged(batches, whole.context) if each == name]
    return pa.concat_tables([schema.empty_table(), *(t for t in tables if t is not None)])
