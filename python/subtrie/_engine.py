"""Which engine answers: the native module or the reference. Set once, by ``subtrie/__init__``."""

from __future__ import annotations

from typing import Any, NamedTuple


class Engine(NamedTuple):
    """The engine in use, and why."""

    name: str  # "native" or "reference"
    reason: str


#: The module whose functions answer: ``subtrie._subtrie`` or ``subtrie.reference``.
active: Any = None
#: What ``subtrie.engine()`` returns.
report = Engine("none", "subtrie is still being imported")
