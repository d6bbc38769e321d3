"""Connectors: services on the Microbus, in this process and over NATS, for asyncio.

``from subtrie.connector import Connector``. Needs the extra ``nats``: ``pip install
'subtrie[nats]'``. From the ground up: ``http`` (messages), ``transport`` (this process, NATS),
``serving`` and ``asking`` (the two sides of a request), ``control`` (port 888), then a connector's
``life`` and the ``connector`` itself; ``short_circuit`` stands alone, for programs of nats-py.
"""

from ..errors import BusError
from .connector import Connector
from .control.configuration import Config
from .counts import Counts
from .errors import AckTimeout, CallDepthExceeded, HTTPError, RequestTimeout
from .http.headers import Headers
from .http.message import Request, Response
from .ids import FixedIds, Ids, RandomIds
from .kept_spans import KeptSpans
from .run import run, serve
from .serving.endpoint import OWN, Endpoint
from .serving.throttle import Throttle
from .short_circuit import ShortCircuit
from .typed import Client, Event

__all__ = [
    "OWN",
    "AckTimeout",
    "BusError",
    "CallDepthExceeded",
    "Client",
    "Config",
    "Connector",
    "Counts",
    "Endpoint",
    "Event",
    "FixedIds",
    "HTTPError",
    "Headers",
    "Ids",
    "KeptSpans",
    "RandomIds",
    "Request",
    "RequestTimeout",
    "Response",
    "ShortCircuit",
    "Throttle",
    "run",
    "serve",
]
