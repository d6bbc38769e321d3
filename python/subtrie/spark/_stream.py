"""The audit of logs that grow: after each batch the tables are those of a single read so far.

The partials of all batches, added up, are kept beside the tables as Parquet files; the manifest
names both, and how far each log was read. A batch whose lines are in the tables already is not
added again, so a batch that was interrupted can be repeated.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..audit._growing import check_redaction, check_stream, may_be_several
from ..audit._here import asked, micros
from ..audit._partial.inboxes import bounded
from ..audit._partial.kinds import PARTIAL_ROWS, VERSION
from ..audit._partial.partial import Partial
from ..audit._readers.growing_log import files_there
from ..audit._readers.log_files import resolve_path, shown_path
from ..audit._run import run_record
from ..audit._runs.run_folder import (
    OutputFolderError,
    RunFolder,
    save_partials,
    saved_partials,
)
from ..audit._slot_redaction import Redaction
from ._columns import spark_schema
from ._pipeline import Audit
from ._sessions.carried import register_source
from ._sessions.classic_session import is_classic
from ._table_jobs import write_tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from ..audit._answers.questions import Questions

#: A task of the tables has about this many rows of partials.
_ROWS_OF_TASK = 400_000


def audit_stream(
    spark: SparkSession,
    logs: Sequence[str],
    *,
    out: str | os.PathLike[str],
    checkpoint: str,
    interval: str | None = None,
    complete: bool = False,
    planes: Sequence[str] = (),
    window: int | None = None,
    redact: Sequence[str] = (),
    redact_key: bytes | None = None,
    split_bytes: int | None = None,
    fail_on_data_loss: bool = True,
    questions: Questions | None = None,
    noted: Sequence[tuple[str | None, str | None]] | None = None,
) -> StreamingQuery:
    """Audit trace logs that grow, with Structured Streaming.

    After each batch the tables in ``out`` are those of ``audit`` for the lines so far, except the
    last messages whose deliveries are not yet decided: those wait for later lines, or for
    ``complete``. Cost of a batch: its lines, and the partials so far, which grow with the number of
    distinct subjects of each connection, subscriptions, and messages between servers. The state of
    the reader (open messages and subscriptions) is in the offsets of the checkpoint.

    Args:
        spark: The session that runs the query, a classic one: with Spark Connect the tables of a
            batch would be made by a process of the server, which has none of its files.
        logs: Files, directories or shell patterns. A file into which a log is rotated is found by
            its first line, beside it.
        out: A directory for the tables that the workers can write to.
        checkpoint: A directory for the progress of the query. It belongs to ``out``.
        interval: How often new lines are looked for, such as ``"10 seconds"``. Without it the query
            reads what there is and ends.
        complete: Whether the logs have ended, so that their last messages are decided too.
        planes: The planes to audit. Without them they are detected from the traffic so far.
        window: The length of a period of the call graph, in seconds.
        redact: The slots of Microbus subjects that are redacted, as in ``audit``.
        redact_key: The key of the digests; the same for every run.
        split_bytes: The size of the ranges in which new lines are read.
        fail_on_data_loss: Whether a file that was removed before all of it was read is an error.
        questions: What is asked beyond the tables of the traffic, as in ``audit``.
        noted: What ``files_there`` returned before the session started: a file that was rotated
            since is read too. By default the files that are there now.

    Returns:
        The query, which runs in the background: ``awaitTermination()`` waits for its end.

    Raises:
        ValueError: A session of Spark Connect; ``redact`` without ``redact_key``, or together with
            questions.
    """
    from ._sources.trace_source import TraceSource

    if not is_classic(spark):
        raise ValueError(
            "a stream needs a classic session, not one of Spark Connect: run it on the cluster "
            "itself (--master), or audit the logs again and again without a stream"
        )
    check_redaction(redact, redact_key)
    questions = asked(questions, redact)
    hidden = Redaction(tuple(redact), redact_key) if redact and redact_key else None
    target = os.fspath(out)
    target = target if "://" in target else os.path.abspath(target)
    register_source(spark, TraceSource)
    paths = [resolve_path(path) for path in logs]
    options: dict[str, str | bool] = {
        "paths": json.dumps(paths),
        "noted": json.dumps(files_there(paths) if noted is None else noted),
        "rows": "partials",
        "complete": complete,
        "failOnDataLoss": fail_on_data_loss,
        "follow": may_be_several(logs),
        "answers": questions is not None,
        "heads": questions is not None and questions.payloads is not None,
    }
    if window is not None:
        options["window"] = str(micros(window))
    if split_bytes is not None:
        options["splitBytes"] = str(split_bytes)
    partials = spark.readStream.format("nats-trace").options(**options).load()
    if hidden is not None:
        partials = partials.mapInArrow(_redacting(hidden), spark_schema(PARTIAL_ROWS))
    described = {"planes": sorted(planes), "window": window, "redact": sorted(redact)}
    adder = _adder(target, tuple(planes), described, questions, micros(window))
    writer = partials.writeStream.foreachBatch(adder)
    writer = writer.option("checkpointLocation", checkpoint)
    when = {"availableNow": True} if interval is None else {"processingTime": interval}
    return writer.trigger(**when).start()


def open_audit(out: str | os.PathLike[str]) -> Audit:
    """Return a result that is in a directory.

    Args:
        out: The directory of ``audit`` or of ``audit_stream``.

    Raises:
        OSError: There is no result.
        ValueError: Its manifest is damaged, or of a newer version.
    """
    folder = RunFolder(out)
    return Audit.of_folder(folder.summary(), folder)


def _redacting(hidden: Redaction) -> Callable[[Iterable[pa.RecordBatch]], Any]:
    """Return the function that redacts partials in the task that reads them."""

    def redacted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replace the slots, and remove the text of unparseable lines."""
        yield Partial.of_rows(batches).redacted(hidden).to_rows()

    return redacted


def _adder(
    target: str,
    planes: tuple[str, ...],
    options: dict[str, Any],
    questions: Questions | None,
    window: int | None,
) -> Callable[[DataFrame, int], None]:
    """Return the function that adds a batch to the tables."""
    # The input grows, so the run has no digest of it.
    describe = functools.partial(run_record, None, options)

    def add(partials: DataFrame, number: int) -> None:
        """Add the partials of a batch, unless they are in the tables."""
        folder = RunFolder(target)
        earlier = folder.stream()
        check_stream(earlier, questions, target)
        partials = partials.persist()
        cached = [partials]
        try:
            ranges = _ranges(partials)
            if _is_done(ranges, earlier["logs"], target):
                return
            spark = partials.sparkSession
            rows = earlier["rows"]
            tasks = 1 if rows < _ROWS_OF_TASK else 1 + -(-rows // _ROWS_OF_TASK)
            merged = partials.where("kind <> 'range'").unionByName(_saved(spark, folder, earlier))
            merged = merged.repartition(tasks, "bucket").mapInArrow(
                _compact, spark_schema(PARTIAL_ROWS)
            )
            merged = merged.persist()
            cached.append(merged)
            saved = merged.mapInArrow(_saver(folder), "file string, rows bigint").collect()
            logs = {**earlier["logs"], **{server: end for server, (_, end) in ranges.items()}}
            stream = {
                "logs": logs,
                "partials": sorted(row.file for row in saved),
                "rows": sum(row.rows for row in saved),
                "version": VERSION,
                "answers": questions is not None,
            }
            write_tables(
                spark, merged, folder, planes, describe, questions=questions, window=window,
                tasks=tasks, stream=stream,
            )  # fmt: skip
        except BaseException:
            folder.discard()
            raise
        finally:
            for df in cached:
                df.unpersist()

    return add


def _ranges(partials: DataFrame) -> dict[str, tuple[int, int]]:
    """Return the first and the last position of each log in a batch."""
    found = Partial.of_rows(partials.where("kind = 'range'").toArrow().to_batches())
    table = (
        found.table("range").group_by("server").aggregate([("position", "min"), ("size", "max")])
    )
    return {row["server"]: (row["position_min"], row["size_max"]) for row in table.to_pylist()}


def _is_done(ranges: dict[str, tuple[int, int]], logs: dict[str, int], target: str) -> bool:
    """Whether the lines of a batch are in the tables.

    Raises:
        OutputFolderError: They are not those that follow.
    """
    done = []
    for server, (start, end) in ranges.items():
        there = logs.get(server, 0)
        done.append(end <= there)
        if not done[-1] and start != there:
            raise OutputFolderError(
                f"{shown_path(target)} has the log {server} up to byte {there}, and the "
                f"checkpoint goes on at byte {start}: a checkpoint and its output directory "
                "belong together"
            )
    return all(done)


def _compact(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up the partials that came to a task, and bound their inboxes."""
    yield bounded(Partial.of_rows(batches)).to_rows()


def _saved(spark: SparkSession, folder: RunFolder, earlier: dict[str, Any]) -> DataFrame:
    """Return the partials of earlier batches."""
    path, names = folder.path, earlier["partials"]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the files whose numbers are given."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from saved_partials(path, names[number])

    numbers = spark.range(0, len(names), 1, max(1, len(names)))
    return numbers.mapInArrow(read, spark_schema(PARTIAL_ROWS))


def _saver(folder: RunFolder) -> Callable[[Iterable[pa.RecordBatch]], Any]:
    """Return the task that writes its partials to the hidden folder of a run."""
    path, staging = folder.path, folder.staging

    def save(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a file, and return its name and its number of rows."""
        import pyarrow as pa

        file, rows = save_partials(path, staging, batches)
        yield pa.record_batch({"file": [file], "rows": pa.array([rows], pa.int64())})

    return save
