"""Rules of services: the golden files of Microbus, and edge cases."""

from __future__ import annotations

import pytest

from subtrie import AddressError, PermissionsError, microbus
from subtrie.gencreds import EndpointUse, Service, rule, rules
from subtrie.gencreds._service import RawSubject

pytestmark = pytest.mark.usefixtures("engine_in_use")


def _uses(host, *lines):
    return tuple(EndpointUse.of_route(host, *line.split(" ")) for line in lines)


PAYMENTS = Service(
    "payments.core",
    endpoints=_uses("payments.core", "POST /charge", "POST //hooks.pay/stripe", "POST :666/refund"),
    calls=_uses("ledger.core", "POST /entries/{id}") + _uses("access.token.core", "ANY :666/mint"),
    events=_uses("payments.core", "POST :417/on-charged"),
    hooks=_uses("users.core", "POST :417/on-deleted"),
)


@pytest.mark.requirement("S0-103", "S0-118", "A22")
def test_a_service_gets_what_it_needs_and_no_more():
    found = rules(PAYMENTS, "prod")
    assert set(found.publish_allow) == {
        "prod.safe.888.payments_core.>",
        "prod.reply._.payments_core.>",
        "prod.safe.443.payments_core.ledger_core.*.POST.entries.*",
        "prod.danger.666.payments_core.access_token_core.*.*.mint",
        "prod.safe.417.payments_core.payments_core.*.POST.on-charged",
    }
    assert set(found.subscribe_allow) == {
        "prod.safe.*.*.payments_core.>",
        "prod.reply._.*.payments_core.*",
        "prod.safe.888.*.all.>",
        "prod.danger.666.*.payments_core.>",
        "prod.safe.443.*.hooks_pay.*.POST.stripe",
        "prod.safe.417.*.users_core.*.POST.on-deleted",
    }


def test_kitchen_fixture_gives_its_golden_rules():
    me, weird = "kitchen.fixture", "weird.fixture"
    service = Service(
        me,
        endpoints=_uses(
            me, "POST :443/my-func", "POST :444/self-ping", "GET //alt.kitchen:0/alt-fn"
        ),
        calls=(
            *_uses(weird, "GET /plain", "GET /path-arg/{id}", "POST :444/internal"),
            *_uses(weird, "POST :666/dangerous"),
            *_uses("alt.host", "GET /greedy/{tail...}"),
            *_uses("other.host", "GET /some-path"),
            EndpointUse(None, None, "POST", None),
            EndpointUse(None, None, "PUT", None),
        ),
        events=_uses(me, "POST :417/on-my-event"),
        hooks=_uses(weird, "POST :417/on-something"),
    )
    found = rules(service, "P")
    assert found.publish_allow == (
        "P.danger.666.kitchen_fixture.weird_fixture.*.POST.dangerous",
        "P.reply._.kitchen_fixture.>",
        "P.safe.*.kitchen_fixture.*.*.POST.>",
        "P.safe.*.kitchen_fixture.*.*.PUT.>",
        "P.safe.443.kitchen_fixture.alt_host.*.GET.greedy.>",
        "P.safe.443.kitchen_fixture.other_host.*.GET.some-path",
        "P.safe.443.kitchen_fixture.weird_fixture.*.GET.path-arg.*",
        "P.safe.443.kitchen_fixture.weird_fixture.*.GET.plain",
        "P.safe.888.kitchen_fixture.>",
    )
    assert found.subscribe_allow == (
        "P.reply._.*.kitchen_fixture.*",
        "P.safe.*.*.alt_kitchen.*.GET.alt-fn",
        "P.safe.*.*.kitchen_fixture.>",
        "P.safe.417.*.weird_fixture.*.POST.on-something",
        "P.safe.888.*.all.>",
    )


@pytest.mark.requirement("S0-108", "A2")
def test_five_rules_and_a_sixth_for_the_trust_root():
    bare = rules(Service("a.b"), "p")
    assert len(bare.publish_allow) + len(bare.subscribe_allow) == 5
    root = rules(Service("a.b", endpoints=_uses("a.b", "POST :666/x")), "p")
    assert set(root.subscribe_allow) - set(bare.subscribe_allow) == {"p.danger.666.*.a_b.>"}


@pytest.mark.requirement("S0-039", "S0-125")
def test_every_rule_names_its_source_and_its_plane():
    found = rules(PAYMENTS, "prod")
    for entry in found.publish_allow:
        assert entry.split(".")[3] == "payments_core"
    for entry in (*found.publish_allow, *found.subscribe_allow):
        assert entry.split(".")[0] == "prod"
    assert {"plane-wildcard"}.isdisjoint(each.rule for each in found.lint())


@pytest.mark.requirement("A16")
def test_an_open_port_is_never_the_trust_root():
    text = rule("publish", plane="p", host=None, source="a.b", port=None, method=None, path=None)
    assert text == "p.safe.*.a_b.*.*.*.>"
    text = rule("subscribe", plane="p", host="c.d", port=0, method="ANY", path="/x/{y}")
    assert text == "p.safe.*.*.c_d.*.*.x.*"


def test_a_caller_goes_with_publish_and_only_there():
    parts = {"plane": "p", "host": "c.d", "port": 443, "method": "GET", "path": "/x"}
    assert rule("PUB", source="a.b", **parts) == rule("publish", source="a.b", **parts)
    assert rule("SUB", **parts) == rule("subscribe", **parts)
    for verb, source in (("publish", None), ("PUB", None), ("subscribe", "a.b"), ("SUB", "a.b")):
        with pytest.raises(ValueError, match="source goes with 'publish', and only there"):
            rule(verb, source=source, **parts)
    for verb in ("pub", "request", ""):
        with pytest.raises(ValueError, match="verb must be 'publish' or 'subscribe', not"):
            rule(verb, source="a.b", **parts)


@pytest.mark.parametrize(
    ("wide", "covered"),
    [("x.>", {"x.y"}), ("x.> q", {"x.y q"}), ("x.*", {"x.y"}), ("x.* r", set())],
)
def test_a_pattern_covers_those_of_its_queue_or_of_none(wide, covered):
    others = {"x.y", "x.y q"}
    raw = tuple(RawSubject("subscribe", each, "f.py", 1) for each in (wide, *others))
    entries = rules(Service("a.b", raw=raw), "p").subscribe_allow
    assert wide in entries
    assert others.difference(entries) == covered


def test_traffic_of_a_service_is_allowed_by_its_rules():
    found = rules(PAYMENTS, "prod")
    subject = microbus.encode_request(
        plane="prod", port=443, source="payments.core", host="ledger.core", method="POST",
        path="/entries/7", slot="id-x",
    )  # fmt: skip
    assert found.can_publish(subject)
    assert not found.can_publish(subject.replace("payments_core", "ledger_core", 1))
    assert not found.can_publish(subject.replace("prod", "test", 1))
    served = microbus.subscription_from_route(
        plane="prod", host="payments.core", method="POST", route="/charge"
    )
    assert found.can_subscribe(served)
    reply = microbus.encode_reply(plane="prod", source="payments.core", host="any.one", id="id-1")
    assert found.can_publish(reply)


def test_invalid_services_are_refused():
    with pytest.raises(PermissionsError) as caught:
        rules(Service("a.b", events=_uses("c.d", "POST :417/on-x")), "p")
    assert caught.value.reason == "event-host"
    for plane in ("", "*", "p.q"):
        with pytest.raises(AddressError):
            rules(Service("a.b"), plane)
    for host in ("", "A B", "all", "a_b"):
        with pytest.raises(AddressError):
            rules(Service(host), "p")
    with pytest.raises(ValueError, match="verb"):
        rule("send", plane="p", host="a", port=1, method="GET", path="/")
    with pytest.raises(ValueError, match="source"):
        rule("publish", plane="p", host="a", port=1, method="GET", path="/")
