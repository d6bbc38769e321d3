"""The rows that are one finding, for each table; and the advice of each rule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from report_runs import START, RunOfRows
from report_runs import row as bare_row

from subtrie.report._findings import MOST_FINDINGS, all_findings
from subtrie.report._rows import json_value

ZEROS = {"redelivered": 0, "acknowledged": 0, "rejected": 0, "messages_in": 0, "messages_out": 0}


def row(table: str, **values: Any) -> dict[str, Any]:
    return bare_row(table, **{**ZEROS, **values})


def rate(*counts: int) -> dict[str, Any]:
    return {"start": START, "width_s": 4, "counts": list(counts)}


def findings(**tables: list[dict[str, Any]]) -> list[Any]:
    return all_findings(RunOfRows(tables))


END = START + timedelta(minutes=1)
#: A table, a row that is a finding, the columns that tell two findings apart (with another value),
#: those that do not, and the first words of the advice.
GROUPS: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "spoofed": ("spoofed", {"who": "a", "claimed": "b", "subject": "s", "count": 2},
                {"who": "c", "claimed": "c", "account": "X"}, {"subject": "t"},
                "Give each service its own user"),
    "a name of a client": ("spoofed", {"who": "a", "claimed": "b", "subject": "s", "count": 2,
                                       "identity_source": "claimed"}, {}, {"subject": "t"},
                           "Without creds, services of one process share a connection"),
    "claimed_users": ("claimed_users", {"who": "a", "claimed": "b", "count": 2},
                      {"who": "c", "claimed": "c"}, {"client": "x"}, "Let the client name no user"),
    "violations": ("violations", {"kind": "forbidden", "who": "a", "rule": "r", "witness": "w",
                                  "count": 2},
                   {"kind": "forbidden_subscription", "who": "b", "rule": "q", "account": "X"},
                   {"witness": "v", "subject": "s"}, "Compare them: subtrie acl diff."),
    "cross_plane": ("cross_plane", {"identity": "a", "plane": "p", "home_plane": "h", "count": 2},
                    {"identity": "b", "plane": "q"}, {"home_plane": "i"}, "Permissions should fix"),
    "refused": ("refused", {"who": "a", "kind": "publish", "subject": "s", "count": 2},
                {"who": "b", "kind": "subscribe", "account": "X"}, {"subject": "t"},
                "If it should do this, add the entry"),
    "too large": ("refused", {"who": "a", "kind": "payload", "subject": "s", "count": 2},
                  {"who": "b", "account": "X"}, {"subject": "t"}, "Send less at once"),
    "logins": ("logins", {"who": "a", "why": "y", "address": "1.2.3.4", "outcome": "refused",
                          "count": 2},
               {"who": "b", "why": "z"}, {"address": "5.6.7.8"}, "Compare its credentials"),
    "jetstream_errors": ("jetstream_errors", {"who": "a", "request": "publish", "stream": "S",
                                              "why": "maximum bytes exceeded", "count": 2},
                         {"who": "b", "request": "STREAM.INFO", "stream": "T", "why": "other",
                          "account": "X"}, {}, "Raise the limit of the stream"),
    "links": ("links", {"server": "n", "remote": "m", "kind": "route", "address": "x", "end": END},
              {"server": "o", "remote": "p", "kind": "gateway"},
              {"address": "y", "end": END + timedelta(minutes=1)}, ""),
    "servers": ("servers", {"server": "n", "process": "7", "event": "reload"},
                {"server": "m", "event": "lame duck"}, {"process": "8"}, ""),
    "slow_consumers": ("slow_consumers", {"who": "a", "client": "c", "count": 2},
                       {"who": "b", "client": "d", "account": "X"}, {}, "Keep handlers from"),
    "undelivered": ("undelivered", {"subject": "a.bc", "nearest": "a.b", "differs_at": 1,
                                    "subscription_inactive": False, "count": 2},
                    {"nearest": "a.d", "differs_at": 0, "subscription_inactive": True},
                    {"subject": "a.bd"}, "Compare the subject with the nearest pattern"),
    "not subscribed then": ("undelivered", {"subject": "a.b", "nearest": "a.b", "count": 2,
                                            "subscription_inactive": True}, {}, {},
                            "Find out when the subscriber was gone"),
    "malformed": ("malformed", {"subject": "s", "reason": "port", "count": 2, "received": 1},
                  {"reason": "host"}, {"subject": "t", "received": 0}, "Build subjects with"),
    "gap": ("gap", {"service": "a", "destination": "b", "path": "p", "finding": "denied"},
            {"service": "c", "finding": "no rule"}, {"path": "q", "destination": "d"}, ""),
    "permission_usage": ("permission_usage", {"service": "a", "effect": "allow", "rule": "r",
                                              "verb": "publish"},
                         {"service": "b"}, {"rule": "q", "verb": "subscribe"}, "Remove them, or"),
    "flows": ("flows", {"publisher": "a", "pattern": "p", "undelivered": 2},
              {"publisher": "b", "pattern": "q", "account": "X"}, {"subscriber": "c"},
              "Compare the subject with the patterns"),
    "coverage": ("coverage", {"server": "n", "pattern": "p"}, {"account": "X"}, {"pattern": "q"},
                 ""),
    "unparseable": ("unparseable", {"server": "n", "reason": "time", "text": "t"},
                    {"reason": "cut"}, {"text": "u", "server": "m"}, ""),
    "not acknowledged": ("consumers", {"stream": "S", "consumer": "c", "who": "a", "delivered": 2},
                         {"stream": "T", "consumer": "d", "who": "b", "account": "X"}, {},
                         "Acknowledge each message after the work"),
    "came again": ("consumers", {"stream": "S", "consumer": "c", "who": "a", "delivered": 6,
                                 "redelivered": 2, "acknowledged": 1},
                   {"stream": "T", "consumer": "d", "who": "b", "account": "X"}, {},
                   "Acknowledge sooner, or let the consumer wait longer"),
    "was refused": ("consumers", {"stream": "S", "consumer": "c", "who": "a", "delivered": 6,
                                  "redelivered": 2, "rejected": 1}, {}, {},
                    "Find out why the program refuses them."),
    "unheard": ("consumers", {"stream": "S", "consumer": "c", "deliver_subject": "d"},
                {"stream": "T", "consumer": "d", "deliver_subject": "e"}, {},
                "Start the program that subscribes it"),
}  # fmt: skip
PAIRS = [(name, column, value, 2) for name in GROUPS for column, value in GROUPS[name][2].items()]
PAIRS += [(name, column, value, 1) for name in GROUPS for column, value in GROUPS[name][3].items()]


@pytest.mark.parametrize(("name", "column", "value", "number"), PAIRS)
def test_rows_are_one_finding_unless_they_differ_in_what_it_is_about(name, column, value, number):
    table, usual, *_ = GROUPS[name]
    found = findings(**{table: [row(table, **usual), row(table, **{**usual, column: value})]})
    rules = [each for each in found if each.rule == table]
    assert len(rules) == number, [each.message for each in found]
    assert sum(each.rows for each in rules) == 2
    counts = [each.count for each in rules]
    assert sum(counts) == 2 * usual.get("count", counts[0] if number == 2 else counts[0] / 2)


@pytest.mark.parametrize("name", GROUPS)
def test_each_rule_has_its_advice(name):
    table, usual, _, _, advice = GROUPS[name]
    found = findings(**{table: [row(table, **usual)]})
    assert [each.instead.startswith(advice) for each in found] == [True], found
    assert bool(advice) == bool(found[0].instead)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ((6, 2, 1, 0), ("note", "2 of 6 messages", 2)),
        ((4, 2, 1, 0), ("note", "2 of 4 messages", 2)),
        ((3, 2, 1, 0), ("warning", "2 of 3 messages", 2)),
        ((2, 2, 1, 0), ("warning", "2 of 2 messages", 2)),
        ((6, 2, 0, 1), ("note", "2 of 6 messages; it refused 1 (-NAK or +TERM)", 2)),
        ((6_000, 4_000, 1, 2_000),
         ("warning", "4,000 of 6,000 messages; it refused 2,000 (-NAK or +TERM)", 4_000)),
        ((6, 0, 1, 0), None),
        ((6, 0, 0, 1), None),
    ],
)  # fmt: skip
def test_what_comes_again_is_a_warning_if_each_message_came_twice_more(counts, told):
    names = ("delivered", "redelivered", "acknowledged", "rejected")
    one = row(
        "consumers", stream="S", consumer="c", who="a", **dict(zip(names, counts, strict=True))
    )
    found = [each for each in findings(consumers=[one]) if "receives again" in each.message]
    assert [(each.level, each.message, each.count) for each in found] == ([] if told is None else [
        (told[0], f"a receives again what stream S, consumer c, delivered: {told[1]}", told[2]),
    ])  # fmt: skip


STORED = {"publisher": "a", "pattern": "o.x", "subscriber": "stream S", "delivered": 2}


@pytest.mark.parametrize(
    ("stored", "filters", "is_told"),
    [
        ({}, "o.y", True), ({}, "o.x", False), ({}, "o.*", False), ({}, "o.y p.>", True),
        ({}, "o.y o.>", False), ({}, None, False), ({}, "", False),
        ({"delivered": 0}, "o.y", False), ({"queue": "q"}, "o.y", False),
        ({"subscriber": "stream T"}, "o.y", False), ({"subscriber": "S"}, "o.y", False),
        ({"account": "X"}, "o.y", False),
    ],
)  # fmt: skip
def test_a_filter_that_nothing_stored_meets_is_a_note(stored, filters, is_told):
    consumer = row("consumers", stream="S", consumer="c", filter_subject=filters)
    found = findings(consumers=[consumer], flows=[row("flows", **{**STORED, **stored})])
    assert [(each.level, each.message, each.witness) for each in found] == is_told * [(
        "note", f"The consumer c delivers {filters}, and stream S stored no such message", filters,
    )]  # fmt: skip
    consumer = row("consumers", stream="S", consumer="c", filter_subject=filters, who="a")
    assert not any("stored no such" in each.message for each in findings(
        consumers=[consumer], flows=[row("flows", **{**STORED, **stored})]
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("subscriber", "is_told"),
    [("stream S", False), ("streams", True), ("stream", True), (None, True)],
)
def test_what_a_stream_refused_is_not_undelivered(subscriber, is_told):
    lost = row("flows", publisher="a", pattern="p", undelivered=1, subscriber=subscriber)
    assert bool(findings(flows=[lost])) == is_told


@pytest.mark.parametrize(
    ("columns", "user"),
    [
        ({"who": "w"}, "w"), ({"who": None}, ""),
    ],
)  # fmt: skip
def test_whom_a_finding_is_about(columns, user):
    usual = {"kind": "publish", "subject": "s", "count": 1}
    (found,) = findings(refused=[row("refused", **usual, **columns)])
    assert found.user == user
    of_tables = {
        "cross_plane": {"identity": "i", "plane": "p", "count": 1},
        "permission_usage": {"service": "i", "effect": "allow", "rule": "r", "verb": "publish"},
        "flows": {"publisher": "i", "pattern": "p", "undelivered": 1},
        "unparseable": {"reason": "time", "text": "t"},
    }
    for table, values in of_tables.items():
        (found,) = findings(**{table: [row(table, **values)]})
        assert found.user == ("" if table == "unparseable" else "i")


def test_the_first_of_equal_rows_is_the_example():
    rows = [row("refused", who="a", kind="publish", subject=each, count=2) for each in "xyz"]
    (found,) = findings(refused=rows)
    assert found.witness == "x"
    assert MOST_FINDINGS == 60


def _misuse(account: str | None, claims: str | None) -> list[Any]:
    sent = {"who": "a", "claimed": "b", "count": 2, "accepted": 2, "account": account}
    spoofed = [row("spoofed", **sent, subject=each) for each in "st"]
    refused = row("refused", who="a", kind="publish", subject="s", count=1, account=claims)
    return findings(spoofed=spoofed, refused=[refused])


@pytest.mark.parametrize(
    ("account", "claims", "key"),
    [
        (None, None, ("a",)), ("$G", None, ("a",)), ("$G", "$G", ("a",)), ("X", "X", ("a", "X")),
        ("X", None, ("a", "X")),
    ],
)  # fmt: skip
def test_misuse_of_one_user_has_the_rows_of_all_its_findings(account, claims, key):
    """The account that every client without one has is none."""
    (found,) = _misuse(account, claims)
    assert (found.key, found.rows, found.count) == (key, 3, 5)


def test_counts_of_a_consumer_with_several_clients_are_added_up():
    rows = [row("consumers", stream="S", consumer="c", who="a", client=each, delivered=6,
                redelivered=2, acknowledged=1, rejected=1) for each in "xy"]  # fmt: skip
    (found,) = [each for each in findings(consumers=rows) if "receives again" in each.message]
    assert "4 of 12 messages" in found.message
    assert (found.count, found.rows) == (4, 2)


def test_a_rule_that_was_used_in_the_first_period_only_is_used():
    usual = {"service": "a", "effect": "allow", "verb": "publish", "rule": "r"}
    for used in ("accepted", "refused"):
        periods = [row("permission_usage", **usual, **{used: count}) for count in (1, 0)]
        assert findings(permission_usage=periods) == []


def test_a_finding_has_the_rate_of_its_rows():
    refused = row("refused", who="a", kind="publish", subject="s", count=2, rate=rate(1, 0, 1))
    (found,) = findings(refused=[refused])
    assert found.rate is not None
    assert (found.rate.width_s, found.rate.counts) == (4, (1, 0, 1))
    assert findings(refused=[{**refused, "count": 3}])[0].rate is None, "a part has no time"


def test_findings_about_one_identity_have_the_sum_of_their_rates():
    told = {
        "spoofed": [row("spoofed", who="a", claimed="b", subject="s", count=2, accepted=2,
                        rate=rate(1, 1))],
        "refused": [row("refused", who="a", kind="publish", subject="s", count=1,
                        rate=rate(0, 0, 1))],
        "claimed_users": [row("claimed_users", who="a", claimed="b", count=5, rate=rate(5))],
    }  # fmt: skip
    (found,) = findings(**told)
    assert found.count == 3
    assert found.rate == (f"{START:%Y-%m-%dT%H:%M:%S}.000000Z", 4, (1, 1, 1))


def test_a_slow_consumer_has_the_rate_of_the_messages_that_were_lost():
    told = {
        "slow_consumers": [row("slow_consumers", who="b", client="b", first=END, last=END, count=1,
                               rate=rate(9))],
        "subscriptions": [row("subscriptions", pattern="a.*", conn="c", identity="b", client="b",
                              start=START, end=END)],
        "undelivered": [
            row("undelivered", subject=f"a.{number}", nearest="a.*", differs_at=1, count=count,
                subscription_inactive=True, first=END + timedelta(seconds=1),
                last=END + timedelta(seconds=2), rate=rate(*counts))
            for number, (count, counts) in enumerate(((2, (2, 0)), (1, (0, 1))))
        ],
    }  # fmt: skip
    (found,) = findings(**told)
    assert (found.rule, found.count) == ("slow_consumers", 3)
    assert found.rate is not None
    assert found.rate.counts == (2, 1)


@pytest.mark.parametrize(
    ("table", "values", "keys"),
    [
        ("refused", {"who": "a", "kind": "publish", "subject": "s"}, "refused a s publish - - - -"),
        ("refused", {"who": "b", "kind": "publish", "subject": "s", "account": "X"},
         "refused b s publish X - - -"),
        ("coverage", {"server": "n", "pattern": "p", "queue": "q"}, "coverage n p q"),
        ("coverage", {"server": "n", "pattern": "p", "account": "X"}, "coverage n p - X"),
        ("malformed", {"subject": "s", "reason": "port"}, "malformed s"),
    ],
)  # fmt: skip
def test_the_command_of_a_finding_has_the_keys_of_its_largest_row(table, values, keys):
    largest = row(table, **{"count": 2, **values})
    rows = [{**largest, "subject": "z", "count": 1}, largest]
    found = all_findings(RunOfRows({table: rows}), name="run", logs=["a.log"])
    assert f"subtrie report lines --log a.log -- run {keys}" in [each.command for each in found]


def test_a_rate_of_one_bar_says_nothing_in_json():
    assert json_value(rate(3)) is None
    assert json_value(rate(3, 1)) == "█▃ each bar 4 s"


def test_a_title_has_at_most_160_characters():
    (found,) = findings(malformed=[row("malformed", subject="s", reason="r" * 200, count=1)])
    assert len(found.message) == 159, "two halves and an ellipsis"


@pytest.mark.parametrize(
    ("pattern", "told", "advice"),
    [
        ("_INBOX.b.*", "a replied when the requester did not wait any longer", "Answer sooner"),
        ("reply.b.*", f"a published while no client received it: b subscribed reply.b.* until "
         f"{START:%Y-%m-%dT%H:%M:%S}.000000Z", "Let the subscriber reconnect sooner"),
    ],
)  # fmt: skip
def test_a_late_reply_is_not_told_as_a_subscriber_that_was_gone(pattern, told, advice):
    lost = row("flows", publisher="a", pattern=pattern, undelivered=1, first=END, last=END)
    before = START - timedelta(hours=1)
    gone = row("subscriptions", pattern=pattern, conn="c", identity="b", start=before, end=START)
    (found,) = findings(flows=[lost], subscriptions=[gone])
    assert found.message == told
    assert found.instead.startswith(advice)


def test_a_slow_consumer_is_told_until_the_last_time_of_it_or_of_what_it_lost():
    last = END + timedelta(minutes=5)
    slow = row("slow_consumers", who="b", client="b", count=1, first=START, last=last)
    gone = row("subscriptions", pattern="p", conn="c", identity="b", client="b",
               start=START - timedelta(hours=1), end=START)  # fmt: skip
    for at, until in ((END, last), (last + timedelta(minutes=1), last + timedelta(minutes=1))):
        lost = row("flows", publisher="a", pattern="p", undelivered=2, first=at, last=at)
        (found,) = findings(flows=[lost], subscriptions=[gone], slow_consumers=[slow])
        assert (found.rule, found.count, found.rows) == ("slow_consumers", 2, 2)
        assert (found.first, found.last) == (
            f"{START:%Y-%m-%dT%H:%M:%S.%f}Z", f"{until:%Y-%m-%dT%H:%M:%S.%f}Z",
        )  # fmt: skip
