"""Each setting of a stream and of a consumer by itself: who may do what, and what is shown."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie.acl import Deployment
from subtrie.acl._jetstream.access import VERBS, access
from subtrie.acl._jetstream.load import load_streams

#: The ways of a user that may do everything to a stream with one pull consumer.
PLAIN = {
    "read": {"message-get", "fetch-c", "own-pull-consumer", "own-push-consumer", "stream-snapshot",
             "copying-stream", "stream-update"},
    "write": {"publish", "update-subjects", "republishing-stream"},
    "delete": {"stream-delete", "stream-purge", "message-delete", "stream-update"},
}  # fmt: skip
SHOWN = {
    "captures": ["o.>"], "copies": [], "publishes_again": [], "consumers": ["c"], "direct": False,
    "retention": "limits",
}  # fmt: skip
NONE: set[str] = set()
#: A setting, the ways that it gives and takes by verb, and what it changes of what is shown.
STREAM = {
    "subjects": (["p"], {}, {"captures": ["p"]}),
    "allow_direct": (True, {"read": ({"direct-get"}, NONE)}, {"direct": True}),
    "sealed": (True, {
        "read": (NONE, {"stream-update"}), "write": (NONE, PLAIN["write"]),
        "delete": (NONE, {"stream-purge", "message-delete", "stream-update"})}, {}),
    "deny_delete": (True, {"delete": (NONE, {"message-delete"})}, {}),
    "deny_purge": (True, {"delete": (NONE, {"stream-purge"})}, {}),
    "allow_rollup_hdrs": (True, {"delete": ({"rollup"}, NONE)}, {}),
    "retention": ("workqueue", {
        "read": (NONE, {"own-pull-consumer", "own-push-consumer"}),
        "delete": ({"acknowledge-c"}, NONE)}, {"retention": "workqueue"}),
    "republish": ({"src": "o.*", "dest": "r.$1"}, {"read": ({"republish"}, NONE)},
                  {"publishes_again": ["o.* as r.$1"]}),
    "mirror": ({"name": "M"}, {"write": (NONE, PLAIN["write"])}, {"copies": ["mirror of M"]}),
    "sources": ([{"name": "S"}, {"name": "T", "external": {"api": "X.API"}}], {},
                {"copies": ["source S", "source T by X.API"]}),
}  # fmt: skip
#: Settings that say nothing about who may do what to the stream itself.
OF_NO_EFFECT = {
    "mirror_direct": True, "deny_rollup": True, "no_ack": True, "discard_new_per_subject": True,
    "allow_msg_ttl": True, "allow_atomic": True, "max_msgs": 5, "storage": "memory",
    "description": "d", "subject_transform": {"src": "o.*", "dest": "t.$1"},
    "metadata": {"sealed": "true"},
}  # fmt: skip
PULL = ["$JS.API.CONSUMER.MSG.NEXT.O.c", "$JS.ACK.O.c.>"]
#: Settings of the consumer, what is shown of it, what a pull and what a push consumer need.
CONSUMER = [
    ({}, "c", PULL, None),
    ({"ack_policy": "none"}, "c", PULL[:1], None), ({"ack_policy": "all"}, "c", PULL, None),
    ({"deliver_subject": "to.me"}, "c to to.me", None, "to.me"),
    ({"deliver_group": "g"}, "c in the queue g", PULL, None),
    ({"deliver_subject": "to.me", "deliver_group": "g"}, "c to to.me in the queue g", None,
     "to.me g"),
    ({"filter_subject": "o.a"}, "c of o.a", PULL, None),
    ({"filter_subjects": ["o.a", "o.b"]}, "c of o.a, o.b", PULL, None),
    ({"durable_name": "d"}, "c", PULL, None), ({"name": "d"}, "c", PULL, None),
    ({"max_deliver": 5}, "c", PULL, None),
]  # fmt: skip


def told(*words):
    done = CliRunner().invoke(app, ["acl", *map(str, words), "--json"])
    return json.loads(done.stdout) if done.exit_code == 0 else done.exit_code


@pytest.fixture
def answers(tmp_path):
    """The ways by verb to a stream with some settings, and what the command shows of it."""
    conf, saved = tmp_path / "nats.conf", tmp_path / "stream.json"
    conf.write_text("jetstream: on\n")
    deployment = Deployment.load(conf)

    def answer(settings, consumer=None):
        config = {"name": "O", "subjects": ["o.>"], **settings}
        row = {"config": config, "state": {}, "consumer_detail": [
            {"name": "c", "config": consumer or {}}]}  # fmt: skip
        saved.write_text(json.dumps(row))
        streams = load_streams([saved])
        [stream] = streams.streams
        ways = {
            verb: {way.name for each in access(deployment, streams, stream, verb)
                   for way in each.ways if way.determined}
            for verb in PLAIN
        }  # fmt: skip
        shown = told("streams", saved)
        return ways, {key: shown[key] for key in SHOWN}

    return answer


def test_each_setting_of_a_stream_has_its_own_effect(answers):
    assert set(VERBS) == {*PLAIN, "admin"}
    found = {"none": answers({})}
    assert found["none"] == (PLAIN, SHOWN)
    for key, (value, changed, shown) in STREAM.items():
        ways = {verb: (each | changed[verb][0]) - changed[verb][1] if verb in changed else each
                for verb, each in PLAIN.items()}  # fmt: skip
        found[key] = answers({key: value})
        assert found[key] == (ways, {**SHOWN, **shown}), key
    for one, two in combinations(found, 2):
        assert found[one] != found[two], (one, two)


def test_other_settings_have_none(answers):
    for key, value in OF_NO_EFFECT.items():
        assert answers({key: value}) == (PLAIN, SHOWN), key


@pytest.mark.parametrize("value", [False, None, "true", 1])
def test_a_flag_of_a_stream_counts_if_it_is_true(value, answers):
    for key in [key for key, (given, *_) in STREAM.items() if given is True]:
        assert answers({key: value}) == (PLAIN, SHOWN), key


@pytest.mark.parametrize(("settings", "shown", "pull", "push"), CONSUMER)
def test_each_setting_of_a_consumer_has_its_own_effect(
    settings, shown, pull, push, answers, tmp_path
):
    way = "fetch-c" if push is None else "deliver-c"
    read = PLAIN["read"] - {"fetch-c"} | {way}
    assert answers({}, settings) == ({**PLAIN, "read": read}, {**SHOWN, "consumers": [shown]})
    saved = tmp_path / "stream.json"
    found = told("need", "pull", "O/c", saved)
    assert found == 2 if pull is None else found["publish_allow"] == pull
    found = told("need", "push", "O/c", saved)
    assert found == 2 if push is None else found["subscribe_allow"] == [push]


@pytest.mark.parametrize(("given", "name"), [
    ({"name": "a", "config": {"name": "b", "durable_name": "d"}}, "a"),
    ({"config": {"name": "b", "durable_name": "d"}}, "b"), ({"config": {"durable_name": "d"}}, "d"),
])  # fmt: skip
def test_a_consumer_has_the_first_of_its_names(given, name, tmp_path):
    path = tmp_path / "stream.json"
    path.write_text(json.dumps({"config": {"name": "O"}, "state": {}, "consumer_detail": [given]}))
    assert told("streams", path)["consumers"] == [name]


#: A setting of a stream M that mirrors O, and the ways to read O that it gives.
OF_A_MIRROR = {
    "mirror_direct": (True, {"direct-get"}), "allow_direct": (True, {"copy-M-direct-get"}),
    "republish": ({"dest": "r.>"}, {"copy-M-republish"}), "deny_delete": (True, set()),
    "sealed": (True, {"-copy-M-stream-update"}),
}  # fmt: skip


def test_each_setting_of_a_mirror_has_its_own_effect_on_what_it_copies(tmp_path):
    conf, saved = tmp_path / "nats.conf", tmp_path / "streams.json"
    conf.write_text("jetstream: on\n")
    deployment = Deployment.load(conf)

    def read(settings):
        config = {"name": "M", "mirror": {"name": "O"}, **settings}
        rows = [{"config": each, "state": {}} for each in ({"name": "O"}, config)]
        saved.write_text(json.dumps(rows))
        streams = load_streams([saved])
        found = access(deployment, streams, streams.streams[0], "read")
        return {way.name for each in found for way in each.ways if way.determined}

    plain = read({})
    assert {"message-get", "copy-M-message-get", "copy-M-stream-update"} <= plain
    for key, (value, given) in OF_A_MIRROR.items():
        found = read({key: value})
        assert (found - plain) | {f"-{each}" for each in plain - found} == given, key


def test_each_field_of_an_origin_has_its_own_effect(tmp_path):
    """Another name, or another prefix of the API, leads to another stream."""
    conf, saved = tmp_path / "nats.conf", tmp_path / "streams.json"
    conf.write_text("""jetstream: on
accounts {
  A { jetstream: on, users: [ { user: u, password: x } ]
      imports: [ { service: { account: B, subject: "$JS.API.>" }, to: "JSB.>" } ] }
  B { jetstream: on, exports: [ { service: "$JS.API.>" } ] }
}
""")
    deployment = Deployment.load(conf)
    copies = {
        "name": ({"name": "O"}, "A"), "other": ({"name": "P"}, None),
        "api": ({"name": "O", "external": {"api": "JSB"}}, "B"),
        "deliver": ({"name": "O", "external": {"deliver": "JSB"}}, "A"),
        "filter": ({"name": "O", "filter_subject": "JSB"}, "A"),
        "transforms": ({"name": "O", "subject_transforms": [{"src": "o.>", "dest": "JSB.>"}]}, "A"),
    }  # fmt: skip
    for key, (row, account) in copies.items():
        for kind, origin in (("sources", [row]), ("mirror", row)):
            config = {"name": "C", kind: origin}
            detail = [{"config": {"name": "O"}, "state": {}}]
            saved.write_text(json.dumps({"server_id": "N", "ha_assets": 0, "account_details": [
                {"name": "A", "id": "A",
                 "stream_detail": [*detail, {"config": config, "state": {}}]},
                {"name": "B", "id": "B", "stream_detail": detail},
            ]}))  # fmt: skip
            streams = load_streams([saved])
            found = {
                stream.account
                for stream in streams.named("O")
                for each in access(deployment, streams, stream, "read")
                for way in each.ways
                if way.name == "copy-C-message-get"
            }
            assert found == ({account} if account else set()), (key, kind)
