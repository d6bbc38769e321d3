"""No seed or password of these tests stands in what they print, log or raise (T16)."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

import pytest
from secrets_used import leaked

from subtrie import SubtrieError


@pytest.fixture(autouse=True)
def _nothing_leaks(monkeypatch: pytest.MonkeyPatch, capsys: object) -> Iterator[None]:
    """Looks through every refusal, its traceback and its ``repr``, as it is made."""
    made: list[SubtrieError] = []
    before = SubtrieError.__init__

    def noted(self: SubtrieError, *arguments: object, **named: object) -> None:
        before(self, *arguments, **named)
        made.append(self)

    monkeypatch.setattr(SubtrieError, "__init__", noted)
    yield
    for error in made:
        shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        assert not leaked(shown), type(error)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Looks through what the test printed and logged."""
    outcome = yield
    report = outcome.get_result()
    text = report.capstdout + report.capstderr + report.caplog
    if report.passed and leaked(text):
        report.outcome = "failed"
        report.longrepr = "a secret was printed or logged"
