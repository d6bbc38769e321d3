"""The files that the recorded commands read."""

from __future__ import annotations

from typing import Any

from answered_sources import CLEAR, TABLES, UNCLEAR

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
#: The public key of a user.
USER_KEY = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
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

#: The rules of the clients of the log.
SHOP = """accounts { SHOP { users: [
  { user: web, password: $P, permissions: {
      publish: [ "prod.safe.443.web_x.>", "orders.*", "orders.never" ]
      subscribe: [ "_INBOX.>" ] } }
  { user: stock, password: $P, permissions: {
      publish: [ "_INBOX.>" ]
      subscribe: [ "prod.safe.443.*.stock_x.>", "orders.> workers" ] } }
  { user: idle, password: $P, permissions: { publish: "idle.>", subscribe: "idle.>" } }
] } }
"""
_FRONT = '[7] 2026/11/{:02} 08:00:{:09.6f} [{}] 127.0.0.1:{} - cid:{} - "v1:go:{}" - '
_GET = "prod.safe.443.web_x.stock_x._.GET.items"


def _log() -> str:
    """Return a log of two days in which each kind of row of an audit has one."""
    lines = ["[7] 2026/11/20 07:59:59.000000 [INF] Starting nats-server",
             "[7] 2026/11/20 07:59:59.100000 [INF]   Version:  2.14.3"]  # fmt: skip
    clock = [0.0, 20]

    def say(client: int, name: str, text: str, level: str = "TRC") -> None:
        clock[0] += 0.25
        front = _FRONT.format(int(clock[1]), clock[0], level, 40_000 + client, client, name)
        lines.append(front + text)

    def publish(subject: str, reply: str = "", body: str = "hi") -> None:
        words = " ".join(filter(None, (subject, reply, str(len(body)))))
        say(2, "web", f"<<- [PUB {words}]")
        say(2, "web", f'<<- MSG_PAYLOAD: ["{body}"]')

    for client, name in ((1, "stock"), (2, "web")):
        say(client, name, f'<<- [CONNECT {{"user":"{name}","pass":"[REDACTED]","name":"{name}"}}]')
    say(1, "stock", "<<- [SUB prod.safe.443.*.stock_x._.GET.items.>  1]")
    say(1, "stock", "<<- [SUB prod.safe.443.*.stock_x._.GET.items workers 2]")
    say(1, "stock", "<<- [SUB orders.> workers 3]")
    say(2, "web", "<<- [SUB _INBOX.w.*  1]")
    for day in (20, 21):
        clock[1] = day
        for number in range(3):
            publish(_GET, f"_INBOX.w.{number}")
            say(1, "stock", f"->> [MSG {_GET} 2 _INBOX.w.{number} 2]")
            say(1, "stock", f"<<- [PUB _INBOX.w.{number} 4]")
            say(1, "stock", '<<- MSG_PAYLOAD: ["fine"]')
            say(2, "web", f"->> [MSG _INBOX.w.{number} 1 4]")
        publish("orders.new")
        say(1, "stock", "->> [MSG orders.new 3 2]")
        publish("prod.safe.443.web_x.stock_x._.GET.itms")
        publish("prod.safe.443.other_x.stock_x._.GET.items")
        say(1, "stock", "->> [MSG prod.safe.443.other_x.stock_x._.GET.items 2 2]")
        publish("prod.safe.0443.web_x.a")
        publish("stray.a")
    publish("secret.x")
    say(2, "web", '->> [-ERR Permissions Violation for Publish to "secret.x"]')
    say(2, "web", 'Publish Violation - User "web", Subject "secret.x"', "ERR")
    lines.append("not a line of the server")
    return "\n".join(lines) + "\n"


FILES |= {"shop.conf": SHOP, "shop.log": _log(), "rows.jsonl": "\n".join((
    '{"id": "r", "kind": "match_literal", "literal": "a.b", "filter": "a.*", "expect": true}',
    '{"id": "w", "kind": "match_literal", "literal": "a.b", "filter": "a.*", "expect": false}',
    '{"kind": "other"}', "[]\n")),
    "bytes.bin": 'CONNECT {"user":"u","pass":"hidden"}\r\nSUB a.* q 1\r\n'
    "PUB a.b r 2\r\nhi\r\nWRONG\r\n",
    "services/shop.py": '''from subtrie.connector import Client, Connector
web = Connector("web.x")
stock = Connector("stock.x")
client = Client("stock.x")

@stock.get("/items/{id}")
async def item(id: int) -> str:
    return "x"

@client.call("GET", "/items")
async def items(): ...

async def use() -> None:
    await web.request("POST", "https://ledger.x:444/entries")
    await client.items(web)
''',
    "open/shop.py": '''from subtrie.connector import Connector
web = Connector("web.x")

async def use(url: str) -> None:
    await web.request("GET", url)
''',
}  # fmt: skip

FILES |= {
    "clear/shop.py": CLEAR, "clear/tables.py": TABLES, "unclear/shop.py": UNCLEAR,
    "none.conf": "accounts { A { users: [] } }\n", "open.conf": "port: 4222\n",
    "limits.json": {"subtrie": 1, "publish_allow": [], "subscribe_allow": ["a\u202eb", "x"],
                    "allow_responses": {"max": 0, "expires": 0}},
    "moved.conf": FLOWS.replace('to: "from.>"', 'to: "then.>"').replace('{ stream: "never" }', ""),
    "odd.conf": ONE.replace("user: one", 'user: "o\x1bn"').replace('"b"', '"b", "\u202ec"'),
}  # fmt: skip

#: Users that are decided elsewhere, a service of the broker, clients with certificates.
FILES |= {
    "called.conf": FLOWS + CALLOUT.replace("bob", "b"),
    "ends.conf": """accounts {
  A { jetstream: enabled, users: [ { user: a, password: $P, permissions: { publish: "a.>" } } ]
      exports: [ { service: "$JS.API.STREAM.NAMES" } ] }
  B { users: [ { user: b, password: $P } ]
      imports: [ { service: { account: A, subject: "$JS.API.STREAM.NAMES" }, to: "names" } ] }
}
leafnodes { port: 7422, authorization { users: [ { user: l, password: $P, account: B } ] } }
no_auth_user: a
jetstream {}
tls { cert_file: "c.pem", key_file: "k.pem", ca_file: "a.pem", verify: true }
""",
    "part.conf": STREAMS.replace("  B { users: [ { user: b, password: $P } ] }\n", ""),
    "part.json": {**JSZ, "streams": 7, "meta_cluster": {"cluster_size": 3}},
    "none.json": {"server_id": "N", "account_details": []},
    "ten.json": {
        "server_id": "N",
        "account_details": [
            {
                "name": "A",
                "stream_detail": [_stream(f"S{number}", [f"s{number}.*"]) for number in range(10)],
            }
        ],
    },
    "copied.json": {
        "server_id": "N",
        "account_details": [
            {
                "name": "A",
                "stream_detail": [
                    _stream(
                        "EDGE",
                        [],
                        mirror={
                            "name": "FAR",
                            "external": {"api": "JS.far.API", "deliver": "to.edge"},
                        },
                    )
                ],
            }
        ],
    },
    "invalid.txt": "a.b\na..b\n",
    "models.txt": "no subscribe sub.*\nyes subscribe sub.*\n",
    "of.txt": "of a.conf web more\nof\n",
    "words.txt": "yes publish a.b q\nyes receive a.b\nyes subscribe a.b q r\n",
    "alone.conf": FLOWS.replace(
        """{ stream: { account: A, subject: "orders.>" }, to: "from.>" }
                 """,
        "",
    ),
    "long.conf": f"""authorization {{ users: [
  {{ user: {"a" * 56}, password: $P,
     permissions: {{ publish: "a.>", subscribe: {{ deny: "b" }} }} }}
  {{ user: two, password: $P,
     permissions: {{ publish: {{ deny: [ x, y ] }}, subscribe: {{ deny: ">" }} }} }}
] }}
""",
    "many.json": {
        "server_id": "N",
        "account_details": [
            {
                "name": "A",
                "stream_detail": [_stream(f"S{number}", [f"s{number}.*"]) for number in range(11)],
            }
        ],
    },
    "noted.conf": """accounts {
  A { users: [
    # subtrie: ignore[unbounded-depth, wrong]
    { user: a, password: $P, permissions: { publish: "a.>", subscribe: ">" } }
    { user: b, password: $P, permissions: { publish: "b.>" // subtrie: ignore[unbounded-depth]
        subscribe: ">" } } # subtrie: ignore[inbox]
    { user: c, password: $P, permissions: { publish: "c.>", subscribe: ">" } }
  ] }
}
""",
    "two.txt": "strict yes publish b.c\nbroker yes publish b.c\nstrict no publish b.c\n"
    "yes receive in.z in.* workers\nno receive in.z in.*\nno subscribe c pool\n",
    "only.txt": "no publish\nno receive a b c d\nno subscribe a b c\nno tell a\nstrict\n"
    "broker strict no publish a\nyes receive a\nof a.conf none more\nof services\n",
    "split.conf": "include flows.conf\n",
    "inboxes.conf": ONE.replace("user: one, password: $P", f"nkey: {USER_KEY}").replace(
        '"b"', '"_INBOX.a.>", "_INBOX.b.>"'
    ),
    "renamed.conf": FLOWS.replace("user: mute", "user: quiet").replace('"c"', '"c.x"'),
    "nologin.conf": ONE.replace('"b"', '"b.>"') + "no_auth_user: one\n",
    "secret.bin": 'CONNECT {"jwt":"ey.secret-jwt","nkey":"SUSECRET","sig":"secret-sig",'
    '"auth_token":"secret-token","user":"u","pass":"secret-word","lang":"go"}\r\n'
    'PUB login 29\r\n{"password":"secret-payload"}\r\n'
    "HPUB a r 30 32\r\nNATS/1.0\r\nAuthorization: x\r\n\r\nhi\r\nPING\r\nPONG\r\nUNSUB 1 2\r\n",
    "cut.bin": "PING\r\nPUB a.b 5\r\nhel",
    # What the broker refused is allowed now.
    "wide.conf": SHOP.replace('"orders.never" ]', '"orders.never", "secret.>" ]'),
    "x=y.conf": SHOP,
    # An entry with a queue group, which covers what is narrowed and was not used itself.
    "queued.conf": SHOP.replace('"_INBOX.>" ] } }', '"orders.*", "orders.> workers" ] } }', 1),
    "both.conf": SHOP.replace('"prod.safe.443.web_x.>", "orders.*", "orders.never"', '"*.new"')
    .replace('"_INBOX.>" ] } }', '"orders.>", "a.>" ] } }', 1),
    # The user web is proven, and another client names itself so.
    "proof.log": "".join(
        f"[7] 2026/11/20 08:00:{second:02}.000001 [TRC] 127.0.0.1:5 - cid:{cid} - {name} - {said}\n"
        for second, (cid, name, said) in enumerate((
            (1, '"v1:go:app" - "SHOP/user:web"', "<<- [SUB orders.new  1]"),
            (1, '"v1:go:app" - "SHOP/user:web"', "<<- [SUB orders.late  2]"),
            (1, '"v1:go:app" - "SHOP/user:web"', "<<- [PUB orders.new 2]"),
            (1, '"v1:go:app" - "SHOP/user:web"', '<<- MSG_PAYLOAD: ["hi"]'),
            (1, '"v1:go:app" - "SHOP/user:web"', "->> [MSG orders.new 1 2]"),
            (2, '"v1:go:web"', "<<- [PUB orders.new 2]"),
            (2, '"v1:go:web"', '<<- MSG_PAYLOAD: ["hi"]'),
        ))
    ),
    "often.conf": SHOP.replace('"orders.never" ]', '"orders.>", "*.new" ]'),
    "routed.bin": "RMSG $G foo 2\r\nhi\r\nRMSG $G foo + bar q1 q2 2\r\nhi\r\nRS+ $G a.b\r\n",
    # A broker accepts subscriptions that are not valid for subtrie.
    "odd.log": "".join(
        f"[7] 2026/11/25 08:14:03.000001 [TRC] 127.0.0.1:50 - cid:5 - <<- [SUB {each}  {row}]\n"
        for row, each in enumerate(("a..b", "orders.>", "a.b*c"))
    ),
    "literal.txt": "a*b.c\na.*\n",
    "connz.json": {"server_id": "N", "now": "2026-11-20T08:00:00Z", "num_connections": 1,
        "connections": [{
            "cid": 5, "kind": "Client", "ip": "127.0.0.1", "name": "web", "account": "A",
            "authorized_user": "web", "subscriptions_list_detail": [
                {"account": "A", "subject": "a.*", "sid": "1", "msgs": 3, "cid": 5},
                {"account": "A", "subject": "orders.>", "qgroup": "q", "sid": "2", "msgs": 0,
                 "cid": 5},
            ]}]},
}  # fmt: skip
