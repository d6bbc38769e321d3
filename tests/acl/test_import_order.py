"""The modules about permissions import each other without a circle, functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import subtrie.acl

ROOT = Path(subtrie.acl.__file__).parent


def imported(path: Path) -> Iterator[Path]:
    """The modules of the package that a file imports, wherever in it; not those for types alone."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        folder = path.parents[node.level - 1] / (node.module or "").replace(".", "/")
        for alias in node.names:
            # A name of a package is its submodule, else stands in its __init__.
            for name in (folder / alias.name, folder):
                files = (name.with_suffix(".py"), name / "__init__.py")
                if file := next((each for each in files if each.exists()), None):
                    if file.is_relative_to(ROOT):
                        yield file
                    break


def test_no_circle():
    graph = {path: set(imported(path)) for path in ROOT.rglob("*.py")}
    assert sum(map(len, graph.values())) > 30
    order = list(TopologicalSorter(graph).static_order())
    assert order[-1] == ROOT / "__init__.py"
