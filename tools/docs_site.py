"""Pages made from other files, links out of ``docs/``, and drawings, for the documentation site.

A hook of ``mkdocs.yml``. It adds pages that are not written by hand: the command line from the
commands, the Python reference from the docstrings, the requirements from their table, and the pages
that are kept elsewhere in the repository. A link to a file that has no page becomes the file's
name. A block of Mermaid becomes the picture ``docs/pictures/mermaid-DIGEST.svg``, which
``tools/mermaid_pictures.py`` draws, so that a page needs no script; without one it stays text.
"""

from __future__ import annotations

import csv
import hashlib
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools")]

import api_page  # noqa: E402

#: Pages that are kept elsewhere in the repository: the file, and the page of the site.
KEPT_ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/shop/README.md": "examples/shop.md",
    "examples/front/README.md": "examples/front.md",
}

#: Pages for maintainers that name everything, so that a search would find them first.
LAST_IN_SEARCH = {
    "requirements.md",
    "conformance.md",
    "finding-code.md",
    "changelog.md",
    "decisions.md",
    "dependencies.md",
    "contributing.md",
    "index-design.md",
    "interoperability.md",
    "reliability.md",
}

#: What lists every name and option is found after the pages that explain them.
LISTS = ("python/", "command-line.md", "api.md", "errors.md")

#: Pages that are what a reader of these words looks for: install, queue group, docker and health.
FIRST_IN_SEARCH = {"README.md": 2.0, "subject-index.md": 3.0, "deploy.md": 4.0}

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_FILE = re.compile(r"^```(\w+) file=(\S+)$", re.MULTILINE)
#: A block of Mermaid, and its source.
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def mermaid_picture(source: str) -> str:
    """Return the name of the picture of a drawing, below ``docs/pictures``."""
    return f"mermaid-{hashlib.sha256(source.encode()).hexdigest()[:12]}.svg"


def pages_with_drawings() -> list[Path]:
    """Return the files of the pages that may hold drawings."""
    return [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / each for each in KEPT_ELSEWHERE)]


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not files of ``docs/``."""
    from mkdocs.structure.files import File

    pages = {"command-line.md": command_line(), "requirements.md": requirements()}
    for source, page in KEPT_ELSEWHERE.items():
        pages[page] = (ROOT / source).read_text(encoding="utf-8")
    pages |= python_reference()
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite links that leave ``docs/``, and replace drawings by their pictures."""
    here = page.file.src_uri
    boost = FIRST_IN_SEARCH.get(here, 0.1 if here.startswith(LISTS) else 1.0)
    page.meta.setdefault("search", {"boost": 0.1 if here in LAST_IN_SEARCH else boost})
    origin = next((source for source, target in KEPT_ELSEWHERE.items() if target == here), None)
    folder = posixpath.dirname(origin or f"docs/{here}")
    text = _FILE.sub(r'```\1 title="\2"', text)
    text = MERMAID.sub(lambda found: _drawing(found, here), text)
    return _LINK.sub(lambda found: _link(found, folder, here), text)


def _drawing(found: re.Match[str], here: str) -> str:
    picture = mermaid_picture(found[1])
    if not (ROOT / "docs" / "pictures" / picture).exists():
        return f"```text\n{found[1]}```"
    place = posixpath.relpath(f"pictures/{picture}", posixpath.dirname(here) or ".")
    return f"![drawing]({place})"


def _link(found: re.Match[str], folder: str, here: str) -> str:
    """Return a link as the site has it: to a page, or the text alone."""
    label, target, anchor = found[1], found[2], found[3] or ""
    if "://" in target or target.startswith("mailto:"):
        return found[0]
    path = posixpath.normpath(posixpath.join(folder, target))
    if path == "README.md":
        page = path  # the home of the site
    elif path in KEPT_ELSEWHERE:
        page = KEPT_ELSEWHERE[path]
    elif path.startswith("docs/"):
        page = path.removeprefix("docs/")
    else:
        return label if label.startswith("`") else f"{label} (`{path}`)"
    return f"[{label}]({posixpath.relpath(page, posixpath.dirname(here) or '.')}{anchor})"


# --- pages ----------------------------------------------------------------------------------------


def python_reference() -> dict[str, str]:
    """Return a page for each module that users import, its names by importance."""
    pages = {}
    for module in api_page.public_modules():
        if module.__name__ in api_page.NOT_LISTED:
            continue
        names = api_page.public_names(module)
        members = "".join(f"        - {name}\n" for name in names)
        pages[f"python/{module.__name__}.md"] = (
            f"# {module.__name__}\n\n::: {module.__name__}\n    options:\n      members:\n{members}"
        )
    return pages


def requirements() -> str:
    """Return the page of the requirements, from their table."""
    with (ROOT / "tests" / "requirements.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [
        "# Requirements",
        "",
        "What subtrie must do, statement by statement, and the tests that show it.",
        "",
        "| id | area | statement | evidence |",
        "|---|---|---|---|",
    ]
    for row in rows:
        evidence = "; ".join(f"`{each}`" for each in row["evidence"].split("; "))
        cells = (row["id"], row["area"], _cell(row["statement"]), _cell(evidence))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def command_line() -> str:
    """Return the page of the command line: the help of every command, as a terminal prints it."""
    from subtrie._cli.app import GROUPS, app

    lines = [
        "# Command line",
        "",
        "The texts of `subtrie COMMAND --help`. Every command that answers has `--json`,",
        "and reads standard input where it takes subjects. Exit codes: 0 yes, 1 no, 2 bad input,",
        "130 interrupted. `subtrie completion bash` prints the completion of a shell.",
        "",
    ]
    for group, commands in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in commands:
            context = click.Context(app, info_name="subtrie", **app.context_settings)
            command = app.get_command(context, name)
            if command is not None:
                lines += _help_of(command, f"subtrie {name}", context)
    return "\n".join(lines) + "\n"


def _help_of(command: click.Command, title: str, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=title.rpartition(" ")[2], parent=parent)
    context.terminal_width = context.max_content_width = 88  # the width of a block of the site
    level = "##" + "#" * title.count(" ")
    lines = [f"{level} {title}", "", "```text", command.get_help(context), "```", ""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                lines += _help_of(inner, f"{title} {name}", context)
    return lines
