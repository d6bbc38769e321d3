"""A known set of secrets goes through a connector, and is shown nowhere but on the wire."""

from __future__ import annotations

import logging

import pytest

from planted_secrets import PlantedSecrets
from secrets_watch import PASSWORD
from subtrie.connector import Connector, HTTPError

from .nats_server import NatsServer


@pytest.fixture
def planted(tmp_path):
    folder = tmp_path / "inputs"
    folder.mkdir()
    return PlantedSecrets(folder)


@pytest.mark.requirement("T16")
async def test_a_connector_shows_no_secret(planted, tmp_path, caplog, capfd, plane):
    """Passwords in addresses, tokens in headers, and creds: in errors, logs, metrics and texts."""
    caplog.set_level(logging.DEBUG)
    said: list[object] = []
    token, bearer, *_ = planted.others
    log = tmp_path / "server.log"
    server = NatsServer(
        tmp_path / "nats", authorization={"user": "admin", "password": PASSWORD},
        log_file=str(log), trace=True,
    ).start()  # fmt: skip
    try:
        address = server.url.replace("nats://", "nats://admin:{}@")
        options = {"plane": plane, "deployment": "LAB", "short_circuit": False}
        shop = Connector("shop.example", nats=address.format(PASSWORD), **options)

        @shop.endpoint("GET", "/refuse")
        def refuse(request):
            assert request.headers["Authorization"] == f"Bearer {bearer}"
            raise HTTPError("no", status=403)

        async with shop, Connector("web.example", nats=address.format(PASSWORD), **options) as web:
            headers = {"Authorization": f"Bearer {bearer}", "Cookie": token}
            for path in ("refuse", "missing"):
                with pytest.raises(HTTPError) as refused:
                    await web.request("GET", f"https://shop.example/{path}", headers=headers)
                said += [refused.value, repr(refused.value), vars(refused.value)]
            said += [repr(shop), repr(web), shop.metrics, vars(web), web.metrics.deliveries]
        wrong = Connector("shop.example", nats=address.format(planted.seed), **options)
        with pytest.raises(ConnectionError) as refused:
            await wrong.startup(wait=0)
        said += [refused.value, repr(refused.value), repr(wrong)]
        with_creds = Connector(
            "a.com", nats=server.url, creds=planted.folder, round_trip=None, **options
        )
        with pytest.raises(Exception) as refused:  # noqa: PT011 - of any class
            await with_creds.startup(wait=0)
        said += [refused.value, repr(refused.value), repr(with_creds)]
    finally:
        server.stop()
    text = "\n".join(map(str, said)) + caplog.text + "".join(capfd.readouterr())
    assert len(text) > 500
    assert not planted.shown_in(text)
    assert bearer in log.read_text(), "it was on the wire"
