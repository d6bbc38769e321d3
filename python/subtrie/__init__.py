"""The subject system of the Microbus service bus over NATS.

Parse and validate subjects, match subscriptions, check permissions, audit traffic.
Importing this package imports nothing optional.
"""

from __future__ import annotations

from . import _engine, microbus, names, reference
from ._dispatcher import Dispatcher, HandlerSubscription
from ._engine import Batch, Engine, Matches, SubjectTrie
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
