"""The shop with creds derived from its source, on a real nats-server."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest
from operators import Operator, connecting
from raw_client import RawClient

from examples.shop.services import SERVICES, replicas
from examples.shop.web import entries, request_unserved, visit
from servers import serving
from subtrie.acl import Permissions
from subtrie.connector import BusError, HTTPError
from subtrie.gencreds import Creds, Service, rules, scan, sign, write

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"
PLANE = "shop"
CUSTOMERS = 12
# No customer returns an order.
NEVER_CALLED = "shop.safe.443.orders_shop.payments_shop.*.POST.refunds.*"
_TRACED = re.compile(r"<<- \[(PUB|HPUB|SUB) (\S+)(?: (\S+))?")


@dataclasses.dataclass
class Shop:
    """A broker in operator mode, a user for each service, and what each of them did there."""

    url: str
    folder: Path
    operator: Operator
    services: dict[str, Service]
    granted: dict[str, Permissions]
    log: str = ""
    seen: Counter[str] = dataclasses.field(default_factory=Counter)
    sent: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    heard: dict[str, set[str]] = dataclasses.field(default_factory=dict)

    def creds(self, host: str, permissions: Permissions | None = None) -> Creds:
        """A user for the service: with its own rules, or others."""
        given = self.granted[host] if permissions is None else permissions
        return sign(given, self.operator.account.seed.decode(), name=host)

    def client(self, host: str, permissions: Permissions | None = None) -> RawClient:
        """A bare connection as the service."""
        creds = self.creds(host, permissions)
        return RawClient(self.url, **connecting(creds.jwt, creds.seed))


async def _run_customers(
    shop: Shop, without: tuple[str, str] | None = None
) -> tuple[Counter[str], str]:
    """Opens the shop, all of it on the bus, each service with its creds; lets customers in.

    ``without`` takes a rule from a service.
    """
    seen: Counter[str] = Counter()
    failed = ""
    async with AsyncExitStack() as opened:
        for host in SERVICES:
            file = shop.folder / f"{host}_nats.creds"
            given = shop.granted[host]
            if without is not None and without[0] == host:
                given = _without(given, without[1])
            write(shop.creds(host, given), file)
            for connector in replicas(
                host, plane=PLANE, nats=shop.url, creds=file, short_circuit=False, round_trip=0.5
            ):
                patterns = [p for e in connector.endpoints for p in e.patterns()]
                shop.heard.setdefault(host, set()).update(patterns)

                @connector.watch
                def note(direction: str, subject: str, payload: bytes, host: str = host) -> None:
                    if direction == "out":
                        shop.sent[host, subject] += 1

                await opened.enter_async_context(connector)
        dice = Random(1)
        try:
            for customer in range(CUSTOMERS):
                await visit(connector, customer, dice, seen)
            if without is None:
                await request_unserved(connector, dice, seen)
                seen.update(await entries(connector))
        except HTTPError as error:
            failed = str(error)
    return seen, failed


def _without(permissions: Permissions, rule: str) -> Permissions:
    return Permissions(
        publish_allow=[each for each in permissions.publish_allow or () if each != rule],
        subscribe_allow=[each for each in permissions.subscribe_allow or () if each != rule],
    )


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop, once it has traded under its own creds."""
    folder = tmp_path_factory.mktemp("shop")
    services = {each.host: each for each in scan(SHOP)}
    granted = {host: rules(service, PLANE) for host, service in services.items()}
    operator = Operator()
    with serving(folder / "server", operator.config + "trace: true\n") as url:
        made = Shop(url, folder, operator, services, granted)
        made.seen, _ = asyncio.run(_run_customers(made))
        made.log = (folder / "server" / "server.log").read_text()
        yield made


@pytest.mark.requirement("S0-102")
def test_all_traffic_of_the_shop_is_delivered(shop):
    seen = shop.seen
    assert set(shop.services) == set(SERVICES)
    assert seen["placed"] + seen["declined"] == CUSTOMERS
    assert seen["placed"] > 3
    assert seen["declined"] > 0
    assert seen["sales"] == seen["orders"] == seen["placed"]
    assert seen["unserved"] == 3
    assert "Violation" not in shop.log
    assert len(_TRACED.findall(shop.log)) > 200


def test_all_traffic_of_the_shop_is_allowed_in_both_models(shop):
    for host, subject in shop.sent:
        for model in ("strict", "broker"):
            assert shop.granted[host].can_publish(subject, model=model), (host, subject)
    for host, patterns in shop.heard.items():
        for pattern in patterns:
            assert shop.granted[host].can_subscribe(pattern, queue=host), (host, pattern)


def _not_implicit(shop: Shop) -> list[tuple[str, str, str]]:
    found = []
    for host, permissions in shop.granted.items():
        bare = rules(Service(host), PLANE)
        for verb in ("publish", "subscribe"):
            implicit = getattr(bare, f"{verb}_allow")
            found += [
                (host, verb, each)
                for each in getattr(permissions, f"{verb}_allow")
                if each not in implicit
            ]
    return found


@pytest.mark.requirement("S0-101")
def test_without_one_of_its_own_rules_the_broker_refuses_a_call(shop):
    """A message of the shop, sent by a user without the rule and by one with it."""
    asked = [each for each in _not_implicit(shop) if each[2] != NEVER_CALLED]
    assert len(asked) >= 15
    for host, verb, rule in asked:
        said = [s for h, s in shop.sent if h == host] if verb == "publish" else shop.heard[host]
        client = shop.client(host, _without(shop.granted[host], rule))
        for number, each in enumerate(said):
            if verb == "publish":
                client.publish(each)
            else:
                client.subscribe(each, str(number))
        client.flush()
        refused = {subject for _, subject, _ in client.refused}
        client.close()
        covered = [each for each in said if _covers(rule, each)]
        assert covered, (host, rule, "is needed by nothing")
        assert refused == set(covered), (host, rule)
        whole = shop.client(host)
        for number, each in enumerate(covered):
            if verb == "publish":
                whole.publish(each)
            else:
                whole.subscribe(each, str(number))
        whole.flush()
        assert not whole.refused
        whole.close()


def _covers(rule: str, subject: str) -> bool:
    return bool(Permissions(publish_allow=[rule], subscribe_allow=[]).can_publish(
        subject.replace("*", "x").replace(">", "x")
    ))  # fmt: skip


def test_an_order_fails_without_the_rule_to_publish(shop):
    host, rule = "payments.shop", "shop.danger.666.payments_shop.token_shop.*.POST.mint"
    assert (host, "publish", rule) in _not_implicit(shop)
    seen, failed = asyncio.run(_run_customers(shop, (host, rule)))
    assert seen["placed"] == 0
    assert "500: the broker refuses to publish" in failed


def test_a_service_does_not_start_without_the_rule_to_subscribe(shop):
    host, rule = "token.shop", "shop.danger.666.*.token_shop.>"
    assert (host, "subscribe", rule) in _not_implicit(shop)
    with pytest.raises(BusError, match="refuses the service's own subscription"):
        asyncio.run(_run_customers(shop, (host, rule)))


#: Who, and what it must not say.
FORBIDDEN = {
    "a foreign destination": "shop.safe.443.orders_shop.ledger_shop._.GET.accounts",
    "another method": "shop.safe.443.orders_shop.payments_shop._.GET.charges",
    "another port": "shop.safe.444.orders_shop.payments_shop._.POST.charges",
    "another's source": "shop.safe.443.web_shop.orders_shop._.POST.orders",
    "another's reply": "shop.reply._.payments_shop.orders_shop.id-1",
    "the danger port": "shop.danger.666.orders_shop.token_shop._.POST.mint",
    "the danger port by another's source": ("shop.danger.666.payments_shop.token_shop._.POST.mint"),
    "another plane": "test.safe.443.orders_shop.payments_shop._.POST.charges",
    "another's event": "shop.safe.417.web_shop.web_shop._.POST.on-placed",
    "no plane at all": "orders.new",
    "the system": "$SYS.REQ.SERVER.PING",
}


@pytest.mark.requirement("S0-120", "S0-126")
@pytest.mark.parametrize("what", FORBIDDEN)
def test_forbidden_traffic_is_refused(shop, what):
    client = shop.client("orders.shop")
    client.publish(FORBIDDEN[what])
    client.flush()
    assert client.refused == [("Publish", FORBIDDEN[what], None)]
    client.close()


@pytest.mark.requirement("S0-112")
@pytest.mark.parametrize("pattern", [
    ">", "shop.>", "shop.safe.>", "*.safe.*.*.orders_shop.>", "shop.safe.443.*.payments_shop.>",
    "test.safe.*.*.orders_shop.>", "shop.danger.666.*.orders_shop.>", "shop.reply._.*.web_shop.*",
    "shop.safe.417.*.payments_shop.*.POST.>",
])  # fmt: skip
def test_messages_for_others_cannot_be_received(shop, pattern):
    client = shop.client("orders.shop")
    client.subscribe(pattern, "1")
    client.flush()
    assert client.refused == [("Subscription", pattern, None)]
    client.close()


#: Where a call is put in, what it says, and the rule it earns.
ADDED = {
    "payments.shop": (
        "payments.py", "        minted: str",
        '        await connector.request("GET", "https://ledger.shop/accounts")\n',
        "shop.safe.443.payments_shop.ledger_shop.*.GET.accounts",
    ),
    "orders.shop": (
        "orders.py", "        kept[order.id] = order",
        '        await connector.request("POST", f"https://web.shop:8443/told/{order.id}/now")\n',
        "shop.safe.8443.orders_shop.web_shop.*.POST.told.*.now",
    ),
    "web.shop": (
        "web.py", "    order = Order(",
        "    await ledger.enter(connector, 'a', 'b', 1)\n",
        "shop.safe.443.web_shop.ledger_shop.*.POST.accounts.*.*",
    ),
}  # fmt: skip


@pytest.mark.requirement("S0-099")
@pytest.mark.parametrize("host", ADDED)
def test_one_more_call_in_its_source_is_exactly_one_more_rule(shop, tmp_path, host):
    name, before, call, rule = ADDED[host]
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / name).read_text()
    assert text.count(before) == 1
    (copy / name).write_text(text.replace(before, call + before))
    for service in scan(copy):
        found, known = rules(service, PLANE), shop.granted[service.host]
        assert found.subscribe_allow == known.subscribe_allow
        more = set(found.publish_allow or ()) - set(known.publish_allow or ())
        assert more == ({rule} if service.host == host else set())
        assert not set(known.publish_allow or ()) - set(found.publish_allow or ())


@pytest.mark.requirement("S0-121")
def test_creds_of_another_plane_reach_nothing(shop):
    other = rules(shop.services["orders.shop"], "staging")
    client = shop.client("orders.shop", other)
    said = [subject for host, subject in shop.sent if host == "orders.shop"]
    for subject in said:
        client.publish(subject)
    client.flush()
    assert {subject for _, subject, _ in client.refused} == set(said)
    client.close()
