"""The reader of trace logs: a part of ``_subtrie.pyi``, of the native engine only."""

from collections.abc import Mapping, Sequence
from typing import Any, final

from typing_extensions import Buffer

from subtrie._subtrie import SubjectTrie

def nearest_batch(
    trie: SubjectTrie[Any], subjects: object
) -> tuple[memoryview[int], memoryview[int]]:
    """Return the id of the nearest pattern of each subject, and the first token that differs.

    Both are int32, with -1 for a subject that is null, not valid, or matched. Runs without the GIL;
    changes of the index wait. Cost: all patterns once, then a few searches for each subject.

    Args:
        trie: The index.
        subjects: An Arrow string array, or an iterable of ``str``.
    """

def added_rates(batch: object, groups: int) -> EventBatch:
    """Return the sums of rates by group: the column ``rate``, with null for a group without one.

    A rate is a list: the width of its bars and the start of the first in seconds, then the bars. It
    has the least width, of the powers of two, with which all its times are in 32 bars that begin at
    multiples of it. So rates add up in any order.

    Args:
        batch: An Arrow record batch with the columns ``group``, a number, and ``rate``.
        groups: The number of groups.

    Raises:
        ValueError: A list is not a rate.
    """

@final
class TraceReader:
    """A reader of the lines of a trace log that begin in a range of positions.

    Feed it the bytes from ``start`` on, until it is done or the log ends; then call ``finish``.
    It decides which deliveries belong to which publish. ``len(reader)`` is the number of rows that
    wait to be taken.

    Args:
        columns: The names of the columns of the rows.
        start: The position of the first line, in bytes.
        end: The position before which the lines begin; by default there is no such limit.
        state: The state of a reader at ``start``, from ``LogDivider``; by default that of a reader
            at the beginning of a log.
        base: The position that the column ``offset`` counts from.

    Raises:
        ValueError: The state or the name of a column is not valid.
    """

    def __new__(
        cls,
        columns: Sequence[str],
        start: int = 0,
        end: int | None = None,
        *,
        state: Buffer | None = None,
        base: int = 0,
    ) -> TraceReader: ...
    def feed(self, data: Buffer) -> bool:
        """Read the next bytes of the log, without the GIL.

        Args:
            data: The bytes that follow those of the call before.

        Returns:
            Whether the rest of the log is not needed.
        """

    def finish(self) -> None:
        """End the log here: read its last line, and close all windows."""

    def take(self) -> EventBatch:
        """Return the complete rows; those whose outcome is not known come later."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of lines by category, and of deliveries that no publish took.

        The keys are ``operations``, ``payloads``, ``server``, ``unparseable_lines``, ``unmatched``.
        """

    def __len__(self) -> int: ...

@final
class EventBatch:
    """Rows of events, an Arrow struct (``pyarrow.array(batch)``); ``TraceReader.take`` makes it."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

@final
class TrafficSums:
    """Sums of the messages and deliveries of clients, by subject and connection.

    ``len(sums)`` is the number of distinct keys and subjects that wait to be taken.

    Args:
        window: The length of a period in microseconds; without it all times are one period.
        follow: Whether rows about messages between servers are reported.
        days: Whether the days of messages are kept, and messages with a reply subject reported.
        buckets: The number of groups; the CRC-32 of a subject determines its group.
    """

    def __new__(
        cls,
        *,
        window: int | None = None,
        follow: bool = False,
        days: bool = False,
        buckets: int = 1,
    ) -> TrafficSums: ...
    def add_events(self, batch: object, constants: Mapping[str, str] | None = None) -> bytes:
        """Add the rows of a batch of events, without the GIL.

        Args:
            batch: An Arrow record batch.
            constants: The columns with one text in all rows.

        Returns:
            What each row is beside a row that is summed, a sum of 1 (undelivered), 2 (forwarded),
            4 (arrived from another server), 8 (about a subscription), 16 (refused), 32 (its reply
            subject was refused), 64 (damaged), 128 (slow consumer) and 256 (with a reply subject),
            as two bytes in the order of this machine. Nothing if no row is one of these.
        """

    def add_publishes(self, batch: object) -> None:
        """Add the messages of other sums: an Arrow record batch as ``take`` returns it."""

    def add_deliveries(self, batch: object) -> None:
        """Add the deliveries of other sums: an Arrow record batch as ``take`` returns it."""

    def take(self) -> tuple[EventBatch, EventBatch, list[int], list[int], list[str]]:
        """Return all sums, and begin again.

        Returns:
            Messages and deliveries, sorted by group, without the columns in which all values are
            null, or sums of 0; for both the row at which each group begins,
            and the number of rows; the planes of addresses that were accepted or delivered.
        """

    def take_numbered(self) -> tuple[EventBatch, EventBatch, EventBatch, EventBatch]:
        """Return all sums with the numbers of subjects in place of their texts, and begin again.

        Returns:
            Messages and deliveries, with the column ``at``, the row of the subject among the
            distinct subjects; these, with the columns ``subject`` and ``address``, a row of the
            distinct addresses; these, with the columns ``kind`` (1 request, 2 reply, 0 neither),
            ``port``, ``plane``, ``source``, ``host``, ``method``, and ``reason``, why a subject is
            neither.
        """

    def take_by_address(
        self, planes: Sequence[str], most: int, also: Sequence[str]
    ) -> tuple[tuple[EventBatch, EventBatch, EventBatch, EventBatch], EventBatch, int]:
        """Return the sums of messages by address, and begin again; deliveries are left out.

        Args:
            planes: The planes that are audited; none for all.
            most: The number of subjects that are named.
            also: Subjects that are named beside them.

        Returns:
            What ``take_numbered`` does, in which one subject of an address stands for all, except
            those that are not an address of such a plane, or sent in the name of another client;
            the columns ``subject``, ``published`` and ``bytes`` of the subjects with the most
            messages; and how many messages a subject has at most that is not among them.
        """

    def __len__(self) -> int: ...

@final
class LogDivider:
    """A divider of a trace log at lines near given positions, with the state of a reader at each.

    Args:
        targets: Positions in the log, in bytes; each division is at the first line from there on.
        start: The position of the first byte that is fed; a line begins there.
        state: The state of a reader at ``start``; by default that at the beginning of a log.

    Raises:
        ValueError: The state is not that of a reader.
    """

    def __new__(
        cls, targets: Sequence[int], start: int = 0, *, state: Buffer | None = None
    ) -> LogDivider: ...
    @property
    def position(self) -> int:
        """The position of the next line."""

    @property
    def settled(self) -> int:
        """The position before which the deliveries of all messages are decided by these lines."""

    def state(self) -> bytes:
        """Return the state before the next line."""

    def finish(self) -> None:
        """End the log here: read its last line, and close all windows."""

    def feed(self, data: Buffer) -> bool:
        """Read the next bytes of the log, without the GIL.

        Args:
            data: The bytes that follow those of the call before.

        Returns:
            Whether the rest of the log is not needed.
        """

    def take(self) -> list[tuple[int, bytes]]:
        """Return the new divisions: the position of a line, and the state before it."""
