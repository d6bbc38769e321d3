"""Arguments of a query as a tree, as Go reads them: ``a[b]=1`` and ``a.b=1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .converter import Branch, Text

_DEEPEST = 64  # names within a name


def tree(query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the arguments of a query by name: texts, and objects of texts.

    Args:
        query: Each name with its values in order.

    Raises:
        ValueError: A name has too many parts.
    """
    found: dict[str, Any] = {}
    for name, values in query.items():
        text = Text(values[-1])
        if len(values) > 1:
            text.repeated = values
        if "[" not in name and "." not in name:
            found[name] = text
            continue
        parts = name.replace("]", "").replace("[", ".").split(".")
        if len(parts) > _DEEPEST:
            raise ValueError(f"the name {name[:40]!r} has more than {_DEEPEST} parts")
        inner: dict[str, Any] = found
        for part in parts[:-1]:
            below = inner.get(part)
            if type(below) is not Branch:
                below = inner[part] = Branch()
            inner = below
        inner[parts[-1]] = text
    return found


def merged(below: Any, above: Any) -> Any:
    """Return an argument that both the body and the query give: members of the query win.

    Args:
        below: The value of the body.
        above: The value of the query.
    """
    if type(above) is not Branch or not isinstance(below, dict):
        return above
    found = Branch(below)
    for name, value in above.items():
        found[name] = merged(found.get(name), value)
    return found
