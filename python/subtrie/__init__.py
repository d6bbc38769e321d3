"""The subject system of the Microbus service bus over NATS.

Four questions: what is this subject, who gets it, who may send or hear it, what really happened.
Importing this package imports nothing optional.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import TYPE_CHECKING

from . import _engine, microbus, names, reference
from ._engine import Engine
from ._errors import (
    AddressError,
    BusError,
    HostnameCollision,
    InvalidName,
    PatternError,
    PermissionsError,
    SubjectError,
    SubtrieError,
    UnheardPort,
    WireError,
)
from ._subject import Pattern, Subject
from ._subscription import Explanation, Groups, NearMiss, Subscription, TrieStats
from .microbus import classify
from .names import NameReport, check_name


def _choose() -> None:
    """Takes the native engine unless ``SUBTRIE_ENGINE=reference`` or no extension fits."""
    wanted = os.environ.get("SUBTRIE_ENGINE", "")
    if wanted not in ("", "native", "reference"):
        raise ValueError(f"SUBTRIE_ENGINE must be 'native' or 'reference', not {wanted!r}")
    if wanted == "reference":
        _engine.active = reference
        _engine.report = Engine("reference", "SUBTRIE_ENGINE=reference")
        return
    try:
        native = importlib.import_module("._subtrie", __name__)
    except ImportError as error:
        if wanted == "native":
            raise
        absent = isinstance(error, ModuleNotFoundError) and error.name == f"{__name__}._subtrie"
        why = "it is not part of this installation" if absent else str(error)
        _engine.active = reference
        _engine.report = Engine("reference", f"the native extension cannot be imported: {why}")
        warnings.warn(
            f"subtrie uses its pure-Python reference engine, for the native extension cannot be "
            f"imported: {why}",
            RuntimeWarning,
            stacklevel=3,
        )
    else:
        _engine.active = native
        why = "SUBTRIE_ENGINE=native" if wanted else "the extension fits this interpreter"
        _engine.report = Engine("native", why)


_choose()

if TYPE_CHECKING:
    from ._subtrie import Batch, Matches, SubjectTrie
else:
    #: The classes of the engine in use.
    Batch = _engine.active.Batch
    Matches = _engine.active.Matches
    SubjectTrie = _engine.active.SubjectTrie

# The shared dispatcher is made on import, so the engine must be chosen first.
from ._dispatcher import Dispatcher, HandlerSubscription  # noqa: E402


def __getattr__(name: str) -> str:
    """``__version__``, read when it is asked for: the reading costs more than all the rest."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("subtrie")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"


def engine() -> Engine:
    """The engine in use (``.name``: ``native`` or ``reference``) and why (``.reason``)."""
    return _engine.report


__all__ = [
    "AddressError",
    "Batch",
    "BusError",
    "Dispatcher",
    "Engine",
    "Explanation",
    "Groups",
    "HandlerSubscription",
    "HostnameCollision",
    "InvalidName",
    "Matches",
    "NameReport",
    "NearMiss",
    "Pattern",
    "PatternError",
    "PermissionsError",
    "Subject",
    "SubjectError",
    "SubjectTrie",
    "Subscription",
    "SubtrieError",
    "TrieStats",
    "UnheardPort",
    "WireError",
    "check_name",
    "classify",
    "engine",
    "microbus",
    "names",
    "reference",
]
