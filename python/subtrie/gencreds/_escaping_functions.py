"""Functions that are stored or passed on, so that a call of them is not seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ._source_tree import SourceTree

_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (*_DEFINED, ast.Lambda)


def escaping_functions(tree: SourceTree) -> frozenset[str]:
    """Return the names of functions and classes that are read other than to call them.

    A name that a function or its module binds as a variable is that variable. An attribute is a
    method, or a function of an imported module.
    """
    escaping: set[str] = set()
    aliases: list[ast.alias] = []
    attributes: set[str] = set()
    methods: set[str] = set()
    for file_scopes in tree.all_files():
        module = file_scopes.module.node
        reads = _Reads(module)
        escaping |= reads.names
        attributes |= reads.attributes
        aliases += reads.aliases
        methods |= reads.methods
    escaping |= attributes & methods
    escaping |= {each.name.rpartition(".")[2] for each in aliases if each.asname in escaping}
    return frozenset(escaping)


class _Reads:
    """The names and attributes that a module reads and does not call."""

    def __init__(self, module: ast.AST) -> None:
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.methods: set[str] = set()
        self.aliases: list[ast.alias] = []
        imported: set[str] = set()
        defined: set[str] = set()
        for node in ast.walk(module):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported |= {(each.asname or each.name).partition(".")[0] for each in node.names}
                self.aliases += [each for each in node.names if each.asname is not None]
            elif isinstance(node, ast.ClassDef):
                self.methods |= {each.name for each in node.body if isinstance(each, _DEFINED)}
            elif isinstance(node, _DEFINED):
                defined.add(node.name)
        self._imported = imported
        self._read(module, frozenset(_stored(module) - imported - defined))

    def _read(self, module: ast.AST, variables: frozenset[str]) -> None:
        """Collect what is read; a name among the variables is none of a function."""
        todo: list[tuple[ast.AST, frozenset[str]]] = [(module, variables)]
        while todo:
            node, bound = todo.pop()
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load) and node.id not in bound:
                    self.names.add(node.id)
                continue
            if isinstance(node, ast.Attribute):
                self._attribute(node)
            inner = bound
            if isinstance(node, _FUNCTIONS):
                inner = bound | _given(node)
            for each in _evaluated(node):
                todo.append((each, inner))

    def _attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            self.attributes.add(node.attr)
            if isinstance(node.value, ast.Name) and node.value.id in self._imported:
                self.names.add(node.attr)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node except annotations and the name or attribute that it calls."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node.func.value
    elif isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
        yield node.func
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (field == "func" and isinstance(node, ast.Call)):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield each


def _given(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the parameters and variables of a function."""
    given = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    body = node.body if isinstance(node.body, list) else [node.body]
    return given.union(*(_stored(each) for each in body))


def _stored(node: ast.AST) -> set[str]:
    """Return the names that are assigned in a scope, inner functions aside."""
    names = (each for each in _own(node) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope without those of functions inside."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        if not isinstance(each, _FUNCTIONS):
            todo.extend(ast.iter_child_nodes(each))
