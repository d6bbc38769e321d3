"""Connectors: services on the Microbus, in this process and over NATS, for asyncio.

``from subtrie.connector import Connector``. Needs the extra ``nats``: ``pip install
'subtrie[nats]'``. From the ground up: ``http`` (messages), ``transport`` (this process, NATS),
``serving`` and ``asking`` (the two sides of a request), ``control`` (port 888), then a connector's
``life`` and the ``connector`` itself; ``short_circuit`` stands alone, for programs of nats-py.
"""

from .._errors import BusError
from ..short_circuit import ShortCircuit
from ._connector import Connector
from ._control.configuration import Config
from ._errors import AckTimeout, CallDepthExceeded, HTTPError, RequestTimeout
from ._http.codec import read_request, read_response, write_request, write_response
from ._http.headers import Headers
from ._http.message import Request, Response
from ._ids import FixedIds, Ids, RandomIds
from ._metrics import Metrics
from ._run import run, serve
from ._server.endpoint import OWN, Endpoint
from ._server.rate_limiter import RateLimiter
from ._tail_sampling import TailSamplingProcessor
from ._typed import Client, Event

__all__ = [
    "OWN",
    "AckTimeout",
    "BusError",
    "CallDepthExceeded",
    "Client",
    "Config",
    "Connector",
    "Endpoint",
    "Event",
    "FixedIds",
    "HTTPError",
    "Headers",
    "Ids",
    "Metrics",
    "RandomIds",
    "RateLimiter",
    "Request",
    "RequestTimeout",
    "Response",
    "ShortCircuit",
    "TailSamplingProcessor",
    "read_request",
    "read_response",
    "run",
    "serve",
    "write_request",
    "write_response",
]
