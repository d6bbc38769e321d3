"""Least privilege for Microbus services: from what a service does to what it may, signed.

``scan`` reads what services serve, call, trigger and hear from their source; ``rules`` gives the
permissions that just suffice; ``sign`` and ``write`` make a creds file of them. Importing this
imports nothing optional.
"""

from .rules import rule, rules
from .scan import scan
from .service import Dynamic, Note, Raw, Service, Use
from .sign import Creds, sign, write
from .size import Plan, plan

__all__ = [
    "Creds", "Dynamic", "Note", "Plan", "Raw", "Service", "Use", "plan", "rule", "rules", "scan",
    "sign", "write",
]  # fmt: skip
