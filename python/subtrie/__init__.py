"""The subject system of the Microbus service bus over NATS.

It parses and validates subjects, matches subscriptions, checks permissions and audits traffic.
Importing this package imports no optional dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import engine as _engine
from ._core import engine_choice as _engine_choice  # noqa: F401 - binds the engine
from ._core.engine import Batch, Engine, Matches, SubjectTrie, Subscription, classify
from ._core.errors import (
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
from ._core.public_names import publish
from ._core.subject import Pattern, Subject
from ._core.subscription import Groups, TrieStats

if TYPE_CHECKING:
    from . import microbus, names, reference
    from ._core.dispatcher import Dispatcher
    from ._core.explanation import Explanation
    from .names import NameReport, check_name

    __version__: str


# Imported when first used: most programs need one of them or none.
_SUBMODULES = frozenset(
    (
        "acl",
        "audit",
        "conformance",
        "connector",
        "gencreds",
        "microbus",
        "names",
        "reference",
        "report",
        "short_circuit",
        "spark",
        "testing",
        "wire",
    )
)


# The same for names whose modules load dataclasses or inspect.
_NAMES = {
    "Dispatcher": "_core.dispatcher",
    "Explanation": "_core.explanation",
    "NameReport": "names",
    "check_name": "names",
}


def __getattr__(name: str) -> Any:
    """Import a public module or name, or read ``__version__``, which is slow, once."""
    if name in _SUBMODULES or name in _NAMES:
        from importlib import import_module

        module = import_module(f".{_NAMES.get(name, name)}", __name__)
        found = module if name in _SUBMODULES else getattr(module, name)
        globals()[name] = found
        return found
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("subtrie")
    except PackageNotFoundError:  # a source tree that was never installed
        found = "0+unknown"
    globals()[name] = found
    return found


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
    "HostnameCollision",
    "InvalidInput",
    "InvalidName",
    "Matches",
    "NameReport",
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

publish(globals())
