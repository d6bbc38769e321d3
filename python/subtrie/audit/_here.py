"""The audit in this process: a thread for each core, and a bound on memory.

Beyond the bound, partials and rows are in a temporary file of this process.
"""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ._answers.questions import Questions
from ._answers.sums import Sums
from ._held import HeldBytes, HeldPartial, HeldRows, SpillFile
from ._partial.kinds import batches_of, stream_bytes
from ._partial.partial import Partial
from ._partial.parts import (
    Part,
    Reading,
    partials_of_part,
    partials_of_table,
    plan,
    read_part,
    size_of,
)
from ._partial.selection import SELECTED_BY, Chooser, Selection
from ._readers.payload_heads import check_logs
from ._run import Run, run_record
from ._runs.run_folder import RunFolder
from ._runs.run_writer import committed, table_writer
from ._schema import TABLES
from ._slot_redaction import Redaction
from ._tables.answer_sums import answer_sums
from ._tables.bucket import Bucket
from ._tables.context import Whole, context_of
from ._tables.pattern_index import BLOCK, PatternIndex, open_index
from ._tables.traffic import TOTALS, rows_of, sorted_rows, subscription_rows

if TYPE_CHECKING:
    import pyarrow as pa

Given = TypeVar("Given")
Made = TypeVar("Made")
#: The bytes of partials that are kept in memory; beyond it they are in a temporary file.
MEMORY = 256 * 1024 * 1024


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
    memory: int = MEMORY,
    step: Callable[..., None] = lambda name, rows=0: None,
    progress: Callable[[int, int], None] = lambda done, all_of: None,
) -> Run:
    """Audit trace logs, captures and snapshots of nats-server, in this process.

    ``subtrie.spark.audit`` makes the same tables on Spark, byte for byte.

    Args:
        logs: The logs of one or more servers, captures of ``subtrie tap`` and saved monitoring
            responses. Rotated files of one server are one log.
        planes: The planes to audit. Without them they are detected from the traffic.
        out: A directory for the tables, as a path or as a URI that ``pyarrow.fs`` can open. Without
            it they are temporary.
        window: The length of a period of the call graph and of ``permission_usage``, in seconds.
        redact: The slots of Microbus subjects (``path``, ``id``) whose tokens are replaced by keyed
            digests where the logs are read. The text of unparseable lines is then left out.
        redact_key: The key of the digests, 16 to 64 bytes. Without it, it is random: the results
            of two runs cannot be compared.
        split_bytes: The size of the ranges in which a log is read.
        questions: What is asked beyond the tables of the traffic; by default nothing.
        selection: Audit only these messages. The counts are then those of the events read.
        memory: The bytes of what was counted that are kept in memory; the rest goes to a temporary
            file. Threads that read need about 100 MB each besides.
        step: Is called with the name of each step as it begins, and the number of rows it works on
            if that is known.
        progress: Is called with the number of bytes that were read, and of all.

    Returns:
        The counts and the tables.

    Raises:
        OSError: A log cannot be read, or the disk is full.
        ValueError: Two logs are copies of one; the rules name no service of the traffic; or a time
            is outside the log.
        OutputFolderError: The output directory holds something other than an earlier result.
    """
    questions = asked(questions, redact)
    if questions is not None and questions.payloads is not None:
        check_logs(logs)
    reading = Reading(
        window=micros(window),
        answers=questions is not None,
        heads=questions is not None and questions.payloads is not None,
        redaction=hidden_slots(redact, redact_key),
        chooser=None if selection is None else Chooser(selection),
    )
    options = {"planes": sorted(planes), "window": window, "redact": sorted(redact)}

    def read(held: HeldPartial) -> Callable[[], str] | None:
        return _read(logs, split_bytes, reading, held, progress)

    return _audited(read, reading, questions, options, out, memory, step)


def _audited(
    read: Callable[[HeldPartial], Callable[[], str] | None],
    reading: Reading,
    questions: Questions | None,
    options: dict[str, Any],
    out: str | os.PathLike[str] | None = None,
    memory: int = MEMORY,
    step: Callable[..., None] = lambda name, rows=0: None,
) -> Run:
    """Return the tables of what ``read`` adds to a partial; it returns what ``_read`` does."""
    folder, file = RunFolder(out), SpillFile()
    try:
        held = HeldPartial(memory, file)
        step("reading lines")
        digest = read(held)
        with ThreadPoolExecutor(1) as aside:
            divided = aside.submit(held.divide)
            whole = context_of(held.head, options["planes"], questions, reading.window)
            divided.result()
        step("writing tables", whole.context.lines)

        def describe(counts: Mapping[str, int]) -> dict[str, Any]:
            return run_record(digest, options, counts)

        summary = write_run(
            folder, held.buckets(), whole, HeldRows(memory, file), describe, step=step
        )
    except BaseException:
        folder.discard()
        folder.remove()
        raise
    finally:
        file.close()
    return Run.of_folder(summary, folder)


class ReadOnce:
    """Logs that are read once, and audited as often as questions are asked.

    Memory: that of an audit, and ``memory`` bytes of events; further ones are in a temporary file.
    Both together have at most about a quarter of the bytes of the logs.

    Args:
        logs: The logs, as ``audit`` takes them.
        memory: The bytes of events that are kept in memory.
    """

    def __init__(self, logs: Sequence[str], memory: int = MEMORY) -> None:
        self._logs, self._file = logs, SpillFile()
        self._held = HeldBytes(memory, self._file)
        #: The pieces of each part, and whether the logs are of several servers; None before.
        self._parts: list[list[Any]] | None = None
        self._several = False

    def audit(self, questions: Questions, selection: Selection | None = None) -> Run:
        """Audit the logs; the counts after the first time are those of events, not of lines.

        Raises:
            OSError: A log cannot be read, or the disk is full.
            ValueError: As ``audit``.
        """
        chooser = None if selection is None else Chooser(selection)
        reading = Reading(answers=True, chooser=chooser)
        options: dict[str, Any] = {"planes": [], "window": None, "redact": []}
        return _audited(lambda held: self._read(reading, held), reading, questions, options)

    def close(self) -> None:
        """Remove the events."""
        self._parts = None
        self._file.close()

    def _read(self, reading: Reading, held: HeldPartial) -> None:
        if self._parts is not None:
            reading = replace(reading, follow=self._several)
            for partial in in_threads(self._parts, lambda part: self._again(part, reading)):
                held.add(partial)
            return
        inputs, parts = plan(self._logs), []
        self._several = inputs.logs > 1
        reading = replace(reading, follow=self._several)

        def of_part(part: Part) -> Iterator[tuple[list[Partial], list[bytes]]]:
            import pyarrow as pa

            kept: list[bytes] = []

            def keep(batch: pa.RecordBatch) -> None:
                kept.append(stream_bytes(pa.Table.from_batches([batch])))

            yield list(partials_of_part(part, reading, keep=keep)), kept

        for partials, kept in in_threads(inputs.parts, of_part):
            for partial in partials:
                held.add(partial)
            parts.append([self._held.keep(data) for data in kept])
        self._parts = parts

    def _again(self, part: list[Any], reading: Reading) -> Iterator[Partial]:
        """Yield the partials of a part that is kept."""

        def events() -> Iterator[pa.RecordBatch]:
            for piece in part:
                with batches_of(self._held.read(piece)) as batches:
                    yield from batches

        chooser = reading.chooser
        yield from partials_of_table(
            events() if chooser is None else chooser.chosen(events()), reading
        )


def micros(window: int | None) -> int | None:
    """Return a period of seconds in microseconds."""
    return None if window is None else window * 1_000_000


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


def _read(
    paths: Sequence[str],
    split_bytes: int | None,
    reading: Reading,
    held: HeldPartial,
    progress: Callable[[int, int], None],
) -> Callable[[], str] | None:
    """Read all inputs, and return how to get their digest; None for a selection of them."""
    inputs = plan(paths, split_bytes)
    parts: Iterable[Part] = inputs.parts
    reading = replace(reading, follow=inputs.logs > 1)
    chooser = reading.chooser
    if chooser is not None and chooser.needs_subjects:
        parts = list(parts)  # they are read twice

        def named(part: Part) -> Iterator[dict[str, int]]:
            yield chooser.named(read_part(part, SELECTED_BY, {}))

        reading = replace(reading, chooser=chooser.of_subjects(in_threads(parts, named)))
    done = 0

    def of_part(part: Part) -> Iterator[tuple[Part, list[Partial]]]:
        yield part, list(partials_of_part(part, reading))

    for part, partials in in_threads(parts, of_part):
        for partial in partials:
            held.add(partial)
        done += size_of(part)
        progress(done, inputs.size)
    return inputs.digest if chooser is None else None


def write_run(
    folder: RunFolder,
    buckets: Iterable[Partial],
    whole: Whole,
    rows: HeldRows,
    describe: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    stream: Callable[[], dict[str, Any]] | None = None,
    step: Callable[..., None] = lambda name, rows=0: None,
) -> dict[str, Any]:
    """Make all tables of partials and commit them, and return the counts.

    Args:
        folder: Where the tables go.
        buckets: The partials of some buckets each.
        whole: What follows from the head.
        rows: Holds the rows of the tables until all are made.
        describe: Returns the row of the table ``runs`` for the counters of the run.
        stream: Returns what an audit of logs that grow needs to go on.
        step: Is called with the name of each step as it begins.
    """
    for batch in rows_of_buckets(buckets, whole, (*TABLES, TOTALS)):
        rows.add(batch)
    write = table_writer(folder, whole.context)
    entries = [row for batch in write(rows.sorted()) for row in batch.to_pylist()]
    kept = None if stream is None else stream()
    return committed(folder, whole, entries, describe, stream=kept, step=step)


def rows_of_buckets(
    buckets: Iterable[Partial], whole: Whole, wanted: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tables in pieces, in no particular order; add the sums of answers.

    Args:
        buckets: The partials of some buckets each.
        whole: What follows from the head.
        wanted: The names of the tables.
    """
    files = dict(whole.files)

    def opened(names: tuple[str, ...]) -> PatternIndex:
        return open_index(names, files.__getitem__)

    def of_bucket(partial: Partial) -> Iterator[tuple[list[pa.RecordBatch], Sums | None]]:
        bucket = Bucket(partial, whole.context, opened)
        sums = None if whole.answers is None else answer_sums(bucket)
        yield list(sorted_rows(rows_of(bucket, wanted))), sums

    for batches, sums in in_threads(buckets, of_bucket):
        yield from batches
        if whole.answers is not None and sums is not None:
            whole.answers.sums.merge(sums)

    def of_subscriptions(table: pa.Table) -> Iterator[pa.RecordBatch]:
        found = subscription_rows(table)
        yield from sorted_rows(rows for rows in found if rows[0] in wanted)

    table = opened(whole.context.subscribed).subscriptions
    blocks = (table.slice(at, BLOCK) for at in range(0, table.num_rows, BLOCK))
    yield from in_threads(blocks, of_subscriptions)


def in_threads(given: Iterable[Given], work: Callable[[Given], Iterator[Made]]) -> Iterator[Made]:
    """Yield what is made of each item, in their order, by a thread for each core.

    The items are found meanwhile; one more than threads is held.
    """
    threads = _cores()
    pool = ThreadPoolExecutor(threads, "subtrie-audit")
    waiting: deque[Future[list[Made]]] = deque()
    try:
        for item in given:
            waiting.append(pool.submit(lambda each: list(work(each)), item))
            if len(waiting) > threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
