"""First steps in the pages: what is installed suffices, nothing is open, and words are found."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
#: The extra that a command needs besides ``cli``.
NEEDED = {"audit": "audit", "run": "connector", "call": "connector", "health": "connector"}


@pytest.mark.parametrize("page", ["tutorial.md", "deploy.md"])
def test_a_page_installs_what_its_commands_need(page):
    """The tutorial ended in an error: its audit needs pyarrow, which it did not install."""
    text = (ROOT / "docs" / page).read_text()
    installed = set(re.search(r"install .*'subtrie\[([a-z,-]+)\]'", text)[1].split(","))
    assert installed <= EXTRAS.keys()
    commands = set(re.findall(r"^\$ subtrie ([a-z]+)", text, re.M))
    assert commands
    assert {"cli"} | {NEEDED[each] for each in commands if each in NEEDED} <= installed


PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/README.md")]


def test_a_page_that_starts_uvicorn_installs_it():
    """Both pages ended in ``uvicorn: command not found``: no extra has it."""
    starting = [page for page in PAGES if re.search(r"^\$ uvicorn ", page.read_text(), re.M)]
    assert len(starting) > 1
    for page in starting:
        assert re.search(r"^\$ pip install .*\buvicorn\b", page.read_text(), re.M), page


@pytest.mark.parametrize(
    "word", ["docker", "kubernetes", "health", "cron", "openapi.json", "ticker", "SIGTERM", "CORS"]
)
def test_a_word_that_users_search_is_on_a_page(word):
    """L15: the search of the site found nothing for them."""
    assert [page.name for page in PAGES if word.lower() in page.read_text().lower()]
