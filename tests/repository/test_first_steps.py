"""First steps in the pages: what is installed suffices, nothing is open, and words are found."""

from __future__ import annotations

import re
import socket
import tomllib
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from test_docs import Shell

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/README.md")]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_text_names_the_file_of_a_block(page):
    """The name stood in the info string of the fence, which GitHub and a terminal do not show."""
    said = ""
    for block in MarkdownIt().parse(page.read_text()):
        if block.type == "heading_open":
            said = ""
        said += f"{block.content}\n" if block.type == "inline" else ""
        for option in block.info.split()[1:] if block.type == "fence" else ():
            assert f"`{option.removeprefix('file=')}`" in said, f"line {block.map[0] + 1}: {option}"


@pytest.mark.parametrize("page", ["run-a-broker.md", "tutorial.md"])
def test_a_page_says_what_to_do_if_the_port_is_taken(page, tmp_path):
    """Its broker ended silently, and its clients spoke to the other one."""
    text = (ROOT / "docs" / page).read_text()
    [start, *_] = re.findall(r"^\$ (nats-server .*&)$", text, re.M)
    [wait, *_] = re.findall(r"^\$ (until grep .* (?:trace|open)\.log; do .*)$", text, re.M)
    folder = tmp_path / "page"
    folder.mkdir()
    for name, config in re.findall(r"^```text file=(nats\.conf)\n(.*?)^```", text, re.M | re.S):
        (folder / name).write_text(config)
    with socket.socket() as other, Shell(folder, tmp_path) as shell:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        for config in folder.glob("nats.conf"):
            config.write_text(config.read_text().replace("4222", taken))
        shell.run("export ADMIN_PASSWORD=a SENSOR_PASSWORD=b")
        shell.run(start.replace("4222", taken))
        assert shell.run(wait) == "address already in use\n"
        assert "`address already in use`: another program has the port" in text


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
