"""The two engines, by name; tests run on both."""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType

import pytest

import subtrie._subtrie
import subtrie.reference
from subtrie._core import engine as _engine

ENGINES: dict[str, ModuleType] = {
    "native": subtrie._subtrie,
    "reference": subtrie.reference,
}


#: The modules whose names belong to one engine.
_OWN = ("subtrie._subtrie", "subtrie.reference")


def use_engine(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebind every name that a module of ``subtrie`` took from the engine in use.

    The choice of a program is made once, at import; only a test that compares engines in one
    process changes it, and one thread at a time.
    """
    if engine is _engine.module:
        return
    for module, bound, name in _taken(len(sys.modules)):
        if hasattr(engine, name):
            monkeypatch.setattr(module, bound, getattr(engine, name))
    monkeypatch.setattr(_engine, "module", engine)


@cache
def _taken(modules: int) -> list[tuple[ModuleType, str, str]]:
    """Return where names of the engine in use are bound, as long as no module is imported."""
    names = [name for name in subtrie.reference.__all__ if hasattr(_engine, name)]
    now = {id(getattr(_engine, name)): name for name in names}
    return [
        (module, bound, now[id(value)])
        for module_name, module in list(sys.modules.items())
        if f"{module_name}.".startswith("subtrie.") and not module_name.startswith(_OWN)
        for bound, value in list(vars(module).items())
        if id(value) in now
    ]
