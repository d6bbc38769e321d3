"""The subscriptions of a service and their order, as its broker sees them."""

from __future__ import annotations

import re

import nats
import pytest

from patience import settled
from subtrie import HostnameCollision, microbus
from subtrie._core import control_headers
from subtrie.connector import Connector, Request, configurator
from subtrie.connector._codec import write_request

from .nats_server import NatsServer

HOST = "shop.example"


@pytest.mark.requirement("S0-135")
async def test_an_endpoint_is_reached_by_any_replica_and_by_its_own_id(make_nats, plane):
    """The slot ``_`` reaches one replica of the group, and ``id-`` that replica alone."""
    replicas, reached = [make_nats(HOST) for _ in range(2)], []
    for replica in replicas:
        replica.endpoint("GET", "/x")(lambda replica=replica: reached.append(replica.id))
        replica.endpoint("GET", "/all", queue=None)(lambda own=replica: reached.append(own.id))
    async with replicas[0], replicas[1]:
        client = await nats.connect(replicas[0]._transport.broker)
        answers = await client.subscribe(f"{plane}.reply._.{microbus.flatten_host(HOST)}.>")
        await settled(client)
        request = Request("GET", f"https://{HOST}/x")
        request.headers[control_headers.OP_CODE] = "Req"
        request.headers[control_headers.MSG_ID] = "AAAAAAAA"
        request.headers[control_headers.FROM_ID] = "id-raw"

        async def publish(slot: str, path: str, times: int) -> list[str]:
            reached.clear()
            subject = f"{plane}.safe.443.web_example.shop_example.{slot}.GET.{path}"
            await client.publish(subject, write_request(request))
            for _ in range(2 * times):  # an acknowledgement and a response
                while not (await answers.next_msg(5)).subject.endswith("id-raw"):
                    pass
            return sorted(reached)

        own = sorted(replica.id for replica in replicas)
        for each in own:
            assert await publish(each, "x", 1) == [each]
            assert await publish(each, "all", 1) == [each]
        assert await publish("_", "x", 1) in ([own[0]], [own[1]])
        assert await publish("_", "all", 2) == own
        await client.publish(f"{plane}.safe.443.web_example.shop_example.id-other.GET.x", b"")
        assert await publish("_", "all", 2) == own, "nobody took the message to another replica"
        assert not sum(sum(each.metrics.rejects.values()) for each in replicas)
        await client.close()


@pytest.mark.requirement("S0-047", "S0-135")
async def test_each_endpoint_is_subscribed_at_each_slot_of_its_instance(tmp_path, plane):
    """Also those of other hosts, of events and of the control plane, as the broker logs them."""
    log = tmp_path / "server.log"
    server = NatsServer(tmp_path / "nats", log_file=str(log), trace=True).start()
    options = {"plane": plane, "nats": server.url, "short_circuit": False}
    try:
        shop = Connector(HOST, deployment="LAB", locality="us-west", **options)
        shop.endpoint("GET", "/x/{id}")(lambda id: id)
        shop.endpoint("POST", "//other.example:666/y", queue=None)(lambda: None)
        shop.endpoint("POST", ":417/event")(lambda: None)
        async with shop:
            pass
    finally:
        server.stop()
    slots: dict[str, list[str]] = {}
    for pattern in re.findall(rf"<<- \[SUB ({plane}\.[^r]\S*)", log.read_text()):
        tokens = pattern.split(".")
        slots.setdefault(".".join(tokens[1:5] + tokens[6:]), []).append(tokens[5])
    assert {
        "safe.443.*.shop_example.GET.x.*",
        "danger.666.*.other_example.POST.y",
        "safe.417.*.shop_example.POST.event",
        "safe.888.*.shop_example.*.ping",
        "safe.888.*.all.*.ping",
    } <= set(slots)
    for endpoint, found in slots.items():
        assert sorted(found) == sorted(["_", shop.id, "loc-us", "loc-us-west"]), endpoint


@pytest.mark.requirement("S0-136")
async def test_the_reply_subscription_stands_before_the_configurator_is_asked(tmp_path, plane):
    log = tmp_path / "server.log"
    server = NatsServer(tmp_path / "nats", log_file=str(log), trace=True).start()
    try:
        options = {"plane": plane, "nats": server.url, "short_circuit": False}
        async with configurator({HOST: {"Limit": "5"}}, deployment="TESTING", **options):
            shop = Connector(HOST, deployment="LAB", **options)
            limit = shop.config("Limit", default=1, parse=int)
            async with shop:
                assert limit.get() == 5
    finally:
        server.stop()
    said = [
        match.start() if (match := re.search(pattern, text)) else -1
        for text in [log.read_text()]
        for pattern in (
            rf"<<- \[SUB {plane}\.reply\._\.\*\.shop_example\.{shop.id} ",
            rf"<<- \[H?PUB {plane}\.safe\.888\.shop_example\.configurator_core\.",
        )
    ]
    assert -1 < said[0] < said[1]


@pytest.mark.requirement("A5")
@pytest.mark.parametrize("own", ["a.b.c", "x.example"])
async def test_a_route_that_collides_with_the_service_itself_is_refused(own):
    shop = Connector(own, nats="", deployment="TESTING")
    if own == "a.b.c":
        with pytest.raises(HostnameCollision, match=r"'a_b\.c' collides with 'a\.b\.c'"):
            shop.endpoint("GET", "//a_b.c/x")(lambda: None)
    else:
        shop.endpoint("GET", "//a_b.c/x")(lambda: None)
    shop.endpoint("GET", f"//{own}/x")(lambda: None)
    assert len(shop.endpoints) == (1 if own == "a.b.c" else 2)


@pytest.mark.requirement("S0-038")
async def test_callers_add_no_subscriptions_of_the_service(tmp_path, plane):
    """The broker is asked: the subscriptions to requests are the same after eight callers."""
    log = tmp_path / "server.log"
    server = NatsServer(tmp_path / "nats", log_file=str(log), trace=True).start()

    def subscribed() -> list[str]:
        found = re.findall(rf"<<- \[SUB ({plane}\.\S*\.shop_example\.\S*)", log.read_text())
        return [each for each in found if ".reply." not in each]

    try:
        options = {"plane": plane, "nats": server.url, "short_circuit": False}
        shop = Connector(HOST, deployment="LAB", **options)
        shop.endpoint("GET", "/who")(lambda request: request.source)
        async with shop:
            before = subscribed()
            for number in range(8):
                async with Connector(f"caller{number}.example", deployment="LAB", **options) as one:
                    answer = await one.request("GET", f"https://{HOST}/who")
                    assert answer.body == f"caller{number}.example".encode()
            assert subscribed() == before
            assert before
            assert {pattern.split(".")[3] for pattern in before} == {"*"}
    finally:
        server.stop()
