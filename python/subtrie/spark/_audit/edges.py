"""The call graph and the replies, from messages and deliveries by subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .rows import Rows, add_up, filled, rows
from .subjects import Subjects

if TYPE_CHECKING:
    import pyarrow as pa

_COUNTED = ("published", "refused", "delivered", "undelivered", "forwarded", "bytes")


def edge_rows(publishes: pa.Table, deliveries: pa.Table, subjects: Subjects) -> list[Rows]:
    """Return partial sums of the call graph and of the replies."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zeros = pa.repeat(pa.scalar(0, pa.int64()), publishes.num_rows)
    sent = publishes.append_column("delivered", zeros)
    # Instances are the connections that publish: a delivery has none.
    received = deliveries.select(["at", "window", "count"])
    received = received.rename_columns(["at", "window", "delivered"])
    wanted = ["at", "window", "server", "conn", "first", "last", *_COUNTED]
    both = pa.concat_tables([filled(table, wanted, _COUNTED) for table in (sent, received)])
    # A number in place of each connection: numbers are grouped several times faster than texts.
    names = both.group_by(["server", "conn"]).aggregate([])
    name = pc.binary_join_element_wise(names["server"], names["conn"], " ").combine_chunks()
    both = both.append_column("number", _numbers(both, names, ("server", "conn")))
    found = []
    for mask, table in ((subjects.request, "call_graph"), (subjects.reply, "replies")):
        some = both.filter(pc.take(mask, both["at"].combine_chunks()))
        if not some.num_rows:
            continue
        at = some["at"].combine_chunks()
        values = [*_COUNTED, "first", "last"]
        keys = ["address", "rank", "window", "number"]
        columns = {"address": subjects.address.take(at)}
        if table == "replies":
            values, keys = ["published", "delivered", "undelivered"], ["address"]
        else:
            columns["rank"] = subjects.rank.take(at)
        columns |= {n: some[n] for n in (*keys[2:], *values)}
        summed = add_up(pa.table(columns), keys)
        address = summed["address"].combine_chunks()
        texts = subjects.addresses.take(address)
        renamed = {"source": texts["source"], "destination": texts["host"], "plane": texts["plane"]}
        names_of = ["plane", "window", "source", "destination", "port", "method", "route"]
        if table == "replies":
            renamed = {"plane": texts["plane"], "replier": texts["source"], "caller": texts["host"]}
            names_of = ["plane", "replier", "caller"]
        else:
            renamed |= {
                "port": texts["port"],
                "method": texts["method"],
                "route": subjects.index.routes.take(summed["rank"].combine_chunks()),
                "window": summed["window"],
                "server_conn": name.take(summed["number"].combine_chunks()),
            }
        made = pa.table(renamed | {value: summed[value] for value in values})
        found.append(rows(table, made, names_of, more=("server_conn",)))
    return found


def _numbers(table: pa.Table, keys: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return the row of ``keys`` that each row of a table equals in some columns."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.zeros(table.num_rows, dtype=np.int64)
    known = np.zeros(keys.num_rows, dtype=np.int64)
    for name in names:
        distinct = pc.unique(keys[name])
        for column, into in ((table[name], found), (keys[name], known)):
            into *= len(distinct) + 1
            into += pc.index_in(column, value_set=distinct).fill_null(len(distinct)).to_numpy()
    order = np.argsort(known)
    return pa.array(order[np.searchsorted(known[order], found)], pa.int32())
