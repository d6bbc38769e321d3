"""Execute the notebook under ``examples/notebook/`` and write what its cells display.

With ``--check``, compare instead. The cells need neither Jupyter nor a network.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "notebook" / "subjects.ipynb"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells, executed in order in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            value = _value("".join(cell["source"]), names, f"<cell {count}>")
            outputs = [] if value is None else [_display(value, count)]
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _value(source: str, names: dict[str, Any], place: str) -> Any:
    """Execute a cell, and return the value of its last expression."""
    body = ast.parse(source, place).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), place, "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), place, "eval"), names)


def _display(value: Any, count: int) -> dict[str, Any]:
    """Return what Jupyter shows of a value."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return {
        "data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result",
    }  # fmt: skip


def text(notebook: dict[str, Any]) -> str:
    """Return a notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    found = NOTEBOOK.read_text()
    new = text(executed(json.loads(found)))
    if "--check" in sys.argv:
        raise SystemExit(0 if new == found else f"{NOTEBOOK.name} is out of date")
    NOTEBOOK.write_text(new)
