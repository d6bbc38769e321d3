"""From a bucket to the sums of the latency of requests.

All requests with one reply subject are in one bucket, and so are heads with one message id.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from ..._core import engine
from ..._core.control_headers import ERROR, REQUEST, RESPONSE
from ..._core.errors import SubtrieError
from .._answers.sums import Sums, latency_step
from .._partial.kinds import DAYS
from .bucket import Bucket
from .classified import Classified, columns_of
from .streams import OTHER_ACCOUNTS, Receiver, asks_for_messages, folded, receivers_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The least status of a response that is an error.
_FIRST_ERROR = 400
_ACCEPTED = 2
#: A server, an account, and a reply subject there.
_Reply = tuple[str, str | None, str]
#: The account, the host of the requester and the message id.
_Message = tuple[str | None, str, str]


def request_sums(sums: Sums, bucket: Bucket, of: Classified) -> None:
    """Add the latency of NATS requests: to the first message of a day on their reply subject.

    A request without a reply that a client published is answered by what was delivered on its
    reply subject: by a stream, by JetStream, or from elsewhere.
    """
    import pyarrow as pa

    requests = bucket.told("request")
    asked_for = set(requests["reply"].to_pylist())
    answers: dict[_Reply, list[tuple[int, str]]] = defaultdict(list)
    about = (of.account.to_pylist(), of.texts.to_pylist(), of.who.to_pylist())
    rows = zip(*columns_of(bucket.publishes, "server", DAYS), *about, strict=True)
    for server, days, account, subject, who in rows:
        if subject in asked_for:
            sent = [(d // 4, who) for d in days or () if d & _ACCEPTED]
            answers[server, account, subject] += sent
    for found in answers.values():
        found.sort()
    told = _first_deliveries(bucket, of, asked_for)
    texts = pa.array(dict.fromkeys(requests["subject"].to_pylist()), pa.string())
    stored = dict(zip(texts.to_pylist(), bucket.receivers.of(texts), strict=True))
    names = ("server", "conn", "account", "identity", "user", "client", "subject", "reply", "time")
    for server, conn, account, identity, *program, subject, reply, asked in zip(
        *columns_of(requests, *names), strict=True
    ):
        if subject is None or asks_for_messages(subject):
            continue
        requester = identity or conn
        found = answers.get((server, account, reply), [])
        at = bisect_left(found, (asked,))
        answered, responder = found[at] if at < len(found) else (None, None)
        if not found and (answered := told.get((server, account, reply))) is not None:
            known = receivers_of(subject, account, stored[subject])
            receiver = known[0] if known else bucket.receivers.answered(server, conn)
            responder = None if receiver is None else receiver.subscriber
            if not known:
                to = receiver or Receiver(OTHER_ACCOUNTS)
                flow = (requester, folded(subject), *to, account, *program, None, None)
                sums.add("stored", flow, (1,))
        took = None
        if answered is not None and asked is not None:
            took = latency_step(max(answered - asked, 0))
        key = ("nats", requester, folded(subject), responder, account, *program)
        sums.add("latency", key, ({took: 1}, 0))


def _first_deliveries(
    bucket: Bucket, of: Classified, subjects: Collection[str]
) -> dict[_Reply, int]:
    """Return the time of the first delivery of each of some subjects by each server and account."""
    found: dict[_Reply, int] = {}
    for server, at, first in zip(*columns_of(bucket.deliveries, "server", "at", "first"),
                                 strict=True):  # fmt: skip
        text = of.subjects.texts[at].as_py()
        if first is not None and text in subjects:
            key = (server, of.subjects.account[at].as_py(), text)
            found[key] = min(found.get(key, first), first)
    return found


def microbus_sums(sums: Sums, sent: pa.Table) -> None:
    """Add the latency of Microbus requests, to the first response of each responder.

    A response belongs to a request by its message id and the host of the requester. Of a message in
    fragments the first one counts. A multicast has a row for each responder.

    Args:
        sums: Receives it.
        sent: Rows of the kind ``head``.
    """
    asked: dict[_Message, tuple[int, str, str, str]] = {}
    answers: dict[_Message, dict[str, tuple[int, str, int]]] = defaultdict(dict)
    names = ("account", "user", "client", "time", "subject", "message_id", "op_code", "status")
    for account, user, client, time, subject, message, op, status in zip(
        *columns_of(sent, *names), strict=True
    ):
        tokens = subject.split(".")
        if len(tokens) < 5 or time is None:  # without a time there is no latency
            continue
        if tokens[1] in ("safe", "danger") and op == REQUEST:
            key = (account, tokens[3], message)
            first = (time, subject, user or "", client or "")
            asked[key] = min(asked.get(key, first), first)
        elif tokens[1] == "reply" and op in (RESPONSE, ERROR):
            found = answers[account, tokens[4], message]
            # Null is before every status.
            answer = (time, op, -1 if status is None else status)
            found[tokens[3]] = min(found.get(tokens[3], answer), answer)
    for (account, requester, number), (time, subject, *named) in asked.items():
        host, program = _host_in(requester), [each or None for each in named]
        found = answers.get((account, requester, number), {})
        for responder, (answered, code, status) in found.items():
            failed = int(code == ERROR or status >= _FIRST_ERROR)
            # Clocks of two servers may differ by more than a request takes.
            took = latency_step(max(answered - time, 0))
            of_both = ("microbus", host, folded(subject), _host_in(responder), account, *program)
            sums.add("latency", of_both, ({took: 1}, failed))
        if not found:
            alone = ("microbus", host, folded(subject), None, account, *program)
            sums.add("latency", alone, ({None: 1}, 0))


def _host_in(token: str) -> str:
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token
