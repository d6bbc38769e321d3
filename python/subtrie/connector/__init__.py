"""Connectors: services on the Microbus, in this process and over NATS, for asyncio.

``from subtrie.connector import Connector``. Needs the extra ``nats``: ``pip install
'subtrie[nats]'``.
"""

from ..errors import BusError
from .configuration import Config
from .connector import Connector
from .counts import Counts
from .endpoint import OWN, Endpoint
from .errors import AckTimeout, CallDepthExceeded, HTTPError, RequestTimeout
from .headers import Headers
from .ids import FixedIds, Ids, RandomIds
from .kept_spans import KeptSpans
from .message import Request, Response
from .run import run, serve
from .short_circuit import ShortCircuit
from .throttle import Throttle
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
