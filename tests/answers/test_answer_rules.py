"""The pure rules of the answers: what folds, what a minimum rule is, when the receivers change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from subtrie import Pattern
from subtrie.acl import Permissions
from subtrie.acl._synthesis import Observed, Thresholds, propose, route_key
from subtrie.audit._answers.folding import fold, is_variable
from subtrie.audit._answers.gaps import Call, CodeCall, calls_in, gap_rows
from subtrie.audit._answers.questions import load_code, load_rules, parse_time
from subtrie.audit._answers.receivers import at_rows, history_rows
from subtrie.audit._answers.rule_table import numbered, of_subscription
from subtrie.audit._partial.selection import Selection
from subtrie.gencreds import scan
from subtrie.spark import Questions

HEAD = "prod.safe.443.{}_shop.stock_shop.{}.GET."


def edge(path: str, *, source="a", slot="_", days=(1, 2, 3), route=True, **changed) -> Observed:
    pattern = HEAD.format(source, slot) + path
    made = {
        "service": f"{source}.shop", "kind": "request", "pattern": pattern,
        "route": path if route else None, "standing": "verified", "allowed": None,
        "published": 5, "taken": 5, "days": frozenset(days), "witnesses": (pattern,),
    }  # fmt: skip
    return Observed(**{**made, **changed})


def rules_of(edges, values=None, **thresholds):
    rules, thin = propose(edges, values or {}, Thresholds(**thresholds))
    return [row["rule"] for row in rules], {row["pattern"]: row["why"] for row in thin}


@pytest.mark.parametrize(
    ("subject", "folded"),
    [
        ("orders.1742.paid", "orders.*.paid"),
        ("orders.new", "orders.new"),
        ("_INBOX.abc", "_INBOX.*"),
        ("_INBOX.abc.>", "_INBOX.*.>"),
        ("up.550e8400-e29b-41d4-a716-446655440000", "up.*"),
        ("up.deadbeefdeadbeef01", "up.*"),
        ("up.deadbeefdeadbeef", "up.deadbeefdeadbeef"),  # a word of letters only
        ("prod.reply._.a_shop.b_shop.id-x", "prod.reply._.a_shop.b_shop.*"),
        (HEAD.format("a", "id-x") + "items.7", HEAD.format("a", "*") + "items.*"),
        (HEAD.format("a", "loc-eu") + "items", HEAD.format("a", "loc-eu") + "items"),
    ],
)
def test_what_folds(subject: str, folded: str) -> None:
    assert fold(subject) == folded
    assert fold(folded) == folded


def test_names_are_not_variable() -> None:
    names = ("getCustomerOrderV2", "web-front-orders-2024", "openapi%2ejson", "v2", "eu-west-1")
    assert [name for name in names if is_variable(name)] == []


@pytest.mark.parametrize(
    ("token", "variable"),
    [
        ("deadbeefcaf1", True), ("deadbeefca1", False), ("deadbeefcafe", False),
        ("DEADBEEFCAF1", True), ("deadBEEFCAF1", False),
        ("0a1b2c3d-1234-abcd-ef00-0123456789ab", True),
        ("facadeda-beef-abcd-efab-deadbeefcafe", False),
        # Two changes of class in five characters, in at least sixteen.
        ("aAaAaAaA" + "a" * 12, True), ("aAaAaAaa" + "a" * 12, False),
        ("aAaAaAaA" + "a" * 8, True), ("aAaAaAaA" + "a" * 7, False),
        ("0", True), ("0x", False), ("", False),
    ],
)  # fmt: skip
def test_a_token_is_variable_from_a_limit_on(token: str, variable: bool) -> None:
    assert is_variable(token) is variable


@pytest.mark.requirement("P-05")
def test_a_wildcard_needs_values_days_and_sources() -> None:
    two = [edge("items.*"), edge("items.*", source="b")]
    key = route_key(two[0].pattern)
    several, one = {key: {1: ("7", "8")}}, {key: {1: ("7", "7")}}
    found, thin = rules_of(two, several)
    assert found == [HEAD.format("a", "_") + "items.*", HEAD.format("b", "_") + "items.*"]
    assert thin == {}
    # One source, or days that are too few: no rule, and the reason.
    assert rules_of(two[:1], several) == ([], {two[0].pattern: "1 of 2 sources"})
    assert rules_of(two[:1], several, sources=1)[0] == found[:1]
    # One source that has the call with a wildcard there in its code.
    assert rules_of([edge("items.*", free={1: "*"})], several) == (found[:1], {})
    other = edge("items.*", free={0: "*"})
    assert rules_of([other], several)[1] == {other.pattern: "1 of 2 sources"}
    deep = edge("items.>", free={1: "*"})
    assert rules_of([deep], {route_key(deep.pattern): {1: ("7", "8")}}) == (found[:1], {})
    thinner = [edge("items.*", days=(1,)), edge("items.*", source="b", days=(1, 2))]
    assert set(rules_of(thinner, several)[1].values()) == {"2 of 3 days"}
    # One value does not justify a wildcard.
    found, thin = rules_of(two, one)
    assert found == [HEAD.format("a", "_") + "items.7", HEAD.format("b", "_") + "items.7"]
    assert set(thin.values()) == {"one value of path part 2"}


@pytest.mark.requirement("P-05")
def test_only_messages_that_are_in_order_are_evidence() -> None:
    fixed = edge("items")
    assert rules_of([fixed]) == ([fixed.pattern], {})
    for changed, why in (
        ({"taken": 0, "days": frozenset()}, "never delivered"),
        ({"published": 0, "taken": 0}, "never accepted"),
        ({"standing": "unknown"}, "the sender is not verified"),
        ({"standing": "claimed"}, "the broker did not prove the identity"),
        ({"route": None}, "no subscribed route"),
        ({"kind": "other", "pattern": "orders.7"}, "not a Microbus request"),
    ):
        found, thin = rules_of([edge("items", **changed)])
        assert (found, list(thin.values())) == ([], [why])
    for changed in ({"standing": "spoofed"}, {"allowed": False}):
        assert rules_of([edge("items", **changed)]) == ([], {})


@pytest.mark.requirement("P-06")
def test_the_trust_root_the_plane_and_the_slot_are_never_generalised() -> None:
    danger = [edge("mint.*", source=s) for s in "ab"]
    danger = [replace(e, pattern=e.pattern.replace("safe.443", "danger.666")) for e in danger]
    found, thin = rules_of(danger, {route_key(danger[0].pattern): {1: ("x", "y")}})
    assert found == []
    assert all("trust root" in why for why in thin.values())
    slots = [edge("items", slot=s) for s in ("_", "id-x7", "loc-eu")]
    assert rules_of(slots)[0] == sorted(e.pattern for e in slots)


@pytest.mark.requirement("P-06")
def test_subscriptions_that_reach_planes_the_trust_root_or_inboxes_are_not_proposed() -> None:
    def row(pattern, days=(1, 2, 3)):
        return Observed("a.shop", "subscription", pattern, None, "verified", None, 1, 1,
                        frozenset(days), (pattern,))  # fmt: skip

    rules, thin = propose(
        [
            row("prod.safe.443.*.a_shop.id-1.GET.x"),
            row("prod.safe.443.*.a_shop._.GET.y"),
            row("prod.reply._.*.a_shop.id-1"),
            row("prod.danger.666.*.a_shop._.GET.x"),
            row("prod.safe.417.*.b_shop._.POST.on-x", days=(1,)),
            row(">"), row("*.safe.>"), row("prod.>"), row("_INBOX.abc"),
        ],
        {},
    )  # fmt: skip
    assert [r["rule"] for r in rules] == [
        "prod.danger.666.*.a_shop._.GET.x",
        "prod.reply._.*.a_shop.*",
        "prod.safe.*.*.a_shop.>",
    ]
    assert {r["pattern"]: r["why"] for r in thin} == {
        ">": "a wildcard in place of a plane",
        "*.safe.>": "a wildcard in place of a plane",
        "prod.>": "it reaches the trust root",
        "_INBOX.abc": "an inbox: give the client a prefix of its own",
        "prod.safe.417.*.b_shop._.POST.on-x": "1 of 3 days",
    }


@pytest.mark.parametrize("turn", [1, -1])
def test_of_rows_of_one_pattern_that_with_the_most_messages_stays(turn) -> None:
    """And its reason: rows of one pattern differ in who received it, and in how many."""
    some = [
        edge("items", published=3, taken=0),
        edge("items", published=9, taken=0),
        edge("items", published=5, taken=0, standing="unverified"),
    ]
    _, thin = propose(some[::turn], {}, Thresholds())
    assert [(row["count"], row["why"]) for row in thin] == [(9, "never delivered")]


def test_a_wide_subscription_is_explained_by_the_narrower_ones_of_the_same_sender() -> None:
    """That with the most messages first, so that of two that overlap the larger one counts."""

    def sent(pattern: str, count: int, service: str = "me") -> Observed:
        return Observed.plain(service, "other", pattern, count, count)

    for count, explained in ((5, True), (6, False)):
        wide, many, few = sent("a.>", count), sent("a.*.c", 5), sent("a.b.*", 3)
        for some in ([wide, few, many], [many, few, wide]):
            assert ("a.>" not in rules_of(some, any_subject=True)[0]) is explained
    others = [sent("a.>", 5), sent("a.b", 5, "other")]
    assert rules_of(others, any_subject=True)[0] == ["a.>", "a.b"]


def test_what_the_broker_receives_is_never_delivered_to_a_client() -> None:
    for pattern in ("$JS.API.INFO", "$JS.ACK.S.c.1", "$JS.hub.API.INFO"):
        each = Observed.plain("me", "other", pattern, 2, 0)
        assert rules_of([each], any_subject=True) == ([pattern], {})
    other = Observed.plain("me", "other", "$JSON.x", 2, 0)
    assert rules_of([other], any_subject=True) == ([], {"$JSON.x": "never delivered"})


def test_claimed_messages_are_told_if_the_broker_accepted_any() -> None:
    for published, told in ((1, 1), (0, 0)):
        each = edge("items", standing="claimed", published=published, taken=0)
        assert len(propose([each], {})[1]) == told


@pytest.mark.parametrize("turn", [1, -1])
def test_equal_rules_of_two_routes_are_one(turn) -> None:
    """With the days and the messages of both, three witnesses, and the more sources."""
    wild = [
        edge("items.*", source=each, days=(1, 2, 3), witnesses=(f"w{each}2", f"w{each}1"))
        for each in "ab"
    ]
    fixed = edge("items.7", days=(3, 4), witnesses=("wa0", "wa3"), all_days=frozenset((3, 4, 5)))
    rules, thin = propose(
        [*wild, fixed][::turn], {route_key(wild[0].pattern): {1: ("7", "7")}}, Thresholds(days=3)
    )
    (mine,) = (row for row in rules if row["service"] == "a.shop")
    assert mine["rule"] == HEAD.format("a", "_") + "items.7"
    assert (mine["days"], mine["count"], mine["sources"]) == (4, 10, 2)
    assert mine["witnesses"] == "wa0 wa1 wa2"
    assert {row["sources"] for row in thin} == {2}


def test_days_of_all_programs_decide_and_those_of_one_are_told() -> None:
    for days, why in (((1, 2), "2 of 3 days"), ((1, 2, 3), None)):
        each = edge("items", days=(1,), all_days=frozenset(days))
        rules, thin = propose([each], {})
        assert [row["days"] for row in rules] == ([1] if why is None else [])
        assert [(row["days"], row["why"]) for row in thin] == ([(1, why)] if why else [])


def test_what_every_service_subscribes_to_needs_no_days() -> None:
    """On its own host on any port, for its replies, and for the control of all services."""

    def of(pattern: str) -> Observed:
        return Observed("a.shop", "subscription", pattern, None, "verified", None, 1, 1,
                        frozenset((1,)), (pattern,))  # fmt: skip

    for pattern, rule in (
        ("p.safe.888.*.all._.GET.ping", "p.safe.888.*.all.>"),
        ("p.safe.443.*.all._.GET.ping", None),
        ("p.safe.443.*.a_shop._.GET.x", "p.safe.*.*.a_shop.>"),
        ("p.safe.443.*.b_shop._.GET.x", None),
        ("p.reply._.*.a_shop.id-1", "p.reply._.*.a_shop.*"),
        ("p.reply._.*.b_shop.id-1", None),
        ("p.danger.666.*.a_shop._.GET.x", None),
    ):
        found, thin = rules_of([of(pattern)])
        assert found == ([rule] if rule else [])
        assert thin == ({} if rule else {pattern: "1 of 3 days"})


def test_deny_entries_have_lower_numbers_than_allow_entries_of_a_service() -> None:
    rules = {
        "b": Permissions(publish_allow=["x.*"], publish_deny=["x.y"]),
        "a": Permissions(publish_deny=["z"]),
    }
    assert [(r.service, r.effect, r.text) for r in numbered(rules, "publish")] == [
        ("a", "deny", "z"), ("a", "allow", ">"), ("b", "deny", "x.y"), ("b", "allow", "x.*"),
    ]  # fmt: skip
    queued = list(enumerate(numbered({"a": Permissions(subscribe_allow=["q.* one"])}, "subscribe")))
    assert of_subscription(queued, "q.x", "one") == [0]
    assert of_subscription(queued, "q.x", None) == of_subscription(queued, "q.x", "two") == []


def test_the_gap_is_three_way(tmp_path) -> None:
    (tmp_path / "a.py").write_text(
        'from subtrie.connector import Connector\na = Connector("a.shop")\n'
        'async def f(n):\n    await a.request("GET", f"https://stock.shop/items/{n}")\n'
        '    await a.request("GET", "https://stock.shop/never")\n'
    )
    code = calls_in(scan(tmp_path))
    allow = [f"prod.safe.443.a_shop.stock_shop.*.GET.{path}" for path in ("items.*", "old")]
    rules = numbered({"a.shop": Permissions(publish_allow=[*allow, "prod.reply._.a_shop.>"])},
                     "publish")  # fmt: skip
    items = next(n for n, call in enumerate(code) if call.pattern.endswith("items.*"))
    calls = [
        Call("a.shop", HEAD.format("a", "_") + "items.*", "items.*", items, allow[0], False, 7, 0),
        Call("a.shop", HEAD.format("a", "_") + "new", "new", None, None, False, 2, 0),
        Call("a.shop", HEAD.format("a", "_") + "shut", "shut", None, None, False, 0, 3),
    ]
    rows = {row["path"]: row for row in gap_rows(calls, code, ["a.shop"], rules)}
    assert {path: row["finding"] for path, row in rows.items()} == {
        "items.*": "ok", "never": "no rule", "new": "not in code", "shut": "refused",
        "old": "rule only",
    }  # fmt: skip
    assert rows["items.*"]["code"].endswith("a.py:4")
    assert (rows["items.*"]["rule"], rows["items.*"]["traffic"]) == (allow[0], 7)
    without_rules = {r["path"]: r["finding"] for r in gap_rows(calls[:2], code, ["a.shop"], None)}
    assert without_rules == {"items.*": "ok", "never": "never called", "new": "not in code"}


DENIES = Permissions(
    publish_allow=[
        "prod.safe.443.a_shop.stock_shop.>",
        "lab.safe.443.a_shop.stock_shop._.GET.secret",
        "prod.safe.443.a_shop.bank_shop.*.POST.pay",
    ],
    publish_deny=[
        "prod.safe.443.a_shop.stock_shop.*.GET.secret",
        "prod.safe.443.a_shop.stock_shop.*.GET.items.forbidden",
        "lab.>",
        "prod.danger.>",
    ],
)
_STOCK = "stock_shop", "safe.443"
# Destination and trust, path, messages accepted and refused by the broker, whether the code has the
# call; then the finding, and the rule that decides.
WORLD = [
    (_STOCK, "list", 3, 0, True, "ok", "prod.safe.443.a_shop.stock_shop.>"),
    (_STOCK, "count", 0, 0, True, "never called", "prod.safe.443.a_shop.stock_shop.>"),
    (_STOCK, "secret", 0, 0, True, "denied", "prod.safe.443.a_shop.stock_shop.*.GET.secret"),
    (_STOCK, "items.forbidden", 2, 0, False, "denied",
     "prod.safe.443.a_shop.stock_shop.*.GET.items.forbidden"),
    (("root_shop", "danger.666"), "mint", 0, 4, True, "refused", "prod.danger.>"),
    (("root_shop", "danger.666"), "renew", 5, 1, True, "denied", "prod.danger.>"),
    (("else_shop", "safe.443"), "any", 0, 0, True, "no rule", None),
]  # fmt: skip


@pytest.mark.parametrize("seen", [True, False])
def test_the_gap_names_the_deny_rule_that_decides(seen: bool) -> None:
    """With no message at all, the planes are those of the rules."""
    code, calls, expected = [], [], {}
    rules = numbered({"a.shop": DENIES}, "publish")
    if not seen:
        rules = [each for each in rules if not each.text.startswith("lab.")]
    for (host, trust), path, published, refused, has_code, finding, rule in WORLD:
        subject = f"prod.{trust}.a_shop.{host}._.GET.{path}"
        decision = DENIES.can_publish(subject)
        decided = next(
            (r for r in rules if Pattern(r.text, dialect="server").matches(subject)), None
        )
        assert decision.rule == rule == (decided and decided.text)
        assert (finding in ("ok", "never called")) == bool(decision)
        number = len(code) if has_code else None
        if has_code:
            code.append(CodeCall("a.shop", f"*.{subject.removeprefix('prod.')}", f"a.py:{number}"))
        if seen and published + refused:
            calls.append(
                Call("a.shop", subject, path, number, rule, not decision, published, refused)
            )
        if has_code or seen:
            shown = finding if seen or finding != "refused" else "denied"
            shown = shown if seen or finding != "ok" else "never called"
            expected[path] = (shown, rule)
    rows = gap_rows(calls, code, ["a.shop"], rules)
    found = {r["path"]: (r["finding"], r["rule"]) for r in rows}
    assert found.pop("pay") == ("rule only", "prod.safe.443.a_shop.bank_shop.*.POST.pay")
    lab = "lab.safe.443.a_shop.stock_shop._.GET.secret"
    assert lab not in {rule for _, rule in found.values()}
    assert found == expected


@pytest.mark.requirement("P-09")
def test_the_receivers_at_a_time_and_when_they_change() -> None:
    start = datetime(2026, 11, 21, tzinfo=UTC)

    def sub(conn, begin, end, queue=None):
        return {"server": "s", "conn": conn, "sid": "1", "identity": conn, "pattern": "a.*",
                "queue": queue, "start": start + timedelta(seconds=begin),
                "end": None if end is None else start + timedelta(seconds=end)}  # fmt: skip

    rows = [sub("one", 1, 5), sub("two", 3, None, "q"), sub("three", 5, 9)]
    found = history_rows(rows, "a.b", {"s": start})
    told = [
        ((row["start"] - start).seconds, row["receivers"], row["subscribers"], row["groups"])
        for row in found
    ]
    assert told == [
        (0, "", 0, 0), (1, "one", 1, 0), (3, "one two@q", 1, 1), (5, "three two@q", 1, 1),
        (9, "two@q", 0, 1),
    ]  # fmt: skip
    assert [row["end"] for row in found] == [row["start"] for row in found[1:]] + [None]
    for second in range(11):
        time = start + timedelta(seconds=second)
        now = {row["conn"] for row in at_rows(rows, "a.b", time)}
        (interval,) = [
            r for r in found if r["start"] <= time and (r["end"] is None or time < r["end"])
        ]
        assert now == {name.partition("@")[0] for name in interval["receivers"].split()}


def test_bad_questions_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="a time needs a subject"):
        Questions(time=datetime.now(UTC))
    with pytest.raises(ValueError, match="at least 1"):
        Questions(min_days=0)
    with pytest.raises(ValueError, match="not a time"):
        parse_time("yesterday")
    assert parse_time("2026-11-21T08:00:00+01:00") == datetime(2026, 11, 21, 7, tzinfo=UTC)
    noon = parse_time("2026-11-21 12:00")
    with pytest.raises(ValueError, match="the period is empty"):
        Selection(since=noon, until=noon)
    rules = tmp_path / "Some Rules.json"
    rules.write_text('{"subtrie": 1, "publish_allow": []}')
    with pytest.raises(ValueError, match="cannot tell which service"):
        load_rules([rules])
    assert set(load_rules([f"a.shop={rules}"])) == {"a.shop"}
    with pytest.raises(ValueError, match="already"):
        load_rules([f"a.shop={rules}", f"a.shop={rules}"])
    with pytest.raises(ValueError, match="no service of a connector"):
        load_code([tmp_path])
    (tmp_path / "bad.py").write_text("from subtrie.connector import Connector\ndef f(:\n")
    with pytest.raises(ValueError, match=r"bad.py"):
        load_code([tmp_path])
