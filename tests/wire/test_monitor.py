"""Monitoring snapshots of a server, and the redaction of their secrets."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request

import nats
import pytest

from patience import settled, until
from servers import monitor as monitoring
from servers import serving
from subtrie import WireError
from subtrie._core import redaction as secrets
from subtrie.wire import log, monitor

CONNZ = {
    "server_id": "NAB",
    "now": "2026-11-21T00:00:00Z",
    "num_connections": 1,
    "total": 1,
    "offset": 0,
    "limit": 1024,
    "connections": [
        {
            "cid": 7,
            "name": "shop",
            "account": "$G",
            "authorized_user": "shop.example",
            "jwt": "eyJ0eXAiOiJKV1Qi.eyJqdGki.c2ln",
            "subscriptions_list_detail": [
                {"account": "$G", "subject": "a.>", "qgroup": "q", "sid": "1", "msgs": 3, "cid": 7},
                {"account": "$G", "subject": "b", "sid": "2", "msgs": 0, "max": 5, "cid": 7},
            ],
        }
    ],
}


def test_connz():
    snapshot = monitor.loads(json.dumps(CONNZ))
    assert (snapshot.endpoint, snapshot.server, snapshot.complete) == ("connz", "NAB", True)
    first, second = snapshot.subscriptions
    assert (first.subject, first.queue, first.sid, first.delivered) == ("a.>", "q", "1", 3)
    assert (first.kind, first.id, first.name, first.user) == ("client", 7, "shop", "shop.example")
    assert second.max == 5
    assert first.operation == {"op": "SUB", "subject": "a.>", "queue": "q", "sid": "1"}


def test_secrets_are_redacted_unless_revealed():
    text = json.dumps(CONNZ)
    assert "eyJ0" not in str(monitor.loads(text).document)
    assert "eyJ0" in str(monitor.loads(text, reveal=True).document)


def test_a_page_reports_whether_it_is_complete():
    assert not monitor.loads(json.dumps({**CONNZ, "total": 2})).complete
    assert not monitor.loads(json.dumps({**CONNZ, "offset": 1})).complete
    routes = monitor.loads('{"routes":[],"total":9,"limit":5}')  # which is not in pages
    assert (routes.complete, routes.total, routes.limit) == (True, None, None)


def test_subsz_and_routez():
    subsz = monitor.loads(
        b'{"num_subscriptions":2,"total":2,"subscriptions_list":['
        b'{"account":"$G","subject":"a.\\u003e","sid":"1","msgs":0,"cid":5},'
        b'{"account":"APP","subject":"b","qgroup":"q","sid":"R APP b q","msgs":0,"cid":9}]}'
    )
    assert [(s.kind, s.subject, s.account) for s in subsz.subscriptions] == [
        ("client", "a.>", "$G"), ("route", "b", "APP"),
    ]  # fmt: skip
    assert subsz.subscriptions[1].operation["op"] == "RS+"
    routez = monitor.loads(
        b'{"server_id":"N","routes":[{"rid":4,"remote_name":"b","subscriptions_list_detail":['
        b'{"subject":"x","sid":"R APP x","msgs":1,"cid":4}]}]}'
    )
    (only,) = routez.subscriptions
    assert (only.kind, only.id, only.name, only.account) == ("route", 4, "b", "APP")


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ('{"connections":[],"status":"ok"}', "connz"),
        ('{"connections":[],"max_connections":1,"max_payload":2,"in_msgs":3}', "connz"),
        ('{"num_subscriptions":1,"consumers":2,"messages":3}', "subsz"),
        ('{"subscriptions_list":[],"max_payload":1}', "subsz"),
        ('{"routes":[],"streams":1}', "routez"),
    ],
    ids=range(5),
)
def test_keys_of_another_page_do_not_hide_a_list(text, endpoint):
    assert monitor.loads(text).endpoint == endpoint


def test_of_two_lists_of_a_connection_the_detailed_one_is_read():
    detail = [{"subject": "a", "sid": "1", "msgs": 7}]
    connection = {"cid": 1, "subscriptions_list": ["a"], "subscriptions_list_detail": detail}
    for document in ({"connections": [connection]}, {"routes": [{**connection, "rid": 1}]}):
        (only,) = monitor.loads(json.dumps(document)).subscriptions
        assert (only.subject, only.delivered) == ("a", 7)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page of a real server with one client, and parts of the list of connections."""
    names = (
        "connz?subs=detail&auth=1", "connz?subs=1", "subsz?subs=1", "subsz", "routez?subs=detail",
        "connz?limit=1", "connz?limit=1&offset=1", "connz?limit=2", "varz", "jsz", "leafz",
        "gatewayz", "accountz", "accstatz", "healthz",
    )  # fmt: skip

    def saved(url):
        try:
            with urllib.request.urlopen(url) as answer:
                return answer.read()
        except urllib.error.HTTPError as refused:  # the health of a server says so by its status
            return refused.read()

    async def asked(url, http):
        one = await nats.connect(url, name="one", user="ann", password="x")
        two = await nats.connect(url, name="two", user="ann", password="x")
        queued = await one.subscribe("a.>", queue="q")
        await queued.unsubscribe(limit=5)
        await two.subscribe("b")
        for client in (one, two):  # the server has their subscriptions
            await settled(client)
        for client in (one, two, one):
            await client.publish("a.x", b"")
            await client.flush()
        # A PING of nats-py may pass what was published before it.
        await until(lambda: sum(
            each["in_msgs"] for each in json.loads(saved(f"{http}/connz"))["connections"]
        ) == 3)  # fmt: skip
        loop = asyncio.get_running_loop()
        found = [await loop.run_in_executor(None, saved, f"{http}/{name}") for name in names]
        await one.close()
        await two.close()
        return dict(zip(names, found, strict=True))

    folder = tmp_path_factory.mktemp("monitored")
    config = "http: '127.0.0.1:-1'\naccounts { APP { users: [{ user: ann, password: x }] } }"
    with serving(folder, config) as url:
        return asyncio.run(asked(url, monitoring(folder)))


def test_the_pages_of_a_real_server_have_its_subscriptions(pages):
    ann = ("one", "ann", "a.>", "q", "1", 3, 5), ("two", "ann", "b", None, "1", 0, None)
    connz = monitor.loads(pages["connz?subs=detail&auth=1"])
    assert connz.server == json.loads(pages["varz"])["server_id"]
    assert (connz.total, connz.limit, connz.now) == (2, 1024, connz.document["now"])
    rows = [each for each in connz.subscriptions if each.kind == "client"]
    assert {each.server for each in rows} == {connz.server}
    assert {each.account for each in rows} == {"APP"}
    assert sorted((r.name, r.user, r.subject, r.queue, r.sid, r.delivered, r.max or None)
                  for r in rows) == sorted(ann)  # fmt: skip
    plain = monitor.loads(pages["connz?subs=1"]).subscriptions
    assert sorted((r.name, r.subject) for r in plain) == [("one", "a.>"), ("two", "b")]
    numbers = {each.name: each.id for each in rows}
    subsz = monitor.loads(pages["subsz?subs=1"]).subscriptions
    subsz = [each for each in subsz if each.account == "APP" and each.subject[0] != "$"]
    assert {(r.id, r.subject, r.queue, r.sid, r.delivered, r.kind, r.server) for r in subsz} == {
        (numbers["one"], "a.>", "q", "1", 3, "client", connz.server),
        (numbers["two"], "b", None, "1", 0, "client", connz.server),
    }
    assert monitor.loads(pages["subsz"]).subscriptions == ()
    assert monitor.loads(pages["routez?subs=detail"]).endpoint == "routez"


def test_a_page_of_a_real_server_has_all_entries_or_some(pages):
    found = {name: monitor.loads(page) for name, page in pages.items()
             if name.startswith(("connz", "subsz?", "routez"))}  # fmt: skip
    assert {name: (each.complete, each.offset, each.limit) for name, each in found.items()} == {
        "connz?subs=detail&auth=1": (True, 0, 1024),
        "connz?subs=1": (True, 0, 1024),
        "connz?limit=1": (False, 0, 1),
        "connz?limit=1&offset=1": (False, 1, 1),
        "connz?limit=2": (True, 0, 2),
        "subsz?subs=1": (True, 0, 1024),
        "routez?subs=detail": (True, 0, None),
    }
    assert not monitor.loads(b'{"connections":null,"total":1}').complete


@pytest.mark.parametrize(
    "page", ["varz", "jsz", "leafz", "gatewayz", "accountz", "accstatz", "healthz"]
)
def test_a_page_of_a_real_server_without_subscriptions_is_named(pages, page):
    with pytest.raises(WireError, match=f"a response of /{page}, which lists no") as caught:
        monitor.loads(pages[page])
    assert (caught.value.reason, caught.value.status) == ("monitor", 400)
    assert ("--streams" in str(caught.value)) == (page == "jsz")
    assert ("/connz?subs=detail" in str(caught.value)) == (page != "jsz")
    document = json.loads(pages[page])
    for key in document:  # each key that makes the page is needed
        few = {name: value for name, value in document.items() if name != key}
        with pytest.raises(WireError):
            monitor.loads(json.dumps(few))


@pytest.mark.parametrize("sid", ["R APP b", "L APP b", "R APP b q", "RAPP b", "R b", "7"])
def test_the_key_of_a_route_says_the_account(sid):
    entry = {"subject": "b", "sid": sid}
    (routed,) = monitor.loads(json.dumps({"routes": [{"subscriptions_list_detail": [entry]}]})
                              ).subscriptions  # fmt: skip
    words = sid.split(" ")
    of_route = words[0] in ("R", "L")
    assert routed.account == ("APP" if of_route and len(words) > 2 else None)
    (listed,) = monitor.loads(json.dumps({"subscriptions_list": [entry]})).subscriptions
    assert listed.kind == ("route" if of_route else "client")
    assert routed.operation["weight"] is None
    # What the page itself says counts first.
    for route, told in (
        ({"account": "A"}, {}),
        ({}, {"account": "A"}),
        ({"account": "A"}, {"account": "B"}),
    ):
        page = {"routes": [{**route, "subscriptions_list_detail": [{**entry, **told}]}]}
        assert monitor.loads(json.dumps(page)).subscriptions[0].account == "A"


def test_lists_of_plain_subjects_and_no_lists():
    plain = {**CONNZ, "connections": [{"cid": 1, "subscriptions_list": ["a", "b.>"]}]}
    assert [s.subject for s in monitor.loads(json.dumps(plain)).subscriptions] == ["a", "b.>"]
    assert monitor.loads(json.dumps({**CONNZ, "connections": []})).subscriptions == ()
    assert monitor.loads(b'{"num_subscriptions":0}').subscriptions == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "bad json"), (b"[]", "bad json"), (b"[" * 100_000, "bad json"), (b"{}", "monitor"),
        (b'{"connections":7}', "monitor"), (b'{"connections":[7]}', "monitor"),
        (b'{"connections":[],"total":true}', "monitor"), (b'{"connections":[],"now":7}', "monitor"),
        (b'{"connections":[],"total":1.0}', "monitor"), (b'{"connections":""}', "monitor"),
        (b'{"connections":{}}', "monitor"), (b'{"routes":{}}', "monitor"),
        (b'{"num_subscriptions":1,"subscriptions_list":{}}', "monitor"),
        *((b'{"routes":[],"%s":true}' % key, "monitor") for key in (b"offset", b"now")),
        *((b'{"connections":[],"%s":"1"}' % key, "monitor")
          for key in (b"total", b"offset", b"limit")),
        *((b'{"connections":[{"%s":[],"subscriptions_list":["a"]}]}' % key, "monitor")
          for key in (b"cid", b"name", b"authorized_user", b"account")),
        *((b'{"subscriptions_list":[{"subject":"a","%s":%s}]}' % (key, value), "monitor")
          for key, value in ((b"account", b"1"), (b"msgs", b'"1"'), (b"max", b"true"),
                             (b"cid", b"true"))),
        (b'{"subscriptions_list":[{}]}', "monitor"), (b'{"routes":[{"subscriptions_list":[7]}]}',
                                                      "monitor"),
    ],
)  # fmt: skip
def test_a_document_that_is_not_a_snapshot_is_refused(text, reason):
    with pytest.raises(WireError) as caught:
        monitor.loads(text)
    assert caught.value.reason == reason


LINE = (
    '[1] 2026/11/21 02:50:28.844932 [TRC] 127.0.0.1:1 - cid:8 - <<- [CONNECT {"user":"u",'
    '"jwt":"eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl","nkey":"UABC","sig":"x\\"y","lang":"go"}]'
)


def test_secrets_in_the_log_are_redacted_unless_revealed():
    record = log.parse_line(LINE)
    assert json.loads(record.args[0]) == {
        "user": "u", "jwt": "[REDACTED]", "nkey": "[REDACTED]", "sig": "[REDACTED]", "lang": "go",
    }  # fmt: skip
    assert "eyJqdGki" in log.parse_line(LINE, reveal=True).args[0]
    sentence = (
        "[1] 2026/11/21 02:50:28.844932 [ERR] 127.0.0.1:1 - cid:8 - jwt eyJ0eXAiOiJK.eyJqdGki"
    )
    assert log.parse_line(sentence).message == "jwt [REDACTED]"
    assert "eyJ" in log.parse_line(sentence, reveal=True).message
    payload = LINE.partition("<<-")[0] + '<<- MSG_PAYLOAD: ["{\\"pass\\":\\"hunter2\\"}"]'
    assert log.parse_line(payload).payload == '{"pass":"[REDACTED]"}'
    assert log.parse_line(payload, reveal=True).payload == '{"pass":"hunter2"}'
    plain = "[1] 2026/11/21 02:50:28.844932 [INF] jwt eyJ0eXAiOiJK.eyJqdGki"
    assert log.parse_line(plain).message == "jwt [REDACTED]"
    assert "eyJ" in log.parse_line(plain, reveal=True).message


@pytest.mark.parametrize(
    "text",
    [
        '{"pass":"hunter2"}', '{"PASS" : "hunter2"}', '{"auth_token":"hunter2","a":1}',
        '{"pass":"hunter2',  # cut off
        '{"a":{"pass":"hunter2"}}',
    ],
)  # fmt: skip
def test_a_password_is_redacted_anywhere(text):
    assert "hunter2" not in secrets.redact_text(text)


def test_an_nkey_seed_is_redacted_anywhere():
    seed = "SU" + "A" * 56
    assert seed not in secrets.redact_text(f"loaded {seed}.")
    assert secrets.redacted({"x": [f"a {seed}"]}) == {"x": ["a [REDACTED]"]}
    assert secrets.redacted({"pass": ""}) == {"pass": ""}


@pytest.mark.parametrize("text", ["eyJ", "eyJ.", "eyJaaaaaaaa.", '"pass":"', "SUA", "\\"])
def test_a_large_hostile_text_is_redacted(text):
    """Bug: 48 KB took 12.7 s, so that a payload of 1 MiB took over an hour."""
    hostile = text * (1_048_576 // len(text))
    assert len(secrets.redact_bytes(hostile.encode())) == len(hostile)
    assert secrets.redact_text(hostile)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Cookie:x", "Cookie:[REDACTED]"),
        ("AUTHORIZATION \t:\t a b\r\nX: y", "AUTHORIZATION \t:\t [REDACTED]\r\nX: y"),
        (r'["a\r\ncookie: c: d\r\n"]', r'["a\r\ncookie: [REDACTED]\r\n"]'),
        ("Set-Cookie: a; Cookie: b", "Set-Cookie: [REDACTED]"),
        ("x-cookie: a 1cookie: b", "x-cookie: a 1cookie: b"),
        ("cookie: \r\n cookie:", "cookie: \r\n cookie:"),
        ("\u017fet-cookie: a", "\u017fet-cookie: a"),
    ],
)
def test_the_value_of_a_header_with_credentials_is_redacted(text, shown):
    assert secrets.redact_text(text) == shown
    data = secrets.redact_bytes(text.encode())
    assert len(data) == len(text.encode())
    assert (b"*" in data) == (text != shown)


def test_a_token_inside_a_longer_text_is_redacted():
    token = "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl"
    for text in (f"Bearer_{token}", f"a.{token}.b", f"x {token}.", f"{token}.more.and.more"):
        assert "eyJ0" not in secrets.redact_text(text)
        assert b"eyJ0" not in secrets.redact_bytes(text.encode())
    assert secrets.redact_text("eyJshort.abcd eyJ0eXAiOiJK.abc") == "eyJshort.abcd eyJ0eXAiOiJK.abc"


@pytest.mark.parametrize(
    "name", ["pass", "password", "auth_token", "jwt", "nkey", "sig", "proxy_sig", "nonce"]
)
def test_each_option_with_a_secret_is_redacted_in_any_case(name):
    for key in (name, name.upper(), name.title()):
        told = {"a": [{key: "hunter2", "x": 1}], "lang": "go"}
        assert secrets.redacted(told) == {"a": [{key: "[REDACTED]", "x": 1}], "lang": "go"}
        text = json.dumps(told)
        assert secrets.redact_text(text) == text.replace("hunter2", "[REDACTED]")
        assert secrets.redact_text(text.replace(": ", " : ")).count("[REDACTED]") == 1
        for empty in ("", None, 0):
            assert secrets.redacted({key: empty}) == {key: empty}
    assert secrets.redacted({f"x{name}": "hunter2"}) == {f"x{name}": "hunter2"}
    assert {
        "pass", "password", "auth_token", "jwt", "nkey", "sig", "proxy_sig", "nonce",
    } == secrets.SECRET  # fmt: skip


@pytest.mark.parametrize("name", ["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"])
def test_each_header_with_credentials_is_redacted(name):
    for before in ("", "\r\n", r"\r\n", r"\t", '"', " ", "x "):
        text = f"{before}{name}: Bearer hunter2"
        assert secrets.redact_text(text) == f"{before}{name}: [REDACTED]"
        assert secrets.redact_bytes(text.encode()) == f"{before}{name}: {'*' * 14}".encode()
    for other in (f"X-{name}: hunter2", f"{name}s: hunter2", f"{name} hunter2"):
        assert secrets.redact_text(other) == other


@pytest.mark.parametrize("kind", "UAONCXSPZ")
@pytest.mark.parametrize("length", [55, 56, 57])
def test_a_seed_of_each_kind_is_redacted_whole(kind, length):
    seed = f"S{kind}{'A' * length}"
    wanted = length == 56 and kind in "UAONCX"
    assert secrets.redact_text(f"<{seed}>") == ("<[REDACTED]>" if wanted else f"<{seed}>")
    assert (seed.encode() not in secrets.redact_bytes(seed.encode())) == wanted
    assert secrets.redact_text(f"A{seed}") == f"A{seed}"


@pytest.mark.parametrize("first", [7, 8, 9])
@pytest.mark.parametrize("second", [3, 4, 5])
@pytest.mark.parametrize("third", [None, 3, 4])
def test_what_is_long_enough_to_be_a_jwt_is_redacted(first, second, third):
    whole = ["eyJ" + "a" * first, "b" * second, *(["c" * third] if third else [])]
    is_jwt = first >= 8 and second >= 4
    taken = 3 if third == 4 else 2
    wanted = ".".join(["x[REDACTED]", *whole[taken:]]) if is_jwt else "x" + ".".join(whole)
    text = "x" + ".".join(whole)
    assert secrets.redact_text(text) == wanted
    shown = secrets.redact_bytes(text.encode()).decode()
    assert len(shown) == len(text)
    assert ("*" in shown) == is_jwt
