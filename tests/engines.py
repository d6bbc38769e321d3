"""The two engines, by name; tests run on both."""

from __future__ import annotations

import sys
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
    names = subtrie.reference.__all__
    names = [name for name in names if hasattr(engine, name) and hasattr(_engine, name)]
    now = {id(getattr(_engine, name)): name for name in names}
    for module_name, module in list(sys.modules.items()):
        if f"{module_name}.".startswith("subtrie.") and not module_name.startswith(_OWN):
            for bound, value in list(vars(module).items()):
                if id(value) in now:
                    monkeypatch.setattr(module, bound, getattr(engine, now[id(value)]))
    monkeypatch.setattr(_engine, "module", engine)
