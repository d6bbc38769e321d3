"""The parser of the NATS protocol in plain Python."""

from .op import Op
from .parser import Parser

__all__ = ["Op", "Parser"]
