"""Generate ``docs/api.md``, the table of all public names, from their docstrings.

    python tools/api_page.py [--check]

The text of a name is the first sentence of its docstring: for names of the engine that in the stubs
``_subtrie*.pyi``, so that the page does not depend on the engine in use. A constant has the text of
the ``#:`` comment above it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import subtrie
from subtrie import reference
from subtrie.audit import TABLES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"
PACKAGE = Path(subtrie.__file__).parent

HEAD = """# Python API

```python
>>> import subtrie
>>> print(subtrie.engine.__doc__.splitlines()[0])      # help(subtrie.engine) prints the whole text
Return the engine in use: its name, ``native`` or ``reference``, and the reason.
```

The public names in the groups of the commands; what is used most comes first, with the first
sentence of its docstring. `help`, and the site that `make docs` builds, have all docstrings.
`tools/api_page.py` generates this page.
"""

#: The modules by group, as the commands are grouped, each with the names that its users need first.
#: The other names follow in alphabetical order, errors last.
GROUPS = {
    "Services": {
        "subtrie.connector": "Connector run serve Request Response HTTPError Client Call Answer"
        " Event Endpoint Config",
        "subtrie.testing": "bus connector plane actor_token",
        "subtrie.short_circuit": "ShortCircuit",
        "subtrie.gencreds": "scan plan write_all write sign",
    },
    "Subjects": {
        "subtrie": "SubjectTrie Dispatcher Pattern Subject Groups Explanation Matches Batch"
        " classify check_name engine",
        "subtrie.microbus": "decode request_from_url subscription_from_route encode_request"
        " encode_subscription source_of",
        "subtrie.names": "check_name rules reserved",
    },
    "Permissions": {
        "subtrie.acl": "Permissions Deployment Decision Diff Comparison Finding Witness Delivery",
    },
    "Traffic": {
        "subtrie.audit": "audit open_run Run verdict run_difference Questions Selection",
        "subtrie.report": "read_report Report to_html to_markdown to_json",
        "subtrie.spark": "audit Audit open_audit local_session cluster_session connect_session"
        " events audit_stream decode match",
        "subtrie.wire": "read_operations Parser Op Tap",
        "subtrie.wire.log": "parse_line LogRecord",
        "subtrie.wire.capture": "read Writer",
        "subtrie.wire.monitor": "read loads Snapshot",
    },
    "For implementers": {
        "subtrie.conformance": "run Report",
        "subtrie.reference": "",
        "subtrie.reference.microbus": "",
        "subtrie.wire.conversation": "check RuleFinding",
        "subtrie.wire.streaming": "",
        "subtrie.wire.cluster": "",
    },
}

#: The command line, whose interface is not Python.
_LEFT_OUT = {"subtrie.cli"}

#: Modules for implementers, whose names the page does not list.
NOT_LISTED = {
    "subtrie.reference",
    "subtrie.reference.microbus",
    "subtrie.wire.cluster",
    "subtrie.wire.conversation",
    "subtrie.wire.streaming",
}


def public_modules() -> list[ModuleType]:
    """Import every module whose dotted name has no part that begins with an underscore."""
    names = ["subtrie"]
    names += [
        module.name
        for module in pkgutil.walk_packages(subtrie.__path__, "subtrie.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ]
    return [importlib.import_module(name) for name in names if name not in _LEFT_OUT]


def public_names(module: ModuleType) -> list[str]:
    """List the names a module exports, without its submodules: by importance, see ``GROUPS``."""
    exported: list[str] = vars(module)["__all__"]
    names = [name for name in exported if not inspect.ismodule(getattr(module, name))]
    firsts = " ".join(group.get(module.__name__, "") for group in GROUPS.values()).split()
    rank = {name: place for place, name in enumerate(firsts)}

    def place(name: str) -> tuple[int, bool, str]:
        value = getattr(module, name)
        is_error = inspect.isclass(value) and issubclass(value, Exception)
        return rank.get(name, len(rank)), is_error, name

    return sorted(names, key=place)


@cache
def _stub() -> dict[str, str]:
    """Map the names in the stub of the engine to the first sentences of their docstrings."""
    stubs = sorted(PACKAGE.glob("_subtrie*.pyi"))
    return {
        node.name: doc
        for stub in stubs
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node))
    }


_CONSTANT = re.compile(r"((?:^#: ?.*\n)+)^(\w+)\b", re.MULTILINE)


@cache
def constants(module: str) -> dict[str, str]:
    """Map the constants of a module to the ``#:`` comments above them; also those it imports."""
    text = Path(importlib.import_module(module).__file__ or "").read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            package = importlib.import_module(module).__package__ or ""
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            if node.module and any(each.name.isupper() for each in node.names):
                told = constants(origin)
                found |= {
                    each.asname or each.name: told[each.name]
                    for each in node.names
                    if each.name in told
                }
    for comment, name in _CONSTANT.findall(text):
        found[name] = " ".join(line[2:].strip() for line in comment.splitlines())
    return found


def text_of(module: ModuleType, name: str) -> str:
    """Return the first sentence about a public name of a module, empty if there is none."""
    value = getattr(module, name)
    doc = ""
    if inspect.isclass(value) or inspect.isroutine(value):
        if _is_of_engine(value):
            doc = _stub().get(name, "")
            value = getattr(reference, name, value)
        doc = doc or inspect.getdoc(value) or ""
    doc = doc or constants(module.__name__).get(name, "")
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z`])", paragraph)[0]


def _is_of_engine(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return module in ("builtins", "subtrie._subtrie") or module.startswith("subtrie.reference")


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD]
    modules = {module.__name__: module for module in public_modules()}
    shown: dict[tuple[str, int], str] = {}
    for group, names in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in names:
            lines += _lines_of(modules[name], shown)
    return "\n".join(lines)


def _lines_of(module: ModuleType, shown: dict[tuple[str, int], str]) -> list[str]:
    """Return the section of a module; ``shown`` has the names of the sections before it."""
    lines = [f"### `{module.__name__}`", "", _markdown(_first(module)), ""]
    elsewhere: dict[str, list[str]] = {}
    firsts = " ".join(group.get(module.__name__, "") for group in GROUPS.values()).split()
    rows = []
    for name in public_names(module):
        value = getattr(module, name)
        first = shown.setdefault((name, id(value)), module.__name__)
        if module.__name__ in NOT_LISTED:
            continue
        if first != module.__name__:
            elsewhere.setdefault(f"As in `{first}`: ", []).append(f"`{name}`")
        elif inspect.isfunction(value) and name in TABLES:
            elsewhere["A function for each table, as "] = ["`call_graph(events)`"]
        elif name not in firsts:
            elsewhere.setdefault("Also: ", []).append(f"`{name}`")
        else:
            rows.append(f"- `{name}`: {_markdown(text_of(module, name))}")
    if rows:
        lines += [*rows, ""]
    for text, names in elsewhere.items():
        lines += [f"{text}{', '.join(names)}.", ""]
    return lines


def _first(module: ModuleType) -> str:
    return " ".join((inspect.getdoc(module) or "").partition("\n\n")[0].split())


def _markdown(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text)


def main() -> None:
    """Write the page, or check it with ``--check``."""
    if "--check" in sys.argv:
        raise SystemExit(0 if PAGE.read_text() == page() else f"{PAGE.name} is out of date")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
