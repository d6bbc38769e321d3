"""Stubs of typed clients: the functions that ``@client.call(…)`` decorates."""

from __future__ import annotations

import ast

from ._abstract_values import of_kind
from ._scopes import Scope
from ._source_tree import SourceTree


def find_stubs(tree: SourceTree) -> dict[ast.AST, tuple[ast.Call, Scope]]:
    """Return each stub of a source tree with the call that decorates it, and its scope."""
    stubs: dict[ast.AST, tuple[ast.Call, Scope]] = {}
    for file_scopes in tree.all_files():
        for node, inner in file_scopes.scopes.items():
            for each in getattr(node, "decorator_list", []):
                if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Attribute):
                    continue
                outer = inner.parent or inner
                if each.func.attr == "call" and of_kind(
                    tree.resolver.of(each.func.value, outer), "Client"
                ):
                    stubs[node] = (each, outer)
    return stubs


def limited_calls(tree: SourceTree) -> dict[ast.AST, ast.AST]:
    """Return the calls ``stub.within(seconds)(…)``, each with its stub."""
    found: dict[ast.AST, ast.AST] = {}
    for file_scopes in tree.all_files():
        for site in file_scopes.sites:
            made = site.node.func if isinstance(site.node, ast.Call) else None
            within = made.func if isinstance(made, ast.Call) else None
            if isinstance(within, ast.Attribute) and within.attr == "within":
                found[site.node] = within.value
    return found
