"""Whatever a handler raises, its frames are told, with and without the text of the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from subtrie import BusError
from subtrie.connector import HTTPError
from subtrie.connector._errors import made_here, to_http_error

ERRORS = {
    "any": lambda: ValueError("x"), "of a program": lambda: KeyError("x"),
    "given": lambda: HTTPError("x", status=404),
    "of the connector": lambda: BusError("x", reason="running"),
    "of a call": lambda: made_here(HTTPError("x", status=404)),
}  # fmt: skip


@pytest.mark.parametrize("detailed", [True, False])
@pytest.mark.parametrize("kind", ERRORS)
def test_the_frames_of_the_handler(kind, detailed) -> None:
    def handler() -> None:
        raise ERRORS[kind]()

    try:
        handler()
    except Exception as error:
        told = to_http_error(error, detailed=detailed)
    assert told.stack[0]["func"].endswith("handler")
    assert told.stack[0]["file"].endswith(Path(__file__).name)
