"""The ports of Microbus that have a meaning of their own."""

from __future__ import annotations

#: In a route, any port but ``DANGER``; in a request, a port like any other.  # A10, A16
ANY = 0
#: Where a URL names no port: ``http``, then every other scheme.
HTTP, HTTPS = 80, 443
#: Events: a service sends them from its own host.
EVENTS = 417
#: Endpoints for other services only, which an ingress proxy does not forward.
INTERNAL = 444
#: The trust root: subjects on this port have the token ``danger``, all others ``safe``.
DANGER = 666
#: The control plane: ping, configuration, metrics, cache.
CONTROL = 888
