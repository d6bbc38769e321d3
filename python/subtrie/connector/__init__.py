"""Microbus services on asyncio: requests, events and endpoints, in process and over NATS.

``from subtrie.connector import Connector``. Needs the extra ``nats``: ``pip install
'subtrie[nats]'``.

Layers, from the bottom: ``_http`` (messages and their encoding), ``_transport`` (in process and
NATS), ``_client`` and ``_server`` (the two sides of a request), ``_control`` (the control plane on
port 888), ``_lifecycle`` (start and stop) and ``_connector``. ``subtrie.short_circuit`` is
independent of these, for programs that use nats-py directly.
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
