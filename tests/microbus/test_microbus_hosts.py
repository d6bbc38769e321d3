"""Hosts, slots, localities, planes, methods: what is allowed, and its normal form."""

from __future__ import annotations

import hashlib
import inspect

import pytest

import subtrie
from subtrie import AddressError, microbus


@pytest.mark.parametrize(
    ("host", "token"),
    [
        pytest.param(
            "payments.core",
            "payments_core",
            id="two-labels",
            marks=pytest.mark.requirement("S0-031"),
        ),
        pytest.param(
            "www.example.com",
            "www_example_com",
            id="three-labels",
            marks=pytest.mark.requirement("S0-032"),
        ),
        pytest.param(
            "my$.xml", "my%24_xml", id="special-character", marks=pytest.mark.requirement("S0-033")
        ),
        pytest.param("a..b", "a__b", id="two-dots", marks=pytest.mark.requirement("S0-028")),
        pytest.param("x%y", "x%25y", id="percent", marks=pytest.mark.requirement("S0-029")),
        pytest.param("*.>", "%2a_%3e", id="wildcards", marks=pytest.mark.requirement("S0-030")),
        pytest.param(
            "é.日本",
            "%c3%a9_%e6%97%a5%e6%9c%ac",
            id="utf8",
            marks=pytest.mark.requirement("S0-029"),
        ),
        pytest.param("a b\n", "a%20b%0a", id="whitespace", marks=pytest.mark.requirement("S0-030")),
        pytest.param("", "", id="empty"),
    ],
)
def test_flatten(engine, host, token):
    assert engine.flatten_host(host) == token
    assert engine.unflatten_host(token) == host


@pytest.mark.parametrize(
    ("host", "token"),
    [
        pytest.param(
            "UPPER.com", "upper_com", id="capitals", marks=pytest.mark.requirement("S0-069")
        ),
        pytest.param(
            "ÉΣ", "%c3%a9%cf%83", id="beyond-ascii", marks=pytest.mark.requirement("S0-069")
        ),
        pytest.param(
            "\u0130\u212a", "ik", id="one-character-each", marks=pytest.mark.requirement("S0-069")
        ),
        pytest.param(
            "\U00010d50\ua7cb",
            "%f0%90%b5%90%ea%9f%8b",
            id="younger-letters",
            marks=pytest.mark.requirement("S0-069"),
        ),
        pytest.param("a_b.c", "a_b_c", id="underscore", marks=pytest.mark.requirement("A5")),
    ],
)
def test_flatten_folds(engine, host, token):
    assert engine.flatten_host(host) == token


@pytest.mark.requirement("A5")
def test_underscore_decodes_to_a_dot(engine):
    assert engine.unflatten_host(engine.flatten_host("a_b.c")) == "a.b.c"


@pytest.mark.requirement("A7")
@pytest.mark.parametrize(
    "token", ["_", "a%5fb", "a%2eb", "a%zz_b", "a%2", "a%2Bb", "a+b", "*", ">", "A", "é"]
)
def test_only_canonical_tokens_unflatten(engine, token):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.unflatten_host(token)
    assert caught.value.field == "token"


def test_both_engines_fold_every_character_the_same_way():
    native, reference = subtrie._subtrie, subtrie.reference
    for first in range(0, 0x110000, 0x400):
        block = "".join(
            chr(code) for code in range(first, first + 0x400) if not 0xD800 <= code < 0xE000
        )
        assert native.flatten_host(block) == reference.flatten_host(block), hex(first)


@pytest.mark.requirement("S0-034")
@pytest.mark.parametrize(
    "host",
    [
        "123.456", "1", "hello-world", "a.b.c.d", "local.example.com", "a--b", "-a", "a-", "all.x",
        "allx", "x.all.y", "identity.x", "id.example.com", "loc", "a" * 252,
    ],
)  # fmt: skip
def test_identity(engine, host):
    assert engine.check_identity_host(host) == host
    assert set(engine.flatten_host(host)) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")  # S0-035


@pytest.mark.parametrize(
    ("host", "reason", "position"),
    [
        pytest.param("", "host-empty", 0, id="empty"),
        pytest.param("a" * 253, "host-length", 252, id="253-bytes"),
        pytest.param("a..b", "empty-label", 2, id="two-dots"),
        pytest.param(".a", "empty-label", 0, id="leading-dot"),
        pytest.param("a.", "empty-label", 2, id="trailing-dot"),
        pytest.param(
            "hello_world", "identity", 5, id="underscore", marks=pytest.mark.requirement("S0-034")
        ),
        pytest.param(
            "my$.xml", "identity", 2, id="special", marks=pytest.mark.requirement("S0-034")
        ),
        pytest.param("Hello", "identity", 0, id="upper", marks=pytest.mark.requirement("A74")),
        pytest.param("a\n", "identity", 1, id="newline"),
        pytest.param("a:443", "identity", 1, id="port"),
        pytest.param("а.b", "identity", 0, id="cyrillic"),
        pytest.param(
            "id-foo", "reserved", 0, id="id-label", marks=pytest.mark.requirement("S0-053")
        ),
        pytest.param(
            "loc-us.b", "reserved", 0, id="locality-label", marks=pytest.mark.requirement("S0-053")
        ),
        pytest.param("all", "reserved", 0, id="all", marks=pytest.mark.requirement("A21")),
        pytest.param("x.all", "reserved", 0, id="below-all", marks=pytest.mark.requirement("A21")),
    ],
)
def test_identity_refused(engine, host, reason, position):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.check_identity_host(host)
    error = caught.value
    assert (error.reason, error.position, error.field) == (reason, position, "host")


@pytest.mark.requirement("S0-036", "A74")
@pytest.mark.parametrize(
    ("host", "normal"),
    [
        ("my_.xml", "my_.xml"),
        ("My$.XML", "my$.xml"),
        ("ÉCOLE.fr", "école.fr"),
        ("ALL", "all"),
        ("loc.example.com", "loc.example.com"),
        ("a~!$&'()*+,;=<>\"", "a~!$&'()*+,;=<>\""),
    ],
)
def test_route_host(engine, host, normal):
    assert engine.check_route_host(host) == normal


@pytest.mark.requirement("S0-036")
@pytest.mark.parametrize("host", ["my$.xml", "école.fr", "a~b.c", "(x).y"])
def test_only_an_absolute_route_puts_escapes_into_a_host(engine, host):
    """No name of a service needs an escape, so one in that token is of a route."""
    route = engine.subscription_from_route(
        plane="p", host="shop.example", method="GET", route=f"//{host}/x"
    )
    assert route.split(".")[4] == engine.flatten_host(host)
    assert "%" in route.split(".")[4]
    own = engine.subscription_from_route(
        plane="p", host="shop.example", method="GET", route="/my$/école"
    )
    assert own.split(".")[4] == "shop_example"
    for refused in (
        lambda: engine.check_identity_host(host),
        lambda: engine.encode_reply(plane="p", source=host, host="a.b", id="id-1"),
        lambda: engine.encode_request(
            plane="p", port=443, source=host, host="a.b", method="GET", path="/x"
        ),
    ):
        with pytest.raises(subtrie.AddressError):
            refused()


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        pytest.param("ID-x.y", "reserved", id="id-label", marks=pytest.mark.requirement("S0-054")),
        pytest.param(
            "loc-us-west", "reserved", id="locality-label", marks=pytest.mark.requirement("S0-054")
        ),
        pytest.param(
            "\u0130d-1.x",
            "reserved",
            id="id-label-after-folding",
            marks=pytest.mark.requirement("S0-054"),
        ),
        pytest.param("foo.all", "reserved", id="below-all", marks=pytest.mark.requirement("A21")),
        pytest.param("a..b", "empty-label", id="two-dots"),
        pytest.param("", "host-empty", id="empty"),
        pytest.param("{id}", "host-character", id="brace", marks=pytest.mark.requirement("A74")),
        pytest.param("a b", "host-character", id="space", marks=pytest.mark.requirement("A74")),
        pytest.param("a\x7f", "host-character", id="control", marks=pytest.mark.requirement("A74")),
        pytest.param("é" * 253, "host-length", id="253-characters"),
    ],
)
def test_route_host_refused(engine, host, reason):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.check_route_host(host)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("host", "rest", "slot"),
    [
        pytest.param(
            "id-abc123.example.com",
            "example.com",
            "id-abc123",
            id="id-label",
            marks=pytest.mark.requirement("S0-055"),
        ),
        pytest.param(
            "LOC-us-West.Example.com",
            "Example.com",
            "loc-us-west",
            id="locality-label",
            marks=pytest.mark.requirement("S0-055"),
        ),
        pytest.param(
            "id-abc", "id-abc", "", id="one-label", marks=pytest.mark.requirement("S0-055")
        ),
        pytest.param(
            "identity.x",
            "identity.x",
            "",
            id="label-that-begins-like-an-id",
            marks=pytest.mark.requirement("S0-052"),
        ),
        pytest.param(
            "my.id-x.com",
            "my.id-x.com",
            "",
            id="first-label-only",
            marks=pytest.mark.requirement("S0-055"),
        ),
        pytest.param(
            "id-x.all", "all", "id-x", id="below-all", marks=pytest.mark.requirement("S0-055")
        ),
    ],
)
def test_cut_slot(engine, host, rest, slot):
    assert engine.cut_slot(host) == (rest, slot)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        pytest.param(
            "id-1.loc-us.example.com",
            "stacked",
            id="two-slots",
            marks=pytest.mark.requirement("A9"),
        ),
        pytest.param(
            "id-1.ID-2", "stacked", id="two-ids-and-no-host", marks=pytest.mark.requirement("A9")
        ),
        pytest.param("id-.x", "slot", id="id-empty", marks=pytest.mark.requirement("A8")),
        pytest.param(
            "id-a_b.x", "slot", id="id-with-underscore", marks=pytest.mark.requirement("A8")
        ),
        pytest.param(
            "loc-us--west.x",
            "slot",
            id="locality-with-two-hyphens",
            marks=pytest.mark.requirement("A8"),
        ),
    ],
)
def test_cut_slot_refused(engine, host, reason):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.cut_slot(host)
    assert (caught.value.reason, caught.value.field) == (reason, "host")


@pytest.mark.requirement("S0-046")
def test_locality_slots(engine):
    slots = ("loc-us", "loc-us-west", "loc-us-west-b", "loc-us-west-b-1")
    assert engine.locality_slots("us-west-b-1") == slots
    assert engine.locality_slots("1.b.west.us") == slots
    assert engine.check_locality("a.b-c.d") == "d-b-c-a"
    assert engine.locality_slot("US-West") == "loc-us-west"
    assert engine.locality_slot("") == ""


@pytest.mark.requirement("A8")
@pytest.mark.parametrize(
    "locality",
    ["", "US", "us_west", "us-", "-us", "us--west", "a b", "é", "all", "id-1", "loc-us", "us.id"],
)
def test_locality_refused(engine, locality):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.locality_slots(locality)
    assert caught.value.field == "locality"


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("us-west-b-1", "us-west-b-1", "us-west-b-1"),
        ("us-west-b", "us-west-c", "us-west"),
        ("us-west", "us-w", "us"),
        ("us", "eu", ""),
        ("", "us", ""),
    ],
)
def test_common_locality(engine, one, other, common):
    assert engine.common_locality(one, other) == common


@pytest.mark.requirement("S0-016")
def test_plane(engine):
    assert engine.check_plane("123Plane456") == "123Plane456"
    for plane in ("", "a_b", "a.b", "*", ">", "a ", "é", "a\n"):
        with pytest.raises(subtrie.AddressError) as caught:
            engine.check_plane(plane)
        assert caught.value.reason == "plane"


@pytest.mark.requirement("A12")
def test_methods(engine):
    methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
    methods.append("ANY")
    assert [engine.check_method(method.lower()) for method in methods] == methods
    for method in ("", "PROPFIND", "GETT", "G ET", "*", "ge\u0442"):
        with pytest.raises(subtrie.AddressError) as caught:
            engine.check_method(method)
        assert (caught.value.reason, caught.value.status) == ("method", 405)


@pytest.mark.requirement("A26")
def test_plane_of_a_test_is_derived_from_its_node_id(monkeypatch, request):
    monkeypatch.delenv("MICROBUS_PLANE", raising=False)
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()
    assert microbus.default_plane() == digest[:16]
    assert microbus.check_plane(digest[:16])


@pytest.mark.requirement("A26")
def test_all_phases_of_a_test_share_the_plane(monkeypatch):
    monkeypatch.delenv("MICROBUS_PLANE", raising=False)
    planes = set()
    for phase in ("setup", "call", "teardown"):
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"tests/test_x.py::test_y[a (b)] ({phase})")
        planes.add(microbus.default_plane())
    assert len(planes) == 1


@pytest.mark.requirement("A77")
def test_the_variable_wins_over_the_test(monkeypatch):
    monkeypatch.setenv("MICROBUS_PLANE", "Prod7")
    assert microbus.default_plane() == "Prod7"
    monkeypatch.setenv("MICROBUS_PLANE", "not a plane")
    with pytest.raises(subtrie.AddressError):
        microbus.default_plane()


@pytest.mark.requirement("A77")
def test_without_anything_the_plane_is_microbus(monkeypatch):
    monkeypatch.delenv("MICROBUS_PLANE", raising=False)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert microbus.default_plane() == "microbus"


def parameters(function) -> list[tuple]:
    every = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in every]


def test_the_reference_offers_the_same_public_names_and_signatures():
    for name in microbus.__all__:
        facade, reference = getattr(microbus, name), getattr(subtrie.reference.microbus, name)
        assert name in subtrie.reference.microbus.__all__
        if facade is not reference:
            native = getattr(subtrie._subtrie, name)
            assert parameters(facade) == parameters(reference) == parameters(native), name


@pytest.mark.requirement("S0-137")
@pytest.mark.parametrize(
    "host", ["shop", "shop.example", "a-1.b-2.core", "0.0", "x--y.z", "-.-", "a.b.c.d.e.f"]
)
def test_the_token_of_the_host_of_a_service_is_that_of_the_legacy_form(engine, host):
    """Each dot is an underscore, and nothing else changes; so it reads back as well."""
    assert engine.check_identity_host(host) == host
    assert engine.flatten_host(host) == host.replace(".", "_")
    assert engine.unflatten_host(host.replace(".", "_")) == host


@pytest.mark.requirement("S0-137")
def test_every_character_of_the_host_of_a_service_stays_in_its_token(engine):
    for char in map(chr, range(33, 127)):
        host = f"a{char}b.example"
        try:
            engine.check_identity_host(host)
        except AddressError:
            assert not char.islower()
            assert char not in "-.0123456789"
        else:
            assert engine.flatten_host(host) == host.replace(".", "_")
