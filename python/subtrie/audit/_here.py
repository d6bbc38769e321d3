"""The audit in this process: a thread for each core, and a bound on memory.

Beyond the bound, partials and rows are in a temporary file of this process.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from ._answers.questions import Questions
from ._answers.sums import Sums
from ._partial.kinds import rows_in
from ._partial.partial import TOGETHER, Partial, by_buckets
from ._partial.parts import Part, Reading, partials_of_part, plan, read_part, size_of
from ._partial.selection import SELECTED_BY, Chooser, Selection
from ._readers.payload_heads import check_logs
from ._run import Run, run_record
from ._runs.run_folder import RunFolder
from ._runs.run_writer import committed, table_writer
from ._schema import TABLES, arrow_schema
from ._slot_redaction import Redaction
from ._tables.answer_sums import answer_sums
from ._tables.bucket import Bucket
from ._tables.context import Whole, context_of
from ._tables.pattern_index import BLOCK, PatternIndex, open_index
from ._tables.traffic import TABLE_ROWS, TOTALS, rows_of, sorted_rows, subscription_rows

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

    return run_of(read, reading, questions, options, out, memory, step)


def run_of(
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
    waiting: deque[Future[list[Made]]] = deque()
    with ThreadPoolExecutor(threads, "subtrie-audit") as pool:
        for item in given:
            waiting.append(pool.submit(lambda each: list(work(each)), item))
            if len(waiting) > threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


#: The most rows of a head: subscriptions, connections and restarts, about 500 bytes each.
MAX_HEAD = 5_000_000


class Place(NamedTuple):
    """The place of bytes in the file."""

    start: int
    length: int


class SpillFile:
    """Bytes in a temporary file of this process; several threads may write and read at a time."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        # The file has one position: to move it and to read or write there is one step.
        self._lock = threading.Lock()

    def write(self, data: Any) -> Place:
        """Append bytes.

        Raises:
            OSError: The disk is full.
        """
        try:
            with self._lock:
                return self._append(memoryview(data).cast("B"))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise OSError(
                error.errno,
                f"no space is left in {tempfile.gettempdir()} for what does not fit into memory: "
                "set TMPDIR to a larger disk, give more --memory, or run on several machines "
                "with --master or --remote",
            ) from None

    def read(self, place: Place) -> bytes:
        """Return bytes that were written."""
        assert self._file is not None
        with self._lock:
            self._file.seek(place.start)
            return self._file.read(place.length)

    def _append(self, view: memoryview) -> Place:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - `close` closes it
        self._file.seek(self._end)
        place = Place(self._end, len(view))
        while view:
            view = view[self._file.write(view) :]
        self._end += place.length
        return place

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()


class HeldPartial:
    """A partial that grows: up to a bound in memory, what is more by bucket in a file.

    Args:
        memory: The bound in bytes.
        file: Where the rest goes.

    Attributes:
        head: What is needed whole.
    """

    def __init__(self, memory: int, file: SpillFile) -> None:
        self.head = Partial()
        self._memory, self._file, self._held = memory, file, Partial()
        #: Kind, bucket, number of rows and place of what is in the file.
        self._spilled: list[tuple[str, int, int, Place]] = []
        #: The same, in memory: its rows in place of where they are.
        self._pieces: list[tuple[str, int, int, Any]] = []

    def add(self, partial: Partial) -> None:
        """Add a partial.

        Raises:
            OSError: The disk is full.
            ValueError: The head has more than ``MAX_HEAD`` rows.
        """
        self.head.add(partial.head())
        if self.head.held > MAX_HEAD:
            raise ValueError(
                f"more than {MAX_HEAD:,} lines begin or end subscriptions and connections: audit "
                "the logs of a shorter time"
            )
        self._held.add(partial)
        if self._held.nbytes > self._memory:
            self._spill()

    def _spill(self) -> None:
        rows = rows_in([self._held.to_rows()])
        self._spilled += [(kind, bucket, count, self._file.write(data))
                          for kind, bucket, count, data in rows]  # fmt: skip
        self._held = Partial()

    def divide(self) -> None:
        """Divide what is held into buckets, if ``buckets`` takes more than one; add no more."""
        if self._spilled:
            self._spill()
        elif self._held.summed + self._held.held > TOGETHER:
            self._pieces = sorted(rows_in([self._held.to_rows()]), key=itemgetter(1))
            self._held = Partial()

    def buckets(self) -> Iterator[Partial]:
        """Take the partials of some buckets at a time."""
        self.divide()
        if self._spilled:
            spilled = sorted(self._spilled, key=itemgetter(1))
            self._spilled = []
            yield from by_buckets(
                (kind, bucket, count, self._file.read(place))
                for kind, bucket, count, place in spilled
            )
        elif self._pieces:
            yield from by_buckets(self._pieces)
        else:
            yield self._held


class HeldRows:
    """Pieces of tables, sorted when all are there: up to a bound in memory, the rest in a file."""

    def __init__(self, memory: int, file: SpillFile) -> None:
        self._memory, self._file, self._size = memory, file, 0
        self._pieces: list[tuple[str, str, Any]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add pieces, as ``TABLE_ROWS``.

        Raises:
            OSError: The disk is full.
        """
        for table, key, data in zip(*batch.columns, strict=True):
            piece: Any = data.as_buffer()
            self._size += piece.size
            if self._size > self._memory:
                piece = self._file.write(piece)
            self._pieces.append((table.as_py(), key.as_py(), piece))

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """Yield the pieces by table and key, as ``TABLE_ROWS``."""
        import pyarrow as pa

        schema = arrow_schema(TABLE_ROWS)
        for table, key, piece in sorted(self._pieces, key=itemgetter(0, 1)):
            data = self._file.read(piece) if isinstance(piece, Place) else piece.to_pybytes()
            yield pa.record_batch([[table], [key], [data]], schema=schema)
