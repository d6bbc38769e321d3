"""Questions about who may do what to streams, and a live broker on which each way is tried.

A question is a user, a stream and a way (``message-get``, ``publish``, ``stream-purge`` …). The
model answers from the configuration of the server and the saved page ``/jsz``. On the broker the
user's own connection tries the way, and the verdict is what arrives: no answer depends on a clock.

    python tests/acl/stream_questions.py --seed 1 --count 2000 [--record FILE]
"""

from __future__ import annotations

import json
import random
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judged_by_hand import judge_by_hand
from raw_client import RawClient

from servers import monitor, serving
from subtrie._core import engine
from subtrie._nats.jetstream_subjects import ADMIN, JETSTREAM_SUBJECTS
from subtrie.acl import Deployment
from subtrie.acl._jetstream.access import VERBS, ways_of
from subtrie.acl._jetstream.load import PAGE, load_streams

ROWS = {row.name: row for row in JETSTREAM_SUBJECTS}
MANAGED = [
    row.name for row in JETSTREAM_SUBJECTS
    if row.operation == ADMIN and not row.system and row.name != "stream-create"
    and "{stream}" in row.template
]  # fmt: skip
CREATE = ["consumer-create-unnamed", "consumer-create", "consumer-create-durable",
          "consumer-create-filtered"]  # fmt: skip
#: What one server without a cluster does not do.
CLUSTERED = {"stream-peer-remove", "stream-peer-evacuate", "stream-cancel-move",
             "stream-leader-stepdown", "consumer-leader-stepdown"}  # fmt: skip
#: Subjects, one of each kind that an entry of the lists may allow.
CANDIDATES = ["_INBOX.u.1", "_INBOX.z", "deliver.push1", "deliver.x", "deliver.group", "copy.1",
              "copy.x.y", "free", "free.x", "orders.eu.9", "work.z", "zz", "fromA.push1", "fromA.z",
              "copied.1"]  # fmt: skip
PUBLISHED = {
    "ORDERS": ["orders.eu.1", "orders.us.2", "orders.z", "orders.eu.z.y"],
    "WORK": ["work.1", "work.z"],
    "KV_cfg": ["$KV.cfg.a", "$KV.cfg.b.c"],
    "REPUB": ["rep.1", "rep.z"],
    "SEALED": ["seal.1"],
    "COPY": ["src.1", "src.z"],
    "MIRROR": [],
}
#: Subjects that a stream of the user's own may capture.
OWN = ["zz", "work.1", "$KV.cfg.a", "$KV.other.z", "rep.1", "src.1", "seal.1"]
CONSUMERS = ["c1", "c2", "pull1", "push1", "wpull"]
NAMES = ["c1", "c2", "XX", "fresh0"]
#: Imports of B: kind, the prefix in A, the prefix in B, and what follows.
IMPORTS = [
    ("service", "$JS.API", "JSA", ">"),
    ("service", "$JS.API", "JSA", "STREAM.MSG.GET.*"),
    ("service", "$JS.API", "JSA", "CONSUMER.>"),
    ("service", "$JS.API", "JSA", "STREAM.*.ORDERS"),
    ("service", "orders", "buy", "*.*"),
    ("stream", "deliver", "fromA", ">"),
    ("stream", "copy", "copied", "*"),
]


class Client(RawClient):
    """A connection that publishes payloads, and waits for messages of a subscription."""

    def __init__(self, url: str, **options: object) -> None:
        #: The number of messages of each subscription, and the last payload.
        self.received: Counter[str] = Counter()
        self.payload: dict[str, bytes] = {}
        self.replies: dict[str, str] = {}
        super().__init__(url, **options)

    def flush(self) -> None:
        """Reads until the broker has answered everything sent so far."""
        super().flush()
        self.received.update(sid for sid, _, _ in self.messages)

    def send(self, subject: str, body: Any = None, reply: str = "", headers: str = "") -> None:
        data = b"" if body is None else json.dumps(body).encode()
        if headers:
            head = f"NATS/1.0\r\n{headers}\r\n\r\n".encode()
            line = f"HPUB {subject} {reply} {len(head)} {len(head) + len(data)}\r\n"
            self._socket.sendall(line.encode() + head + data + b"\r\n")
            return
        self._socket.sendall(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def wait(self, sid: str, number: int = 1) -> bytes:
        """Waits until so many messages of a subscription have arrived; returns the last."""
        while self.received[sid] < number:
            self._next()
        return self.payload.get(sid, b"")

    def seen_before(self, mark: str, sid: str) -> bool:
        """Whether a message of a subscription comes before one with this payload."""
        while True:
            before = self.received[sid]
            if mark.encode() in self._next():
                return before > 0

    def _next(self) -> bytes:
        """Reads one line, with its payload if it is a message."""
        line = self._file.readline().decode().rstrip("\r\n")
        if line.startswith(("MSG ", "HMSG ")):
            words = line.split(" ")
            data: bytes = self._file.read(int(words[-1]) + 2)
            self.received[words[2]] += 1
            self.payload[words[2]] = data
            self.replies[words[2]] = words[3]
            return data
        if line == "PING":
            self._send("PONG\r\n")
        elif line.startswith("-ERR") or not line:
            raise ConnectionError(line or "closed")
        return b""


def _streams(rng: random.Random) -> list[dict[str, Any]]:
    base = {"storage": "file", "num_replicas": 1, "retention": "limits"}
    rows = {
        "ORDERS": {"subjects": ["orders.>"], "allow_direct": rng.random() < 0.7,
                   "allow_rollup_hdrs": rng.random() < 0.5, "deny_delete": rng.random() < 0.3},
        "WORK": {"subjects": ["work.*"], "retention": "workqueue",
                 "deny_purge": rng.random() < 0.3},
        "KV_cfg": {"subjects": ["$KV.cfg.>"], "allow_direct": True, "allow_rollup_hdrs": True,
                   "deny_delete": True, "max_msgs_per_subject": 5},
        "REPUB": {"subjects": ["rep.*"], "republish": {"src": "rep.*", "dest": "copy.$1"}},
        "SEALED": {"subjects": ["seal.*"]},
        "COPY": {"subjects": ["src.*"], "sources": [{"name": "ORDERS"}]},
        "MIRROR": {"mirror": {"name": "ORDERS"}, "mirror_direct": rng.random() < 0.5,
                   "allow_direct": True},
    }  # fmt: skip
    chosen = ["ORDERS", *rng.sample([name for name in rows if name != "ORDERS"], 2)]
    return [{**base, "name": name, **rows[name]} for name in chosen]


def _request(rng: random.Random, names: list[str]) -> str:
    """An entry about the API."""
    row = rng.choice([each for each in JETSTREAM_SUBJECTS if each.template.startswith("$JS.API.")])
    values = {"stream": rng.choice([*names, "*", "*"]),
              "consumer": rng.choice([*CONSUMERS, "*", "*"])}  # fmt: skip
    text = row.filled(values)
    return ".".join([*text.split(".")[:-1], ">"]) if rng.random() < 0.1 else text


def _lists(rng: random.Random, names: list[str], there: bool) -> dict[str, Any]:
    whole = ["$JS.API.>", "$JS.API.STREAM.>", "$JS.API.CONSUMER.>", "$JS.API.*.*.*",
             "$JS.API.STREAM.*.ORDERS", "$JS.API.DIRECT.>"]  # fmt: skip
    words = ["orders.>", "orders.eu.*", "orders.*", "work.*", "$KV.>", "$KV.cfg.a", "rep.*",
             "src.1", "seal.*", "zz", "$JS.ACK.>", "$JS.ACK.WORK.*.>"]  # fmt: skip
    allow = [_request(rng, names) for _ in range(rng.randint(2, 7))]
    allow += rng.sample(whole, rng.choice([0, 0, 1, 2])) + rng.sample(words, rng.randint(0, 3))
    deny = [_request(rng, names) for _ in range(rng.choice([0, 0, 1, 2]))]
    if not there:
        allow = [each.replace("$JS.API", "JSA") for each in allow] + ["buy.>"] * rng.randint(0, 1)
        deny = [each.replace("$JS.API", "JSA") for each in deny]
    listens = ["_INBOX.>", "_INBOX.u.*", "deliver.>", "deliver.push1", "deliver.group q", "copy.*",
             "free", "orders.>", "work.z", "fromA.>", "fromA.push1", "copied.*", "zz"]  # fmt: skip
    # Many listen to nothing, or only to what one stream captures or one import brings.
    alone = ["orders.>", "work.z", "deliver.>", "copy.*", "fromA.>", "copied.*"]
    listen = rng.sample(listens, rng.randint(1, 4))
    if rng.random() < 0.5:
        listen = rng.choice([[], [rng.choice(alone)]])
    lists: dict[str, Any] = {"publish": {"allow": allow}}
    if deny:
        lists["publish"]["deny"] = deny
    if listen:
        lists["subscribe"] = {"allow": listen}
    else:
        lists["subscribe"] = {"deny": ">"}
    if listen and rng.random() < 0.3:
        lists["subscribe"]["deny"] = rng.sample(["_INBOX.z", "deliver.>", "copy.>"], 1)
    return lists


class Case:
    """One server with streams and users of two accounts."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self._folder = folder
        self.streams = _streams(rng)
        names = [each["name"] for each in self.streams]
        self.worker = rng.random() < 0.5
        self.imports = rng.sample(IMPORTS[:4], 1) + rng.sample(IMPORTS[4:], rng.randint(0, 3))
        self.users = {f"A/a{n}": _lists(rng, names, True) for n in range(2)}
        self.users["B/b0"] = _lists(rng, names, False)
        blocks = {}
        for account in "AB":
            rows = [{"user": f"{account.lower()}root", "password": "open"}]
            rows += [
                {"user": name[2:], "password": "open", "permissions": lists}
                for name, lists in self.users.items()
                if name[0] == account
            ]
            blocks[account] = {"users": rows}
        blocks["A"] |= {"jetstream": "enabled", "exports": [
            {kind: f"{there}.{rest}", **({"response_type": "stream"} if kind == "service" else {})}
            for kind, there, _, rest in self.imports
        ]}  # fmt: skip
        blocks["B"]["imports"] = [
            {kind: {"account": "A", "subject": f"{there}.{rest}"}, "to": f"{here}.{rest}"}
            if kind == "service"
            else {kind: {"account": "A", "subject": f"{there}.{rest}"},
                  "to": _numbered(f"{here}.{rest}")}
            for kind, there, here, rest in self.imports
        ]  # fmt: skip
        self.config = f"accounts {json.dumps(blocks, indent=1)}\n"

    def judged(self) -> Iterator[tuple[str, str, str, bool | None, bool]]:
        """Yields user, stream, way, our answer and that of the broker."""
        self._folder.mkdir(parents=True)
        path = self._folder / "users.conf"
        settings = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{self._folder}/store" }}\n'
        path.write_text(settings + self.config)
        with serving(self._folder / "server", settings + self.config) as url:
            self._connect(url)
            for each in self.streams:
                self._make(each)
            page = self._folder / "jsz.json"
            with urllib.request.urlopen(monitor(self._folder / "server") + PAGE) as answer:
                page.write_bytes(answer.read())
            deployment, streams = Deployment.load(path), load_streams([page])
            for user in self.users:
                for config in self.streams:
                    [stream] = streams.named(config["name"])
                    for verb in VERBS:
                        ours = {
                            way.name: way.determined or None
                            for way in ways_of(deployment, streams, stream, verb, user)
                            if not way.name.startswith("copy-")
                        }
                        for name, does in self._ways(user, config, verb).items():
                            ours_here = ours.pop(name, False)
                            yield (
                                user,
                                config["name"],
                                f"{verb}: {name}",
                                ours_here,
                                (ours_here is not None and does()),
                            )
                        assert not ours, (user, config, verb, ours)
            for each in self._clients.values():
                each.close()

    # --- the broker

    def _connect(self, url: str) -> None:
        login = {"pass": "open"}
        self._clients = {name: Client(url, user=name[2:], **login) for name in self.users}
        self._roots = {each: Client(url, user=f"{each.lower()}root", no_responders=True, **login)
                       for each in "AB"}  # fmt: skip
        self._clients |= {f"{each}/root": root for each, root in self._roots.items()}
        self._number = 0
        #: Of each user, the subjects that reach it: of its own account, and of A.
        self._inboxes = {user: self._reached(user, user[0]) for user in self.users}
        self._targets = {user: self._reached(user, "A") for user in self.users}

    def _sid(self) -> str:
        self._number += 1
        return str(self._number)

    def _names_here(self, subject: str, user: str, account: str) -> list[str]:
        """The subjects under which a message of an account may reach a user."""
        if user[0] == account:
            return [subject]
        return [here + subject.removeprefix(there) for kind, there, here, rest in self.imports
                if kind == "stream" and engine.matches(f"{there}.{rest}", subject)]  # fmt: skip

    def _said(self, subject: str, user: str) -> list[str]:
        """The subjects with which a user can reach a subject of A."""
        if user[0] == "A":
            return [subject]
        return [here + subject.removeprefix(there) for kind, there, here, rest in self.imports
                if kind == "service" and engine.matches(f"{there}.{rest}", subject)]  # fmt: skip

    def _reached(self, user: str, account: str) -> list[str]:
        found = []
        for subject in CANDIDATES:
            for here in self._names_here(subject, user, account):
                for queue in (None, "q"):
                    if self._receives(user, here, queue, lambda s=subject: (s, account)):
                        found.append(subject)
        return list(dict.fromkeys(found))

    def _receives(self, user: str, here: str, queue: str | None, say: Any) -> bool:
        client, sid = self._clients[user], self._sid()
        client.subscribe(here, sid, queue)
        client.flush()
        if client.refused:
            return False
        subject, account = say()
        root = self._roots[account]
        root.send(subject)
        root.flush()
        client.flush()
        client.unsubscribe(sid)
        return any(each == sid for each, _, _ in client.messages)

    def _root(self, subject: str, body: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._raw(subject, body))
        return found

    def _raw(self, subject: str, body: Any = None) -> bytes:
        root, sid = self._roots["A"], self._sid()
        root.subscribe(f"answers.{sid}", sid)
        root.send(subject, body, f"answers.{sid}")
        data = root.wait(sid)
        root.unsubscribe(sid)
        return data

    def _make(self, config: dict[str, Any]) -> None:
        """Makes a stream anew, with messages and consumers; and its copies, which would stop."""
        name = config["name"]
        copies = [each for each in self.streams if "mirror" in each or "sources" in each]
        if name == "ORDERS":
            for each in copies:
                self._root(f"$JS.API.STREAM.DELETE.{each['name']}")
            self._made(config)
            for each in copies:
                self._made(each)
        else:
            self._made(config)

    def _made(self, config: dict[str, Any]) -> None:
        name = config["name"]
        self._root(f"$JS.API.STREAM.DELETE.{name}")
        made = self._root(f"$JS.API.STREAM.CREATE.{name}", config)
        assert "error" not in made, made
        for subject in PUBLISHED[name] * 6:
            self._root(subject)
        if name == "WORK":
            if self.worker:
                body = {"name": "wpull", "durable_name": "wpull", "ack_policy": "explicit"}
                made = self._root("$JS.API.CONSUMER.CREATE.WORK.wpull",
                                  {"stream_name": "WORK", "config": body})  # fmt: skip
                assert "error" not in made, made
            return
        for consumer, more in (
            ("pull1", {"durable_name": "pull1"}),
            ("push1", {"deliver_subject": "deliver.push1", "deliver_policy": "new"}),
            ("grp", {"deliver_subject": "deliver.group", "deliver_group": "q",
                     "deliver_policy": "new"}),
        ):  # fmt: skip
            body = {"name": consumer, "ack_policy": "none", "inactive_threshold": 3600 * 10**9,
                    **more}  # fmt: skip
            made = self._root(f"$JS.API.CONSUMER.CREATE.{name}.{consumer}",
                              {"stream_name": name, "config": body})  # fmt: skip
            assert "error" not in made, made
        if name == "SEALED":
            sealed = self._root(f"$JS.API.STREAM.UPDATE.{name}", {**config, "sealed": True})
            assert "error" not in sealed, sealed

    def _ran(self, user: str, subject: str, body: Any = None, headers: str = "") -> bytes | None:
        """The answer to a request of a user, as another connection receives it; None if refused."""
        client, root = self._clients[user], self._roots[user[0]]
        for here in self._said(subject, user):
            sid = self._sid()
            root.subscribe(f"answers.{sid}", sid)
            root.flush()
            client.send(here, body, f"answers.{sid}", headers)
            client.flush()
            data = None if client.refused else root.wait(sid)
            root.unsubscribe(sid)
            if data is not None:
                return data
        return None

    def _answers(self, user: str, subject: str, body: Any = None) -> bool:
        """Whether a user gets the answer to a request itself."""
        free = [each for each in self._inboxes[user] if not each.startswith("$JS.")]
        for here in self._said(subject, user) if free else ():
            if self._delivered(user, free[0], user[0], lambda h=here: (h, body, free[0])):
                return True
        return False

    def _delivered(self, user: str, subject: str, account: str, act: Any) -> bool:
        """Whether a message that an act causes on a subject arrives at a user.

        ``act`` returns a publish of the user's, or None if something was done already; another
        connection sees the message first, and then marks the end.
        """
        client, root, sid = self._clients[user], self._roots[account], self._sid()
        [here, *_] = self._names_here(subject, user, account)
        for queue in (None, "q"):
            client.subscribe(here, sid, queue)
            client.flush()
            if not client.refused:
                break
        root.subscribe(subject, sid)
        root.flush()
        try:
            wanted = act()
            if wanted is not None:
                client.send(*wanted)
                client.flush()
                if client.refused:
                    return False
            root.wait(sid)
            mark = f"mark {sid};"
            root.send(subject, mark)
            root.flush()
            return client.seen_before(mark, sid)
        finally:
            client.unsubscribe(sid)
            root.unsubscribe(sid)

    # --- the ways

    def _ways(self, user: str, config: dict[str, Any], verb: str) -> dict[str, Any]:
        stream = config["name"]
        mirror, sealed = "mirror" in config, stream == "SEALED"
        captured = config.get("subjects", ())
        free = [each for each in self._targets[user]
                if not any(engine.matches(pattern, each) for pattern in captured)]  # fmt: skip

        def done(name: str, body: Any = None) -> bool:
            data = self._ran(user, ROWS[name].filled({"stream": stream}), body)
            if data is not None:
                assert not _failed(data) or b"10057" in data, (name, data)
                self._make(config)
            return data is not None

        if verb == "read":
            ways = {
                "message-get": lambda: self._answers(
                    user, f"$JS.API.STREAM.MSG.GET.{stream}", {"seq": 1}
                ),
                "own-pull-consumer": lambda: self._own_pull(user, config),
                "own-push-consumer": lambda: self._own_push(user, config, free),
                "stream-snapshot": lambda: self._snapshot(user, stream),
                "copying-stream": lambda: self._copying(user, config, free),
            }
            if config.get("allow_direct"):
                ways["direct-get"] = lambda: self._direct(user, config)
            if stream == "WORK" and self.worker:
                ways["fetch-wpull"] = lambda: self._answers(
                    user, "$JS.API.CONSUMER.MSG.NEXT.WORK.wpull", {"batch": 1}
                )
            if stream != "WORK":
                ways["fetch-pull1"] = lambda: self._answers(
                    user, f"$JS.API.CONSUMER.MSG.NEXT.{stream}.pull1", {"batch": 1}
                )
                for name, subject in (("push1", "deliver.push1"), ("grp", "deliver.group")):
                    ways[f"deliver-{name}"] = lambda n=name, s=subject: self._tapped(
                        user, config, n, s
                    )
            if "republish" in config:
                ways["republish"] = lambda: "copy.1" in self._targets[user]
            if not sealed:
                ways["stream-update"] = lambda: self._republished(user, config, free)
            return ways
        if verb == "write" and not mirror and not sealed:
            return {"publish": lambda: self._publishes(user, stream),
                    "update-subjects": lambda: self._adds(user, config),
                    "republishing-stream": lambda: self._injects(user, config)}  # fmt: skip
        if verb == "delete":
            ways = {"stream-delete": lambda: done("stream-delete")}
            if not sealed and not config.get("deny_purge"):
                ways["stream-purge"] = lambda: done("stream-purge")
            if not sealed and not config.get("deny_delete"):
                ways["message-delete"] = lambda: done("message-delete", {"seq": 1})
            if not sealed:
                ways["stream-update"] = lambda: done("stream-update", {**config, "max_msgs": 1})
            if stream == "WORK" and self.worker:
                ways["acknowledge-wpull"] = lambda: self._acknowledges(user, config)
            if config.get("allow_rollup_hdrs"):
                ways["rollup"] = lambda: self._publishes(user, stream, "Nats-Rollup: sub")
            return ways
        if verb == "admin":
            return {name: lambda n=name: self._managed(user, config, n) for name in MANAGED}
        return {}

    def _direct(self, user: str, config: dict[str, Any]) -> bool:
        stream = config["name"]
        if self._answers(user, f"$JS.API.DIRECT.GET.{stream}", {"seq": 1}):
            return True
        subjects = PUBLISHED[stream] or PUBLISHED["ORDERS"]
        return any(self._answers(user, f"$JS.API.DIRECT.GET.{stream}.{each}") for each in subjects)

    def _forms(self, config: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The requests that make a consumer of a name."""
        stream = config["name"]
        body = {"name": name, "ack_policy": "explicit" if stream == "WORK" else "none"}
        yield f"$JS.API.CONSUMER.CREATE.{stream}", body
        yield f"$JS.API.CONSUMER.CREATE.{stream}.{name}", body
        yield f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{name}", {**body, "durable_name": name}
        for each in PUBLISHED[stream] or PUBLISHED["ORDERS"]:
            filtered = {**body, "filter_subject": each}
            yield f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{each}", filtered

    def _created(self, user: str, config: dict[str, Any], name: str, more: Any) -> bool:
        stream = config["name"]
        for subject, body in self._forms(config, name):
            wanted = {"stream_name": stream, "config": {**body, **more}}
            data = self._ran(user, subject, wanted)
            if data is not None and _failed(data):  # a work queue that has a consumer
                assert (stream, self.worker) == ("WORK", True), data
                data = None
            if data is not None:
                return True
        return False

    def _new_names(self, config: dict[str, Any]) -> list[str]:
        if config["name"] != "WORK":
            return [*NAMES, "wpull"]
        return [*NAMES, "pull1", "push1", *([] if self.worker else ["wpull"])]

    def _own_pull(self, user: str, config: dict[str, Any]) -> bool:
        for name in self._new_names(config):
            made = self._created(user, config, name, {})
            got = made and self._answers(
                user, f"$JS.API.CONSUMER.MSG.NEXT.{config['name']}.{name}", {"batch": 1}
            )
            if made:
                self._root(f"$JS.API.CONSUMER.DELETE.{config['name']}.{name}")
            if config["name"] == "WORK" and got:
                self._make(config)
            if got:
                return True
        return False

    def _own_push(self, user: str, config: dict[str, Any], free: list[str]) -> bool:
        if not free:
            return False
        for name in self._new_names(config):
            made = False

            def act(name: str = name) -> None:
                nonlocal made
                more = {"deliver_subject": free[0]}
                made = self._created(user, config, name, more)
                if not made:
                    raise _Refused

            try:
                got = self._delivered(user, free[0], "A", act)
            except _Refused:
                continue
            self._root(f"$JS.API.CONSUMER.DELETE.{config['name']}.{name}")
            if config["name"] == "WORK":
                self._make(config)
            return got
        return False

    def _snapshot(self, user: str, stream: str) -> bool:
        """Whether the request runs and its answer is received; the content follows the answer."""
        body = {"deliver_subject": f"chunks.{self._sid()}"}
        return self._answers(user, f"$JS.API.STREAM.SNAPSHOT.{stream}", body)

    def _copying(self, user: str, config: dict[str, Any], free: list[str]) -> bool:
        if not free:
            return False
        source = (PUBLISHED[config["name"]] or PUBLISHED["ORDERS"])[0]
        for name in NAMES:
            body = {"name": name, "storage": "file", "num_replicas": 1, "retention": "limits",
                    "sources": [{"name": config["name"]}],
                    "republish": {"src": source, "dest": free[0]}}  # fmt: skip

            def act(name: str = name, body: Any = body) -> None:
                data = self._ran(user, f"$JS.API.STREAM.CREATE.{name}", body)
                if data is None:
                    raise _Refused
                assert not _failed(data), data

            try:
                got = self._delivered(user, free[0], "A", act)
            except _Refused:
                continue
            self._root(f"$JS.API.STREAM.DELETE.{name}")
            return got
        return False

    def _republished(self, user: str, config: dict[str, Any], free: list[str]) -> bool:
        if not free:
            return False
        source = (PUBLISHED[config["name"]] or PUBLISHED["ORDERS"])[0]
        body = {**config, "republish": {"src": source, "dest": free[0]}}
        data = self._ran(user, f"$JS.API.STREAM.UPDATE.{config['name']}", body)
        if data is None:
            return False
        assert not _failed(data), data

        def act() -> None:
            self._root(source)
            self._root(source)

        got = self._delivered(user, free[0], "A", act)
        self._make(config)
        return got

    def _tapped(self, user: str, config: dict[str, Any], consumer: str, deliver: str) -> bool:
        source = (PUBLISHED[config["name"]] or PUBLISHED["ORDERS"])[0]
        if config["name"] == "SEALED":  # nothing new is delivered; the subscription decides
            return deliver in self._targets[user]
        for here in self._names_here(deliver, user, "A"):
            for queue in (None, "q"):
                client, sid, worker = self._clients[user], self._sid(), self._sid()
                client.subscribe(here, sid, queue)
                client.flush()
                if client.refused:
                    continue
                root = self._roots["A"]
                if consumer == "grp" and (queue is None or user[0] != "A"):
                    root.subscribe(deliver, worker, "q")
                root.subscribe(deliver, sid)
                root.flush()
                self._root(source)
                self._root(source)
                root.wait(sid, number=2)  # the first message is with every subscriber
                client.flush()
                got = client.received[sid] > 0
                for each in (sid, worker):
                    root.unsubscribe(each)
                client.unsubscribe(sid)
                if got:
                    return True
        return False

    def _publishes(self, user: str, stream: str, headers: str = "") -> bool:
        return any(self._ran(user, each, None, headers) is not None for each in PUBLISHED[stream])

    def _acknowledges(self, user: str, config: dict[str, Any]) -> bool:
        """Whether a user can acknowledge what another fetched; the broker confirms it."""
        root, sid = self._roots["A"], self._sid()
        root.subscribe(f"answers.{sid}", sid)
        root.send("$JS.API.CONSUMER.MSG.NEXT.WORK.wpull", None, f"answers.{sid}")
        root.wait(sid)
        root.unsubscribe(sid)
        done = self._ran(user, root.replies[sid]) is not None
        self._make(config)
        return done

    def _injects(self, user: str, config: dict[str, Any]) -> bool:
        """Whether a user can make a stream whose messages this one captures, and publish to it."""
        if user[0] != "A":
            return False
        stream, taken = config["name"], [s for e in self.streams for s in e.get("subjects", ())]
        own = [each for each in OWN if not any(engine.matches(p, each) for p in taken)]
        client = self._clients[user]
        for subject in own:
            client.send(subject)
        client.flush()
        refused = {each for _, each, _ in client.refused}
        own = [each for each in own if each not in refused]
        if not own:
            return False
        for name in NAMES:
            body = {"name": name, "storage": "file", "num_replicas": 1, "retention": "limits",
                    "subjects": own[:1],
                    "republish": {"src": own[0], "dest": PUBLISHED[stream][0]}}  # fmt: skip
            data = self._ran(user, f"$JS.API.STREAM.CREATE.{name}", body)
            if data is None:
                continue
            assert not _failed(data), data
            before = self._last(stream)
            assert self._ran(user, own[0]) is not None
            while self._last(stream) == before:
                pass  # the broker stores it soon after it has confirmed the first
            self._root(f"$JS.API.STREAM.DELETE.{name}")
            return True
        return False

    def _last(self, stream: str) -> int:
        number: int = self._root(f"$JS.API.STREAM.INFO.{stream}")["state"]["last_seq"]
        return number

    def _adds(self, user: str, config: dict[str, Any]) -> bool:
        subjects = [*config["subjects"], "added.>"]
        data = self._ran(user, f"$JS.API.STREAM.UPDATE.{config['name']}",
                         {**config, "subjects": subjects})  # fmt: skip
        if data is None:
            return False
        assert not _failed(data), data
        self._make(config)
        return True

    def _managed(self, user: str, config: dict[str, Any], name: str) -> bool:
        stream = config["name"]
        row = ROWS[name]
        if name in CREATE:
            for consumer in [*NAMES, "pull1", "push1", "grp", "wpull"]:
                for each in PUBLISHED[stream] or PUBLISHED["ORDERS"]:
                    values = {"stream": stream, "consumer": consumer, "subject": each}
                    if self._ran(user, row.filled(values)) is not None:
                        return True
            return False
        consumers = (
            (["wpull"] if self.worker else []) if stream == "WORK" else ["pull1", "push1", "grp"]
        )
        names = consumers if "{consumer}" in row.template else [""]
        for consumer in names:
            values = {"stream": stream, "consumer": consumer}
            if self._ran(user, row.filled(values)) is not None:
                self._make(config)
                return True
        return False


class _Refused(Exception):
    """The user's request is refused."""


def _failed(data: bytes) -> bool:
    return data.startswith(b"{") and "error" in json.loads(data)


def _numbered(text: str) -> str:
    return text.replace("*", "$1")


def judged(seed: int, count: int, folder: Path) -> Counter[str]:
    """Counts of answers. Raises on any difference."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    number = 0
    while counts["asked"] < count:
        case = Case(rng, folder / str(number))
        number += 1
        for user, stream, way, ours, broker in case.judged():
            counts["asked"] += 1
            counts["undetermined" if ours is None else "yes" if broker else "no"] += 1
            counts[f"{way.partition(':')[0]} {'yes' if broker else 'no'}"] += 1
            if ours is not None and ours != broker:
                lists = case.users[user]
                raise AssertionError(json.dumps({
                    "user": user, "lists": lists, "stream": stream, "way": way, "ours": ours,
                    "broker": broker, "imports": case.imports, "streams": case.streams,
                }))  # fmt: skip
            if counts["asked"] == count:
                break
    return counts


if __name__ == "__main__":
    judge_by_hand(__doc__, judged, 2_000)
