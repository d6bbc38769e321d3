"""Runs of each kind, and one Chromium for all tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from report_runs import (
    answer_tables,
    flow_tables,
    hostile_tables,
    large_tables,
    make_run,
    small_tables,
)

from subtrie.report import read_report, to_html

_RUNS = {
    "small": small_tables,
    "hostile": hostile_tables,
    "large": large_tables,
    "answers": answer_tables,
    "flows": flow_tables,
    "empty": dict,
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The directory of each run."""
    folder = tmp_path_factory.mktemp("runs")
    return {name: make_run(folder / name, tables()) for name, tables in _RUNS.items()}


@pytest.fixture(scope="session")
def pages(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each run."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, run in runs.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(to_html(read_report(run)), encoding="utf-8")
    return found


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium; without one the tests are skipped, except in CI."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if None in found:
        message = "needs chromium and chromedriver (Debian: chromium, chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with Browser(*map(str, found), tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser; the test fails if a page wrote to its console or broke its policy."""
    chromium.resize("laptop")
    yield chromium
    assert chromium.console() == []
