"""Least-privilege permissions for Microbus services, derived from their source and signed.

``scan`` finds what services serve, call, trigger and subscribe to; ``rules`` gives the permissions
that just suffice; ``sign`` and ``write`` make a creds file of them. Importing this package imports
nothing optional.
"""

from .._core.public_names import publish
from ._rules import rule, rules
from ._scan import scan
from ._service import EndpointUse, Note, Service, UnresolvedCall
from ._sign import Creds, sign, write, write_all
from ._size import Plan, plan

__all__ = [ "Creds", "EndpointUse", "Note", "Plan", "Service",
    "UnresolvedCall", "plan", "rule", "rules", "scan", "sign", "write", "write_all",
]  # fmt: skip

publish(globals())
