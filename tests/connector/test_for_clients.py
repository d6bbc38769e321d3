"""The client of an ingress as a request shows it: the address that it knows, and its languages."""

from __future__ import annotations

import json

import pytest

from subtrie.connector import Request, Response, ingress
from subtrie.connector._headers import Headers

from .ingress_client import ask


def request(url="https://shop.example:443/order", **headers):
    """Return a request with headers; ``_`` stands for ``-``."""
    given = Headers({name.replace("_", "-"): value for name, value in headers.items()})
    return Request("GET", url, headers=given)


FRONT = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "www.example.com:8443"}


@pytest.mark.parametrize(
    ("url", "outside"),
    [
        ("https://shop.example/my/path", "https://www.example.com:8443/shop.example/my/path"),
        ("https://shop.example", "https://www.example.com:8443/shop.example"),
        ("//pay.example:444/a?b=c", "https://www.example.com:8443/pay.example:444/a?b=c"),
        ("/my/path", "https://www.example.com:8443/shop.example/my/path"),
        ("../other", "../other"),
        ("", ""),
        ("?page=2", "?page=2"),
        ("a/b?next=https://pay.example", "a/b?next=https://pay.example"),
    ],
)
def test_a_url_of_the_bus_becomes_that_of_the_client(url, outside):
    assert request(**FRONT).external_url(url) == outside


def test_the_parts_of_the_address_that_the_client_knows():
    url = "/x"
    prefixed = request(**FRONT, X_Forwarded_Prefix="/bus/")
    assert prefixed.external_url(url) == "https://www.example.com:8443/bus/shop.example/x"
    nearer = request(X_Forwarded_Host="www.example.com")
    assert nearer.external_url(url) == "//www.example.com/shop.example/x"
    # Without an ingress: the path that one would have.
    assert request().external_url(url) == "/shop.example/x"
    assert request(X_Forwarded_Prefix="/bus").external_url(url) == "/bus/shop.example/x"


@pytest.mark.parametrize(
    ("asked", "host"),
    [
        ("https://shop.example:444/a", "shop.example:444"),
        ("https://id-abcdefghij.shop.example:443/a", "shop.example"),
        ("https://loc-eu.shop.example:443/a", "shop.example"),
        ("https://root:443/", "root"),
        ("https://shop.example/a", "shop.example"),
    ],
)
def test_a_path_belongs_to_the_host_that_was_asked(asked, host):
    assert request(asked).external_url("/x") == f"/{host}/x"


@pytest.mark.parametrize(
    ("header", "best"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at", "de"),
        ("fr, de;q=0.9", "de"),
        ("fr-CA", "fr-CA"),
        ("fr-FR, de", "de"),
        ("it, de;q=0.2, en;q=0.1", "de"),
        ("en;q=0.5, de;q=0.7", "de"),
        ("de;q=0.7, en;q=0.7", "de"),
        ("de;q=0, en;q=0.1", "en"),
        ("de;q=0", "en"),
        ("it", "en"),
        ("*", "en"),
        ("it, *;q=0.1", "en"),
        ("de ; q=0.3 , en;q=0.2", "de"),
        ("de;q=x, fr-ca;q=1.5;a=b", "fr-CA"),
        ("en, de;q=2", "en"),
        (";;,,=", "en"),
        ("a-" * 40_000 + "de, de", "en"),
    ],
)
def test_the_language_of_the_client(header, best):
    wanted = {"Accept_Language": header} if header else {}
    assert request(**wanted).language("en", "de", "fr-CA") == best


def test_a_language_is_offered():
    assert request(Accept_Language="de").language("en", "de", "DE") == "de"
    with pytest.raises(TypeError):
        request().language()


async def test_both_through_an_ingress(make_memory):
    web, shop = make_memory("web.example"), make_memory("shop.example")

    @shop.endpoint("GET", "/where")
    async def where(request: Request) -> Response:
        told = [request.external_url("/next"), request.language("en", "de")]
        return Response(200, json.dumps(told))

    async with web, shop:
        accepted = [("Accept-Language", "de-CH, en;q=0.5")]
        answer = await ask(ingress(web), "GET", "/shop.example/where", headers=accepted)
    assert json.loads(answer.body) == ["http://front.example:8080/shop.example/next", "de"]
