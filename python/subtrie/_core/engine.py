"""The names of the engine in use: the native extension, or the reference in plain Python.

``engine_choice`` makes the choice and binds the names, once, before any other module is imported;
a type checker sees them as ``_subtrie.pyi`` declares them. Nothing is imported here, because both
engines create ``Subject``, ``Subscription`` and the addresses, and these classes call the engine:
they import this module and look a name up when they are called.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple


class Engine(NamedTuple):
    """The engine in use, and why."""

    name: str  # "native", "reference" or "both"
    reason: str


#: The module whose functions answer: ``subtrie._subtrie``, ``subtrie.reference``, or the one that
#: asks both.
module: ModuleType

#: What ``subtrie.engine()`` returns.
report: Engine


def bind(engine: ModuleType, why: Engine) -> None:
    """Make the names of this module those of an engine."""
    names = {name: getattr(engine, name) for name in engine.__all__}
    globals().update(names, module=engine, report=why)


if TYPE_CHECKING:
    from .._subtrie import *  # noqa: F403 - each engine lists its names; they stand in no list here
