"""The rows of a trace log, batches of them for Arrow, and the open windows they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of ``nats-trace``: name and Spark type. ``kind`` decides which of them are set:
#:
#: ``publish`` / ``inbound``  a message from a client / from another broker: pos, end, conn, user,
#:     name, account, subject, reply, size, reason (of its refusal)
#: ``delivery`` / ``hop``  a message to a client / to another broker: conn, sid, subject, reply,
#:     size
#: ``subscribe``, ``unsubscribe``, ``closed``  conn, sid, subject, queue, account
#: ``refusal``  conn, user, name, subject, queue, sid, reason
#: ``unparseable``  reason, text;  ``count``  subject (what was counted), size (how many)
COLUMNS: tuple[tuple[str, str], ...] = (
    ("log", "int"),
    ("kind", "string"),
    ("pos", "bigint"),
    ("end", "bigint"),
    ("conn", "string"),
    ("user", "string"),
    ("name", "string"),
    ("account", "string"),
    ("subject", "string"),
    ("reply", "string"),
    ("queue", "string"),
    ("sid", "string"),
    ("size", "bigint"),
    ("reason", "string"),
    ("text", "string"),
)
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
_NAMES = [name for name, _ in COLUMNS]
_POSITION = {name: position for position, name in enumerate(_NAMES)}


class PrefixFields(NamedTuple):
    """The fields of the prefix of a line, except its time."""

    conn: str
    client: bool  # a client, not another broker
    arrow: str
    payload: bool
    user: str | None
    name: str | None
    account: str | None


class Window:
    """A message that the broker received, and the end of the window for its deliveries."""

    __slots__ = ("end", "keys", "limit", "pos", "prefix", "refusal", "size")

    def __init__(
        self,
        pos: int,
        prefix: PrefixFields,
        keys: list[tuple[str, str]],
        size: int,
        limit: int | None,
    ) -> None:
        self.pos = pos
        self.prefix = prefix
        self.keys = keys  # (subject, reply): two readings for some messages between brokers
        self.size = size
        self.limit = limit  # microseconds, or None in a log without times
        self.end: int | None = None
        self.refusal: str | None = None


class RowBatch:
    """Rows that are collected until they fill an Arrow batch."""

    def __init__(self, log_number: int) -> None:
        self._log = log_number
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Any:
        """Iterate over the rows as dictionaries, for tests."""
        return (dict(zip(_NAMES, row, strict=True)) for row in self._rows)

    def add(self, kind: str, pos: int, **values: Any) -> None:
        """Add a row of any kind."""
        row: list[Any] = [None] * len(_NAMES)
        row[0], row[1], row[2] = self._log, kind, pos
        for name, value in values.items():
            row[_POSITION[name]] = value
        self._rows.append(tuple(row))

    def delivery(self, pos: int, conn: str, subject: str, reply: str, sid: str, size: int) -> None:
        """Add a message delivered to a client."""
        self._rows.append(
            (
                *(self._log, "delivery", pos, None, conn, None, None, None),
                *(subject, reply, None, sid, size, None, None),
            )
        )

    def window(self, window: Window, subject: str, reply: str) -> None:
        """Add a message whose window is closed."""
        prefix = window.prefix
        kind = "publish" if prefix.client else "inbound"
        self._rows.append(
            (
                *(self._log, kind, window.pos, window.end),
                *(prefix.conn, prefix.user, prefix.name, prefix.account),
                *(subject, reply, None, None, window.size, window.refusal, None),
            )
        )

    def to_arrow(self, names: list[str] | None = None) -> pa.RecordBatch:
        """Return the rows as Arrow, with all columns or those in ``names``."""
        import pyarrow as pa

        types = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string()}
        columns = list(zip(*self._rows, strict=True)) or [()] * len(_NAMES)
        selected = _NAMES if names is None else names
        kinds = dict(COLUMNS)
        return pa.record_batch(
            [pa.array(columns[_POSITION[name]], types[kinds[name]]) for name in selected],
            names=selected,
        )
