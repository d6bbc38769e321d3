"""Keys of configurations and claims of JWTs that cannot change who may do what, by block.

What is not listed here is compared, so a key of a newer nats-server is never passed over.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TIMES = (
    "timeout dial_timeout handshake_timeout first_info_timeout write_deadline write_timeout "
    "ping_interval ping_max connect_retries connect_backoff reconnect reconnect_delay "
    "reconnect_interval"
)
_NETWORK = (
    f"{_TIMES} host net advertise no_advertise compression compress pool_size no_randomize "
    "dont_randomize"
)

#: Where a broker listens, what it logs and tells of itself, its own buffers.
_TOP = _words(
    f"{_TIMES} listen host net port client_advertise server_name server_tags server_metadata "
    "http https http_port monitor_port https_port http_base_path "
    "debug trace trace_verbose trace_headers logtime logtime_utc syslog remote_syslog logfile "
    "log_file logfile_size_limit log_size_limit logfile_max_num log_max_num max_traced_msg_len "
    "pidfile pid_file ports_file_dir prof_port prof_block_rate store_dir storedir ocsp_cache "
    "max_control_line max_pending max_closed_clients connect_error_reports "
    "reconnect_error_reports lame_duck_duration lame_duck_grace_period "
    "disable_sublist_cache no_sublist_cache no_fast_producer_stall"
)

#: Irrelevant keys by block. Lists of users are compared as permissions, beside this.
IRRELEVANT: dict[str, frozenset[str]] = {
    "": _TOP,
    "authorization": _words("timeout"),
    "authorization of users": _words("timeout default_permissions permissions"),
    "account": _words("default_permissions"),
    "user": _words("permissions authorization user nkey"),
    "cluster": _words(f"{_NETWORK} cluster_advertise"),
    "gateway": _words(_NETWORK),
    "leafnodes": _words(f"{_NETWORK} leafnode_advertise min_version minimum_version"),
    "remotes": _words(
        f"{_NETWORK} ws_compress ws_compression websocket_compress websocket_compression "
        "ws_no_masking websocket_no_masking ignore_discovered_servers"
    ),
    "websocket": _words(f"{_NETWORK} headers"),
    "mqtt": _words(
        f"{_NETWORK} ack_wait ackwait js_api_timeout api_timeout max_ack_pending max_pending "
        "max_inflight stream_replicas consumer_replicas consumer_memory_storage "
        "consumer_inactive_threshold consumer_auto_cleanup"
    ),
    "jetstream": _words(
        "store store_dir storedir sync sync_interval max_memory_store max_mem_store max_file_store "
        "max_memory max_mem mem memory max_store max_file max_disk disk max_streams streams "
        "max_consumers consumers max_bytes_required max_stream_bytes max_bytes "
        "mem_max_stream_bytes memory_max_stream_bytes disk_max_stream_bytes store_max_stream_bytes "
        "max_ack_pending limits key ek encryption_key prev_key prev_ek prev_encryption_key cipher "
        "tpm unique_tag max_outstanding_catchup max_buffered_size max_buffered_msgs "
        "request_queue_limit info_queue_limit meta_compact meta_compact_size meta_compact_sync "
        "max_concurrent_io strict"
    ),
    "tls": _words(
        "timeout cert_file key_file cipher_suites curve_preferences connection_rate_limit "
        "min_version handshake_first first immediate"
    ),
    # Claims. What a user's lists grant is compared beside this.
    "user claims": _words("pub sub resp data type version description"),
    "account claims": _words("default_permissions type version description info_url"),
    "operator claims": _words("type version operator_service_urls"),
    "limits": _words(
        "data imports exports streams consumer max_ack_pending mem_max_stream_bytes "
        "disk_max_stream_bytes max_bytes_required"
    ),
}

#: The block of the values of a key, if their keys are names that the configuration chooses.
OF_NAMES = {
    "accounts": "account", "mappings": "", "resolver_preload": "", "revocations": "",
    "account claims": "account claims", "user claims": "user claims",
    "operator claims": "operator claims",
}  # fmt: skip

#: Other spellings of a limit.
LIMIT_NAMES = {
    "max_conn": "max_connections", "max_subs": "max_subscriptions", "max_pay": "max_payload",
    "max_leafs": "max_leafnodes",
}  # fmt: skip

#: Other spellings of a key.
ALIASES = LIMIT_NAMES | {
    "username": "user", "pass": "password", "creds": "credentials", "local": "account",
    "url": "urls", "maps": "mappings", "leaf": "leafnodes", "ws": "websocket",
    "system": "system_account", "no_system": "no_system_account", "no_sys_acc": "no_system_account",
    "deny_import": "deny_imports", "deny_export": "deny_exports", "listen": "port",
    "default_permission": "default_permissions", "permission": "permissions",
    "connection_types": "allowed_connection_types", "clients": "allowed_connection_types",
    "auth_hook": "auth_callout", "dest": "destination", "authentication": "authorization",
    **dict.fromkeys(
        ("operators", "roots", "root", "root_operators", "root_operator"), "operator"
    ),
    **dict.fromkeys(("account_resolver", "accounts_resolver"), "resolver"),
    "trusted_keys": "trusted",
}  # fmt: skip

#: Keys of which only counts whether they are set: secrets and ports.
SET_OR_NOT = _words("password token port mem_storage disk_storage")

#: Numbers that limit, of which a negative one limits nothing; and moments, of which 0 is none.
LIMITS = _words(
    "max_payload payload max_connections conn max_subscriptions subs max_leafnodes leaf"
)
MOMENTS = _words("exp nbf")

#: The limits of a broker whose configuration does not say.
DEFAULT_LIMITS = {"max_payload": 1024 * 1024, "max_connections": 65_536}

#: Flags whose absence is the same as ``false``.
OFF_BY_DEFAULT = _words(
    "verify verify_and_map insecure same_origin share allow_trace reject_unknown "
    "reject_unknown_cluster hub no_tls no_system_account proxy_required proxy_protocol "
    "allow_non_tls bearer_token token_req disabled"
)

#: Keys that name a file, whose content counts too.
FILES = _words("ca_file credentials")

#: Blocks that open the broker to other connections even if they are empty.
LISTENERS = _words("cluster gateway leafnodes websocket mqtt")
