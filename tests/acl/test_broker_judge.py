"""A running nats-server is asked the same questions as the model ``broker``; no answer differs."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter

import pytest
from raw_client import RawClient
from servers import serving

from subtrie import _engine
from subtrie.acl import Permissions, ResponseLimit

USERS = 60
SUBJECTS = [".".join(t) for n in (1, 2, 3) for t in itertools.product("abx", repeat=n)]
QUEUES = [None, None, "q", "w", "q.a", "q.*"]


def _pattern(rng: random.Random) -> str:
    tokens = [rng.choice("aab**") for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        tokens[-1] = ">"
    return ".".join(tokens)


def _entry(rng: random.Random, queues: bool) -> str:
    queue = rng.choice(["", "", "", " q", " w", " q.*", " >"]) if queues else ""
    return _pattern(rng) + queue


def _random(rng: random.Random) -> Permissions:
    def some(most: int, queues: bool) -> list[str]:
        return [_entry(rng, queues) for _ in range(rng.randint(1, most))]

    return Permissions(
        publish_allow=some(3, False) if rng.random() < 0.8 else None,
        publish_deny=some(3, False) if rng.random() < 0.8 else (),
        subscribe_allow=some(4, True) if rng.random() < 0.8 else None,
        subscribe_deny=some(4, True) if rng.random() < 0.8 else (),
    )


def _config(users: dict[str, Permissions]) -> str:
    blocks = ["{ user: admin, password: open }"]
    for name, permissions in users.items():
        blocks.append(f"{{ user: {name}, password: open, {permissions.dump('conf').strip()} }}")
    return "authorization { users = [\n" + "\n".join(blocks) + "\n] }\n"


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Random users, each loaded back from the very configuration the broker runs with."""
    rng = random.Random(11)
    users = {f"u{number}": _random(rng) for number in range(USERS)}
    for number in range(40):  # accepted wide, filtered at delivery
        deny = [".".join(rng.choices("ab*", k=3)) + rng.choice(["", "", " q", " >"])]
        deny += [".".join(rng.choices("ab", k=2)), f"b.{rng.choice('ab')}.x"]
        users[f"f{number}"] = Permissions(subscribe_deny=deny)
    limits = [(1, 600), (2, 600), (3, 600), (-1, -1)]
    for number, limit in enumerate(limits):
        users[f"r{number}"] = Permissions(
            publish_allow=["open.*"],
            publish_deny=["shut.>", "open.shut"],
            subscribe_allow=["in.>"],
            allow_responses=ResponseLimit(*limit),
        )
    users["late"] = Permissions(
        publish_allow=(), subscribe_allow=["in.>"], allow_responses=ResponseLimit(5, 0.05)
    )
    folder = tmp_path_factory.mktemp("judge")
    path = folder / "users.conf"
    path.write_text(_config(users))
    loaded = {name: Permissions.load(path, user=name) for name in users}
    assert loaded == users
    with serving(folder / "server", _config(users)) as url:
        yield url, loaded


COUNTS: Counter[str] = Counter()


def _asked(kind: str, said: bool, ours: object, what: object) -> None:
    assert bool(ours) == said, (kind, what, said, ours)
    COUNTS[f"{kind} {'yes' if said else 'no'}"] += 1


def test_A67_publish(judged):
    url, users = judged
    extra = ["a.*", "*", ">", "a.>", "b.*.x", "*.a"]  # ordinary text to the broker
    for name, permissions in users.items():
        client = RawClient(url, user=name, **{"pass": "open"})
        for subject in [*SUBJECTS, *extra]:
            client.publish(subject)
        client.flush()
        refused = {subject for verb, subject, _ in client.refused if verb == "Publish"}
        for subject in [*SUBJECTS, *extra]:
            ours = permissions.can_publish(subject, model="broker")
            _asked("publish", subject not in refused, ours, (name, subject, permissions))
            if subject in permissions.publish_deny or (not ours and ours.rule):
                COUNTS["deny " + ("yes" if ours else "no")] += 1
            elif ours and permissions.publish_deny:
                COUNTS["deny yes"] += 1
        client.close()


def test_A67_a_reply_subject_is_looked_at_for_reserved_prefixes_only(judged):
    url, users = judged
    replies = ["a.b", "_INBOX.x", "_R_.x", "$JS.ACK.a.b", "_GR_.a.b.c", "$GR.a.b", "$SYS.x", "_R.x"]
    for name in list(users)[:8]:
        permissions = users[name]
        client = RawClient(url, user=name, **{"pass": "open"})
        for subject, reply in itertools.product(["a", "b.a"], replies):
            client.publish(subject, reply)
            client.flush()
            said = not client.refused
            ours = permissions.can_publish(subject, reply=reply, model="broker")
            _asked("reply", said, ours, (name, subject, reply, permissions))
        client.close()


def test_A68_A69_subscribe(judged):
    url, users = judged
    rng = random.Random(12)
    left_out = 0
    for name, permissions in users.items():
        client = RawClient(url, user=name, **{"pass": "open"})
        wild = [_pattern(rng) for _ in range(30)]
        asked = {(p, rng.choice(QUEUES)) for p in [*SUBJECTS, *rng.sample(SUBJECTS, 20), *wild]}
        asked |= {("a", "_sys_"), (">", "_sys_")}
        ordered = sorted(asked, key=str)
        for sid, (pattern, queue) in enumerate(ordered):
            client.subscribe(pattern, str(sid), queue)
        client.flush()
        refused = {(s, q) for verb, s, q in client.refused if verb == "Subscription"}
        for pattern, queue in ordered:
            said = (pattern, queue) not in refused
            ours = permissions.can_subscribe(pattern, queue=queue, model="broker")
            what = (name, pattern, queue, permissions)
            if said and not ours and {"*", ">"} & set(pattern.split(".")):
                # The broker takes '>' and '*' for tokens here: more than any entry covers.
                plain = [e.split(" ")[0] for e in permissions.subscribe_allow]
                fitting = [
                    e.split(" ")[0]
                    for e in permissions.subscribe_allow
                    if " " not in e or (queue and _engine.active.covers(e.split(" ")[1], queue))
                ]
                assert _engine.active.rules_admit(fitting, [], pattern) or (
                    _engine.active.rules_admit(plain, [], pattern) is None
                ), what
                left_out += 1
                continue
            _asked("subscribe", said, ours, what)
            if queue is not None:
                COUNTS[f"queue {'yes' if said else 'no'}"] += 1
        client.close()
    assert left_out < COUNTS["subscribe yes"] / 5


def test_A68_what_is_filtered_at_delivery(judged):
    url, users = judged
    rng = random.Random(13)
    admin = RawClient(url, user="admin", **{"pass": "open"})
    for name, permissions in users.items():
        if not permissions.subscribe_deny:
            continue
        client = RawClient(url, user=name, **{"pass": "open"})
        wanted = [(p, None) for p in dict.fromkeys(["a.*", "*.b", ">", "a.>", _pattern(rng)])]
        wanted += [("a.*", "q"), (">", "w"), ("*.*", "q.a"), ("a.b", "q")]
        for pattern, queue in wanted:
            client.subscribe(pattern, "1", queue)
            client.flush()
            accepted = not client.refused
            if accepted:
                for subject in SUBJECTS:
                    admin.publish(subject)
                admin.flush()
                client.unsubscribe("1")
                client.flush()
                got = {subject for _, subject, _ in client.messages}
                for subject in SUBJECTS:
                    if not _engine.active.matches(pattern, subject):
                        assert subject not in got
                        continue
                    if not permissions.can_subscribe(pattern, queue=queue, model="broker"):
                        continue  # the broker accepted more than the entries cover: left out
                    ours = permissions.can_receive(
                        subject, subscription=pattern, queue=queue, model="broker"
                    )
                    what = (name, pattern, queue, subject, permissions)
                    _asked("filter", subject in got, ours, what)
            else:
                assert not permissions.can_subscribe(pattern, queue=queue, model="broker")
        client.close()
    admin.close()


def test_A70_histories_of_allow_responses(judged):
    url, users = judged
    rng = random.Random(14)
    admin = RawClient(url, user="admin", **{"pass": "open"})
    replies = ["_INBOX.a", "shut.a", "open.b", "open.shut", "free.c"]
    for name in ("r0", "r1", "r2", "r3"):
        for _ in range(4):
            client = RawClient(url, user=name, **{"pass": "open"})
            client.subscribe("in.>", "1")
            client.flush()
            session = users[name].session()
            for _ in range(80):
                reply = rng.choice(replies)
                if rng.random() < 0.35:
                    admin.publish("in.x", reply)
                    admin.flush()
                    client.flush()
                    assert client.messages == [("1", "in.x", reply)]
                    session.received("in.x", reply)
                else:
                    client.publish(reply)
                    client.flush()
                    said = not client.refused
                    _asked("responses", said, session.can_publish(reply), (name, reply))
            client.close()
    admin.close()


def test_A70_a_turn_to_answer_ends(judged):
    url, users = judged
    admin = RawClient(url, user="admin", **{"pass": "open"})
    client = RawClient(url, user="late", **{"pass": "open"})
    client.subscribe("in.>", "1")
    client.flush()
    clock = itertools.count(step=1.0)
    session = users["late"].session(clock=lambda: next(clock))
    admin.publish("in.x", "_INBOX.a")
    admin.flush()
    client.flush()
    session.received("in.x", "_INBOX.a")
    time.sleep(0.2)
    client.publish("_INBOX.a")
    client.flush()
    assert client.refused == [("Publish", "_INBOX.a", None)]
    assert not session.can_publish("_INBOX.a")
    client.close()
    admin.close()


def test_how_much_was_asked(judged, capsys):
    """At least 5,000 decisions, and 300 of each kind and answer (A67 to A70)."""
    total = sum(n for key, n in COUNTS.items() if key.split()[0] not in ("deny", "queue"))
    with capsys.disabled():
        print(f"  [{total} decisions of a real broker: {dict(sorted(COUNTS.items()))}]")
    if total == 0:
        pytest.skip("run with the other tests of this file")
    assert total >= 5000
    for kind in ("publish", "subscribe", "deny", "filter", "queue", "responses"):
        for said in ("yes", "no"):
            assert COUNTS[f"{kind} {said}"] >= 300, (kind, said, COUNTS)


def test_the_dump_says_the_same_as_the_lists(judged, tmp_path):
    _, users = judged
    for permissions in users.values():
        path = tmp_path / "dump.json"
        path.write_text(permissions.dump("json"))
        again = Permissions.load(path)
        assert json.loads(permissions.dump()) == json.loads(again.dump())
        assert again == permissions
