"""The names of the engine in use: the native extension, or the reference in plain Python.

``engine_choice`` makes the choice and binds the names, once, before any other module is imported;
a type checker sees them as ``_subtrie.pyi`` declares them. Nothing is imported here, because both
engines create ``Subject``, ``Subscription`` and the addresses, and these classes call the engine:
they import this module and look a name up when they are called.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple


class Engine(NamedTuple):
    """The engine in use, and why."""

    name: str  # "native", "reference" or "both"
    reason: str


#: The module whose functions answer: ``subtrie._subtrie``, ``subtrie.reference``, or the one that
#: asks both.
module: ModuleType

#: What ``subtrie.engine()`` returns.
report: Engine


def bind(engine: ModuleType, why: Engine) -> None:
    """Make the names of this module those of an engine."""
    functions = {name: getattr(engine, name) for name in __all__ if name not in _OWN}
    globals().update(functions, module=engine, report=why)


_OWN = ("Engine", "bind", "module", "report")

__all__ = [
    "Batch",
    "DeliveryReader",
    "Engine",
    "Matches",
    "Op",
    "Parser",
    "RequestTargets",
    "SubjectTrie",
    "Subscription",
    "absolute_url",
    "bind",
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
    "module",
    "overlaps",
    "read_http_request",
    "read_http_response",
    "report",
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

if TYPE_CHECKING:
    from .._subtrie import (
        Batch,
        DeliveryReader,
        Matches,
        Op,
        Parser,
        RequestTargets,
        SubjectTrie,
        Subscription,
        absolute_url,
        check_identity_host,
        check_locality,
        check_method,
        check_name,
        check_pattern,
        check_plane,
        check_route_host,
        check_route_path,
        check_subject,
        classify,
        common_locality,
        covers,
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
        matches,
        overlaps,
        read_http_request,
        read_http_response,
        request_from_url,
        request_target,
        resolve_route,
        rules_admit,
        rules_difference,
        rules_minimised,
        rules_overlap,
        rules_proof,
        rules_witness,
        source_of,
        subscription_from_route,
        unescape_segment,
        unflatten_host,
        write_http_request,
        write_http_response,
    )
