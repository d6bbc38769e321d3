"""Imports point to lower layers only, and private modules stay inside their package."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "python" / "subtrie"


def modules(root: Path) -> dict[str, Path]:
    """Map the dotted name of every module below a package to its file."""
    found = {}
    for file in sorted(root.rglob("*.py")):
        parts = [root.name, *file.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(name: str, file: Path, known: dict[str, Path]) -> set[str]:
    """Find the modules that a module imports: at the top, for types only, and in functions.

    ``from . import x`` means the module ``x``, not the package that contains it.
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


def cycles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Find the sets of modules that import each other, directly or indirectly."""
    down = {name: reached(edges, name) for name in edges}
    found: list[set[str]] = []
    for name, below in down.items():
        cycle = {each for each in below if name in down[each]}
        if cycle and cycle not in found:
            found.append(cycle)
    return found


def reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """Find every module that a module imports, directly or indirectly."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for each in edges[waiting.pop()]:
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


@cache
def graph(root: Path) -> dict[str, set[str]]:
    """Map each module to the modules that it imports."""
    known = modules(root)
    return {name: imported(name, file, known) for name, file in known.items()}


def test_no_cycle_of_imports():
    assert cycles(graph(ROOT)) == []


def inside(edges: dict[str, set[str]], package: str) -> dict[str, set[str]]:
    """Reduce the imports to those within one package, with each subpackage as one node."""
    folders = {
        ".".join(path.relative_to(ROOT.parent).parts)
        for path in ROOT.joinpath(*package.split(".")[1:]).iterdir()
        if path.is_dir()
    }

    def node(name: str) -> str:
        return next((each for each in folders if f"{name}.".startswith(f"{each}.")), name)

    found: dict[str, set[str]] = {}
    for name, into in edges.items():
        if name.startswith(f"{package}."):
            below = {node(each) for each in into if each.startswith(f"{package}.")}
            found.setdefault(node(name), set()).update(below - {node(name)})
    return found


def test_no_cycle_of_subpackages():
    edges = graph(ROOT)
    packages = [name for name, file in modules(ROOT).items() if file.name == "__init__.py"]
    assert len(packages) > 20
    for package in packages:
        assert cycles(inside(edges, package)) == [], package


def looks_public(name: str) -> bool:
    """Whether no part of a dotted name begins with an underscore."""
    return not any(part.startswith("_") for part in name.split("."))


#: Packages that show, test or sign what others make, and so may import their private modules.
FRIENDS = {
    "subtrie._cli": ("subtrie",),
    "subtrie.audit": ("subtrie.acl",),
    "subtrie.conformance": ("subtrie.acl", "subtrie.connector"),
    "subtrie.gencreds": ("subtrie.acl",),
    "subtrie.report": ("subtrie.acl", "subtrie.audit"),
    "subtrie.spark": ("subtrie.audit",),
}


def is_friend(name: str, owner: str) -> bool:
    """Return whether a module may import private modules of a package."""
    return any(
        f"{name}.".startswith(f"{friend}.") and f"{owner}.".startswith(f"{of}.")
        for friend, packages in FRIENDS.items()
        for of in packages
    )


def private_imports(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Find imports of a private module or package from outside the package that contains it."""
    found = []
    for name, into in edges.items():
        for each in sorted(into):
            parts = each.split(".")
            for place, part in enumerate(parts):
                owner = ".".join(parts[:place])
                below = f"{name}.".startswith(f"{owner}.")
                if part.startswith("_") and not below and not is_friend(name, owner):
                    found.append((name, each))
    return found


def test_private_modules_are_imported_only_below_the_package_that_contains_them():
    assert private_imports(graph(ROOT)) == []


def test_an_import_of_a_private_module_from_outside_is_found():
    edges = {
        "p.a._x": set(),
        "p._y": set(),
        "p.a.b": {"p.a._x", "p._y"},
        "p.c": {"p.a._x", "p._y"},
    }
    assert private_imports(edges) == [("p.c", "p.a._x")]


def test_few_modules_look_public():
    public = sorted(name for name in modules(ROOT) if looks_public(name))
    assert len(public) <= 60, public


def test_cycles_are_found_in_functions_and_in_imports_for_types(tmp_path):
    package = tmp_path / "shop"
    (package / "stock").mkdir(parents=True)
    (package / "__init__.py").write_text("from .stock import items\n")
    (package / "stock" / "__init__.py").write_text("")
    (package / "stock" / "items.py").write_text("def f():\n    from ..orders import total\n")
    (package / "orders.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .stock.items import f\n"
    )
    assert cycles(graph(package)) == [{"shop.orders", "shop.stock.items"}]


def test_no_layer_below_the_connector_imports_it():
    """Only the command line and the packages that run services import the connector."""
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


def test_the_audit_does_not_import_spark():
    """It runs where no pyspark is installed."""
    imports = {name: into for name, into in graph(ROOT).items() if name.startswith("subtrie.audit")}
    assert {
        name for name, into in imports.items() if any("subtrie.spark" in each for each in into)
    } == set()
    texts = {file for file in (ROOT / "audit").rglob("*.py") if "pyspark" in file.read_text()}
    assert texts == set()


def test_no_file_of_the_product_has_more_than_450_lines():
    """The page for contributors says so; two files had more."""
    repository = ROOT.parents[1]
    patterns = ("python/subtrie/**/*.py", "src/**/*.rs", "crates/*/src/**/*.rs", "tools/*.py")
    files = [file for pattern in patterns for file in repository.glob(pattern)]
    long = {
        str(file.relative_to(repository)): lines
        for file in files
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > 450
    }
    assert long == {}
