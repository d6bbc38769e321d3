"""The codec of Microbus addresses in plain Python, with the names of ``subtrie.microbus``."""

from ..._core.address import ReplyAddress, RequestAddress, SubscriptionAddress, Target
from ..._core.plane import default_plane
from ._batch import Batch, decode_batch
from ._decode import classify, decode, decode_subscription, source_of
from ._encode import encode_reply, encode_reply_subscription, encode_request, encode_subscription
from ._escape import escape_segment, flatten_host, unescape_segment, unflatten_host
from ._fields import check_method, check_plane
from ._hosts import check_identity_host, check_route_host, cut_slot
from ._locality import check_locality, common_locality, locality_slot, locality_slots
from ._paths import check_route_path
from ._route import (
    RequestTargets,
    absolute_url,
    request_from_url,
    request_target,
    resolve_route,
    subscription_from_route,
)

__all__ = [
    "Batch",
    "ReplyAddress",
    "RequestAddress",
    "RequestTargets",
    "SubscriptionAddress",
    "Target",
    "absolute_url",
    "check_identity_host",
    "check_locality",
    "check_method",
    "check_plane",
    "check_route_host",
    "check_route_path",
    "classify",
    "common_locality",
    "cut_slot",
    "decode",
    "decode_batch",
    "decode_subscription",
    "default_plane",
    "encode_reply",
    "encode_reply_subscription",
    "encode_request",
    "encode_subscription",
    "escape_segment",
    "flatten_host",
    "locality_slot",
    "locality_slots",
    "request_from_url",
    "request_target",
    "resolve_route",
    "source_of",
    "subscription_from_route",
    "unescape_segment",
    "unflatten_host",
]
