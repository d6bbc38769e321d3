"""The names in an annotation, as of ``A | None``, ``Optional[A]``, ``Annotated[A, …]``, ``"A"``."""

from __future__ import annotations

import ast

#: Most names that are taken from one annotation.
MAX_PARTS = 60


class Annotations:
    """Finds the names in annotations. Caches parsed strings: nodes are identified by identity."""

    def __init__(self) -> None:
        self._parts: dict[ast.AST, list[ast.AST]] = {}

    def of(self, annotation: ast.AST | None) -> list[ast.AST]:
        """Return the names and attributes that an annotation consists of."""
        if annotation is None:
            return []
        if annotation in self._parts:
            return self._parts[annotation]
        todo: list[ast.AST] = [annotation]
        found: list[ast.AST] = []
        while todo and len(found) < MAX_PARTS:
            each = todo.pop(0)
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                try:
                    todo.append(ast.parse(each.value, mode="eval").body)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
            elif isinstance(each, ast.BinOp) and isinstance(each.op, ast.BitOr):
                todo += [each.left, each.right]
            elif isinstance(each, ast.Subscript):
                inner = each.slice
                name = _name_of(each.value)
                if name in ("Optional", "Union", "Annotated", "Final", "ClassVar", "Awaitable"):
                    todo += inner.elts if isinstance(inner, ast.Tuple) else [inner]
                elif name in ("AsyncIterator", "Iterator", "AsyncGenerator", "Generator"):
                    todo.append(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)
                else:
                    todo.append(each.value)
            elif isinstance(each, ast.Name | ast.Attribute):
                found.append(each)
        self._parts[annotation] = found
        return found


def _name_of(node: ast.AST) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")
