"""What an audit in this process holds: up to a bound in memory, the rest in a temporary file."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ._partial.kinds import rows_in
from ._partial.partial import TOGETHER, Partial, by_buckets
from ._schema import arrow_schema
from ._tables.traffic import TABLE_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

#: The most rows of a head: subscriptions, connections and restarts, about 500 bytes each.
MAX_HEAD = 5_000_000


class _Place(NamedTuple):
    """The place of bytes in the file."""

    start: int
    length: int


class SpillFile:
    """Bytes in a temporary file, which ends with this process, however it ends."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0

    def write(self, data: Any) -> _Place:
        """Append bytes.

        Raises:
            OSError: The disk is full.
        """
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - `close` closes it
            self._file.seek(self._end)
            view = memoryview(data).cast("B")
            place = _Place(self._end, len(view))
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise OSError(
                error.errno,
                f"no space is left in {tempfile.gettempdir()} for what does not fit into memory: "
                "set TMPDIR to a larger disk, give more --memory, or run on several machines "
                "with --master or --remote",
            ) from None
        self._end += place.length
        return place

    def read(self, place: _Place) -> bytes:
        """Return bytes that were written."""
        assert self._file is not None
        self._file.seek(place.start)
        return self._file.read(place.length)

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
        self._spilled: list[tuple[str, int, int, _Place]] = []
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


class HeldBytes:
    """Bytes: up to a bound in memory, the rest in a file.

    Args:
        memory: The bound.
        file: Where the rest goes.
    """

    def __init__(self, memory: int, file: SpillFile) -> None:
        self._memory, self._file, self._size = memory, file, 0

    def keep(self, data: Any) -> Any:
        """Return what ``read`` takes.

        Raises:
            OSError: The disk is full.
        """
        self._size += len(memoryview(data))
        return data if self._size <= self._memory else self._file.write(data)

    def read(self, piece: Any) -> Any:
        """Return bytes that are kept."""
        return self._file.read(piece) if isinstance(piece, _Place) else piece


class HeldRows:
    """Pieces of tables, sorted when all are there: up to a bound in memory, the rest in a file."""

    def __init__(self, memory: int, file: SpillFile) -> None:
        self._held = HeldBytes(memory, file)
        self._pieces: list[tuple[str, str, Any]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add pieces, as ``TABLE_ROWS``.

        Raises:
            OSError: The disk is full.
        """
        for table, key, data in zip(*batch.columns, strict=True):
            piece = self._held.keep(data.as_buffer())
            self._pieces.append((table.as_py(), key.as_py(), piece))

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """Yield the pieces by table and key, as ``TABLE_ROWS``."""
        import pyarrow as pa

        schema = arrow_schema(TABLE_ROWS)
        for table, key, piece in sorted(self._pieces, key=itemgetter(0, 1)):
            data = bytes(self._held.read(piece))
            yield pa.record_batch([[table], [key], [data]], schema=schema)
