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
from .microbus import (
    Batch,
    RequestTargets,
    absolute_url,
    check_identity_host,
    check_locality,
    check_method,
    check_plane,
    check_route_host,
    check_route_path,
    classify,
    common_locality,
    cut_slot,
    decode,
    decode_batch,
    decode_subscription,
    encode_reply,
    encode_reply_subscription,
    encode_request,
    encode_subscription,
    escape_segment,
    flatten_host,
    locality_slot,
    locality_slots,
    request_from_url,
    request_target,
    resolve_route,
    source_of,
    subscription_from_route,
    unescape_segment,
    unflatten_host,
)

__all__ = [
    "Batch",
    "DeliveryReader",
    "Matches",
    "Op",
    "Parser",
    "Pattern",
    "RequestTargets",
    "Subject",
    "SubjectTrie",
    "Subscription",
    "absolute_url",
    "blank_subscription",
    "check_identity_host",
    "check_locality",
    "check_method",
    "check_name",
    "check_pattern",
    "check_plane",
    "check_route_host",
    "check_route_path",
    "check_subject",
    "classify",
    "common_locality",
    "covers",
    "cut_slot",
    "decode",
    "decode_batch",
    "decode_subscription",
    "encode_reply",
    "encode_reply_subscription",
    "encode_request",
    "encode_subscription",
    "escape_segment",
    "flatten_host",
    "locality_slot",
    "locality_slots",
    "matches",
    "microbus",
    "overlaps",
    "read_http_request",
    "read_http_response",
    "request_from_url",
    "request_target",
    "resolve_route",
    "rules_admit",
    "rules_difference",
    "rules_minimised",
    "rules_overlap",
    "rules_proof",
    "rules_witness",
    "source_of",
    "subscription_from_route",
    "unescape_segment",
    "unflatten_host",
    "write_http_request",
    "write_http_response",
]
