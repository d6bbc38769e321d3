"""The call graph and the replies, from messages and deliveries by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._partial.kinds import add_up, filled
from .._schema import TABLE_KEYS
from .bucket import Subjects
from .rows import Rows, rows

if TYPE_CHECKING:
    import pyarrow as pa

_COUNTED = ("published", "refused", "delivered", "undelivered", "forwarded", "bytes")


def edge_rows(publishes: pa.Table, deliveries: pa.Table, subjects: Subjects) -> list[Rows]:
    """Return partial sums of the call graph and of the replies."""
    import pyarrow as pa

    zeros = pa.repeat(pa.scalar(0, pa.int64()), publishes.num_rows)
    sent = publishes.append_column("delivered", zeros)
    # Instances are the connections that publish: a delivery has none.
    received = deliveries.select(["at", "window", "count"])
    received = received.rename_columns(["at", "window", "delivered"])
    wanted = ["at", "window", "server", "conn", "first", "last", *_COUNTED]
    both = pa.concat_tables([filled(table, wanted, _COUNTED) for table in (sent, received)])
    number, senders = _senders(both)
    at = both["at"].combine_chunks()
    columns = {"address": subjects.address.take(at), "rank": subjects.rank.take(at)}
    columns |= {"window": both["window"], "number": number}
    accounts = subjects.account.dictionary_encode()
    columns["account"] = accounts.indices.take(at)
    columns |= {name: both[name] for name in (*_COUNTED, "first", "last")}
    summed = add_up(pa.table(columns), ("address", "rank", "window", "number", "account"))
    address = summed["address"].combine_chunks()
    calls = summed.filter(subjects.requests.take(address))
    answers = summed.filter(subjects.replies.take(address))
    found = []
    if calls.num_rows:
        of = subjects.addresses.take(calls["address"].combine_chunks())
        made = {name: of[name] for name in ("plane", "source", "port", "method")}
        made |= {"window": calls["window"], "destination": of["host"]}
        made["route"] = subjects.index.routes.take(calls["rank"].combine_chunks())
        made["server_conn"] = senders.take(calls["number"].combine_chunks())
        made |= {name: calls[name] for name in (*_COUNTED, "first", "last")}
        made["account"] = accounts.dictionary.take(calls["account"].combine_chunks())
        keys = TABLE_KEYS["call_graph"]
        found.append(rows("call_graph", pa.table(made), keys, more=("server_conn",)))
    if answers.num_rows:
        sums = ("published", "delivered", "undelivered")
        answers = add_up(answers.select(["address", "account", *sums]), ("address", "account"))
        of = subjects.addresses.take(answers["address"].combine_chunks())
        made = {"plane": of["plane"], "replier": of["source"], "caller": of["host"]}
        made |= {name: answers[name] for name in sums}
        made["account"] = accounts.dictionary.take(answers["account"].combine_chunks())
        found.append(rows("replies", pa.table(made), TABLE_KEYS["replies"]))
    return found


def _senders(table: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return the number of the sender of each row, and the senders by number, null without one.

    Numbers are compared several times faster than texts.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = np.zeros(table.num_rows, dtype=np.int64)
    texts = []
    for name in ("server", "conn"):
        coded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * max(1, len(coded.dictionary)) + coded.indices.to_numpy()
        texts.append(coded.dictionary)
    numbered = pa.array(codes).dictionary_encode()
    server, conn = np.divmod(numbered.dictionary.to_numpy(), max(1, len(texts[1])))
    servers, conns = texts[0].take(pa.array(server)), texts[1].take(pa.array(conn))
    return numbered.indices, pc.binary_join_element_wise(servers, conns, " ")
