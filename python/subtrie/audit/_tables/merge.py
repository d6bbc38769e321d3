"""Add up the partial rows of the tables, which come sorted by table and key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._schema import TABLE_COLUMNS, arrow_schema, arrow_type
from .by_subject import CANDIDATES, HOT, OUTSIDE, hottest, outside_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from .context import Context

#: The rows that are added up together; fewer need more calls.
_BATCH = 32_768
#: The sums of the tables whose rows come in parts; all other rows are complete.
_SUMS: dict[str, tuple[str, ...]] = {
    "call_graph": ("published", "refused", "delivered", "undelivered", "forwarded", "bytes"),
    "replies": ("published", "delivered", "undelivered"),
    "coverage": ("matched", "delivered"),
    "cross_plane": ("count",),
    "refused": ("count",),
    "spoofed": ("accepted", "count"),
}


def merged(
    batches: Iterable[pa.RecordBatch], context: Context
) -> Iterator[tuple[str, pa.Table | None]]:
    """Yield the rows of each table, in order.

    ``CANDIDATES`` in place of ``hot_subjects``: the rows do not tell which they are; None for any.

    Memory: about 32,768 rows, or twice a piece of each bucket.

    Args:
        batches: Rows of ``TABLE_ROWS``, sorted by ``table`` and ``key``.
        context: The counts and the planes of the whole input.
    """
    for name, pieces in _by_table(batches):
        tables = _in_order(pieces)
        if name == HOT:
            counts = context.counts
            found = hottest(tables, counts.get("published", 0), counts.get("unnamed", 0))
            known = found.rows is not None
            yield (name, found.rows) if known else (CANDIDATES, found.candidates)
        elif name == OUTSIDE:
            for each in tables:
                outside = outside_tables(each, context.planes).items()
                yield from ((table, _columns(table, rows)) for table, rows in outside)
        elif name == "cross_plane":
            yield from ((name, _planes(name, each)) for each in _complete(tables, "identity"))
        elif name not in TABLE_COLUMNS:
            yield from ((name, each) for each in tables)
        elif name in _SUMS:
            yield from ((name, _added(name, each)) for each in tables)
        else:
            yield from ((name, _columns(name, each)) for each in tables)


Piece = tuple[str, "pa.Table"]


def _by_table(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[Piece]]]:
    """Group sorted rows by table; the pieces of a table must be consumed in turn."""
    import itertools

    import pyarrow as pa

    def pieces() -> Iterator[tuple[str, Piece]]:
        for batch in batches:
            columns = (batch.column(name) for name in ("table", "key", "data"))
            for name, key, data in zip(*columns, strict=True):
                with pa.ipc.open_stream(data.as_buffer()) as stream:
                    yield name.as_py(), (key.as_py(), stream.read_all())

    for name, group in itertools.groupby(pieces(), key=lambda piece: piece[0]):
        yield name, (piece for _, piece in group)


def _in_order(pieces: Iterable[Piece]) -> Iterator[pa.Table]:
    """Yield the rows of pieces in the order of their keys, those with equal keys together.

    Each piece is sorted, and the pieces come in the order of their first keys.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    held: list[pa.Table] = []
    size, enough = 0, _BATCH
    for key, table in pieces:
        if size >= enough:
            rows = pa.concat_tables(held).sort_by("key")
            below = pc.sum(pc.less(rows["key"], key)).as_py()
            if below:
                yield rows.slice(0, below)
            held, size = [rows.slice(below)], rows.num_rows - below
            enough = max(_BATCH, 2 * size)  # so that no row is sorted more than a few times
        held.append(table)
        size += table.num_rows
    if held:
        yield pa.concat_tables(held).sort_by("key")


def _complete(tables: Iterable[pa.Table], by: str) -> Iterator[pa.Table]:
    """Yield rows so that all rows with one value of a column are together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.num_rows
        if size < _BATCH:
            continue
        rows = pa.concat_tables(held)
        last = rows[by][len(rows) - 1]
        begin = pc.index(rows[by], last).as_py()
        if begin:
            yield rows.slice(0, begin)
        held, size = [rows.slice(begin)], len(rows) - begin
    if held:
        yield pa.concat_tables(held)


def _added(name: str, rows: pa.Table) -> pa.Table:
    """Add up the rows with equal keys."""
    sums = _SUMS[name]
    columns = [column for column, _ in TABLE_COLUMNS[name]]
    spans = [(c, "min" if c == "first" else "max") for c in columns if c in ("first", "last")]
    keys = [c for c in columns if c in rows.column_names and c not in (*sums, "first", "last")]
    how: list[Any] = [*((c, "sum") for c in sums), *spans]
    if "instances" in columns:
        how.append(("server_conn", "count_distinct"))
    # The order of groups is not promised, so they are sorted again.
    how.append(("key", "min"))
    found = rows.group_by(keys).aggregate(how).sort_by("key_min")
    names = [f"{column}_{function}" for column, function in how]
    found = found.rename_columns(
        [_renamed(column) if column in names else column for column in found.column_names]
    )
    if name == "replies":
        import pyarrow.compute as pc

        found = found.filter(
            pc.or_(pc.greater(found["published"], 0), pc.greater(found["delivered"], 0))
        )
    return _columns(name, found)


def _renamed(column: str) -> str:
    """Return the column of a table that an aggregate becomes."""
    if column == "server_conn_count_distinct":
        return "instances"
    return column.rpartition("_")[0]


def _planes(name: str, rows: pa.Table) -> pa.Table:
    """Return the planes of each identity other than the one it uses most."""
    import pyarrow as pa

    added = _added(name, rows)
    used: dict[tuple[str, str | None], Counter[str]] = {}
    names = ("identity", "account", "plane", "count")
    listed = [*zip(*(added[name].to_pylist() for name in names), strict=True)]
    for *who, plane, count in listed:  # a row for each program
        used.setdefault((*who,), Counter())[plane] += count
    best = {who: min(planes, key=lambda plane: (-planes[plane], plane))
            for who, planes in used.items()}  # fmt: skip
    homes = [best[*who] for *who, _, _ in listed]
    place = added.column_names.index("home_plane")
    added = added.set_column(place, "home_plane", pa.array(homes, pa.string()))
    foreign = [p != h for p, h in zip(added["plane"].to_pylist(), homes, strict=True)]
    return added.filter(pa.array(foreign, pa.bool_()))


def _columns(name: str, rows: pa.Table) -> pa.Table:
    """Return the columns of a table; those that are not there are null."""
    import pyarrow as pa

    columns = []
    for column, kind in TABLE_COLUMNS[name]:
        if column in rows.column_names:
            columns.append(rows[column].cast(arrow_type(kind)))
        else:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, arrow_type(kind))]))
    return pa.table(columns, schema=arrow_schema(TABLE_COLUMNS[name]))
