"""The lint rules of ``Permissions``: what each reports, and what it leaves alone."""

from __future__ import annotations

import pytest

import subtrie
from subtrie._core import engine
from subtrie.acl import LINT_RULES, Permissions, ResponseLimit

pytestmark = pytest.mark.usefixtures("engine_in_use")

#: Each rule of ``lint``: lists on which it fires, and lists much like them on which it is silent.
LINT = {
    "plane-wildcard": ({"publish_allow": ["*.safe.443.a.>"]}, {"publish_allow": ["p.safe.>"]}),
    "danger": ({"subscribe_allow": ["p.*.666.>"]}, {"subscribe_allow": ["p.safe.666.>"]}),
    "shadowed": (
        {"publish_allow": ["a.b"], "publish_deny": ["a.>"]},
        {"publish_allow": ["a.*"], "publish_deny": ["a.b"]},
    ),
    "redundant": (
        {"publish_allow": ["a.>", "a.*", "a.*.>"]},
        {"publish_allow": ["a.*", "a.*.*"]},
    ),
    "dead": (
        {"publish_allow": ["a"], "publish_deny": ["b"]},
        {"publish_allow": ["a.>"], "publish_deny": ["a.b"]},
    ),
    "unbounded-depth": (
        {"subscribe_allow": ["a.*", "p.reply._.*.me.*"]},
        {"subscribe_allow": ["a.*", "p.reply._.*.me.*", "b.>"], "subscribe_deny": ["a.*.>"]},
    ),
    "inbox": ({"subscribe_allow": ["_INBOX.>"]}, {"subscribe_allow": ["_INBOX.me.>"]}),
    "allow-responses": (
        {"publish_allow": [], "allow_responses": ResponseLimit()},
        {"publish_allow": []},
    ),
    "size": (
        {"publish_allow": [f"plane.safe.443.someone.host{n}.*.GET.path" for n in range(70)]},
        {"publish_allow": [f"plane.safe.443.someone.host{n}.*.GET.path" for n in range(40)]},
    ),
}


@pytest.mark.parametrize(("entry", "reported"), [
    ("p.reply._.*.me.*", False), ("p.reply._.*.*.*", True), ("p.reply._.*.me.x.*", True),
    ("p.reply.*.*.me.*", True),
])  # fmt: skip
def test_replies_to_one_host_need_no_bound_of_their_depth(entry, reported):
    found = [each.rule for each in Permissions(subscribe_allow=[entry]).lint()]
    assert ("unbounded-depth" in found) is reported


#: More of the same: over-wide inboxes in every disguise, and what looks like one.
INBOXES = {
    "_INBOX.>": True, "_INBOX.*": True, "_INBOX.*.*": True, "_INBOX.> q": True, "*.>": True,
    ">": True,
    "_INBOX.*.x": True, "p.reply.>": True, "p.reply._.*.*.>": True, "*.reply._.me.*.*": True,
    "_INBOX.me.>": False, "_INBOX.me": False, "_INBOX.me.*": False, "p.reply._.*.me.*": False,
    "p.reply._.me.me.x": False, "_INBOXES.>": False, "p.safe.>": False,
}  # fmt: skip


@pytest.mark.requirement("T11")
@pytest.mark.parametrize("entry", INBOXES)
def test_over_wide_inbox_grants(entry):
    rules = Permissions(publish_allow=(), subscribe_allow=[entry, "x.x"])
    found = [each for each in rules.lint() if each.rule == "inbox"]
    assert bool(found) == INBOXES[entry]
    for each in found:
        assert rules.can_subscribe(each.witness, queue="q")
    # Denying some inboxes leaves those of all others; denying all of them leaves none.
    some = Permissions(subscribe_allow=[entry], subscribe_deny=["_INBOX.you.>", "_INBOX.you"])
    assert ("inbox" in [each.rule for each in some.lint()]) == INBOXES[entry]
    none = Permissions(subscribe_allow=[entry], subscribe_deny=["_INBOX.>", "*.reply.>"])
    assert "inbox" not in [each.rule for each in none.lint()]


@pytest.mark.requirement("T13")
def test_subjects_outside_a_plane_do_not_reach_the_trust_root():
    for entry in ("_INBOX.>", "$JS.*.>", "a-b.danger.666.x"):
        rules = Permissions(publish_allow=[entry], subscribe_allow=())
        assert "danger" not in [each.rule for each in rules.lint(microbus=True)]
        nothing = Permissions(publish_allow=(), subscribe_allow=())
        assert not nothing.diff(rules, microbus=True).added[0].danger


def test_a_finding_names_its_entry():
    rules = Permissions(publish_allow=["*.a"], subscribe_allow=(), publish_deny=["z"])
    rows = [(each.rule, each.list, each.entry) for each in rules.lint(microbus=True)]
    assert ("plane-wildcard", "publish_allow", "*.a") in rows
    assert ("dead", "publish_deny", "z") in rows


@pytest.mark.requirement("T11", "T12", "T13")
@pytest.mark.parametrize("rule", LINT)
def test_each_lint_rule_has_findings_and_exceptions(rule):
    firing, silent = LINT[rule]
    nothing = {"publish_allow": [], "subscribe_allow": []}
    firing, silent = {**nothing, **firing}, {**nothing, **silent}
    found = [each for each in Permissions(**firing).lint(microbus=True) if each.rule == rule]
    assert found
    assert all(each.level in ("error", "warning", "note") and each.message for each in found)
    assert rule not in [each.rule for each in Permissions(**silent).lint(microbus=True)]
    assert rule in LINT_RULES
    # Rules about Microbus are off unless the subjects show a plane.
    plain = {each.rule for each in Permissions(**firing).lint(microbus=False)}
    assert (rule in plain) != LINT_RULES[rule].microbus


@pytest.mark.parametrize(
    ("entry", "on"),
    [
        ("prod.safe.443.a.>", True), ("*.safe.>", True), ("p.danger.666.>", True),
        ("p.reply._.a.>", True), ("orders.>", False), (">", False), ("a.safe", False),
        ("_INBOX.safe.>", False), ("orders.reply.x.>", False),
    ],
)  # fmt: skip
def test_rules_about_microbus_apply_if_the_subjects_show_a_plane(entry, on):
    rules = Permissions(publish_allow=[entry, "*.x"], subscribe_allow=())
    assert ("plane-wildcard" in [each.rule for each in rules.lint()]) == on
    assert "plane-wildcard" in [each.rule for each in rules.lint(microbus=True)]
    added = Permissions(publish_allow=[entry], subscribe_allow=()).diff(
        Permissions(publish_allow=[entry, "*.danger.>"], subscribe_allow=())
    )
    assert added.added == () or added.added[0].danger
    nothing = Permissions(publish_allow=(), subscribe_allow=())
    everything = Permissions(publish_allow=[entry, ">"], subscribe_allow=())
    assert any(each.danger for each in nothing.diff(everything).added) == on


def test_a_comparison_of_each_rule_with_all_others_is_bounded():
    many = [f"a.{number}.x" for number in range(1001)]
    for split in (0, 1, 1001):
        lists = {"subscribe_allow": many[:split], "subscribe_deny": many[split:]}
        found = Permissions(publish_allow=(), **lists).lint()
        [message] = [each.message for each in found if each.rule == "unchecked"]
        assert message.startswith("subscribe: 1001 entries are too many")
        assert message.endswith("(at most 1000)")
    few = Permissions(publish_allow=many[:50], subscribe_allow=()).lint()
    assert "unchecked" not in [each.rule for each in few]


@pytest.mark.requirement("T13")
def test_every_overlap_with_danger_is_found():
    import random

    rng = random.Random(3)
    for _ in range(300):
        tokens = [rng.choice(["p", "*"]), rng.choice(["safe", "danger", "*", ">"]), "666", "a"]
        if ">" in tokens:
            tokens = tokens[: tokens.index(">") + 1]
        entry = ".".join(tokens)
        danger = any(subtrie.reference.overlaps(entry, f"*.danger.{tail}") for tail in ("*", "*.>"))
        rules = Permissions(publish_allow=[entry], subscribe_allow=[])
        found = [each for each in rules.lint(microbus=True) if each.rule == "danger"]
        assert bool(found) == danger, entry
        for each in found:
            assert Permissions(publish_allow=[entry]).can_publish(each.witness)
            assert each.witness.split(".")[1] == "danger"


@pytest.mark.requirement("S0-126")
def test_rules_of_one_plane_grant_nothing_on_another():
    rules = Permissions(publish_allow=["one.safe.443.a.>"], subscribe_allow=["one.safe.*.*.a.>"])
    other = Permissions(publish_allow=["two.>"], subscribe_allow=["two.>"])
    for verb in ("publish", "subscribe"):
        assert engine.rules_overlap(*rules.lists(verb), *other.lists(verb)) is None


@pytest.mark.requirement("S0-026", "S0-116")
def test_safe_rules_never_overlap_the_trust_root():
    for port in ("*", "443"):
        safe, danger = [f"p.safe.{port}.me.>"], ["p.danger.666.me.you.>"]
        assert engine.rules_overlap(safe, [], danger, []) is None


def test_the_broker_of_a_control_line_is_told_about_one_byte_more():
    def found(length):
        rules = Permissions(publish_allow=["a" * length], subscribe_allow=())
        return [each.message for each in rules.lint() if each.rule == "size"]

    length = next(each for each in range(2000, 3000) if found(each))
    assert found(length - 1) == []
    assert "about 4098 bytes, more than the broker's control line of 4096" in found(length)[0]


@pytest.mark.parametrize(("count", "often"), [(-1, "without limit"), (1, "once"), (7, "7 times")])
def test_the_note_about_responses_says_how_often(count, often):
    rules = Permissions(publish_allow=(), subscribe_allow=(), allow_responses=ResponseLimit(count))
    assert [often in each.message for each in rules.lint()] == [True]


def test_errors_come_first_and_each_entry_once():
    rules = Permissions(
        publish_allow=["a.b", "a.*", "a.b", "*.safe.x"], publish_deny=["z.z", "a.c", "a.c"],
        subscribe_allow=["_INBOX.>", "x.*", "x.* q"], allow_responses=ResponseLimit(),
    )  # fmt: skip
    found = rules.lint(microbus=True)
    assert [each.level for each in found] == sorted(
        (each.level for each in found), key=["error", "warning", "note"].index
    )
    assert sorted((each.rule, each.entry) for each in found) == [
        ("allow-responses", None), ("dead", "z.z"), ("inbox", "_INBOX.>"),
        ("plane-wildcard", "*.safe.x"), ("redundant", "a.b"),
        ("redundant", "a.c"), ("redundant", "x.* q"),
        ("unbounded-depth", "x.*"), ("unbounded-depth", "x.* q"),
    ]  # fmt: skip
    deep = [each.message for each in found if each.rule == "unbounded-depth"]
    assert "deny subscribe x.*.>" in deep[0]
