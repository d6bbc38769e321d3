"""Which replica to ask: the nearest that answers (S0-048, S0-049, A75).

For each method, host and port the caller remembers how much of its own locality it shared with
who answered, and addresses that slot next time. It narrows as nearer ones answer, and begins anew
when nobody acknowledges there.
"""

from __future__ import annotations

from collections import OrderedDict

from ..microbus import common_locality

_KEPT = 65_536

Key = tuple[str, str, str]  # method, host, port


class NearestReplicas:
    """What a caller has learnt of where its callees stand."""

    def __init__(self, locality: str) -> None:
        self.locality = locality
        self._known: OrderedDict[Key, str] = OrderedDict()

    def nearest(self, key: Key) -> str:
        """The narrowest locality in common that has answered; empty where none is known."""
        known = self._known.get(key, "")
        if known:
            self._known.move_to_end(key)
        return known

    def learn(self, key: Key, locality: str) -> None:
        """Takes note of where an answer came from; never widens."""
        known = self._known.get(key, "")
        if len(locality) <= len(known):
            return
        try:
            common = common_locality(self.locality, locality)
        except ValueError:  # a responder may write anything there
            return
        if len(common) > len(known):
            self._known[key] = common
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forget(self, key: Key) -> None:
        """Nobody acknowledged there."""
        self._known.pop(key, None)
