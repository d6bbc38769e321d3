"""Find what the text of the repository must not have.

``python tools/check_tree.py`` prints one line for each finding, and exits with 1 if there is any:

- a conflict marker of git in a tracked text;
- a link of a Markdown file to a file that is not tracked, or to a heading that it does not have;
- a Markdown file that cannot be reached by links from ``README.md``.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
HOME = "README.md"
SITE = "docs/"  # the pages that mkdocs builds, too

#: Pages that a forge shows by itself.
_SHOWN_BY_NAME = {".github/pull_request_template.md"}
_MARKER = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_ANCHOR = re.compile(r"""<a\s[^>]*(?:id|name)=["']([^"']+)""")


class Page(NamedTuple):
    """A Markdown file: its links with their lines, and its anchors on the forge and on the site."""

    links: list[tuple[int, str]]
    anchors: tuple[frozenset[str], frozenset[str]]


def findings(root: Path) -> Iterator[str]:
    """Yield what the tracked files of a repository must not have, as ``file:line: text``."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    )
    files = [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    for name in files:
        yield from _markers(name, (root / name).read_bytes())
    pages = {
        name: read_page((root / name).read_text(encoding="utf-8"))
        for name in files
        if name.endswith(".md")
    }
    known = {*files, *(str(folder) for name in files for folder in Path(name).parents)}
    linked: dict[str, set[str]] = {}
    for name, page in pages.items():
        linked[name] = set()
        for line, link in page.links:
            path, _, anchor = unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            target = target if path else name
            if target not in known:
                yield f"{name}:{line}: dead link: {link}"
                continue
            linked[name].add(target)
            if anchor and target in pages and not _is_anchor(anchor, name, target, pages[target]):
                yield f"{name}:{line}: dead link: {target} has no heading #{anchor}"
    reached = {HOME}
    ahead = [HOME]
    while ahead:
        for target in linked.get(ahead.pop(), ()):
            if target not in reached:
                reached.add(target)
                ahead.append(target)
    for name in sorted(pages.keys() - reached - _SHOWN_BY_NAME):
        yield f"{name}:1: no page that {HOME} leads to links to this page"


def _markers(name: str, data: bytes) -> Iterator[str]:
    if b"\0" in data[:8000]:
        return
    for found in _MARKER.finditer(data.replace(b"\r\n", b"\n")):
        line = data.count(b"\n", 0, found.start()) + 1
        yield f"{name}:{line}: conflict marker: {found[0][:60].decode(errors='replace')}"


def _is_anchor(anchor: str, source: str, target: str, page: Page) -> bool:
    forge, site = page.anchors
    on_site = source.startswith(SITE) and target.startswith(SITE)
    return anchor in forge and (anchor in site or not on_site)


def read_page(text: str) -> Page:
    """Return the links within the repository and the anchors of a Markdown file."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    links = []
    forge: list[str] = []
    site: list[str] = []
    line = 1
    for before, token in zip([None, *tokens], tokens, strict=False):
        line = token.map[0] + 1 if token.map else line
        for each in token.children or ():
            target = each.attrGet("href" if each.type == "link_open" else "src")
            if isinstance(target, str) and not re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                links.append((line, target))
        if before is not None and before.type == "heading_open":
            words = _words(token)
            _add(forge, re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"), "-")
            plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
            plain = re.sub(r"[^\w\s-]", "", plain).strip().lower()
            _add(site, re.sub(r"[-\s]+", "-", plain), "_")
    named = _ANCHOR.findall(text)
    return Page(links, (frozenset([*forge, *named]), frozenset([*site, *named])))


def _words(heading: Token) -> str:
    inline = heading.children or ()
    return "".join(each.content for each in inline if each.type in {"text", "code_inline"})


def _add(anchors: list[str], anchor: str, between: str) -> None:
    """Add the anchor of a heading; one that is there already gets a number."""
    base, number = anchor, 0
    while anchor in anchors:
        number += 1
        anchor = f"{base}{between}{number}"
    anchors.append(anchor)


def main() -> int:
    """Print the findings in this repository."""
    found = list(findings(ROOT))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
