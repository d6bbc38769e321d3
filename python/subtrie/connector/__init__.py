"""Microbus services on asyncio: requests, events and endpoints, in process and over NATS.

``from subtrie.connector import Connector``. Needs the packages of the extra ``connector``.
``subtrie.short_circuit`` is independent of it, for programs that use nats-py directly.
"""

# Layers, from the bottom: messages and their encoding (_message, _codec), the transports
# (_transport, _broker), the two sides of a request (_client, _server), the control plane on port
# 888 (_control), start and stop (_lifecycle) and _connector.

from .._core.errors import BusError
from .._core.public_names import publish
from ..short_circuit import ShortCircuit
from ._answers import Answer
from ._config import Config
from ._configurator import configurator
from ._connector import Connector
from ._conversion.converter import REQUIRED
from ._endpoint import OWN, Endpoint
from ._errors import AckTimeout, CallDepthExceeded, HTTPError, RequestTimeout
from ._event import Event
from ._headers import Headers
from ._ids import FixedIds
from ._ingress import ingress
from ._logging import JSONFormatter
from ._message import Request, Response
from ._metrics import Metrics
from ._middleware import RateLimiter
from ._run import run, serve
from ._tail_sampling import TailSamplingProcessor
from ._typed import Call, Client

__all__ = [
    "OWN",
    "REQUIRED",
    "AckTimeout",
    "Answer",
    "BusError",
    "Call",
    "CallDepthExceeded",
    "Client",
    "Config",
    "Connector",
    "Endpoint",
    "Event",
    "FixedIds",
    "HTTPError",
    "Headers",
    "JSONFormatter",
    "Metrics",
    "RateLimiter",
    "Request",
    "RequestTimeout",
    "Response",
    "ShortCircuit",
    "TailSamplingProcessor",
    "configurator",
    "ingress",
    "run",
    "serve",
]

publish(globals())
