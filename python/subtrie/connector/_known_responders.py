"""Who answered a multicast last time, so that the next one need not wait for nobody."""

from __future__ import annotations

from collections import OrderedDict

from .. import microbus

_KEPT = 65_536


class KnownResponders:
    """Who answered a subject last time: queues, and instances without one."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, frozenset[str]] = OrderedDict()

    def get(self, subject: str) -> frozenset[str]:
        """Whom to expect; empty where nobody is known."""
        return self._known.get(subject, frozenset())

    def keep(self, subject: str, responders: frozenset[str]) -> None:
        """Who has answered now."""
        self._known[subject] = responders
        self._known.move_to_end(subject)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def drop(self, subject: str) -> None:
        """Nobody knows any more."""
        self._known.pop(subject, None)

    def drop_hosts(self, hosts: set[str]) -> None:
        """These hosts have new subscriptions."""
        tokens = {microbus.flatten_host(host) for host in hosts if host}
        for subject in [s for s in self._known if s.split(".", 5)[4] in tokens]:
            del self._known[subject]
