"""The responders of earlier multicasts, so that the next one ends without waiting for a timeout."""

from __future__ import annotations

from collections import OrderedDict

from .. import microbus

_KEPT = 65_536  # subjects; bounds the memory of a caller with many URLs


class KnownResponders:
    """The responders last seen for each subject: queue names, and instances without a queue."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, frozenset[str]] = OrderedDict()

    def get(self, subject: str) -> frozenset[str]:
        """Return the expected responders of a subject; empty if unknown."""
        return self._known.get(subject, frozenset())

    def keep(self, subject: str, responders: frozenset[str]) -> None:
        """Remember the responders of a subject."""
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
