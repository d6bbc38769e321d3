"""Which replica to ask: the nearest that answers (S0-048, S0-049, A75).

For each method, host and port the caller remembers how much of its own locality it shared with
who answered, and addresses that slot next time. It narrows as nearer ones answer, and begins anew
when nobody acknowledges there, and after a day.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from ..microbus import common_locality

_KEPT = 65_536
_LASTS = 86_400.0  # seconds that what was learnt is believed

Key = tuple[str, str, str]  # method, host, port


def has_slot(host: str) -> bool:
    """Whether the caller has written an instance or a locality before the host, in any case."""
    return host[:4].lower().startswith(("id-", "loc-"))


class NearestReplicas:
    """What a caller has learnt of where its callees stand."""

    def __init__(self, locality: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.locality, self._clock = locality, clock
        self._known: OrderedDict[Key, tuple[str, float]] = OrderedDict()

    def nearest(self, key: Key) -> str:
        """The narrowest locality in common that has answered; empty where none is known."""
        known, learnt = self._known.get(key, ("", 0.0))
        if known and self._clock() - learnt > _LASTS:
            del self._known[key]
            return ""
        if known:
            self._known.move_to_end(key)
        return known

    def learn(self, key: Key, locality: str) -> None:
        """Takes note of where an answer came from; never widens."""
        known, _ = self._known.get(key, ("", 0.0))
        if len(locality) <= len(known):
            return
        try:
            common = common_locality(self.locality, locality)
        except ValueError:  # a responder may write anything there
            return
        if len(common) > len(known):
            self._known[key] = common, self._clock()
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forget(self, key: Key) -> None:
        """Nobody acknowledged there."""
        self._known.pop(key, None)
