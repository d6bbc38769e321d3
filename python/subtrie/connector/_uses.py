"""The uses that a service declares: a request beyond them is refused in tests, and else logged."""

# A29

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from .. import SubjectTrie, microbus
from .._core.errors import refusal
from .._core.ports import CONTROL
from ._runtime import Runtime

logger = logging.getLogger("subtrie.connector")

#: Undeclared uses that are logged, each once: more of them are one fault.
MOST_LOGGED = 100


class Addressed(Protocol):
    """An ``Event``, or a ``Call`` with its method."""

    url: str


class Declaring(Protocol):
    """A ``Client``."""

    def declared_calls(self) -> Sequence[Any]:
        """Return the declared functions."""


Use = Addressed | Declaring | tuple[str, str]


class DeclaredUses:
    """The requests that a connector may send; all of them if ``uses`` is None.

    Attributes:
        declared: Whether there is a list, so that requests must be checked.

    Args:
        uses: ``Client``, ``Call`` and ``Event`` objects, and pairs of a method and a URL.

    Raises:
        AddressError: The method or the URL of a pair is not valid.
        TypeError: An element is none of these.
    """

    def __init__(self, uses: Iterable[Use] | None) -> None:
        self._uses = None if uses is None else tuple(uses)
        self.declared = uses is not None
        self._allowed: SubjectTrie[None] | None = None
        self._logged: set[tuple[str, ...]] = set()
        for each in self._uses or ():
            _patterns_of(each)  # a wrong one is refused here

    def open(self) -> None:
        """Read the list; the stubs of a client may be declared after the connector is made."""
        if self._uses is not None:
            self._allowed = SubjectTrie()
            for each in self._uses:
                for pattern in _patterns_of(each):
                    self._allowed.add(pattern, None)

    def check(self, subject: str, url: str, runtime: Runtime) -> None:
        """Refuse or log a request that is not declared. Every service may call the control port.

        Raises:
            BusError: It is not declared, and the deployment is ``TESTING``.
        """
        if self._allowed is None or self._allowed.has_interest(subject):
            return
        _, _, port, _, host, _, method, *_ = subject.split(".", 7)
        if port == str(CONTROL):
            return
        error = refusal("BusError", "undeclared-use", f"{method} {url}", field="url")
        if runtime.deployment == "TESTING":
            raise error
        key = port, host, method
        if key not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(key)
            logger.warning("%s: %s", runtime.host, error, extra={"service": runtime.host})


def _patterns_of(use: Use) -> list[str]:
    """Return the subjects that a use may have, on any plane and of any instance."""
    if isinstance(use, tuple) and len(use) == 2:
        pairs = [use]
    elif hasattr(use, "declared_calls"):
        pairs = [(each.method, each.url) for each in use.declared_calls()]
    elif hasattr(use, "url"):
        pairs = [(getattr(use, "method", "POST"), use.url)]
    else:
        raise TypeError(
            f"uses holds Client, Call and Event objects, and pairs (method, url); not {use!r:.80}"
        )
    found = []
    for method, url in pairs:
        tokens = microbus.subscription_from_route(
            plane="p", host="host", method=method, route=url
        ).split(".")
        tokens[0] = tokens[5] = "*"
        found.append(".".join(tokens))
    return found
