"""Answers of JetStream in a capture: who stored a message, and which subjects streams store."""

from __future__ import annotations

import json
from collections.abc import Iterator

_STORED, _STREAM = b'{"stream":"', b'{"type":"io.nats.jetstream.api.v1.stream_'


def rows_of_answer(payload: bytes) -> Iterator[dict[str, str]]:
    """Yield ``op``, ``queue`` (the stream) and ``subject`` of the rows of a message to a client.

    Example:
        >>> list(rows_of_answer(b'{"stream":"ORDERS", "seq":1}'))
        [{'op': 'STORED', 'queue': 'ORDERS'}]
    """
    if not payload.startswith((_STORED, _STREAM)):
        return
    try:
        told = json.loads(payload)
    except (ValueError, RecursionError):
        return
    if payload.startswith(_STORED):
        if isinstance(told["stream"], str) and told["stream"]:
            yield {"op": "STORED", "queue": told["stream"]}
        return
    listed = told.get("streams")
    for each in [told, *(listed if isinstance(listed, list) else ())]:
        config = each.get("config") if isinstance(each, dict) else None
        if not isinstance(config, dict) or not isinstance(config.get("name"), str):
            continue
        for subject in config.get("subjects") or ():
            if isinstance(subject, str):
                yield {"op": "STREAM", "queue": config["name"], "subject": subject}
