"""List the public names of the crate ``subtrie``, as its documentation shows them.

``python tools/rust_api.py`` writes ``docs/rust-api.txt``; with ``--check`` nothing is written, and
a difference is an error. The documentation is made first, with ``cargo doc``.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "rust-api.txt"
#: Pages of a name begin with what it is.
_KINDS = ("constant", "enum", "fn", "macro", "struct", "trait", "type")
#: Parts of a page about traits that the compiler or the standard library implements.
_NOT_OURS = ("synthetic-implementations-list", "blanket-implementations-list")


#: Links to the source, methods of traits, and what the declaration shows already.
_LEFT_OUT = {"rightside", "trait-impl", "variant", "hideme"}


class _Page(HTMLParser):
    """The declaration of a name, and the headers of its methods and traits."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._text: list[str] | None = None
        self._end = ""
        self._depth = 0  # of elements within a part that is left out
        self._skipped = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        if self._depth:
            self._depth += tag == self._skipped
        elif given.get("id") in _NOT_OURS or _LEFT_OUT & set(classes):
            self._skipped, self._depth = tag, 1
        elif self._text is None and (
            {"item-decl", "code-header"} & set(classes)
            or given.get("id", "").startswith("reexport.")
        ):
            self._text, self._end = [], tag

    def handle_endtag(self, tag: str) -> None:
        if self._depth:
            self._depth -= tag == self._skipped
        elif self._text is not None and tag == self._end:
            self.lines.append(" ".join("".join(self._text).split()))
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None and not self._depth:
            self._text.append(data)


def listed() -> str:
    """Return the list: each name with its path, its methods and traits indented."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc" / "subtrie"
    shutil.rmtree(folder, ignore_errors=True)  # pages of names that are gone
    command = ["cargo", "doc", "--locked", "--quiet", "-p", "subtrie", "--no-deps"]
    subprocess.run(command, cwd=ROOT, check=True)
    lines: list[str] = []
    for file in sorted(folder.rglob("*.html")):
        kind, _, name = file.name.removesuffix(".html").partition(".")
        page = _Page()
        page.feed(file.read_text(encoding="utf-8"))
        path = "::".join(("subtrie", *file.relative_to(folder).parts[:-1], name)).rstrip(":")
        if kind == "index":
            lines += [f"{path}: {each}" for each in page.lines if each.startswith("pub use")]
        elif name and kind in _KINDS and page.lines:
            first, *others = page.lines
            lines += [f"{path}: {first}", *sorted(f"    {each}" for each in others)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the list, or check it."""
    after = listed()
    if "--check" not in sys.argv:
        LIST.write_text(after, encoding="utf-8")
        return 0
    before = LIST.read_text(encoding="utf-8")
    if before == after:
        return 0
    names = (str(LIST.relative_to(ROOT)), "the crate")
    print(
        "\n".join(
            difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
        )
    )
    print("error: public names differ from docs/rust-api.txt; if that is meant, "
          "run python tools/rust_api.py", file=sys.stderr)  # fmt: skip
    return 1


if __name__ == "__main__":
    sys.exit(main())
