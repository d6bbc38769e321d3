"""The pure parts of the answers: sums, shares, intervals, gaps; each at both sides of its rule."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from subtrie.audit._answers import sums as sums_module
from subtrie.audit._answers.consumers import ToldConsumer, consumer_rows
from subtrie.audit._answers.evidence import left_open, together
from subtrie.audit._answers.flows import answered, divided, per_minute
from subtrie.audit._answers.folding import fold, is_variable
from subtrie.audit._answers.gaps import Call, CodeCall, gap_rows
from subtrie.audit._answers.questions import Questions, parse_time
from subtrie.audit._answers.receivers import active, at_rows, history_rows
from subtrie.audit._answers.rule_table import Rule, of_subscription
from subtrie.audit._answers.sums import (
    MANY,
    MOST_PROGRAMS,
    Sums,
    greatest_known,
    latency_step,
    least_known,
    time_of,
)
from subtrie.audit._answers.violations import violation_rows
from subtrie.audit._identity import may_be_equal
from subtrie.audit._partial.selection import Chooser, Selection
from subtrie.audit._tables.accounts import Accounts, only_account, told
from subtrie.audit._tables.answer_sums import _Sent, _values
from subtrie.audit._tables.streams import (
    KnownStreams,
    Receiver,
    Receivers,
    StoredPattern,
    asks_for_messages,
    folded,
    of_stream,
    owner_of,
    receivers_of,
    unknown_publisher,
)

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


# --- sums


@pytest.mark.parametrize(
    ("one", "other", "least", "greatest"),
    [(1, 2, 1, 2), (2, 1, 1, 2), (None, 2, 2, 2), (1, None, 1, 1), (None, None, None, None),
     (0, None, 0, 0), (None, 0, 0, 0)],
)  # fmt: skip
def test_an_unknown_value_says_nothing(one, other, least, greatest):
    assert least_known(one, other) == least
    assert greatest_known(one, other) == greatest


@pytest.mark.parametrize(
    ("took", "kept"),
    [(0, 0), (1, 1), (999, 999), (1000, 1000), (1001, 1000), (1009, 1000), (1010, 1010),
     (9999, 9990), (10_000, 10_000), (10_099, 10_000), (10_100, 10_100), (123_456, 123_000)],
)  # fmt: skip
def test_a_time_is_kept_with_three_digits_from_a_millisecond_on(took, kept):
    assert latency_step(took) == kept


def test_times_of_sums_are_microseconds():
    assert time_of(None) is None
    assert time_of(1_500_000) == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert time_of(0) == datetime(1970, 1, 1, tzinfo=UTC)


EDGE = ("a", "request", "p", 443, "x", None, "verified", "a", True, 0, *[None] * 5)


def test_sums_of_two_parts_add_in_any_order():
    parts = [
        ("edge", EDGE, (1, 2, 3, 4, frozenset({1}), 5, 9, (1, 5, 1), "b", (7, "b"), "b")),
        ("edge", EDGE, (10, 20, 30, 40, frozenset({1, 2}), 3, 8, (1, 6, 9), "a", (9, "a"), "c")),
        ("value", ("x", 1, None, True), ("b", "b")),
        ("value", ("x", 1, None, True), ("a", "c")),
        ("match", ("a", 0, None, None), (1, 2, 3, frozenset({4}), 5)),
        ("match", ("a", 0, None, None), (1, 1, 1, frozenset({5}), None)),
        ("refusal", ("a", "x", None, 1, None, None), (1, 7)),
        ("refusal", ("a", "x", None, 1, None, None), (2, 3)),
        ("flow", ("a",) * 9, (1, 2, 3, 4, 5, 6, None)),
        ("flow", ("a",) * 9, (1, 1, 1, 1, None, None, None)),
        ("consumer", ("a",) * 7, (1, 2, 3, 6, 7, 4, 5)),
        ("consumer", ("a",) * 7, (1, 1, 1, 1, 1, 1, 9)),
        ("stored", ("a",) * 9, (1,)),
        ("stored", ("a",) * 9, (2,)),
        ("latency", ("nats", "a", "x", "b", None, None, None), ({5: 1, None: 1}, 1)),
        ("latency", ("nats", "a", "x", "b", None, None, None), ({5: 2, 7: 1}, 0)),
    ]
    wanted = {
        "edge": (11, 22, 33, 44, frozenset({1, 2}), 3, 9, (1, 5, 1, 9), "a", (7, "b"), "c"),
        "value": ("a", "c"), "match": (2, 3, 4, frozenset({4, 5}), 5), "refusal": (3, 7),
        "flow": (2, 3, 4, 5, 5, 6, None), "consumer": (2, 3, 4, 7, 8, 1, 9), "stored": (3,),
        "latency": ({5: 3, None: 1, 7: 1}, 1),
    }  # fmt: skip
    for some in (parts, parts[::-1]):
        found, other = Sums(), Sums()
        for number, part in enumerate(some):
            (found if number % 2 else other).add(*part)
        found.merge(other)
        assert {kind: next(iter(found[kind].values())) for kind in wanted} == wanted
        read = Sums()
        read.add_rows((kind, text) for kind, text in found.rows())
        assert all(read[kind] == found[kind] for kind in wanted)
        assert all(json.loads(text) for _, text in found.rows())
    with pytest.raises(TypeError, match="no sum"):
        sums_module._plain(object())


@pytest.mark.parametrize(
    ("kind", "owner", "client"),
    [("flow", (0, 4, 5), 6), ("flow", (2, 4, 7), 8), ("stored", (0, 4, 5), 6),
     ("latency", (1, 4, 5), 6), ("consumer", (3, 4, 5), 6)],
)  # fmt: skip
@pytest.mark.parametrize("more", [0, 1])
def test_programs_of_one_user_are_single_up_to_a_hundred(kind, owner, client, more):
    values = {"flow": (1, 1, 0, 1, 1, 1, None), "stored": (1,), "latency": ({1: 1}, 0),
              "consumer": (1, 0, 0, 0, 0, 1, 1)}[kind]  # fmt: skip
    length = {"flow": 9, "stored": 9, "latency": 7, "consumer": 7}[kind]

    def key(name: str, who: str) -> tuple[str, ...]:
        made = ["same"] * length
        for place in owner:
            made[place] = who
        made[client] = name
        return tuple(made)

    found = Sums()
    for number in range(MOST_PROGRAMS + more):
        found.add(kind, key(f"program {number}", "busy"), values)
    found.add(kind, key("single", "other"), values)
    found.bound_programs()
    assert len(found[kind]) == (2 if more else MOST_PROGRAMS + 1)
    assert key("single", "other") in found[kind]
    if more:
        total = found[kind][key(MANY, "busy")]
        assert total[0] == ({1: 101} if kind == "latency" else 101)
        found.add(kind, key("late", "busy"), values)
        found.bound_programs()
        assert set(found[kind]) == {key(MANY, "busy"), key("single", "other")}


# --- flows


@pytest.mark.parametrize(
    ("count", "weights", "parts"),
    [(10, [1, 1], [5, 5]), (11, [1, 1], [6, 5]), (10, [1, 2], [3, 7]), (1, [1, 1, 1], [1, 0, 0]),
     (2, [1, 1, 1], [1, 1, 0]), (0, [3], [0]), (7, [2, 5], [2, 5]), (5, [1, 3], [1, 4]),
     (3, [1, 3], [1, 2]), (100, [1, 1, 998], [0, 0, 100])],
)  # fmt: skip
def test_a_number_is_divided_in_a_ratio(count, weights, parts):
    assert divided(count, weights) == parts


@pytest.mark.parametrize(
    ("published", "seconds", "rate"),
    [(1, 0, 1.0), (1, 60, 1.0), (1, 61, 1.0), (1, 120, 0.5), (1, 59, 1.0), (10, 7, 10.0),
     (1, 800, 0.1), (1, 1200, 0.1), (1, 1201, 0.0), (3, 240, 0.8), (0, 60, 0.0)],
)  # fmt: skip
def test_a_rate_is_that_of_a_minute_at_least(published, seconds, rate):
    row = {"first": at(0), "last": at(seconds), "published": published}
    assert per_minute(row) == rate
    assert per_minute({**row, "first": None}) is None
    assert per_minute({**row, "last": None}) is None


def flow(subscriber=None, queue=None, pattern="x") -> tuple[str | None, ...]:
    return ("a", pattern, subscriber, queue, None, "u", "c", None, None)


@pytest.mark.parametrize(
    ("lost", "answers", "left", "stored"),
    [
        ((4, 0, 4, 40, 1, 9, None), 1, (3, 0, 3, 30, 1, 9, None), (1, 1, 0, 10, 1, 9, None)),
        ((4, 0, 4, 40, 1, 9, None), 4, None, (4, 4, 0, 40, 1, 9, None)),
        ((4, 0, 4, 40, 1, 9, None), 7, None, (4, 4, 0, 40, 1, 9, None)),
        ((4, 0, 2, 40, 1, 9, None), 3, (2, 0, 0, 20, 1, 9, None), (2, 2, 0, 20, 1, 9, None)),
        ((4, 0, 0, 40, 1, 9, None), 3, (4, 0, 0, 40, 1, 9, None), None),
        (None, 3, None, None),
    ],
)
def test_an_answer_says_that_a_message_was_not_lost(lost, answers, left, stored):
    sums = Sums()
    if lost is not None:
        sums.add("flow", flow(), lost)
    sums.add("flow", flow(pattern="y"), (1, 0, 1, 1, None, None, None))
    sums.add("stored", flow("stream S", "q"), (answers,))
    found = answered(sums)
    assert found.pop(flow(pattern="y")) == (1, 0, 1, 1, None, None, None)
    assert (found.get(flow()), found.get(flow("stream S", "q"))) == (left, stored)
    before = (1, 2, 3, 4, 0, 20, None)
    sums.add("flow", flow("stream S", "q"), before)
    both = answered(sums)[flow("stream S", "q")]
    if stored is None:
        assert both == before
    else:
        added = tuple(a + b for a, b in zip(before[:4], stored[:4], strict=True))
        assert both == (*added, 0, 20, None)


def test_the_messages_of_a_publisher_by_what_became_of_them():
    sent, rate = _Sent(), (1, 0, 5)
    sent.rate_of_lost = rate
    sent.add((4, 1, 40, 3, 0), (2, 8), (5, 5), ())
    sent.add((6, 1, 60, 5, 2), (1, 9), (None, None), (Receiver("stream S"),))
    assert (sent.published, sent.lost, sent.size, sent.taken, sent.forwarded) == (10, 2, 100, 8, 2)
    assert (sent.span, sent.span_of_lost, sent.others) == ((1, 9), (5, 5), (Receiver("stream S"),))
    assert sent.stored == (10, 10, 0, 100, 1, 9, None)
    assert sent.received(7) == (10, 7, 0, 100, 1, 9, None)
    assert sent.passed_on == 0
    assert sent.sent_on(3) == (3, 3, 0, 30, 1, 9, None)
    assert sent.sent_on(30) == (10, 10, 0, 100, 1, 9, None)
    assert sent.left == (2, 0, 2, 20, 5, 5, rate)
    sent.deleted = 5
    assert sent.stored == (8, 8, 0, 80, 1, 9, None)
    assert sent.after_deletion == (2, 0, 2, 20, 9, 5, None)
    sent.others = ()
    assert sent.received(7) == (8, 7, 0, 80, 1, 9, None)
    assert sent.elsewhere == (8, 8, 0, 80, 1, 9, None)
    sent.taken = 0
    assert sent.passed_on == 2
    assert sent.left == (2, 0, 2, 20, 5, 5, rate)
    sent.forwarded = 0
    assert sent.left == (10, 0, 2, 100, 1, 9, rate)


@pytest.mark.parametrize(
    ("route", "path", "values"),
    [("a.*.c", "a.7.c", [(1, "7")]), ("*.b.*", "1.b.2", [(0, "1"), (2, "2")]),
     ("a.>", "a.7.8", [(1, "7.8")]), ("a.b", "a.b", []), ("a.*.*", "a.7", [(1, "7")])],
)  # fmt: skip
def test_the_values_at_the_wildcards_of_a_route(route, path, values):
    subject = "p.safe.443.a_b.c_d._.GET." + path
    assert list(_values(route, subject)) == values


# --- consumers


def test_a_consumer_of_which_no_client_received_any_has_a_row():
    sums = Sums()
    sums.add("consumer", ("S", "c", "explicit", "a", "ACC", "u", None), (5, 1, 7, 2, 1, 1, 2))
    sums.add(
        "consumer", ("S", "c", "explicit", "b", "OTHER", None, None), (2, 0, 0, 0, 0, None, None)
    )
    rows = consumer_rows(sums, {
        ("ACC", "S", "c"): ToldConsumer("explicit", "deliver.c", "a.> b"),
        ("ACC", "S", "d"): ToldConsumer("none"), (None, "S", "e"): ToldConsumer("all", "x"),
        (None, "S", "*"): ToldConsumer("none"), ("THIRD", "S", "c"): ToldConsumer("all", "y"),
    })  # fmt: skip
    told_rows = {(r["consumer"], r["account"]): r for r in rows}
    assert len(rows) == len(told_rows) == 5
    first = told_rows["c", "ACC"]
    assert (first["deliver_subject"], first["delivered"], first["redelivered"]) == (
        "deliver.c",
        5,
        1,
    )
    assert (first["acknowledged"], first["rejected"]) == (4, 2), "and one in work"
    assert (first["first"], first["last"]) == (time_of(1), time_of(2))
    assert first["filter_subject"] == "a.> b"
    assert told_rows["c", "OTHER"]["deliver_subject"] is None
    for name, account, policy, deliver in (
        ("d", "ACC", "none", None), ("e", None, "all", "x"), ("c", "THIRD", "all", "y"),
    ):  # fmt: skip
        row = told_rows[name, account]
        assert (row["ack_policy"], row["deliver_subject"], row["delivered"], row["who"]) == (
            policy, deliver, 0, None,
        )  # fmt: skip
    anywhere = consumer_rows(sums, {(None, "S", "c"): ToldConsumer("explicit", "z")})
    assert [row["deliver_subject"] for row in anywhere] == ["z", "z"]


# --- evidence


def edge(**changed) -> dict:
    made = {"service": "a", "kind": "request", "pattern": "p", "standing": "verified",
            "allowed": None, "account": None, "user": None, "client": None,
            "identity_source": "jwt", "code": None,
            "published": 1, "taken": 1, "days": {1}, "witnesses": {"w"}}  # fmt: skip
    return {**made, **changed}


def test_edges_that_differ_in_rule_and_code_alone_are_one():
    found = together([
        edge(code=1, decided=5), edge(code=None, days={2}, witnesses={"v"}, published=4, taken=2),
        edge(code=2, days={3}),
    ])  # fmt: skip
    assert len(found) == 1
    (row,) = found
    assert (row["published"], row["taken"], row["days"]) == (6, 4, {1, 2, 3})
    assert (row["witnesses"], row["codes"], row["code_days"]) == ({"v", "w"}, {1, None, 2}, {1, 3})
    for name in ("service", "kind", "pattern", "standing", "allowed", "account", "identity_source"):
        assert len(together([edge(), edge(**{name: "other"})])) == 2, name


HEAD = "*.safe.443.a_b.c_d._.GET."


@pytest.mark.parametrize(
    ("route", "paths", "more", "left"),
    [
        ("items.*", ["items.*"], {}, {1: "*"}), ("items.*", ["items.7"], {}, {}),
        ("items.*", ["other"], {}, {}), ("items.>", ["items.*.x"], {}, {1: "*.x"}),
        ("items.>", ["items.>"], {}, {1: ">"}), ("items.*", ["items.>"], {}, {1: "*"}),
        ("items.*.b.*", ["items.>"], {}, {1: "*", 3: "*"}),
        ("items.*.*", ["items.*.7"], {}, {1: "*"}),
        ("items.*", ["items.*", "items.7"], {}, {}),
        ("items.*", ["items.*", "items.*"], {}, {1: "*"}),
        (None, ["items.*"], {}, {}), ("items.*", [], {}, {}),
        ("items.*", ["items.*"], {"none": True}, {}),
        ("items.*", ["items.*"], {"none": True, "code_days": {1, 2}}, {1: "*"}),
        ("items.*", ["items.*"], {"none": True, "code_days": {1}}, {}),
    ],
)  # fmt: skip
def test_what_the_code_leaves_open(route, paths, more, left):
    calls = [CodeCall("a.b", HEAD + path, None) for path in paths]
    codes = {*range(len(calls)), *([None] if more.get("none") else [])}
    row = {"route": route, "codes": codes, "code_days": more.get("code_days", {1})}
    assert left_open(row, calls, 2) == left


# --- folding


@pytest.mark.parametrize(
    ("subject", "written"),
    [("a.>.b", "a.*.b"), ("a.>", "a.>"), (">.>", "*.>"), ("_INBOX.a.b", "_INBOX.*.*"),
     ("_INBOX_x.a.>", "_INBOX_x.*.>"), ("x_INBOX.a", "x_INBOX.a"), ("7.safe", "*.safe"),
     ("p.safe.443.a.b.id-1.GET", "p.safe.*.a.b.id-1.GET"),
     ("p.safe.443.a.b.id-1.GET.7", "p.safe.443.a.b.*.GET.*"),
     ("p.danger.666.a.b._.GET.x", "p.danger.666.a.b._.GET.x"),
     ("p.reply._.a.7", "p.reply._.a.*"), ("p.reply._.a.b.c", "p.reply._.a.b.*"),
     ("p.reply.7.a.b.c.d", "p.reply.*.a.b.c.d"), ("", "")],
)  # fmt: skip
def test_a_subject_is_folded_by_its_kind(subject, written):
    assert fold(subject) == written


@pytest.mark.parametrize(
    ("token", "variable"),
    [("a1" * 6, True), ("a1" * 5 + "a", False), ("A1" * 6, True), ("g1" * 7, False),
     ("g1" * 8, True),
     ("a-" * 8, True), ("a" * 16, False), ("é1" * 8, False)],
)  # fmt: skip
def test_a_long_token_of_changing_kinds_is_variable(token, variable):
    assert is_variable(token) is variable


# --- rules


def test_a_rule_covers_a_subscription_with_its_queue():
    rules = [(n, Rule("a", "subscribe", "allow", text)) for n, text in
             enumerate(("x.>", "x.y q", "x.* q*", "y", "x.y >"))]  # fmt: skip
    assert of_subscription(rules, "x.y", None) == [0]
    assert of_subscription(rules, "x.y", "q") == [0, 1, 4]
    assert of_subscription(rules, "x.y", "other") == [0, 4]
    assert of_subscription(rules, "y", None) == [3]
    assert rules[1][1].pattern == "x.y"


# --- gaps


def call(**changed) -> Call:
    pattern = "p.safe.443.a_shop.b_shop._.GET.items"
    return replace(Call("a.shop", pattern, "items", None, None, False, 1, 0), **changed)


CODE = [CodeCall("a.shop", "*.safe.443.a_shop.b_shop.*.GET.items", "a.py:1")]
ALLOW = Rule("a.shop", "publish", "allow", "p.safe.443.a_shop.b_shop.*.GET.items")
DENY = Rule("a.shop", "publish", "deny", "p.safe.443.a_shop.b_shop.>")


@pytest.mark.parametrize(
    ("calls", "code", "rules", "finding"),
    [
        ([call(rule=ALLOW.text)], CODE, [ALLOW], "ok"),
        ([call()], CODE, None, "ok"),
        ([call()], [], None, "not in code"),
        ([call()], None, None, "ok"),
        ([], CODE, None, "never called"),
        ([], None, [ALLOW], "rule only"),
        ([], CODE, [replace(ALLOW, text="p.safe.443.a_shop.c_shop.*.GET.x")], "no rule"),
        ([call(published=0, refused=1)], CODE, [ALLOW], "refused"),
        ([call(published=1, refused=1, rule=ALLOW.text)], CODE, [ALLOW], "ok"),
        ([call(rule=DENY.text, denied=True)], CODE, [ALLOW, DENY], "denied"),
        ([], CODE, [ALLOW, DENY], "denied"),
        ([call()], CODE, [replace(ALLOW, text="q.x")], "no rule"),
    ],
)
def test_the_finding_of_a_call(calls, code, rules, finding):
    rows = gap_rows(calls, code, ["a.shop"], rules)
    (row,) = [row for row in rows if row["path"] == "items"]
    assert row["finding"] == finding
    assert (row["service"], row["destination"], row["port"], row["method"]) == (
        "a.shop", "b.shop", 443, "GET",
    )  # fmt: skip
    assert row["code"] == ("a.py:1" if code else None)
    assert (row["traffic"], row["refused"]) == (
        sum(each.published for each in calls), sum(each.refused for each in calls),
    )  # fmt: skip


def test_rules_that_every_service_has_are_left_out():
    texts = ("p.reply._.>", "p.safe.888.a_shop.>", "p.*.888.>", "orders.>", "p.safe.443", ">",
             "p.safe.443.>", "p.danger.666.a_shop.b_shop._.>")  # fmt: skip
    rows = gap_rows([], None, [], [replace(ALLOW, text=text) for text in texts])
    assert [(row["rule"], row["port"], row["method"], row["path"]) for row in rows] == [
        ("p.safe.443.>", 443, "*", "*"), ("p.danger.666.a_shop.b_shop._.>", 666, "*", "*"),
    ]  # fmt: skip


# --- violations


def messages(**changed) -> dict:
    made = {"published": 1, "rate": None, "witnesses": {"p.safe.443.a.b._.GET.x"}, "identity": "a",
            "pattern": "x.7",
            "account": None, "user": None, "client": None, "identity_source": None,
            "allowed": None, "standing": "verified", "plane": "p",
            "first": at(1), "last": at(2)}  # fmt: skip
    return {**made, **changed}


def test_each_kind_of_violation_has_its_row():
    rows = violation_rows(
        [
            messages(), messages(published=0, allowed=False), messages(allowed=True),
            messages(allowed=False, first=at(0), last=None),
            messages(allowed=False, witnesses={"b"}),
            messages(allowed=False, pattern="rated", rate=(1, 4, 1)),
            messages(allowed=False, pattern="rated", rate=(1, 6, 1)),
            messages(allowed=False, pattern="rated in part", rate=(1, 4, 1)),
            messages(allowed=False, pattern="rated in part"),
            messages(standing="spoofed", pattern="y"), messages(plane="q", published=2, last=at(9)),
            messages(plane="q", standing="unknown"), messages(plane=None),
            messages(identity="b", plane="r"), messages(identity="b", plane="q"),
        ],
        lambda row, witness: f"rule of {witness}",
        [
            messages(pattern=pattern, queue=queue, start=at(start), account=account)
            for pattern, queue, start, account in (
                ("s.1", None, 5, None), ("s.2", "g", 4, None), ("t", None, 3, "X"),
            )
        ],
    )  # fmt: skip
    found = {(r["kind"], r["who"], r["subject"], r["account"]): r for r in rows}
    assert len(found) == len(rows) == 8
    assert found["forbidden", "a", "rated", None]["rate"]["counts"] == [1, 0, 1]
    assert found["forbidden", "a", "rated in part", None]["rate"] is None
    assert found["forbidden_subscription", "a", "s.*", None]["rate"]["counts"] == [1, 1]
    forbidden = found["forbidden", "a", "x.*", None]
    assert (forbidden["count"], forbidden["witness"], forbidden["rule"]) == (2, "b", "rule of b")
    assert (forbidden["first"], forbidden["last"]) == (at(0), at(2))
    spoofed = found["spoofed", "a", "y", None]
    assert (spoofed["count"], spoofed["rule"]) == (1, None)
    other = found["cross_plane", "a", "q.>", None]
    assert (other["count"], other["last"]) == (2, at(9))
    assert found["cross_plane", "b", "r.>", None]["count"] == 1, "of equal ones the first is home"
    first = found["forbidden_subscription", "a", "s.*", None]
    assert (first["count"], first["witness"], first["first"]) == (2, "s.1", at(4))
    assert found["forbidden_subscription", "a", "t", "X"]["last"] == at(3)


# --- receivers


def subscribed(start: float, end: float | None = None, **changed) -> dict:
    made = {"start": at(start), "end": None if end is None else at(end), "server": "s", "conn": "c",
            "sid": "1", "identity": None, "queue": None, "account": None}  # fmt: skip
    return {**made, **changed}


def test_a_subscription_receives_from_its_start_and_before_its_end():
    row = subscribed(1, 3)
    assert [active(row, at(time)) for time in (0.9, 1, 2, 2.9, 3, 4)] == [
        False, True, True, True, False, False,
    ]  # fmt: skip
    assert active(subscribed(1), at(999))
    (found,) = at_rows([row, subscribed(5)], "x", at(1))
    assert (found["subject"], found["time"]) == ("x", at(1))


def test_the_receivers_change_when_one_comes_or_goes():
    rows = history_rows(
        [
            subscribed(1, 3, identity="a"), subscribed(2, sid="2", identity="b", queue="g"),
            subscribed(2, sid="3", queue="g"), subscribed(4, 4, sid="4"),
            subscribed(1, account="X", server="t"),
        ],
        "x", {"s": at(0), "u": at(7)},
    )  # fmt: skip
    told_rows = [(r["server"], r["account"], r["start"], r["end"], r["subscribers"], r["groups"],
                  r["receivers"]) for r in rows]  # fmt: skip
    assert told_rows == [
        ("s", None, at(0), at(1), 0, 0, ""), ("s", None, at(1), at(2), 1, 0, "a"),
        ("s", None, at(2), at(3), 1, 1, "a b@g c@g"), ("s", None, at(3), None, 0, 1, "b@g c@g"),
        ("t", "X", at(1), None, 1, 0, "c"), ("u", None, at(7), None, 0, 0, ""),
    ]  # fmt: skip


# --- accounts


def test_accounts_are_apart_unless_one_is_not_told():
    assert may_be_equal(None, "A")
    assert may_be_equal("A", None)
    assert may_be_equal("A", "A")
    assert not may_be_equal("A", "B")

    def column(*names: str | None) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(names, pa.string())])

    assert only_account(column("A", None, "A")) == "A"
    assert only_account(column("A", "B")) is None
    assert only_account(column(None)) is None
    table = pa.table({"account": column("A", None)})
    assert told(table, None) is table
    assert told(table, "B")["account"].to_pylist() == ["A", "B"]
    full = pa.table({"account": column("A")})
    assert told(full, "B") is full


@pytest.mark.parametrize(
    ("groups", "asked", "patterns", "own"),
    [
        ([("A", 0), ("B", 1)], "A", [0], [True, False]),
        ([("A", 0), ("B", 1)], "B", [1], [False, True]),
        ([("A", 0), ("B", 1)], "C", [], [False, False]),
        ([("A", 0), ("B", 1)], None, None, [True, True]),
        ([("A", 0), (None, 1)], "A", [0, 1], [True, True]),
        ([("A", 0), (None, 1)], "C", [1], [False, True]),
        ([("A", 0), ("A", 1)], "A", None, None),
        ([("A", 0), ("A", 1)], "C", [], [False, False]),
        ([("A", 0), ("A", 1)], None, None, None),
        ([(None, 0), (None, 1)], "C", [0, 1], None),
        ([(None, 0), (None, 1)], None, None, None),
    ],
)
def test_the_patterns_of_an_account(groups, asked, patterns, own):
    import numpy as np

    names, numbers = zip(*groups, strict=True)
    made = Accounts(
        pa.table(
            {"account": pa.array(names, pa.string()), "number": pa.array(numbers, pa.int32())}
        ),
        2,
    )
    found = made.patterns_of(asked)
    assert (None if found is None else found.tolist()) == patterns
    rows, which = np.array([0, 0]), np.array([0, 1], dtype=np.int32)
    found = made.own(rows, which, pa.array([asked], pa.string()))
    assert (None if found is None else found.tolist()) == own


# --- streams


@pytest.mark.parametrize(
    ("subject", "receiver", "written", "publisher"),
    [
        ("orders.7", None, "orders.*", "not in the log"),
        ("_R_.abc.7", "other accounts", "_R_.>", "other accounts"),
        ("$SYS.REQ.SERVER.PING", "server", "$SYS.REQ.SERVER.PING", "server"),
        ("$SRV.PING", "services", "$SRV.PING", "services"),
        ("$JSC.CI.x", "JetStream", None, "JetStream"),
        ("$JS.API.INFO", "JetStream", "$JS.API.INFO", "JetStream"),
        ("$JS.ACK.S.c.1.2.3.4.0", "stream S", None, "stream S"),
        ("$KV.B.key", "stream KV_B", None, "stream KV_B"),
        ("$O.B.C.x", "stream OBJ_B", None, "stream OBJ_B"),
        ("$X.y", None, "$X.y", "not in the log"),
    ],
)
def test_the_owner_of_a_subject_of_the_server(subject, receiver, written, publisher):
    owner = owner_of(subject)
    assert (None if owner is None else owner.subscriber) == receiver
    assert written is None or folded(subject) == written
    assert unknown_publisher(subject) == publisher


def test_a_stream_stores_what_its_account_publishes():
    stored = [
        StoredPattern("A", "S", "x"),
        StoredPattern(None, "T", "x"),
        StoredPattern("B", "U", "x"),
    ]
    for account, names in (
        ("A", ["S", "T"]),
        ("B", ["T", "U"]),
        ("C", ["T"]),
        (None, ["S", "T", "U"]),
    ):
        found = receivers_of("x", account, stored, ["seen"])
        assert found == tuple(Receiver(f"stream {name}") for name in names)
    assert receivers_of("x", "A", [], ["b", "a"]) == (Receiver("stream a"), Receiver("stream b"))
    assert receivers_of("x", "A", []) == ()
    assert receivers_of("$SRV.PING", "A", [], ["b"]) == (Receiver("services"),)
    assert receivers_of("$KV.B.k", "A", stored[:1]) == (Receiver("stream S"),)
    assert of_stream("S", "c") == ("stream S", "consumer c")
    assert asks_for_messages("$JS.API.CONSUMER.MSG.NEXT.S.c")
    assert not asks_for_messages("$JS.API.INFO")
    assert not asks_for_messages("orders")


def test_what_is_known_of_streams():
    known = KnownStreams(
        patterns=(StoredPattern("A", "S", "x"),), acknowledged={("s", "c"): ("Q", "R", "S")},
        deleted={("s", "A", "S"): 5, ("s", "A", "T"): 7},
        policies={("S", "c"): frozenset({("A", "explicit"), ("B", "none"), (None, "all")})},
    )  # fmt: skip
    made = Receivers(known, None)
    assert made.policy("A", "S", "c") == "all or explicit"
    assert made.policy(None, "S", "c") == "all or explicit or none"
    assert made.policy("C", "S", "c") == "all"
    assert made.policy("A", "S", "d") is None
    both = [StoredPattern("A", "S", "x"), StoredPattern("A", "T", "x")]
    assert made.deleted("s", "A", both[:1]) == 5
    assert made.deleted("s", "A", both) == 7
    assert made.deleted("s", "A", [*both, StoredPattern("A", "U", "x")]) is None
    assert made.deleted("s", "A", [*both, StoredPattern("B", "U", "x")]) == 7
    assert made.deleted("s", "A", [StoredPattern(None, "S", "x")]) == 5, "of any account"
    assert made.deleted("s", "A", [*both, StoredPattern(None, "U", "x")]) is None
    assert made.deleted("other", "A", both) is None
    assert made.deleted("s", "A", []) is None
    assert made.answered("s", "c") == Receiver("stream Q or R"), "S is known, and would match"
    assert made.answered("s", "d") is None
    assert made.of(pa.array(["x"], pa.string())) == [[]]


# --- questions and selections


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"min_days": 0}, "at least 1"), ({"min_sources": 0}, "at least 1"), ({"min_days": 1}, None),
     ({"min_sources": 1}, None), ({"payloads": "all"}, "payloads is"),
     ({"payloads": "heads"}, None),
     ({"time": DAY}, "a time needs a subject"), ({"time": DAY, "subject": "x"}, None),
     ({"subject": "x"}, None)],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused(changed, why):
    if why is None:
        assert Questions(**changed)
    else:
        with pytest.raises(ValueError, match=why):
            Questions(**changed)
    assert (Questions().min_days, Questions().min_sources) == (3, 2)


@pytest.mark.parametrize(
    ("automatic", "planes", "operations", "unasked"),
    [(False, ["p"], 5, False), (True, ["p"], 5, True), (True, [], 5, False), (True, [], 0, True),
     (False, [], 0, False)],
)  # fmt: skip
def test_the_answers_of_microbus_traffic_need_a_question(automatic, planes, operations, unasked):
    assert Questions(automatic=automatic).unasked(planes, operations) is unasked


def test_a_time_without_a_zone_is_utc():
    assert parse_time("2026-11-21T01:00:00") == at(3600)
    assert parse_time("2026-11-21T01:00:00+01:00") == DAY
    assert parse_time("2026-11-21").tzinfo is UTC
    with pytest.raises(ValueError, match="not a time: 'soon'"):
        parse_time("soon")


def batch(*rows: tuple) -> pa.RecordBatch:
    names = ("op", "time", "subject", "identity", "direction")
    types = (pa.string(), pa.timestamp("us", "UTC"), pa.string(), pa.string(), pa.string())
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names
    )


def test_a_period_begins_with_its_first_time_and_ends_before_its_last():
    rows = batch(
        *(("PUB", at(second), "x", "a", "in") for second in (0, 1, 2, 3)),
        ("PUB", None, "x", "a", "in"), ("SUB", at(9), "x", "a", "in"),
        ("SUB", None, "x", "a", "in"),
    )  # fmt: skip
    for since, until, kept in (
        (None, None, [0, 1, 2, 3, 4, 5, 6]), (1, None, [1, 2, 3, 5, 6]), (None, 2, [0, 1, 5, 6]),
        (1, 3, [1, 2, 5, 6]),
    ):  # fmt: skip
        limits = [None if each is None else at(each) for each in (since, until)]
        chooser = Chooser(Selection(*limits))
        (found,) = chooser.chosen([rows])
        assert found.to_pylist() == [rows.to_pylist()[place] for place in kept]
        assert not chooser.needs_subjects
        assert chooser.of_subjects([]) is chooser
        assert bool(chooser.selection) is (since is not None or until is not None)
    rows = batch(*(("MSG", at(second), "x", "a", "out") for second in (1.9, 2, 2.999999, 3)),
                 ("PUB", at(2), "x", "a", "in"))  # fmt: skip
    for late, count in ((False, 1), (True, 3)):  # deliveries for one more second, exclusively
        (found,) = Chooser(Selection(None, at(2)), late=late).chosen([rows])
        assert found.to_pylist() == rows.to_pylist()[:count]
    for empty in ((1, 1), (2, 1)):
        with pytest.raises(ValueError, match="the period is empty"):
            Selection(*map(at, empty))


@pytest.mark.parametrize(
    ("chosen", "subjects"),
    [
        ({"source": "a.shop"}, ["p.safe.443.a_shop.b_shop._.GET.x", "own"]),
        ({"host": "b.shop"}, ["p.safe.443.a_shop.b_shop._.GET.x", "got"]),
        ({"source": "a.shop", "host": "b.shop"}, ["p.safe.443.a_shop.b_shop._.GET.x"]),
        ({"source": "c.shop"}, []),
    ],
)
def test_the_messages_of_a_source_or_to_a_host(chosen, subjects):
    rows = batch(
        ("PUB", at(0), "p.safe.443.a_shop.b_shop._.GET.x", "z", "in"), ("PUB", at(0),
        "own", "a.shop", "in"),
        ("MSG", at(0), "own2", "a.shop", "out"), ("MSG", at(0), "got", "b.shop", "out"),
        ("PUB", at(0), "got2", "b.shop", "in"), ("PUB", at(0),
        "p.other.443.a_shop.b_shop", "z", "in"),
        ("PUB", at(0), "p.safe.443", "z", "in"), ("SUB", at(0), "sub", "a.shop", "in"),
        ("PUB", at(0), None, "a.shop", "in"),
    )  # fmt: skip
    chooser = Chooser(Selection(**chosen))
    assert chooser.needs_subjects
    known = chooser.of_subjects([chooser.named([rows]), chooser.named([rows])])
    (found,) = known.chosen([rows])
    kept = [row["subject"] for row in found.to_pylist() if row["op"] != "SUB"]
    assert sorted(kept) == sorted(subjects)
    assert [row["subject"] for row in found.to_pylist() if row["op"] == "SUB"] == ["sub"]


@pytest.mark.parametrize("chosen", [{"source": "a.shop"}, {"host": "b.shop"}])
def test_a_host_is_one_of_the_subject_in_each_zone(chosen):
    """Also in that of replies, and where the sender is not known."""
    ends = ("a_shop.b_shop", "b_shop.a_shop")
    subjects = [
        subject
        for one in ends
        for subject in (f"p.safe.443.{one}._.GET.x", f"p.danger.666.{one}._.GET.x",
                        f"p.reply._.{one}.id-1")
    ]  # fmt: skip
    rows = batch(*(("PUB", at(0), subject, None, "in") for subject in subjects))
    chooser = Chooser(Selection(**chosen))
    (found,) = chooser.of_subjects([chooser.named([rows])]).chosen([rows])
    assert [row["subject"] for row in found.to_pylist()] == subjects[:3]
