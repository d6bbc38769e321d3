"""The options of INFO and CONNECT, sorted: known ones by their types, all others as they came.

Names and types are those of seed 004 and of nats-server 2.15. An option of another type than the
broker takes would end the connection there; here it is set apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_TYPES: dict[str, type] = {"bool": bool, "int": int, "str": str, "list": list}

_BOTH = {
    "bool": "tls_required headers",
    "int": "",
    "str": "version nonce",
    "list": "",
}
_INFO = {
    "bool": "auth_required ssl_required tls_verify tls_available jetstream cluster_dynamic ldm "
    "connect_info acc_is_sys lnoc lnocu info_on_connect route_acc_add_reqid",
    "int": "proto port max_payload client_id api_lvl route_pool_size route_pool_idx",
    "str": "server_id server_name git_commit go host ip client_ip cluster domain compression "
    "remote_account xkey route_account gossip_mode gateway gateway_url",
    "list": "connect_urls ws_connect_urls leafnode_urls gateway_urls",
}
_CONNECT = {
    "bool": "verbose pedantic echo no_responders new_account",
    "int": "protocol",
    "str": "auth_token user pass jwt nkey sig name lang account remote_account proxy_sig",
    "list": "",
}


def _table(*groups: dict[str, str]) -> dict[str, type]:
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


class Options(NamedTuple):
    """``known``: options of their own type; ``unknown``: those nobody lists; ``wrong``: known ones
    of another type. Each in the order in which they were written."""

    known: dict[str, Any]
    unknown: dict[str, Any]
    wrong: dict[str, Any]


def sorted_options(op: Any) -> Options:
    """The options of an INFO or CONNECT (A59, A66). Raises ``ValueError`` for another operation."""
    if op.op not in KNOWN:
        raise ValueError(f"{op.op} has no options")
    found = Options({}, {}, {})
    table = KNOWN[op.op]
    for name, value in op.json.items():
        wanted = table.get(name)
        if wanted is None:
            found.unknown[name] = value
        elif type(value) is wanted or value is None:  # null leaves an option as it is
            found.known[name] = value
        else:
            found.wrong[name] = value
    return found


__all__ = ["KNOWN", "Options", "sorted_options"]
