"""The locality of a cloud machine, from a metadata service on the loopback interface."""

from __future__ import annotations

import http.server
import io
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from patience import PATIENCE
from subtrie._core.errors import AddressError
from subtrie.connector import Connector, _cloud_locality, _system
from subtrie.connector._cloud_locality import cloud_of, locality_in
from subtrie.connector._settings import locality

GCP = "projects/415104041262/zones/us-east1-a"


class Metadata:
    """Both services in one: what it answers, what it demands, what it was asked."""

    def __init__(self) -> None:
        self.zone, self.status, self.token, self.silent = "us-east-1a", 200, True, False
        self.ended = threading.Event()
        self.asked: list[str] = []
        metadata = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                metadata.asked.append(f"PUT {self.path}")
                wanted = self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
                self.say(200 if metadata.token and wanted else 403, "t0ken")

            def do_GET(self) -> None:
                metadata.asked.append(f"GET {self.path}")
                if metadata.silent:
                    metadata.ended.wait(PATIENCE)
                aws = self.headers["X-aws-ec2-metadata-token"] == "t0ken" or not metadata.token
                allowed = aws if "latest" in self.path else self.headers["Metadata-Flavor"]
                self.say(metadata.status if allowed else 401, metadata.zone)

            def say(self, status: int, text: str) -> None:
                try:
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", "/latest/meta-data/elsewhere")
                    self.send_header("Content-Length", str(len(text.encode())))
                    self.end_headers()
                    self.wfile.write(text.encode())
                except OSError:  # the client has timed out
                    pass

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def metadata(monkeypatch) -> Iterator[Metadata]:
    service = Metadata()
    thread = threading.Thread(target=service.server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://{service.address}/")
    monkeypatch.setenv("GCE_METADATA_HOST", service.address)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # is not asked
    yield service
    service.ended.set()
    service.server.shutdown()
    service.server.server_close()
    thread.join()


@pytest.mark.requirement("S0-046")
@pytest.mark.parametrize(
    ("cloud", "zone", "place"),
    [
        ("AWS", "us-east-1a", "us-east-1-a"),
        ("AWS", "ap-southeast-2c\n", "ap-southeast-2-c"),
        ("AWS", "us-west-2-lax-1a", "us-west-2-lax-1-a"),
        ("AWS", f"{'us-east-1a':>256}", "us-east-1-a"),
        ("GCP", GCP, "us-east-1-a"),
        ("GCP", "projects/1/zones/europe-west12-b", "europe-west-12-b"),
        ("GCP", "projects/1/zones/northamerica-northeast1-c", "northamerica-northeast-1-c"),
        ("GCP", "projects/1/zones/us-central1-ai1a", "us-central-1-ai1a"),
    ],
)
async def test_a_cloud_zone_becomes_a_locality(metadata, cloud, zone, place):
    metadata.zone = zone
    assert await locality_in(cloud) == place


async def test_a_metadata_token_is_requested_first_if_available(metadata):
    assert await locality_in("AWS") == "us-east-1-a"
    token, zone = "PUT /latest/api/token", "GET /latest/meta-data/placement/availability-zone"
    assert metadata.asked == [token, zone]
    metadata.token = False
    assert await locality_in("AWS") == "us-east-1-a"
    assert metadata.asked[2:] == [token, zone]


@pytest.mark.requirement("S0-047")
@pytest.mark.parametrize("given", ["AWS", "aws", "Gcp"])
@pytest.mark.parametrize("by", ["argument", "variable"])
async def test_a_connector_takes_its_locality_from_the_cloud(metadata, monkeypatch, given, by):
    metadata.zone = GCP if given == "Gcp" else "us-east-1a"
    if by == "variable":
        monkeypatch.setenv("MICROBUS_LOCALITY", given)
    shop = Connector(
        "shop.example", plane="p", nats="", locality=given if by != "variable" else None
    )
    shop.endpoint("GET", "/where")(lambda: shop.locality)
    near = Connector("web.example", plane="p", nats="", locality="us-east-2")
    async with shop, near:
        assert shop.locality == "us-east-1-a"
        slots = ["loc-us", "loc-us-east", "loc-us-east-1", "loc-us-east-1-a"]
        for slot in slots:
            answer = await near.request("GET", f"https://{slot}.shop.example/where")
            assert (answer.body, answer.locality) == (b"us-east-1-a", "us-east-1-a")
        assert shop.nearest.locality == "us-east-1-a"


@pytest.mark.parametrize("zone", ["", "us-east", "Us-East-1a", "a b", "../x", "<html>", "ü1a", GCP])
async def test_an_invalid_zone_stops_the_service_from_starting(metadata, zone):
    metadata.zone = zone
    shop = Connector("shop.example", plane="p", nats="", locality="AWS")
    with pytest.raises(ConnectionError) as caught:
        await shop.startup()
    told = f"{zone[:60]!r} is not a zone"
    if not zone.isascii():
        told = "'ascii' codec can't decode byte 0xc3 in position 0: ordinal not in range(128)"
    assert str(caught.value) == f"the metadata service of AWS gave no zone: {told}"
    assert not shop.running
    metadata.zone = "us-east-1a"
    async with shop:  # nothing was left behind
        assert shop.locality == "us-east-1-a"


@pytest.mark.parametrize("status", [301, 404, 500])
@pytest.mark.parametrize("cloud", ["AWS", "GCP"])
async def test_a_refusing_metadata_service_is_a_connection_error(metadata, status, cloud):
    metadata.status = status
    with pytest.raises(ConnectionError):
        await locality_in(cloud)
    assert not any("elsewhere" in asked for asked in metadata.asked)


async def test_a_silent_metadata_service_times_out(metadata, monkeypatch):
    assert _cloud_locality.LIMIT == 2.0
    metadata.silent = True
    with pytest.raises(ConnectionError):
        await locality_in("GCP")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1")  # a closed port
    with pytest.raises(ConnectionError):
        await locality_in("AWS")


class Requests(list):
    """The requests to a metadata service, and how long each of them may take.

    Args:
        monkeypatch: Replaces the connection and the clock.
        answers: What it answers, one after the other.
        takes: The seconds that each answer takes.
    """

    def __init__(self, monkeypatch, *answers, takes=0.0):
        self._answers, self._takes, self._now = list(answers), takes, 1000.0
        opener = SimpleNamespace(open=self._answer)
        monkeypatch.setattr(urllib.request, "build_opener", lambda *_: opener)
        monkeypatch.setattr(_system, "monotonic", lambda: self._now)
        monkeypatch.delenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", raising=False)
        monkeypatch.delenv("GCE_METADATA_HOST", raising=False)

    def _answer(self, request, timeout):
        self.append((request.method, request.full_url, dict(request.headers), timeout))
        self._now += self._takes
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return io.BytesIO(answer)


AWS_ZONE = "http://169.254.169.254/latest/meta-data/placement/availability-zone"
AWS_TOKEN = (
    "PUT", "http://169.254.169.254/latest/api/token",
    {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, 2.0,
)  # fmt: skip


@pytest.mark.parametrize(("takes", "left"), [(0.0, 2.0), (1.5, 0.5), (2.5, 0.001)])
async def test_the_metadata_service_of_aws_has_two_seconds_for_both_answers(
    monkeypatch, takes, left
):
    asked = Requests(monkeypatch, b"t0ken", b"us-east-1a", takes=takes)
    assert await locality_in("AWS") == "us-east-1-a"
    assert asked == [
        AWS_TOKEN, ("GET", AWS_ZONE, {"X-aws-ec2-metadata-token": "t0ken"}, left)
    ]  # fmt: skip


async def test_a_metadata_service_that_refuses_a_token_is_asked_without_one(monkeypatch):
    refused = urllib.error.HTTPError(AWS_ZONE, 403, "", SimpleNamespace(), io.BytesIO())
    asked = Requests(monkeypatch, refused, b"us-east-1a")
    assert await locality_in("AWS") == "us-east-1-a"
    assert asked == [AWS_TOKEN, ("GET", AWS_ZONE, {}, 2.0)]


async def test_a_metadata_service_without_an_answer_is_not_asked_again(monkeypatch):
    asked = Requests(monkeypatch, urllib.error.URLError("closed"))
    with pytest.raises(ConnectionError, match="closed"):
        await locality_in("AWS")
    assert asked == [AWS_TOKEN]


async def test_the_metadata_service_of_gcp_has_two_seconds(monkeypatch):
    asked = Requests(monkeypatch, GCP.encode())
    assert await locality_in("GCP") == "us-east-1-a"
    url = "http://metadata.google.internal/computeMetadata/v1/instance/zone"
    assert asked == [("GET", url, {"Metadata-flavor": "Google"}, 2.0)]


@pytest.mark.parametrize("name", ["AWS_EC2_METADATA_SERVICE_ENDPOINT", "GCE_METADATA_HOST"])
@pytest.mark.parametrize("text", ["", "other.example"])
async def test_the_address_of_the_metadata_service_is_that_of_the_variable(monkeypatch, name, text):
    cloud, zone = ("AWS", b"us-east-1a") if name.startswith("AWS") else ("GCP", GCP.encode())
    asked = Requests(monkeypatch, b"t0ken"[: 5 if cloud == "AWS" else 0] or zone, zone)
    monkeypatch.setenv(name, f"http://{text}/" if text and cloud == "AWS" else text)
    await locality_in(cloud)
    own = "169.254.169.254" if cloud == "AWS" else "metadata.google.internal"
    paths = ["computeMetadata/v1/instance/zone"]
    if cloud == "AWS":
        paths = ["latest/api/token", "latest/meta-data/placement/availability-zone"]
    assert [each[1] for each in asked] == [f"http://{text or own}/{path}" for path in paths]


@pytest.mark.parametrize(
    ("answer", "told"),
    [(b"x" * 60, f"'{'x' * 60}' is not"), (b"x" * 61, f"'{'x' * 60}' is not"),
     (GCP.encode().ljust(257), "the answer has more than 256 bytes"),
     (TimeoutError(), "no answer"), (TimeoutError("timed out"), "timed out")],
)  # fmt: skip
async def test_the_error_tells_what_the_metadata_service_answered(monkeypatch, answer, told):
    Requests(monkeypatch, answer)
    with pytest.raises(ConnectionError, match=f"the metadata service of GCP gave no zone: {told}"):
        await locality_in("GCP")


def test_only_aws_and_gcp_name_clouds():
    texts = ("aws", "GCP", "aws-1", "", "azure", "ＡＷＳ", "awſ")
    assert [cloud_of(text) for text in texts] == ["AWS", "GCP", "", "", "", "", ""]
    assert locality("aws-1") == "aws-1"
    with pytest.raises(AddressError):
        locality("AWS-1")
