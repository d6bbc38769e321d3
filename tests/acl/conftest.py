"""Search the tracebacks of all refusals for secrets."""  # T16

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_certificates import Certificates

from secrets_watch import leaked
from subtrie import SubtrieError


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_leaks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every refusal with its traceback, once it has one; the last thousand of a test."""
    made: list[SubtrieError] = []
    before = SubtrieError.__init__

    def noted(self: SubtrieError, *arguments: object, **named: object) -> None:
        before(self, *arguments, **named)
        made.append(self)
        del made[:-1000]

    monkeypatch.setattr(SubtrieError, "__init__", noted)
    yield
    for error in made:
        shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        assert not leaked(shown), type(error)
