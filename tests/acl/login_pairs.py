"""Pairs of configurations with one change of a limit, a time, a listener or a login.

A live broker shows what is possible on either side: ``change_pairs`` asks for the difference.
"""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import nkeys
from client_certificates import Certificates
from operators import Operator, connecting, key, token
from raw_client import RawClient

from servers import free_port, serving

PASSWORD = {"pass": "open"}
KEY = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"

#: What a broker lets a client do: a word for each thing that was possible.
Probe = Callable[[Path, str], set[str]]


class Pair(NamedTuple):
    """One change: its kind, the text before and after it, and the question to a live broker."""

    kind: str
    old: str
    new: str
    probe: Probe


def _users(*names: str, more: str = "") -> str:
    rows = ", ".join(f"{{ user: {each}, password: open }}" for each in names)
    return f"authorization {{ users: [ {rows} ]{more} }}\n"


def _client(url: str, **login: Any) -> RawClient | None:
    """A connection; None if the broker refuses it."""
    with suppress(OSError, ValueError):
        return RawClient(url, **login)
    return None


def _does(url: str, **login: Any) -> bool:
    """True if a login is admitted."""
    client = _client(url, **login)
    if client is None:
        return False
    client.close()
    return True


# --- limits


_SIZES = (8, 64, 512, 4096)


def _sizes(folder: Path, config: str) -> set[str]:
    found = set()
    with serving(folder, config) as url:
        for size in range(8, 4200, 8):
            if size - 8 not in _SIZES:
                continue
            client = RawClient(url, user="a", **PASSWORD)
            with suppress(OSError, ValueError):
                client.publish("x", payload=b"." * size)
                client.flush()
                found.add(f"{size} bytes")
            client.close()
    return found


def _connections(folder: Path, config: str) -> set[str]:
    with serving(folder, config) as url:
        found = [_client(url, user="a", **PASSWORD) for _ in range(6)]
        for each in filter(None, found):
            each.close()
    return {f"{number} at a time" for number in range(sum(each is not None for each in found))}


def _subscriptions(folder: Path, config: str) -> set[str]:
    accepted = 0
    with serving(folder, config) as url:
        client = RawClient(url, user="a", **PASSWORD)
        with suppress(OSError, ValueError):
            for number in range(6):
                client.subscribe(f"s.{number}", str(number))
                client.flush()
                accepted += 1
        client.close()
    return {f"{number} subscriptions" for number in range(accepted)}


def limits(rng: random.Random, folder: Path) -> Pair:
    """A limit of a broker, or of an account, that is set, changed or removed."""
    name, probe, values = rng.choice(
        [("max_payload", _sizes, _SIZES), ("max_connections", _connections, (1, 2, 3, 4)),
         ("max_subscriptions", _subscriptions, (1, 2, 3, 4))]
    )  # fmt: skip
    of_account = rng.random() < 0.5
    # A configured limit of payloads of an account is for leaf nodes; the broker's own counts.
    if name == "max_payload":
        of_account = False

    def text(limit: int | None) -> str:
        line = "" if limit is None else f"{name}: {limit}"
        block = f" limits {{ {line} }}," if of_account and line else ""
        own = "" if of_account else f"{line}\n"
        return f"{own}accounts {{ A {{{block} users: [ {{ user: a, password: open }} ] }} }}\n"

    old, new = rng.sample([None, *values], 2)
    where = "account" if of_account else "broker"
    return Pair(f"limit of the {where}, {name}", text(old), text(new), probe)


# --- tokens


def times(rng: random.Random, folder: Path) -> Pair:
    """The time in which the token of a user is good."""
    operator, public = Operator(), key(nkeys.PREFIX_BYTE_USER)
    now = int(time.time())
    bounds: list[dict[str, int]] = [
        {}, {"exp": now - 900}, {"exp": now - 90}, {"exp": now + 900}, {"exp": now + 9000},
        {"nbf": now + 900}, {"nbf": now - 900},
    ]  # fmt: skip
    sides = {}
    lists = {"type": "user", "subs": -1, "data": -1, "payload": -1}
    for side, bound in zip(("old", "new"), rng.sample(bounds, 2), strict=True):
        jwt = token(operator.account, public.public_key.decode(), "u", lists, dict(bound))
        store = folder / side
        store.mkdir(parents=True)
        (store / "account.jwt").write_text(operator.account_jwt)
        (store / "u.jwt").write_text(jwt)
        sides[side] = str(store)

    def probe(live: Path, store: str) -> set[str]:
        with serving(live, operator.config) as url:
            jwt = Path(store, "u.jwt").read_text()
            return {"login"} if _does(url, **connecting(jwt, public.seed.decode())) else set()

    return Pair("time of a token", sides["old"], sides["new"], probe)


# --- other brokers


@contextmanager
def _neighbour(folder: Path, config: str) -> Iterator[RawClient]:
    """A client of another broker."""
    with serving(folder, f"server_name: neighbour\n{config}") as url:
        client = RawClient(url, user="a", **PASSWORD)
        yield client
        client.close()


def _crosses(folder: Path, config: str, other: str) -> set[str]:
    """The directions in which messages cross between a broker and another."""
    found: set[str] = set()
    with _neighbour(folder / "neighbour", other) as there, serving(folder, config) as url:
        here = RawClient(url, user="a", **PASSWORD)
        for each in (here, there):
            each.subscribe("x.>", "1")
            each.flush()
        linked = any(word in config for word in ("cluster", "gateway", "leafnodes"))
        rounds = 400 if linked else 2
        while rounds:
            here.publish("x.here")
            there.publish("x.there")
            before = len(found)
            for _ in range(2):
                here.flush()
                found |= {"brought" for _, text, _ in here.messages if "there" in text}
                there.flush()
                found |= {"sent" for _, text, _ in there.messages if "here" in text}
            # Each link carries one direction at least; the other comes soon after it.
            rounds = min(rounds - 1, 20) if len(found) > before else rounds - 1
            time.sleep(0.02)
        here.close()
    return found


def links(rng: random.Random, folder: Path) -> Pair:
    """A cluster, a gateway or a leaf node that is added, removed or restricted."""
    port = free_port()
    users = _users("a")
    kind = rng.choice(["cluster", "gateway", "leaf node"])
    if kind == "cluster":
        other = f'cluster {{ name: c, listen: "127.0.0.1:{port}" }}\n'
        route = f'cluster {{ name: c, listen: "127.0.0.1:-1", routes: [ "nats://127.0.0.1:{port}" ]'
        texts = ["", f"{route} }}\n", f'{route}, permissions: {{ import: "y.>" }} }}\n',
                 f'{route}, permissions: {{ export: "y.>" }} }}\n']  # fmt: skip
    elif kind == "gateway":
        other = f'gateway {{ name: there, listen: "127.0.0.1:{port}" }}\n'
        texts = ["", 'gateway { name: here, listen: "127.0.0.1:-1", gateways: [ '
                     f'{{ name: there, url: "nats://127.0.0.1:{port}" }} ] }}\n']  # fmt: skip
    else:
        other = f'leafnodes {{ listen: "127.0.0.1:{port}" }}\n'
        remote = f'url: "nats-leaf://a:open@127.0.0.1:{port}"'
        texts = ["", *(f"leafnodes {{ remotes: [ {{ {remote}{more} }} ] }}\n" for more in
                       ("", ', deny_imports: "x.>"', ', deny_exports: "x.>"'))]  # fmt: skip
    old, new = rng.sample(texts, 2)

    def probe(live: Path, config: str) -> set[str]:
        return _crosses(live, config, users + other)

    return Pair(kind, f"server_name: here\n{users}{old}", f"server_name: here\n{users}{new}", probe)


def _by_websocket(folder: Path, config: str) -> set[str]:
    with serving(folder, config):
        return {"websocket"} if _answers(config, _UPGRADE, b" 101 ") else set()


_UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def _answers(config: str, sent: bytes, wanted: bytes) -> bool:
    """True if a listener of the configuration answers so."""
    port = int(config.rpartition("# port ")[2])
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as found:
        found.settimeout(5)
        found.sendall(sent)
        return wanted in found.recv(200)
    return False


def _by_mqtt(folder: Path, config: str) -> set[str]:
    text = config.replace("STORE", str(folder / "js"))
    fields = b"\x00\x04MQTT\x04\xc2\x00\x3c\x00\x01c\x00\x01a\x00\x04open"
    with serving(folder, text):
        connect = bytes([0x10, len(fields)]) + fields
        return {"mqtt"} if _answers(config, connect, b"\x20\x02\x00\x00") else set()


def listeners(rng: random.Random, folder: Path) -> Pair:
    """A listener for WebSocket or MQTT."""
    port = free_port()
    base = f'server_name: n\njetstream {{ store_dir: "STORE" }}\n{_users("a")}'
    end = f"# port {port}"
    if rng.random() < 0.5:
        base = _users("a")
        block, probe = f'websocket {{ listen: "127.0.0.1:{port}", no_tls: true }}\n', _by_websocket
    else:
        block, probe = f'mqtt {{ listen: "127.0.0.1:{port}" }}\n', _by_mqtt
    pair = [f"{base}{end}", f"{base}{block}{end}"]
    if rng.random() < 0.2:
        pair.reverse()
    return Pair(block.split()[0], *pair, probe)


# --- logins


def certificates(rng: random.Random, folder: Path) -> Pair:
    """Certificates that are needed, or that name the user."""
    made = Certificates(folder)
    made.vouch("a")
    users = _users("a", "b")
    blocks = ["", made.block(), made.block("verify: true"), made.block("verify_and_map: true")]
    old, new = rng.sample(blocks, 2)

    def probe(live: Path, config: str) -> set[str]:
        """The credentials that suffice, by any transport, and plain text."""
        with serving(live, config) as url:
            login = {"user": "b", **PASSWORD}
            plain = _does(url, **login)
            secure, named, both = plain, False, plain
            if "tls" in config:
                secure = plain or _does(url, tls=made.context(None), **login)
                named = _does(url, tls=made.context("a"))
                both = secure or _does(url, tls=made.context("a"), **login)
        found = {"plain text": plain, "password": secure, "certificate": named, "both": both}
        return {each for each, possible in found.items() if possible}

    return Pair("certificates", users + old, users + new, probe)


def _logins(folder: Path, config: str) -> set[str]:
    found = set()
    with serving(folder, config) as url:
        for name in ("a", "b", "gate"):
            # What is possible without a password is possible with any.
            if _does(url, user=name):
                found |= {f"{name} without a password", f"{name} with a password"}
            elif _does(url, user=name, **PASSWORD):
                found.add(f"{name} with a password")
        if _does(url):
            found.add("nothing")
    return found


def passwords(rng: random.Random, folder: Path) -> Pair:
    """A password that is added or removed, or authorization that is."""
    texts = ["", "authorization { users: [ { user: a }, { user: b, password: open } ] }\n",
             _users("a", "b"), _users("a"), "authorization { token: secret }\n"]  # fmt: skip
    old, new = rng.sample(texts, 2)
    return Pair("passwords", old, new, _logins)


def callouts(rng: random.Random, folder: Path) -> Pair:
    """An authorization callout that no client answers."""

    def text(exempt: str, more: str) -> str:
        block = f"auth_callout {{ issuer: {KEY}, account: G, auth_users: [ {exempt} ]{more} }}"
        return f"authorization {{ timeout: 0.3, {block} }}\n"

    accounts = (
        "accounts { G { users: [ { user: gate, password: open } ] }, "
        "A { users: [ { user: a, password: open } ] }, "
        "B { users: [ { user: b, password: open } ] } }\n"
    )
    allowed = [f", allowed_accounts: [ {each} ]" for each in "AB"]
    texts = ["", *(text(each, "") for each in ("gate", "gate, a", "gate, b"))]
    texts += [text("gate", each) for each in allowed]
    old, new = rng.sample(texts, 2)
    return Pair("callout", accounts + old, accounts + new, _logins)


def _stored(folder: Path, config: str) -> set[str]:
    with serving(folder, config.replace("STORE", str(folder / "js"))) as url:
        client = RawClient(url, user="a", **PASSWORD)
        stream = json.dumps({"name": "S", "subjects": ["s"], "storage": "memory"}).encode()
        client.subscribe("r", "1")
        client.subscribe("acknowledged", "2")
        client.publish("$JS.API.STREAM.CREATE.S", "r", stream)
        stored = False
        for _ in range(20):
            client.publish("s", "acknowledged")
            client.flush()
            stored = stored or any(subject == "acknowledged" for _, subject, _ in client.messages)
            if stored:
                break
            time.sleep(0.02)
        client.close()
        return {"JetStream"} if stored else set()


def streams(rng: random.Random, folder: Path) -> Pair:
    """JetStream of an account."""

    def text(more: str) -> str:
        user = "{ user: a, password: open }"
        return (
            f'jetstream {{ store_dir: "STORE" }}\naccounts {{ A {{ users: [ {user} ] }}{more} }}\n'
        )

    texts = [text(""), text("").replace("A {", "A { jetstream: enabled,")]
    old, new = rng.sample(texts, 2)
    return Pair("jetstream", old, new, _stored)


KINDS = [limits, limits, times, times, links, listeners, certificates, passwords, callouts, streams]


def generated(rng: random.Random, folder: Path) -> Pair:
    """One pair of a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    return rng.choice(KINDS)(rng, folder)
