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


def test_a_broker_of_a_page_listens_on_loopback():
    """L13: the broker of the tutorial had no users, listened everywhere, and logged payloads."""
    commands = [
        (page.name, command)
        for page in PAGES
        for command in re.findall(r"(?:^\$ |`)(nats-server [^`\n]*)", page.read_text(), re.M)
        if "&" in command
    ]
    assert len(commands) > 5
    # A configuration says where it listens; those of the pages listen on loopback.
    open_to_all = [(page, each) for page, each in commands
                   if "-a 127.0.0.1" not in each and "-c " not in each]  # fmt: skip
    assert open_to_all == []


@pytest.mark.parametrize(
    "word", ["docker", "kubernetes", "health", "cron", "openapi.json", "ticker", "SIGTERM", "CORS"]
)
def test_a_word_that_users_search_is_on_a_page(word):
    """L15: the search of the site found nothing for them."""
    assert [page.name for page in PAGES if word.lower() in page.read_text().lower()]
