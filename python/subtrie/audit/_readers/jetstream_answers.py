"""Answers of JetStream in a capture: who stored a message, streams, consumers, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..._nats.jetstream_subjects import ACKNOWLEDGE, jetstream_use, made_up_name

_STORED, _API = b'{"stream":"', b'{"type":"io.nats.jetstream.api.v1.'
_REFUSED = b'{"error":{"code":'
_NOT_PROCESSED = (b"-NAK", b"+TERM", b"+WPI")
_STREAM, _CONSUMER = _API + b"stream_", _API + b"consumer_"


def rows_of_answer(payload: bytes) -> Iterator[dict[str, str]]:
    """Yield ``op``, ``queue``, ``subject`` and more of the rows of a message to a client.

    ``queue`` is the stream, or stream and consumer; ``subject`` what it stores, or its ack policy,
    and ``reply`` the subject that it delivers to. Of an error, ``queue`` is why, ``sid`` what was
    asked, and ``subject`` the stream, if it is told.

    Example:
        >>> list(rows_of_answer(b'{"stream":"ORDERS", "seq":1}'))
        [{'op': 'STORED', 'queue': 'ORDERS'}]
    """
    if not payload.startswith((_STORED, _API, _REFUSED)):
        return
    try:
        told = json.loads(payload)
    except (ValueError, RecursionError):
        return
    if payload.startswith(_STORED):
        if isinstance(told["stream"], str) and told["stream"]:
            yield {"op": "STORED", "queue": told["stream"]}
        return
    if isinstance(told.get("error"), dict):
        yield from _failures(told)
        return
    if payload.startswith(_CONSUMER):
        yield from _policies(told)
        return
    if not payload.startswith(_STREAM):
        return
    listed = told.get("streams")
    for each in [told, *(listed if isinstance(listed, list) else ())]:
        config = each.get("config") if isinstance(each, dict) else None
        if not isinstance(config, dict) or not isinstance(config.get("name"), str):
            continue
        for subject in config.get("subjects") or ():
            if isinstance(subject, str):
                yield {"op": "STREAM", "queue": config["name"], "subject": subject}


def rows_of_acknowledgement(subject: str, payload: bytes) -> Iterator[dict[str, str]]:
    """Yield the row of an acknowledgement that does not say that a message was processed."""
    said = payload[:5] if payload.startswith(b"+TERM") else payload[:4]
    use = jetstream_use(subject) if said in _NOT_PROCESSED else None
    if use is not None and use.row.operation == ACKNOWLEDGE and "consumer" in use.values:
        consumer = f"{use.values['stream']}.{use.values['consumer']}"
        yield {"op": "ACK", "queue": consumer, "subject": said.decode()}


def _policies(told: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the rows of consumers; names that are made up are ``*``."""
    listed = told.get("consumers")
    for each in [told, *(listed if isinstance(listed, list) else ())]:
        config = each.get("config") if isinstance(each, dict) else None
        if not isinstance(config, dict):
            continue
        stream, name, policy = each.get("stream_name"), each.get("name"), config.get("ack_policy")
        if isinstance(stream, str) and isinstance(name, str) and isinstance(policy, str):
            row = {"op": "CONSUMER", "queue": f"{stream}.{name}", "subject": policy}
            if made_up_name(name):
                yield row | {"queue": f"{stream}.*"}
                continue
            to, listed = config.get("deliver_subject"), config.get("filter_subjects")
            filters = [config.get("filter_subject"), *(listed if isinstance(listed, list) else ())]
            if isinstance(to, str):
                row["reply"] = to
            if known := [each for each in filters if each and isinstance(each, str)]:
                row["sid"] = " ".join(known)
            yield row


def _failures(told: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the row of an error, without what varies in its description."""
    asked, stream = told.get("type", ""), told.get("stream")
    why = told["error"].get("description")
    if not isinstance(asked, str) or not isinstance(why, str) or not (asked or stream):
        return
    asked = asked.removeprefix(_API[9:].decode()).removesuffix("_response") or "publish"
    row = {"op": "ERROR", "queue": why.partition(": ")[0], "sid": asked}
    yield row | ({"subject": stream} if isinstance(stream, str) else {})
