"""Conflict markers, dead links and pages without a link to them, in the repository and planted."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_tree  # noqa: E402

PAGES = {
    "README.md": "# Home\n\n[Pages](docs/README.md), [code](src/lib.rs), [a site](https://a.b/#x)\n",
    "docs/README.md": (
        "# Pages\n\n| page |\n|---|\n| [One](one.md#two-things-e_f) |\n\n![a picture](a.svg)\n"
    ),
    "docs/one.md": (
        "# One\n\n## Two things: `e_f`\n\nTwo\n---\n\n[up](#two), [all](README.md), [f](../src)\n"
    ),
    "docs/a.svg": "<svg/>\n",
    "src/lib.rs": "// [not a link](nowhere.md)\n",
}


@pytest.fixture
def tree(tmp_path):
    """Return a function that makes a repository of files, some of them changed."""

    def made(**changed: str) -> list[str]:
        for name, text in (PAGES | changed).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        for words in (("init", "-q"), ("add", "-A")):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return list(check_tree.findings(tmp_path))

    return made


def test_this_repository_has_none():
    assert list(check_tree.findings(ROOT)) == []


def test_make_lint_looks():
    lines = (ROOT / "Makefile").read_text().partition("\ncheck-python:\n")[2].partition("\n\n")[0]
    assert "\t$(PYTHON) tools/check_tree.py" in lines.splitlines()


def test_the_map_of_the_code_and_of_the_tests_is_that_of_the_tree():
    """The tables of CONTRIBUTING name each folder of packages, crates, modules and tests."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    layers = text.partition("\n## Layers\n")[2].partition("\n## ")[0]
    tests = text.partition("\n## Where a test goes\n")[2].partition("\n## ")[0]
    listed = subprocess.run(
        ["git", "ls-files", "src", "crates", "python/subtrie", "tests"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    depth = {"src": 2, "crates": 2, "python": 3, "tests": 2}
    folders = set()
    for name in listed:
        parts = name.split("/")
        if len(parts) > depth[parts[0]]:
            folders.add("/".join(parts[: depth[parts[0]]]))
    of_tests = {name.removeprefix("tests/") for name in folders if name.startswith("tests/")}
    of_code = {name for name in folders if not name.startswith("tests/")}
    assert [name for name in sorted(of_code) if f"`{name}/`" not in layers] == []
    assert [
        n for n in sorted(of_tests) if f"`{n}/`" not in tests and f"`tests/{n}/" not in text
    ] == []
    named = {name.rstrip("/") for name in re.findall(r"`((?:src|crates|python)/[\w/]+/)`", layers)}
    assert [name for name in sorted(named) if not (ROOT / name).is_dir()] == []


def test_every_file_that_the_makefile_names_is_there():
    """`make quick` named files that had moved."""
    text = (ROOT / "Makefile").read_text()
    quick = re.search(r"^QUICK := \$\(addprefix tests/,(.*?)\)$", text, re.M | re.S)
    assert quick is not None
    names = {f"tests/{name}" for name in quick[1].replace("\\\n", " ").split()}
    names |= set(re.findall(r"(?<![\w(/])(?:tests|tools|benches|examples)/[\w./-]+\.\w+", text))
    assert len(names) > 40
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []


_PROGRAM = re.compile(r"PYTHONPATH=(\S+) \$\(PYTHON\) ((?:-m )?\S+)")


@pytest.mark.parametrize(
    ("path", "program"), sorted(set(_PROGRAM.findall((ROOT / "Makefile").read_text())))
)
def test_a_program_of_the_tests_finds_what_it_imports(path, program):
    """`make flows`, `make deployments` and `make streams` ended with ModuleNotFoundError."""
    done = subprocess.run(
        [sys.executable, *program.split(), "--help"], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_whole_tree_has_no_findings(tree):
    assert tree() == []


@pytest.mark.parametrize("name", ["docs/one.md", "src/lib.rs", "src/table.csv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_conflict_marker_in_any_text_is_found(tree, name, end):
    left, right = 7 * "<", 7 * ">"
    text = end.join(
        [PAGES.get(name, "a"), f"{left} HEAD", "a", "=======", "b", f"{right} c161da5", ""]
    )
    found = [line for line in tree(**{name: text}) if "conflict marker" in line]
    assert [line.partition(": ")[2] for line in found] == [
        f"conflict marker: {left} HEAD", f"conflict marker: {right} c161da5",
    ]  # fmt: skip
    assert found[0].startswith(f"{name}:")


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("[a](index.md)", "dead link: index.md"),
        ("[a](README.md#nothing)", "dead link: docs/README.md has no heading #nothing"),
        ("[a](#nothing)", "dead link: docs/one.md has no heading #nothing"),
        ("![a](b.svg)", "dead link: b.svg"),
        ("[a][b]\n\n[b]: ../docs/two.md", "dead link: ../docs/two.md"),
        ("| [a](/docs/README.md) |", "dead link: /docs/README.md"),
    ],
)
def test_a_dead_link_is_found(tree, link, why):
    assert tree(**{"docs/one.md": f"{PAGES['docs/one.md']}\n{link}\n"}) == [
        f"docs/one.md:10: {why}"
    ]


def test_a_link_in_code_is_not_followed(tree):
    assert (
        tree(**{"docs/one.md": PAGES["docs/one.md"] + "\n`[a](b.md)`\n\n```text\n[a](b.md)\n```\n"})
        == []
    )


def test_a_file_that_is_not_tracked_is_a_dead_link(tree):
    found = tree(
        **{
            ".gitignore": "out\n",
            "docs/one.md": PAGES["docs/one.md"] + "\n[a](out)\n",
            "docs/out": "",
        }
    )
    assert found == ["docs/one.md:10: dead link: out"]


def test_a_page_that_no_page_links_to_is_found(tree):
    """Two that link to each other are not reached either."""
    found = tree(
        **{"docs/two.md": "[a](three.md)\n", "docs/three.md": "[a](two.md), [b](one.md)\n"}
    )
    assert found == [
        f"docs/{name}.md:1: no page that README.md leads to links to this page"
        for name in ("three", "two")
    ]


def test_headings_of_one_name_have_anchors_with_numbers():
    page = check_tree.read_page("# A, b & c\n\n## A b\n\n## A b\n\n<a id='here'></a>\n")
    assert page.anchors == (
        {"a-b--c", "a-b", "a-b-1", "here"},
        {"a-b-c", "a-b", "a-b_1", "here"},
    )


def test_each_picture_is_in_the_list_of_pictures():
    """Pictures that no list named were of an earlier page of the report, and cut."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([\w*-]+\.(?:png|svg))`", text))
    pictures = [
        each.name
        for each in (ROOT / "docs" / "pictures").iterdir()
        if each.suffix in {".png", ".svg"}
    ]
    named = {each for name in pictures for each in listed if fnmatch.fnmatch(name, each)}
    assert named == listed
    unlisted = [name for name in pictures if not any(fnmatch.fnmatch(name, e) for e in listed)]
    assert unlisted == []
