"""The rows of the table ``events`` for synthetic traffic, written as Parquet.

A row is written when it is complete: that of a publish when its window has ended.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .trace_log import Written

if TYPE_CHECKING:
    from .connections import Connection

_BATCH = 65_536  # rows of a row group

#: Columns: the name and the Arrow type of each.
COLUMNS: tuple[tuple[str, str], ...] = (
    *(("server", "string"), ("file", "string"), ("offset", "int64"), ("until", "int64")),
    *(("time", "timestamp"), ("conn", "string"), ("account", "string"), ("identity", "string")),
    *(("identity_source", "string"), ("user", "string"), ("client", "string")),
    *(("direction", "string"), ("op", "string"), ("subject", "string"), ("reply", "string")),
    *(("queue", "string"), ("sid", "string"), ("size", "int64"), ("deliveries", "int64")),
    *(("refused", "string"), ("forwarded", "int64"), ("ambiguous", "bool_")),
    *(("subscription", "int64"), ("position", "int64"), ("reason", "string")),
    ("_corrupt_record", "string"),
)


class EventRows:
    """Receives the events of a log in their order; without a path it ignores them."""

    def __init__(self, path: Path | None, pid: int) -> None:
        self.server = ""
        self._pid = pid
        self._waiting: deque[dict[str, Any]] = deque()
        self._rows: list[dict[str, Any]] = []
        #: The position of the latest line that can change the subscriptions.
        self._changed = 0
        self._writer: Any = None
        self._schema: Any = None
        if path is not None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            types = {"timestamp": pa.timestamp("us", "UTC")}
            self._schema = pa.schema(
                [(name, types.get(kind) or getattr(pa, kind)()) for name, kind in COLUMNS]
            )
            self._writer = pq.ParquetWriter(
                path, self._schema, compression="zstd", store_schema=False
            )

    def add(self, offset: int, op: str | None = None, **values: Any) -> dict[str, Any]:
        """Add the row of a line."""
        row = {"file": "trace.log", "offset": offset, "position": offset, "op": op, **values}
        if op in ("PUB", "HPUB") and values.get("direction") == "in":
            row["subscription"] = self._changed
        ends = op == "UNSUB" and values.get("size") is None
        refused = op == "VIOLATION" and values.get("refused") == "subscribe"
        if ends or refused or op in ("SUB", "DELSUB", "CLOSED", "START"):
            self._changed = offset
        if self._writer is not None:
            self._waiting.append(row)
            if len(self._waiting) >= _BATCH:
                self._flush()
        return row

    def client(
        self, written: Written, conn: Connection, direction: str | None, op: str, **values: Any
    ) -> dict[str, Any]:
        """Add the row of a line about a client."""
        return self.add(
            written.offset,
            op,
            time=written.time,
            conn=f"{self._pid}/client:{conn.cid}",
            identity=conn.host or conn.user or conn.name,
            **dict(conn.proof),
            direction=direction,
            **values,
        )

    def close(self) -> None:
        """Write the last rows."""
        if self._writer is not None:
            self._flush()
            self._write(self._rows)
            self._writer.close()

    def _flush(self) -> None:
        while self._waiting and not self._waiting[0].get("open"):
            self._rows.append(self._waiting.popleft())
        if len(self._rows) >= _BATCH:
            self._write(self._rows)
            self._rows = []

    def _write(self, rows: list[dict[str, Any]]) -> None:
        import pyarrow as pa

        for row in rows:
            row["server"] = self.server
        columns = [
            pa.array([row.get(name) for row in rows], self._schema.field(name).type)
            for name, _ in COLUMNS
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
