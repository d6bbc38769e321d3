"""``acl who`` over the accounts of a deployment, compared with a live broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from change_pairs import judged as changes_judged
from click.testing import CliRunner
from raw_client import RawClient
from who_questions import judged
from who_variants import KINDS

from servers import serving
from subtrie._cli.app import app
from subtrie.acl import Deployment
from subtrie.acl._access import AccessReview
from subtrie.acl._reach import Reach

#: Rows O9 and O11 of the reviews: a renamed stream, a service, and mappings in both directions.
CONFIG = """system_account: SYS
accounts {
  SYS { users: [ { user: ops, password: open } ] }
  PAY {
    users: [ { user: svc, password: open, permissions: {
                 publish: [ "settled.>", "new.>" ], subscribe: [ "ask.>" ] } } ]
    exports: [ { stream: "settled.*.*" }, { service: "ask.*" } ]
    mappings: { "old.*": "new.$1", "plant.*.temp": "plant.a.$1.temp"
                "half.*": [ { destination: "settled.$1.h", weight: "40%" } ] }
  }
  WEB {
    users: [ { user: page, password: open, permissions: { publish: "q.>", subscribe: "eu.>" } }
             { user: admin, password: open } ]
    imports: [ { stream: { account: PAY, subject: "settled.*.*" }, to: "$1.$2" }
               { service: { account: PAY, subject: "ask.*" }, to: "q.*" } ]
  }
  EVIL { users: [ { user: mallory, password: open } ] }
}
"""


def ask(path, *args, status=0):
    done = CliRunner().invoke(app, ["acl", "who", *args, "--json"])
    assert done.exit_code == status, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def users(rows):
    return [each["user"] for each in rows]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "nats.conf"
    file.write_text(CONFIG)
    return str(file)


@pytest.mark.parametrize("seed", [1, 2])
def test_answers_about_users_are_those_of_the_broker(seed, tmp_path, capsys):
    counts, undetermined = judged(seed, 600, tmp_path)
    with capsys.disabled():
        print(f"  [{dict(sorted(counts.items()))}]")
    assert sum(counts[f"of kind: {each}"] for each in KINDS) >= 600
    assert len(undetermined) < 60
    crossing = [f"{verb}, another account, yes" for verb in ("publish", "receive")]
    assert min(counts[each] for each in crossing) >= 3


@pytest.mark.requirement("A81")
def test_a_change_that_a_live_broker_shows_to_matter_is_named(tmp_path, capsys):
    counts = changes_judged(5, 12, tmp_path)
    with capsys.disabled():
        print(f"  [{dict(sorted(counts.items()))}]")
    assert counts["matter"] == 12


def test_a_reader_in_another_account_was_missing_and_strangers_were_listed(path, tmp_path):
    rows = ask(path, "PAY:settled.eu.1", path, "--verb", "receive")
    assert users(rows) == ["WEB/page", "WEB/admin"]
    assert {each["known_as"] for each in rows} == {"eu.1"}
    with serving(tmp_path / "live", CONFIG) as url:
        publisher = RawClient(url, user="svc", **{"pass": "open"})
        for name, heard in (("page", True), ("admin", True), ("mallory", False), ("ops", False)):
            client = RawClient(url, user=name, **{"pass": "open"})
            client.subscribe("eu.1" if name == "page" else ">", "1")
            client.flush()
            publisher.publish("settled.eu.1")
            publisher.flush()
            client.flush()
            assert ([each[1] for each in client.messages] == ["eu.1"]) is heard
            client.close()
        publisher.close()


def test_mappings_decide_what_a_publisher_needs(path, tmp_path):
    # The lists apply to what the mapping makes of the subject, in both directions.
    assert "PAY/svc" in users(ask(path, "PAY:old.1", path))
    rows = ask(path, "PAY:plant.7.temp", path, status=1)
    assert rows == []
    with serving(tmp_path / "live", CONFIG) as url:
        client = RawClient(url, user="svc", **{"pass": "open"})
        client.publish("old.1")
        client.flush()
        assert client.refused == []
        client.publish("plant.7.temp")
        client.flush()
        assert client.refused == [("Publish", "plant.a.7.temp", None)]
        client.close()


def test_who_can_call_a_service_from_another_account(path):
    rows = ask(path, "PAY:ask.x", path)
    assert [(each["user"], each["known_as"]) for each in rows] == [
        ("WEB/page", "q.x"), ("WEB/admin", "q.x"),
    ]  # fmt: skip


@pytest.mark.parametrize(("mapped", "listed"), [("ask.old", False), ("other.old", True)])
def test_a_mapping_that_takes_some_messages_away_leaves_no_subscription_to_all(
    mapped, listed, tmp_path
):
    """The user of B receives what A asks, except the subject that B maps to another one."""
    file = tmp_path / "nats.conf"
    file.write_text(f"""accounts {{
  A {{ users: [ {{ user: a, password: open }} ]
      imports: [ {{ service: {{ account: B, subject: "ask.>" }} }} ] }}
  B {{ users: [ {{ user: b, password: open }} ], exports: [ {{ service: "ask.>" }} ]
      mappings: {{ "{mapped}": "elsewhere" }} }}
}}
""")
    every = users(ask(file, "A:ask.>", str(file), "--verb", "subscribe"))
    assert every == ["A/a", "B/b"][: 1 + listed]
    assert users(ask(file, "A:ask.new", str(file), "--verb", "subscribe")) == ["A/a", "B/b"]


def test_a_weight_is_named(path):
    rows = ask(path, "PAY:half.1", path, "--verb", "receive")
    assert users(rows) == ["WEB/admin"]
    assert rows[0]["way"] == ["mapping half.* → settled.$1.h (40 %)", "stream PAY → WEB"]


def test_a_tap_of_a_whole_stream(path):
    rows = ask(path, "PAY:settled.*.*", path, "--verb", "subscribe")
    assert [(each["user"], each["known_as"]) for each in rows] == [("WEB/admin", "*.*")]


def test_without_an_account_every_one_is_asked_and_named(path):
    done = CliRunner().invoke(app, ["acl", "who", "settled.eu.1", path, "--verb", "receive"])
    assert done.output.splitlines() == [
        "SYS:settled.eu.1",
        "✓ SYS/ops  everything",
        "PAY:settled.eu.1",
        "✓ WEB/page  eu.> as eu.1, stream PAY → WEB",
        "✓ WEB/admin  everything as eu.1, stream PAY → WEB",
        "WEB:settled.eu.1",
        "✓ WEB/admin  everything",
        "EVIL:settled.eu.1",
        "✓ EVIL/mallory  everything",
    ]


def test_what_stands_before_a_colon_is_an_account_only_if_there_is_one(path):
    assert users(ask(path, "OTHER:x", path)) == ["SYS/ops", "WEB/admin", "EVIL/mallory"]


def test_the_user_of_an_account_is_named_not_the_file(path):
    rows = ask(path, "x", path, "--account", "EVIL")
    assert users(rows) == ["EVIL/mallory"]
    done = CliRunner().invoke(app, ["acl", "who", "x", path, "--account", "NONE"])
    assert done.exit_code == 2
    assert "there are SYS/ops, PAY/svc" in done.output


def test_why_and_test_decide_on_the_mapped_subject(path, tmp_path):
    def why(subject, status, *more):
        args = ["why", subject, "-p", path, "--user", "svc", *more]
        done = CliRunner().invoke(app, args)
        assert done.exit_code == status, done.output
        return done.output

    assert "✗ plant.7.temp  mapped to plant.a.7.temp: no allow entry" in why("plant.7.temp", 1)
    assert "✓ old.7  mapped to new.7: the allow entry new.> matches" in why("old.7", 0)
    assert "✓ old.7  mapped to new.7" in why("old.7", 0, "--model", "broker")
    assert why("half.1", 2).startswith("? half.1  not determined: mappings decide which: mapped to")
    # Bug: an option that concerns only files of one user switched the mappings off.
    assert "✓ old.7  mapped to new.7" in why("old.7", 0, "--account-jwt", path)
    # Bug: a configuration from standard input was read without its mappings.
    for words in (["-p", "-", "--user", "svc"], ["-p", "-", "--user", "svc", "--json"]):
        read = CliRunner().invoke(app, ["why", "old.7", *words], input=Path(path).read_text())
        assert read.exit_code == 0, read.output
        assert "mapped to new.7" in read.output
    every = CliRunner().invoke(app, ["why", "old.7", "-p", path, "--every-user"]).output
    assert "✓ PAY/svc: old.7  mapped to new.7" in every
    assert "✓ WEB/admin: old.7  there is no allow list" in every
    policy = tmp_path / "policy.txt"
    policy.write_text("of nats.conf svc\nyes publish old.7\nno publish plant.7.temp\n")
    done = CliRunner().invoke(app, ["acl", "test", str(policy)])
    assert done.exit_code == 0, done.output
    policy.write_text("yes publish old.7\nbroker no publish plant.7.temp\n")
    done = CliRunner().invoke(app, ["acl", "test", str(policy), path, "--user", "PAY/svc"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(("cluster", "code"), [("east", 0), ("west", 1)])
def test_a_mapping_by_cluster_decides_what_may_be_published(cluster, code, tmp_path):
    path = tmp_path / "nats.conf"
    path.write_text(
        f"cluster {{ name: {cluster} }}\nmappings: {{ b: [ {{ destination: m.east, weight: 100, "
        "cluster: east }, { destination: m.rest, weight: 100 } ] }\n"
        "authorization { users: [ { user: a, password: open, permissions: { publish: m.east } } ] }"
    )
    done = CliRunner().invoke(app, ["why", "b", "-p", str(path), "--user", "a"])
    assert done.exit_code == code, done.output


@pytest.mark.requirement("A81")
@pytest.mark.parametrize("rest", ["", ", { destination: m.rest, weight: 100 }"])
def test_a_target_of_a_cluster_was_certain_where_the_cluster_is_not_told(rest, tmp_path):
    """A broker with leaf nodes and no name of a cluster maps to none of its clusters."""
    text = (
        "leafnodes { listen: '127.0.0.1:-1' }\n"
        "accounts { A { users: [ { user: a, password: open } ]\n"
        "mappings: { b: [ { destination: m.west, weight: 100, cluster: west }"
        f"{rest} ] }} }} }}\n"
    )
    path = tmp_path / "nats.conf"
    path.write_text(text)
    with serving(tmp_path / "live", text) as url:
        client = RawClient(url, user="a", **{"pass": "open"})
        client.subscribe(">", "1")
        client.publish("b")
        client.flush()
        assert [subject for _, subject, _ in client.messages] == ["m.rest" if rest else "b"]
        client.close()
    rows = ask(path, "A:b", str(path), "--verb", "receive", status=2)
    assert "m.west" not in [each["known_as"] for each in rows if each["allowed"]]


#: A service of B that goes on to D, a stream of B, mappings by chance, and two that match at once.
CHAIN = """accounts {
  A { users: [ { user: a, password: open } ]
      imports: [ { service: { account: B, subject: "ask.>" }, to: "q.>" } ]
      mappings: { "half.*": [ { destination: "q.$1", weight: 40 } ]
                  "two.*": "q.$1", "two.x": "q.y" } }
  B { users: [ { user: b, password: open } ]
      exports: [ { service: "ask.>" }, { stream: "ask.>" }, { stream: one } ]
      imports: [ { service: { account: D, subject: "end.*" }, to: "some.*" } ]
      mappings: { "ask.few": [ { destination: "some.few", weight: 40 } ], "ask.all": "some.all" } }
  C { users: [ { user: c, password: open } ]
      imports: [ { stream: { account: B, subject: "ask.>" }, to: "seen.>" }
                 { stream: { account: B, subject: one }, to: "y.*" } ] }
  D { users: [ { user: d, password: open } ], exports: [ { service: "end.*" } ] }
}
"""
#: The published subjects, and whether the account maps each.
PUBLISHED = {
    "A:q.x": False, "A:q.few": False, "A:q.all": False, "A:half.x": True, "B:ask.x": False,
    "B:ask.few": True, "B:ask.all": True, "B:some.x": False, "B:one": False,
}  # fmt: skip


def test_ways_through_several_accounts_are_those_of_a_live_broker(tmp_path):
    """A message that a service brought to an account goes to no other one by a stream."""
    path = tmp_path / "nats.conf"
    path.write_text(CHAIN)
    deployment = Deployment.load(path)
    review = AccessReview(deployment)

    def told(question, verb):
        account, subject = question.split(":")
        rows = review.who(account, subject, verb)
        return {(each.user[-1], each.known_as or subject) for each in rows if each.determined}

    with serving(tmp_path / "live", CHAIN) as url:
        clients = {name: RawClient(url, user=name, **{"pass": "open"}) for name in "abcd"}
        for each in clients.values():
            each.subscribe(">", "1")
            each.flush()
        for question, mapped in PUBLISHED.items():
            account, subject = question.split(":")
            sender, seen = clients[account.lower()], []
            for _ in range(60):
                sender.publish(subject)
                sender.flush()
                for each in clients.values():
                    if each is not sender:
                        each.flush()
                seen.append({(n, text) for n, c in clients.items() for _, text, _ in c.messages})
            unknown = {("c", "y.*")}  # the broker takes the pattern as text
            always, ever = set.intersection(*seen) - unknown, set.union(*seen) - unknown
            assert told(question, "receive") == ever
            if not mapped:
                assert told(question, "subscribe") == always
            reach = Reach(deployment.accounts, deployment.cluster)
            for name in "ABCD":
                known = {text for user, text in ever if user == name.lower()}
                for text in (*known, "seen.x", "end.x", "ask.x", "q.x"):
                    arrives = reach.passes(
                        deployment.accounts[account], subject, name, text, delivered=True
                    )
                    assert arrives is (text in known or (None if subject == "one" else False))
        for each in clients.values():
            each.close()
    ways = {each.user: each.way for each in review.who("D", "end.all", "publish")}
    assert ways["A/a"] == ("service A → B", "mapping ask.all → some.all", "service B → D")
    rows = {each.user for each in review.who("A", "two.x", "receive")}
    assert (rows, told("A:two.x", "receive")) == ({"A/a", "B/b"}, set())


def test_a_mistyped_account_was_a_part_of_the_subject_without_a_word(path):
    done = CliRunner().invoke(app, ["acl", "who", "PYA:new.x", path, "--verb", "receive"])
    assert f"{path}: no account is called PYA; there are " in done.stderr
    assert "PYA:new.x is taken as a subject of each of them" in done.stderr
    for right in ("PAY:new.x", "new.x", "a.b:c"):
        assert not CliRunner().invoke(app, ["acl", "who", right, path]).stderr
