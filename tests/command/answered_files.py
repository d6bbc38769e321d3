"""The files that the recorded commands read."""

from __future__ import annotations

from typing import Any

ACCOUNTS = """accounts {
  APP { users: [
    { user: web, password: $P, permissions: {
        publish: { allow: [ "a.*", "b.>" ], deny: [ "a.x" ] }
        subscribe: { allow: [ "in.> workers", "in.y" ] }
        allow_responses: { max: 2, expires: "60s" } } }
    { user: all, password: $P }
    { user: none, password: $P, permissions: {
        publish: { deny: ">" }, subscribe: { deny: [ "s", ">" ] } } }
  ] }
  B { users: [
    { user: bob, password: $P, permissions: {
        publish: [], subscribe: "_INBOX.>", allow_responses: true },
      allowed_connection_types: [ "WEBSOCKET", "MQTT" ] }
  ] }
}
no_auth_user: all
"""
#: The public key of an account.
KEY = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
CALLOUT = f"authorization {{ auth_callout {{ issuer: {KEY}, account: B, auth_users: [ bob ] }} }}"

ONE = """authorization { users: [ { user: one, password: $P, permissions: {
  publish: [ "a.*" ], subscribe: [ "b" ] } } ] }
"""

STREAMS = """accounts {
  A { jetstream: enabled, users: [
    { user: writer, password: $P, permissions: { publish: "orders.*", subscribe: "_INBOX.>" } }
    { user: reader, password: $P, permissions: {
        publish: [ "$JS.API.DIRECT.GET.ORDERS" ], subscribe: [ "_INBOX.>" ] } }
    { user: root, password: $P }
  ] }
  B { users: [ { user: b, password: $P } ] }
}
"""

FLOWS = """accounts {
  A { users: [ { user: a, password: $P, permissions: { publish: "orders.*" } }
               { user: mute, password: $P, permissions: { publish: [], subscribe: "x" } } ]
      exports: [ { stream: "orders.>" }, { service: "ask.*" }, { stream: "never" } ]
      mappings: { "orders.old": "orders.new" } }
  B { users: [ { user: b, password: $P, permissions: { subscribe: [ "from.>", "mine" ] } } ]
      imports: [ { stream: { account: A, subject: "orders.>" }, to: "from.>" }
                 { service: { account: A, subject: "ask.me" } } ] }
  C { users: [ { user: c, password: $P, permissions: { publish: "c", subscribe: "c" } } ]
      imports: [ { stream: { account: A, subject: "orders.>" }, prefix: "far" } ] }
}
"""

LINKED = """accounts {
  A { users: [ { user: a, password: $P, permissions: { publish: "p.>", subscribe: "s.>" } } ] }
  B { users: [ { user: b, password: $P } ] }
}
leafnodes { port: 7422
  remotes: [ { url: "nats-leaf://hub", account: A, deny_exports: "p.x", deny_imports: "s.x" } ] }
gateway { name: here, port: 7522, gateways: [ { name: there, url: "nats://there:7522" } ] }
cluster { name: here, port: 6222 }
websocket { port: 8080, no_tls: true }
mqtt { port: 1883 }
"""


def _stream(name: str, subjects: list[str], consumers: tuple[str, ...] = (), **config: Any) -> Any:
    made = [
        {
            "stream_name": name,
            "name": each,
            "config": {"durable_name": each, "ack_policy": "explicit", "filter_subject": "orders.x",
                       "deliver_subject": f"to.{each}", "deliver_group": "g"}
            if each == "pushed"
            else {"durable_name": each, "ack_policy": "explicit"},
        }
        for each in consumers
    ]  # fmt: skip
    return {
        "name": name,
        "config": {"name": name, "subjects": subjects, "retention": "limits", **config},
        "consumer_detail": made,
    }


JSZ = {
    "server_id": "N",
    "account_details": [
        {"name": "A", "id": "A", "stream_detail": [
            _stream("ORDERS", ["orders.>"], ("shipper", "pushed"), allow_direct=True),
            _stream("ALL", ["orders.x", "z"], republish={"src": "z", "dest": "again"}),
            _stream("COPY", [], mirror={"name": "ORDERS"}),
        ]},
        {"name": "B", "id": "B", "stream_detail": [_stream("TWICE", ["b"])]},
        {"name": "C", "id": "C", "stream_detail": [_stream("TWICE", ["c"])]},
    ],
}  # fmt: skip

FILES: dict[str, Any] = {
    "a.conf": ACCOUNTS,
    "b.conf": ACCOUNTS.replace('"b.>" ]', '"b.c", "n.>" ]')
    .replace("{ user: all", "{ user: new")
    .replace("no_auth_user: all", "")
    .replace('"in.y"', '"in.y", "q.* pool"'),
    "asked.conf": ACCOUNTS.replace("no_auth_user: all", CALLOUT),
    "one.conf": ONE,
    "two.conf": ONE.replace("user: one", "user: two").replace('"b"', '"b", "c.>"'),
    "rules.json": {
        "subtrie": 1, "publish_allow": ["a.*", "a.*.>", "a.b"], "publish_deny": ["a.z"],
        "subscribe_allow": ["sub.>"], "subscribe_deny": ["sub.x"],
        "allow_responses": {"max": -1, "expires": -1},
    },
    "danger.json": {
        "subtrie": 1, "publish_allow": ["a.*", "p.danger.666.x.>"],
        "publish_deny": ["p.danger.666.x.y"], "subscribe_allow": ["b"],
    },
    "policy.txt": "# about web\n\nyes publish a.b\nno publish a.b\nyes publish a.x\n"
    "no publish a.x\nyes subscribe in.* workers\nyes subscribe in.*\n"
    "yes receive in.z in.* workers\nno receive in.z in.y\n",
    "good.txt": "of a.conf APP/web\nyes publish a.b\n  # more\nof rules.json\nyes publish a.b\n"
    "broker yes subscribe sub.*\nstrict no subscribe sub.*\n",
    "wrong.txt": "perhaps publish a\nyes publish\nyes publish a b\nyes subscribe a b c\n"
    "yes receive a\nof\nof a b c\nno publish 'a\nyes publish a..b\nof missing.conf\n"
    "of asked.conf APP/web\nyes publish a b c d e\nno subscribe a.*\nof a.conf nobody\n",
    "empty.txt": "# nothing\n",
    "jsz.json": JSZ,
    "jsz.conf": STREAMS,
    "flows.conf": FLOWS,
    "linked.conf": LINKED,
    "patterns.txt": "# the subscriptions\norders.*.new q1\norders.>\nusers.*.x\n",
}  # fmt: skip
