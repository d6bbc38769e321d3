"""The tables about connections and servers: logins, links between servers, what servers do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._partial.kinds import add_up
from .._schema import TABLE_COLUMNS, TABLE_KEYS, arrow_schema
from .bucket import Bucket
from .rows import Rows, rows

if TYPE_CHECKING:
    import pyarrow as pa

_PROOF = ("account", "user", "client", "identity_source")
_OUTCOMES = {"LOGIN": "accepted", "DENIED": "refused"}


def logins(bucket: Bucket) -> Iterable[Rows]:
    """Return the logins of each user from each address, accepted and refused."""
    import pyarrow as pa

    found, keys = bucket.table("login"), TABLE_KEYS["logins"]
    if not found.num_rows:
        return ()
    columns = {name: found[name] for name in ("count", "first", "last", *_PROOF)}
    outcomes = [_OUTCOMES[op] for op in found["op"].to_pylist()]
    named = {"who": found["identity"], "address": found["subject"], "why": found["queue"],
             "outcome": pa.array(outcomes, pa.string())}  # fmt: skip
    return (rows("logins", add_up(pa.table({**named, **columns}), keys), keys),)


def links(bucket: Bucket) -> Iterable[Rows]:
    """Return the connections to other servers, from when to when each was there."""
    made: list[dict[str, Any]] = []
    up: dict[tuple[str, str], dict[str, Any]] = {}
    listed = bucket.table("link").to_pylist()
    for row in sorted(listed, key=lambda each: (each["server"], each["position"])):
        key = row["server"], row["conn"]
        if row["queue"] == "up":
            if key not in up:  # a gateway is made, then registered
                up[key] = _link(row, row["time"], None)
                made.append(up[key])
            up[key]["remote"] = row["subject"] or up[key]["remote"]
        else:
            known = up.pop(key, None)
            if known is None:  # from before the log
                made.append(_link(row, None, row["time"]))
                continue
            known["end"] = row["time"]
            known["remote"] = known["remote"] or row["subject"]
            known["account"] = known["account"] or row["account"]
    return _listed("links", made)


def _link(row: dict[str, Any], start: Any, end: Any) -> dict[str, Any]:
    made = {name: row[name] for name in ("server", "conn", "account")}
    made["kind"] = row["conn"].rpartition("/")[2].partition(":")[0]
    return made | {"remote": row["subject"], "address": row["sid"], "start": start, "end": end}


def servers(bucket: Bucket) -> Iterable[Rows]:
    """Return what servers say about themselves: start, ready, reload, lame duck, stop."""
    return _listed(
        "servers",
        [
            {
                "server": row["server"],
                "process": row["conn"].partition("/")[0],
                "event": "start" if row["op"] == "START" else row["queue"],
                "time": row["time"],
            }
            for row in bucket.table("state").to_pylist()
        ],
    )


def _listed(name: str, made: list[dict[str, Any]]) -> Iterable[Rows]:
    import pyarrow as pa

    table: pa.Table = pa.Table.from_pylist(made, arrow_schema(TABLE_COLUMNS[name]))
    return (rows(name, table, TABLE_KEYS[name]),) if made else ()
