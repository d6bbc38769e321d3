"""Source trees for the tests; brokers and operators are those of ``tests/acl``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "acl"))

from operators import Operator
from source_trees import HEAD

from subtrie.gencreds import Service, scan

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes a source tree: file names to texts. Gives its folder."""

    def write(files: dict[str, str] | None = None, **modules: str) -> Path:
        folder = tmp_path / "source"
        folder.mkdir(exist_ok=True)
        for name, text in {**(files or {}), **{f"{k}.py": v for k, v in modules.items()}}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return folder

    return write


@pytest.fixture
def only(tree: Tree) -> Callable[[str], Service]:
    """The one service of a source of one file, which begins as below."""

    def read(text: str) -> Service:
        services = scan(tree({"service.py": HEAD + textwrap.dedent(text)}))
        assert [each.host for each in services] == ["orders.shop"]
        return services[0]

    return read


@pytest.fixture(scope="module")
def operator() -> Operator:
    """An operator with an account, whose keys sign creds."""
    return Operator()


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of the test."""
    monkeypatch.chdir(tmp_path)
