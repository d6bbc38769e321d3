"""A connector that starts again: nothing of its earlier run is left, and nothing is there twice."""

from __future__ import annotations

from subtrie._core import control_headers
from subtrie.connector._codec import read_response

from .test_cloud_locality import metadata  # noqa: F401 - a fixture

HOST = "shop.example"
URL = f"https://{HOST}/"


async def test_a_control_request_is_handled_once_in_each_run(make):
    shop, web = make(HOST), make("web.example")

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
    shop, web, told = make_nats(HOST, locality="AWS"), make_nats("web.example"), []
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
