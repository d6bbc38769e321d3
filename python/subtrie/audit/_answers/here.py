"""Answers from events that this process reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..._core import engine
from ..._core.errors import SubtrieError
from .._runs.run_folder import table_bytes
from .._schema import EVENTS, arrow_schema
from .bucket import (
    Subscribed,
    flow_sums,
    microbus_sums,
    publish_sums,
    refusal_sums,
    request_sums,
    summed,
)
from .described import Description
from .questions import Questions
from .selection import ReadEvents
from .sums import Sums
from .tables import Answers, sorted_rows
from .uses import READ, uses_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The sums that each table of answers is made of.
PUBLISHES, FLOWS, REQUESTS = "publishes", "flows", "requests"
EVERYTHING = (PUBLISHES, FLOWS, REQUESTS)

_MICROSECONDS = 1_000_000
SENT = ("server", "time", "subject", "position")
#: Rows that are described at once, and rows of uses that are kept before they are added up.
_DESCRIBED_AT_ONCE, _HELD = 65_536, 1_000_000


def answers_here(
    read: ReadEvents,
    subscriptions: pa.Table,
    questions: Questions,
    *,
    heads: Iterable[pa.RecordBatch] | None = None,
    wanted: Sequence[str] = EVERYTHING,
) -> Answers:
    """Return the answers, added up in this process.

    Args:
        read: Reads the events.
        subscriptions: The rows of the table ``subscriptions``.
        questions: What is asked.
        heads: The rows of ``HEADS``, for the latency of Microbus requests.
        wanted: The sums that are asked for.

    Raises:
        ValueError: The rules name no service of the traffic, or the time is outside the log.
    """
    import pyarrow as pa

    answers = Answers(subscriptions, questions)
    held: list[pa.RecordBatch] = []
    rows = 0
    window = window_of(questions)
    for batch in read(READ, lambda batches: uses_of(batches, window=window)):
        held.append(batch)
        rows += batch.num_rows
        if rows > _HELD:
            held = summed(held).to_batches()
            rows = max(0, sum(each.num_rows for each in held) - _HELD)
    bucket_sums(answers.sums, summed(held), answers.description(), {}, wanted)
    if heads is not None:
        of_heads = pa.Table.from_batches(heads)
        accepted = pa.Table.from_batches(read((*SENT, *_HOW), _accepted), _schema())
        keys = ["server", "position"]
        microbus_sums(answers.sums, accepted.join(of_heads, keys, join_type="inner"), host_in)
    answers.check()
    return answers


def entries_of(answers: Answers) -> list[dict[str, Any]]:
    """Return the tables of answers as the entries of files."""
    return [table_bytes(name, sorted_rows(name, rows)) for name, rows in answers.tables().items()]


_HOW = ("op", "direction", "refused")


def _accepted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the publishes that a server accepted, with the columns ``SENT``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        published = pc.is_in(batch["op"], value_set=pa.array(["PUB", "HPUB"]))
        incoming = pc.fill_null(pc.equal(batch["direction"], "in"), False)
        kept = pc.and_(pc.and_(published, incoming), pc.is_null(batch["refused"]))
        chosen = pa.Table.from_batches([batch.filter(kept).select(list(SENT))])
        yield from chosen.cast(_schema()).to_batches()


def _schema() -> pa.Schema:
    """Return the columns of ``SENT``."""
    return arrow_schema([column for column in EVENTS if column[0] in SENT])


def bucket_sums(
    sums: Sums, uses: pa.Table, description: Description, subscribed: Subscribed,
    wanted: Sequence[str],
) -> None:  # fmt: skip
    """Add the wanted sums of a bucket."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if PUBLISHES in wanted:
        published = uses.filter(pc.equal(uses["use"], "publish"))
        for batch in published.to_batches(max_chunksize=_DESCRIBED_AT_ONCE):
            for described in description.describe([batch]):
                publish_sums(sums, pa.Table.from_batches([described]), description.rules)
        refusal_sums(sums, uses)
    if FLOWS in wanted:
        flow_sums(sums, uses, subscribed)
    if REQUESTS in wanted:
        request_sums(sums, uses)


def window_of(questions: Questions) -> int | None:
    return None if questions.window is None else questions.window * _MICROSECONDS


def host_in(token: str) -> str:
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token
