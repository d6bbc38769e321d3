"""The rules of a Microbus service, compared with the subjects of real traffic."""

from __future__ import annotations

import itertools

import pytest

from subtrie import gencreds, microbus
from subtrie.acl import Permissions

PORTS = [1, 443, 417, 665, 666, 667, 888, 65535]
HOSTS = ["me.example", "you.example", "mint.core", "all"]


pytestmark = pytest.mark.usefixtures("engine_in_use")


def request(port=443, source="me.example", host="you.example", plane="prod", **more):
    more = {"method": "GET", "path": "/a/b", **more}
    return microbus.encode_request(plane=plane, port=port, source=source, host=host, **more)


#: The layout, byte for byte: what rules are written against.
LAYOUT = {
    "prod.safe.443.me_example.you_example._.GET.a.b": request(),
    "prod.safe.443.me_example.you_example.id-1.POST._": request(
        slot="id-1", method="POST", path="/"
    ),
    "prod.danger.666.me_example.mint_core._.POST.mint": request(
        666, host="mint.core", method="POST", path="/mint"
    ),
    "prod.reply._.me_example.you_example.id-abc": microbus.encode_reply(
        plane="prod", source="me.example", host="you.example", id="id-abc"
    ),
    "prod.reply._.*.me_example.id-abc": microbus.encode_reply_subscription(
        plane="prod", host="me.example", id="id-abc"
    ),
    "prod.safe.*.*.me_example._.*.a.*.>": microbus.encode_subscription(
        plane="prod", port=0, host="me.example", method="ANY", path="/a/{b}/{rest...}"
    ),
}


@pytest.mark.requirement("S0-002")
@pytest.mark.parametrize("golden", LAYOUT)
def test_the_subject_layout_that_rules_assume(golden):
    assert LAYOUT[golden] == golden


@pytest.mark.requirement("S0-026")
def test_the_broad_rule_covers_every_request_except_to_port_666():
    rules = Permissions(publish_allow=["prod.safe.*.me_example.>"])
    for port, source, host, plane in itertools.product(PORTS, HOSTS[:3], HOSTS, ("prod", "test")):
        wanted = port != 666 and source == "me.example" and plane == "prod"
        assert bool(rules.can_publish(request(port, source, host, plane))) == wanted


@pytest.mark.requirement("S0-027")
def test_without_the_trust_token_port_666_cannot_be_excluded():
    """A deny of port 666 for all other hosts also denies the one host that is allowed.

    Deny takes precedence over allow. With the trust token, two allow rules are enough.
    """
    tokens = [["prod", "*"], ["666", "*"], ["me", "*"], ["mint", "other", "*"]]
    denies = [".".join([*some, ">"]) for some in itertools.product(*tokens)]
    denies += ["prod.666.me.>", "prod.666.>", "prod.>", ">"]
    everybody = 0
    for deny in denies:
        rules = Permissions(
            publish_allow=["prod.*.me.>", "prod.666.me.mint.>"], publish_deny=[deny]
        )
        if not rules.can_publish("prod.666.me.somebody.x"):
            everybody += 1
            decision = rules.can_publish("prod.666.me.mint.x")
            assert (bool(decision), decision.rule) == (False, deny)
    assert everybody >= 8
    split = Permissions(publish_allow=["prod.safe.*.me_example.>",
                                       "prod.danger.666.me_example.mint_core.>"])  # fmt: skip
    for port, host in itertools.product(PORTS, HOSTS):
        wanted = port != 666 or host == "mint.core"
        assert bool(split.can_publish(request(port, host=host))) == wanted


@pytest.mark.requirement("S0-112", "S0-113", "A24")
def test_the_receive_pattern_matches_every_caller():
    rules = Permissions(subscribe_allow=["prod.safe.*.*.me_example.>"])
    for port, path in itertools.product([0, 443, 888], ["/", "/a/{b}", "/{all...}"]):
        pattern = microbus.encode_subscription(
            plane="prod", port=port, host="me.example", method="ANY", path=path
        )
        assert rules.can_subscribe(pattern)
        assert rules.can_subscribe(pattern, queue="me.example", model="broker")
    for port, source in itertools.product(PORTS, HOSTS[:3]):
        heard = rules.can_receive(
            request(port, source, "me.example"), subscription="prod.safe.*.*.me_example.>"
        )
        assert bool(heard) == (port != 666)
    # A rule that names a caller does not hold a subscription for all of them.
    named = Permissions(subscribe_allow=["prod.safe.*.you_example.me_example.>"])
    pattern = microbus.encode_subscription(
        plane="prod", port=443, host="me.example", method="GET", path="/a"
    )
    assert not named.can_subscribe(pattern)


@pytest.mark.requirement("S0-114", "A24")
def test_the_publish_pattern_has_one_source_and_one_destination():
    written = Permissions(publish_allow=["prod.safe.*.me_example.you_example.>"])
    made = gencreds.rule(
        "publish", plane="prod", host="you.example", source="me.example",
        port=None, method=None, path=None,
    )  # fmt: skip
    for rules in (written, Permissions(publish_allow=[made])):
        for port, source, host in itertools.product(PORTS, HOSTS[:3], HOSTS):
            wanted = port != 666 and (source, host) == ("me.example", "you.example")
            assert bool(rules.can_publish(request(port, source, host))) == wanted
    for slot in ("", "id-7", "loc-us-east"):
        assert written.can_publish(request(slot=slot))
        assert Permissions(publish_allow=[made]).can_publish(request(slot=slot))


@pytest.mark.requirement("S0-115", "A24")
def test_only_declared_callers_reach_the_trust_root():
    caller = Permissions(publish_allow=["prod.danger.666.me_example.mint_core.>"])
    other = Permissions(publish_allow=["prod.safe.*.you_example.>", "prod.reply._.you_example.>"])
    subject = request(666, host="mint.core", method="POST", path="/mint")
    assert caller.can_publish(subject)
    for port, source in itertools.product(PORTS, HOSTS[:3]):
        asked = request(port, source, "mint.core")
        assert bool(caller.can_publish(asked)) == (port == 666 and source == "me.example")
        assert bool(other.can_publish(asked)) == (port != 666 and source == "you.example")


@pytest.mark.requirement("S0-117", "S0-118", "A24")
def test_replies_reach_the_caller_and_no_other_client():
    me = Permissions(
        publish_allow=["prod.reply._.me_example.>"], subscribe_allow=["prod.reply._.*.me_example.*"]
    )
    for source, host, name in itertools.product(HOSTS[:3], HOSTS[:3], ("id-a1", "id-b2")):
        reply = microbus.encode_reply(plane="prod", source=source, host=host, id=name)
        assert bool(me.can_publish(reply)) == (source == "me.example")
        own = microbus.encode_reply_subscription(plane="prod", host=host, id=name)
        assert bool(me.can_subscribe(own)) == (host == "me.example")
        if host == "me.example":
            assert me.can_receive(reply, subscription=own)
    assert "inbox" not in [each.rule for each in me.lint()]


@pytest.mark.requirement("S0-125")
def test_lint_finds_a_plane_wildcard_in_every_rule():
    for entry in ("*.safe.443.me_example.>", "*.reply._.me_example.>", "*", ">", "*.>"):
        rules = Permissions(publish_allow=[entry], subscribe_allow=())
        found = [each for each in rules.lint(microbus=True) if each.rule == "plane-wildcard"]
        assert [each.level for each in found] == ["error"]
        assert rules.can_publish(found[0].witness)
    rules = Permissions(publish_allow=["prod.safe.443.me_example.>"], subscribe_allow=())
    assert "plane-wildcard" not in [each.rule for each in rules.lint()]


@pytest.mark.requirement("S0-126")
def test_no_request_of_another_plane_is_granted():
    entries = ["prod.safe.*.me_example.>", "prod.reply._.me_example.>", "prod.danger.666.>"]
    rules = Permissions(publish_allow=entries, subscribe_allow=entries)
    for port, host, plane in itertools.product(PORTS, HOSTS, ("test", "prod1", "Prod", "pro")):
        assert not rules.can_publish(request(port, host=host, plane=plane))
        assert not rules.can_subscribe(request(port, host=host, plane=plane))


#: The rules every service has: verb, rule, and what of its traffic needs it.
IMPLICIT = {
    "S0-103": ("publish", "prod.safe.888.me_example.>", request(888, host="you.example")),
    "S0-104": ("publish", "prod.reply._.me_example.>", microbus.encode_reply(
        plane="prod", source="me.example", host="you.example", id="id-1")),
    "S0-105": ("subscribe", "prod.safe.*.*.me_example.>", microbus.encode_subscription(
        plane="prod", port=443, host="me.example", method="GET", path="/a/{b}")),
    "S0-106": ("subscribe", "prod.reply._.*.me_example.*", microbus.encode_reply_subscription(
        plane="prod", host="me.example", id="id-1")),
    "S0-107": ("subscribe", "prod.safe.888.*.all.>", microbus.encode_subscription(
        plane="prod", port=888, host="all", method="ANY", path="/ping")),
}  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=IMPLICIT[row][1], marks=pytest.mark.requirement(row))
        for row in IMPLICIT
    ],
)
def test_each_implicit_rule_exists_and_is_needed(row):
    verb, entry, needed = IMPLICIT[row]
    least = gencreds.rules(gencreds.Service("me.example"), "prod")
    lists = {"publish_allow": least.publish_allow, "subscribe_allow": least.subscribe_allow}
    assert {one for both in lists.values() for one in both} == {e for _, e, _ in IMPLICIT.values()}
    assert entry in lists[f"{verb}_allow"]
    ask = {"publish": Permissions.can_publish, "subscribe": Permissions.can_subscribe}[verb]
    assert ask(least, needed).rule == entry
    side = f"{verb}_allow"
    without = {**lists, side: [one for one in lists[side] if one != entry]}
    assert not ask(Permissions(**without), needed)
