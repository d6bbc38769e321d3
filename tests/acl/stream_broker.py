"""A live broker with streams: what the user's own connection sends, and what arrives."""

import json
from collections import Counter
from typing import Any

from raw_client import RawClient
from stream_inputs import CANDIDATES, PUBLISHED

from subtrie._core import engine


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


class Broker:
    """The connections of a case to its broker."""

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


class Refused(Exception):
    """The user's request is refused."""


def failed(data: bytes) -> bool:
    return data.startswith(b"{") and "error" in json.loads(data)


def numbered(text: str) -> str:
    return text.replace("*", "$1")
