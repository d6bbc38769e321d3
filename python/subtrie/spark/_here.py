"""The audit in this process, without Spark: the same facts, sums and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._answers.here import answers_here, entries_of
from ._answers.questions import Questions
from ._answers.selection import ReadEvents, Selection
from ._audit.event_counts import event_counts
from ._audit.fact_rows import BUCKETS, FOR_DRIVER
from ._audit.fact_tables import FactTables, count_facts
from ._audit.facts import EVENT_COLUMNS, facts_of
from ._audit.inputs import Part, plan, read_part
from ._audit.pattern_index import index_of
from ._audit.table_writer import all_rows, committed, table_writer
from ._audit.traffic import traffic_of
from ._readers.payload_heads import check_logs, read_heads
from ._runs.run_folder import More, RunFolder
from ._runs.run_record import run_record
from ._slot_redaction import Redaction

if TYPE_CHECKING:
    import pyarrow as pa


def audit_here(
    paths: Sequence[str],
    folder: RunFolder,
    options: dict[str, Any],
    *,
    redaction: Redaction | None,
    split_bytes: int | None,
    questions: Questions | None,
    selection: Selection | None,
    step: Callable[..., None],
) -> dict[str, Any]:
    """Make and commit all tables, and return the counts.

    Args:
        paths: Logs, captures and snapshots.
        folder: Receives the tables.
        options: The options of the run, as its record has them: ``planes`` and ``window``.
        redaction: What is hidden in subjects, or None.
        split_bytes: The size of the ranges in which a log is read.
        questions: What is asked beyond the tables of the traffic.
        selection: The messages that are audited, or None for all.
        step: Is called with the name of each step as it begins, and the number of its rows.
    """
    if questions is not None and questions.payloads is not None:
        check_logs(paths)
    step("reading lines")
    inputs = plan(paths, split_bytes)
    parts = tuple(inputs.parts)
    read = _reader(parts)
    if selection is not None:
        read = selection.reader(read)
    if questions is not None:
        folder.more = _answer_tables(read, paths, questions, step)
    window = options["window"]
    micros = None if window is None else window * 1_000_000
    for_driver, others = FactTables(), FactTables()
    facts = (
        _facts_of_parts(parts, micros, inputs.logs > 1, redaction)
        if selection is None
        else event_facts(read(EVENT_COLUMNS), micros, redaction)
    )
    for rows in facts:
        for_driver.add_rows([rows], (FOR_DRIVER, FOR_DRIVER + 1))
        others.add_rows([rows], (FOR_DRIVER + 1, BUCKETS))
    traffic, files = traffic_of(for_driver, tuple(options["planes"]))
    step("writing tables", traffic.lines)
    write = table_writer(folder, traffic)
    entries = [row for batch in write(all_rows(others, traffic, index_of(files)))
               for row in batch.to_pylist()]  # fmt: skip

    def describe(counts: Mapping[str, int]) -> dict[str, Any]:
        return run_record(inputs.digest if selection is None else None, options, counts)

    return committed(folder, traffic, entries, describe)


def part_facts(
    part: Part, window: int | None, follow: bool, redaction: Redaction | None
) -> Iterator[pa.RecordBatch]:
    """Yield the facts of a part of the inputs as rows of ``FACT_ROWS``.

    Args:
        part: The part.
        window: The length of a period in microseconds, or None.
        follow: Whether publishes that another server forwarded are looked for.
        redaction: What is hidden in subjects, or None.
    """
    counts: dict[str, int] = {}
    events = read_part(part, EVENT_COLUMNS, counts)
    yield from facts_of(events, window=window, follow=follow, redaction=redaction)
    yield count_facts(counts)


def event_facts(
    batches: Iterator[pa.RecordBatch], window: int | None, redaction: Redaction | None
) -> Iterator[pa.RecordBatch]:
    """Yield the facts of a table of events.

    Args:
        batches: The events, with the columns ``EVENT_COLUMNS``.
        window: The length of a period in microseconds, or None.
        redaction: What is hidden in subjects, or None.
    """
    counts: dict[str, int] = {}

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, count in event_counts(batch).items():
                counts[name] = counts.get(name, 0) + count
            yield batch

    yield from facts_of(counted(), window=window, follow=True, redaction=redaction)
    yield count_facts(counts)


def _reader(parts: Sequence[Part]) -> ReadEvents:
    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield from read_part(part, names, {})

    return read


def _facts_of_parts(
    parts: Sequence[Part], window: int | None, follow: bool, redaction: Redaction | None
) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield from part_facts(part, window, follow, redaction)


def _answer_tables(
    read: ReadEvents, paths: Sequence[str], questions: Questions, step: Callable[..., None]
) -> More:
    """Return a function that makes the tables of answers from the other tables."""

    def make(table: Callable[[str], pa.Table], summary: dict[str, Any]) -> Sequence[dict[str, Any]]:
        if questions.unasked(summary):
            return ()
        step("answering questions")
        heads = read_heads(paths) if questions.payloads is not None else None
        return entries_of(answers_here(read, table("subscriptions"), questions, heads=heads))

    return make
