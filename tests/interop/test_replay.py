"""Go Microbus, recorded: our connector in the place of each of its services."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
from pathlib import Path

import pytest

from subtrie.connector import OWN, Connector
from subtrie.connector._codec import read_request, read_response, write_request, write_response
from tests.connector.nats_server import NatsServer
from tests.interop.differences import difference
from tests.interop.replay import run
from tests.interop.roles import (
    configuration_of,
    deployment_of,
    routes_of,
    subscribe_all,
    version_of,
)
from tests.interop.wire import Recorded, headers_of, read

RECORDING = Path(__file__).resolve().parents[1] / "recordings" / "go_live"
TRUTH = read(RECORDING).truth
SERVICES = {service["name"]: service for service in TRUTH["services"]}


#: Messages of each role that no two implementations word alike, and the scenario they are in.
NOT_COMPARED = {"stock": {"control_metrics": 1}, "shop-1": {"control_openapi": 1}}


@pytest.mark.requirement("S0-129")
@pytest.mark.parametrize("role", SERVICES)
def test_in_the_place_of(role):
    """All that the service published, while starting, in every scenario, and while stopping."""
    outcome = run(RECORDING, role)
    print(outcome)
    assert outcome.passed, str(outcome)
    left_out = NOT_COMPARED.get(role, {})
    assert set(outcome.excluded) == set(left_out)
    assert outcome.not_compared == sum(left_out.values())
    assert outcome.messages + outcome.not_compared == outcome.published
    parts = len(outcome.replayed) + len(outcome.excluded) + outcome.not_this_role
    assert parts == len(TRUTH["scenarios"])


def test_a_role_may_be_named_by_its_host():
    assert run(RECORDING, "audit.example").passed
    with pytest.raises(SystemExit, match="configurator, stock, mail-1"):
        run(RECORDING, "shop.example")  # there are two


def test_every_recorded_message_is_read_and_written_as_the_same_bytes():
    published = read(RECORDING).published
    assert sum(map(len, published.values())) == TRUTH["totals"]["published"]
    for messages in published.values():
        for subject, payload in messages:
            if ".reply." in subject:
                assert write_response(read_response(payload)) == payload
            else:
                assert write_request(read_request(payload)) == payload


def test_what_the_truth_does_not_tell_is_read_from_the_bytes():
    recording = read(RECORDING)
    assert deployment_of(recording) == "LOCAL"
    told = {name: version_of(recording, service) for name, service in SERVICES.items()}
    assert told["configurator"] == 254  # the truth says 0
    assert (told["shop-1"], told["web"], told["audit"]) == (3, 7, 0)
    names = {name: configuration_of(recording, service) for name, service in SERVICES.items()}
    assert {name for name, each in names.items() if each} == {"stock"}
    assert names["stock"] == ["Shelf"]


#: What a recording may call otherwise: another plane, hosts, instances, names; as many letters.
OTHERWISE = {
    "goldplane1": "Q7otherPla",
    "shop.example": "kiosk.sample",
    "SHOP.Example": "KIOSK.Sample",
    "shop_example": "kiosk_sample",
    "stock.example": "goods.example",
    "stock_example": "goods_example",
    "id-b2ieikuljz": "id-0000000abc",
    "us-west-b": "ap-nord-c",
    "mail.notify": "post.inform",
    "mail_notify": "post_inform",
    "Shelf": "Order",
}


def test_nothing_is_taken_for_granted_about_names(tmp_path):
    def altered(text: str) -> str:
        for before, after in OTHERWISE.items():
            assert len(before) == len(after)
            text = text.replace(before, after)
        return text

    truth = json.loads(altered(json.dumps(TRUTH)))
    for number, scenario in enumerate(truth["scenarios"]):
        scenario["name"] = f"scene{number}"
    names = {service["name"]: f"role{place}" for place, service in enumerate(truth["services"])}
    text = json.dumps(truth)
    for before, after in names.items():
        text = text.replace(f'"{before}"', f'"{after}"')
    (tmp_path / "truth.json").write_text(text)
    with gzip.open(RECORDING / "wire.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    with (tmp_path / "wire.jsonl").open("w") as out:
        for row in rows:
            data = altered(base64.b64decode(row["data"]).decode("latin-1")).encode("latin-1")
            out.write(json.dumps(row | {"data": base64.b64encode(data).decode()}) + "\n")
    for role in ("stock", "shop-1", "web"):
        outcome = run(tmp_path, names[role])
        assert outcome.passed, str(outcome)
        assert outcome.messages + len(NOT_COMPARED.get(role, ())) == outcome.published


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
    assert (difference(_recorded(payload), payload.replace(before, after)) == "") is same


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
                    data = data.replace(b"Microbus-Queue: shop.e", b"Microbus-Queue: shop.i")
                lines.write(json.dumps(row | {"data": base64.b64encode(data).decode()}) + "\n")
        outcome = run(folder, "shop-1")
        assert not outcome.passed
        assert bool(outcome.failures) is altered
        assert altered or "FAILED nothing was replayed" in str(outcome)


_EVENT = ("POST", "//shop.example:417/on-order-placed")
_VALUES = [
    ("ANY", route, OWN)
    for route in (":888/values", ":443/values", ":444/refresh", ":443/refresh", ":443/sync")
]

#: Host to method, route, queue of every route that is not the connector's own, as Go registers it.
ROUTES = {
    "configurator.core": [*_VALUES, ("ANY", ":888/sync-repo", None)],
    "stock.example": [("GET", "/level/{item}", OWN), (*_EVENT, OWN)],
    "mail.notify.example": [(*_EVENT, OWN)],
    "audit.example": [(*_EVENT, None)],
    "shop.example": [
        (method, route, OWN)
        for method, route in (
            ("GET", "/order/{id}/line/{n}"),
            ("POST", "/order"),
            ("DELETE", "/order/{id}"),
            ("POST", "/place"),
            ("GET", "/files/{path...}"),
            ("ANY", "/any"),
            ("ANY", ":0/anyport"),
            ("GET", "/whoami"),
            ("GET", "/fail"),
            ("GET", "/fail/plain"),
            ("GET", "/slow"),
            ("ANY", "/big"),
            ("GET", "/"),
            ("GET", "/dir/"),
            ("GET", "/caf%C3%A9/{x}"),
            ("GET", "/star/*/end"),
            ("GET", "/near"),
            ("POST", ":666/mint"),
            ("GET", "//my$.xml/lookup"),
            ("GET", "/relay"),
            ("PUT", "/cache/{key}"),
            ("GET", "/cache/{key}"),
        )
    ],
    "web.client.example": [("GET", "/late", OWN)],
    "edge.client.example": [],
}


@pytest.mark.requirement("S0-047")
@pytest.mark.parametrize("from_recording", [False, True], ids=["as-written", "from-recording"])
@pytest.mark.parametrize("role", SERVICES)
async def test_the_subscriptions_are_those_of_go(role, from_recording, tmp_path):
    service = SERVICES[role]
    rows = [row for row in TRUTH["subscriptions"] if row["service"] == role]
    expected = sorted((row["subject"], row["queue"] or "") for row in rows)
    assert expected
    routes = ROUTES[service["host"]]
    if from_recording:
        routes = routes_of(service["host"], expected)
    server = NatsServer(tmp_path, debug=True, trace=True, logfile=str(tmp_path / "log")).start()
    connector = Connector(
        service["host"],
        id=service["instance"],
        plane=TRUTH["plane"],
        locality=service["locality"],
        nats=server.url,
    )
    subscribe_all(connector, routes, lambda request: None)
    try:
        async with connector:
            log = (tmp_path / "log").read_text()
    finally:
        server.stop()
    made = re.findall(r"<<- \[SUB (\S+)(?: (\S*))? \d+\]", log)
    assert sorted(made) == expected  # as subscribed at the broker, each as often
