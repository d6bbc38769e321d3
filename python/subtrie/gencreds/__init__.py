"""Least privilege for Microbus services: from what a service does to what it may, signed.

``Service`` says what one service serves, calls and hears; ``rules`` gives the permissions that just
suffice; ``sign`` and ``write`` make a creds file of them. Importing this imports nothing optional.
"""

from .rules import rule, rules
from .service import Service, Use
from .sign import Creds, sign, write

__all__ = ["Creds", "Service", "Use", "rule", "rules", "sign", "write"]
