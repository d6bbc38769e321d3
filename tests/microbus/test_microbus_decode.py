"""Subjects and patterns to addresses: canonical text or nothing."""

from __future__ import annotations

import copy
import pickle

import pytest

import subtrie
from subtrie import microbus

REQUEST = "microbus.safe.443.by_com.example_com._.GET.path"
REPLY = "microbus.reply._.by_com.example_com.id-1234"
PATTERN = "microbus.safe.443.*.example_com._.GET.path"


def replaced(subject: str, index: int, token: str) -> str:
    tokens = subject.split(".")
    tokens[index] = token
    return ".".join(tokens)


@pytest.mark.requirement("S0-003", "S0-004")
def test_request(engine):
    assert engine.decode(REQUEST) == microbus.RequestAddress(
        plane="microbus",
        trust="safe",
        port=443,
        source="by.com",
        host="example.com",
        slot="",
        method="GET",
        path="/path",
    )


@pytest.mark.requirement("S0-075")
def test_reply(engine):
    assert engine.decode(REPLY) == microbus.ReplyAddress(
        plane="microbus", source="by.com", host="example.com", id="id-1234"
    )


@pytest.mark.parametrize(
    ("tokens", "path"),
    [
        pytest.param("_", "/", id="empty-path", marks=pytest.mark.requirement("A13", "S0-015")),
        pytest.param("x._", "/x/", id="trailing-slash", marks=pytest.mark.requirement("A13")),
        pytest.param("_._", "//", id="two-slashes", marks=pytest.mark.requirement("A13", "S0-061")),
        pytest.param("a._.b", "/a//b", id="inner-slashes", marks=pytest.mark.requirement("A13")),
        pytest.param("%5f", "/_", id="escaped-underscore", marks=pytest.mark.requirement("S0-065")),
        pytest.param(
            "%2a.%3e", "/*/>", id="escaped-wildcards", marks=pytest.mark.requirement("S0-071")
        ),
        pytest.param(
            "%7bfoo%7d", "/{foo}", id="escaped-braces", marks=pytest.mark.requirement("S0-070")
        ),
        pytest.param("caf%c3%a9", "/café", id="utf8", marks=pytest.mark.requirement("S0-066")),
        pytest.param(
            "PATH.a%2eb", "/PATH/a.b", id="case-is-kept", marks=pytest.mark.requirement("S0-068")
        ),
        pytest.param(
            "a%252fb", "/a%2fb", id="escaped-percent", marks=pytest.mark.requirement("A14")
        ),
    ],
)
def test_path(engine, tokens, path):
    subject = replaced(REQUEST, 7, tokens)
    assert engine.decode(subject).path == path
    assert str(engine.decode(subject)) == subject


@pytest.mark.requirement("S0-074")
def test_host_and_path_are_decoded_by_position(engine):
    address = engine.decode("microbus.safe.443.a_b.my%24_xml._.GET.a%5fb%24")
    assert (address.source, address.host, address.path) == ("a.b", "my$.xml", "/a_b$")


@pytest.mark.parametrize("wrong", [None, b"microbus", 7])
def test_wrong_type(engine, wrong):
    for function in (engine.decode, engine.source_of, engine.classify):
        with pytest.raises(TypeError, match=r"^subject must be str"):
            function(wrong)


@pytest.mark.parametrize(
    ("pattern", "changes"),
    [
        pytest.param(PATTERN, {}, id="plain", marks=pytest.mark.requirement("S0-037")),
        pytest.param(
            replaced(PATTERN, 2, "*"),
            {"port": None},
            id="any-port",
            marks=pytest.mark.requirement("S0-083"),
        ),
        pytest.param(
            replaced(PATTERN, 6, "*"),
            {"method": None},
            id="any-method",
            marks=pytest.mark.requirement("S0-084"),
        ),
        pytest.param(
            replaced(PATTERN, 7, "*.x"),
            {"path": "/{}/x"},
            id="argument",
            marks=pytest.mark.requirement("S0-085"),
        ),
        pytest.param(
            replaced(PATTERN, 7, "x.>"),
            {"path": "/x/{...}"},
            id="greedy-argument",
            marks=pytest.mark.requirement("S0-086"),
        ),
        pytest.param(
            replaced(PATTERN, 7, "%3e"),
            {"path": "/>"},
            id="literal-tail",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            replaced(PATTERN, 5, "loc-us"),
            {"slot": "loc-us"},
            id="locality-slot",
            marks=pytest.mark.requirement("S0-011"),
        ),
        pytest.param(
            "microbus.danger.666.*.example_com._.GET.path",
            {"trust": "danger", "port": 666},
            id="trust-root",
            marks=pytest.mark.requirement("S0-024"),
        ),
    ],
)
def test_subscription(engine, pattern, changes):
    address = engine.decode_subscription(pattern)
    plain = microbus.SubscriptionAddress(
        plane="microbus",
        trust="safe",
        port=443,
        host="example.com",
        slot="",
        method="GET",
        path="/path",
    )
    assert address == plain.replace(**changes)
    assert str(address) == pattern


@pytest.mark.parametrize(
    ("pattern", "reason", "field"),
    [
        pytest.param(
            "microbus.reply._.*.a.id-1",
            "reply-subscription",
            "trust",
            id="reply-subscription",
            marks=pytest.mark.requirement("S0-098"),
        ),
        pytest.param(
            replaced(PATTERN, 2, "0"),
            "not-canonical",
            "port",
            id="port-zero-is-not-canonical",
            marks=pytest.mark.requirement("S0-083"),
        ),
        pytest.param(
            "m.danger.*.*.a._.GET.x",
            "trust",
            "trust",
            id="danger-on-any-port",
            marks=pytest.mark.requirement("A16"),
        ),
        pytest.param(
            "*.safe.1.*.a._.GET.x",
            "plane",
            "plane",
            id="plane-wildcard",
            marks=pytest.mark.requirement("S0-006"),
        ),
        pytest.param(
            "m.*.1.*.a._.GET.x",
            "trust",
            "trust",
            id="trust-wildcard",
            marks=pytest.mark.requirement("S0-007"),
        ),
        pytest.param(
            replaced(PATTERN, 3, "by_com"),
            "subscription-source",
            "source",
            id="source-is-not-a-wildcard",
            marks=pytest.mark.requirement("S0-037"),
        ),
        pytest.param(
            replaced(PATTERN, 4, "*"),
            "not-canonical",
            "host",
            id="host-wildcard",
            marks=pytest.mark.requirement("S0-010"),
        ),
        pytest.param(
            replaced(PATTERN, 5, "*"),
            "slot",
            "slot",
            id="wildcard-slot",
            marks=pytest.mark.requirement("S0-011"),
        ),
        pytest.param(
            replaced(PATTERN, 6, "ANY"),
            "method-any",
            "method",
            id="method-any-by-name",
            marks=pytest.mark.requirement("S0-057"),
        ),
        pytest.param(
            replaced(PATTERN, 7, "%2a"),
            "not-canonical",
            "path",
            id="escaped-star",
            marks=pytest.mark.requirement("S0-072"),
        ),
        pytest.param(
            replaced(PATTERN, 7, "%7bx%7d"),
            "not-canonical",
            "path",
            id="escaped-braces",
            marks=pytest.mark.requirement("S0-062"),
        ),
        pytest.param(
            "microbus.safe.>",
            "too-few-tokens",
            None,
            id="three-tokens",
            marks=pytest.mark.requirement("S0-005"),
        ),
    ],
)
def test_subscription_refused(engine, pattern, reason, field):
    with pytest.raises(subtrie.AddressError) as caught:
        engine.decode_subscription(pattern)
    assert (caught.value.reason, caught.value.field) == (reason, field)


@pytest.mark.parametrize(
    ("subject", "family"),
    [
        (REQUEST, "microbus-request"),
        ("x9.danger.666.a.b.id-1.POST.mint", "microbus-request"),
        (REPLY, "microbus-reply"),
        ("_INBOX.abc", "inbox"),
        ("$JS.API.INFO", "jetstream"),
        ("$KV.bucket.key", "kv"),
        ("$O.bucket.C.x", "object"),
        ("$SRV.PING", "service"),
        ("$SYS.REQ.SERVER.PING", "system"),
        ("_SYS.x", "legacy-system"),
        ("_GR_.x", "gateway"),
        ("$GNR.x", "gateway"),
        ("_STAN.pub.x", "streaming"),
        ("$MQTT.sub.x", "mqtt"),
        ("$MQTT.deliver.pubrel.x", "mqtt"),
        ("$JS.ACK.S.C.1.2.3.4.5", "jetstream"),
        ("$JS.FC.S.C.x", "jetstream"),
        ("$JSC.SI.$G.S", "jetstream"),
        ("$NRG.V.S-R3F-x", "jetstream"),
        ("$GR.x", "gateway"),
        ("$LDS.x", "system"),
        ("$SYS.ACCOUNT.A.LEAFNODE.CONNECT", "system"),
        ("$SYS.REQ.ACCOUNT.PING.CONNZ", "system"),
        ("_R_.abc.1", "inbox"),
        ("_STAN.discover.test-cluster", "streaming"),
        ("orders.new", "other"),
        ("$JS", "other"),
        ("", "other"),
        ("_INBOX.\ud800", "other"),
    ],
)
def test_classify(engine, subject, family):
    assert engine.classify(subject) == family


def test_address_replace_keeps_trust_with_the_port(engine):
    address = engine.decode(REQUEST)
    assert str(address.replace(port=666)) == replaced(replaced(REQUEST, 1, "danger"), 2, "666")
    assert address.replace(host="other.com").port == 443
    assert address.replace(port=666, trust="safe").trust == "safe", "as it is given"
    with pytest.raises(subtrie.AddressError) as caught:
        str(address.replace(trust="danger"))
    assert caught.value.reason == "trust"
    with pytest.raises(TypeError):
        address.replace(colour="red")


def test_addresses_are_values(engine):
    for text in (REQUEST, REPLY):
        address = engine.decode(text)
        assert {address: 1}[engine.decode(text)] == 1
        assert pickle.loads(pickle.dumps(address)) == address == copy.copy(address)
        with pytest.raises(AttributeError):
            address.plane = "other"
