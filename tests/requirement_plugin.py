"""A pytest plugin that writes which requirements the collected tests carry.

``python -m pytest --collect-only -p requirement_plugin --requirements-to FILE`` writes a JSON list
of objects with the test's node id, its requirements and whether it may be skipped.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest

_SKIPPING = {"importorskip", "skip"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file to write."""
    parser.addoption("--requirements-to", metavar="FILE", help="write requirements as JSON")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the requirements of all collected tests."""
    path = session.config.getoption("--requirements-to")
    if path is None:
        return
    tests = [
        {
            "test": item.nodeid,
            "requirements": sorted(
                {name for mark in item.iter_markers("requirement") for name in mark.args}
            ),
            "may_skip": may_skip(item),
        }
        for item in session.items
    ]
    Path(path).write_text(json.dumps(tests), encoding="utf-8")


def may_skip(item: pytest.Item) -> bool:
    """Whether a test, a fixture it uses or its module skips on some machine."""
    if any(item.iter_markers("skipif")) or any(item.iter_markers("skip")):
        return True
    if not isinstance(item, pytest.Function):
        return False
    definitions = item._fixtureinfo.name2fixturedefs.values()
    fixtures = [definition.func for each in definitions for definition in each]
    return _module_skips(str(item.path)) or any(
        _function_skips(function) for function in (item.obj, *fixtures)
    )


@cache
def _module_skips(path: str) -> bool:
    """Whether a module skips its tests at import, with ``importorskip`` or ``skip``."""
    module = ast.parse(Path(path).read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.Attribute) and node.attr in _SKIPPING
        for statement in module.body
        if isinstance(statement, ast.Expr | ast.Assign)
        for node in ast.walk(statement)
    )


def _function_skips(function: object) -> bool:
    """Whether a function of the tests, or one of the tests that it calls, skips."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    return isinstance(function, FunctionType) and _skips(function, frozenset())


def _skips(function: FunctionType, above: frozenset[FunctionType]) -> bool:
    if function in above:
        return False
    names = _names(function.__code__)
    if "pytest" in names and names & _SKIPPING:
        return True
    called = (function.__globals__.get(name) for name in names)
    return any(
        _skips(each, above | {function})
        for each in called
        if isinstance(each, FunctionType) and "/tests/" in each.__code__.co_filename
    )


def _names(code: CodeType) -> set[str]:
    """The names that a function's code uses, those of inner functions included."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))
