"""The audit of logs that grow, here: after each reading the tables are those of one read so far.

What was counted and how far each log was read are committed with the tables, by one manifest: so a
reading that was interrupted is repeated, and the next audit into the same directory goes on there.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._answers.questions import Questions
from ._here import HeldRows, SpillFile, asked, hidden_slots, in_threads, micros, write_run
from ._partial.inboxes import bounded
from ._partial.kinds import IN_HEAD, VERSION, rows_in
from ._partial.partial import Partial, by_buckets
from ._partial.parts import Reading, partials_of_part
from ._readers.growing_log import advance, blocks, empty_offset, ranges
from ._readers.log_files import resolve_path, shown_path
from ._readers.log_reader import SPLIT_BYTES
from ._run import run_record
from ._runs.run_folder import OutputFolderError, RunFolder, save_partials, saved_partials
from ._tables.context import context_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The bytes of rows of tables that are kept in memory; beyond it they are in a temporary file.
_MEMORY = 64 * 1024 * 1024
#: The rows of buckets that are made together: about 1 KB each, in each thread.
_TOGETHER = 20_000


class GrowingAudit:
    """The audit of trace logs that grow, committed to a directory after each reading.

    Args:
        logs: Files, directories or shell patterns. A file into which a log is rotated is found by
            its first line, beside it.
        out: A directory for the tables; one of an earlier run goes on.
        planes: The planes to audit. Without them they are detected from the traffic so far.
        window: The length of a period of the call graph, in seconds.
        redact: The slots of Microbus subjects that are redacted, as in ``audit``.
        redact_key: The key of the digests; the same for every run.
        questions: What is asked beyond the tables of the traffic, as in ``audit``.
        noted: What ``files_there`` returned earlier: a file that was rotated since is read too.

    Raises:
        OutputFolderError: The directory holds something other than such a run.
        ValueError: ``redact`` without ``redact_key``, or together with questions.
    """

    def __init__(
        self,
        logs: Sequence[str],
        out: str,
        *,
        planes: Sequence[str] = (),
        window: int | None = None,
        redact: Sequence[str] = (),
        redact_key: bytes | None = None,
        questions: Questions | None = None,
        noted: Sequence[tuple[str | None, str | None]] = (),
    ) -> None:
        check_redaction(redact, redact_key)
        self._questions = asked(questions, redact)
        self._paths, self._out, self._planes = [resolve_path(path) for path in logs], out, planes
        self._noted = noted
        self._reading = Reading(
            window=micros(window),
            follow=may_be_several(logs),
            answers=self._questions is not None,
            heads=self._questions is not None and self._questions.payloads is not None,
            redaction=hidden_slots(redact, redact_key),
        )
        options = {"planes": sorted(planes), "window": window, "redact": sorted(redact)}
        # The input grows, so the run has no digest of it.
        self._describe = functools.partial(run_record, None, options)
        folder = RunFolder(out)
        earlier = folder.stream()
        check_stream(earlier, self._questions, out)
        if earlier["logs"] and "offset" not in earlier:
            raise OutputFolderError(
                f"{shown_path(out)} has a stream of Spark: go on with --master, or choose another "
                "output directory"
            )
        self._offset: dict[str, Any] = earlier.get("offset") or empty_offset()
        self._rows = [
            rows for name in earlier["partials"] for rows in saved_partials(folder.path, name)
        ]

    def read_on(self, *, complete: bool = False) -> bool:
        """Read what is new, and commit the tables; return whether there was something.

        Cost: the new lines twice or three times, and the tables, which grow with the number of
        distinct subjects of each connection, subscriptions, and messages between servers.

        Args:
            complete: Whether the logs have ended, so that their last messages are decided too.

        Raises:
            OSError: A log cannot be read, or was removed before all of it was read.
        """
        begin = self._offset
        # Later the offset knows the files.
        noted = () if begin["logs"] else self._noted
        end = advance(self._paths, begin, complete=complete, noted=noted)
        parts = ranges(begin, end, SPLIT_BYTES)
        if not parts:
            self._offset = end  # which knows the logs of which nothing is decided yet
            return False

        def of_part(part: Any) -> Iterator[Partial]:
            range_, files = part
            return partials_of_part(range_, self._reading, lambda: blocks(files, range_.start))

        found = Partial.of_rows(self._rows)
        for partials in in_threads(parts, of_part):
            found.add(partials)
        rows = [bounded(found).to_rows()]
        self._write(rows, end)
        self._rows, self._offset = rows, end
        return True

    def _write(self, rows: Sequence[pa.RecordBatch], offset: dict[str, Any]) -> None:
        """Commit the tables of partials, and with them the partials and the offset."""
        folder, file = RunFolder(self._out), SpillFile()
        try:
            pieces = sorted(rows_in(rows), key=lambda piece: piece[1])
            head = Partial()
            for kind, bucket, _, data in pieces:
                if bucket == IN_HEAD:
                    head.add_bytes(kind, data)
            whole = context_of(head, self._planes, self._questions, self._reading.window)

            def stream() -> dict[str, Any]:
                file, count = save_partials(folder.path, folder.staging, rows)
                return {
                    "logs": {server: log["position"] for server, log in offset["logs"].items()},
                    "offset": offset,
                    "partials": [file],
                    "rows": count,
                    "version": VERSION,
                    "answers": self._questions is not None,
                }

            buckets = by_buckets((each for each in pieces if each[1] != IN_HEAD), _TOGETHER)
            held = HeldRows(_MEMORY, file)
            write_run(folder, buckets, whole, held, self._describe, stream=stream)
        except BaseException:
            folder.discard()
            raise
        finally:
            file.close()


def check_redaction(redact: Sequence[str], key: bytes | None) -> None:
    """Refuse a random key: the digests of two readings would differ.

    Raises:
        ValueError: It is.
    """
    if redact and key is None:
        raise ValueError(
            "logs that grow are redacted with one key for every run: set SUBTRIE_REDACT_KEY "
            "(redact_key)"
        )


def check_stream(stream: dict[str, Any], questions: Questions | None, out: str) -> None:
    """Refuse partials of another version, and those that do not have what is asked for.

    Raises:
        OutputFolderError: They are.
    """
    if not stream["logs"]:
        return
    if stream.get("version") != VERSION:
        raise OutputFolderError(
            f"{shown_path(out)} has the stream of another version of subtrie: begin again, with "
            "another output directory and checkpoint"
        )
    if questions is not None and not stream.get("answers"):
        raise OutputFolderError(
            f"{shown_path(out)} has a stream that began without questions: ask none, or begin "
            "again, with another output directory and checkpoint"
        )


def may_be_several(logs: Sequence[str]) -> bool:
    """Return whether paths may be the logs of several servers."""
    return len(logs) > 1 or any(
        os.path.isdir(path) or any(sign in path for sign in "*?[") for path in logs
    )
