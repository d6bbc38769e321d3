"""The audit: from trace logs, or from a table of events, to tables, on Spark.

Two steps. The first reads the logs and makes facts of them, which stay with the executors: a job
for each group of ranges, while the driver divides the rest of the log. The driver gets the
subscriptions, the planes and the counts. The second, one job, matches the facts with the patterns
of all subscriptions and writes the tables. No other row passes through the driver, except the
tables of a result that has no output directory.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..audit._answers.questions import Questions
from ..audit._answers.selection import Selection
from ..audit._here import asked, event_facts, hidden_slots, part_facts
from ..audit._here import audit as audit_here
from ..audit._run import Run
from ..audit._runs.run_folder import RunFolder
from ..audit._runs.run_record import run_record
from ..audit._slot_redaction import Redaction
from ..audit._tables.fact_rows import FACT_ROWS
from ..audit._tables.facts import EVENT_COLUMNS
from ..audit._tables.inputs import Part, in_groups, plan
from ._answer_tables import answer_tables, read_events, with_subscriptions
from ._columns import spark_schema
from ._message_rows import message_rows
from ._selected_events import selected
from ._sessions.session_jobs import SessionJobs
from ._table_jobs import facts_for_driver, write_tables
from ._table_of_messages import narrowed, only_published

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ..acl import Permissions
    from ..gencreds import Service

#: The facts of this many bytes of log come to one task.
_SHUFFLED = 64 * 1024 * 1024
_QUESTIONS = ("subject", "time", "min_days", "min_sources", "window")


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
        joined = events if subscriptions is None else with_subscriptions(events, subscriptions)
        found = audit(events.sparkSession, joined, questions=questions, **options)
        self._set(found.summary, found.folder)

    def table(self, spark: SparkSession, name: str) -> DataFrame:
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
        window: The length of a period of the call graph, in seconds.
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
    hidden = hidden_slots(redact, redact_key)
    options = {"planes": sorted(planes), "window": window, "redact": sorted(redact)}
    if selection is not None:
        logs = selected(selection, read_events(spark, logs))
    of_paths = isinstance(logs, list | tuple)  # a selection is a table of events
    folder = RunFolder(out)
    cached: list[DataFrame] = []
    for_driver: list[pa.RecordBatch] | None = None
    try:
        if questions is not None:
            folder.more = answer_tables(spark, logs, questions, step, paths)
        step("reading lines")
        inputs = plan(logs, split_bytes) if of_paths else None  # type: ignore[arg-type]
        alone = None
        if inputs is None and hidden is None and only_published(logs):  # type: ignore[arg-type]
            alone = message_rows(logs, planes, window, cached)  # type: ignore[arg-type]
            facts, tasks = alone.facts, None
        elif inputs is None:
            facts = facts_of_table(logs, window=window, redaction=hidden)  # type: ignore[arg-type]
            tasks = None
            cached.append(facts.persist())
        else:
            how = {"window": window, "follow": inputs.logs > 1, "redaction": hidden}
            count, for_driver = read_groups(spark, in_groups(inputs.parts), cached, how)
            tasks = 1 if count == 1 else max(2, -(-inputs.size // _SHUFFLED))
            facts = functools.reduce(lambda one, other: one.union(other), cached)
        describe = functools.partial(run_record, None if inputs is None else inputs.digest, options)
        summary = write_tables(
            spark, facts, folder, tuple(planes), tasks, describe, step=step, alone=alone,
            for_driver=for_driver,
        )  # fmt: skip
    except BaseException:
        folder.discard()
        folder.remove()
        raise
    finally:
        for df in cached:
            df.unpersist()
    return Audit.of_folder(summary, folder)


def read_groups(
    spark: SparkSession,
    groups: Iterable[tuple[Part, ...]],
    cached: list[DataFrame],
    how: dict[str, Any],
) -> tuple[int, list[pa.RecordBatch]]:
    """Read groups of parts, each in a job that begins as soon as the group is known.

    Args:
        spark: The session.
        groups: The groups.
        cached: Receives the facts of each group, which stay with the executors.
        how: The further arguments of ``read_facts``.

    Returns:
        The number of parts, and the facts for the driver.
    """
    import pyarrow as pa

    count = 0
    with SessionJobs[list[pa.RecordBatch]](spark) as jobs:
        for group in groups:
            count += len(group)
            cached.append(read_facts(spark, group, **how).persist())
            jobs.start(facts_for_driver, cached[-1])
        return count, [batch for found in jobs.results() for batch in found]


def read_facts(
    spark: SparkSession,
    parts: Sequence[Part],
    *,
    window: int | None,
    follow: bool,
    redaction: Redaction | None = None,
) -> DataFrame:
    """Return the facts of parts of the inputs, one task for each part."""
    micros = None if window is None else window * 1_000_000

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the parts whose numbers are given."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for facts in part_facts(parts[number], micros, follow, redaction):
                    yield facts.rows()

    ranges = spark.range(0, len(parts), 1, len(parts))
    return ranges.mapInArrow(read, spark_schema(FACT_ROWS))


def facts_of_table(
    events: DataFrame, *, window: int | None, redaction: Redaction | None = None
) -> DataFrame:
    """Return the facts of a table of events.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    missing = [name for name in EVENT_COLUMNS if name not in events.columns]
    if missing:
        raise ValueError(
            f"not a table of events, it has no column {missing[0]!r}: make one with "
            "subtrie.spark.events(df, subject=...)"
        )
    micros = None if window is None else window * 1_000_000
    given, whole = narrowed(events, EVENT_COLUMNS)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the facts of the batches of a task."""
        for facts in event_facts(map(whole, batches), micros, redaction):
            yield facts.rows()

    return given.mapInArrow(read, spark_schema(FACT_ROWS))
