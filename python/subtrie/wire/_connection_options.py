"""Classify the options of INFO and CONNECT as known, unknown, or known with a wrong type.

Names and types are those of the NATS protocol documentation and of nats-server 2.15. The broker
closes the connection for an option of a wrong type; here such an option is returned separately.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_TYPES: dict[str, type] = {"bool": bool, "int": int, "str": str, "list": list}

_BOTH = {
    "bool": "tls_required headers",
    "int": "",
    "str": "version",
    "list": "",
}
_INFO = {
    "bool": "auth_required ssl_required tls_verify tls_available jetstream cluster_dynamic ldm "
    "connect_info acc_is_sys lnoc lnocu info_on_connect ln gateway_iom gateway_nrp",
    "int": "proto port max_payload client_id api_lvl route_pool_size route_pool_idx "
    "gossip_mode gateway_cmd",
    "str": "server_id server_name git_commit go host ip client_ip cluster domain compression "
    "nonce remote_account xkey route_account route_acc_add_reqid gateway gateway_url "
    "gateway_cmd_payload",
    "list": "connect_urls ws_connect_urls leafnode_urls gateway_urls",
}
_CONNECT = {
    "bool": "verbose pedantic echo no_responders new_account",
    "int": "protocol",
    "str": "auth_token user pass jwt nkey sig name lang account remote_account proxy_sig",
    "list": "",
}


def _table(*groups: dict[str, str]) -> dict[str, type]:
    """Return the type of each option."""
    return {
        name: _TYPES[kind]
        for group in groups
        for kind, names in group.items()
        for name in names.split()
    }


#: The known options of each operation, with their types.
KNOWN: dict[str, dict[str, type]] = {
    "INFO": _table(_BOTH, _INFO),
    "CONNECT": _table(_BOTH, _CONNECT),
}


class ConnectionOptions(NamedTuple):
    """The options of an INFO or CONNECT, each group in the order of the message.

    Attributes:
        known: Known options with the right type.
        unknown: Options with unknown names.
        mistyped: Known options with a wrong type.
    """

    known: dict[str, Any]
    unknown: dict[str, Any]
    mistyped: dict[str, Any]


def classify_options(op: Any) -> ConnectionOptions:
    """Classify the options of an INFO or CONNECT operation by name and type.

    Args:
        op: The operation.

    Raises:
        ValueError: The operation has no options.
    """
    # A59, A66
    if op.op not in KNOWN:
        raise ValueError(f"{op.op} has no options")
    found = ConnectionOptions({}, {}, {})
    table = KNOWN[op.op]
    for name, value in op.json.items():
        expected = table.get(name)
        if expected is None:
            found.unknown[name] = value
        elif type(value) is expected or value is None:  # null keeps the default of an option
            found.known[name] = value
        else:
            found.mistyped[name] = value
    return found


__all__ = ["KNOWN", "ConnectionOptions", "classify_options"]
