"""The pure parts of the answers against definitions of their own, with rows at each side of a rule.

Texts that are compared are made when the test runs, so that equal ones are never one object.
"""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subtrie.audit._answers.consumers import ToldConsumer, consumer_rows
from subtrie.audit._answers.evidence import left_open, together
from subtrie.audit._answers.flows import answered, divided, per_minute
from subtrie.audit._answers.folding import fold, is_variable
from subtrie.audit._answers.gaps import Call, CodeCall, calls_in, gap_rows
from subtrie.audit._answers.questions import Questions
from subtrie.audit._answers.receivers import at_rows, history_rows
from subtrie.audit._answers.rule_table import Rule, service_of
from subtrie.audit._answers.sums import KINDS, Sums, latency_step
from subtrie.audit._answers.violations import violation_rows
from subtrie.audit._schema import TABLES
from subtrie.gencreds import Service
from subtrie.gencreds._service import EndpointUse

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def made(text: str) -> str:
    """Return an equal text that is another object."""
    return "".join(list(text))


@pytest.mark.parametrize(
    ("value", "name"),
    [(Questions(), "subject"), (Rule("a", "publish", "allow", "x"), "text"),
     (CodeCall("a", "x", None), "pattern"),
     (Call("a", "x", None, None, None, False, 1, 0), "refused")],
)  # fmt: skip
def test_what_is_asked_and_compared_cannot_be_changed(value, name) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)
    assert hash(value) == hash(replace(value))


# --- sums


def test_sums_of_another_length_are_refused() -> None:
    """None is cut to the length of the other."""
    plain: dict[str, Any] = {"_add": 1, "_union": frozenset(), "_tally": {}}
    for kind, how in KINDS.items():
        values = (*(plain.get(each.__name__) for each in how), None)
        found = Sums()
        found.add(kind, ("a",), values)
        with pytest.raises(ValueError, match="zip"):
            found.add(kind, ("a",), values)
        with pytest.raises(ValueError, match="zip"):
            Sums().add_rows(found.rows())


@pytest.mark.parametrize("digits", range(1, 13))
def test_of_a_time_the_first_three_digits_are_kept(digits) -> None:
    for took in (10 ** (digits - 1), int("9" * digits), int("1234567890123"[:digits])):
        assert latency_step(took) == int(str(took)[:3].ljust(digits, "0"))
    assert latency_step(0) == 0


# --- flows


@pytest.mark.parametrize(
    ("published", "span", "rate"),
    [(1, timedelta(seconds=1200), 0.1), (1, timedelta(seconds=1200, microseconds=1), 0.0),
     (7, timedelta(seconds=60), 7.0), (7, timedelta(seconds=59, microseconds=999_999), 7.0),
     (1, timedelta(seconds=400), 0.2), (1, timedelta(seconds=400, microseconds=1), 0.1)],
)  # fmt: skip
def test_a_rate_is_rounded_at_one_half(published, span, rate) -> None:
    row = {"first": DAY, "last": DAY + span, "published": published}
    assert per_minute(row) == rate


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 40))
def test_the_parts_of_a_number_are_as_near_as_can_be(weights, count) -> None:
    """Each is its share or the next integer, and the larger remainders have the larger ones."""
    if not any(weights):
        return
    parts, total = divided(count, weights), sum(weights)
    assert sum(parts) == count
    order = sorted((-(count * weight % total), at) for at, weight in enumerate(weights))
    more = {at for _, at in order[: count - sum(count * weight // total for weight in weights)]}
    assert parts == [
        count * weight // total + (at in more) for at, weight in enumerate(weights)
    ]  # fmt: skip


def flow(pattern: str | None, subscriber: str | None = None) -> tuple[str | None, ...]:
    return ("a", pattern, subscriber, None, None, "u", "c", None, None)


def test_an_answer_to_what_was_not_lost_does_not_end_the_others() -> None:
    sums = Sums()
    for name in "xz":
        sums.add("flow", flow(name), (2, 0, 2, 20, 1, 9, None))
    for name in "wxyz":
        sums.add("stored", flow(name, "stream S"), (2,))
    gone = (2, 2, 0, 20, 1, 9, None)
    assert answered(sums) == {flow("x", "stream S"): gone, flow("z", "stream S"): gone}


def test_what_a_stream_refused_is_divided_by_what_was_delivered_to_it() -> None:
    sums = Sums()
    sums.add("flow", flow("x", "stream S"), (40, 1, 39, 5, 1, 9, None))
    sums.add("flow", flow("y", "stream S"), (3, 3, 0, 5, 1, 9, None))
    sums.add("unstored", flow(None, "stream S"), (2,))
    found = answered(sums)
    assert found[flow("x", "stream S")][:3] == (40, 0, 40), "of equal rests the first"
    assert found[flow("y", "stream S")][:3] == (3, 2, 1)


def test_a_stream_that_refused_all_that_was_sent_after_its_deletion_divides_nothing() -> None:
    """Nothing was delivered to it, so there is no ratio."""
    sums = Sums()
    sums.add("flow", flow("x", "stream S"), (0, 0, 0, 0, 1, 9, None))
    sums.add("unstored", flow(None, "stream S"), (2,))
    assert answered(sums) == {flow("x", "stream S"): (0, 0, 0, 0, 1, 9, None)}


def test_sums_of_a_flow_that_are_too_many_are_refused() -> None:
    sums = Sums()
    sums.add("flow", flow("x"), (1, 0, 1, 1, 1, 1, None))
    sums.add("flow", flow("x", "stream S"), (1, 1, 0, 1, 1, 1, None, 5))
    sums.add("stored", flow("x", "stream S"), (1,))
    with pytest.raises(ValueError, match="zip"):
        answered(sums)


# --- folding


@pytest.mark.parametrize(
    ("subject", "written"),
    [("$a.>.b", "$a.*.b"), ("_INBOX.-x.+y.z", "_INBOX.*.*.*"), ("p.reply._.a.b", "p.reply._.a.b"),
     ("p.safe.443.a.b.c", "p.safe.*.a.b.c"), ("p.alpha.a.b.c.d", "p.alpha.a.b.c.d"),
     ("p.stray.a.b.c.d", "p.stray.a.b.c.d"), ("p", "p"), ("p.safe", "p.safe"),
     ("p.reply", "p.reply"), ("p.other.443.a.b.id-1.GET.x", "p.other.*.a.b.id-1.GET.x"),
     ("reply.p.a.b.c.d", "reply.p.a.b.c.d"), ("p.safe.443.7.8.9.10.x", "p.safe.443.7.8.9.10.x")],
)  # fmt: skip
def test_a_subject_of_another_length_or_kind_is_folded_by_its_tokens(subject, written) -> None:
    assert fold(subject) == written


@pytest.mark.parametrize("pair", list(itertools.combinations("a7A-", 2)))
def test_lower_case_upper_case_digits_and_others_are_four_classes(pair) -> None:
    """A long token of two of them looks random; of one alone it does not."""
    assert is_variable("g" + "".join(pair) * 8)
    for each in pair:
        assert is_variable(each * 17) is (each == "7"), each
    assert not is_variable("aAbB"), "short"


# --- what the code leaves open


@pytest.mark.parametrize(
    ("route", "path", "days", "left"),
    [("items.*", "items.*", {1, 2, 3}, {1: "*"}), ("items.*", "items.*", {1, 2}, {1: "*"}),
     ("items.*", "items.*", {1}, {}), ("items.*", "items.x", {1, 2}, {}),
     ("items.>", "items.a.>", {1, 2}, {1: "a.>"}), ("items.b", "items.*", {1, 2}, {}),
     ("*.b.>", "*.*.c.d", {1, 2}, {0: "*"}), ("*", "*", {1, 2}, {0: "*"})],
)  # fmt: skip
def test_the_code_leaves_open_what_is_wild_in_the_route_too(route, path, days, left) -> None:
    """Of messages that not all have a call in the code, if those that have one suffice."""
    calls = [CodeCall("a.b", "*.safe.443.a_b.c_d._.GET." + path, None)]
    assert left_open({"route": route, "codes": {0, None}, "code_days": days}, calls, 2) == left


def test_what_each_program_sent_is_kept_beside_the_sum() -> None:
    row = {"service": "a", "kind": "request", "pattern": "p", "standing": "verified",
           "allowed": None, "account": None, "user": "u", "client": "c", "identity_source": "jwt",
           "code": None, "published": 1, "taken": 2, "days": {1}, "witnesses": {"w"}}  # fmt: skip
    own = row | {"published": 10, "taken": 20, "days": {2}, "witnesses": {"v"}, "code": 4}
    other = own | {"client": "d", "published": 100, "taken": 200, "days": {3}}
    (found,) = together([row, own, other])
    assert {tuple(key): each for key, each in found["programs"].items()} == {
        ("u", "c", "jwt"): {"published": 11, "taken": 22, "days": {1, 2}, "witnesses": {"v", "w"}},
        ("u", "d", "jwt"): {"published": 100, "taken": 200, "days": {3}, "witnesses": {"v"}},
    }
    assert (found["published"], found["taken"]) == (111, 222)
    assert (found["days"], found["code_days"]) == ({1, 2, 3}, {2, 3})
    assert (row["days"], own["days"]) == ({1}, {2}), "the edges stay as they are"


# --- consumers


def test_a_consumer_has_each_sum_in_its_column() -> None:
    sums = Sums()
    sums.add("consumer", ("S", "c", "all", "w", "A", "u", "p"), (9, 1, 8, 2, 3, 5, 6))
    told = {(account, "S", name): ToldConsumer("none", "to", "f") for account, name in
            (("A", "$a"), ("A", made("*")), ("B", "c"))}  # fmt: skip
    found, *others = consumer_rows(sums, told)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert found == {
        "stream": "S", "consumer": "c", "ack_policy": "all", "who": "w", "account": "A",
        "user": "u", "client": "p", "delivered": 9, "redelivered": 1, "acknowledged": 3,
        "rejected": 2, "deliver_subject": None, "filter_subject": None,
        "first": epoch + timedelta(microseconds=5), "last": epoch + timedelta(microseconds=6),
    }  # fmt: skip
    counts = dict.fromkeys(("delivered", "redelivered", "acknowledged", "rejected"), 0)
    assert others == [
        dict.fromkeys(TABLES["consumers"]) | counts | {
            "stream": "S", "consumer": name, "ack_policy": "none", "account": account,
            "deliver_subject": "to", "filter_subject": "f",
        }
        for account, name in (("A", "$a"), ("B", "c"))
    ]  # fmt: skip
    sums.add("consumer", ("S", "c", "all", "w", "A", "u"), (9, 1, 8, 2, 3, 5, 6))
    with pytest.raises(ValueError, match="zip"):
        consumer_rows(sums, {})


# --- gaps

HEAD = "prod.safe.443.a_shop.b_shop._.GET."
CODE = "*.safe.443.a_shop.b_shop.*.GET.items"


def code(pattern: str = CODE, service: str = "a.shop", origin: str | None = "a.py:1") -> CodeCall:
    return CodeCall(service, pattern, origin)


def allow(text: str, effect: str = "allow", service: str = "a.shop") -> Rule:
    return Rule(service, "publish", made(effect), text)


def deny(text: str) -> Rule:
    return allow(text, "deny")


def sent(pattern: str = HEAD + "items", published: int = 1, **told: Any) -> Call:
    return replace(
        Call("a.shop", pattern, None, None, None, False, published, 0), **{"route": "r", **told}
    )


@pytest.mark.parametrize(
    ("rules", "traffic", "finding", "rule"),
    [
        # The slot of a call that names no instance.
        ([allow("prod.safe.443.a_shop.b_shop._.GET.items")], [], "never called", 0),
        ([allow("prod.safe.443.a_shop.b_shop.id-1.GET.>")], [], "no rule", None),
        # Everything, any plane, a plane alone, another destination on any plane.
        ([allow(">")], [], "never called", 0),
        ([allow("*.safe.443.a_shop.b_shop.>")], [], "never called", 0),
        ([allow("prod")], [], "no rule", None),
        ([allow("*.safe.443.a_shop.c_shop.>")], [], "no rule", None),
        ([allow("prod.safe.443.a_shop.c_shop.>")], [], "no rule", None),
        # On the planes that its allow rules name; else its deny rules; else any.
        ([allow("prod.>"), deny("prod.safe.443.>")], [], "denied", 1),
        ([allow("prod.>"), deny("test.safe.443.>")], [], "never called", 0),
        ([allow(">"), deny("test.safe.443.>")], [], "denied", 1),
        ([allow(">"), deny("*.safe.443.>")], [], "denied", 1),
        ([allow(">"), deny("*.safe.444.>")], [], "never called", 0),
        ([allow("prod.x"), deny("prod.safe.443.>")], [], "denied", 1),
        # On two planes of its traffic: both allowed, one allowed, none.
        ([allow("*.safe.>"), deny("q.safe.443.>")], ["p", "q"], "denied", 1),
        ([allow("p.safe.>"), deny("q.safe.443.>")], ["p", "q"], "never called", 0),
        ([allow("z.x"), deny("q.safe.443.>")], ["p", "q"], "no rule", None),
        ([allow("z.x"), deny("*.safe.443.>")], ["p", "q"], "denied", 1),
        ([allow("p.safe.>"), deny("p.safe.443.>")], ["q"], "never called", 0),
    ],
)  # fmt: skip
def test_the_rule_of_a_call_of_the_code(rules, traffic, finding, rule) -> None:
    others = [sent(f"{plane}.orders.x") for plane in traffic]
    rows = gap_rows(others, [code()], ["a.shop"], rules)
    (found,) = (row for row in rows if row["path"] == "items")
    assert (found["finding"], found["rule"]) == (
        finding,
        None if rule is None else rules[rule].text,
    )


def test_calls_of_a_service_without_rules_do_not_end_the_others() -> None:
    calls = [code(CODE.replace("a_shop", "c_shop"), "c.shop"), code()]
    rows = gap_rows([], calls, ["a.shop", "c.shop"], [allow("prod.>")])
    assert [(row["service"], row["finding"], row["rule"]) for row in rows] == [
        ("c.shop", "never called", None), ("a.shop", "never called", "prod.>"),
    ]  # fmt: skip


def test_a_digit_without_a_value_is_not_a_port() -> None:
    rules = [
        allow("prod.safe.\u00b2.a_shop.b_shop.*.GET.>"),
        allow("prod.safe.80.a_shop.b_shop.*.GET.>"),
    ]
    assert [row["port"] for row in gap_rows([], None, [], rules)] == [None, 80]


def test_a_rule_that_decides_is_used() -> None:
    """Also by a client of another name, and where the row of the call is another one."""
    rules = [allow("prod.safe.443.a_shop.b_shop.*.GET.>"),
             allow("prod.safe.443.a_shop.b_shop.*.POST.>", service="user"),
             allow("prod.safe.443.a_shop.b_shop.*.PUT.>")]  # fmt: skip
    post = HEAD.replace("GET", "POST") + "items"
    calls = [sent(rule=rules[0].text), sent(post, rule=rules[1].text, ruled="user")]
    rows = gap_rows(calls, None, [], rules)
    assert [(row["service"], row["method"], row["rule"], row["finding"]) for row in rows] == [
        ("a.shop", "GET", rules[0].text, "ok"), ("a.shop", "POST", rules[1].text, "ok"),
        ("a.shop", "PUT", rules[2].text, "rule only"),
    ]  # fmt: skip


def test_of_rules_and_places_of_one_call_the_first_is_told() -> None:
    one, other = "prod.safe.443.a_shop.b_shop.*.GET.items", "prod.danger.443.a_shop.b_shop.*.GET.>"
    calls = [sent(rule=one), sent(rule=other), sent(rule="no", denied=True, refused=2),
             sent(rule="never", denied=True)]  # fmt: skip
    (row,) = gap_rows(calls[:2], None, [], None)
    assert (row["rule"], row["traffic"], row["finding"]) == (one, 2, "ok")
    (row,) = gap_rows(calls, None, [], None)
    assert (row["rule"], row["traffic"], row["refused"], row["finding"]) == ("no", 4, 2, "denied")
    places = [code(origin=place) for place in ("b.py:1", "a.py:2")]
    (row,) = gap_rows([], places, ["a.shop"], None)
    assert row["code"] == "a.py:2"
    (row,) = gap_rows([], [code(origin=None)], ["a.shop"], None)
    assert (row["code"], row["finding"]) == ("", "never called")


@pytest.mark.parametrize("order", [1, -1])
def test_of_rules_about_one_call_that_were_not_used_the_first_is_told(order) -> None:
    tail = ".443.a_shop.b_shop.*.GET.items"
    rules = [allow(f"prod.{each}{tail}") for each in ("safe", "danger")][::order]
    (row,) = gap_rows([], [], [], rules)
    assert (row["finding"], row["rule"]) == ("rule only", rules[0].text)


@pytest.mark.parametrize("order", [1, -1])
def test_a_call_of_two_places_is_denied_if_it_is_so_at_one_of_them(order) -> None:
    tail = ".443.a_shop.b_shop._.GET.items"
    rules = [allow(f"prod.{each}{tail}") for each in ("safe", "danger")]
    rules.append(replace(allow(f"prod.safe{tail}"), effect="deny"))
    calls = [code(pattern=f"*.{each}{tail}") for each in ("safe", "danger")]
    (row,) = gap_rows([], calls[::order], ["a.shop"], rules)
    assert (row["finding"], row["rule"]) == ("denied", f"prod.safe{tail}")


@pytest.mark.parametrize(
    ("scanned", "given", "finding"),
    [(["a.shop"], [], "not in code"), (["c.shop"], [], "ok"), (["a.shop"], None, "ok"),
     ([], [], "ok")],
)  # fmt: skip
def test_only_code_that_was_read_has_no_call(scanned, given, finding) -> None:
    (row,) = gap_rows([sent()], given, scanned, None)
    assert row["finding"] == finding


@pytest.mark.parametrize(
    ("pattern", "told", "row"),
    [
        (HEAD + "items.7", {}, ("b.shop", 443, "GET", "items.7")),
        (HEAD + "items", {"route": None}, ("b.shop", 443, "GET", None)),
        (HEAD + "items", {"route": None, "code": 0}, ("b.shop", 443, "GET", "items")),
        (HEAD + "x", {"code": 0}, ("b.shop", 443, "GET", "items")),
        ("orders.new.x", {}, ("orders.new.x", None, "*", None)),
        ("p.safe.443.a_shop.b_shop._.GET", {}, ("p.safe.443.a_shop.b_shop._.GET", None, "*", None)),
        ("p.safe.443.a_shop.b_shop._.>", {}, ("b.shop", 443, "*", "*")),
        ("p.safe.443.a_shop.b_shop.>", {}, ("b.shop", 443, "*", "*")),
        ("p.safe.443.a_shop.>", {}, ("*", 443, "*", "*")),
        ("p.safe.*.a_shop.*._.7.x", {}, ("*", None, "7", "x")),
        ("p.safe.443.a_shop.A%b._.GET.x", {}, ("A%b", 443, "GET", "x")),
    ],
)
def test_destination_port_method_and_path_of_a_call(pattern, told, row) -> None:
    (found,) = gap_rows([sent(pattern, **told)], [code()] if "code" in told else [], [], None)
    assert tuple(found[name] for name in ("destination", "port", "method", "path")) == row
    if told.get("code") == 0:
        (alone,) = gap_rows([sent(pattern, **told)], None, [], None)
        assert alone["path"] == pattern.removeprefix(HEAD), "without code, its number says nothing"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("p.safe.443.>", True), ("p.*.443.>", True), ("p.danger.9000.>", True),
     ("p.safe.888.>", False), ("p.*.888.a_b.>", False), ("p.safe.*", True), ("p.reply._.>", False),
     ("p.reply._.a_b.c.d", False), ("p.safe.444", True), ("p.alpha.443.>", False),
     ("p.stray.443.>", False)],
)  # fmt: skip
def test_rules_about_requests_are_shown_but_those_of_every_service(text, shown) -> None:
    if text.count(".") < 3:
        shown = False
    rows = gap_rows([], None, [], [allow(text)])
    assert [(row["rule"], row["finding"]) for row in rows] == [(text, "rule only")] * shown


def test_the_calls_of_code_are_sorted_by_service_pattern_and_place() -> None:
    """A name before a wildcard; what cannot be determined and the control port are left out."""

    def use(path: str | None, port: int = 443, line: int | None = 1) -> EndpointUse:
        return EndpointUse("b.shop", port, "GET", path, line and "a.py", line)

    bad = use("/x", 70_000)
    uses = (bad, use("/{all...}"), use("/x", 888), use("/{n}"), use(None), use("/x", line=2),
            use("/x"), use("/x", line=None))  # fmt: skip
    services = [Service("c.shop", calls=uses[:2]), Service("a.shop", calls=uses, events=uses[-1:])]
    found = calls_in(services)
    assert [(call.service, call.pattern.rpartition("GET.")[2], call.origin) for call in found] == [
        ("a.shop", "x", None), ("a.shop", "x", None), ("a.shop", "x", "a.py:1"),
        ("a.shop", "x", "a.py:2"), ("a.shop", "*", "a.py:1"), ("a.shop", ">", "a.py:1"),
        ("a.shop", ">", "a.py:1"), ("c.shop", ">", "a.py:1"),
    ]  # fmt: skip
    assert all(call.pattern.startswith("*.safe.443.") for call in found)


# --- rules


@pytest.mark.parametrize(
    ("identity", "user", "service"),
    [("i", "u", "u"), ("i", "other", "i"), ("i", None, "i"), (None, "other", None),
     (None, "u", "u"), ("u", "other", "u")],
)  # fmt: skip
def test_the_rules_of_a_client_are_those_of_its_user_if_it_has_some(identity, user, service):
    assert service_of(identity, user, {"u": 1}) == service


# --- violations


def messages(**told: Any) -> dict[str, Any]:
    row = dict.fromkeys(("account", "user", "client", "identity_source", "rate", "allowed"))
    return (
        row
        | {
            "published": 1,
            "witnesses": {"w"},
            "identity": "a",
            "pattern": "x",
            "standing": "verified",
            "plane": None,
            "first": at(1),
            "last": at(2),
        }
        | told
    )


def violations(*rows: dict[str, Any], subscribed: Any = ()) -> dict[Any, dict[str, Any]]:
    found = violation_rows(rows, lambda row, _witness: row.get("rule"), subscribed)
    told = {(row["kind"], row["who"], row["subject"]): row for row in found}
    assert len(told) == len(found)
    return told


@pytest.mark.parametrize("standing", ["claimed", "spoofed", "unknown", "unverified", "verified"])
def test_what_a_standing_says(standing) -> None:
    """Another name is spoofed; of an unknown one the plane says nothing."""
    found = violations(
        messages(published=9, plane="home"), messages(standing=made(standing), plane="away")
    )
    kinds = {kind for kind, _, _ in found}
    assert ("spoofed" in kinds) is (standing == "spoofed")
    assert ("cross_plane" in kinds) is (standing != "unknown")


@pytest.mark.parametrize("allowed", [True, False, None])
def test_only_what_the_rules_forbid_is_forbidden(allowed) -> None:
    assert bool(violations(messages(allowed=allowed))) is (allowed is False)


@pytest.mark.parametrize("home", ["p", "q", "r"])
def test_the_plane_with_the_most_messages_is_home(home) -> None:
    rows = [messages(plane=made(each), published=1 + (each == home)) for each in "qrp"]
    found = violations(*rows)
    assert sorted(subject for _, _, subject in found) == [f"{p}.>" for p in "pqr" if p != home]
    assert {row["count"] for row in found.values()} == {1}
    others = [messages(plane="s", identity="b", published=5),
              messages(plane="s", account="A", published=5)]  # fmt: skip
    assert violations(*rows, *others) == found, "of another identity or account"


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
def test_the_least_witness_and_its_rule_are_told(order) -> None:
    rows = [messages(allowed=False, witnesses={each, "z"}, rule=f"rule {each}") for each in order]
    again = [messages(allowed=False, witnesses={made("a")}, rule="another rule")]
    (found,) = violations(
        messages(published=0, allowed=False, witnesses=()), *rows, *again
    ).values()
    assert (found["witness"], found["rule"], found["count"]) == ("a", "rule a", 4)


def test_a_subscription_with_a_queue_is_told_with_it() -> None:
    some = [{**messages(pattern="x.7", queue=queue), "start": start} for queue, start in
            (("q", at(3)), ("p", None))]  # fmt: skip
    (one,) = violations(subscribed=some[:1]).values()
    assert (one["witness"], one["count"], one["first"], one["last"]) == ("x.7 q", 1, at(3), at(3))
    (found,) = violations(subscribed=some).values()
    assert (found["witness"], found["count"], found["first"]) == ("x.7 p", 2, at(3))


# --- receivers

_SUBSCRIBED = st.lists(
    st.fixed_dictionaries(
        {
            "server": st.sampled_from("st"), "account": st.sampled_from([None, "A", "B"]),
            "conn": st.sampled_from("cd"), "identity": st.sampled_from([None, "a", "b"]),
            "queue": st.sampled_from([None, None, "q", "r"]), "start": st.integers(1, 5),
            "end": st.none() | st.integers(1, 6),
        }
    ),
    max_size=5,
)  # fmt: skip


@settings(max_examples=150)
@given(_SUBSCRIBED, st.dictionaries(st.sampled_from("stu"), st.integers(0, 4)))
def test_the_receivers_at_each_time_are_those_of_their_interval(some, begin) -> None:
    """Receivers at each second by definition; equal ones that follow are one interval."""
    rows = [{**row, "sid": str(number), "start": at(row["start"]),
             "end": None if row["end"] is None else at(row["end"])}
            for number, row in enumerate(some)]  # fmt: skip
    wanted = []
    owners = {(row["server"], row["account"]) for row in rows}
    owners |= {(name, None) for name in begin if name not in {server for server, _ in owners}}
    for server, account in sorted(owners, key=str):
        own = [row for row in rows if (row["server"], row["account"]) == (server, account)]
        times = {row[name] for row in own for name in ("start", "end")} - {None}
        if server in begin:
            times.add(min([at(begin[server]), *times]))
        before = None
        for time in sorted(times):
            now = [
                row
                for row in own
                if row["start"] <= time and (row["end"] is None or row["end"] > time)
            ]
            if (numbers := [row["sid"] for row in now]) == before:
                continue
            if before is not None:
                wanted[-1]["end"] = time
            before = numbers
            names = {row["identity"] or row["conn"] for row in now if row["queue"] is None}
            names |= {f"{row['identity'] or row['conn']}@{row['queue']}"
                      for row in now if row["queue"] is not None}  # fmt: skip
            wanted.append({
                "subject": "x", "server": server, "account": account, "start": time, "end": None,
                "subscribers": len([row for row in now if row["queue"] is None]),
                "groups": len({row["queue"] for row in now} - {None}),
                "receivers": " ".join(sorted(names)),
            })  # fmt: skip
    found = history_rows(rows, "x", {name: at(time) for name, time in begin.items()})
    assert found == sorted(
        wanted, key=lambda row: (row["server"], row["account"] or "", row["start"])
    )
    for second in range(7):
        active = {row["sid"] for row in rows if row["start"] <= at(second)
                  and (row["end"] is None or at(second) < row["end"])}  # fmt: skip
        told = at_rows(rows, "x", at(second))
        assert {row["sid"] for row in told} == active
        assert all(tuple(row) == TABLES["at"] for row in told)
