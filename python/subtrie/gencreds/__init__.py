"""Least privilege for Microbus services: from what a service does to what it may, signed.

``scan`` reads what services serve, call, trigger and hear from their source; ``rules`` gives the
permissions that just suffice; ``sign`` and ``write`` make a creds file of them. Importing this
imports nothing optional.
"""

from .._nats.nkey import fresh_seed, seed_in, seed_of
from ._rules import rule, rules
from ._scan import scan
from ._service import Dynamic, Note, Raw, Service, Use
from ._sign import Creds, check_size, sign, write, write_all
from ._size import Plan, plan

__all__ = [
    "Creds", "Dynamic", "Note", "Plan", "Raw", "Service", "Use", "check_size", "fresh_seed", "plan",
    "rule", "rules", "scan", "seed_in", "seed_of", "sign", "write", "write_all",
]  # fmt: skip
