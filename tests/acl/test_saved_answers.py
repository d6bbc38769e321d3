"""Saved answers of a broker's monitoring port: each field, and what is refused."""

from __future__ import annotations

import json
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from servers import serving
from subtrie import PermissionsError
from subtrie.acl import Deployment
from subtrie.acl._account import Target
from subtrie.acl._load import snapshots


def detail(**more):
    return {"server_id": "N", "account_detail": {"account_name": "A", **more}}


def connections(*rows):
    return {"server_id": "N", "connections": list(rows)}


SUBSCRIPTIONS = [{"subject": "s"}, {"subject": "t.*", "qgroup": "q"}]
ROW = {"cid": 5, "account": "A", "authorized_user": "u"}
ROW |= {"subscriptions_list_detail": SUBSCRIPTIONS}


def loaded(tmp_path, *documents):
    path = tmp_path / "told.json"
    path.write_text("\n".join(json.dumps(each) for each in documents))
    return Deployment.load(path)


def test_an_account_as_a_broker_tells_it(tmp_path):
    found = loaded(tmp_path, detail(
        jetstream_enabled=True,
        exports=[{"subject": "a.>", "type": "stream"},
                 {"subject": "b", "type": "service", "approved_accounts": ["X"]}],
        imports=[{"subject": "c", "type": "stream", "account": "X", "local_subject": "d"},
                 {"subject": "e", "type": "service", "account": "X", "invalid": True}],
        mappings={"m": [{"subject": "p", "weight": 30}, {"subject": "q", "weight": 80},
                        {"subject": "r", "weight": 40, "cluster": "z"}]},
    ), {**detail(), "system_account": "S"})  # fmt: skip
    assert found.system_account == "S"
    assert loaded(tmp_path, {**detail(), "system_account": ""}).system_account is None
    assert found.ignored == ["A: the broker ignores the service import e"]


def test_mappings_and_exports_as_a_broker_tells_them(tmp_path):
    told = detail(
        exports=[{"subject": "a.>", "type": "stream"},
                 {"subject": "b", "type": "service", "approved_accounts": ["X"]}],
        imports=[{"subject": "c", "type": "stream", "account": "X", "local_subject": "d"}],
        mappings={"m": [{"subject": "q", "weight": 80}, {"subject": "p", "weight": 30},
                        {"subject": "r", "weight": 40, "cluster": "z"}]},
    )  # fmt: skip
    account = loaded(tmp_path, told).accounts["A"]
    assert [(e.kind, e.subject, e.accounts) for e in account.exports] == [
        ("stream", "a.>", None), ("service", "b", ("X",)),
    ]  # fmt: skip
    assert [(e.kind, e.account, e.subject, e.local) for e in account.imports] == [
        ("stream", "X", "c", "d")
    ]
    # The broker adds up the weights of a cluster.
    assert account.mappings[0].targets == (
        Target("p", 30), Target("q", 50), Target("r", 40, "z"),
    )  # fmt: skip
    assert account.jetstream is False
    for enabled in (True, False):
        told = loaded(tmp_path, detail(jetstream_enabled=enabled))
        assert told.accounts["A"].jetstream is enabled


def test_of_what_every_broker_adds_the_imports_from_the_system_account_are_left_out(tmp_path):
    rows = [
        {"subject": "$JS.API.INFO", "type": "service", "account": name, "local_subject": local}
        for name in ("SYS", "X") for local in ("$JS.API.INFO", "other")
    ]  # fmt: skip
    found = loaded(tmp_path, {**detail(imports=rows), "system_account": "SYS"}).accounts["A"]
    assert [(each.account, each.local) for each in found.imports] == [
        ("SYS", "other"), ("X", "$JS.API.INFO"), ("X", "other"),
    ]  # fmt: skip


@pytest.mark.parametrize(("subject", "local", "ordered"), [
    ("a.*.*", "b.*.*", False), ("a.*", "b.*", True), ("a.*.*", "a.*.*", True),
    ("a.*.*", "b.$2.$1", True), ("a.b", "c.d", True),
])  # fmt: skip
def test_the_order_of_several_wildcards_is_not_told(subject, local, ordered, tmp_path):
    row = {"subject": subject, "type": "stream", "account": "X", "local_subject": local}
    [taken] = loaded(tmp_path, detail(imports=[row])).accounts["A"].imports
    assert taken.ordered is ordered


def test_connections_are_users_with_their_subscriptions(tmp_path):
    unnamed = {"cid": 7, "name_tag": "x"}
    found = loaded(tmp_path, connections(ROW, {**ROW, "subscriptions_list_detail": None}, unnamed))
    assert found.subscriptions == {"A/u": {("s", None), ("t.*", "q")}, "client 7": set()}
    assert found.subscribed("A", "t.x") == ("A/u",)
    assert found.subscribed("A", "u") == ()
    assert not found.users["A/u"].determined


@pytest.mark.parametrize("key", ["authorized_user", "jwt", "name_tag"])
def test_each_field_of_an_answer_with_logins_tells_that_it_is_one(key, tmp_path):
    assert "client 7" in loaded(tmp_path, connections({"cid": 7, key: ""})).users


def test_who_subscribes_a_pattern_now_is_told_for_each_account(tmp_path):
    rows = ({**ROW, "account": name, "authorized_user": f"u{name}"} for name in "AB")
    found = loaded(tmp_path, connections(*rows))
    assert [found.subscribed(name, "t.>") for name in "ABC"] == [("A/uA",), ("B/uB",), ()]


#: Documents that are refused, and the reason.
REFUSED = {
    "no-auth": (connections({"cid": 5}), "snapshot-auth"),
    "account": (connections({**ROW, "account": 7}), "jwt"),
    "subject": (connections({**ROW, "subscriptions_list_detail": [{"subject": 7}]}), "jwt"),
    "pattern": (connections({**ROW, "subscriptions_list_detail": [{"subject": "a..b"}]}),
                "empty-token"),
    "rows": (connections(7), "snapshot"),
    "subscriptions": (connections({**ROW, "subscriptions_list_detail": [7]}), "snapshot"),
    "name": (detail(account_name=7), "jwt"),
    "imports": (detail(imports=[7]), "snapshot"),
    "mappings": (detail(mappings={"a": 7}), "snapshot"),
    "weights": (detail(mappings={"a": [{"subject": "b", "weight": "x"}]}), "snapshot"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_answers_that_are_not_valid_are_refused_with_the_file(name, tmp_path):
    document, reason = REFUSED[name]
    with pytest.raises(PermissionsError, match=r"told\.json: ") as caught:
        loaded(tmp_path, document)
    assert caught.value.reason == reason


@pytest.mark.parametrize(("text", "number"), [
    ("{}", None), ("[]", None), ("7", None), ('{"server_id": "N"}', None), ("port: 1", None),
    ('{"server_id": "N", "accounts": []}', 1), ('{"accounts": []}', None),
    ('{"server_id": "N", "connections": []}\n{"server_id": "N", "account_detail": {}}\n', 2),
    ('[{"server_id": "N", "connections": []}]', 1),
    ('{"server_id": "N", "connections": []} x', None),
    ('{"server_id": "N", "connections": []} {"other": 1}', None), ("[" * 10_000, None),
])  # fmt: skip
def test_answers_are_known_by_their_keys(text, number):
    found = snapshots.documents_in(text)
    assert (None if found is None else len(found)) == number


@pytest.fixture
def monitoring():
    """An HTTP server that answers as a test says; no broker sends such answers."""
    answers: dict[str, bytes] = {}
    asked: list[str] = []
    logins: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            logins.append(self.headers.get("Authorization", ""))
            path, _, _ = self.path.partition("?")
            data = answers.get(self.path, answers.get(path, b""))
            self.send_response(302 if data == b"elsewhere" else 200)
            if data == b"elsewhere":
                self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers, asked, logins
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("data", "reason"), [
    (b"[]", "snapshot"), (b"{", "snapshot"), (b"7", "snapshot"), (b"[" * 100_000, "snapshot"),
    (b'{"server_id": "N"}', "snapshot"),
    (b'{"server_id": "N", "accounts": []}' + b" " * 70, "answer-size"),
])  # fmt: skip
def test_an_answer_of_another_kind_is_refused_with_the_address(
    data, reason, monitoring, monkeypatch
):
    address, answers, *_ = monitoring
    monkeypatch.setattr(snapshots, "MAX_ANSWER", 100 if reason == "answer-size" else 10**6)
    answers["/accountz"] = data
    login = address.replace("//", "//user:hidden-word@")
    with pytest.raises(PermissionsError, match=r"127\.0\.0\.1") as caught:
        list(snapshots.documents_at(address))
    assert caught.value.reason == reason
    assert snapshots.shown_address(f"{login}/a@b") == f"{address.replace('//', '')}/a@b"


def test_an_answer_of_the_most_bytes_is_read(monitoring, monkeypatch):
    address, answers, asked, _ = monitoring
    answers["/accountz"] = b'{"server_id": "N", "accounts": ["A b"]}'
    answers["/connz"] = b'{"server_id": "N", "connections": []}'
    monkeypatch.setattr(snapshots, "MAX_ANSWER", len(answers["/accountz"]))
    assert len(list(snapshots.documents_at(f"{address}/"))) == 3
    assert asked == [
        "/accountz", "/accountz?acc=A%20b", "/connz?auth=1&subs=detail&limit=1024&offset=0",
    ]  # fmt: skip


def test_a_login_of_an_address_is_sent_and_not_shown(monitoring):
    address, answers, asked, logins = monitoring
    login = address.replace("//", "//us%40er:hidden-word@")
    whole = {"server_id": "N", "accounts": ["A"], "x": "y" * 10**6}
    answers["/accountz"] = json.dumps(whole).encode()
    answers["/connz"] = json.dumps(connections(ROW | {"jwt": "no.token"})).encode()
    with pytest.raises(PermissionsError) as refused:
        Deployment.load(login)
    assert refused.value.file == address.replace("//", "")
    assert len(asked) == 3
    assert b64decode(logins[0].removeprefix("Basic ")) == b"us@er:hidden-word"


def test_what_does_not_answer_is_named(tmp_path):
    with pytest.raises(OSError, match=r"^http:127.0.0.1:1/accountz does not answer: .*refused"):
        Deployment.load("http://user:hidden-word@127.0.0.1:1")
    with pytest.raises(OSError, match="does not answer: Invalid IPv6 URL"):
        Deployment.load("http://[::1")
    with serving(tmp_path, "") as url, pytest.raises(OSError, match="does not answer: INFO"):
        Deployment.load(url.replace("nats:", "http:"))


def test_connections_are_asked_for_page_by_page(monitoring, monkeypatch):
    address, answers, asked, _ = monitoring
    monkeypatch.setattr(snapshots, "_PAGE", 2)
    answers["/accountz"] = b'{"server_id": "N", "accounts": null}'
    page = "/connz?auth=1&subs=detail&limit=2&offset="
    for offset, count in ((0, 2), (2, 2), (4, 1)):
        rows = [{"cid": offset + n, "account": "A"} for n in range(count)]
        answers[f"{page}{offset}"] = json.dumps(connections(*rows)).encode()
    assert len(list(snapshots.documents_at(address))) == 4
    assert asked[1:] == [f"{page}{offset}" for offset in (0, 2, 4)]


@pytest.mark.parametrize(("most", "refused"), [(1, True), (2, True), (3, False)])
def test_more_accounts_or_connections_than_the_most_are_an_error(
    monitoring, monkeypatch, most, refused
):
    """The others were left out, and the answer did not say so."""
    address, answers, *_ = monitoring
    monkeypatch.setattr(snapshots, "MAX_ROWS", most)
    monkeypatch.setattr(snapshots, "_PAGE", 1)
    page = "/connz?auth=1&subs=detail&limit=1&offset="
    answers["/accountz"] = b'{"server_id": "N", "accounts": ["A", "B"]}'
    for offset in range(3):
        rows = [{"cid": offset, "account": "A"}] if offset < 2 else []
        answers[f"{page}{offset}"] = json.dumps(connections(*rows)).encode()
    if refused:
        with pytest.raises(PermissionsError, match=r"127\.0\.0\.1.*100,000 accounts") as caught:
            list(snapshots.documents_at(address))
        assert caught.value.reason == "answer-size"
    else:
        assert len(list(snapshots.documents_at(address))) == 6


def test_an_answer_that_leads_elsewhere_is_not_followed(monitoring):
    address, answers, *_ = monitoring
    answers["/accountz"] = b"elsewhere"
    with pytest.raises(OSError, match="302"):
        list(snapshots.documents_at(address))
