"""The audit in this process, with a thread for each core: the same facts, sums and tables."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ._answers.here import answers_here, entries_of
from ._answers.questions import Questions
from ._answers.selection import Made, ReadEvents, Selection, Work, selected_reader
from ._readers.payload_heads import check_logs, read_heads
from ._run import Run
from ._runs.run_folder import More, RunFolder
from ._runs.run_record import run_record
from ._slot_redaction import Redaction
from ._tables.event_counts import event_counts
from ._tables.fact_tables import FactTables, count_facts
from ._tables.facts import EVENT_COLUMNS, PartFacts, facts_of
from ._tables.inputs import Part, plan, read_part
from ._tables.pattern_index import index_of
from ._tables.table_writer import all_rows, committed, table_writer
from ._tables.traffic import traffic_of

if TYPE_CHECKING:
    import pyarrow as pa


def audit(
    logs: Sequence[str],
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
) -> Run:
    """Audit trace logs, captures and snapshots of nats-server, in this process.

    ``subtrie.spark.audit`` makes the same tables on Spark, byte for byte.

    Args:
        logs: The logs of one or more servers, captures of ``subtrie tap`` and saved monitoring
            responses. Rotated files of one server are one log.
        planes: The planes to audit. Without them they are detected from the traffic.
        out: A directory for the tables, as a path or as a URI that ``pyarrow.fs`` can open. Without
            it they are temporary.
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
        ValueError: Two logs are copies of one; the rules name no service of the traffic; or a time
            is outside the log.
        OutputFolderError: The output directory holds something other than an earlier result.
    """
    questions = asked(questions, redact)
    hidden = hidden_slots(redact, redact_key)
    options = {"planes": sorted(planes), "window": window, "redact": sorted(redact)}
    folder = RunFolder(out)
    try:
        summary = _written(logs, folder, options, hidden, split_bytes, questions, selection, step)
    except BaseException:
        folder.discard()
        folder.remove()
        raise
    return Run.of_folder(summary, folder)


def asked(questions: Questions | None, redact: Sequence[str]) -> Questions | None:
    """Return what can be answered; automatic questions are not, if subjects are hidden.

    Raises:
        ValueError: Something is asked for, and subjects are hidden.
    """
    if questions is None or not redact:
        return questions
    if not questions.automatic:
        raise ValueError("answers need the subjects as they are: give no redaction with them")
    return None


def hidden_slots(redact: Sequence[str], key: bytes | None) -> Redaction | None:
    """Return what is hidden in subjects, or None."""
    return Redaction(tuple(redact), key or secrets.token_bytes(32)) if redact else None


def _written(
    paths: Sequence[str],
    folder: RunFolder,
    options: dict[str, Any],
    redaction: Redaction | None,
    split_bytes: int | None,
    questions: Questions | None,
    selection: Selection | None,
    step: Callable[..., None],
) -> dict[str, Any]:
    """Make and commit all tables, and return the counts."""
    if questions is not None and questions.payloads is not None:
        check_logs(paths)
    step("reading lines")
    inputs = plan(paths, split_bytes)
    parts = _Parts(inputs.parts)
    read: ReadEvents = parts.read
    if selection is not None:
        read = selected_reader(selection, read)
    if questions is not None:
        folder.more = _answer_tables(read, paths, questions, step)
    window = options["window"]
    micros = None if window is None else window * 1_000_000
    found = FactTables()
    if selection is None:
        facts = parts.each(lambda part: part_facts(part, micros, inputs.logs > 1, redaction))
    else:
        facts = read(EVENT_COLUMNS, lambda batches: event_facts(batches, micros, redaction))
    for each in facts:
        each.add_to(found)
    traffic, files = traffic_of(found, tuple(options["planes"]))
    step("writing tables", traffic.lines)
    write = table_writer(folder, traffic)
    entries = [row for batch in write(all_rows(found, traffic, index_of(files)))
               for row in batch.to_pylist()]  # fmt: skip

    def describe(counts: Mapping[str, int]) -> dict[str, Any]:
        return run_record(inputs.digest if selection is None else None, options, counts)

    return committed(folder, traffic, entries, describe)


def part_facts(
    part: Part, window: int | None, follow: bool, redaction: Redaction | None
) -> Iterator[PartFacts]:
    """Yield the facts of a part of the inputs.

    Args:
        part: The part.
        window: The length of a period in microseconds, or None.
        follow: Whether publishes that another server forwarded are looked for.
        redaction: What is hidden in subjects, or None.
    """
    counts: dict[str, int] = {}
    events = read_part(part, EVENT_COLUMNS, counts)
    yield from facts_of(events, window=window, follow=follow, redaction=redaction)
    yield PartFacts(count_facts(counts))


def event_facts(
    batches: Iterator[pa.RecordBatch], window: int | None, redaction: Redaction | None
) -> Iterator[PartFacts]:
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
    yield PartFacts(count_facts(counts))


class _Parts:
    """The parts of the inputs, read by a thread for each core, as often as needed."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._coming, self._known = iter(parts), list[Part]()

    def _all(self) -> Iterator[Part]:
        yield from self._known
        for part in self._coming:  # found by a pass over each log, while the first are read
            self._known.append(part)
            yield part

    def each(self, work: Callable[[Part], Iterator[Made]]) -> Iterator[Made]:
        """Yield what is made of each part, in their order; one part more than threads is held."""
        threads = _cores()
        pool = ThreadPoolExecutor(threads, "subtrie-audit")
        waiting: deque[Future[list[Made]]] = deque()
        try:
            for part in self._all():
                waiting.append(pool.submit(lambda each: list(work(each)), part))
                if len(waiting) > threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def read(self, names: Sequence[str], work: Work[Made]) -> Iterator[Made]:
        """Yield what is made of the events of each part."""
        return self.each(lambda part: work(read_part(part, names, {})))


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
