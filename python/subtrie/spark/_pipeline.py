"""The audit on Spark: from trace logs, or from a table of events, to tables.

Two steps. The first reads the logs and makes partials, which stay with the executors: a job for
each group of ranges, while the driver divides the rest of the log. The driver gets the head: the
subscriptions, the planes and the counts. The second, one job, makes the rows of all buckets and
writes the tables. No other row passes through the driver, except sums of answers, and the tables of
a result that has no output directory.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..audit._answers.questions import Questions
from ..audit._here import asked, hidden_slots, micros
from ..audit._here import audit as audit_here
from ..audit._partial.parts import Reading, in_groups, plan
from ..audit._partial.selection import Chooser, Selection
from ..audit._readers.payload_heads import check_logs
from ..audit._run import Run, run_record
from ..audit._runs.run_folder import RunFolder
from ..audit._schema import EVENTS, arrow_schema
from ._message_rows import message_rows
from ._partials import chosen, head_of, partials_of_frame, partials_of_parts
from ._sessions.session_jobs import SessionJobs
from ._table_jobs import write_tables
from ._table_of_messages import only_published

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ..acl import Permissions
    from ..audit._partial.parts import Part
    from ..gencreds import Service

#: The partials of this many bytes of log come to one task.
_SHUFFLED = 64 * 1024 * 1024
_QUESTIONS = ("subject", "time", "min_days", "min_sources", "claimed_identities")


class Audit(Run):
    """The result of an audit, whose tables are DataFrames too."""

    def __init__(
        self,
        *,
        events: DataFrame,
        subscriptions: DataFrame | None = None,
        rules: Mapping[str, Permissions] | None = None,
        code: Sequence[Service] | None = None,
        **options: Any,
    ) -> None:
        """Run the audit of events, and answer the questions about rules and code.

        Args:
            events: A table with the columns ``EVENTS``.
            subscriptions: Further subscriptions, with the columns of the table ``subscriptions``,
                that were active when the events began; a snapshot has them.
            rules: Today's permissions by service.
            code: The services that ``gencreds.scan`` found.
            options: Further arguments of ``Questions`` and of ``audit``.
        """
        own = {name: options.pop(name) for name in _QUESTIONS if name in options}
        scanned = None if code is None else tuple(code)
        questions = Questions(rules=rules, code=scanned, **own)
        joined = events if subscriptions is None else _with_subscriptions(events, subscriptions)
        found = audit(events.sparkSession, joined, questions=questions, **options)
        self._set(found.summary, found.folder)

    def dataframe(self, spark: SparkSession, name: str) -> DataFrame:
        """Return a table as a DataFrame.

        Args:
            spark: The session that reads it.
            name: A table of ``TABLES``.
        """
        return spark.read.parquet(self.path(name))


def audit(
    spark: SparkSession | None,
    logs: Sequence[str] | DataFrame,
    *,
    planes: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    window: int | None = None,
    redact: Sequence[str] = (),
    redact_key: bytes | None = None,
    split_bytes: int | None = None,
    questions: Questions | None = None,
    selection: Selection | None = None,
    step: Callable[..., None] = lambda name, rows=0: None,
) -> Audit:
    """Audit trace logs, captures and snapshots of nats-server, or a table of events.

    Args:
        spark: The session that runs the job, classic or of Spark Connect. With None this process
            does the same work by itself, without Java. The tables are the same, byte
            for byte.
        logs: The logs of one or more servers, captures of ``subtrie tap`` and saved monitoring
            responses: paths that the driver and the workers can read. Rotated files of one server
            are one log. Or a DataFrame with the columns ``EVENTS``.
        planes: The planes to audit. Without them they are detected from the traffic.
        out: A directory for the tables that the workers can write to, as a path or as a URI that
            ``pyarrow.fs`` can open. Without it they are temporary.
        window: The length of a period of the call graph and of ``permission_usage``, in seconds.
        redact: The slots of Microbus subjects (``path``, ``id``) whose tokens are replaced by keyed
            digests where the logs are read. The text of unparseable lines is then left out.
        redact_key: The key of the digests, 16 to 64 bytes. Without it, it is random: the results
            of two runs cannot be compared.
        split_bytes: The size of the ranges in which a log is read.
        questions: What is asked beyond the tables of the traffic; by default nothing.
        selection: Audit only these messages. The counts are then those of the events read.
        step: Is called with the name of each step as it begins, and the number of rows it works on
            if that is known.

    Returns:
        The counts and the tables.

    Raises:
        OSError: A log cannot be read.
        ValueError: Two logs are copies of one; the rules name no service of the traffic; a time is
            outside the log; or there is no session for a table of events.
        OutputFolderError: The output directory holds something other than an earlier result.
    """
    paths = list(logs) if isinstance(logs, list | tuple) else None
    if spark is None:
        if paths is None:
            raise ValueError("a table of events needs a session of Spark")
        here = audit_here(
            paths, planes=planes, out=out, window=window, redact=redact, redact_key=redact_key,
            split_bytes=split_bytes, questions=questions, selection=selection, step=step,
        )  # fmt: skip
        return Audit.of_folder(here.summary, here.folder)
    questions = asked(questions, redact)
    heads = questions is not None and questions.payloads is not None
    if heads and paths is None:
        raise ValueError(
            "payload heads are read from trace logs and captures, not from a table of events"
        )
    if heads:
        check_logs(paths or ())
    reading = Reading(
        window=micros(window),
        follow=True,
        answers=questions is not None,
        heads=heads,
        redaction=hidden_slots(redact, redact_key),
        chooser=None if selection is None else Chooser(selection),
    )
    options = {"planes": sorted(planes), "window": window, "redact": sorted(redact)}
    plain = questions is None and selection is None and reading.redaction is None
    folder = RunFolder(out)
    cached: list[DataFrame] = []
    head: list[pa.RecordBatch] | None = None
    alone, tasks, digest = None, None, None
    try:
        step("reading lines")
        if paths is not None:
            inputs = plan(paths, split_bytes)
            digest = inputs.digest if selection is None else None
            reading = replace(reading, follow=inputs.logs > 1)
            count, head = _read_groups(spark, inputs.parts, reading, cached)
            tasks = 1 if count == 1 else max(2, -(-inputs.size // _SHUFFLED))
            partials = functools.reduce(lambda one, other: one.union(other), cached)
        elif plain and only_published(logs):  # type: ignore[arg-type]
            alone = message_rows(logs, planes, window, cached)  # type: ignore[arg-type]
            partials = alone.head
        else:
            events: DataFrame = logs  # type: ignore[assignment]
            if reading.chooser is not None:
                reading = replace(reading, chooser=chosen(events, reading.chooser))
            partials = partials_of_frame(events, reading).persist()
            cached.append(partials)
        summary = write_tables(
            spark, partials, folder, tuple(planes), functools.partial(run_record, digest, options),
            questions=questions, window=reading.window, tasks=tasks, step=step, alone=alone,
            head=head,
        )  # fmt: skip
    except BaseException:
        folder.discard()
        folder.remove()
        raise
    finally:
        for df in cached:
            df.unpersist()
    return Audit.of_folder(summary, folder)


def _read_groups(
    spark: SparkSession, parts: Iterable[Part], reading: Reading, cached: list[DataFrame]
) -> tuple[int, list[pa.RecordBatch]]:
    """Read parts in groups, each in a job that begins as soon as the group is known.

    Args:
        spark: The session.
        parts: The parts of the inputs.
        reading: How they are read.
        cached: Receives the partials of each group, which stay with the executors.

    Returns:
        The number of parts, and the head.
    """
    chooser = reading.chooser
    if chooser is not None and chooser.needs_subjects:
        parts = list(parts)  # they are read twice
        reading = replace(reading, chooser=chosen(spark, chooser, parts))
    count = 0
    with SessionJobs[list["pa.RecordBatch"]](spark) as jobs:
        for group in in_groups(parts):
            count += len(group)
            cached.append(partials_of_parts(spark, group, reading).persist())
            jobs.start(head_of, cached[-1])
        return count, [batch for found in jobs.results() for batch in found]


def _with_subscriptions(events: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Return events with further subscriptions, which are active before the first event.

    Args:
        events: A table with the columns ``EVENTS``.
        subscriptions: Rows with ``server``, ``conn``, ``sid``, ``start``, ``identity``, ``pattern``
            and ``queue``.
    """
    import pyarrow as pa

    rows = subscriptions.toArrow().sort_by([("server", "ascending"), ("start", "ascending")])
    schema = arrow_schema(EVENTS)
    length = rows.num_rows
    given = {
        "server": rows["server"],
        "time": rows["start"],
        "conn": rows["conn"],
        "identity": rows["identity"],
        "direction": pa.repeat("in", length),
        "op": pa.repeat("SUB", length),
        "subject": rows["pattern"],
        "queue": rows["queue"],
        "sid": rows["sid"],
        "position": pa.array(range(-length, 0), pa.int64()),
    }
    columns = [given.get(f.name, pa.nulls(length, f.type)).cast(f.type) for f in schema]
    spark = events.sparkSession
    extra = spark.createDataFrame(pa.table(columns, schema=schema))
    return events.unionByName(extra.select(*events.columns))
