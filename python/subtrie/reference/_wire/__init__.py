"""The parser of the NATS protocol in plain Python."""

from .op import Op
from .parser import Parser
from .reader import DeliveryReader

__all__ = ["DeliveryReader", "Op", "Parser"]
