"""``subtrie audit --follow``: the audit of logs that grow, until it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from .._findings.text import text_line
from .report import write_report
from .stream import print_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from .._findings.finding import Finding
    from ..audit import Questions, Run, Selection

#: How often new lines are looked for, in seconds. Each time costs two passes over what is new.
_INTERVAL = 0.5
_ON_SPARK = 1.0
#: Seconds until the next reading for each that the last one took of the processor, so that large
#: tables cost at most a third of it. A reading that waited for a busy machine makes none.
_REST = 2.0
#: How often signals are looked for, and on Spark the result, in seconds.
_POLL = 0.2


@dataclass(frozen=True)
class Following:
    """The logs to follow, and when to stop.

    Attributes:
        logs: The logs.
        out: The directory of the tables; None for a temporary one.
        checkpoint: On Spark, the directory of the progress; by default beside ``out``.
        until_idle: Stop when nothing new was there for so many seconds; None to go on.
        page: The file of the report, which is written after each change; None for none.
        fail_on: Stop as soon as one of these tables has a row.
        as_json: Whether findings are printed as JSON, one object a line.
        questions: What is asked beyond the tables of the traffic.
        options: Further arguments of ``GrowingAudit`` and ``audit_stream``.
        there: What identifies the files that the logs were when the command started.
    """

    logs: Sequence[str]
    out: str | None
    checkpoint: str | None
    until_idle: float | None
    page: str | None
    fail_on: tuple[str, ...]
    as_json: bool
    questions: Questions
    options: dict[str, Any]
    there: Sequence[tuple[str | None, str | None]] = ()


def check_following(
    what: Following, follow: bool, selection: Selection | None, lake: str, *, on_spark: bool
) -> None:
    """Refuse options that contradict each other.

    Raises:
        ValueError: There are some; the message names them.
    """
    if not follow:
        raise ValueError("--until-idle and --checkpoint need --follow")
    if selection is not None:
        raise ValueError("--follow audits all messages: give no --since, --until, --source, --host")
    if what.questions.time is not None:
        raise ValueError("--at needs a log that has ended: give no --follow with it")
    if lake != "parquet":
        raise ValueError(f"--format {lake} writes a result once: give no --follow with it")
    if what.checkpoint is not None and not on_spark:
        raise ValueError("--checkpoint needs --master: without Spark the progress is in --out")
    if what.checkpoint is not None and what.out is None:
        raise ValueError("--checkpoint needs --out: the progress belongs to the tables")
    if what.out is not None and "://" in what.out:
        raise ValueError("--follow needs --out on this machine")


def noted(what: Following) -> Following:
    """Return the same with the files that the logs are now, which may be renamed from now on."""
    from ..audit._readers.growing_log import files_there
    from ..audit._readers.log_files import resolve_path

    return replace(what, there=files_there([resolve_path(path) for path in what.logs]))


@contextlib.contextmanager
def followed(what: Following, spark: SparkSession | None) -> Iterator[Run]:
    """Audit logs until the end that was asked for, in this process or on Spark; yield the result.

    Each finding is printed as it appears. SIGINT and SIGTERM are ends like the others. If the logs
    were idle, their last messages are decided by what there is, so the tables are those of an audit
    of the whole.

    Raises:
        KeyboardInterrupt: A signal came before there was a result.
        OSError: A log cannot be read.
        ValueError: The logs have no line.
    """
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(tempfile.TemporaryDirectory(prefix="subtrie-follow-"))
        out = os.path.join(own, "tables") if what.out is None else what.out
        watcher = _Watcher(what, out)
        if spark is None:
            interrupted = _follow_here(what, out, watcher)
        else:
            beside = os.path.join(own, "checkpoint") if what.out is None else f"{out}.checkpoint"
            interrupted = _follow_on_spark(spark, what, out, what.checkpoint or beside, watcher)
        watcher.refresh()
        if watcher.result is None and interrupted:
            raise KeyboardInterrupt
        if watcher.result is None:
            raise ValueError(f"{', '.join(what.logs)}: no complete line and so no result")
        yield watcher.result


def _follow_here(what: Following, out: str, watcher: _Watcher) -> bool:
    """Read on until the logs are idle, a table fails or a signal comes; return whether one did."""
    import pyarrow as pa

    from ..audit._growing import GrowingAudit

    # Arrow's own allocator keeps what each reading needed, about 80 MB.
    pa.set_memory_pool(pa.system_memory_pool())
    asked = {**what.options, "questions": what.questions, "noted": what.there}
    audit = GrowingAudit(what.logs, out, **asked)
    with _signals_noted() as signals:
        changed, sizes = time.monotonic(), _sizes(what.logs)
        while not signals:
            began, worked = time.monotonic(), time.process_time()
            if audit.read_on() and watcher.refresh():
                changed = time.monotonic()
            if watcher.fails:
                return False
            now = _sizes(what.logs)
            if now != sizes:
                changed, sizes = time.monotonic(), now
            ended = time.monotonic()
            if what.until_idle is not None and ended - changed >= what.until_idle:
                audit.read_on(complete=True)
                return False
            next_one = next_reading(began, ended, time.process_time() - worked)
            if what.until_idle is not None:
                next_one = min(next_one, max(ended + _POLL, changed + what.until_idle))
            while not signals and (left := next_one - time.monotonic()) > 0:
                time.sleep(min(left, _POLL))
        return True


def next_reading(began: float, ended: float, worked: float) -> float:
    """Return when to read again.

    Args:
        began: When the last reading began.
        ended: When it ended.
        worked: The seconds of the processor that it took.
    """
    return max(began + _INTERVAL, ended + _REST * worked)


def _follow_on_spark(
    spark: SparkSession, what: Following, out: str, checkpoint: str, watcher: _Watcher
) -> bool:
    """Run a query until the end that was asked for; return whether it was a signal."""

    def start(**more: Any) -> StreamingQuery:
        from ..spark import audit_stream

        asked = {**what.options, "questions": what.questions, "noted": what.there, **more}
        return audit_stream(spark, what.logs, out=out, checkpoint=checkpoint, **asked)

    ended = _until_the_end(start, watcher, what)
    if ended == "idle":
        query = start(complete=True)
        query.awaitTermination()
        _raise_failure(query)
    return ended == "interrupted"


def _until_the_end(start: Callable[..., StreamingQuery], watcher: _Watcher, what: Following) -> str:
    """Run the query until the logs are idle, a table fails or a signal comes; return which."""
    with _signals_noted() as signals:
        query = start(interval=f"{_ON_SPARK:g} seconds")
        try:
            changed, sizes = time.monotonic(), _sizes(what.logs)
            while query.isActive and not signals:
                if watcher.refresh():
                    changed = time.monotonic()
                if watcher.fails:
                    return "failed"
                now = _sizes(what.logs)
                # Until Spark waits, it may be reading what was there before it began.
                if now != sizes or not str(query.status["message"]).startswith("Waiting"):
                    changed, sizes = time.monotonic(), now
                if what.until_idle is not None and time.monotonic() - changed >= what.until_idle:
                    return "idle"
                time.sleep(_POLL)
            if signals:  # which may have ended the query too
                return "interrupted"
            _raise_failure(query)
            return "ended"
        finally:
            query.stop()


def _raise_failure(query: StreamingQuery) -> None:
    """Raise the error that ended a query."""
    failure = query.exception()
    if failure is not None:
        raise failure


def _sizes(logs: Sequence[str]) -> int:
    """Return the bytes of the logs, and of what they were rotated into."""
    from ..audit._readers.log_files import log_files, log_size

    total = 0
    for path in logs:
        with contextlib.suppress(OSError):  # it is being renamed
            total += sum(log_size(file) for file in log_files([path]))
    return total


@contextlib.contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Note SIGINT and SIGTERM, with which a job of CI is stopped; a second one interrupts.

    An exception in the middle of a call to the JVM would leave its answer for the next call.
    """
    found: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if found:
            raise KeyboardInterrupt
        found.append(number)

    before = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield found
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class _Watcher:
    """The result as it changes: prints findings that are new, and writes the page."""

    def __init__(self, what: Following, out: str) -> None:
        self._what = what
        self._out = out
        self._version: Any = None
        self._seen: set[tuple[str, ...]] = set()
        self.result: Run | None = None
        self.fails = False

    def refresh(self) -> bool:
        """Read the result if it changed, and return whether it did."""
        version = self._current()
        if version is None or version == self._version:
            return False
        from ..audit import open_run
        from ..audit._results.verdict import failing
        from ..report._findings import all_findings

        try:
            result = open_run(self._out)
            found = all_findings(result, name=self._what.out or "RUN", logs=self._what.logs)
            self.fails = bool(failing(result, self._what.fail_on))
            if self._what.page is not None:
                write_report(result, self._what.out, self._what.logs, self._what.page)
        except FileNotFoundError:
            return False  # replaced by the next one meanwhile
        self.result, self._version = result, version
        for each in found:
            if each.identity not in self._seen:
                self._seen.add(each.identity)
                self._print(each)
        return True

    def _current(self) -> Any:
        """Return what changes with each result; None without one."""
        try:
            found = os.stat(os.path.join(self._out, "audit.json"))
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _print(self, finding: Finding) -> None:
        if self._what.as_json:
            print_json({"finding": finding.as_dict()})
        else:
            print("".join(text for text, _ in text_line(finding)), flush=True)
