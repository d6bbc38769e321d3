"""Streams that inputs tell, what roles need of them, and the ways to them: each field by itself."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie.acl import Deployment
from subtrie.acl._jetstream import load
from subtrie.acl._jetstream.access import ways_of
from subtrie.acl._jetstream.load import holds_streams, load_streams
from subtrie.acl._jetstream.need import ROLES, NotEnough, Target, needed, stream_of
from subtrie.acl._jetstream.overlaps import overlaps
from subtrie.acl._jetstream.streams import Consumer, Origin, Stream, Streams

CONSUMERS = (
    Consumer("pull"), Consumer("quiet", ack_policy="none"), Consumer("push", deliver="to.me"),
    Consumer("shared", deliver="to.us", group="g", ack_policy="none"),
)  # fmt: skip
ORDERS = Stream("O", "A", subjects=("o.>",), consumers=CONSUMERS)
BUCKET = Stream("KV_b", "A", subjects=("$KV.b.>",))
API = "$JS.API."
NEXT = f"{API}CONSUMER.MSG.NEXT.O"


def target(name="O", stream=ORDERS, **more):
    return Target(name, stream=stream, **more)


#: A role, its target, and what it publishes and subscribes to besides an inbox.
NEEDS = [
    ("publish", target(), {"o.>"}, set()),
    ("publish", target(subjects=("o.a",)), {"o.a"}, set()),
    ("pull", target(consumer="pull"), {f"{NEXT}.pull", "$JS.ACK.O.pull.>"}, set()),
    ("pull", target(consumer="quiet"), {f"{NEXT}.quiet"}, set()),
    ("pull", target(consumer="new"), {f"{NEXT}.new", "$JS.ACK.O.new.>"}, set()),
    ("pull", target(), {f"{API}CONSUMER.CREATE.O.*.o.>", f"{NEXT}.*",
                        "$JS.ACK.O.*.>"}, set()),
    ("pull", target(subjects=(">",)), {f"{API}CONSUMER.CREATE.O.*", f"{NEXT}.*",
                                       "$JS.ACK.O.*.>"}, set()),
    ("push", target(), {f"{API}CONSUMER.CREATE.O", "$JS.ACK.O.*.>"}, set()),
    ("push", target(consumer="push"), {"$JS.ACK.O.push.>"}, {"to.me"}),
    ("push", target(consumer="shared"), set(), {"to.us g"}),
    ("push", target(consumer="x", deliver="d"), {"$JS.ACK.O.x.>"}, {"d"}),
    ("push", target(consumer="push", deliver="d"), {"$JS.ACK.O.push.>"}, {"d"}),
    ("ordered", target(), {f"{API}CONSUMER.CREATE.O", "$JS.FC.O.>"}, set()),
    ("kv-read", target("b", None), {f"{API}STREAM.INFO.KV_b", f"{API}STREAM.MSG.GET.KV_b",
                                    f"{API}DIRECT.GET.KV_b.$KV.b.>"}, set()),
    ("kv-read", target("b", BUCKET),
     {f"{API}STREAM.INFO.KV_b", f"{API}STREAM.MSG.GET.KV_b"}, set()),
    ("kv-write", target("b", BUCKET, subjects=("k", "l")),
     {f"{API}STREAM.INFO.KV_b", "$KV.b.k", "$KV.b.l"}, set()),
    ("kv-watch", target("b", BUCKET), {f"{API}STREAM.INFO.KV_b", f"{API}CONSUMER.CREATE.KV_b",
                                       f"{API}CONSUMER.INFO.KV_b.*", "$JS.FC.KV_b.>"}, set()),
    ("request", target("ask"), {"ask"}, set()),
    ("request", target("ask", subjects=("a", "b")), {"a", "b"}, set()),
    ("service", target("ask"), set(), {"ask"}),
    ("service", target("ask", subjects=("a", "b")), set(), {"a", "b"}),
    ("consumer-create", target(consumer="c"), {f"{API}CONSUMER.CREATE.O.c"}, set()),
    ("consumer-create", target(consumer="c", subjects=("o.a", ">")), {f"{API}CONSUMER.CREATE.O.c"},
     set()),
    ("consumer-create", target(consumer="c", subjects=("o.a", "o.b")),
     {f"{API}CONSUMER.CREATE.O.c.o.a", f"{API}CONSUMER.CREATE.O.c.o.b"}, set()),
]  # fmt: skip


@pytest.mark.parametrize(("role", "of", "publish", "subscribe"), NEEDS)
def test_a_role_needs_no_more_than_its_target_tells(role, of, publish, subscribe):
    found = needed(role, of)
    assert set(found.publish) == publish
    answered = role != "service" and not (role == "push" and of.consumer)
    assert set(found.subscribe) == subscribe | ({"_INBOX.>"} if answered else set())
    assert found.responses is (role == "service")
    permissions = found.permissions()
    assert set(permissions.publish_allow) == publish
    assert (permissions.allow_responses is not None) is (role == "service")


@pytest.mark.parametrize("sources", [[], ["jsz.json"]])
def test_a_colon_is_part_of_a_subject(tmp_path, monkeypatch, sources):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jsz.json").write_text(
        '{"server_id": "N", "account_details": [{"name": "svc", "id": "svc"}]}'
    )
    done = CliRunner().invoke(app, ["acl", "need", "request", "svc:ask", *sources, "--json"])
    assert (done.exit_code, json.loads(done.stdout)["publish_allow"]) == (0, ["svc:ask"])


def test_the_inbox_of_a_client_is_its_own():
    assert set(needed("pull", target(consumer="pull", inbox="_INBOX_me")).subscribe) == {
        "_INBOX_me.>"
    }


@pytest.mark.parametrize(("role", "of", "words"), [
    ("publish", target(stream=None), "the subjects of O are not known; give --subject"),
    ("pull", target(stream=None), "the subjects of O are not known"),
    ("pull", target(consumer="push"), "O/push is a push consumer; use the role push"),
    ("push", target(consumer="pull"), "O/pull is a pull consumer; use the role pull"),
    ("push", target(consumer="x"), "the deliver subject of O/x is not known; give --deliver"),
    ("consumer-create", target(), "name the consumer: O/CONSUMER"),
])  # fmt: skip
def test_what_is_missing_of_a_target_is_named(role, of, words):
    with pytest.raises(NotEnough) as caught:
        needed(role, of)
    assert words in str(caught.value)


@pytest.mark.parametrize(("role", "of", "words"), [
    ("push", target(), ["read all of O"]),
    ("ordered", target(), ["read all of O"]),
    ("kv-watch", target("b", BUCKET), ["read all of KV_b"]),
    ("kv-read", target("b", None), ["the bucket is not known"]),
    ("kv-read", target("b", None, subjects=("k",)), ["not known", "reads every key"]),
    ("kv-read", target("b", BUCKET), []),
    ("kv-read", target("b", BUCKET, subjects=("k",)), ["STREAM.MSG.GET.KV_b reads every key"]),
    ("object-get", target("s", None), ["read all of OBJ_s"]),
    ("object-put", target("s", None), ["STREAM.PURGE.OBJ_s lets the client remove every object"]),
    ("stream-admin", target(), ["copy every other stream"]),
    ("consumer-create", target(consumer="c"), ["lets the client choose the filter"]),
    ("consumer-create", target(consumer="c", subjects=("o.a",)), []),
    ("pull", target(), []),
])  # fmt: skip
def test_what_a_role_may_do_beyond_is_noted(role, of, words):
    notes = needed(role, of).notes
    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes, strict=True))


# --- pages


def page(**stream):
    row = {"name": "O", "config": {"name": "O", "subjects": ["o"]}, "state": {}, **stream}
    return {"server_id": "N", "ha_assets": 0, "account_details": [
        {"name": "A", "id": "KEY", "stream_detail": [row]}]}  # fmt: skip


def config(**more):
    return page(config={"name": "O", **more})


#: Documents that are not valid, and the reason.
REFUSED = {
    "details": ({**page(), "account_details": 7}, "streams"),
    "detail": ({**page(), "account_details": [7]}, "streams"),
    "no-name": ({**page(), "account_details": [{"stream_detail": []}]}, "streams"),
    "no-config": (page(config=None), "streams-config"),
    "stream-name": (page(config={"subjects": ["o"]}), "streams"),
    "stream-number": (page(config={"name": 7}), "streams"),
    "empty-name": (page(config={"name": ""}), "streams"),
    "subject": (config(subjects=[7]), "streams"),
    "pattern": (config(subjects=["a..b"]), "empty-token"),
    "sources": (config(sources={"name": "x"}), "streams"),
    "source": (config(sources=[{}]), "streams"),
    "mirror": (config(mirror={}), "streams"),
    "filter": (config(sources=[{"name": "x", "filter_subject": "a..b"}]), "empty-token"),
    "republish": (config(republish={"src": "a..b"}), "empty-token"),
    "transform": (config(subject_transform={"src": 7}), "streams"),
    "consumers": (page(consumer_detail=[7]), "streams"),
    "consumer": (page(consumer_detail=[{"name": "c"}]), "streams-config"),
    "consumer-filter": (page(consumer_detail=[{"config": {"filter_subject": "a..b"}}]),
                        "empty-token"),
    "other-page": ({"server_id": "N", "connections": []}, "streams"),
    "other": ({"hello": 1}, "streams"),
    "array": ([page(), 7], "json-cut"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_documents_that_are_not_valid_are_refused_with_the_file(name, tmp_path):
    document, reason = REFUSED[name]
    path = tmp_path / "jsz.json"
    path.write_text(json.dumps(document))
    with pytest.raises(PermissionsError, match=r"jsz\.json: ") as caught:
        load_streams([path])
    assert caught.value.reason == reason


def test_every_field_of_a_stream_is_read(tmp_path):
    detail = {
        "name": "O", "subjects": ["o.>", "p"], "allow_direct": True, "mirror_direct": True,
        "republish": {"src": "o.*", "dest": "r.$1"}, "subject_transform": {"dest": "t.>"},
        "retention": "workqueue", "sealed": True, "deny_delete": True, "deny_purge": True,
        "allow_rollup_hdrs": True,
        "sources": [
            {"name": "S", "filter_subject": "f"},
            {"name": "T", "external": {"api": "X.API", "deliver": "X.D"},
             "subject_transforms": [{"src": "g", "dest": "h"}, {}]},
        ],
        "mirror": {"name": "M"},
    }  # fmt: skip
    consumers = [
        {"name": "c", "config": {"filter_subject": "o.a", "durable_name": "c"}},
        {"config": {"name": "d", "deliver_subject": "d", "deliver_group": "g",
                    "filter_subjects": ["o.b", "p"], "ack_policy": "all"}},
        {"config": {"durable_name": "e", "ack_policy": "none"}},
    ]  # fmt: skip
    path = tmp_path / "jsz.json"
    path.write_text(json.dumps(page(config=detail, consumer_detail=consumers)))
    [found] = load_streams([path]).streams
    assert found == Stream(
        "O", "A", str(path), "KEY", ("o.>", "p"),
        (Origin("S", filters=("f",)),
         Origin("T", "X.API", "X.D", ("g", ">"), ("h", "")), Origin("M", mirror=True)),
        (Consumer("c", filters=("o.a",), durable=True),
         Consumer("d", "d", "g", ("o.b", "p"), ack_policy="all"),
         Consumer("e", durable=True, ack_policy="none")),
        direct=True, mirror_direct=True, republish=("o.*", "r.$1"), transform=(">", "t.>"),
        retention="workqueue", sealed=True, keeps_messages=True, keeps_all=True, rollup=True,
    )  # fmt: skip
    path.write_text(json.dumps(config()))
    assert load_streams([path]).streams == (Stream("O", "A", str(path), "KEY"),)
    assert [each.kind for each in (found, BUCKET, Stream("OBJ_x", "A"))] == [
        "stream", "key-value bucket", "object store",
    ]  # fmt: skip


def test_what_is_not_in_a_page_is_named(tmp_path):
    def unseen(document):
        path = tmp_path / "jsz.json"
        path.write_text(json.dumps(document))
        return [each.removeprefix(f"{path}: ") for each in load_streams([path]).unseen]

    assert unseen(page()) == []
    assert unseen({**page(), "streams": 1}) == []
    assert unseen({**page(), "streams": 3}) == ["2 of 3 streams are not in the page"]
    assert unseen({**page(), "meta_cluster": {"cluster_size": 1}}) == []
    assert unseen({**page(), "meta_cluster": {"cluster_size": 3}}) == [
        "the cluster has 3 servers, and the pages of 2 are not given"
    ]
    assert unseen({"server_id": "N", "disabled": True}) == []
    assert unseen(page(state={"consumer_count": 1})) == ["the consumers of A:O are not given"]
    assert unseen(page(state={"consumer_count": 1}, consumer_detail=[])) == []
    one = {"stream_name": "Z", "name": "c", "config": {}}
    assert unseen(one) == ["the stream $G:Z of a consumer is not given"]


def test_pages_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "jsz.json"
    many = [{"name": f"c{n}", "config": {}} for n in range(3)]
    path.write_text(json.dumps(page(consumer_detail=many)))
    for most, fits in ((3, True), (2, False)):
        monkeypatch.setattr(load, "MAX_CONSUMERS", most)
        if fits:
            assert load_streams([path]).streams
        else:
            with pytest.raises(PermissionsError) as caught:
                load_streams([path])
            assert caught.value.reason == "streams-many"
    monkeypatch.undo()
    rows = [{**page()["account_details"][0], "name": name, "id": name} for name in ("A", "B")]
    path.write_text(json.dumps({**page(), "account_details": rows}))
    monkeypatch.setattr(load, "MAX_STREAMS", 2)
    assert len(load_streams([path]).streams) == 2
    monkeypatch.setattr(load, "MAX_STREAMS", 1)
    with pytest.raises(PermissionsError) as caught:
        load_streams([path])
    assert caught.value.reason == "streams-many"


@pytest.mark.parametrize(("text", "is_one"), [
    (json.dumps(page()), True), (f"\n {json.dumps(page())}", True), ("[]", False), ("", False),
    ('{"server_id": "N", "connections": []}', False), ('{"account_details": [', True),
    ('{"ha_assets": 0', True), ('{"other": [', False), ("port: 4222", False),
    ('{"server_id": "N", "ha_assets": 0}', True), ('{"stream_name": "O", "config": {}}', True),
    ('{"stream_name": "O", "config": 7}', False), ('{"config": {"name": "O"}}', False),
    ('{"config": {"name": "O"}, "state": {}}', True), ("[1", False),
])  # fmt: skip
def test_a_file_of_streams_is_known_by_its_keys(text, is_one, tmp_path):
    path = tmp_path / "file"
    path.write_text(text)
    assert holds_streams(path) is is_one
    assert not holds_streams(tmp_path / "none")
    assert not holds_streams("http://127.0.0.1:1")


def test_the_overlap_of_two_streams_is_a_sentence():
    again = Stream("R", "A", subjects=("r",), republish=("r", "o.{{wildcard(1)}}"))
    sends = Stream("D", "A", subjects=("d",), consumers=(Consumer("c", deliver="o.x"),))
    other = Stream("P", "B", subjects=("o.y", "z"), republish=("z", "d"))
    found = overlaps(Streams((ORDERS, again, sends, other), True))
    assert [each.sentence for each in found] == [
        "A:O and B:P both capture o.y",
        "A:O captures what A:R publishes again: o.x",
        "A:O captures what A:D delivers by the consumer c: o.x",
    ]


@pytest.fixture
def two_accounts(tmp_path):
    """A configuration, and a page in which two accounts have a stream of one subject."""
    conf, saved = tmp_path / "nats.conf", tmp_path / "jsz.json"
    accounts = ", ".join(
        f"{name} {{ users: [ {{ user: {name.lower()}, password: x }} ] }}"
        for name in ("SYS", "A", "B")
    )
    conf.write_text(f"system_account: SYS\naccounts {{ {accounts} }}\n")
    config = {"config": {"name": "O", "subjects": ["o.>"]}, "state": {}, "consumer_detail": []}
    details = [{"name": name, "id": name, "stream_detail": [config]} for name in ("A", "B")]
    saved.write_text(json.dumps({"server_id": "N", "ha_assets": 0, "account_details": details}))
    return conf, saved


def asked(*words):
    done = CliRunner().invoke(app, ["acl", *map(str, words), "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, [json.loads(line) for line in done.output.splitlines()]


def test_a_subject_after_an_account_is_one_of_the_streams_of_the_account(two_accounts):
    for question, accounts in {"A:o.x": {"A"}, "B:o.x": {"B"}, "o.x": {"A", "B"}}.items():
        code, rows = asked("who", question, *two_accounts, "--verb", "read")
        assert (code, {row["account"] for row in rows}) == (0, accounts), question


def test_without_streams_every_account_but_the_system_account_may_have_one(two_accounts):
    code, rows = asked("who", "O", two_accounts[0], "--verb", "read")
    assert (code, {row["account"] for row in rows if "user" in row}) == (2, {"A", "B"})


@pytest.mark.parametrize(("words", "code"), [
    (["--from", "A"], 0), (["--to", "B"], 0), (["--user", "a"], 0), (["--from", "SYS"], 1),
    (["--from", "A:p"], 1),
])  # fmt: skip
def test_a_stream_alone_answers_a_question_about_flows(two_accounts, words, code):
    ended, rows = asked("flows", *two_accounts, *words)
    assert (ended, bool(rows)) == (code, code == 0)


def test_a_stream_does_not_overlap_with_itself():
    own = Stream("S", "A", subjects=("s.>", "s.a"), republish=("s.a", "s.b"),
                 consumers=(Consumer("c", deliver="s.x"),))  # fmt: skip
    assert overlaps(Streams((own,), True)) == []


@pytest.mark.parametrize("role", ROLES)
def test_a_role_about_a_stream_needs_that_one_to_exist(role, tmp_path):
    path = tmp_path / "stream.json"
    path.write_text(json.dumps({"config": {"name": "O", "subjects": ["o.>"]}, "state": {}}))
    target = "NEW/c" if role in ("pull", "push", "consumer-create") else "NEW"
    done = CliRunner().invoke(app, ["acl", "need", role, target, str(path)])
    if role in ("request", "service", "stream-admin"):
        assert done.exit_code == 0
    else:
        assert done.exit_code == 2
        assert f"there is no stream {stream_of(role, 'NEW')}; it holds" in done.output


# --- ways

EVERYTHING = "publish: { deny: none }, subscribe: { deny: none }"


def ways(tmp_path, permissions, stream, verb, *others, more=""):
    path = tmp_path / "nats.conf"
    user = f"{{ user: u, password: x, permissions: {{ {permissions} }} }}"
    path.write_text(
        f"jetstream: on\naccounts {{ A {{ jetstream: on, users: [ {user} ] {more} }} }}"
    )
    deployment = Deployment.load(path)
    found = ways_of(deployment, Streams((stream, *others), True), stream, verb, "A/u")
    return {each.name for each in found if each.determined}


BASE = Stream("O", "A", subjects=("o.>",))


def with_(**more):
    return Stream("O", "A", subjects=("o.>",), **more)


#: The stream, the verb, and the ways of a user that may do everything.
WAYS = {
    "plain": (BASE, "delete", {"stream-delete", "stream-purge", "message-delete", "stream-update"}),
    "sealed": (with_(sealed=True), "delete", {"stream-delete"}),
    "keeps-all": (with_(keeps_all=True), "delete",
                  {"stream-delete", "message-delete", "stream-update"}),
    "keeps-messages": (with_(keeps_messages=True), "delete",
                       {"stream-delete", "stream-purge", "stream-update"}),
    "rollup": (with_(rollup=True), "delete",
               {"stream-delete", "stream-purge", "message-delete", "stream-update", "rollup"}),
    "rollup-sealed": (with_(rollup=True, sealed=True), "delete", {"stream-delete"}),
    "rollup-mirror": (with_(rollup=True, origins=(Origin("M", mirror=True),)), "delete",
                      {"stream-delete", "stream-purge", "message-delete", "stream-update"}),
    "queue": (with_(retention="workqueue", consumers=(Consumer("c"),)), "delete",
              {"stream-delete", "stream-purge", "message-delete", "stream-update",
               "acknowledge-c"}),
    "interest": (with_(retention="interest", consumers=(Consumer("c"),)), "delete",
                 {"stream-delete", "stream-purge", "message-delete", "stream-update"}),
    "write": (BASE, "write", {"publish", "update-subjects", "republishing-stream"}),
    "write-sealed": (with_(sealed=True), "write", set()),
    "write-mirror": (with_(origins=(Origin("M", mirror=True),)), "write", set()),
    "write-source": (with_(origins=(Origin("M"),)), "write",
                     {"publish", "update-subjects", "republishing-stream"}),
    "write-no-subjects": (Stream("O", "A"), "write", {"update-subjects"}),
    "read": (BASE, "read", {"message-get", "own-pull-consumer", "own-push-consumer",
                            "stream-snapshot", "copying-stream", "stream-update"}),
    "read-direct": (with_(direct=True), "read",
                    {"message-get", "own-pull-consumer", "own-push-consumer", "direct-get",
                     "stream-snapshot", "copying-stream", "stream-update"}),
    "read-sealed": (with_(sealed=True), "read",
                    {"message-get", "own-pull-consumer", "own-push-consumer", "stream-snapshot",
                     "copying-stream"}),
    "read-consumers": (with_(consumers=(Consumer("c"), Consumer("d", deliver="d"))), "read",
                       {"message-get", "own-pull-consumer", "own-push-consumer", "fetch-c",
                        "deliver-d", "stream-snapshot", "copying-stream", "stream-update"}),
    "read-republished": (with_(republish=("o.*", "r.$1")), "read",
                         {"message-get", "own-pull-consumer", "own-push-consumer", "republish",
                          "stream-snapshot", "copying-stream", "stream-update"}),
    "read-queue": (with_(retention="workqueue", consumers=(Consumer("c"),)), "read",
                   {"message-get", "fetch-c", "stream-snapshot", "copying-stream",
                    "stream-update"}),
    "read-queue-alone": (with_(retention="workqueue"), "read",
                         {"message-get", "own-pull-consumer", "own-push-consumer",
                          "stream-snapshot", "copying-stream", "stream-update"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_the_ways_of_a_user_that_may_do_everything(name, tmp_path):
    stream, verb, expected = WAYS[name]
    assert ways(tmp_path, EVERYTHING, stream, verb) == expected


def test_direct_gets_are_answered_by_a_mirror(tmp_path):
    only = 'publish: "$JS.API.DIRECT.GET.O.>", subscribe: "_INBOX.>"'
    for mirror, answers in (
        (Stream("M", "A", origins=(Origin("O", mirror=True),), mirror_direct=True), True),
        (Stream("M", "A", origins=(Origin("O", mirror=True),)), False),
        (Stream("M", "A", origins=(Origin("O"),), mirror_direct=True), False),
        (Stream("M", "A", origins=(Origin("P", mirror=True),), mirror_direct=True), False),
        (Stream("M", "B", origins=(Origin("O", mirror=True),), mirror_direct=True), False),
        (Stream("M", "A", origins=(Origin("O", "X", mirror=True),), mirror_direct=True), False),
    ):
        assert ways(tmp_path, only, BASE, "read", mirror) == ({"direct-get"} if answers else set())


def test_a_copy_can_be_read_and_an_origin_written(tmp_path):
    copy = Stream("C", "A", origins=(Origin("O"),))
    only = 'publish: [ "$JS.API.STREAM.MSG.GET.C", "o.a" ], subscribe: "_INBOX.>"'
    assert ways(tmp_path, only, BASE, "read", copy) == {"copy-C-message-get"}
    assert ways(tmp_path, only, copy, "write", BASE) == {"copy-O-publish"}
    # Of a copy of a copy; two that copy one another end.
    second = Stream("D", "A", origins=(Origin("C"),))
    deep = only.replace("GET.C", "GET.D")
    assert ways(tmp_path, deep, BASE, "read", copy, second) == {"copy-C-copy-D-message-get"}


def test_an_origin_of_another_account_is_named_by_its_prefix(tmp_path):
    """The stream copies that of the account to which its API prefix leads."""
    path = tmp_path / "nats.conf"
    path.write_text("""jetstream: on
accounts {
  A { jetstream: on, users: [ { user: u, password: x, permissions: {
        publish: "$JS.API.STREAM.MSG.GET.C", subscribe: "_INBOX.>" } } ]
      imports: [ { service: { account: B, subject: "$JS.API.>" }, to: "JSB.API.>" }
                 { stream: { account: B, subject: "JSB.API.>" }, to: "JSC.API.>" } ] }
  B { jetstream: on, exports: [ { service: "$JS.API.>" }, { stream: "JSB.API.>" } ] }
}
""")
    deployment = Deployment.load(path)
    stream = Stream("O", "B", subjects=("o.>",))
    for api, read in (("JSB.API", True), ("JSC.API", False), ("OTHER.API", False), (None, False)):
        copy = Stream("C", "A", origins=(Origin("O", api),))
        found = ways_of(deployment, Streams((stream, copy), True), stream, "read", "A/u")
        assert {each.name for each in found} == ({"copy-C-message-get"} if read else set())


def test_an_import_that_covers_what_a_stream_captures_brings_in_the_rest_too(tmp_path):
    """A consumer delivers under any subject that its stream does not capture."""
    path = tmp_path / "nats.conf"
    exports = '{ service: "$JS.API.>" }, { stream: ">" }, { stream: "o.>" }'
    for subject, read in ((">", {"own-push-consumer", "copying-stream", "stream-update"}),
                          ("o.>", set())):  # fmt: skip
        path.write_text(f"""jetstream: on
accounts {{
  A {{ jetstream: on, exports: [ {exports} ] }}
  B {{ users: [ {{ user: u, password: x }} ]
      imports: [ {{ service: {{ account: A, subject: "$JS.API.>" }}, to: "JSA.>" }}
                 {{ stream: {{ account: A, subject: "{subject}" }}, to: "from.{subject}" }} ] }}
}}
""")
        deployment = Deployment.load(path)
        found = ways_of(deployment, Streams((BASE,), True), BASE, "read", "B/u")
        pushed = {each.name for each in found if each.determined} & {
            "own-push-consumer", "copying-stream", "stream-update",
        }  # fmt: skip
        assert pushed == read


def test_a_user_whose_lists_are_not_known_is_told_apart(tmp_path):
    path = tmp_path / "nats.conf"
    key = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
    path.write_text(
        "jetstream: on\nauthorization { users: [ { user: c, password: x } ]\n"
        f"auth_callout {{ issuer: {key}, auth_users: [ c ] }} }}\n"
        "accounts { A { jetstream: on, users: [ { user: u, password: x } ] }, B {} }\n"
    )
    deployment = Deployment.load(path)
    [way] = ways_of(deployment, Streams((BASE,), True), BASE, "read", "A/u")
    assert (way.name, way.determined) == ("unknown", False)
    assert way.rules == ("decided elsewhere, by the authorization callout of $G",)
    outside = Stream("O", "B", subjects=("o.>",))
    assert list(ways_of(deployment, Streams((outside,), True), outside, "read", "A/u")) == []
    unknown = Stream("O", "NONE", subjects=("o.>",))
    assert list(ways_of(deployment, Streams((unknown,), True), unknown, "read", "A/u")) == []
