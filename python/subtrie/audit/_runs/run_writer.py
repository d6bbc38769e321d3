"""The tables of a run: rows added up and written, then committed, with the row about the run."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._answers.tables import sorted_rows
from .._partial.kinds import PARTIAL_ROWS, batches_of, stream_bytes
from .._schema import TABLES_VERSION, arrow_schema
from .._tables.by_subject import CANDIDATES
from .._tables.context import LINES, Context, Whole
from .._tables.merge import merged
from .._tables.traffic import SUMS, TOTALS
from .run_folder import (
    PARTIALS_FILE,
    RunFolder,
    TableFile,
    open_folder,
    stage_file,
    table_bytes,
)

if TYPE_CHECKING:
    import pyarrow as pa

Task = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
#: What the task returns: a row for each file, one for the totals, and those of the sums of answers.
WRITTEN = "table string, file string, rows bigint, sha256 string, data binary"


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
        with tempfile.TemporaryDirectory() as local:
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
    folder.commit([*files, table_bytes("runs", [describe(counters)])], summary, stream)
    return summary


def run_record(
    digest: Callable[[], str] | None, options: Mapping[str, Any], counters: Mapping[str, int]
) -> dict[str, Any]:
    """Return the row of a run.

    Args:
        digest: Returns the digest of the inputs; None for a table of events.
        options: The options that have an effect on the result.
        counters: The counts of lines and windows.
    """
    from ... import __version__

    row = {
        "schema": TABLES_VERSION,
        "input_digest": None if digest is None else digest(),
        "version": __version__,
        "options": json.dumps(options, sort_keys=True),
        "counters": json.dumps(counters, sort_keys=True),
    }
    run = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    return {"run": run, **row}


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a column of a run.

    Raises:
        ValueError: The text is something else.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("the row of the run has a text that is not a JSON object")
    return found


def save_partials(path: str, staging: str, rows: Iterable[pa.RecordBatch]) -> tuple[str, int]:
    """Write partials to the hidden folder of a run; return the file and the number of its rows.

    Args:
        path: The directory of the run.
        staging: The name of the hidden folder.
        rows: Partials as ``PARTIAL_ROWS``.
    """
    import pyarrow.parquet as pq

    name, count = PARTIALS_FILE.format(uuid.uuid4().hex[:12]), 0
    with tempfile.TemporaryDirectory() as local:
        file = os.path.join(local, "partials")
        with pq.ParquetWriter(file, arrow_schema(PARTIAL_ROWS), compression="zstd") as writer:
            for batch in rows:
                writer.write_batch(batch)
                count += sum(batch.column("rows").to_pylist())
        stage_file(path, staging, file, name)
    return name, count


def saved_partials(path: str, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the partials in a file that ``save_partials`` wrote."""
    import pyarrow.parquet as pq

    files, root = open_folder(path)
    with pq.ParquetFile(files.open_input_file(f"{root}/{name}")) as opened:
        yield from opened.iter_batches()
