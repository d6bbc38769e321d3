"""Logs that are read once and audited several times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._answers.questions import Questions
from ._here import MEMORY, HeldPartial, Place, SpillFile, in_threads, run_of
from ._partial.kinds import batches_of, stream_bytes
from ._partial.partial import Partial
from ._partial.parts import Part, Reading, partials_of_part, partials_of_table, plan
from ._partial.selection import Chooser, Selection
from ._run import Run

if TYPE_CHECKING:
    import pyarrow as pa


class ReadOnce:
    """Logs that are read once, and audited as often as questions are asked.

    Memory: that of an audit, and ``memory`` bytes of events; further ones are in a temporary file.
    Both together have at most about a quarter of the bytes of the logs.

    Args:
        logs: The logs, as ``audit`` takes them.
        memory: The bytes of events that are kept in memory.

    Attributes:
        size: The bytes of events that are kept.
    """

    def __init__(self, logs: Sequence[str], memory: int = MEMORY) -> None:
        self._logs, self._file = logs, SpillFile()
        self._memory, self.size = memory, 0
        #: The pieces of each part, and whether the logs are of several servers; None before.
        self._parts: list[list[Any]] | None = None
        self._several = False

    def audit(self, questions: Questions, selection: Selection | None = None) -> Run:
        """Audit the logs; the counts after the first time are those of events, not of lines.

        Raises:
            OSError: A log cannot be read, or the disk is full.
            ValueError: As ``audit``.
        """
        # What the last messages of a period became is evidence about them.
        chooser = None if selection is None else Chooser(selection, late=True)
        reading = Reading(answers=True, chooser=chooser)
        options: dict[str, Any] = {"planes": [], "window": None, "redact": []}
        return run_of(lambda held: self._read(reading, held), reading, questions, options)

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
            parts.append([self._keep(data) for data in kept])
        self._parts = parts

    def _keep(self, data: bytes) -> bytes | Place:
        self.size += len(data)
        return data if self.size <= self._memory else self._file.write(data)

    def _again(self, part: list[Any], reading: Reading) -> Iterator[Partial]:
        """Yield the partials of a part that is kept."""

        def events() -> Iterator[pa.RecordBatch]:
            for piece in part:
                data = self._file.read(piece) if isinstance(piece, Place) else piece
                with batches_of(data) as batches:
                    yield from batches

        chooser = reading.chooser
        yield from partials_of_table(
            events() if chooser is None else chooser.chosen(events()), reading
        )
