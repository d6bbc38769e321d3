"""The table ``events`` from spans of connectors, exported by OpenTelemetry as lines of JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import microbus
from .._core.errors import SubtrieError
from ._columns import text_column
from ._table_of_messages import events

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Bytes of a line; a longer one is damaged.
_LONGEST_LINE = 16 * 1024 * 1024
_CLIENT = (3, "SPAN_KIND_CLIENT", "SpanKind.CLIENT")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class _SentRequest(NamedTuple):
    """A request that a connector sent; without a subject it is not known where to."""

    subject: str | None = None
    identity: str | None = None
    #: Microseconds since 1970.
    time: int | None = None


def spans(df: DataFrame, *, plane: str, column: str = "value") -> DataFrame:
    """Return the requests in exported spans as the table ``events``.

    A row is a request that a connector sent (a span of kind *client* with ``microbus.service`` and
    ``url.full``); other spans are left out. A line that is not such JSON, and a request whose URL
    has no subject, have no subject either: see ``events``. Cost: each line is parsed in Python.

    Args:
        df: A line in each row, as ``spark.read.text`` returns them: an export in the JSON form of
            OTLP (the collector's file exporter writes one a line), or the ``to_json(indent=None)``
            of one span of the SDK.
        plane: The plane of the connectors, which spans do not tell.
        column: The column with the lines.

    Returns:
        A DataFrame with the columns ``EVENTS``.

    Raises:
        ValueError: There is no such column, or it does not hold strings.
        AddressError: The plane is not valid.
    """
    microbus.encode_reply(plane=plane, source="a", host="a", id="id-a")  # checks the plane
    position = text_column(df, column)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make messages of the lines of a batch."""
        import pyarrow as pa

        kinds = (pa.string(), pa.string(), pa.timestamp("us", "UTC"))
        for batch in batches:
            lines = batch.column(position).to_pylist()
            sent = [each for line in lines if line for each in requests_in(line, plane)]
            columns = list(zip(*sent, strict=True)) or [()] * len(kinds)
            arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
            yield pa.record_batch(arrays, names=_SentRequest._fields)

    return events(df.mapInArrow(read, "subject string, identity string, time timestamp"))


def requests_in(line: str, plane: str) -> list[_SentRequest]:
    """Return the requests that the spans of a line were made for; one without a subject if damaged.

    Cost: one pass over the line.
    """
    try:
        if len(line) > _LONGEST_LINE:
            return [_SentRequest()]
        found = [_sent(span, plane) for span in _spans(json.loads(line)) if span["kind"] in _CLIENT]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return [_SentRequest()]
    return [each for each in found if each is not None]


def _spans(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of an export, or the only one of a line of the SDK."""
    if "resourceSpans" not in data:
        yield data
        return
    for resource in data["resourceSpans"]:
        for scope in resource.get("scopeSpans", ()):
            yield from scope.get("spans", ())


def _sent(span: Mapping[str, Any], plane: str) -> _SentRequest | None:
    """Return the request of a client's span, or None if no connector sent it."""
    attributes = span.get("attributes") or {}
    if not isinstance(attributes, dict):
        attributes = {each["key"]: each["value"].get("stringValue") for each in attributes}
    names = ("microbus.service", "http.request.method", "url.full")
    service, method, url = (attributes.get(name) for name in names)
    if not all(isinstance(text, str) for text in (service, method, url)):
        return None
    if "startTimeUnixNano" in span:
        time = int(span["startTimeUnixNano"]) // 1000
    else:
        start = datetime.datetime.fromisoformat(span["start_time"])
        time = (start - _EPOCH) // datetime.timedelta(microseconds=1)
    return _SentRequest(_subject(plane, service, method, url), service, time)


@lru_cache(maxsize=65_536)
def _subject(plane: str, service: str, method: str, url: str) -> str | None:
    try:
        return str(microbus.request_from_url(plane=plane, source=service, method=method, url=url))
    except SubtrieError:
        return None
