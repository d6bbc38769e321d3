"""The latency of Microbus requests, from the heads of their payloads."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ..._core import engine
from ..._core.control_headers import ERROR, REQUEST, RESPONSE
from ..._core.errors import SubtrieError
from .._answers.sums import Sums, latency_step
from .classified import columns_of
from .streams import folded

if TYPE_CHECKING:
    import pyarrow as pa

#: The least status of a response that is an error.
_FIRST_ERROR = 400


def microbus_sums(sums: Sums, sent: pa.Table) -> None:
    """Add the latency of Microbus requests, to the first response of each responder.

    A response belongs to a request by its message id and the host of the requester. Of a message in
    fragments the first one counts. A multicast has a row for each responder.

    Args:
        sums: Receives it.
        sent: Rows of the kind ``head``: ``time, subject, message_id, op_code, status``.
    """
    asked: dict[tuple[str, str], tuple[int, str]] = {}
    answers: dict[tuple[str, str], dict[str, tuple[int, str, int]]] = defaultdict(dict)
    names = ("time", "subject", "message_id", "op_code", "status")
    for time, subject, message, op, status in zip(*columns_of(sent, *names), strict=True):
        tokens = subject.split(".")
        if len(tokens) < 5 or time is None:  # without a time there is no latency
            continue
        if tokens[1] in ("safe", "danger") and op == REQUEST:
            key, first = (tokens[3], message), (time, subject)
            asked[key] = min(asked.get(key, first), first)
        elif tokens[1] == "reply" and op in (RESPONSE, ERROR):
            found = answers[tokens[4], message]
            # Null is before every status.
            answer = (time, op, -1 if status is None else status)
            found[tokens[3]] = min(found.get(tokens[3], answer), answer)
    for (requester, number), (time, subject) in asked.items():
        host = _host_in(requester)
        found = answers.get((requester, number), {})
        for responder, (answered, code, status) in found.items():
            failed = int(code == ERROR or status >= _FIRST_ERROR)
            # Clocks of two servers may differ by more than a request takes.
            took = latency_step(max(answered - time, 0))
            of_both = ("microbus", host, folded(subject), _host_in(responder))
            sums.add("latency", of_both, ({took: 1}, failed))
        if not found:
            sums.add("latency", ("microbus", host, folded(subject), None), ({None: 1}, 0))


def _host_in(token: str) -> str:
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token
