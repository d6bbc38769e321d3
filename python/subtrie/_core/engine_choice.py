"""The choice of the engine, made once, when the package is imported."""

from __future__ import annotations

import importlib
import os
import warnings
from types import ModuleType

from .engine import Engine, bind


def _choose() -> tuple[ModuleType, Engine]:
    """Return the native extension unless the environment or its absence decides otherwise."""
    wanted = os.environ.get("SUBTRIE_ENGINE", "")
    if wanted not in ("", "native", "reference", "both"):
        raise ValueError(f"SUBTRIE_ENGINE must be 'native', 'reference' or 'both', not {wanted!r}")
    if wanted == "reference":
        return _reference(), Engine("reference", "SUBTRIE_ENGINE=reference")
    if wanted == "both":
        both = importlib.import_module(".both_engines", __package__)
        return both, Engine("both", "SUBTRIE_ENGINE=both")
    try:
        native = importlib.import_module("subtrie._subtrie")
    except ImportError as error:
        if wanted == "native":
            raise
        absent = isinstance(error, ModuleNotFoundError) and error.name == "subtrie._subtrie"
        why = "it is not part of this installation" if absent else str(error)
        warnings.warn(
            f"subtrie uses its pure-Python reference engine: the native extension cannot be "
            f"imported: {why}",
            RuntimeWarning,
            stacklevel=4,  # _choose, this module, subtrie, the module that imports subtrie
        )
        report = Engine("reference", f"the native extension cannot be imported: {why}")
        return _reference(), report
    why = "SUBTRIE_ENGINE=native" if wanted else "the extension fits this interpreter"
    return native, Engine("native", why)


def _reference() -> ModuleType:
    # Imported only if it is needed: it takes as long as the rest of the package.
    return importlib.import_module("subtrie.reference")


bind(*_choose())
