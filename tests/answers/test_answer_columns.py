"""Sums and tables of answers by column: each key, each sum and each refusal, at both sides."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_microbus_latency import World

from rows_of_kinds import head_of
from subtrie.acl import Permissions
from subtrie.acl._jetstream.load import load_streams
from subtrie.audit import Questions, audit, load_rules
from subtrie.audit._answers import sums as sums_module
from subtrie.audit._answers.evidence import left_open
from subtrie.audit._answers.flows import answered
from subtrie.audit._answers.gaps import CodeCall
from subtrie.audit._answers.rule_table import NO_RULE, NO_RULES, Rule
from subtrie.audit._answers.sums import EDGE, MANY, PROGRAM, Sums, one_name_of_many
from subtrie.audit._answers.tables import Answers, _covering, _ranks, matching_rows, sorted_rows
from subtrie.audit._partial.kinds import kind_schema
from subtrie.audit._schema import TABLES
from subtrie.audit._tables.classified import _rules_of
from subtrie.audit._tables.latency_sums import microbus_sums
from subtrie.audit._tables.streams import (
    ack_policies,
    acknowledged,
    deleted_streams,
    folded,
    stored_patterns,
    told_consumers,
)

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def micros(seconds: int) -> int:
    return round(at(seconds).timestamp()) * 1_000_000


# --- programs of one user

_FLOW = ("publisher", "pattern", "subscriber", "queue", "account", "user", "client",
         "subscriber_user", "subscriber_client")  # fmt: skip
COLUMNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("flow", "stored", "unstored"), _FLOW),
    "latency": ("kind", "requester", "subject", "responder", "account", "user", "client"),
    "consumer": ("stream", "consumer", "policy", "who", "account", "user", "client"),
    "edge": EDGE, "match": ("service", "rule", "window", *PROGRAM),
    "refusal": ("identity", "pattern", "queue", "day", "window", *PROGRAM),
}  # fmt: skip
VALUES: dict[str, tuple[Any, ...]] = {
    "flow": (1, 1, 0, 1, 1, 1, None), "stored": (1,), "unstored": (1,), "latency": ({1: 1}, 0),
    "consumer": (1, 0, 0, 0, 0, 1, 1), "match": (1, 0, 1, frozenset({1}), 1), "refusal": (1, 1),
    "edge": (1, 0, 1, 0, frozenset({1}), 1, 1, None, "s", (1, "s"), "s"),
}  # fmt: skip
OF_PUBLISHER = (("publisher", "account", "user"), "client")
OF_SUBSCRIBER = (("subscriber", "account", "subscriber_user"), "subscriber_client")
OWNERS = [
    *((kind, *OF_PUBLISHER) for kind in ("flow", "stored", "unstored")),
    *((kind, *OF_SUBSCRIBER) for kind in ("flow", "stored")),
    ("latency", ("requester", "account", "user"), "client"),
    ("consumer", ("who", "account", "user"), "client"),
    ("edge", ("service", "account", "user"), "client"),
    ("match", ("service", "account", "user"), "client"),
    ("refusal", ("identity", "account", "user"), "client"),
]


def key_of(kind: str, /, **told: Any) -> tuple[Any, ...]:
    return tuple((dict.fromkeys(COLUMNS[kind], "same") | told).values())


@pytest.mark.parametrize(("kind", "owner", "client"), OWNERS)
def test_programs_are_counted_for_each_identity_account_and_user(
    monkeypatch, kind, owner, client
) -> None:
    """All else that a key has tells no other owner."""
    monkeypatch.setattr(sums_module, "MOST_PROGRAMS", 2)
    for name in COLUMNS[kind]:
        if name.endswith("client"):
            continue
        found = Sums()
        for number in range(3):
            told: dict[str, Any] = {client: f"p{number}"}
            if number == 2 or name not in owner:
                told[name] = f"v{number}"
            found.add(kind, key_of(kind, **told), VALUES[kind])
        found.bound_programs()
        names = [dict(zip(COLUMNS[kind], key, strict=True))[client] for key in found[kind]]
        assert names == (["p0", "p1", "p2"] if name in owner else [MANY] * 3), name


def test_programs_are_counted_over_all_kinds_that_one_owner_has(monkeypatch) -> None:
    monkeypatch.setattr(sums_module, "MOST_PROGRAMS", 2)
    found = Sums()
    for number, kind in enumerate(("flow", "stored", "unstored")):
        found.add(kind, key_of(kind, client=f"p{number}"), VALUES[kind])
    found.bound_programs()
    for kind in ("flow", "stored", "unstored"):
        assert dict(found[kind]) == {key_of(kind, client=MANY): VALUES[kind]}
    other = Sums()
    other.add("unstored", key_of("unstored", client=MANY), (2,))
    other.merge(found)
    assert dict(other["unstored"]) == {key_of("unstored", client=MANY): (3,)}


def test_a_name_stands_for_many_where_one_owner_has_them(monkeypatch) -> None:
    monkeypatch.setattr(sums_module, "MOST_PROGRAMS", 2)
    rows = [{"identity": who, "client": name, "n": n} for n, (who, name) in enumerate(
        [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("a", None), ("c", MANY), ("c", "z")]
    )]  # fmt: skip
    found = one_name_of_many(rows, ("identity",))
    assert [row["client"] for row in found] == [MANY, "x", MANY, "y", MANY, MANY, MANY]
    assert [row["n"] for row in found] == list(range(7))


@pytest.mark.parametrize(
    ("one", "other"),
    [({"account": "A"}, {"account": "B"}), ({"user": "u"}, {"user": "v"}),
     ({"identity": "a"}, {"identity": "b"})],
)  # fmt: skip
def test_programs_that_subscribe_are_counted_for_each_service_account_and_user(
    monkeypatch, one, other
) -> None:
    monkeypatch.setattr(sums_module, "MOST_PROGRAMS", 2)
    rules = {name: Permissions(subscribe_allow=("x",)) for name in ("a", "b")}

    def clients(*owners: dict[str, Any]) -> list[str]:
        rows = [{"identity": "a", "pattern": "x", "client": f"p{number}", **owner}
                for number, owner in enumerate(owners)]  # fmt: skip
        usage = Answers(subscribed(*rows), Questions(rules=rules)).permission_usage()
        used = (row["client"] for row in usage if row["verb"] == "subscribe")
        return sorted(name for name in used if name is not None)

    assert clients(one, one, other) == ["p0", "p1", "p2"]
    assert clients(one, one, one, other) == [MANY, "p3"]


# --- flows


def flow(pattern: str | None, subscriber: str | None = None, **told: Any) -> tuple[Any, ...]:
    none = dict.fromkeys(_FLOW)
    return tuple((none | {"publisher": "a", "pattern": pattern, "subscriber": subscriber}
                  | told).values())  # fmt: skip


def test_a_flow_of_which_all_was_answered_is_no_longer_one_of_the_lost() -> None:
    """Also with equal numbers that are two objects."""
    one, two = int("1000"), int("1" + "000")
    sums = Sums()
    sums.add("flow", flow("x"), (one, 0, two, 4000, 1, 9, None))
    sums.add("stored", flow("x", "stream S"), (int("10" + "00"),))
    assert answered(sums) == {flow("x", "stream S"): (1000, 1000, 0, 4000, 1, 9, None)}


def test_answers_of_several_streams_are_taken_in_the_order_of_their_names() -> None:
    for order in ((0, 1), (1, 0)):
        sums = Sums()
        sums.add("flow", flow("x"), (3, 0, 3, 30, 1, 9, (1, 0, 3)))
        for number in order:
            sums.add("stored", flow("x", f"stream {number}"), (2,))
        assert answered(sums) == {
            flow("x", "stream 0"): (2, 2, 0, 20, 1, 9, None),
            flow("x", "stream 1"): (1, 1, 0, 10, 1, 9, None),
        }


@pytest.mark.parametrize(
    ("refused", "delivered"), [(0, (3, 1)), (1, (2, 1)), (2, (1, 1)), (4, (0, 0)), (9, (0, 0))]
)
def test_what_a_stream_refused_is_not_delivered_to_it(refused, delivered) -> None:
    sums = Sums()
    for pattern, count in (("y", 1), ("x", 3)):
        sums.add("flow", flow(pattern, "stream S"), (count, count, 0, 5, 1, 9, None))
    others = {name: flow("x", "stream S", **{name: "z"})
              for name in ("publisher", "queue", "account", "user", "client")}  # fmt: skip
    others["subscriber"] = flow("x", "stream T")
    for key in others.values():
        sums.add("flow", key, (7, 7, 0, 5, 1, 9, None))
    sums.add("unstored", flow(None, "stream S"), (refused,))
    sums.add("unstored", flow(None, "stream of nothing"), (refused,))
    found = answered(sums)
    for pattern, count, left in zip("xy", (3, 1), delivered, strict=True):
        assert found[flow(pattern, "stream S")] == (count, left, count - left, 5, 1, 9, None)
    for name, key in others.items():
        assert found[key] == (7, 7, 0, 5, 1, 9, None), name


# --- what the code leaves open


@pytest.mark.parametrize(
    ("route", "paths"),
    [("items.*", ["items.*", "other.*"]), ("items.*", ["items.*", "items.*.x"]),
     ("items.*.*", ["items"]), ("items.*", ["other"])],
)  # fmt: skip
def test_calls_that_differ_or_are_shorter_leave_nothing_open(route, paths) -> None:
    calls = [CodeCall("a.b", "*.safe.443.a_b.c_d._.GET." + path, None) for path in paths]
    row = {"route": route, "codes": set(range(len(calls))), "code_days": {1}}
    assert left_open(row, calls, 2) == {}


# --- the tables

_TEXT = ("server", "conn", "sid", "pattern", "queue", "account", "identity", "user", "client",
         "identity_source")  # fmt: skip


def subscribed(*rows: dict[str, Any]) -> pa.Table:
    """Return rows of the table of subscriptions."""
    moment = pa.timestamp("us", "UTC")
    schema = pa.schema([*((name, pa.string()) for name in _TEXT), ("start", moment),
                        ("end", moment)])  # fmt: skip
    none: dict[str, Any] = dict.fromkeys(schema.names)
    some = {"server": "s", "conn": "c", "sid": "1", "pattern": "x"}
    return pa.Table.from_pylist([none | some | row for row in rows], schema)


PATTERN = "p.safe.443.a_b.c_d._.GET.items.*"


def edge(**told: Any) -> tuple[Any, ...]:
    made = dict.fromkeys(EDGE) | {
        "service": "a.b", "kind": "request", "plane": "p", "port": 443, "pattern": PATTERN,
        "route": "items.*", "standing": "verified", "identity": "a.b", "decided": NO_RULES,
        "identity_source": "user",
    }  # fmt: skip
    return tuple((made | told).values())


def sent(published: int = 1, refused: int = 0, first: int = 1, last: int = 2) -> tuple[Any, ...]:
    return (published, refused, published, 0, frozenset({5, 3}), micros(first), micros(last), None,
            "b", (micros(first), "c"), "d")  # fmt: skip


def answers(questions: Questions, *rows: dict[str, Any], **keys: Any) -> Answers:
    found = Answers(subscribed(*rows), questions)
    found.sums.add("edge", edge(**keys), sent())
    return found


def test_an_edge_has_each_sum_in_its_column() -> None:
    found = Answers(subscribed(), Questions())
    values = (1, 2, 3, 4, frozenset({5, 3}), 7, 9, (1, 0, 1), "b", (7, "c"), "b")
    found.sums.add("edge", edge(service="b"), values)
    found.sums.add("edge", edge(service="a"), (0, 2, 0, 0, frozenset(), None, None, None,
                                               None, (7, "r"), None))  # fmt: skip
    found.sums.add("edge", edge(service="a", account="A"), values)
    first, second, third = found.edges
    assert (first["account"], second["account"], third["service"]) == (None, "A", "b")
    assert first["witnesses"] == ["r"]
    assert (third["published"], third["refused"], third["taken"], third["undelivered"]) == (
        1, 2, 3, 4,
    )  # fmt: skip
    assert (third["days"], third["witnesses"], third["rate"]) == ([3, 5], ["b", "c"], (1, 0, 1))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert [third[name] - epoch for name in ("first", "last")] == [
        timedelta(microseconds=7), timedelta(microseconds=9),
    ]  # fmt: skip


RULES = {"other": Permissions()}


@pytest.mark.parametrize("name", ["identity", "user"])
@pytest.mark.parametrize("where", ["edge", "subscription"])
def test_rules_are_those_of_a_client_of_the_traffic(name, where) -> None:
    told = {"user": "u", "identity": "i"}
    rows = [told] if where == "subscription" else []
    asked = {} if rows else told
    answers(Questions(rules={told[name]: Permissions()}), *rows, **asked).check()
    with pytest.raises(ValueError, match=r"they are of other; the traffic has .*\bi, u$"):
        answers(Questions(rules=RULES), *rows, **asked).check()


def test_a_refusal_of_rules_names_five_of_both_and_says_if_there_is_none() -> None:
    rules = {f"r{number}": Permissions() for number in range(7)}
    rows = [{"identity": f"i{number}"} for number in range(7)]
    found = Answers(subscribed(*rows), Questions(rules=rules))
    with pytest.raises(ValueError, match="name no service of the traffic") as told:
        found.check()
    assert str(told.value) == (
        "the rules name no service of the traffic: they are of r0, r1, r2, r3, r4; the traffic "
        "has i0, i1, i2, i3, i4"
    )
    with pytest.raises(ValueError, match="they are of no service; the traffic has no identity"):
        Answers(subscribed({}), Questions(rules={})).check()


@pytest.mark.parametrize(("time", "inside"), [(0.999999, 0), (1, 1), (2, 1), (3, 1), (3.000001, 0)])
def test_a_time_is_inside_the_log(time, inside) -> None:
    """From the first to the last time of messages and of subscriptions."""
    asked = Questions(subject="x", time=at(time))
    for rows, first, last in (
        ([{"start": at(1), "end": at(3)}], 1, 3), ([{"start": at(1)}], 2, 3),
        ([{"start": at(2), "end": at(3)}], 1, 2),
    ):  # fmt: skip
        found = Answers(subscribed(*rows), asked)
        if (first, last) != (1, 3):
            found.sums.add("edge", edge(), sent(first=first, last=last))
        if inside:
            found.check()
            continue
        with pytest.raises(ValueError, match="outside the log") as told:
            found.check()
        assert str(told.value).endswith(
            "is outside the log, which is from 2026-11-21T00:00:01.000000Z to "
            "2026-11-21T00:00:03.000000Z"
        )
    with pytest.raises(ValueError, match="from nothing to nothing"):
        Answers(subscribed({}), asked).check()


@pytest.mark.parametrize("claimed", [False, True])
def test_values_at_wildcards_are_those_of_proven_senders(claimed) -> None:
    """However the others are ordered among them."""
    day = frozenset({1})
    for order in itertools.permutations(((False, "7"), (True, "5"), (True, "5"))):
        found = Answers(
            subscribed(), Questions(min_days=1, min_sources=1, claimed_identities=claimed)
        )
        values = (2, 0, 2, 0, day, micros(1), micros(1), None, "s", (1, "s"), "s")
        found.sums.add("edge", edge(), values)
        for proven, value in order:
            found.sums.add("value", (PATTERN, 1, None, proven), (value, value))
        proposed, thin = found.synthesise()
        ((rule,),) = ([row["rule"] for row in proposed if row["verb"] == "publish"],)
        # A wildcard needs several values.
        assert rule.endswith(".items.*" if claimed else ".items.5"), (rule, thin)


def test_a_rule_that_denies_allows_nothing() -> None:
    def finding(rules: Permissions, **told: Any) -> list[tuple[Any, ...]]:
        found = answers(Questions(rules={"a.b": rules}), **told)
        return [(row["finding"], row["rule"], row["traffic"]) for row in found.gap()]

    denied = Permissions(publish_deny=(PATTERN,), publish_allow=(PATTERN,))
    assert ("denied", PATTERN, 1) in finding(denied, decided=0)
    assert finding(denied, decided=1) == [("ok", PATTERN, 1)]
    elsewhere = Permissions(publish_allow=("p.safe.443.a_b.e_f._.GET.x",))
    assert ("no rule", None, 1) in finding(elsewhere, decided=NO_RULE)
    for left_out in ({"kind": "reply"}, {"standing": "spoofed"}, {"port": 888}):
        assert [row[2] for row in finding(denied, decided=1, **left_out)] == [0], left_out
    assert answers(Questions()).gap() == []


def test_a_rule_is_covered_by_the_first_that_allows_it() -> None:
    rules = [Rule("a", "publish", "allow", text) for text in ("x.y", "x.*", "x.>")]
    assert [_covering(rules, each) for each in ("x.y", "x.*", "x.>", "y")] == [
        "x.y", "x.*", "x.>", None,
    ]  # fmt: skip
    assert _covering(rules[1:], "x.y") == "x.*"


def test_a_rule_was_used_on_no_day_by_a_subscription_without_a_time() -> None:
    asked = Questions(rules={"a": Permissions(subscribe_allow=("x",))})
    for start, days in ((None, 0), (at(1), 1)):
        found = Answers(subscribed({"identity": "a", "start": start}), asked).permission_usage()
        (row,) = (each for each in found if each["rule"] == "x")
        assert (row["accepted"], row["days"], row["last"]) == (1, days, start)


@pytest.mark.parametrize(
    ("took", "count", "p50", "p99", "unanswered"),
    [({}, 0, None, None, 0), ({None: 3}, 0, None, None, 3), ({7: 1}, 1, 7, 7, 0),
     ({9: 1, 5: 1}, 2, 5, 9, 0), ({5: 1, 9: 2}, 3, 9, 9, 0), ({5: 2, 9: 1, None: 1}, 3, 5, 9, 1),
     ({5: 99, 9: 1}, 100, 5, 5, 0), ({5: 98, 9: 2}, 100, 5, 9, 0), ({5: 100, 9: 1}, 101, 5, 5, 0),
     ({0: 50, 5: 50}, 100, 0, 5, 0), ({0: 49, 5: 51}, 100, 5, 5, 0)],
)  # fmt: skip
def test_the_nearest_ranks_of_times(took, count, p50, p99, unanswered) -> None:
    assert _ranks(took) == {"count": count, "p50": p50, "p99": p99, "unanswered": unanswered}


def test_a_flow_and_a_latency_have_each_sum_in_its_column() -> None:
    found = Answers(subscribed(), Questions())
    found.sums.add("flow", flow("x", "s"), (6, 5, 2, 40, micros(0), micros(120), (1, 7, 2)))
    found.sums.add("flow", flow("y", "s"), (6, 5, 3, 40, None, None, (1, 7, 2)))
    for kind in ("nats", "microbus"):
        found.sums.add("latency", (kind, "a", "x", "b", "A", "u", "c"), ({4: 2, None: 1}, 1))
    one, other = found.flows()
    assert {name: one[name] for name in ("published", "delivered", "undelivered", "bytes", "first",
                                         "last", "per_minute")} == {
        "published": 6, "delivered": 5, "undelivered": 2, "bytes": 40, "first": at(0),
        "last": at(120), "per_minute": 3.0,
    }  # fmt: skip
    assert one["rate"]["counts"] == [2]
    assert (other["rate"], other["per_minute"], other["first"]) == (None, None, None)
    assert [row["errors"] for row in found.latency()] == [None, 1]
    for row in found.latency():
        assert [row[name] for name in ("requester", "subject", "responder", "account", "user",
                                       "client", "count", "p50", "unanswered")] == [
            "a", "x", "b", "A", "u", "c", 2, 4, 1,
        ]  # fmt: skip


def test_the_receivers_of_a_subject_are_told_from_its_first_line_of_a_server() -> None:
    rows = [
        {"pattern": "a.*", "start": at(5)}, {"pattern": "b", "start": at(3), "sid": "2"},
        {"pattern": "a.>", "sid": "3"}, {"pattern": "c", "start": at(2), "server": "t"},
        {"pattern": "a..b", "start": at(4), "sid": "4"},
    ]  # fmt: skip
    now, history = Answers(subscribed(*rows), Questions(subject="a.x", time=at(5))).receivers()
    assert [row["sid"] for row in now] == ["1"]
    assert [(row["server"], row["start"], row["subscribers"]) for row in history] == [
        ("s", at(3), 0), ("s", at(5), 1), ("t", at(2), 0),
    ]  # fmt: skip
    assert Answers(subscribed(*rows), Questions(subject="a.x")).receivers()[0] == []
    assert Answers(subscribed(*rows), Questions()).receivers() == ([], [])
    assert [row["pattern"] for row in matching_rows(rows, "a.x")] == ["a.*", "a.>"]


def test_rows_are_sorted_by_all_columns_and_null_is_first() -> None:
    columns = TABLES["at"]
    rows = [dict.fromkeys(columns, "a") | {columns[-1]: last, "more": 1} for last in "cb"]
    rows.append(dict.fromkeys(columns))
    found = sorted_rows("at", rows)
    assert [row[columns[-1]] for row in found] == [None, "b", "c"]
    assert all(tuple(row) == columns for row in found)


# --- the latency of Microbus requests

HEADS = st.lists(
    st.tuples(
        st.sampled_from([None, "A"]), st.sampled_from([None, "u"]), st.sampled_from([None, "c"]),
        st.none() | st.sampled_from([0, 1000, 1004, 2000, 5555]),
        st.sampled_from(["p.safe.443.a_b.c_d._.GET.x", "p.danger.1.a_b.c_d._.GET.y",
                         "p.reply._.c_d.a_b.i", "p.reply._.e_f.a_b.i", "p.reply._.c_d.g_h.i",
                         "p.stray._.c_d.a_b.i", "p.alpha._.c_d.a_b.i", "p.safe.443.a_b",
                         "p.reply._.c_d"]),
        st.sampled_from(["m", "n"]), st.sampled_from(["Req", "Res", "Err", "Ack"]),
        st.none() | st.sampled_from([200, 399, 400, 500]),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=100)
@given(HEADS)
def test_a_response_answers_the_first_request_with_its_message(heads) -> None:
    """Each request has the first answer of each responder; the order of rows says nothing."""
    wanted = Sums()
    asked: dict[Any, list[Any]] = {}
    replies: dict[Any, list[Any]] = {}
    for account, user, client, time, subject, message, op, status in heads:
        parts = subject.split(".")
        if time is None or len(parts) < 5:
            continue
        if parts[1] in ("safe", "danger") and op == "Req":
            about = (time, subject, user or "", client or "")
            asked.setdefault((account, parts[3], message), []).append(about)
        if parts[1] == "reply" and op in ("Res", "Err"):
            answer = (time, op, -1 if status is None else status)
            of = replies.setdefault((account, parts[4], message), [])
            of.append((parts[3], answer))
    for key, some in asked.items():
        time, subject, user, client = min(some)
        front = ("microbus", key[1].replace("_", "."), subject)
        about = (key[0], user or None, client or None)
        answers_of: dict[str, list[Any]] = {}
        for responder, answer in replies.get(key, ()):
            answers_of.setdefault(responder, []).append(answer)
        for responder, told in answers_of.items():
            when, op, status = min(told)
            took = max(when - time, 0)
            kept = took if took < 1000 else int(str(took)[:3].ljust(len(str(took)), "0"))
            name = responder.replace("_", ".")
            failed = int(op == "Err" or status >= 400)
            wanted.add("latency", (*front, name, *about), ({kept: 1}, failed))
        if not answers_of:
            wanted.add("latency", (*front, None, *about), ({None: 1}, 0))
    schema = kind_schema("head")
    names = ("account", "user", "client", "time", "subject", "message_id", "op_code", "status")
    columns = list(zip(*heads, strict=True)) or [()] * len(names)
    table = pa.table(dict(zip(names, columns, strict=True)) | {
        "time": pa.array(columns[3], pa.int64()), "status": pa.array(columns[7], pa.int64()),
    }) if heads else schema.empty_table()  # fmt: skip
    for some in (table, table.take(pa.array(range(table.num_rows)[::-1], pa.int64()))):
        found = Sums()
        microbus_sums(found, some)
        assert dict(found["latency"]) == dict(wanted["latency"])


def latency_of(*rows: tuple[Any, ...]) -> dict[str | None, tuple[Any, ...]]:
    """Return times and errors by responder, of heads: time, subject, message, op, status."""
    names = ("time", "subject", "message_id", "op_code", "status")
    none = dict.fromkeys(kind_schema("head").names)
    heads = [none | dict(zip(names, row, strict=True)) for row in rows]
    schema = pa.schema([(name, pa.int64() if name in ("time", "status") else pa.string())
                        for name in none])  # fmt: skip
    found = Sums()
    microbus_sums(found, pa.Table.from_pylist(heads, schema))
    return {key[3]: values for key, values in found["latency"].items()}


REQUEST = (10, "p.safe.443.a_b.c_d._.GET.x", "m", "Req", None)
REPLY = "p.reply._.c_d.a_b.i"


@pytest.mark.parametrize(
    ("subject", "message", "op"),
    [("p.stray._.c_d.a_b.i", "m", "Res"), ("p.alpha._.c_d.a_b.i", "m", "Res"),
     ("p.safe.443.c_d.a_b.i", "m", "Res"), ("p.reply._.c_d", "m", "Res"),
     ("p.reply._.c_d.a_c.i", "m", "Res"), (REPLY, "n", "Res"), (REPLY, "m", "Ack"),
     (REPLY, "m", "Req")],
)  # fmt: skip
def test_what_is_not_a_response_to_a_request(subject, message, op) -> None:
    assert latency_of(REQUEST, (15, subject, message, op, 200)) == {None: ({None: 1}, 0)}
    for code, failed in (("Res", 0), ("Err", 1)):
        found = latency_of(REQUEST, (15, REPLY, "m", code, 200))
        assert found == {"c.d": ({5: 1}, failed)}


@pytest.mark.parametrize(
    ("statuses", "failed"),
    [([None], 0), ([399], 0), ([400], 1), ([500, None], 0), ([200, 500], 0), ([0, 400], 0)],
)
def test_of_responses_at_one_time_the_least_status_counts(statuses, failed) -> None:
    for order in (statuses, statuses[::-1]):
        rows = [(15, REPLY, "m", "Res", status) for status in order]
        assert latency_of(REQUEST, *rows) == {"c.d": ({5: 1}, failed)}
        late = [(16, REPLY, "m", "Err", 500)]
        assert latency_of(*late, *rows, REQUEST) == {"c.d": ({5: 1}, failed)}
    assert latency_of(REQUEST, (9, REPLY, "m", "Res", 200)) == {"c.d": ({0: 1}, 0)}, "a clock"


def test_the_name_of_a_host_that_cannot_be_one_stays_as_it_is() -> None:
    request = (10, "p.safe.443.A_b.c_d._.GET.x", "m", "Req", None)
    found = latency_of(request, (15, "p.reply._.a%b.A_b.i", "m", "Res", 200))
    assert found == {"a%b": ({5: 1}, 0)}
    assert latency_of(REQUEST, (15, REPLY, "m", "Res", 200)) == {"c.d": ({5: 1}, 0)}


@pytest.mark.parametrize("seed", [3, 4])
def test_the_latencies_of_a_world_here(tmp_path, seed) -> None:
    """Of one log, read whole and in parts; without heads there are none."""
    world = World(seed)
    log = tmp_path / "trace.log"
    world.write(log)
    expected = sorted(world.rows(), key=str)
    for split in (1 << 30, 20_000):
        with audit([str(log)], questions=Questions(payloads="heads"), split_bytes=split) as run:
            found = [row for row in run.rows("latency") if row["kind"] == "microbus"]
        assert sorted(({name: row[name] for name in expected[0]} for row in found), key=str) == (
            expected
        )
    with audit([str(log)], questions=Questions()) as run:
        assert run.count("latency") == 0


# --- streams that the log tells


@pytest.mark.parametrize(
    ("made", "dropped", "end"),
    [([], [0], 0), ([0], [0], None), ([0], [1], 1), ([2], [1], None), ([], [3, 1], 3),
     ([1, 4], [5, 2], 5), ([4, 1], [3], None)],
)  # fmt: skip
def test_a_stream_is_deleted_unless_it_is_made_again(made, dropped, end) -> None:
    own: dict[str, Any] = {"server": "s", "account": "A"}
    others = [own | {"server": "t"}, own | {"account": "B"}]
    stream = {"queue": "S", "subject": "x"}
    head = head_of(
        stream=[own | stream | {"last_position": at} for at in made]
        + [each | stream | {"last_position": 9} for each in others]
        + [own | stream | {"queue": "T", "last_position": 9}],
        dropped=[own | {"subject": "$JS.API.STREAM.DELETE.S", "position": at} for at in dropped],
    )
    assert deleted_streams(head) == ({} if end is None else {("s", "A", "S"): end})


@pytest.mark.parametrize("subjects", ["xy", "yx"])
def test_a_stream_of_several_subjects_is_made_again_with_the_last_of_them(subjects) -> None:
    own: dict[str, Any] = {"server": "s", "account": "A"}
    stream = [own | {"queue": "S", "subject": each, "last_position": at}
              for each, at in zip(subjects, (4, 1), strict=True)]  # fmt: skip
    drop = own | {"subject": "$JS.API.STREAM.DELETE.S"}
    assert deleted_streams(head_of(stream=stream, dropped=[drop | {"position": 3}])) == {}
    dropped = head_of(stream=stream, dropped=[drop | {"position": 5}])
    assert deleted_streams(dropped) == {("s", "A", "S"): 5}


def test_a_given_stream_is_of_its_account_by_name_and_by_key(tmp_path) -> None:
    """A log has the key of an account that a JWT describes; a page has both."""
    key = "A" + "B" * 55
    consumer = {"name": "c", "config": {"durable_name": "c", "ack_policy": "all"}}
    stream = {"name": "S", "config": {"name": "S", "subjects": ["a"]},
              "state": {"consumer_count": 1}, "consumer_detail": [consumer]}  # fmt: skip
    page = tmp_path / "jsz.json"
    page.write_text(json.dumps({"server_id": "N", "streams": 1, "account_details": [
        {"name": "SHOP", "id": key, "stream_detail": [stream]},
    ]}))  # fmt: skip
    given = load_streams([page])
    patterns = stored_patterns(head_of(), given)
    assert {(each.account, each.stream, each.pattern) for each in patterns} == {
        ("SHOP", "S", "a"), (key, "S", "a"),
    }  # fmt: skip
    assert ack_policies(head_of(), given) == {("S", "c"): {("SHOP", "all"), (key, "all")}}
    assert set(told_consumers(head_of(), given)) == {(key, "S", "c")}


def test_what_is_given_of_a_consumer_does_not_replace_what_the_log_tells(tmp_path) -> None:
    page = tmp_path / "jsz.json"
    consumers = [{"name": name, "config": {"durable_name": name, "ack_policy": "none",
                                           "deliver_subject": f"given.{name}"}}
                 for name in ("one", "two")]  # fmt: skip
    stream = {"name": "S", "config": {"name": "S", "subjects": ["a"]},
              "state": {"consumer_count": 2}, "consumer_detail": consumers}  # fmt: skip
    page.write_text(json.dumps({"server_id": "N", "streams": 1, "account_details": [
        {"name": "$G", "stream_detail": [stream]},
    ]}))  # fmt: skip
    logged = {"server": "s", "account": "$G", "queue": "S.one", "subject": "explicit",
              "reply": "logged.one"}  # fmt: skip
    found = told_consumers(head_of(consumer=[logged]), load_streams([page]))
    assert {name: (each.policy, each.deliver) for (_, _, name), each in found.items()} == {
        "one": ("explicit", "logged.one"), "two": ("none", "given.two"),
    }  # fmt: skip


def test_what_the_log_tells_of_streams_and_consumers() -> None:
    own: dict[str, Any] = {"server": "s", "account": "A"}
    head = head_of(
        stream=[own | {"queue": name, "subject": text, "last_position": 1}
                for name, text in (("S", "b"), ("S", "a"), ("T", "a"))]
        + [{"server": "s", "queue": "S", "subject": "a", "last_position": 1}],
        stored=[own | {"conn": conn, "queue": name}
                for conn, name in (("c", "T"), ("c", "S"), ("d", "S"))],
        consumer=[own | {"queue": "S.one", "subject": "explicit", "reply": "to.one"},
                  own | {"queue": "S.one", "subject": "none"},
                  own | {"account": "B", "queue": "S.two.x", "subject": "all"}],
    )  # fmt: skip
    assert stored_patterns(head, None) == (
        (None, "S", "a"), ("A", "S", "a"), ("A", "S", "b"), ("A", "T", "a"),
    )  # fmt: skip
    assert acknowledged(head) == {("s", "c"): ("S", "T"), ("s", "d"): ("S",)}
    assert ack_policies(head, None) == {
        ("S", "one"): {("A", "explicit"), ("A", "none")}, ("S", "two.x"): {("B", "all")},
    }  # fmt: skip
    told = told_consumers(head, None)
    assert {key: (each.policy, each.deliver) for key, each in told.items()} == {
        ("A", "S", "one"): ("none", None), ("B", "S", "two.x"): ("all", None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "written"),
    [("$O.B.C.x", "$O.B.C.*"), ("$JS.FC.S.c.x", "$JS.FC.S.c.*"), ("O.B.C.x", "O.B.C.x"),
     ("$JS.ACK.D.H.S.c.1.2.3.4.0.x", "$JS.ACK.D.H.S.c.*.*.*.*.>")],
)  # fmt: skip
def test_a_subject_of_jetstream_is_folded_by_what_its_tokens_are(subject, written) -> None:
    assert folded(subject) == written


# --- rules of several services, and their days


def test_a_pattern_can_be_a_rule_of_several_services() -> None:
    rules = [Rule("a", "publish", "allow", "x"), Rule("b", "publish", "allow", "x"),
             Rule("c", "publish", "allow", ">", implied=True), Rule("a", "publish", "deny", "y"),
             Rule("c", "publish", "deny", "z")]  # fmt: skip
    rows, found = _rules_of(
        rules, ["x", "y", "z", ">"], np.array([0, 1, 1, 2, 4, 5]), np.array([0, 1, 0, 3, 2, 1])
    )
    assert rows.tolist() == [0, 0, 1, 1, 1, 4, 5]
    assert found.tolist() == [0, 1, 3, 0, 1, 4, 3]


def test_days_are_those_on_which_messages_came(tmp_path) -> None:
    """Received ones are evidence; a rule was used by the others, too."""
    lines = ['[7] {} [TRC] 127.0.0.1:2 - cid:2 - "v1:x" - "A/user:b" - <<- [SUB orders.* 1]']
    for day in range(16, 28):
        text = '[7] {} [TRC] 127.0.0.1:1 - cid:1 - "v1:x" - "A/user:a" - <<- [PUB orders.new 0]'
        lines.append(text.replace("{}", f"2026/11/{day} 23:59:59.999999"))
        if day != 24:
            text = (
                '[7] {} [TRC] 127.0.0.1:2 - cid:2 - "v1:x" - "A/user:b" - ->> [MSG orders.new 1 0]'
            )
            lines.append(text.replace("{}", f"2026/11/{day} 23:59:59.999999"))
    lines[0] = lines[0].replace("{}", "2026/11/16 00:00:00.000000")
    (tmp_path / "trace.log").write_text("\n".join(lines) + "\n")
    rules = {"a": Permissions(publish_allow=("orders.>",))}
    with audit([str(tmp_path / "trace.log")], questions=Questions(rules=rules)) as run:
        (used,) = (row for row in run.rows("permission_usage") if row["rule"] == "orders.>")
        ((received),) = (
            row["days"] for table in ("proposal", "too_thin") for row in run.rows(table)
            if (row["service"], row["verb"]) == ("a", "publish")
        )  # fmt: skip
    assert (used["accepted"], used["days"]) == (12, 12)
    assert received == 11


def test_the_rules_of_one_user_of_a_server_configuration(tmp_path) -> None:
    users = ", ".join(
        f'{{user: {name}, password: x, permissions: {{publish: "{name}.>"}}}}' for name in "ab"
    )
    (tmp_path / "server.conf").write_text(f"authorization {{ users = [{users}] }}")
    path = tmp_path / "server.conf"
    assert {name: rules.publish_allow for name, rules in load_rules([path]).items()} == {
        "a": ("a.>",), "b": ("b.>",),
    }  # fmt: skip
    for name in "ab":
        assert list(load_rules([f"{name}={path}"])) == [name]
    assert sorted(load_rules([f"b={path}", f"a={path}"])) == ["a", "b"]
    with pytest.raises(ValueError, match="has no user c"):
        load_rules([f"c={path}"])
    with pytest.raises(ValueError, match="there are rules of a already"):
        load_rules([path, f"a={path}"])
