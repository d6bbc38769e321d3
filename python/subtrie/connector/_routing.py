"""Routing to the nearest replica by locality.

For each method and URL without its query a caller remembers the longest locality prefix it shares
with a replica that responded, and addresses that prefix next time. The prefix grows as nearer
replicas respond; it is forgotten if no replica acknowledges there, and after a day.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from .. import microbus
from .._core.engine import common_locality
from . import _system

# S0-048, S0-049, A75

_KEPT = 65_536  # routes, and subjects; bounds the memory of a caller with many URLs
_EXPIRES_AFTER = 86_400.0  # seconds until a learned prefix expires

RouteKey = tuple[str, str]  # method, URL without its query


class NearestReplicas:
    """The locality prefixes that a caller has learned for the services it calls."""

    def __init__(
        self, locality: str, clock: Callable[[], float] = lambda: _system.monotonic()
    ) -> None:
        self.locality, self._clock = locality, clock
        self._known: OrderedDict[RouteKey, tuple[str, float]] = OrderedDict()

    def nearest(self, key: RouteKey) -> str:
        """Return the longest shared locality that has responded; empty if none is known."""
        known, learned = self._known.get(key, ("", 0.0))
        if known and self._clock() - learned > _EXPIRES_AFTER:
            del self._known[key]
            return ""
        if known:
            self._known.move_to_end(key)
        return known

    def learn(self, key: RouteKey, locality: str) -> None:
        """Record the locality of a response; never widens what is known."""
        known, _ = self._known.get(key, ("", 0.0))
        if len(locality) <= len(known):
            return
        common = common_locality(self.locality, locality)
        if len(common) > len(known):
            self._known[key] = common, self._clock()
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forget(self, key: RouteKey) -> None:
        """Forget a prefix at which no replica acknowledged."""
        self._known.pop(key, None)


MAX_KNOWN = 1024  # responders of one subject that are remembered
MAX_SILENT = 1024  # sources that acknowledge without a response that are remembered


class KnownResponders:
    """The responders last seen for each subject: queue names, and instances without a queue.

    Attributes:
        silent: The sources that acknowledged a multicast last and did not respond in its time.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, frozenset[str]] = OrderedDict()
        self.silent: OrderedDict[str, None] = OrderedDict()

    def note_silent(self, source: str) -> None:
        """Remember a source that acknowledged and did not respond."""
        self.silent[source] = None
        self.silent.move_to_end(source)
        if len(self.silent) > MAX_SILENT:
            self.silent.popitem(last=False)

    def get(self, subject: str) -> frozenset[str]:
        """Return the expected responders of a subject; empty if unknown."""
        return self._known.get(subject, frozenset())

    def keep(self, subject: str, responders: frozenset[str]) -> None:
        """Remember the responders of a subject, unless they are too many."""
        if len(responders) > MAX_KNOWN:
            self.drop(subject)
            return
        self._known[subject] = responders
        self._known.move_to_end(subject)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def drop(self, subject: str) -> None:
        """Forget the responders of a subject."""
        self._known.pop(subject, None)

    def drop_hosts(self, hosts: set[str]) -> None:
        """Forget the responders of hosts that have new subscriptions."""
        tokens = {microbus.flatten_host(host) for host in hosts if host}
        for subject in [s for s in self._known if s.split(".", 5)[4] in tokens]:
            del self._known[subject]
