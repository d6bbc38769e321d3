"""The keys of a configuration that count in a comparison, under each of their names."""

from __future__ import annotations

import re
import subprocess

import nkeys
import pytest
from operators import key

from servers import find_binary
from subtrie.acl._uncompared import uncompared

BLOCKS = {
    "": "{}\n",
    "authorization": "authorization {{ token: t\n{} }}\n",
    "users": "authorization {{ users: [ {{ user: u }} ]\n{} }}\n",
    "user": "authorization {{ users: [ {{ user: u\n{} }} ] }}\n",
    "account": "accounts {{ A {{ users: [ {{ user: a }} ]\n{} }} }}\n",
    "limits": "accounts {{ A {{ limits {{ other: 1\n{} }} }} }}\n",
    "callout": "authorization {{ users: [ {{ user: u }} ], auth_callout {{ issuer: ISSUER\n"
               "auth_users: [ u ]\n{} }} }}\n",
    "mapping": "mappings {{ a: {{ weight: 100\n{} }} }}\n",
    "export": "accounts {{ A {{ exports: [ {{ service: a.*\n{} }} ] }} }}\n",
    "cluster": "cluster {{ name: c, port: 6222\n{} }}\n",
    "cluster login": "cluster {{ name: c, port: 6222, authorization {{ timeout: 7\n{} }} }}\n",
    "gateway": "gateway {{ name: g, port: 7222\n{} }}\n",
    "leafnodes": "leafnodes {{ port: 7422\n{} }}\n",
    "remotes": 'leafnodes {{ remotes: [ {{ hub: true\n{} }} ] }}\n',
    "websocket": "websocket {{ port: 8080\n{} }}\n",
    "mqtt": "mqtt {{ port: 1883\n{} }}\n",
    "jetstream": "jetstream {{ domain: d\n{} }}\n",
    "account jetstream": "accounts {{ A {{ jetstream {{ cluster_traffic: owner\n{} }} }} }}\n",
    "tls": "tls {{ verify: true\n{} }}\n", "tls alone": "tls {{ timeout: 7\n{} }}\n",
    "remote": "leafnodes {{ remotes: [ {{ url: nats://h:1\n{} }} ] }}\n",
    "import": "accounts {{ A {{ imports: [ {{ service: {{ account: B, subject: s }}\n{} }} ] }} }}",
}  # fmt: skip
BLOCKS = {
    name: text.replace("ISSUER", "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C")
    for name, text in BLOCKS.items()
}
_TIMES = "ping_interval: '2m'\nping_max: 7\nwrite_deadline: '3s'\n"
_SOCKET = (
    "host: h\nnet: h\nadvertise: h\nno_advertise: true\ncompression: accept\npool_size: 3\n"
    "connect_retries: 3\n"
)
#: Lines that say nothing about who may do what.
OF_NO_EFFECT = {
    "": f"{_TIMES}listen: 4223\nhost: h\nnet: h\nclient_advertise: h\nserver_name: n\n"
        "server_tags: [a]\nserver_metadata: {a: b}\nhttp: 8222\nhttps: 8223\nhttp_port: 8222\n"
        "monitor_port: 8222\nhttps_port: 8223\nhttp_base_path: /x\ndebug: true\ntrace: true\n"
        "trace_verbose: true\ntrace_headers: true\nlogtime: false\nlogtime_utc: true\n"
        "syslog: true\nremote_syslog: x\nlogfile: x\nlog_file: x\nlogfile_size_limit: 7\n"
        "log_size_limit: 7\nlogfile_max_num: 7\nlog_max_num: 7\nmax_traced_msg_len: 7\n"
        "pidfile: x\npid_file: x\nports_file_dir: x\nprof_port: 7\nprof_block_rate: 7\n"
        "store_dir: x\nstoredir: x\nocsp_cache: off\nmax_control_line: 2kb\nmax_pending: 2mb\n"
        "max_closed_clients: 7\nconnect_error_reports: 7\nreconnect_error_reports: 7\n"
        "lame_duck_duration: '40s'\nlame_duck_grace_period: '9s'\ndisable_sublist_cache: true\n"
        "no_sublist_cache: true\nno_fast_producer_stall: true\nwrite_timeout: close\n",
    "authorization": "timeout: 7\n",
    "users": "timeout: 7\ndefault_permissions: { publish: a }\n"
             "permissions: { publish: a }\n",
    "user": "permissions: { publish: a }\npermission: { publish: a }\n"
            "authorization: { publish: a }\n",
    "account": "default_permissions: { publish: a }\n",
    "cluster": f"{_TIMES}{_SOCKET}cluster_advertise: h\nconnect_backoff: true\n"
               "write_timeout: close\nauthorization { timeout: 7 }\n",
    "gateway": "host: h\nnet: h\nadvertise: h\nconnect_retries: 3\nconnect_backoff: true\n"
               "write_deadline: '3s'\nwrite_timeout: close\n",
    "leafnodes": "host: h\nnet: h\nadvertise: h\nno_advertise: true\nreconnect: 3\n"
                 "reconnect_delay: 3\nreconnect_interval: 3\ncompression: accept\n"
                 "min_version: '2.9.0'\nminimum_version: '2.9.0'\nwrite_deadline: '3s'\n"
                 "leafnode_advertise: h\ndial_timeout: '3s'\nwrite_timeout: close\n",
    "remotes": "no_randomize: true\ndont_randomize: true\ncompression: accept\n"
               "first_info_timeout: '3s'\nws_compress: true\nws_compression: true\n"
               "websocket_compress: true\nwebsocket_compression: true\nws_no_masking: true\n"
               "websocket_no_masking: true\nignore_discovered_servers: true\ndial_timeout: '3s'\n",
    "websocket": "host: h\nnet: h\nadvertise: h\nhandshake_timeout: '3s'\ncompression: true\n"
                 "headers { a: b }\ncompress: true\nping_interval: '3s'\n",
    "mqtt": "host: h\nnet: h\nack_wait: '3s'\nackwait: '3s'\njs_api_timeout: '3s'\n"
            "api_timeout: '3s'\nmax_ack_pending: 7\nmax_pending: 7\nmax_inflight: 7\n"
            "stream_replicas: 3\nconsumer_replicas: 3\nconsumer_memory_storage: true\n"
            "consumer_inactive_threshold: '3s'\nconsumer_auto_cleanup: true\n",
    "jetstream": "store: x\nstore_dir: x\nstoredir: x\nsync: always\nsync_interval: always\n"
                 "max_memory_store: 7\nmax_mem_store: 7\nmax_mem: 7\nmax_file_store: 7\n"
                 "max_file: 7\nkey: k\nek: k\nencryption_key: k\nprev_key: k\nprev_ek: k\n"
                 "prev_encryption_key: k\ncipher: aes\ntpm { keys_file: x }\nunique_tag: az\n"
                 "max_outstanding_catchup: 7\nmax_buffered_size: 7\nmax_buffered_msgs: 7\n"
                 "request_queue_limit: 7\ninfo_queue_limit: 7\nlimits { max_ha_assets: 7 }\n"
                 "meta_compact: 7\n"
                 "meta_compact_size: 7\nmeta_compact_sync: true\nmax_concurrent_io: 7\n"
                 "strict: true\n",
    "account jetstream": "max_memory: 7\nmax_mem: 7\nmem: 7\nmemory: 7\nmax_store: 7\n"
                         "max_file: 7\nmax_disk: 7\nstore: 7\ndisk: 7\nmax_streams: 7\n"
                         "streams: 7\nmax_consumers: 7\nconsumers: 7\nmax_bytes_required: true\n"
                         "max_stream_bytes: true\nmax_bytes: true\nmem_max_stream_bytes: 7\n"
                         "memory_max_stream_bytes: 7\ndisk_max_stream_bytes: 7\n"
                         "store_max_stream_bytes: 7\nmax_ack_pending: 7\n",
    "tls": "timeout: 3\ncert_file: x\nkey_file: x\ncipher_suites: [x]\ncurve_preferences: [x]\n"
           "connection_rate_limit: 7\nmin_version: '1.3'\nhandshake_first: true\nfirst: true\n"
           "immediate: true\n",
}  # fmt: skip


def differences(tmp_path, block, old, new):
    for name, lines in (("old", old), ("new", new)):
        (tmp_path / f"{name}.conf").write_text(BLOCKS[block].format(lines))
    return [str(each) for each in uncompared(tmp_path / "old.conf", tmp_path / "new.conf", env={})]


def unknown(path):
    """The refusals of keys that the broker does not know."""
    command = [find_binary(), "-t", "-c", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return re.findall("unknown field.*", done.stderr)


@pytest.mark.parametrize("block", OF_NO_EFFECT)
def test_what_says_nothing_about_who_may_do_what_is_not_named(block, tmp_path):
    lines = OF_NO_EFFECT[block]
    assert differences(tmp_path, block, "", lines) == []
    capitals = re.sub("^[a-z_]+", lambda found: found[0].upper(), lines, flags=re.M)
    assert differences(tmp_path, block, "", capitals) == []
    assert unknown(tmp_path / "new.conf") == []


#: Two spellings that mean the same.
SPELLINGS = {
    "": [
        "system_account: S|system: S", "leafnodes { port: 1 }|leaf { port: 1 }",
        "websocket { port: 1 }|ws { port: 1 }", "mappings { a: b }|maps { a: b }",
        "max_connections: 5|max_conn: 5", "max_subscriptions: 5|max_subs: 5",
        "resolver: MEMORY|account_resolver: MEMORY", "resolver: MEMORY|accounts_resolver: MEMORY",
        *(f"operator: x|{each}: x" for each in (
            "operators", "root", "roots", "root_operator", "root_operators")),
        "trusted: [x]|trusted_keys: [x]", "no_system_account: true|no_system: true",
        "no_system_account: true|no_sys_acc: true", "cluster { port: 1 }|cluster { listen: 2 }",
        "jetstream: enabled|jetstream: true", "jetstream: on|jetstream { store_dir: x }",
        "jetstream: off|jetstream: disabled", "jetstream: enable|jetstream: Enabled",
        "jetstream { ENABLE: off }|jetstream: off", "jetstream { Enabled: true }|jetstream {}",
        "jetstream { enabled: true }|jetstream {}", "jetstream { enabled: off }|jetstream: false",
        "max_payload: 1048576|", "max_connections: 65536|", "max_subscriptions: -1|",
        "no_auth_user: ''|", "trusted: [x, y]|trusted: [y, x]", "trusted: [x, x]|trusted: [x]",
        "trusted: []|", "resolver_preload: {}|", "tls { verify: true }|TLS { VERIFY: true }",
    ],
    "users": ["auth_callout { account: A }|auth_hook { account: A }"],
    "user": [
        "pass: a|password: b", "allowed_connection_types: [mqtt]|clients: mqtt",
        "allowed_connection_types: [mqtt]|connection_types: mqtt",
    ],
    "limits": ["max_connections: 5|max_conn: 5", "max_subscriptions: 5|max_subs: 5",
               "max_payload: 5|max_pay: 5", "max_leafnodes: 5|max_leafs: 5", "max_conn: -1|",
               "max_subs: -1|", "max_pay: -1|", "max_leafs: -1|"],
    "mapping": ["dest: b|destination: b"],
    **{name: ["authorization { user: a }|authentication { user: a }"]
       for name in ("websocket", "mqtt")},
    "cluster login": ["user: r, pass: s|username: r, password: t", "token: a|token: b",
                      "default_permissions: { publish: a }|default_permission: { publish: a }"],
    "remotes": [
        "url: nats://a:1|urls: [nats://a:1]", "credentials: x|creds: x", "account: A|local: A",
        "deny_imports: a|deny_import: a", "deny_exports: [a]|deny_export: a",
        "url: 'nats://u:p@a:1'|url: 'nats://u:q@a:1'",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("block", "pair"), [(b, each) for b, rows in SPELLINGS.items()
                                             for each in rows])  # fmt: skip
def test_two_spellings_of_one_setting_do_not_differ(block, pair, tmp_path):
    old, new = pair.split("|")[:2]
    named = differences(tmp_path, block, old, new)
    assert named == []
    if new:
        assert differences(tmp_path, block, "", new) != []


#: Flags that are off unless a configuration sets them, by block.
FLAGS = {
    "": "proxy_protocol allow_non_tls no_system_account",
    "user": "proxy_required", "tls": "verify_and_map insecure",
    "websocket": "same_origin no_tls", "mqtt": "no_tls", "export": "allow_trace",
    "gateway": "reject_unknown reject_unknown_cluster", "remotes": "disabled",
    "tls alone": "verify", "remote": "hub", "import": "share allow_trace",
}  # fmt: skip


@pytest.mark.parametrize(("block", "flag"), [(b, each) for b, row in FLAGS.items()
                                             for each in row.split()])  # fmt: skip
def test_a_flag_that_is_off_is_as_good_as_absent(block, flag, tmp_path):
    assert differences(tmp_path, block, f"{flag}: false", "") == []
    [part] = differences(tmp_path, block, f"{flag}: true", "")
    assert f"{flag} removed: True" in part


#: A setting before and after, and the part that is named.
COUNTED = {
    "": {
        "max_payload: 1KB|max_payload: 2KB": "max_payload changed: 1024 → 2048",
        "max_connections: 65537|": "max_connections removed: 65537",
        "max_subscriptions: 0|": "max_subscriptions removed: 0",
        "system_account: S|": "system_account removed: S",
        "default_js_domain { A: d }|": "default_js_domain removed",
        "no_header_support: false|": "no_header_support removed: False",
        "accounts { A { mappings { a: b } } }|accounts { A { mappings { a: c } } }":
            "accounts / A / mappings / a changed: b → c",
        "trusted: [x, y]|trusted: [x]": "trusted changed: x, y → x",
        "cluster { routes: ['nats://u:p@a:1', 'nats://t@b:2'] }|cluster { routes: [] }":
            "cluster / routes removed: nats://a:1, nats://b:2",
    },
    "users": {
        "auth_callout { account: A, key: X }|auth_callout { account: B, key: Y }":
            "authorization / auth_callout / account changed: A → B",
        "auth_callout { xkey: X }|auth_callout { xkey: Y }":
            "authorization / auth_callout / xkey changed",
    },
    "limits": {"max_conn: 5|max_conn: -1": "accounts / A / limits / max_connections removed: 5",
               "max_pay: 0|max_pay: -1": "accounts / A / limits / max_payload removed: 0",
               "max_leafs: 1|max_leafs: 2": "accounts / A / limits / max_leafnodes changed: 1 → 2"},
    "export": {"accounts: [A, B]|accounts: [A]":
               "accounts / A / exports / service a.* / accounts changed: A, B → A",
               "response: stream|":
               "accounts / A / exports / service a.* / response removed: stream"},
    "remotes": {"creds: x|creds: y": "leafnodes / remotes / #2 / credentials changed",
                "account: A|account: B": "leafnodes / remotes / #2 / account changed: A → B"},
    "cluster login": {"user: a|user: b": "cluster / authorization / user changed: a → b",
                      "token: a|user: a": "cluster / authorization / user added: a"},
    "websocket": {"jwt_cookie: a|jwt_cookie: b": "websocket / jwt_cookie changed",
                  "allowed_origins: [a]|": "websocket / allowed_origins removed: a"},
    "tls": {"pinned_certs: [a]|": "tls / pinned_certs removed: a"},
}  # fmt: skip


@pytest.mark.parametrize(("block", "pair"), [(b, each) for b, rows in COUNTED.items()
                                             for each in rows])  # fmt: skip
def test_a_setting_that_counts_is_named_with_what_may_be_shown(block, pair, tmp_path):
    old, new = pair.split("|")
    assert differences(tmp_path, block, old, new)[0] == COUNTED[block][pair]


#: The keys that count, each with a value, so that each key of the broker is here or above. The
#: names of users, and what a block takes for it to be one, are in other tests.
NAMED = {
    "": "tls { verify: true }\nocsp: on\nallow_non_tls: true\noperator: x\nresolver: MEMORY\n"
        "resolver_tls { verify: true }\nresolver_preload { a: b }\nresolver_pinned_accounts: [a]\n"
        "no_auth_user: u\nsystem_account: S\nno_system_account: true\nno_header_support: true\n"
        "trusted: [a]\ncluster {}\ngateway {}\nleafnodes {}\nwebsocket {}\nmqtt {}\n"
        "feature_flags { a: true }\ndefault_js_domain { a: b }\n"
        "proxies { trusted: [ { key: x } ] }\nproxy_protocol: true\nmax_payload: 7\n"
        "max_connections: 7\nmax_subscriptions: 7\n"
        "max_sub_tokens: 7\ndefault_sentinel: a\nmappings { a: b }\njetstream: on\n",
    "authorization": "proxy_required: true\nauth_callout { account: A }\n",
    "users": "proxy_required: true\nauth_callout { account: A }\n",
    "user": "password: x\nallowed_connection_types: [mqtt]\nproxy_required: true\n",
    "account": "nkey: x\nimports: [ { stream: { account: B, subject: s } } ]\n"
               "exports: [ { stream: s } ]\njetstream: on\nmappings { a: b }\n"
               "limits { max_conn: 7 }\nmsg_trace: a\ntrace_dest: a\n",
    "limits": "max_connections: 7\nmax_subscriptions: 7\nmax_payload: 7\nmax_leafnodes: 7\n",
    "callout": "account: A\nxkey: x\nallowed_accounts: [A]\n",
    "mapping": "destination: b\ncluster: c\n",
    "export": "accounts: [A]\nresponse: stream\nthreshold: '7s'\nlatency: l\n"
              "account_token_position: 2\nallow_trace: true\n",
    "cluster": "authorization { user: u }\nroutes: [nats://a:1]\ntls { verify: true }\n"
               "permissions { import: a }\naccounts: [A]\n",
    "gateway": "authorization { user: u }\ntls { verify: true }\ngateways: [ { name: h } ]\n"
               "reject_unknown: true\nreject_unknown_cluster: true\n",
    "leafnodes": "authorization { user: u }\nremotes: [ { url: nats://a:1 } ]\n"
                 "tls { verify: true }\nisolate_leafnode_interest: true\nisolate: true\n",
    "remotes": "account: A\ncredentials: x\nseed: x\ntls { verify: true }\n"
               "deny_imports: a\ndeny_exports: a\njetstream_cluster_migrate: true\n"
               "js_cluster_migrate: true\nisolate_leafnode_interest: true\nisolate: true\n"
               "request_isolation: true\ndisabled: true\nproxy { url: 'http://a:1' }\n",
    "websocket": "no_tls: true\ntls { verify: true }\nsame_origin: true\nallowed_origins: [a]\n"
                 "allow_origin: [a]\norigins: [a]\norigin: [a]\nallow_origins: [a]\n"
                 "allowed_origin: [a]\nauthorization { user: u }\n"
                 "jwt_cookie: c\nuser_cookie: c\npass_cookie: c\ntoken_cookie: c\n"
                 "no_auth_user: u\n",
    "mqtt": "tls { verify: true }\nauthorization { user: u }\nno_auth_user: u\njs_domain: d\n"
            "reject_qos2_publish: true\ndowngrade_qos2_subscribe: true\n",
    "jetstream": "extension_hint: x\n",
    "tls": "ca_file: x\ninsecure: true\nverify_and_map: true\n"
           "verify_cert_and_check_known_urls: true\nallow_insecure_cipher_suites: true\n"
           "pinned_certs: [a]\ncert_store: x\ncert_match_by: x\ncert_match: x\n"
           "ca_certs_match: [x]\ncert_match_skip_invalid: true\nocsp_peer: true\n"
           "certs: [ { cert_file: x } ]\ncertificates: [ { cert_file: x } ]\n",
}  # fmt: skip


@pytest.mark.parametrize("block", NAMED)
def test_each_key_that_counts_is_named_by_itself(block, tmp_path):
    lines = NAMED[block].splitlines(keepends=True)
    for line in lines:
        [part] = differences(tmp_path, block, "", line)
        key = re.match("[a-z_0-9]+", line)[0]
        assert re.search(f"(^| / ){key}( / .*)? (added|changed)(:|$)", part), part
        # Bug: a limit of an account counted as another one in capitals.
        capitals = differences(tmp_path, block, "", line[0].upper() + line[1:])
        assert capitals == ([] if key == "system_account" else [part])
    (tmp_path / "all.conf").write_text(BLOCKS[block].format("".join(lines)))
    assert unknown(tmp_path / "all.conf") == []


KEYS = [key(nkeys.PREFIX_BYTE_USER).public_key.decode() for _ in range(2)]
#: A list, the field by which its elements are told apart, another one, and the label of the list.
LISTED = {
    "gateway {{ name: g, gateways: [ {} ] }}": ("name: {}", "tls: x{}", "gateway / gateways"),
    "mappings {{ a: [ {} ] }}": ("destination: {}", "weight: 1{}", "mappings / a"),
    "mappings {{ b: [ {} ] }}": ("dest: {}", "weight: 1{}", "mappings / b"),
    "proxies {{ trusted: [ {} ] }}": ("key: {}", "other: {}", "proxies / trusted"),
    "PROXIES {{ trusted: [ {} ] }}": ("public_key: {}", "other: {}", "proxies / trusted"),
    "authorization {{ users: [ {} ] }}": ("user: {}", "proxy_required: 1{}",
                                          "authorization / users"),
    "accounts {{ A {{ users: [ {} ] }} }}": ("nkey: {}", "proxy_required: 1{}",
                                             "accounts / A / users"),
    "cluster {{ users: [ {} ] }}": ("username: {}", "other: {}", "cluster / users"),
    "leafnodes {{ authorization {{ users: [ {} ] }} }}": (
        "user: {}", "account: 1{}", "leafnodes / authorization / users"),
    "leafnodes {{ remotes: [ {} ] }}": ("url: 'nats://{}'", "account: {}", "leafnodes / remotes"),
}  # fmt: skip


@pytest.mark.parametrize("block", LISTED)
def test_elements_of_a_list_are_told_apart_by_their_name_not_their_place(block, tmp_path):
    name, other, where = LISTED[block]
    names = KEYS if name.startswith("nkey") else ["x", "y"]
    rows = [f"{{ {name.format(each)}, {other.format(0)} }}" for each in names]

    def compared(*lists):
        for side, listed in zip(("old", "new"), lists, strict=True):
            (tmp_path / f"{side}.conf").write_text(block.format(", ".join(listed)))
        found = uncompared(tmp_path / "old.conf", tmp_path / "new.conf", env={})
        return [" / ".join(each.keys) for each in found]

    assert compared(rows, rows[::-1]) == []
    changed = [rows[0], rows[1].replace(other.format(0), other.format(2))]
    if "remotes" in block:  # the account is part of the label
        assert compared(rows, changed) == [f"{where} / y for 2", f"{where} / y for 0"]
    else:
        assert compared(rows, changed[::-1]) == [
            f"{where} / {names[1]} / {other.partition(':')[0]}"
        ]


#: Blocks whose keys are names that the configuration chooses.
OF_NAMES = {
    "accounts {{ {}: {{ users: [ {{ user: u }} ], mappings {{ a: VALUE }} }} }}": "accounts",
    "mappings {{ {}: VALUE }}": "mappings",
    "accounts {{ A {{ mappings {{ {}: VALUE }} }} }}": "accounts / A / mappings",
    "operator: [x]\nresolver_preload {{ {}: VALUE }}": "resolver_preload",
}  # fmt: skip


@pytest.mark.parametrize("block", OF_NAMES)
def test_a_name_is_a_name_also_if_it_is_a_key_elsewhere(block, tmp_path):
    paths = [tmp_path / "old.conf", tmp_path / "new.conf"]
    for name, other in (("debug", "Debug"), ("pass", "password"), ("timeout", "port")):
        texts = [block.format(name), block.format(name), block.format(other)]
        for value, new in (("two", texts[1]), ("one", texts[2])):
            paths[0].write_text(texts[0].replace("VALUE", "one"))
            paths[1].write_text(new.replace("VALUE", value))
            found = [" / ".join(each.keys) for each in uncompared(*paths, env={})]
            assert any(each.startswith(f"{OF_NAMES[block]} / {name}") for each in found), found
            assert value == "two" or any(
                each.startswith(f"{OF_NAMES[block]} / {other}") for each in found
            ), found


@pytest.mark.parametrize(("block", "key", "counts"), [
    ("tls alone", "ca_file", True), ("remote", "credentials", True), ("remote", "creds", True),
    ("tls alone", "cert_file", False), ("", "logfile", False), ("", "http_base_path", False),
])  # fmt: skip
def test_the_content_of_a_file_that_a_key_names_counts(block, key, counts, tmp_path):
    paths = [tmp_path / side / "nats.conf" for side in ("old", "new", "same")]
    for path, content in zip(paths, ("a", "b", "a"), strict=True):
        path.parent.mkdir()
        path.write_text(BLOCKS[block].format(f"{key}: file"))
        (path.parent / "file").write_text(content)
    assert bool(uncompared(*paths[:2], env={})) is counts
    assert uncompared(paths[0], paths[2], env={}) == []
