"""A connector that starts again: nothing of its earlier run is left, and nothing is there twice."""

from __future__ import annotations

from patience import until
from subtrie._core import control_headers
from subtrie.connector._codec import read_response

from .test_cloud_locality import metadata  # noqa: F401 - a fixture

HOST, WEB = "shop.example", "web.example"
URL = f"https://{HOST}/"


async def test_a_control_request_is_handled_once_in_each_run(make):
    shop, web = make(HOST), make(WEB)

    def pings() -> int:
        served = shop.metrics.served.items()
        return sum(each.count for key, each in served if key[0].name == "ping")

    async with web:
        for run in (1, 2, 3):
            async with shop:
                found = [each async for each in web.publish("GET", f"https://{HOST}:888/ping")]
                assert [each.json() for each in found] == [{"pong": 0}]
            assert pings() == run


async def test_the_locality_is_that_of_the_run_in_responses_and_acknowledgements(
    make_nats,
    metadata,  # noqa: F811
):
    shop, web, told = make_nats(HOST, locality="AWS"), make_nats(WEB), []
    shop.endpoint("GET", "/")(lambda: None)

    @web.watch
    def see(direction, subject, payload):
        if direction == "in" and ".reply." in subject:
            headers = read_response(payload).headers
            if headers[control_headers.FROM_HOST] == HOST:
                told.append((headers[control_headers.OP_CODE], headers[control_headers.LOCALITY]))

    async with web:
        for zone, place in (("us-east-1a", "us-east-1-a"), ("eu-west-2c", "eu-west-2-c")):
            metadata.zone = zone
            told.clear()
            async with shop:
                assert (await web.request("GET", URL)).locality == place
            assert sorted(told) == [
                (control_headers.ACK, place),
                (control_headers.RESPONSE, place),
            ]


async def test_the_nearest_replicas_are_those_of_the_locality_of_the_run(
    make_memory,
    metadata,  # noqa: F811
):
    shop, web = make_memory(HOST, locality="us-east-1"), make_memory(WEB, locality="AWS")
    shop.endpoint("GET", "/")(lambda: None)
    key = ("GET", f"https://{HOST}:443/")
    async with shop:
        for zone, place, near in (
            ("us-east-1a", "us-east-1-a", "us-east-1"),
            ("us-west-2c", "us-west-2-c", "us"),
        ):
            metadata.zone = zone
            async with web:
                assert (web.nearest.locality, web.nearest.nearest(key)) == (place, "")
                await web.request("GET", URL)
                assert web.nearest.nearest(key) == near


async def test_requests_that_waited_in_an_earlier_run_take_no_place(make_nats):
    shop, web = make_nats(HOST), make_nats(WEB)
    shop.endpoint("GET", "/")(lambda: 7)
    async with shop:
        while shop._server._backlog.add(1):
            pass
    async with shop, web:
        assert (await web.request("GET", URL)).json() == 7


async def test_steps_that_were_handed_over_in_an_earlier_run_are_not_taken(make_memory):
    shop, taken = make_memory(HOST), []
    async with shop:
        shop._runtime.hand_over(taken.append, 1)
        shop._runtime.close()
        shop._runtime.open()
        shop._runtime.hand_over(taken.append, 2)
        await until(lambda: taken)
        assert taken == [2]
