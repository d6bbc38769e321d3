"""The rows that a trace log becomes, and batches of them on their way into Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from ._open_window import Window

#: Columns of ``nats-trace``: name, Spark type. ``kind`` says which of them are filled:
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
_PLACE = {name: place for place, name in enumerate(_NAMES)}


class RowBatch:
    """Rows collected until there are enough for one Arrow batch."""

    def __init__(self, log_number: int) -> None:
        self._log = log_number
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Any:
        """The rows as dictionaries, for tests and small uses."""
        return (dict(zip(_NAMES, row, strict=True)) for row in self._rows)

    def add(self, kind: str, pos: int, **values: Any) -> None:
        """One row of a seldom kind."""
        row: list[Any] = [None] * len(_NAMES)
        row[0], row[1], row[2] = self._log, kind, pos
        for name, value in values.items():
            row[_PLACE[name]] = value
        self._rows.append(tuple(row))

    def delivery(self, pos: int, conn: str, subject: str, reply: str, sid: str, size: int) -> None:
        """A message handed to a client."""
        self._rows.append(
            (
                *(self._log, "delivery", pos, None, conn, None, None, None),
                *(subject, reply, None, sid, size, None, None),
            )
        )

    def window(self, window: Window, subject: str, reply: str) -> None:
        """A message that came in, its window closed."""
        link = window.link
        kind = "publish" if link.client else "inbound"
        self._rows.append(
            (
                *(self._log, kind, window.pos, window.end),
                *(link.conn, link.user, link.name, link.account),
                *(subject, reply, None, None, window.size, window.refusal, None),
            )
        )

    def to_arrow(self, names: list[str] | None = None) -> pa.RecordBatch:
        """The rows as Arrow: all columns, or those named."""
        import pyarrow as pa

        types = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string()}
        columns = list(zip(*self._rows, strict=True)) or [()] * len(_NAMES)
        wanted = _NAMES if names is None else names
        kinds = dict(COLUMNS)
        return pa.record_batch(
            [pa.array(columns[_PLACE[name]], types[kinds[name]]) for name in wanted], names=wanted
        )
