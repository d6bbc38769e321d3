"""The keys of a server configuration that nats-server knows, and the types of their values.

Blocks without users (``cluster``, ``tls``, ``jetstream`` …) are known by name only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._core.duration import parse_duration
from ..._core.errors import SubtrieError
from ..._core.file_errors import Mistakes, file_error
from .config_parser import Node

#: Types of values: any, text, flag, number, and durations in three spellings.
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

#: Keys that the broker passes over if they are not in lower case.
_IN_LOWER_CASE = ("system_account", "system")

#: Types of connections; a user can be restricted to some of them.
CONNECTIONS = {"STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"}


def top_level(document: Node) -> dict[str, Node]:
    """Return the values of a configuration by key in lower case; unknown keys are refused."""
    values: dict[str, Node] = {}
    mistakes = Mistakes()
    for key, node in document.value.items():
        kind = _TOP.get(key.lower())
        if kind is None:
            if not node.used:
                mistakes.add(file_error("unknown-key", key, node.file, node.line))
            continue
        if key.lower() in _IN_LOWER_CASE and key not in _IN_LOWER_CASE:
            continue
        if key.lower() in values:
            mistakes.add(file_error("alias-twice", key, node.file, node.line))
        try:
            of_kind(node, kind, key)
        except SubtrieError as error:
            mistakes.add(error)
        values[key.lower()] = node
    mistakes.check()
    return values


def keys_of(node: Node, known: Mapping[str, str], where: str) -> dict[str, Node]:
    """Return the entries of a map by the meaning of their key; unknown keys are refused.

    Args:
        node: the map.
        known: the meaning of each key that nats-server knows; empty for the key itself.
        where: the name of the map, for messages.

    Raises:
        PermissionsError: not a map, an unknown key, or two keys of one meaning.
    """
    if not isinstance(node.value, dict):
        raise file_error("config-type", where, node.file, node.line)
    found: dict[str, Node] = {}
    mistakes = Mistakes()
    for key, entry in node.value.items():
        meaning = known.get(key.lower())
        if meaning is None:
            if not entry.used:
                mistakes.add(file_error("unknown-key", key, entry.file, entry.line))
            continue
        meaning = meaning or key.lower()
        if meaning in found:
            # The broker takes one of two aliases, which one is random.
            mistakes.add(file_error("alias-twice", key, entry.file, entry.line))
        found[meaning] = entry
    mistakes.check()
    return found


def of_kind(node: Node, kind: int, key: str) -> Any:
    """Return the value of a node if it has the type; else raise ``config-type`` or ``duration``."""
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
        raise file_error("config-type", key, node.file, node.line)
    if kind in (SPAN, SECONDS, SPAN_TEXT) and isinstance(value, str):
        nanoseconds(value, node)
    return value


def texts(node: Node, key: str) -> list[Node]:
    """Return the nodes of one text or an array of texts. Raises ``PermissionsError``."""
    nodes = [node] if isinstance(node.value, str) else node.value
    if not isinstance(nodes, list):
        raise file_error("config-type", key, node.file, node.line)
    for each in nodes:
        of_kind(each, TEXT, key)
    return nodes


def nanoseconds(text: str, node: Node) -> int:
    """Return the nanoseconds of a duration such as ``1m30s``. Raises ``PermissionsError``."""
    length = parse_duration(text)
    if length is None:
        raise file_error("duration", text, node.file, node.line)
    return length
