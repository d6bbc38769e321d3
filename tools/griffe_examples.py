"""Make griffe read docstrings for the documentation site as they are written.

They have sections named ``Example:``; griffe knows the plural only, and takes the singular for a
remark in Markdown. Special methods are part of Python and have no entries.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_SINGULAR = re.compile(r"^([ \t]*)Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Renames the sections, and removes special methods, when an object was read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one object."""
        for name in [each for each in obj.members if each.startswith("__")]:
            if name != "__init__":
                obj.del_member(name)
        if obj.docstring is not None:
            obj.docstring.value = _SINGULAR.sub(r"\1Examples:", obj.docstring.value)
