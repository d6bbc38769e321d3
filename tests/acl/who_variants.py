"""Kinds of deployments for the questions of ``who_questions``, each with a live broker.

Beside plain configurations: a user of connections without credentials, entries with queues,
accounts and scoped keys with templates as JWTs, and a leaf node that links to another broker.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from flow_questions import WORDS
from operator_mode import OperatorMode
from operators import connecting
from raw_client import RawClient

from patience import wait_until
from servers import free_port, serving
from subtrie._core import engine
from subtrie.acl import Deployment

KINDS = ("configuration", "no_auth_user", "queues", "templates", "leaf node")

_UNLIMITED = dict.fromkeys(("subs", "data", "payload"), -1)


class Live(NamedTuple):
    """A running broker, what the model knows of it, how its users log in, and a linked broker."""

    url: str
    model: Deployment
    logins: dict[str, dict[str, Any]]
    linked: Linked | None


class Linked:
    """A broker to which an account is linked by a leaf node, and a client of it.

    Args:
        url: the address of the broker.
        own: a connection of the account that is linked, with all permissions.
        account: the account.
    """

    def __init__(self, url: str, own: RawClient, account: str) -> None:
        self.account, self._own, self._count = account, own, 0
        self._there = RawClient(url, user="hub", **{"pass": "open"})
        for client in (self._there, own):
            client.subscribe(">", "1")
            client.flush()
        wait_until(lambda: self._passes(own, self._there) and self._passes(self._there, own))

    def _passes(self, sender: RawClient, receiver: RawClient) -> bool:
        sender.publish("ready.0")
        sender.flush()
        receiver.flush()
        return any(subject == "ready.0" for _, subject, _ in receiver.messages)

    def brings(self, receiver: RawClient, subjects: list[str]) -> set[str]:
        """The subjects that a client of this broker receives of what the linked one publishes."""
        self._until(self._there, self._own)  # what came before is not of this question
        receiver.flush()
        for each in subjects:
            self._there.publish(each)
        found = self._until(self._there, self._own)
        receiver.flush()
        return found | {subject for _, subject, _ in receiver.messages}

    def takes(self, sender: RawClient, subjects: list[str]) -> set[str]:
        """The subjects that the linked broker receives of what a client of this one publishes."""
        self._until(self._own, self._there)
        for each in subjects:
            sender.publish(each)
        sender.flush()
        return self._until(self._own, self._there)

    def _until(self, sender: RawClient, receiver: RawClient) -> set[str]:
        """The subjects that a client receives until a last message has come over the link."""
        self._count += 1
        last = f"ready.{self._count}"
        sender.publish(last)
        sender.flush()
        found: set[str] = set()

        def arrived() -> bool:
            receiver.flush()
            found.update(subject for _, subject, _ in receiver.messages)
            return last in found

        wait_until(arrived)
        return {each for each in found if not each.startswith("ready.")}

    def close(self) -> None:
        self._there.close()
        self._own.close()


@contextmanager
def running(
    kind: str, rng: random.Random, deployment: dict[str, Any], folder: Path
) -> Iterator[Live]:
    """A broker with a generated deployment, changed to be of a kind."""
    accounts = deployment["accounts"]
    names = [f"{name}/{each['user']}" for name, block in accounts.items()
             for each in block["users"]]  # fmt: skip
    logins: dict[str, dict[str, Any]] = {
        each: {"user": each.rpartition("/")[2], "pass": "open"} for each in names
    }
    folder.mkdir(parents=True)
    if kind == "templates":
        _with_roles(rng, accounts)
        operator = OperatorMode(accounts)
        model = Deployment.load(operator.store(folder / "store"))
        model.cluster = ""
        logins = {each: connecting(*operator.users[each]) for each in names}
        with serving(folder / "live", operator.config) as url:
            yield Live(url, model, logins, None)
        return
    more = ""
    if kind == "no_auth_user":
        chosen = rng.choice(names)
        more = f"no_auth_user: {chosen.rpartition('/')[2]}\n"
        logins[chosen] = {}
    elif kind == "queues":
        _with_queues(rng, accounts)
    elif kind == "leaf node":
        yield from _linked(rng, accounts, logins, folder)
        return
    path = folder / "nats.conf"
    path.write_text(f"{more}accounts {json.dumps(accounts)}\n")
    with serving(folder / "live", path.read_text()) as url:
        yield Live(url, Deployment.load(path), logins, None)


def _linked(
    rng: random.Random, accounts: dict[str, Any], logins: dict[str, Any], folder: Path
) -> Iterator[Live]:
    name = rng.choice(sorted(accounts))
    mappings = accounts[name].get("mappings", {})
    for source in [each for each in mappings if engine.overlaps(each, "ready.*")]:
        del mappings[source]
    user = '{ user: hub, password: "open" }'
    port = free_port()
    hub = f'leafnodes {{ listen: "127.0.0.1:{port}" }}\nauthorization {{ users: [ {user} ] }}\n'
    with serving(folder / "hub", hub) as there:
        denied = {
            key: [f"{rng.choice(WORDS[:3])}.>" for _ in range(rng.randint(0, 2))]
            for key in ("deny_imports", "deny_exports")
        }
        remote = {"url": f"nats-leaf://hub:open@127.0.0.1:{port}", "account": name}
        remote |= {key: each for key, each in denied.items() if each}
        path = folder / "nats.conf"
        links = f"leafnodes {{ remotes: [ {json.dumps(remote)} ] }}\n"
        path.write_text(f"{links}accounts {json.dumps(accounts)}\n")
        with serving(folder / "live", path.read_text()) as url:
            own = RawClient(url, **logins[f"{name}/{name.lower()}0"])
            linked = Linked(there, own, name)
            yield Live(url, Deployment.load(path), logins, linked)
            linked.close()


def _with_queues(rng: random.Random, accounts: dict[str, Any]) -> None:
    """Queue groups in some entries of subscriptions."""
    for block in accounts.values():
        for user in block["users"]:
            for side in user.get("permissions", {}).get("subscribe", {}).values():
                side[:] = [f"{each} q" if rng.random() < 0.4 else each for each in side]


def _with_roles(rng: random.Random, accounts: dict[str, Any]) -> None:
    """Scoped keys in place of the lists of some users, with templates in their entries."""
    for block in accounts.values():
        block["tags"] = [f"zone:{rng.choice(WORDS[:3])}"]
        roles = block.setdefault("roles", {})
        for user in block["users"]:
            if "permissions" not in user or rng.random() < 0.3:
                continue
            user["tags"] = [f"team:{each}" for each in rng.sample(WORDS[:3], rng.randint(1, 2))]
            role = f"role-{user['user']}"
            user["role"], lists = role, user.pop("permissions")
            roles[role] = {**_UNLIMITED, **{
                short: {kind: [_template(rng, each) for each in entries]
                        for kind, entries in lists[verb].items()}
                for verb, short in (("publish", "pub"), ("subscribe", "sub")) if verb in lists
            }}  # fmt: skip


def _template(rng: random.Random, entry: str) -> str:
    tokens = entry.split(".")
    for index, token in enumerate(tokens):
        if token not in "*>" and rng.random() < 0.5:
            tokens[index] = rng.choice(["{{tag(team)}}", "{{account-tag(zone)}}", "{{name()}}"])
    return ".".join(tokens)
