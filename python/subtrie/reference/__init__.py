"""The reference engine: the core in plain Python, as an executable specification.

It has the same names and answers as the native engine, imports no native code, and is used if the
extension cannot be imported. Comments cite the requirement that a rule implements.
"""

from .._core.subject import Pattern, Subject
from . import microbus
from ._grammar import check_pattern, check_subject, covers, matches, overlaps
from ._http import (
    read_http_request,
    read_http_response,
    write_http_request,
    write_http_response,
)
from ._match_batch import Matches
from ._names import check_name
from ._permissions import (
    rules_admit,
    rules_difference,
    rules_minimised,
    rules_overlap,
    rules_proof,
    rules_witness,
)
from ._subscription import Subscription, blank_subscription
from ._trie import SubjectTrie
from ._wire import DeliveryReader, Op, Parser
from .microbus import *  # noqa: F403 - its list is a part of this one

__all__ = [
    "DeliveryReader",
    "Matches",
    "Op",
    "Parser",
    "Pattern",
    "Subject",
    "SubjectTrie",
    "Subscription",
    "blank_subscription",
    "check_name",
    "check_pattern",
    "check_subject",
    "covers",
    "matches",
    "microbus",
    "overlaps",
    "read_http_request",
    "read_http_response",
    "rules_admit",
    "rules_difference",
    "rules_minimised",
    "rules_overlap",
    "rules_proof",
    "rules_witness",
    "write_http_request",
    "write_http_response",
]
__all__ += microbus.__all__
