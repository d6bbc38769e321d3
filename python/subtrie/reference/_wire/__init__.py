"""The wire in plain Python: bytes of a NATS connection become operations."""

from .op import Op
from .parser import Parser

__all__ = ["Op", "Parser"]
