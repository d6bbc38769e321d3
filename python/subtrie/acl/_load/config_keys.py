"""The keys nats-server knows, and what their values must be for it to load them.

Blocks that say nothing of users (``cluster``, ``tls``, ``jetstream`` …) are known by name only.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..._file_errors import failure
from .config_parser import Node

#: Kinds of values: any, text, flag, number, and lengths of time in three spellings.
ANY, TEXT, FLAG, NUMBER, SPAN, SECONDS, SPAN_TEXT = range(7)

_BY_KIND = {
    ANY: "listen mappings maps accounts authorization http https cluster gateway leaf leafnodes "
    "jetstream tls ocsp operator operators roots root root_operators root_operator resolver "
    "account_resolver accounts_resolver resolver_tls resolver_preload resolver_pinned_accounts "
    "trusted trusted_keys websocket ws mqtt server_tags server_metadata feature_flags "
    "default_js_domain ocsp_cache proxies",
    TEXT: "client_advertise server_name host net default_sentinel http_base_path store_dir "
    "storedir logfile log_file remote_syslog pidfile pid_file ports_file_dir write_timeout "
    "no_auth_user system_account system",
    FLAG: "debug trace trace_verbose trace_headers logtime logtime_utc disable_sublist_cache "
    "no_sublist_cache syslog proxy_protocol allow_non_tls no_system_account no_system no_sys_acc "
    "no_header_support no_fast_producer_stall",
    NUMBER: "port http_port monitor_port https_port logfile_size_limit log_size_limit "
    "logfile_max_num log_max_num prof_port prof_block_rate max_control_line max_payload "
    "max_pending max_connections max_conn max_traced_msg_len max_subscriptions max_subs "
    "max_sub_tokens max_subscription_tokens ping_max connect_error_reports "
    "reconnect_error_reports max_closed_clients",
    SPAN: "ping_interval write_deadline",
    SPAN_TEXT: "lame_duck_duration lame_duck_grace_period",
}
_TOP = {key: kind for kind, keys in _BY_KIND.items() for key in keys.split()}

#: How a client may connect; a user can be held to some of these.
CONNECTIONS = {"STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"}

_UNITS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
    "h": 3600 * 10**9,
}  # fmt: skip
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"[-+]?(?:{_PART.pattern})+")


def top_level(document: Node) -> dict[str, Node]:
    """The values of a configuration by key in lower case; unknown keys are refused."""
    values: dict[str, Node] = {}
    for key, node in document.value.items():
        kind = _TOP.get(key.lower())
        if kind is None:
            if not node.used:
                raise failure("unknown-key", key, node.file, node.line)
            continue
        if key.lower() in values:
            raise failure("alias-twice", key, node.file, node.line)
        of_kind(node, kind, key)
        values[key.lower()] = node
    return values


def keys_of(node: Node, known: Mapping[str, str], where: str) -> dict[str, Node]:
    """The entries of a map by what their key means; keys the broker would not know are refused."""
    if not isinstance(node.value, dict):
        raise failure("config-type", where, node.file, node.line)
    found: dict[str, Node] = {}
    for key, entry in node.value.items():
        meaning = known.get(key.lower())
        if meaning is None:
            if entry.used:
                continue
            raise failure("unknown-key", key, entry.file, entry.line)
        meaning = meaning or key.lower()
        if meaning in found:
            # The broker takes either of two words for one thing, by chance.
            raise failure("alias-twice", key, entry.file, entry.line)
        found[meaning] = entry
    return found


def of_kind(node: Node, kind: int, key: str) -> Any:
    """The value, where it is one of this kind; else ``config-type`` or ``duration``."""
    value = node.value
    if kind == TEXT:
        right = isinstance(value, str)
    elif kind == FLAG:
        right = isinstance(value, bool)
    elif kind == NUMBER:
        right = type(value) is int
    elif kind == SPAN_TEXT:
        right = isinstance(value, str)
    elif kind in (SPAN, SECONDS):
        right = isinstance(value, str) or type(value) is int
        right = right or (kind == SECONDS and isinstance(value, float))
    else:
        right = True
    if not right:
        raise failure("config-type", key, node.file, node.line)
    if kind in (SPAN, SECONDS, SPAN_TEXT) and isinstance(value, str):
        nanoseconds(value, node)
    return value


def texts(node: Node, key: str) -> list[Node]:
    """One text, or an array of texts."""
    nodes = [node] if isinstance(node.value, str) else node.value
    if not isinstance(nodes, list):
        raise failure("config-type", key, node.file, node.line)
    for each in nodes:
        of_kind(each, TEXT, key)
    return nodes


def nanoseconds(text: str, node: Node) -> int:
    """A duration as Go writes it, such as ``1m30s``."""
    if text in ("0", "+0", "-0"):
        return 0
    if len(text) > 100 or not _DURATION.fullmatch(text):
        raise failure("duration", text, node.file, node.line)
    # Each part is cut to whole nanoseconds, as the broker does.
    whole = sum(int(Decimal(number) * _UNITS[unit]) for number, unit in _PART.findall(text))
    if whole >= 2**63:
        raise failure("duration", text, node.file, node.line)
    return -whole if text.startswith("-") else whole


def is_public_key(text: str, prefix: int) -> bool:
    """Is it a public key of this kind: base32 of the prefix, 32 bytes and a checksum?"""
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except (ValueError, binascii.Error):
        return False
    checksum = int.from_bytes(raw[-2:], "little")
    return len(raw) == 35 and raw[0] == prefix and binascii.crc_hqx(raw[:-2], 0) == checksum


#: First bytes of public keys: a user's (U), an account's (A), a curve key (X).
USER_KEY, ACCOUNT_KEY, CURVE_KEY = 20 << 3, 0, 23 << 3
