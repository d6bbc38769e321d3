"""A page that begins with ``pip install`` installs what its commands need."""

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
