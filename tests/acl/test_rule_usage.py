"""Rules against the tables of an audit, written by hand: use, attempts, and narrower rules."""

from __future__ import annotations

import random
from typing import Any

import pytest

from subtrie import Pattern
from subtrie.acl import Permissions, ResponseLimit, Traffic, narrowed
from subtrie.acl._narrowing import MOST_PARTS, common_part
from subtrie.acl._rule_usage import entry_usage, refusals, uncovered
from subtrie.acl._traffic import is_of


def flow(pattern: str, published: int = 1, subscriber: str | None = "other") -> dict[str, Any]:
    return {"publisher": "me", "pattern": pattern, "subscriber": subscriber, "published": published}


def subscription(pattern: str, queue: str | None = None) -> dict[str, Any]:
    return {"identity": "me", "pattern": pattern, "queue": queue}


def counted(rule: str, accepted: int, refused: int = 0) -> dict[str, Any]:
    row = {"service": "me", "verb": "publish", "effect": "allow", "rule": rule}
    return {**row, "accepted": accepted, "refused": refused}


def traffic(*flows: dict[str, Any], planes: tuple[str, ...] = (), **tables: Any) -> Traffic:
    found = Traffic.of_tables(
        lambda name: flows if name == "flows" else tables.get(name, ()), planes
    )
    return found["me"]


def test_traffic_of_two_days_with_equal_patterns_adds_up() -> None:
    days = [
        traffic(flow("a", 2), flow("b", 5), flow("a", 3, None),
                subscriptions=[subscription("x")] * 2 + [subscription("x", "q")]),
        traffic(flow("a", 7), flow("a", 1, None), subscriptions=[subscription("x")] * 3),
    ]  # fmt: skip
    for one, other in (days, days[::-1]):
        both = one.added(other)
        assert {(each.pattern, each.received): each[2:] for each in both.published} == {
            ("a", True): (9, 9), ("b", True): (5, 5), ("a", False): (4, 4),
        }  # fmt: skip
        assert {each[:2]: each.times for each in both.subscribed} == {("x", None): 5, ("x", "q"): 1}


def published_rules(today: list[str], seen: Traffic, **more: Any) -> list[str]:
    return narrowed(Permissions(publish_allow=today, **more), seen).permissions.lists("publish")[0]


def subscribed_rules(today: list[str], *rows: dict[str, Any], **more: Any) -> list[str]:
    permissions = Permissions(publish_allow=[], subscribe_allow=today, **more)
    found = narrowed(permissions, traffic(subscriptions=rows)).permissions
    return found.lists("subscribe")[0]


def test_a_common_part_has_exactly_the_common_subjects() -> None:
    choose = random.Random(4)
    subjects = [".".join(each) for n in (1, 2, 3) for each in _words(n)]
    for _ in range(400):
        one, two = (_pattern(choose) for _ in range(2))
        part = common_part(one, two)
        both = {s for s in subjects if _matches(one, s) and _matches(two, s)}
        assert both == {s for s in subjects if part is not None and _matches(part, s)}, (one, two)
        assert part == common_part(two, one)


def _words(length: int) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for _ in range(length):
        found = [(*each, token) for each in found for token in "abc"]
    return found


def _pattern(choose: random.Random) -> str:
    tokens = [choose.choice("ab*") for _ in range(choose.randint(1, 3))]
    return ".".join([*tokens[:-1], choose.choice([tokens[-1], ">"])])


def _matches(pattern: str, subject: str) -> bool:
    return Pattern(pattern, dialect="server").matches(subject)


@pytest.mark.requirement("P-04")
def test_an_entry_is_used_unused_or_undetermined() -> None:
    permissions = Permissions(
        publish_allow=["orders.>", "stock.*.x", "old.>", "exact.*"],
        subscribe_allow=["in.*", "q.> w"],
    )
    seen = traffic(
        flow("orders.*.paid", 7),
        flow("orders.*.paid", 9, "more"),
        flow("stock.>", 3),
        subscriptions=[subscription("in.*"), subscription("in.7"), subscription("q.x")],
        permission_usage=[counted("exact.*", 2), counted("exact.*", 3)],
    )
    found = {each.entry: each for each in entry_usage(permissions, seen)}
    told = {name: (each.state, each.accepted, each.exact) for name, each in found.items()}
    assert told == {
        "orders.>": ("used", 9, False),
        "stock.*.x": ("undetermined", 0, False),
        "old.>": ("unused", 0, False),
        "exact.*": ("used", 5, True),
        "in.*": ("used", 2, True),
        "q.> w": ("unused", 0, True),
    }


@pytest.mark.parametrize(
    ("accepted", "refused", "state"),
    [(0, 0, "unused"), (1, 0, "used"), (0, 1, "used"), (2, 1, "used")],
)
def test_an_entry_is_used_by_what_a_deny_entry_refused_too(accepted, refused, state) -> None:
    permissions = Permissions(publish_allow=["a.*"], publish_deny=["a.b"])
    (found, *_) = entry_usage(
        permissions, traffic(flow("x"), permission_usage=[counted("a.*", accepted, refused)])
    )
    assert (found.entry, found.state, found.accepted, found.exact) == ("a.*", state, accepted, True)


@pytest.mark.requirement("P-05")
@pytest.mark.parametrize(
    ("today", "flows", "expected"),
    [
        (["orders.>", "old.>"], [flow("orders.*.paid")], ["orders.*.paid"]),
        (["orders.*.paid"], [flow("orders.>")], ["orders.*.paid"]),
        ([">"], [flow("_INBOX.*.*"), flow("a.b")], ["_INBOX.*.*", "a.b"]),
        (["orders.7.*"], [flow("orders.*.paid")], ["orders.7.paid"]),
        # A monitor received what narrower subscriptions received, and nothing else.
        (["a.>"], [flow("a.>", 5), flow("a.x", 2), flow("a.y.*", 3)], ["a.x", "a.y.*"]),
        (["a.>"], [flow("a.>", 6), flow("a.x", 2), flow("a.y.*", 3)], ["a.>"]),
        # Two that overlap may have received the same messages.
        (["a.>"], [flow("a.>", 5), flow("a.x", 2), flow("a.*", 3)], ["a.>"]),
        # No client received it: a stream may store it, and other subjects like it.
        (["a.>"], [flow("a.x", subscriber=None)], ["a.>"]),
        (["$JS.API.>"], [flow("$JS.API.INFO", subscriber=None)], ["$JS.API.INFO"]),
        (["a.>"], [flow(f"a.{n}x") for n in range(MOST_PARTS + 1)], ["a.>"]),
        (
            ["a.>"],
            [flow(f"a.{n}x") for n in range(MOST_PARTS)],
            [f"a.{n}x" for n in range(MOST_PARTS)],
        ),
    ],
)
def test_publish_rules_are_narrowed_to_subscriptions(today, flows, expected) -> None:
    assert published_rules(today, traffic(*flows)) == expected


def test_a_counted_rule_decides() -> None:
    """A rule that nothing matched goes though a wide pattern reaches it; a used one never goes."""
    unused = traffic(flow("a.>"), permission_usage=[counted("a.x", 0), counted("a.y", 1)])
    assert published_rules(["a.x", "a.y"], unused) == ["a.y"]
    assert published_rules(["b.>"], traffic(flow("a"), permission_usage=[counted("b.>", 1)])) == [
        "b.>"
    ]


def test_a_rule_with_renamed_messages_stays() -> None:
    told = traffic(flow("a.x", 2), permission_usage=[counted("a.>", 2)])
    assert published_rules(["a.>"], told) == ["a.x"]
    more = traffic(flow("a.x", 2), permission_usage=[counted("a.>", 3)])
    assert published_rules(["a.>"], more) == ["a.>"]


def test_microbus_rules_are_those_of_the_audit() -> None:
    head = "prod.safe.443.me_x"
    rows = [flow("prod.safe.443.*.b_x._.GET.items.*", 5), flow("prod.safe.443.*.c_x._.GET.y", 1)]
    proposal = [{"service": "me", "verb": "publish", "rule": f"{head}.b_x._.GET.items.*"}]
    seen = traffic(*rows, planes=("prod",), proposal=proposal)
    assert published_rules([f"{head}.b_x.>"], seen) == [f"{head}.b_x._.GET.items.*"]
    assert published_rules([f"{head}.c_x.>"], seen) == [f"{head}.c_x.>"]  # seen too rarely


@pytest.mark.parametrize(
    ("today", "rows", "expected"),
    [
        (["in.>", "old"], [subscription("in.*")], ["in.*"]),
        (["in.>"], [subscription("in.*", "w")], ["in.* w"]),
        (["in.> w"], [subscription("in.*", "w")], ["in.* w"]),
        (["_INBOX.>"], [subscription("_INBOX.K3vX9.*")], ["_INBOX.>"]),
        ([">"], [subscription("_INBOX.K3vX9.*")], ["_INBOX.>"]),
        (["_INBOX.me.>"], [subscription("_INBOX.me.K3vX9.*")], ["_INBOX.me.>"]),
        (["in.>"], [subscription(f"in.{n}x") for n in range(MOST_PARTS + 1)], ["in.>"]),
        (
            ["in.>"],
            [subscription(f"in.{n}x") for n in range(MOST_PARTS)],
            [f"in.{n}x" for n in range(MOST_PARTS)],
        ),
        # A queue of several tokens is not named in an entry.
        (["in.>"], [subscription("in.*", "w.x")], ["in.*"]),
        (["in.> w.>"], [subscription("in.*", "w.x")], ["in.* w.>"]),
    ],
)
def test_subscribe_rules_are_narrowed_to_subscriptions(today, rows, expected) -> None:
    assert subscribed_rules(today, *rows) == expected


def test_everything_stays_everything_only_if_it_was_needed() -> None:
    all_allowed = Permissions(publish_deny=["a.secret", "b.>"])
    found = narrowed(all_allowed, traffic(flow("a.*"))).permissions
    assert (found.publish_allow, found.publish_deny) == (("a.*",), ("a.secret",))
    assert found.subscribe_allow == ()
    assert narrowed(all_allowed, traffic(flow(">"))).permissions.publish_allow is None


@pytest.mark.requirement("P-05")
def test_a_proposal_allows_no_more_and_all_that_was_subscribed() -> None:
    for seed in range(150):
        choose = random.Random(seed)
        lists = {
            f"{verb}_{effect}": [_pattern(choose) for _ in range(choose.randint(0, most))]
            for verb in ("publish", "subscribe")
            for effect, most in (("allow", 4), ("deny", 1))
        }
        today = Permissions(**lists)
        rows = [flow(_pattern(choose), choose.randint(1, 5)) for _ in range(4)]
        subscriptions = [
            subscription(_pattern(choose), choose.choice([None, "w"])) for _ in range(4)
        ]
        seen = traffic(*rows, subscriptions=subscriptions)
        proposed = narrowed(today, seen).permissions
        assert proposed <= today, (seed, today, proposed)
        for row in subscriptions:
            before, after = (
                bool(each.can_subscribe(row["pattern"], queue=row["queue"]))
                for each in (today, proposed)
            )
            assert before == after, (seed, row)
        for row in rows:
            wanted = Permissions(publish_allow=[row["pattern"]], subscribe_allow=[])
            if wanted <= Permissions(publish_allow=today.publish_allow, subscribe_allow=[]):
                allowed = Permissions(publish_allow=proposed.publish_allow, subscribe_allow=[])
                both = narrowed(wanted, seen).permissions
                assert both <= allowed, (seed, row)


def test_refusals_are_added_up_by_what_decides() -> None:
    permissions = Permissions(
        publish_allow=["a.>"], publish_deny=["a.secret.>"], subscribe_allow=["in"]
    )
    rows = [
        {"who": "me", "subject": subject, "count": count, "kind": kind}
        for subject, count, kind in (
            ("a.secret.2", 2, "publish"),
            ("a.secret.1", 3, "publish"),
            ("b", 1, "reply"),
            ("a.x", 1, "publish"),
            ("in.*", 4, "subscribe"),
            ("not..valid", 1, "publish"),
        )
    ]
    found = refusals(permissions, traffic(refused=rows))
    told = {(each.verb, each.rule, each.allowed, each.count, each.witness) for each in found}
    assert told == {
        ("publish", "a.secret.>", False, 5, "a.secret.1"),
        ("publish", None, False, 2, "b"),
        ("publish", None, True, 1, "a.x"),
        ("subscribe", None, False, 4, "in.*"),
    }


def test_what_no_entry_allows_is_told_but_not_proposed() -> None:
    lists: dict[str, Any] = {"publish_allow": ["a.>"], "publish_deny": ["a.b"]}
    seen = traffic(flow("a.b"), flow("x.*", 3), flow(">"), subscriptions=[subscription("in", "w")])
    permissions = Permissions(**lists, subscribe_allow=[])
    found = {(each.verb, each.witness, each.count) for each in uncovered(permissions, seen)}
    assert found == {("publish", "a.b", 1), ("publish", "x.*", 3), ("subscribe", "in w", 1)}
    answers = Permissions(**lists, allow_responses=ResponseLimit(1, 1.0))
    assert list(uncovered(answers, seen)) == []  # they may be replies


def test_traffic_is_of_the_user_that_the_broker_proved() -> None:
    def row(user: str | None, client: str | None, **more: Any) -> dict[str, Any]:
        return {**flow("orders.new", 3), "user": user, "client": client, **more}

    token = "U" + "A" * 55
    rows = {
        "flows": [
            row("me", "me-app"),
            row("shared", "me", pattern="orders.paid"),  # another user, under this name
            row(None, "me", pattern="orders.claimed"),
            row(token, "me", publisher="of-jwt"),
        ],
        "subscriptions": [{**subscription("a"), "user": None}],
        "permission_usage": [
            {**counted("orders.>", count), "user": user, "client": "me", "identity_source": source}
            for count, user, source in ((9, "me", "user"), (5, None, "claimed"))
        ],
    }
    found = Traffic.of_tables(lambda name: rows.get(name, ()))
    assert [each.pattern for each in found["me"].published] == ["orders.new"]
    assert found["me"].claimed == 3 + 1
    assert found["me"].counted == {("publish", "orders.>"): (9, 0)}
    assert [each.pattern for each in found["shared"].published] == ["orders.paid"]
    assert found["of-jwt"].published
    asked = Traffic.of_tables(lambda name: rows.get(name, ()), claimed_identities=True)["me"]
    assert {each.pattern for each in asked.published} == {
        "orders.new", "orders.paid", "orders.claimed",
    }  # fmt: skip
    assert (asked.claimed, len(asked.subscribed)) == (0, 1)
    assert asked.counted == {("publish", "orders.>"): (14, 0)}


def test_one_name_in_two_accounts_is_two_users() -> None:
    rows = [
        {**flow("orders.new"), "account": "ORDERS"}, {**flow("bills.new"), "account": "BILLING"},
        {**flow("other"), "account": None},
    ]  # fmt: skip
    for account, pattern in (("ORDERS", "orders.new"), ("BILLING", "bills.new")):
        found = Traffic.of_tables(lambda name: rows if name == "flows" else (), account=account)[
            "me"
        ]
        assert [each.pattern for each in found.published] == [pattern, "other"]


@pytest.mark.parametrize("differs", ["account", "user", "client"])
def test_messages_of_programs_add_up_and_those_of_receivers_may_be_the_same(differs) -> None:
    """Of each program at least the most that one of its receivers got, at most all of them."""
    token = {"account": "A", "user": "U" + "A" * 55, "client": "c"}
    other = {**token, differs: "U" + "B" * 55}
    rows = [
        {**flow("x", count), **program, "subscriber": receiver}
        for program, count, receiver in (
            (token, 3, "one"), (token, 5, "two"), (token, 4, "three"), (other, 2, "one"),
        )
    ]  # fmt: skip
    assert traffic(*rows).published == [("x", True, 5 + 2, 3 + 5 + 4 + 2)]


def test_what_no_entry_can_match_and_what_is_new_at_each_start() -> None:
    seen = traffic(
        flow("a..b"), flow("a.b."), flow("a.b"),
        subscriptions=[subscription(f"$LDS.{word}") for word in ("x1", "y2")],
    )  # fmt: skip
    assert [each.pattern for each in seen.published] == ["a.b"]
    assert seen.subscribed == [("$LDS.*", None, 2)]


def test_a_user_that_did_anything_occurs() -> None:
    refused = [{"who": "me", "subject": "x", "count": 1, "kind": "publish"}]
    for seen in (
        traffic(flow("x")), traffic(subscriptions=[subscription("x")]), traffic(refused=refused),
        traffic(permission_usage=[counted("x", 1)]), traffic(permission_usage=[counted("x", 0, 1)]),
    ):  # fmt: skip
        assert seen
    assert not traffic(permission_usage=[counted("x", 0)])


def test_a_pattern_of_microbus_has_a_plane_and_one_of_its_parts() -> None:
    seen = traffic(flow("x"), planes=("p",))
    for part in ("safe", "danger", "reply"):
        assert seen.is_microbus(f"p.{part}.443")
        assert seen.is_microbus(f"p.{part}")
        assert not seen.is_microbus(f"q.{part}.443")
    assert not any(map(seen.is_microbus, ("p", "p.other.safe", "safe.p", "p.>")))
    both = seen.added(traffic(flow("x"), planes=("q",)))
    assert both.planes == {"p", "q"}
    assert traffic(flow("x"), planes=("q",)).added(seen).planes == both.planes


def test_a_row_about_no_program_is_of_its_user() -> None:
    row = {"service": "me", "user": None, "client": None}
    assert is_of("me", {**row, "identity_source": None})
    assert is_of("me", row)
    assert not is_of("me", {**row, "identity_source": "claimed"})
    assert is_of("me", {**row, "user": "me", "identity_source": "user"})
    assert not is_of("me", {**row, "user": "other", "identity_source": "user"})
