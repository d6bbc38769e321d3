"""Audit only some messages: of a period, of a source, to a host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...microbus import check_identity_host, flatten_host

if TYPE_CHECKING:
    import pyarrow as pa

Made = TypeVar("Made")
#: Makes something of batches of events.
Work = Callable[[Iterator["pa.RecordBatch"]], Iterator[Made]]


class ReadEvents(Protocol):
    """Yields what is made of the events of each part of the inputs, in order; one pass a call."""

    def __call__(self, names: Sequence[str], work: Work[Made]) -> Iterator[Made]:
        """Read the events with some columns, and yield what ``work`` makes of them."""


MESSAGES = ("PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG", "HRMSG", "HLMSG", "VIOLATION")


ZONES = ("safe", "danger", "reply")


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


def selected_reader(selection: Selection, read: ReadEvents) -> ReadEvents:
    """Return a reader of the events that are audited, for this process."""
    chosen = _by_time(read, selection.since, selection.until)
    for name, place in ((selection.source, 3), (selection.host, 4)):
        if name is not None:
            chosen = _of_one(chosen, name, place)
    return chosen


def _by_time(read: ReadEvents, since: datetime | None, until: datetime | None) -> ReadEvents:
    """Return a reader of messages of a period, and of all other events."""

    def chosen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        for batch in batches:
            inside = pc.is_valid(batch["time"])
            if since is not None:
                inside = pc.and_(inside, pc.greater_equal(batch["time"], since))
            if until is not None:
                inside = pc.and_(inside, pc.less(batch["time"], until))
            yield batch.filter(pc.or_(pc.invert(_messages(batch)), pc.fill_null(inside, False)))

    return _filtered(read, ("op", "time"), chosen)


def _of_one(read: ReadEvents, name: str, place: int) -> ReadEvents:
    """Return a reader of the messages of which a token is a host, or that an identity handles."""
    token, direction = host_token(name), "in" if place == 3 else "out"

    @cache
    def subjects() -> pa.Array:
        """Return the subjects, each once; one pass over the events."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found: dict[str, bool] = {}
        for batch in read(("op", "subject", "identity", "direction"), iter):
            batch = batch.filter(pc.and_(_messages(batch), pc.is_valid(batch["subject"])))
            own = pc.and_(
                pc.equal(batch["identity"], name), pc.equal(batch["direction"], direction)
            )
            own = pc.fill_null(own, False)
            for subject in pc.unique(batch["subject"]).to_pylist():
                found.setdefault(subject, _names(subject, token, place))
            for subject in pc.unique(batch["subject"].filter(own)).to_pylist():
                found[subject] = True
        return pa.array([subject for subject, named in found.items() if named], pa.string())

    def chosen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        for batch in batches:
            named = pc.is_in(batch["subject"], value_set=subjects(), skip_nulls=True)
            yield batch.filter(pc.or_(pc.invert(_messages(batch)), named))

    return _filtered(read, ("op", "subject"), chosen, before=subjects)


def _filtered(
    read: ReadEvents,
    needed: Sequence[str],
    chosen: Work[pa.RecordBatch],
    before: Callable[[], object] = lambda: None,
) -> ReadEvents:
    """Return a reader of the events that are chosen.

    Args:
        read: Reads all events.
        needed: The columns that the choice needs.
        chosen: Yields the chosen events of batches.
        before: Called before each pass.
    """

    def filtered(names: Sequence[str], work: Work[Made]) -> Iterator[Made]:
        def of_part(batches: Iterator[pa.RecordBatch]) -> Iterator[Made]:
            return work(batch.select(list(names)) for batch in chosen(batches))

        before()  # here, and not in one of the threads that read
        return read(tuple(dict.fromkeys((*names, *needed))), of_part)

    return filtered


def _names(subject: str, token: str, place: int) -> bool:
    tokens = subject.split(".")
    return len(tokens) > place and tokens[place] == token and tokens[1] in ZONES


def _messages(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(batch["op"], value_set=pa.array(MESSAGES), skip_nulls=True)


def host_token(name: str) -> str:
    try:
        return str(flatten_host(check_identity_host(name)))
    except ValueError:
        return name
