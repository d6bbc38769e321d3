"""The tables of a run: rows added up and written, then committed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._runs.run_folder import RunFolder, TableFile, stage_file, table_bytes
from .fact_tables import FactTables
from .merge import merged
from .pattern_index import PatternIndex
from .tables import TOTALS, rows_of, sorted_rows, subscription_rows
from .traffic import LINES, Traffic

if TYPE_CHECKING:
    import pyarrow as pa

Task = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
#: What the task returns: a row for each file, and one for the totals.
WRITTEN = "table string, file string, rows bigint, sha256 string, data binary"


def by_table(rows: pa.Table) -> list[pa.RecordBatch]:
    """Return rows of tables, sorted by table and key."""
    batches: list[pa.RecordBatch] = rows.sort_by(
        [("table", "ascending"), ("key", "ascending")]
    ).to_batches()
    return batches


def all_rows(facts: FactTables, traffic: Traffic, index: PatternIndex) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all tables, sorted by table and key."""
    import pyarrow as pa

    found = [*rows_of(facts, index, traffic.planes), *subscription_rows(index.subscriptions)]
    batches = list(sorted_rows(found))
    if batches:
        yield from by_table(pa.Table.from_batches(batches))


def table_writer(folder: RunFolder, traffic: Traffic) -> Task:
    """Return the task that writes tables, from rows sorted by table and key.

    A table without a file is one that the rows do not tell.
    The bytes of a temporary result come back to the driver, as workers may share no folder with it.
    """
    path, staging, returned = folder.path, folder.staging, folder.temporary

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add up the rows and write the tables that came to this task."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pa.default_memory_pool().release_unused()  # an earlier task of this process kept it
        with tempfile.TemporaryDirectory() as local:
            files: dict[str, TableFile] = {}
            total, untold = 0, list[Any]()
            for name, table in merged(batches, traffic):
                if table is None:
                    untold.append((name, "", 0, "", None))
                    continue
                if name == TOTALS:
                    total += pc.sum(table["forwarded"]).as_py()
                    continue
                if name not in files:
                    files[name] = TableFile(local, name)
                files[name].add(table)
            done: list[Any] = [(TOTALS, "", total, "", None), *untold]
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
    traffic: Traffic,
    entries: Sequence[dict[str, Any]],
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    stream: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Commit the files that were written, and return the counts."""
    counts = traffic.counts
    summary = {
        "lines": traffic.lines,
        **{name: counts.get(name, 0) for name in LINES},
        "planes": list(traffic.planes),
        "ambiguous": counts.get("ambiguous", 0),
        "unmatched": traffic.unmatched,
        "forwarded": sum(row["rows"] for row in entries if row["table"] == TOTALS),
    }
    counters = {name: count for name, count in summary.items() if isinstance(count, int)}
    counters |= {name: counts.get(name, 0) for name in ("published", "unsettled")}
    written_files = [row for row in entries if row["table"] != TOTALS]
    folder.commit([*written_files, table_bytes("runs", [describe(counters)])], summary, stream)
    return summary
