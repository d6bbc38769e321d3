"""The tables of a run: rows added up, written as Parquet files and committed.

The rows come sorted by table and key.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .._answers.tables import sorted_rows
from .._partial.inboxes import FOLDED
from .._partial.kinds import aggregated, batches_of, stream_bytes
from .._partial.rates import RATE, rate_column
from .._schema import TABLE_COLUMNS, arrow_schema, arrow_type
from .._tables.by_subject import CANDIDATES, HOT, OUTSIDE, hottest, outside_tables
from .._tables.context import LINES, Context, Whole
from .._tables.traffic import SUMS, TOTALS
from .run_folder import RunFolder, stage_file

if TYPE_CHECKING:
    import pyarrow as pa

#: The rows that are added up together; fewer need more calls.
_BATCH = 32_768
#: The sums of the tables whose rows come in parts; all other rows are complete.
_ADDED: dict[str, tuple[str, ...]] = {
    "call_graph": ("published", "refused", "delivered", "undelivered", "forwarded", "bytes"),
    "replies": ("published", "delivered", "undelivered"),
    "coverage": ("matched", "delivered"),
    "cross_plane": ("count",),
    "refused": ("count",),
    "spoofed": ("accepted", "count"),
}
_ROW_GROUP = 50_000
Task = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
#: What the task returns: a row for each file, one for the totals, and those of the sums of answers.
WRITTEN = "table string, file string, rows bigint, sha256 string, data binary"


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
        elif name in _ADDED:
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
    sums = _ADDED[name]
    columns = [column for column, _ in TABLE_COLUMNS[name]]
    spans = [(c, "min" if c == "first" else "max") for c in columns if c in ("first", "last")]
    added = (*sums, "first", "last", RATE)
    keys = [c for c in columns if c in rows.column_names and c not in added]
    how: list[Any] = [*((c, "sum") for c in (*sums, RATE) if c in columns), *spans]
    if "instances" in columns:
        how.append(("server_conn", "count_distinct"))
    # The order of groups is not promised, so they are sorted again.
    how.append(("key", "min"))
    found = aggregated(rows, keys, how).sort_by("key_min")
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
        if column == RATE:
            columns.append(
                rate_column(*(rows[each].combine_chunks() for each in (column, "count")))
            )
        elif column in rows.column_names:
            columns.append(rows[column].cast(arrow_type(kind)))
        else:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, arrow_type(kind))]))
    return pa.table(columns, schema=arrow_schema(TABLE_COLUMNS[name]))


class TableFile:
    """Write one table as a Parquet file.

    Args:
        to: An existing local folder, or a stream.
        table: The name of the table.
    """

    def __init__(self, to: Any, table: str) -> None:
        import pyarrow.parquet as pq

        self.table = table
        self.rows = 0
        self._schema = arrow_schema(TABLE_COLUMNS[table])
        self._path = os.path.join(to, table) if isinstance(to, str) else to
        self._held: list[pa.Table] = []
        self._count = 0
        self._writer = pq.ParquetWriter(
            self._path, self._schema, compression="zstd", store_schema=False
        )

    def add(self, rows: pa.Table) -> None:
        """Add rows; row groups do not depend on how they are divided."""
        import pyarrow as pa

        self._held.append(rows)
        self._count += rows.num_rows
        if self._count < _ROW_GROUP:
            return
        table = pa.concat_tables(self._held)
        while table.num_rows >= _ROW_GROUP:
            self._write(table.slice(0, _ROW_GROUP))
            table = table.slice(_ROW_GROUP)
        self._held, self._count = [table], table.num_rows

    def close(self) -> None:
        """Complete the file."""
        import pyarrow as pa

        if self._count:
            self._write(pa.concat_tables(self._held))
        self._writer.close()

    def abandon(self) -> None:
        """Leave the file incomplete: pyarrow would complete it, and print that it cannot."""
        self._writer.is_open = False

    def finish(self) -> tuple[str, str, str]:
        """Return the path of the complete local file, its final name, and its digest."""
        self.close()
        with open(self._path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return self._path, _file_name(self.table, digest), digest

    def _write(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        self._writer.write_table(table.combine_chunks(), row_group_size=_ROW_GROUP)


def table_bytes(table: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a small table as the entry of a file, with its bytes in ``data``."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    file = TableFile(sink, table)
    if rows:
        file.add(pa.Table.from_pylist(list(rows), arrow_schema(TABLE_COLUMNS[table])))
    file.close()
    data = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(data).hexdigest()
    name = _file_name(table, digest)
    return {"table": table, "file": name, "rows": len(rows), "sha256": digest, "data": data}


@cache
def _empty(table: str) -> dict[str, Any]:
    return table_bytes(table, ())


def _file_name(table: str, digest: str) -> str:
    return f"{table}-{digest[:12]}.parquet"


def all_tables(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of the files of all tables: those that are missing are empty."""
    there = {entry["table"] for entry in entries}
    return [*entries, *(_empty(name) for name in TABLE_COLUMNS if name not in there)]


def table_writer(folder: RunFolder, context: Context) -> Task:
    """Return the task that writes tables, from rows sorted by table and key.

    ``CANDIDATES`` in place of ``hot_subjects``: the rows do not tell which they are.
    The bytes of a temporary result come back to the driver, as workers may share no folder with it.
    """
    path, staging, returned = folder.path, folder.staging, folder.temporary

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add up the rows and write the tables that came to this task."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pa.default_memory_pool().release_unused()  # an earlier task of this process kept it
        with tempfile.TemporaryDirectory() as local, contextlib.ExitStack() as stack:
            files: dict[str, TableFile] = {}
            total, others = 0, list[Any]()
            for name, table in merged(batches, context):
                if table is None:
                    others.append((name, "", 0, "", None))
                elif name == CANDIDATES:
                    others.append((name, "", 0, "", stream_bytes(table)))
                elif name == SUMS:
                    others.append((SUMS, "", table.num_rows, "", stream_bytes(table)))
                elif name == TOTALS:
                    total += pc.sum(table["forwarded"]).as_py()
                else:
                    if name not in files:
                        files[name] = TableFile(local, name)
                        stack.callback(files[name].abandon)
                    files[name].add(table)
            done: list[Any] = [(TOTALS, "", total, "", None), *others]
            for name, file in files.items():
                made, target, digest = file.finish()
                data = None
                if returned:
                    with open(made, "rb") as stream:
                        data = stream.read()
                else:
                    stage_file(path, staging, made, target)
                done.append((name, target, file.rows, digest, data))
            kinds = (pa.string(), pa.string(), pa.int64(), pa.string(), pa.binary())
            columns = list(zip(*done, strict=True)) or [()] * len(kinds)
            names = ["table", "file", "rows", "sha256", "data"]
            arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
            yield pa.record_batch(arrays, names=names)

    return write


def committed(
    folder: RunFolder,
    whole: Whole,
    entries: Sequence[dict[str, Any]],
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    stream: dict[str, Any] | None = None,
    step: Callable[..., None] = lambda name, rows=0: None,
) -> dict[str, Any]:
    """Make the tables of answers, commit all files, and return the counts.

    Args:
        folder: Where the files go.
        whole: The counts and planes, and what makes the tables of answers.
        entries: What the tasks returned.
        describe: Returns the row of the table ``runs`` for the counters of the run.
        stream: What a stream needs to go on; its rules may be of services that have not begun.
        step: Is called with the name of each step as it begins.

    Raises:
        ValueError: The rules name no service of the traffic, or the time is outside the log.
    """
    context, answers = whole.context, whole.answers
    files = [row for row in entries if row["table"] not in (TOTALS, SUMS)]
    if answers is not None:
        step("answering questions")
        for row in entries:
            if row["table"] == SUMS:
                with batches_of(row["data"]) as batches:
                    table = batches.read_all()
                answers.sums.add_rows(zip(*table.select(["kind", "sums"]).to_pydict().values(),
                                          strict=True))  # fmt: skip
        if stream is None:
            answers.check()
        made = answers.tables().items()
        files += [table_bytes(name, sorted_rows(name, rows)) for name, rows in made]
    counts = context.counts
    summary = {
        "lines": context.lines,
        **{name: counts.get(name, 0) for name in LINES},
        "planes": list(context.planes),
        "ambiguous": counts.get("ambiguous", 0),
        "unmatched": context.unmatched,
        "forwarded": sum(row["rows"] for row in entries if row["table"] == TOTALS),
    }
    counters = {name: count for name, count in summary.items() if isinstance(count, int)}
    counters |= {name: counts.get(name, 0) for name in ("published", "unsettled", "mqtt")}
    counters |= {name: counts[name] for name in FOLDED if name in counts}
    files.append(table_bytes("runs", [describe(counters)]))
    folder.commit(all_tables(files), summary, stream)
    return summary
