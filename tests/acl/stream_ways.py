"""The ways to streams, each tried by the user's own connection."""

from collections.abc import Iterator
from typing import Any

from stream_broker import Broker, Refused, failed
from stream_inputs import CREATE, MANAGED, NAMES, OWN, PUBLISHED, ROWS

from subtrie._core import engine


class Ways(Broker):
    """The ways of a case."""

    def _ways(self, user: str, config: dict[str, Any], verb: str) -> dict[str, Any]:
        stream = config["name"]
        mirror, sealed = "mirror" in config, stream == "SEALED"
        captured = config.get("subjects", ())
        free = [each for each in self._targets[user]
                if not any(engine.matches(pattern, each) for pattern in captured)]  # fmt: skip

        def done(name: str, body: Any = None) -> bool:
            data = self._ran(user, ROWS[name].filled({"stream": stream}), body)
            if data is not None:
                assert not failed(data) or b"10057" in data, (name, data)
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
            # The broker may still remove the files of an earlier consumer of this name.
            while data is not None and b'"err_code":10012' in data and b"no such file" in data:
                data = self._ran(user, subject, wanted)
            if data is not None and failed(data):  # a work queue that has a consumer
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
                    raise Refused

            try:
                got = self._delivered(user, free[0], "A", act)
            except Refused:
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
                    raise Refused
                assert not failed(data), data

            try:
                got = self._delivered(user, free[0], "A", act)
            except Refused:
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
        assert not failed(data), data

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
            assert not failed(data), data
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
        assert not failed(data), data
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
