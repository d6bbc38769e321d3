"""Every key of a configuration, in every spelling and with values of every type, on both sides.

The broker and the reader name the lines of all mistakes, so that one run judges many keys.
"""

from __future__ import annotations

import itertools
import re
import subprocess

import pytest

from servers import find_binary, loads
from subtrie import PermissionsError
from subtrie._core.file_errors import other_mistakes
from subtrie.acl import Deployment, Permissions

#: Keys at the top whose value has one type, in two groups: no group has two spellings of one key.
KEYS = (
    "client_advertise server_name host net default_sentinel http_base_path store_dir logfile "
    "remote_syslog pidfile ports_file_dir no_auth_user debug trace trace_verbose "
    "trace_headers logtime logtime_utc disable_sublist_cache syslog proxy_protocol allow_non_tls "
    "no_system_account no_header_support no_fast_producer_stall port http_port https_port "
    "logfile_size_limit logfile_max_num prof_port prof_block_rate max_control_line max_payload "
    "max_pending max_connections max_traced_msg_len max_subscriptions max_sub_tokens ping_max "
    "connect_error_reports reconnect_error_reports max_closed_clients lame_duck_duration "
    "lame_duck_grace_period ping_interval write_deadline write_timeout",
    "storedir log_file pid_file no_sublist_cache no_system monitor_port log_size_limit "
    "log_max_num max_conn max_subs max_subscription_tokens",
    "no_sys_acc",
    "system_account",  # the broker tells of another line than its own
    "system",
)
#: Keys of other blocks, each with a value that the broker reads.
BLOCKS = {
    "listen": "4222", "mappings": "{ a: b }", "maps": "{ a: b }", "accounts": "{ A {} }",
    "authorization": "{ users: [] }", "http": "8222", "https": "8222", "cluster": "{ name: c }",
    "gateway": "{ name: g }", "leaf": "{ port: 7422 }", "leafnodes": "{ port: 7422 }",
    "jetstream": "off", "ocsp": "off", "websocket": "{ port: 8080, no_tls: true }",
    "ws": "{ port: 8080, no_tls: true }", "mqtt": "{ port: 1883 }", "server_tags": "[a]",
    "server_metadata": "{ a: b }", "feature_flags": "{}", "default_js_domain": "{ A: d }",
    "ocsp_cache": "off", "proxies": "{}", "resolver": "MEMORY", "account_resolver": "MEMORY",
    "accounts_resolver": "MEMORY", "resolver_preload": "{}", "resolver_pinned_accounts": "[]",
    "trusted": "[]", "trusted_keys": "[]", "resolver_tls": "{}", "tls": "{}",
    "operator": "[]", "operators": "[]", "root": "[]", "roots": "[]", "root_operator": "[]",
    "root_operators": "[]",
}  # fmt: skip
#: Values of every type. ``nats-server -t`` refuses a number as a duration; the broker only warns.
VALUES = ("7", "word", "true", "7.5", "'40s'", "'60'", "[a]", "{}", "2024-01-02T03:04:05Z")


def refused(lines, tmp_path):
    """The lines in which the broker finds mistakes, and those in which the reader does."""
    path = tmp_path / "nats.conf"
    path.write_text("\n".join(lines) + "\n")
    command = [find_binary(), "-t", "-c", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    theirs = {int(each) for each in re.findall(r"nats\.conf:(\d+):", done.stderr)}
    assert bool(theirs) == (done.returncode != 0), done.stderr
    assert "unknown field" not in done.stderr
    found = mistakes(path)
    assert "unknown-key" not in {each.reason for each in found}
    return theirs, {each.line for each in found}


def mistakes(path):
    """All that the reader refuses of a configuration."""
    try:
        Permissions.load_all(path, env={})
    except PermissionsError as error:
        return [error, *other_mistakes(error)]
    return []


@pytest.mark.parametrize("value", VALUES)
def test_a_key_takes_the_types_that_the_broker_takes(value, tmp_path):
    for group in KEYS:
        keys = group.split()
        for spelling in (str.lower, str.title):
            theirs, ours = refused([f"{spelling(key)}: {value}" for key in keys], tmp_path)
            named = [{keys[line - 1] for line in lines} for lines in (theirs, ours)]
            # The reader takes durations as numbers, and any text for a time limit of writes.
            loose = {"write_timeout"} if value in ("word", "'40s'", "'60'") else set()
            loose |= {"ping_interval", "write_deadline"} if value == "7" else set()
            assert named[1] == named[0] - loose


def test_every_block_has_a_name_that_the_reader_knows(tmp_path):
    for key, value in BLOCKS.items():
        path = tmp_path / "nats.conf"
        for name in (key, key.upper()):
            path.write_text(f"{name}: {value}\n")
            assert mistakes(path) == []
    wrong = [f"{key}: 7.5" for key in BLOCKS]
    theirs, _ = refused(wrong, tmp_path)
    assert len(theirs) > len(BLOCKS) - 8


ACCOUNT_KEY = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
USER = "authorization {{ users: [ {{ user: u, {} }} ] }}"
RULES = "authorization {{ users: [ {{ user: u, permissions {{ {} }} }} ] }}"
ONE = "authorization {{ {} }}"
CALLOUT = (
    "authorization {{ users: [ {{ user: u }} ]\n"
    f"auth_callout {{{{ issuer: {ACCOUNT_KEY}, users: [ u ]\n{{}} }}}} }}}}"
)
TARGET = "accounts {{ A {{ mappings {{ a.*: {{ dest: b, {} }} }} }} }}"
IMPORT = (
    "accounts {{ C {{}}, B {{ exports: [ {{ service: s.* }}, {{ stream: t.> }}, {{ stream: p, "
    "accounts: [ A ] }}, {{ stream: q, accounts: [ C ] }} ] }}\nA {{ imports: [ {{ {} }} ] }} }}"
)
LIMITS = ("max", "max_msgs", "max_messages", "max_responses", "expires", "expiration", "ttl")
#: The text around a key, the keys, and values of which the broker takes some.
INSIDE = (
    (USER, "pass password", "word 7"),
    (USER, "permission permissions authorization", "{publish:a} word"),
    (USER, "allowed_connection_types connection_types clients", "[mqtt,IN_PROCESS] leafnode [a] 7"),
    (USER, "proxy_required", "true word"),
    (USER, "standard imports", "1"),
    (ONE, "user username token", "word 7"),
    (ONE, "pass password proxy_required", "true word"),
    (ONE, "timeout", "7 7.5 '1s' word true"),
    (ONE, "users default_permission default_permissions permissions auth_callout", "[] {} word"),
    ("accounts {{ A {{ {} }} }}", "nkey", f"{ACCOUNT_KEY} word 7"),
    ("accounts {{ A {{ {} }} }}", "exports imports users", "[] {} word"),
    ("accounts {{ A {{ {} }} }}", "mappings maps default_permissions", "{} [a] word"),
    ("accounts {{ A {{ {} }} }}", "limits msg_trace trace_dest jetstream export", "{}"),
    (CALLOUT, "account acc", "word 7"),
    (CALLOUT, "xkey key", "word 7"),
    (CALLOUT, "allowed_accounts", "[] word"),
    (RULES, "pub publish import", "a [a,b] 'a.q' 'a\tq' 7 [7] {allow:a} {DENY:a} {also:a}"),
    (RULES, "sub subscribe export", "a [a,b] 'a\tq' 'a\tb\tc' 7 [7] {deny:a}"),
    (RULES, "publish_allow_responses allow_responses", "true {} word 7 [a]"),
    (RULES, "allow_responses", *(
        f"{{{key}:{value}}}" for value in ("7", "-1", "'1m'", "word")
        for key in LIMITS
    )),
    (TARGET, "weight", "100 50 '100%' '7' '-1%' 101 '101%' 0 '%' word 7.5"),
    (TARGET, "cluster destination wait", "word 7"),
    ("accounts {{ A {{ mappings {{ a: {{ {} }} }} }} }}", "dest destination cluster", "b"),
    ("accounts {{ A {{ mappings {{ a.*: {} }} }} }}".replace("a.*: {}", "{}"), "a.*",
     "b $1 [] [{dest:b,weight:50},{dest:c,weight:50}] [{dest:b,weight:50},{dest:c,weight:51}] "
     "[{dest:b,weight:50,cluster:x},{dest:c,weight:51}] [{dest:b,cluster:x}] [{cluster:x}] "
     "[{dest:b,weight:50,cluster:x},{dest:c,weight:51,cluster:x}] b.$2 7"),
    (IMPORT, "service", "word {account:B} {subject:s.x} {account:B,subject:s.x} "
     "{account:B,subject:t.x} {account:B,subject:s.*} {account:B,subject:s.>} "
     "{account:B,subject:>} {account:D,subject:s.x} {account:7,subject:s.x}"),
    (IMPORT, "stream", "{account:B,subject:t.x} {account:B,subject:t.*.>} {account:B,subject:p} "
     "{account:B,subject:q} {account:B,subject:s.x} {account:B,subject:t.x},prefix:x "
     "{account:B,subject:t.x},prefix:7 {account:B,subject:t.*},to:x.$1 "
     "{account:B,subject:t.x},share:true {account:B,subject:t.x},share:1 "
     "{account:B,subject:t.x},allow_trace:true {account:B,subject:t.x},allow_trace:1"),
)  # fmt: skip


@pytest.mark.parametrize(("around", "keys", "values"), [(a, k, " ".join(v)) for a, k, *v in INSIDE])
def test_a_key_inside_of_a_block_takes_what_the_broker_takes(around, keys, values, tmp_path):
    path = tmp_path / "nats.conf"
    for key, value in itertools.product(keys.split(" "), values.split(" ")):
        path.write_text(around.format(f"{key.title() if key != 'a.*' else key}: {value}"))
        line: int | None = 0
        try:
            Deployment.load(path, env={})
        except PermissionsError as error:
            line = error.line
        # Each refusal names the line, which is the last one.
        assert line == (0 if loads(path, {}) else 1 + around.count("\n")), (key, value)


@pytest.mark.parametrize("key", ["system_account", "system"])
def test_a_system_account_in_capitals_is_passed_over_as_the_broker_does(key, tmp_path):
    """Bug: an account was taken for the system account that the broker does not take for it."""
    path = tmp_path / "nats.conf"
    for name, system in ((key, "S"), (key.title(), "$SYS")):
        path.write_text(f"{name}: S\naccounts {{ S {{}} }}\n")
        assert loads(path, {})
        assert Deployment.load(path, env={}).system_account == system
