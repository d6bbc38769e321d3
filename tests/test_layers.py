"""Imports only point down: no circle of modules, not even one that only a type checker walks."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "python" / "subtrie"


def modules(root: Path) -> dict[str, Path]:
    """Every module below a package, by its dotted name."""
    found = {}
    for file in sorted(root.rglob("*.py")):
        parts = [root.name, *file.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(name: str, file: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a module imports, wherever in it: at the top, for types only, in functions.

    ``from . import x`` means the module ``x``, not the package it lies in.
    """
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, node.module] if node.module else parts)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in known else base)
    return {each for each in found if each in known and each != name}


def circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules that all import each other, directly or not."""
    down = {name: reached(edges, name) for name in edges}
    found: list[set[str]] = []
    for name, below in down.items():
        circle = {each for each in below if name in down[each]}
        if circle and circle not in found:
            found.append(circle)
    return found


def reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """Everything that a module imports, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for each in edges[waiting.pop()]:
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def graph(root: Path) -> dict[str, set[str]]:
    """Which module imports which."""
    known = modules(root)
    return {name: imported(name, file, known) for name, file in known.items()}


def test_no_circle_of_imports():
    assert circles(graph(ROOT)) == []


def rooms(edges: dict[str, set[str]], floor: str) -> dict[str, set[str]]:
    """The same within one package, each folder in it as one, each file beside them as one."""
    folders = {
        ".".join(path.relative_to(ROOT.parent).parts)
        for path in ROOT.joinpath(*floor.split(".")[1:]).iterdir()
        if path.is_dir()
    }

    def room(name: str) -> str:
        return next((each for each in folders if f"{name}.".startswith(f"{each}.")), name)

    found: dict[str, set[str]] = {}
    for name, into in edges.items():
        if name.startswith(f"{floor}."):
            below = {room(each) for each in into if each.startswith(f"{floor}.")}
            found.setdefault(room(name), set()).update(below - {room(name)})
    return found


def test_no_circle_of_rooms():
    edges = graph(ROOT)
    for floor in ("subtrie.connector", "subtrie.acl", "subtrie.wire", "subtrie.reference"):
        assert circles(rooms(edges, floor)) == [], floor


def looks_public(name: str) -> bool:
    """Whether no part of a dotted name begins with an underscore."""
    return not any(part.startswith("_") for part in name.split("."))


def trespasses(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Imports of a private module or package from outside the package that contains it."""
    found = []
    for name, into in edges.items():
        for each in sorted(into):
            parts = each.split(".")
            for place, part in enumerate(parts):
                owner = ".".join(parts[:place])
                if part.startswith("_") and not f"{name}.".startswith(f"{owner}."):
                    found.append((name, each))
    return found


def test_private_modules_are_imported_only_below_the_package_that_contains_them():
    assert trespasses(graph(ROOT)) == []


def test_an_import_of_a_private_module_from_outside_is_found():
    edges = {
        "p.a._x": set(),
        "p._y": set(),
        "p.a.b": {"p.a._x", "p._y"},
        "p.c": {"p.a._x", "p._y"},
    }
    assert trespasses(edges) == [("p.c", "p.a._x")]


def test_few_modules_look_public():
    public = sorted(name for name in modules(ROOT) if looks_public(name))
    assert len(public) <= 60, public


def test_circles_are_found_wherever_the_imports_stand(tmp_path):
    package = tmp_path / "house"
    (package / "room").mkdir(parents=True)
    (package / "__init__.py").write_text("from .room import door\n")
    (package / "room" / "__init__.py").write_text("")
    (package / "room" / "door.py").write_text("def f():\n    from ..hall import lamp\n")
    (package / "hall.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .room.door import f\n"
    )
    assert circles(graph(package)) == [{"house.hall", "house.room.door"}]


def test_the_connector_stands_on_floors_below_it():
    """Nothing below imports the connector; who tests with it, and the command line, may."""
    edges = graph(ROOT)
    above = (
        "subtrie.connector",
        "subtrie.testing",
        "subtrie.conformance",
        "subtrie._cli",
    )
    assert {
        name
        for name, into in edges.items()
        if not name.startswith(above) and any(each.startswith("subtrie.connector") for each in into)
    } == set()
