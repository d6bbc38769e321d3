"""``Permissions``: entries, answers of both models, comparison, difference, smallest form."""

from __future__ import annotations

import json
import pickle

import pytest

from subtrie import PatternError, PermissionsError, SubjectError
from subtrie.acl import Permissions, ResponseLimit

pytestmark = pytest.mark.usefixtures("engine_in_use")


@pytest.mark.parametrize(
    ("lists", "reason", "position"),
    [
        ({"publish_allow": ["a..b"]}, "empty-token", 2),
        ({"publish_allow": [""]}, "empty", 0),
        ({"publish_deny": ["a b"]}, "publish-queue", None),
        ({"subscribe_allow": ["a b c"]}, "queue-words", None),
        ({"subscribe_allow": ["a "]}, "queue-words", None),
        ({"subscribe_deny": ["a b..c"]}, "empty-token", 4),
        ({"subscribe_deny": [">.a"]}, "tail-not-last", 0),
        ({"publish_allow": ["a\u00a0b"]}, "whitespace", 1),
        ({"publish_allow": ["a\ud800"]}, "surrogate", 1),
        ({"publish_allow": ["a*"], "dialect": "strict"}, "partial-wildcard", 1),
        ({"publish_allow": ["é"], "dialect": "strict"}, "non-ascii", 0),
    ],
)
def test_entries_the_broker_would_not_load(lists, reason, position):
    with pytest.raises(PermissionsError) as caught:
        Permissions(**lists)
    assert (caught.value.reason, caught.value.position) == (reason, position)
    assert caught.value.field in lists


@pytest.mark.parametrize("lists", ["a", b"a", [7], [None], 7])
def test_entries_that_are_not_a_list_of_texts(lists):
    with pytest.raises(TypeError):
        Permissions(publish_allow=lists)


def test_absent_and_empty_lists():
    assert Permissions().can_publish("a")
    assert Permissions().can_subscribe(">", queue="q")
    nothing = Permissions(publish_allow=(), subscribe_allow=[])
    for model in ("strict", "broker"):
        assert not nothing.can_publish("a", model=model)
        assert not nothing.can_subscribe("a", model=model)
    assert Permissions() == Permissions(publish_allow=[">"], subscribe_allow=["*", "*.>"])
    assert (nothing.publish_allow, nothing.subscribe_deny) == ((), ())


@pytest.mark.requirement("S0-027")
def test_deny_takes_precedence_over_allow():
    rules = Permissions(publish_allow=["a.>"], publish_deny=["a.b"])
    decision = rules.can_publish("a.b")
    assert not decision
    assert decision.rule == "a.b"
    assert rules.can_publish("a.c").rule == "a.>"


def test_a_refusal_names_the_nearest_entry_and_the_token_that_differs():
    rules = Permissions(publish_allow=["p.safe.443.me.x.*.GET.a", "p.safe.443.me.y.*.GET.b.>"])
    decision = rules.can_publish("p.safe.443.me.y.id-1.POST.b.c")
    assert (decision.nearest, decision.differs_at) == ("p.safe.443.me.y.*.GET.b.>", 6)
    assert decision.rule is None
    assert "differs at token 6" in decision.why


@pytest.mark.requirement("A67")
def test_strict_is_inclusion_in_the_union():
    rules = Permissions(subscribe_allow=["a.*", "a.*.>"])
    assert rules.can_subscribe("a.>")
    assert "together" in rules.can_subscribe("a.>").why
    wide = Permissions(subscribe_allow=["a.*"]).can_subscribe("a.>")
    assert wide.witness == "a.x.x"


@pytest.mark.requirement("A67")
def test_a_wildcard_request_that_no_entry_covers_is_not_determined():
    rules = Permissions(subscribe_allow=["a.*"])
    broker = rules.can_subscribe("a.>", model="broker")
    assert (bool(broker), broker.determined, broker.rule) == (False, False, None)
    assert (broker.nearest, broker.differs_at, broker.witness) == ("a.*", 1, "a.x.x")
    assert "deny a.*.> to make it certain" in broker.why
    assert not broker.models_disagree
    strict = rules.can_subscribe("a.>")
    assert (bool(strict), strict.determined, strict.models_disagree) == (False, True, False)
    assert "not determined" in strict.why
    received = rules.can_receive("a.b", subscription="a.>", model="broker")
    assert (bool(received), received.determined) == (False, False)
    # With the deny that the answer names, it is certain.
    certain = Permissions(subscribe_allow=["a.*"], subscribe_deny=["a.*.>"])
    asked = {"subscription": "a.>", "model": "broker"}
    assert certain.can_receive("a.b", **asked)
    deep = certain.can_receive("a.b.c", **asked)
    assert (bool(deep), deep.determined, deep.rule) == (False, True, "a.*.>")
    # What no entry matches, not even token by token, is refused.
    for entry, pattern in (("a.b", "a.*"), ("a.b", "a.>"), ("b.*", "a.>"), ("a.*.*", "a.>")):
        refused = Permissions(subscribe_allow=[entry]).can_subscribe(pattern, model="broker")
        assert (bool(refused), refused.determined) == (False, True)
    denied = Permissions(subscribe_allow=["a.*"], subscribe_deny=["a.>"])
    assert denied.can_subscribe("a.>", model="broker").rule == "a.>"


@pytest.mark.requirement("A68")
def test_an_overlapping_deny_refuses_strictly_and_filters_at_the_broker():
    rules = Permissions(subscribe_allow=["a.>"], subscribe_deny=["a.b"])
    strict, broker = rules.can_subscribe("a.*"), rules.can_subscribe("a.*", model="broker")
    assert (bool(strict), bool(broker)) == (False, True)
    assert strict.models_disagree
    assert broker.models_disagree
    assert strict.rule == "a.b"
    assert "'broker' allows it" in strict.why
    assert not rules.can_receive("a.b", subscription="a.*", model="broker")
    assert rules.can_receive("a.c", subscription="a.*", model="broker")
    assert not rules.can_receive("a.c", subscription="a.*")
    for model in ("strict", "broker"):
        other = rules.can_receive("a.c", subscription="a.x.>", model=model)
        assert (bool(other), other.nearest, other.differs_at) == (False, "a.x.>", 1)


@pytest.mark.requirement("A69")
def test_queues():
    rules = Permissions(subscribe_allow=["foo", "foo v1", "bar v1.*"])
    assert rules.can_subscribe("foo", queue="v2")
    assert not rules.can_subscribe("foo", queue="v2", model="broker")
    assert rules.can_subscribe("foo", queue="v1", model="broker")
    assert rules.can_subscribe("foo", model="broker")
    assert rules.can_subscribe("bar", queue="v1.x", model="broker")
    assert rules.can_subscribe("bar", queue="v1.*", model="broker")
    assert not rules.can_subscribe("bar", model="broker")
    assert rules.can_subscribe("foo", queue="_sys_", model="broker").rule == "_sys_"
    with pytest.raises(PermissionsError):
        rules.can_subscribe("foo", queue="a b")


@pytest.mark.requirement("A69")
def test_an_entry_that_covers_everything_beside_one_with_a_queue():
    rules = Permissions(subscribe_allow=[">", "* q.*"])
    assert rules.can_subscribe(">", queue="q.a", model="broker").determined
    assert rules.can_subscribe(">", queue="q.a", model="broker").rule == "* q.*"
    assert rules.can_subscribe("a.>", queue="w", model="broker").rule == ">"
    assert not rules.can_subscribe("a", queue="w", model="broker")


@pytest.mark.requirement("A67")
@pytest.mark.parametrize("subject", ["$NRG.x", "_GR_.a.b", "$GR.x"])
def test_subjects_that_the_broker_keeps_for_itself(subject):
    rules = Permissions(allow_responses=ResponseLimit())
    refused = rules.can_publish(subject, model="broker")
    assert (bool(refused), refused.rule) == (False, subject[: subject.index(".") + 1])
    assert rules.can_publish(subject).models_disagree
    session = rules.session()
    session.received("a", subject)
    assert not session.can_publish(subject)
    assert rules.can_subscribe(subject, model="broker")


@pytest.mark.requirement("A69")
def test_the_deciding_entry_is_one_of_the_queue_asked_for():
    rules = Permissions(subscribe_allow=["a q", "a w.*"], subscribe_deny=["a.b q", "a.b w"])
    assert rules.can_subscribe("a", queue="w.1").rule == "a w.*"
    assert rules.can_subscribe("a", queue="q").rule == "a q"
    denied = Permissions(subscribe_deny=["a q", "a w"])
    assert denied.can_subscribe("a", queue="w").rule == "a w"
    assert denied.can_subscribe("a")


def test_bad_questions():
    rules = Permissions()
    for text in ("", "a..b", "a b", "a.*", ">"):
        with pytest.raises(SubjectError):
            rules.can_publish(text)
    assert rules.can_publish("a.*", model="broker")
    assert rules.can_publish("a\u00a0b", model="broker")  # a blank to Unicode, none to the broker
    assert rules.can_publish("a\u00a0b")
    with pytest.raises(PatternError):
        rules.can_subscribe("a.>.b")
    with pytest.raises(SubjectError):
        rules.can_publish("a", reply="b.*")
    with pytest.raises(ValueError, match="model"):
        rules.can_publish("a", model="other")
    for call in (rules.can_publish, rules.can_subscribe):
        with pytest.raises(TypeError):
            call(7)


@pytest.mark.requirement("A70")
def test_an_answer_overrides_a_deny_and_is_used_up():
    now = [0.0]
    rules = Permissions(
        publish_allow=["a"], publish_deny=["r.>"], allow_responses=ResponseLimit(2, 10.0)
    )
    assert not rules.can_publish("r.x")
    session = rules.session(clock=lambda: now[0])
    assert not session.can_publish("r.x")
    session.received("in", "r.x")
    assert session.can_publish("r.x").rule == "allow_responses"
    session.received("in", "r.x")  # uses up the second turn
    assert not session.can_publish("r.x")
    session.received("in", "r.x")
    now[0] = 10.5
    assert "ended" in session.can_publish("r.x").why
    session.received("in")
    assert session.can_publish("a")


def test_zero_in_a_response_limit_is_the_default_of_the_broker():
    assert ResponseLimit(0, 0) == ResponseLimit(1, 120.0)
    for wrong in ({"max": "1"}, {"max": True}, {"expires": "1s"}):
        with pytest.raises(TypeError):
            ResponseLimit(**wrong)
    with pytest.raises(ValueError, match="seconds"):
        ResponseLimit(1, float("nan"))


def test_subset_and_superset():
    small = Permissions(publish_allow=["a.b"], subscribe_allow=["a q"])
    large = Permissions(publish_allow=["a.*"], subscribe_allow=["a"])
    assert small <= large
    assert small < large
    assert large > small
    assert not large <= small
    assert small != large
    with pytest.raises(TypeError):
        hash(small)
    assert small != "a.b"


def test_compare_names_the_shortest_witness_and_proves_the_rest():
    small = Permissions(publish_allow=["a.b", "a.c"], subscribe_allow=["s.>"])
    large = Permissions(publish_allow=["a.*"], subscribe_allow=["s.*", "s.*.>"])
    found = small.compare(large)
    assert found.relation == "subset"
    assert found.only_left is None
    assert (found.only_right, found.only_right.verb) == ("a.x", "publish")
    assert found.proof["left_in_right"]["subscribe"]["inside"] == [["s.>", ["s.*.>", "s.*"]]]
    assert large.compare(small).relation == "superset"
    assert small.compare(small).relation == "equal"
    other = Permissions(publish_allow=["b"], subscribe_allow=["s.>"])
    assert small.compare(other).relation == "incomparable"
    assert small.compare(other).proof is None
    assert pickle.loads(pickle.dumps(found.only_right)).verb == "publish"


@pytest.mark.requirement("A70")
def test_responses_count_in_comparisons():
    none = Permissions(publish_allow=["a"])
    once = Permissions(publish_allow=["a"], allow_responses=ResponseLimit())
    often = Permissions(publish_allow=["a"], allow_responses=ResponseLimit(-1, -1))
    assert none < once < often
    assert once.compare(none).only_left.verb == "respond"
    assert Permissions(allow_responses=ResponseLimit()) == Permissions()
    added = none.diff(once).added
    assert [grant.verb for grant in added] == ["respond"]


@pytest.mark.requirement("A70")
def test_the_shortest_witness_may_be_a_reply():
    once = Permissions(publish_allow=["a.b.c"], allow_responses=ResponseLimit())
    found = once.compare(Permissions(publish_allow=()))
    assert (found.only_left, found.only_left.verb) == ("x", "respond")


@pytest.mark.requirement("A70")
def test_a_client_that_receives_nothing_answers_nothing():
    deaf = {"publish_allow": ["a"], "subscribe_allow": ()}
    assert Permissions(**deaf, allow_responses=ResponseLimit()) == Permissions(**deaf)


def test_comparing_two_dialects_is_refused():
    strict = Permissions(publish_allow=["a"], dialect="strict")
    with pytest.raises(PermissionsError) as caught:
        strict.compare(Permissions(publish_allow=["a"]))
    assert caught.value.reason == "dialects"
    assert strict != Permissions(publish_allow=["a"])


@pytest.mark.requirement("A37")
def test_strict_subjects_have_at_most_64_tokens():
    stars = [".".join(["a", *["*"] * n]) for n in range(1, 64)]
    assert Permissions(publish_allow=stars, dialect="strict") == Permissions(
        publish_allow=["a.>"], dialect="strict"
    )
    assert Permissions(publish_allow=stars) < Permissions(publish_allow=["a.>"])


def test_diff_lists_the_most_far_reaching_first_with_witnesses():
    old = Permissions(publish_allow=["p.safe.443.me.>"], subscribe_allow=["b"])
    new = Permissions(
        publish_allow=["p.safe.443.me.>", "p.safe.443.you.x", "p.danger.666.me.>"],
        publish_deny=["p.danger.666.me.z"],
        subscribe_allow=["c q"],
    )
    diff = old.diff(new)
    assert [str(grant) for grant in diff.added] == [
        "publish p.danger.666.me.> unless p.danger.666.me.z",
        "subscribe c queue q",
        "publish p.safe.443.you.x",
    ]
    assert [grant.danger for grant in diff.added] == [True, False, False]
    assert diff.added[0].witness == "p.danger.666.me.x"
    assert diff.added[1].witness.queue == "q"
    assert [str(grant) for grant in diff.removed] == ["subscribe b"]
    assert not old.diff(old)
    for grant in diff.added:
        if grant.verb == "publish":
            assert new.can_publish(grant.witness)
            assert not old.can_publish(grant.witness)


def test_a_removed_deny_is_an_added_grant():
    old = Permissions(publish_allow=["a.>"], publish_deny=["a.b", "z"])
    new = Permissions(publish_allow=["a.>"])
    assert [str(grant) for grant in old.diff(new).added] == ["publish a.b"]


def test_minimised():
    rules = Permissions(
        publish_allow=["a.*.>", "a.*", "a.b", "c.d"],
        publish_deny=["c.d.e", "a.x.y", "a.x.>"],
        subscribe_allow=["s", "s q"],
        allow_responses=ResponseLimit(3),
    )
    small = rules.minimised()
    assert small == rules
    assert small.publish_allow == ("a.>", "c.d")
    assert small.publish_deny == ("a.x.>",)
    assert small.subscribe_allow == ("s",)
    assert small.allow_responses == ResponseLimit(3)
    assert small.minimised().publish_allow == small.publish_allow
    assert Permissions().minimised().publish_allow is None


@pytest.mark.requirement("T14")
def test_comparisons_with_too_much_work_are_refused():
    deep = ".".join(["a"] * 2000)
    wide = Permissions(publish_allow=[f"a{n}" for n in range(8000)])
    with pytest.raises(PermissionsError) as caught:
        wide <= Permissions(publish_allow=["a"], publish_deny=[deep, *["b"] * 8000])  # noqa: B015
    assert caught.value.reason == "too-much-work"


@pytest.mark.parametrize("lists", [
    {}, {"publish_allow": []}, {"publish_allow": ["a"], "publish_deny": ["a.b"]},
    {"subscribe_allow": ["a q", "b"], "subscribe_deny": [">"]},
    {"publish_allow": [], "allow_responses": ResponseLimit(3, 1.5)},
    {"allow_responses": ResponseLimit(-1, -1)},
    {"publish_allow": ["é", 'a"b\\c'], "subscribe_allow": []},
])  # fmt: skip
def test_a_dump_loads_as_the_same_permissions(lists, tmp_path):
    rules = Permissions(**lists)
    (tmp_path / "rules.json").write_text(rules.dump())
    again = Permissions.load(tmp_path / "rules.json")
    assert json.loads(again.dump()) == json.loads(rules.dump())
    config = f"authorization {{ users = [ {{ user: u\n {rules.dump('conf')} }} ] }}"
    (tmp_path / "nats.conf").write_text(config)
    assert Permissions.load(tmp_path / "nats.conf") == rules
    with pytest.raises(ValueError, match="format"):
        rules.dump("yaml")


@pytest.mark.parametrize(("document", "reason"), [
    ({"subtrie": 2}, "json-format"),
    ({"subtrie": True}, "json-format"),
    ('{"subtrie": 1, "publish_allow": ["a"], "publish_allow": [">"]}', "alias-twice"),
    ('{"subtrie": 1, "allow_responses": {"max": 1, "max": 2}}', "alias-twice"),
    ('{"subtrie": 1, "allow_responses": {"max": 1, "expires": NaN}}', "json-field"),
    ({"subtrie": 1, "publish": []}, "unknown-key"),
    ({"subtrie": 1, "publish_allow": "a"}, "json-field"),
    ({"subtrie": 1, "publish_allow": ["a b"]}, "publish-queue"),
    ({"subtrie": 1, "allow_responses": {"often": 1}}, "json-field"),
    ({"subtrie": 1, "dialect": "other"}, "json-field"),
])  # fmt: skip
def test_subtrie_json_is_read_strictly(document, reason, tmp_path):
    text = document if isinstance(document, str) else json.dumps(document)
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(PermissionsError) as caught:
        Permissions.load(tmp_path / "rules.json")
    assert caught.value.reason == reason


#: Limits in an order in which each is above those before it; negative stands for unlimited.
_OFTEN = [1, 2, 5, -1]
_LONG = [0.5, 1.0, 120.0, -1.0]


@pytest.mark.parametrize("often", _OFTEN)
@pytest.mark.parametrize("long", _LONG)
def test_a_limit_of_responses_covers_another_if_both_numbers_do(often, long):
    limit = ResponseLimit(often, long)
    for other_often in _OFTEN:
        for other_long in _LONG:
            wanted = _OFTEN.index(other_often) <= _OFTEN.index(often)
            wanted = wanted and _LONG.index(other_long) <= _LONG.index(long)
            other = ResponseLimit(other_often, other_long)
            assert limit.covers(other) is wanted, other
            here = Permissions(publish_allow=["a"], allow_responses=other)
            there = Permissions(publish_allow=["a"], allow_responses=limit)
            relation = "equal" if limit == other else "subset" if wanted else None
            found = here.compare(there).relation
            assert found == relation if wanted else found in ("superset", "incomparable")
