"""The modules of each Rust crate beside the core import each other in one direction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_layers import cycles

CRATES = Path(__file__).resolve().parents[2] / "crates"
USE = re.compile(r"\buse ([a-z_]+(?:::\w+)*(?:::\{[^;]*\})?(?:::\*)?);", re.DOTALL)


def imports(file: Path, root: Path, exported: dict[str, str]) -> set[str]:
    """Find the top-level modules that a file imports from; a folder is one module.

    Args:
        file: A file of the crate.
        root: The folder of the sources of the crate.
        exported: The names that the crate exports, each with the module that defines it.
    """
    depth = len(file.relative_to(root).parts) - (file.name == "mod.rs")
    found = set()
    for path in USE.findall(file.read_text(encoding="utf-8")):
        head, _, group = path.partition("::{")
        parts = head.split("::")
        ups = 0
        while parts and parts[0] == "super":
            ups += 1
            parts.pop(0)
        if parts[:1] == ["crate"]:
            parts.pop(0)
        elif ups != depth or not ups:
            continue  # another crate, or the same folder
        names = parts[:1] or re.findall(r"(?:^|,)\s*(\w+)", group)
        found |= {exported.get(name, name) for name in names}
    return found


def graph(root: Path) -> dict[str, set[str]]:
    """Map each top-level module of a crate to those that it imports from."""
    top = (root / "lib.rs").read_text(encoding="utf-8")
    exported = {
        name: module
        for module, names in re.findall(r"pub use (\w+)(?:::\w+)*::(\{[^}]*\}|\w+)", top)
        for name in re.findall(r"\w+", names)
    }
    edges: dict[str, set[str]] = {}
    for file in root.rglob("*.rs"):
        module = file.relative_to(root).with_suffix("").parts[0]
        if module != "lib":
            edges.setdefault(module, set()).update(imports(file, root, exported))
    return {name: (into & set(edges)) - {name} for name, into in edges.items()}


@pytest.mark.parametrize("crate", ["columns", "nats", "python", "trace"])
def test_modules_of_a_crate_import_each_other_in_one_direction(crate: str):
    edges = graph(CRATES / crate / "src")
    assert any(edges.values())
    assert cycles(edges) == []


def test_cycles_of_rust_modules_are_found(tmp_path: Path):
    (tmp_path / "sums").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\nmod sums;\npub use a::{One, Two};\n")
    (tmp_path / "a.rs").write_text("use super::b::Three;\n")
    (tmp_path / "b.rs").write_text("use super::sums::Four;\n")
    (tmp_path / "sums" / "mod.rs").write_text("mod part;\nuse self::part::Five;\n")
    (tmp_path / "sums" / "part.rs").write_text("use super::Six;\nuse crate::{One, Two};\n")
    assert graph(tmp_path) == {"a": {"b"}, "b": {"sums"}, "sums": {"a"}}
    assert cycles(graph(tmp_path)) == [{"a", "b", "sums"}]
