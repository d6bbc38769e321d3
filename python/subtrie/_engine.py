"""The engine in use: the native extension, or the reference implementation in plain Python.

The choice is made once, when this module is first imported. The names below are those of the
chosen module; a type checker sees them as ``_subtrie.pyi`` declares them.

The engine creates ``Subject``, ``Subscription`` and the addresses, and these classes call the
engine. They therefore import this module and look a name up when they are called, so that the
reference can import them while this module is still being imported.
"""

from __future__ import annotations

import importlib
import os
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple


class Engine(NamedTuple):
    """The engine in use, and why."""

    name: str  # "native" or "reference"
    reason: str


def _choose() -> tuple[ModuleType, Engine]:
    """Return the native extension unless the environment or its absence decides otherwise."""
    wanted = os.environ.get("SUBTRIE_ENGINE", "")
    if wanted not in ("", "native", "reference"):
        raise ValueError(f"SUBTRIE_ENGINE must be 'native' or 'reference', not {wanted!r}")
    if wanted == "reference":
        return _reference(), Engine("reference", "SUBTRIE_ENGINE=reference")
    try:
        native = importlib.import_module("._subtrie", __package__)
    except ImportError as error:
        if wanted == "native":
            raise
        absent = isinstance(error, ModuleNotFoundError) and error.name == f"{__package__}._subtrie"
        why = "it is not part of this installation" if absent else str(error)
        warnings.warn(
            f"subtrie uses its pure-Python reference engine: the native extension cannot be "
            f"imported: {why}",
            RuntimeWarning,
            stacklevel=4,  # _choose, this module, subtrie, the module that imports subtrie
        )
        report = Engine("reference", f"the native extension cannot be imported: {why}")
        return _reference(), report
    why = "SUBTRIE_ENGINE=native" if wanted else "the extension fits this interpreter"
    return native, Engine("native", why)


def _reference() -> ModuleType:
    return importlib.import_module(".reference", __package__)


#: The module whose functions answer, ``subtrie._subtrie`` or ``subtrie.reference``, and what
#: ``subtrie.engine()`` returns.
module, report = _choose()

__all__ = [
    "Batch",
    "DeliveryReader",
    "Engine",
    "Matches",
    "Op",
    "Parser",
    "SubjectTrie",
    "Subscription",
    "absolute_url",
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
    from ._subtrie import (
        Batch,
        DeliveryReader,
        Matches,
        Op,
        Parser,
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
else:
    globals().update({name: getattr(module, name) for name in __all__ if name not in globals()})
