"""Make griffe read docstrings for the documentation site as they are written.

They have sections named ``Example:``; griffe knows the plural only, and takes the singular for a
remark in Markdown. Special methods are part of Python and have no entries. A method that an object
has from one of its parts (``PartMethod``) is shown as that method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

_SINGULAR = re.compile(r"^([ \t]*)Example:$", re.MULTILINE)


_PART_METHOD = re.compile(r"PartMethod\('\w+', (\w+)\.(\w+)\)")


def _modules(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a module and all below it."""
    yield module
    for each in module.modules.values():
        if not each.is_alias:
            yield from _modules(each)


def _copied(attribute: griffe.Attribute, method: griffe.Function) -> griffe.Function:
    """Return a method in the place of an attribute."""
    return griffe.Function(
        attribute.name,
        parameters=method.parameters,
        returns=method.returns,
        docstring=method.docstring,
        lineno=attribute.lineno,
    )


class Examples(griffe.Extension):
    """Renames the sections, removes special methods, and shows the methods of parts."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace the methods of parts, when a package was read."""
        for module in _modules(pkg):
            for whole in module.classes.values():
                if whole.is_alias:
                    continue
                for name, attribute in list(whole.attributes.items()):
                    found = _PART_METHOD.fullmatch(str(attribute.value))
                    if found:
                        part, method = found.groups()
                        path = module.resolve(part).removeprefix(f"{pkg.path}.")
                        whole.set_member(name, _copied(attribute, pkg[f"{path}.{method}"]))

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one object."""
        for name in [each for each in obj.members if each.startswith("__")]:
            if name != "__init__":
                obj.del_member(name)
        if obj.docstring is not None:
            obj.docstring.value = _SINGULAR.sub(r"\1Examples:", obj.docstring.value)
