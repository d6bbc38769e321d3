"""The documentation site shows the methods that a connector has from its parts."""

from __future__ import annotations

from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[2]


def test_a_method_of_a_part_has_its_docstring_and_its_parameters():
    extensions = griffe.load_extensions(str(ROOT / "tools" / "griffe_examples.py"))
    paths = [ROOT / "python"]
    package = griffe.load("subtrie", search_paths=paths, extensions=extensions)
    connector = package["connector._connector.Connector"]
    for name in ("request", "publish", "watch", "startup", "shutdown", "background", "every"):
        method = connector.members[name]
        assert method.is_function, name
        assert method.docstring is not None, name
    assert "timeout" in [each.name for each in connector.members["request"].parameters]
