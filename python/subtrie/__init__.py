"""The subject system of the Microbus service bus over NATS.

It parses and validates subjects, matches subscriptions, checks permissions and audits traffic.
Importing this package imports no optional dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _engine, _engine_choice, microbus, names  # noqa: F401 - binds the engine
from ._dispatcher import Dispatcher, HandlerSubscription
from ._engine import Batch, Engine, Matches, SubjectTrie, Subscription
from ._errors import (
    AddressError,
    BusError,
    HostnameCollision,
    InvalidInput,
    InvalidName,
    PatternError,
    PermissionsError,
    SubjectError,
    SubtrieError,
    UnheardPort,
    WireError,
)
from ._subject import Pattern, Subject
from ._subscription import Explanation, Groups, NearMiss, TrieStats
from .microbus import classify
from .names import NameReport, check_name

if TYPE_CHECKING:
    from . import reference

    __version__: str


# Imported when first used: most programs need one of them or none.
_SUBMODULES = frozenset(
    (
        "acl",
        "conformance",
        "connector",
        "gencreds",
        "reference",
        "short_circuit",
        "spark",
        "testing",
        "wire",
    )
)


def __getattr__(name: str) -> Any:
    """Import a public module, or return ``__version__``, whose reading is slow."""
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("subtrie")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*__all__, *_SUBMODULES, "__version__"})


def engine() -> Engine:
    """Return the engine in use: its name, ``native`` or ``reference``, and the reason."""
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
    "InvalidInput",
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
