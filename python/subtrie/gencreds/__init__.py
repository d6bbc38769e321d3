"""Least-privilege permissions for Microbus services, derived from their source and signed.

``scan`` finds what services serve, call, trigger and subscribe to; ``rules`` gives the permissions
that just suffice; ``sign`` and ``write`` make a creds file of them. Importing this package imports
nothing optional.
"""

from .._nats.nkey import fresh_seed, seed_in, seed_of
from ._rules import rule, rules
from ._scan import scan
from ._service import EndpointUse, Note, RawSubject, Service, UnresolvedCall
from ._sign import Creds, check_size, sign, write, write_all
from ._size import Plan, plan
from ._trial import ADDRESS, Trial, trial

__all__ = [
    "ADDRESS", "Creds", "EndpointUse", "Note", "Plan", "RawSubject", "Service", "Trial",
    "UnresolvedCall", "check_size", "fresh_seed", "plan", "rule", "rules", "scan", "seed_in",
    "seed_of", "sign", "trial", "write", "write_all",
]  # fmt: skip
