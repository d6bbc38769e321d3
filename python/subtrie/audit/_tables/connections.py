"""The tables about connections and servers: logins, links between servers, what servers do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._partial.kinds import add_up
from .._partial.rates import RATE
from .._schema import TABLE_COLUMNS, TABLE_KEYS, Rows, arrow_schema, rows
from .bucket import Bucket

if TYPE_CHECKING:
    import pyarrow as pa

_PROOF = ("account", "user", "client", "identity_source")
#: What crossed a link, by direction.
_CROSSED = ("messages_in", "bytes_in", "messages_out", "bytes_out")
#: What a row says that has no text; a slow consumer is an event of its server, too.
_EVENTS = {"START": "start", "SLOW": "slow consumer"}
_OUTCOMES = {"LOGIN": "accepted", "DENIED": "refused"}


def logins(bucket: Bucket) -> Iterable[Rows]:
    """Return the logins of each user from each address, accepted and refused."""
    import pyarrow as pa

    found, keys = bucket.table("login"), TABLE_KEYS["logins"]
    if not found.num_rows:
        return ()
    columns = {name: found[name] for name in ("count", "first", "last", RATE, *_PROOF)}
    outcomes = [_OUTCOMES[op] for op in found["op"].to_pylist()]
    named = {"who": found["identity"], "address": found["subject"], "why": found["queue"],
             "outcome": pa.array(outcomes, pa.string())}  # fmt: skip
    return (rows("logins", add_up(pa.table({**named, **columns}), keys), keys),)


def links(bucket: Bucket) -> Iterable[Rows]:
    """Return the connections to other servers: from when to when, and what crossed each."""
    made: list[dict[str, Any]] = []
    up: dict[tuple[str, str], dict[str, Any]] = {}
    listed = bucket.table("link").to_pylist() + bucket.table("crossed").to_pylist()
    for row in sorted(listed, key=lambda each: (each["server"], each["position"])):
        key = row["server"], row["conn"]
        if row.get("direction") == "local":
            continue
        if "direction" in row:
            if key not in up:  # from before the log
                up[key] = _link(row, None, None)
                made.append(up[key])
            up[key]["user"] = up[key]["user"] or row["user"]
            up[key][f"messages_{row['direction']}"] += row["count"]
            up[key][f"bytes_{row['direction']}"] += row["size"] or 0
        elif row["queue"] == "up":
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
            known["user"] = known["user"] or row["user"]
    return _listed("links", made)


def _link(row: dict[str, Any], start: Any, end: Any) -> dict[str, Any]:
    made = {name: row.get(name) for name in ("server", "conn", "account", "user")}
    made["kind"] = row["conn"].rpartition("/")[2].partition(":")[0]
    made |= {"remote": row.get("subject"), "address": row.get("sid"), "start": start, "end": end}
    return made | dict.fromkeys(_CROSSED, 0)


def servers(bucket: Bucket) -> Iterable[Rows]:
    """Return what servers say about themselves: start, ready, reload, lame duck, stop."""
    return _listed(
        "servers",
        [
            {
                "server": row["server"],
                "process": row["conn"].partition("/")[0],
                "event": _EVENTS.get(row["op"], row["queue"]),
                "time": row["time"],
            }
            for row in bucket.table("state").to_pylist()
        ],
    )


def _listed(name: str, made: list[dict[str, Any]]) -> Iterable[Rows]:
    import pyarrow as pa

    table: pa.Table = pa.Table.from_pylist(made, arrow_schema(TABLE_COLUMNS[name]))
    return (rows(name, table, TABLE_KEYS[name]),) if made else ()
