"""Go Microbus, recorded: our connector in the place of each of its services."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from pathlib import Path

import pytest

from subtrie.connector import Connector
from tests.connector.nats_server import NatsServer
from tests.interop.cast import LATE, ROUTES, subscribe_all
from tests.interop.replay import compare, run
from tests.interop.wire import Recorded, headers_of, read

RECORDING = Path(__file__).resolve().parents[1] / "recordings" / "go_live"
TRUTH = read(RECORDING).truth
SERVICES = {service["name"]: service for service in TRUTH["services"]}


@pytest.mark.parametrize("role", SERVICES)
def test_S0_129_in_the_place_of(role):
    outcome = run(RECORDING, role)
    print(outcome)
    assert outcome.passed, str(outcome)
    assert outcome.messages > 2


def _recorded(payload: bytes) -> Recorded:
    return Recorded("x", "s", payload, "Req", "A", "", [], headers_of(payload))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (b"shop.example", b"shop.exampl3", False),
        (b"Microbus-Call-Depth: 2", b"Microbus-Call-Depth: 3", False),
        (b"Time-Budget: 19.8s", b"Time-Budget: 19.7s", True),
        (b"Time-Budget: 19.8s", b"Time-Budget: 21s", False),
        (b"Time-Budget: 19.8s", b"Time-Budget: 2s", False),
        (b"Traceparent: 00-ab-cd-01\r\n", b"", True),
        (b"\r\n\r\nbody", b"\r\n\r\nb0dy", False),
    ],
)
def test_the_comparison_masks_what_it_may_and_nothing_else(before, after, same):
    payload = (
        b"GET https://shop.example:443/ HTTP/1.1\r\nHost: shop.example:443\r\n"
        b"Microbus-Call-Depth: 2\r\nMicrobus-Time-Budget: 19.8s\r\n"
        b"Traceparent: 00-ab-cd-01\r\n\r\nbody"
    )
    assert before in payload
    assert (compare(_recorded(payload), payload.replace(before, after)) == "") is same


def test_a_run_that_replays_nothing_or_something_else_fails(tmp_path):
    truth = copy.deepcopy(TRUTH)
    wanted = [s for s in truth["scenarios"] if s["name"] == "get_path_args"]
    with gzip.open(RECORDING / "wire.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    for name, scenarios, altered in (("none", [], False), ("other", wanted, True)):
        folder = tmp_path / name
        folder.mkdir()
        truth["scenarios"], truth["outside_scenarios"] = scenarios, []
        (folder / "truth.json").write_text(json.dumps(truth))
        with (folder / "wire.jsonl").open("w") as lines:
            for row in rows:
                data = base64.b64decode(row["data"])
                if altered:
                    data = data.replace(b"Microbus-From-Version: 3", b"Microbus-From-Version: 4")
                lines.write(json.dumps(row | {"data": base64.b64encode(data).decode()}) + "\n")
        outcome = run(folder, "shop-1")
        assert not outcome.passed
        assert bool(outcome.failures) is altered


@pytest.mark.parametrize("role", SERVICES)
async def test_S0_047_the_subscriptions_are_those_of_go(role, tmp_path):
    service = SERVICES[role]
    expected = {
        (row["subject"], row["queue"]) for row in TRUTH["subscriptions"] if row["service"] == role
    }
    server = NatsServer(tmp_path).start()
    connector = Connector(
        service["host"],
        id=service["instance"],
        plane=TRUTH["plane"],
        locality=service["locality"],
        nats=server.url,
    )
    subscribe_all(connector, lambda request: None)
    try:
        async with connector:
            if role == "web":
                await connector.subscribe(*LATE, lambda: None)
            endpoints = [*connector._own_endpoints, *connector.endpoints]
            places = [place for endpoint in endpoints for place in endpoint.places]
            ours = {(place.pattern, place.queue) for place in [*places, connector._reply_place]}
            assert ours == expected
            assert len(ours) == len(places) + 1
    finally:
        server.stop()
    assert set(ROUTES) == {service["host"] for service in SERVICES.values()}
