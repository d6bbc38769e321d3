"""Kinds about connectors: headers, localities, recorded messages and recorded streams.

Headers do not depend on the engine: ``subtrie.connector`` answers them unless the engine under test
has a function of that name.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from ._kind import Kind, Row


def _read(name: str, ask: Callable[[str], Any]) -> Kind:
    """Return a kind that parses the text of a header."""

    def answer(engine: Any, row: Row) -> Any:
        got = getattr(engine, name, ask)(row["in"]["value"])
        return list(got) if isinstance(got, tuple) else got

    return Kind(answer, "out")


def _time_budget(text: str) -> int:
    from .._core.control_headers import nanoseconds_of

    return nanoseconds_of(text)


def _fragment(text: str) -> tuple[int, int]:
    from .._core.control_headers import fragment_of

    return fragment_of(text)


def _locality(engine: Any, row: Row) -> str:
    return str(engine.check_locality(row["in"]["locality"]))


def _common(engine: Any, row: Row) -> str:
    return str(engine.common_locality(row["in"]["mine"], row["in"]["theirs"]))


#: Kinds by the value of ``op``.
OPS: dict[str, Kind] = {
    "parse_time_budget": _read("parse_time_budget", _time_budget),
    "parse_fragment": _read("parse_fragment", _fragment),
    "set_locality": Kind(_locality, "out"),
    "locality_common_prefix": Kind(_common, "out"),
}


def _message(engine: Any, row: Row) -> str:
    """Return the bytes of a recorded message after parsing and serialising it."""
    from ..connector._codec import read_request, read_response, write_request, write_response

    payload = base64.b64decode(row["bytes"])
    address = engine.decode(row["subject"])
    if hasattr(address, "method"):
        request = read_request(payload)
        again = write_request(request)
        parsed = (request.method, request.headers.get("Microbus-From-Host"))
        same = parsed == (address.method, address.source)
    else:
        response = read_response(payload)
        again = write_response(response)
        same = response.headers.get("Microbus-From-Host") == address.source
    if not same:
        return "the subject and the headers differ"
    return row["bytes"] if again == payload else base64.b64encode(again).decode()


#: A row of a recording with one complete message: ``subject`` and ``bytes``.
MESSAGE = Kind(_message, "bytes")


class RecordedStreams:
    """The streams of one recording, whose rows are chunks in the order of the file."""

    def __init__(self) -> None:
        self._parsers: dict[tuple[str, str], Any] = {}

    def kind(self) -> Kind:
        """Return the kind of a chunk: it must continue its stream without an error."""
        return Kind(self._fed, "dir")

    def _fed(self, engine: Any, row: Row) -> str:
        stream = str(row["conn"]), str(row["dir"])
        parser = self._parsers.get(stream)
        if parser is None:
            side = "client" if stream[1] == "c2s" else "server_to_client"
            parser = self._parsers[stream] = engine.Parser(side, max_payload=None)
        parser.feed(base64.b64decode(row["data"]))
        return stream[1]
