"""Audit only some messages: of a period, of a source, to a host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ...microbus import check_identity_host, flatten_host

if TYPE_CHECKING:
    import pyarrow as pa

_MESSAGES = ("PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG", "HRMSG", "HLMSG", "VIOLATION")
_ZONES = ("safe", "danger", "reply")
#: The columns of events that a selection needs.
SELECTED_BY = ("op", "time", "subject", "identity", "direction")


#: The longest time between a message and its delivery.
_WINDOW = timedelta(seconds=1)


@dataclass(frozen=True)
class Selection:
    """The messages that are audited. Subscriptions are followed from the start of the log.

    Attributes:
        since: The first time, inclusive; None for the start of the log.
        until: The last time, exclusive; None for its end.
        source: The host in whose name a message is sent, or the identity that sends it.
        host: The host that a message is sent to, or an identity that receives it.
    """

    since: datetime | None = None
    until: datetime | None = None
    source: str | None = None
    host: str | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("the period is empty: the first time must be before the last")

    def __bool__(self) -> bool:
        return any(each is not None for each in (self.since, self.until, self.source, self.host))


@dataclass(frozen=True)
class Chooser:
    """Chooses the events of a selection, batch by batch.

    Attributes:
        selection: What is audited.
        subjects: The subjects of its messages; None for all.
        late: Whether deliveries are chosen for one more window after the end of the period: those
            of its last messages.
    """

    selection: Selection
    subjects: pa.Array | None = None
    late: bool = False

    def chosen(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the messages that are audited, and all other events."""
        import pyarrow.compute as pc

        for batch in batches:
            kept = self._in_period(batch)
            if self.subjects is not None:
                named = pc.is_in(batch["subject"], value_set=self.subjects, skip_nulls=True)
                kept = pc.and_(kept, named)
            yield batch.filter(pc.or_(pc.invert(_are_messages(batch)), kept))

    def _in_period(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        since, until = self.selection.since, self.selection.until
        inside = pa.repeat(pa.scalar(True), batch.num_rows)
        if since is None and until is None:
            return inside
        inside = pc.is_valid(batch["time"])
        if since is not None:
            inside = pc.and_(inside, pc.greater_equal(batch["time"], since))
        if until is not None:
            before = pc.less(batch["time"], until)
            if self.late:
                sent = pc.equal(batch["direction"], "out")
                in_time = pc.less(batch["time"], until + _WINDOW)
                before = pc.or_kleene(before, pc.and_kleene(sent, in_time))
            inside = pc.and_(inside, before)
        return pc.fill_null(inside, False)

    def named(self, batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
        """Return the subjects of some events that the selection names, and which of its hosts.

        Returns:
            1 for the source, 2 for the host, 3 for both; the numbers of several parts are combined
            with ``|``.
        """
        import pyarrow.compute as pc

        found: dict[str, int] = {}
        for batch in batches:
            batch = batch.filter(pc.and_(_are_messages(batch), pc.is_valid(batch["subject"])))
            batch = batch.filter(self._in_period(batch))
            known = pc.unique(batch["subject"]).to_pylist()
            for bit, name, place in self._hosts():
                token, direction = _host_token(name), "in" if bit == 1 else "out"
                own = pc.and_(
                    pc.equal(batch["identity"], name), pc.equal(batch["direction"], direction)
                )
                mine = pc.unique(batch["subject"].filter(pc.fill_null(own, False))).to_pylist()
                for subject in (*mine, *(each for each in known if _names(each, token, place))):
                    found[subject] = found.get(subject, 0) | bit
        return found

    def _hosts(self) -> Iterator[tuple[int, str, int]]:
        """Yield the bit of each host, its name, and the place of its token in a subject."""
        for bit, name, place in ((1, self.selection.source, 3), (2, self.selection.host, 4)):
            if name is not None:
                yield bit, name, place

    @property
    def needs_subjects(self) -> bool:
        """Whether the subjects must be known before events are chosen: one more pass."""
        return any(True for _ in self._hosts())

    def of_subjects(self, named: Iterable[Mapping[str, int]]) -> Chooser:
        """Return the chooser that knows its subjects.

        Args:
            named: What ``named`` returned for each part.
        """
        import pyarrow as pa

        if not self.needs_subjects:
            return self
        found: dict[str, int] = {}
        for part in named:
            for subject, bits in part.items():
                found[subject] = found.get(subject, 0) | bits
        wanted = sum(bit for bit, _, _ in self._hosts())
        chosen = [subject for subject, bits in found.items() if bits == wanted]
        return replace(self, subjects=pa.array(chosen, pa.string()))


def _names(subject: str, token: str, place: int) -> bool:
    tokens = subject.split(".")
    return len(tokens) > place and tokens[place] == token and tokens[1] in _ZONES


def _are_messages(batch: pa.RecordBatch) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(batch["op"], value_set=pa.array(_MESSAGES), skip_nulls=True)


def _host_token(name: str) -> str:
    try:
        return str(flatten_host(check_identity_host(name)))
    except ValueError:
        return name
