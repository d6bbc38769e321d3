"""The documentation site in a real browser: its layout on three screens, and its search."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "report"))

from browser import SCREENS, Browser  # noqa: E402

PAGES = ["index", "command-line", "api", "python/subtrie.connector", "audit", "report"]
#: What a reader types, and the page that answers.
FIRST = {
    "install": "subtrie",
    "wildcard": "Subjects and Microbus addresses",
    "queue group": "I want the index",
    "docker": "Deploy",
    "health": "Deploy",
    "openapi": "Connectors",
}
_SEARCH = """
const field = document.querySelector(".md-search__input");
document.querySelector("[data-md-toggle=search]").checked = true;
field.focus();
field.value = arguments[0];
for (const kind of ["keyup", "input"]) field.dispatchEvent(new Event(kind, {bubbles: true}));
"""
_FIRST = "return document.querySelector('.md-search-result__item h1, .md-search-result__item h2')"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, built and served on loopback."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("needs the packages of make docs")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder], cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True,
    )  # fmt: skip
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if None in found:
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    with Browser(*map(str, found), tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_every_screen_in_both_schemes(site: str, browser: Browser, page: str) -> None:
    for dark in (False, True):
        browser.resize("wide", dark=dark)
        browser._driver.get(f"{site}/{page}.html")
        for screen in SCREENS:
            browser.resize(screen, dark=dark)
            root = "document.documentElement"
            wide, width = browser.run(f"return [{root}.scrollWidth, {root}.clientWidth]")
            assert wide <= width, (screen, dark)
            assert browser.run("return innerWidth") == SCREENS[screen][0]
        scheme = browser.run("return document.body.dataset.mdColorScheme")
        assert scheme == ("slate" if dark else "default")
        assert browser.console() == []


@pytest.mark.parametrize("word", FIRST)
def test_a_search_finds_the_page_that_answers_first(site: str, browser: Browser, word: str) -> None:
    """Requirements, the map of the code and lists of names came first; docker had no result."""
    browser.resize("laptop")
    browser._driver.get(f"{site}/index.html")
    browser.run(_SEARCH, word)
    browser.wait(_FIRST)
    assert browser.run(_FIRST + ".textContent") == FIRST[word]
