"""The findings of a report: both sides of each rule, with the level, the title and the advice."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any

import pytest
from report_runs import START, RunOfRows, call, make_run
from report_runs import row as bare_row

from subtrie.report import read_report
from subtrie.report._findings import all_findings

COUNTS = {
    "messages_in": 1_000,
    "messages_out": 2,
    "redelivered": 0,
    "acknowledged": 0,
    "rejected": 0,
}
SUBJECT = "prod.safe.443.a_x.b_x._.GET.items"


def row(table: str, **values: Any) -> dict[str, Any]:
    return bare_row(table, **{**COUNTS, **values})


def findings(tables: dict[str, list[dict[str, Any]]], **more: Any) -> list[Any]:
    return all_findings(RunOfRows(tables), **more)


#: A table, the values of a row, and its level and title; None if it is not a finding.
CASES: tuple[tuple[str, dict[str, Any], str | None, str], ...] = (
    ("spoofed", {"who": "a", "claimed": "b", "subject": "s", "count": 2, "accepted": 1},
     "error", "a sent as b; the broker accepted 1"),
    ("spoofed", {"who": "a", "claimed": "b", "subject": "s", "count": 2},
     "warning", "a sent as b; all refused"),
    *(("spoofed", {"who": "a", "claimed": "b", "subject": "s", "count": 2, "accepted": 2,
                   "identity_source": claim}, level, "a sent as b; the broker accepted 2")
      for claim, level in (("claimed", "note"), ("token", "note"), ("user", "error"),
                           ("nkey", "error"), ("jwt", "error"))),
    ("claimed_users", {"who": "a", "claimed": "b", "count": 1}, "error",
     "a claims another user: b"),
    ("violations", {"kind": "forbidden", "who": "a", "witness": "s", "count": 1}, "error",
     "a: the given rules forbid this publish, and the broker accepted it"),
    ("violations", {"kind": "forbidden_subscription", "who": "a", "witness": "s", "count": 1},
     "error", "a: the given rules forbid this subscription, and the broker accepted it"),
    *(("violations", {"kind": kind, "who": "a", "witness": "s", "count": 1}, None, "")
      for kind in ("spoofed", "cross_plane")),
    ("cross_plane", {"identity": "a", "plane": "p", "home_plane": "h", "count": 1}, "error",
     "a of plane h published on p"),
    ("refused", {"who": "a", "kind": "publish", "subject": "s", "count": 1}, "warning",
     "The broker refused a: publish"),
    ("refused", {"who": "a", "kind": "payload", "subject": "x", "count": 3}, "warning",
     "a published messages larger than max_payload"),
    ("logins", {"who": "a", "address": "1.2.3.4", "outcome": "refused", "count": 1}, "warning",
     "The broker refused logins of a"),
    ("logins", {"who": None, "address": "1.2.3.4", "outcome": "refused", "count": 1}, "warning",
     "The broker refused logins of clients without a user"),
    ("logins", {"who": "a", "address": "1.2.3.4", "outcome": "accepted", "count": 1}, None, ""),
    ("jetstream_errors", {"who": "a", "request": "publish", "stream": "S", "count": 1,
                          "why": "maximum bytes exceeded"}, "warning",
     "The stream S did not store what a published: maximum bytes exceeded"),
    ("jetstream_errors", {"who": "a", "request": "STREAM.INFO", "stream": "S", "count": 1,
                          "why": "stream not found"}, "note",
     "JetStream refused STREAM.INFO of a: stream not found"),
    ("links", {"server": "n", "remote": "m", "kind": "route", "address": "x", "end": START},
     "note", "The route connection to m ended at 2026-11-21T08:00:00.000000Z; "
     "1,000 messages had come from it, 2 gone to it"),
    ("links", {"server": "n", "kind": "leaf", "address": "x", "end": START}, "note",
     "The leaf connection to another server ended at 2026-11-21T08:00:00.000000Z; "
     "1,000 messages had come from it, 2 gone to it"),
    ("links", {"server": "n", "kind": "leaf", "address": "x"}, None, ""),
    *(("servers", {"server": "n", "process": "7", "event": event}, level,
       f"The server of the process 7 said: {event}")
      for event, level in (("lame duck", "note"), ("reload", "note"), ("start", None),
                           ("stop", None))),
    ("slow_consumers", {"who": "a", "client": "a", "count": 1}, "warning",
     "a reads more slowly than the broker sends to it"),
    ("slow_consumers", {"who": "a", "client": "b", "count": 1}, "warning",
     "a (client b) reads more slowly than the broker sends to it"),
    ("undelivered", {"subject": "a.b", "count": 1}, "warning", "No pattern is near this subject"),
    ("undelivered", {"subject": "a.bc", "nearest": "a.b", "differs_at": 1, "count": 1}, "warning",
     "No subscriber: bc, where the nearest pattern has b"),
    *(("undelivered", {"subject": one, "nearest": other, "differs_at": 2, "count": 1}, "warning",
       "No subscriber; the nearest pattern differs at token 2")
      for one, other in (("a.b", "a.b.c"), ("a.b.c", "a.b"))),
    ("undelivered", {"subject": "a.b", "nearest": "a.b", "count": 1,
                     "subscription_inactive": True}, "warning",
     "The subscriber was not subscribed at that time"),
    ("malformed", {"subject": "s", "reason": "port", "count": 1, "received": 3}, "warning",
     "Not a canonical address: port; 3 were delivered all the same"),
    ("malformed", {"subject": "s", "reason": "not-canonical", "count": 1}, "note",
     "Not a canonical address"),
    *(("gap", {"service": "a", "destination": "b", "path": "p", "finding": found}, level,
       f"a to b: {found}")
      for found, level in (("refused", "warning"), ("no rule", "warning"), ("denied", "warning"),
                           ("never called", "note"), ("ok", None))),
    ("permission_usage", {"service": "a", "effect": "allow", "rule": "r", "verb": "publish"},
     "note", "a has rules that nothing used"),
    *(("permission_usage", {"service": "a", "rule": "r", "verb": "publish", **used}, None, "")
      for used in ({"effect": "deny"}, {"effect": "allow", "accepted": 1},
                   {"effect": "allow", "refused": 1})),
    ("flows", {"publisher": "a", "pattern": "p", "published": 2, "undelivered": 1}, "warning",
     "a publishes what no subscriber receives"),
    ("flows", {"publisher": "a", "pattern": "p", "published": 2}, None, ""),
    ("coverage", {"server": "n", "pattern": "p"}, "note",
     "Subscriptions that received no message, such as p"),
    *(("coverage", {"server": "n", "pattern": "p", **more}, None, "")
      for more in ({"matched": 1}, {"delivered": 1}, {"pattern": "$SYS.>"},
                   {"pattern": "_INBOX.>"}, {"pattern": "_R_.>"})),
    ("coverage", {"server": "n", "pattern": "_INBOXES"}, "note",
     "Subscriptions that received no message, such as _INBOXES"),
    ("unparseable", {"server": "n", "reason": "time", "text": "t"}, "note",
     "Lines that could not be read: time"),
    ("consumers", {"stream": "S", "consumer": "c", "who": "a", "delivered": 1,
                   "ack_policy": "explicit"}, "note",
     "a acknowledges nothing that stream S, consumer c, delivers"),
    ("consumers", {"stream": "S", "consumer": "c", "who": "a", "delivered": 1}, "note",
     "a acknowledges nothing that stream S, consumer c, delivers; its ack policy is not known"),
    ("consumers", {"stream": "S", "consumer": "c", "who": "a", "delivered": 1_000,
                   "redelivered": 1_000}, "warning",
     "a acknowledges nothing that stream S, consumer c, delivers; 1,000 came again"),
    ("consumers", {"stream": "S", "consumer": "c", "deliver_subject": "d"}, "warning",
     "No client subscribes d, to which the consumer c of stream S delivers"),
    ("consumers", {"stream": "S", "consumer": "c", "who": "a", "deliver_subject": "d"}, None, ""),
)  # fmt: skip


@pytest.mark.parametrize(("table", "values", "level", "title"), CASES)
def test_a_row_is_a_finding_of_this_level_or_is_left_out(table, values, level, title):
    found = findings({table: [row(table, **values)]})
    told = [(each.rule, each.level, each.message, each.rows) for each in found]
    assert told == ([] if level is None else [(table, level, title, 1)])
    for each in found:
        assert each.instead or table in ("links", "servers", "gap", "coverage", "unparseable",
                                         "jetstream_errors")  # fmt: skip


@pytest.mark.parametrize(("why", "told"), [
    ("maximum bytes exceeded", "Raise the limit of the stream, or let it discard old messages."),
    ("no maximum", ""), ("maximums", ""),
])  # fmt: skip
def test_the_advice_about_a_full_stream(why, told):
    values = {"who": "a", "request": "publish", "stream": "S", "count": 1, "why": why}
    (found,) = findings({"jetstream_errors": [row("jetstream_errors", **values)]})
    assert found.instead == told


def test_a_consumer_whose_subject_is_subscribed_is_not_a_finding():
    """It is a note if servers are linked: another one may have the subscriber."""
    rows = [row("consumers", stream="S", consumer=each, deliver_subject=each) for each in "de"]
    heard = row("subscriptions", pattern="d", conn="c", start=START)
    (found,) = findings({"consumers": rows, "subscriptions": [heard]})
    assert (found.level, found.witness) == ("warning", "e")
    used = row("consumers", stream="S", consumer="u", who="a", deliver_subject="e")
    (found,) = findings({"consumers": [*rows, used], "subscriptions": [heard]})
    assert "the consumer e of" in found.message, "a program receives of the other"
    for kind, level in (("leaf", "warning"), ("route", "note"), ("gateway", "note")):
        link = row("links", server="n", kind=kind, address="x")
        (found,) = findings({"consumers": rows[1:], "links": [link]})
        assert (found.level, found.witness) == (level, "e")


def test_with_calls_flows_and_coverage_are_left_out():
    silent = {"flows": [row("flows", publisher="a", pattern="p", undelivered=1)],
              "coverage": [row("coverage", pattern="p")]}  # fmt: skip
    assert [each.rule for each in findings(silent)] == ["flows", "coverage"]
    assert findings({**silent, "call_graph": [call("a", "b", 1)]}) == []


@pytest.mark.parametrize(("patterns", "nearest"), [
    (["a.b.x", "a.b.c.y"], "a.b.c.y"), (["a.*.*.y", "a.b.x"], "a.*.*.y"),
    (["a.x", "a.b.x"], "a.b.x"), (["x.b.c.d"], None), (["a.b", "a.b.x"], "a.b"), ([], None),
])  # fmt: skip
def test_the_nearest_pattern_has_the_most_leading_tokens(patterns, nearest):
    rows = [row("coverage", pattern=each, matched=1) for each in patterns]
    lost = row("flows", publisher="p", pattern="a.b.c.d", undelivered=1)
    (found,) = findings({"flows": [lost], "coverage": rows})
    more = f"; the nearest pattern is {nearest}" if nearest else ""
    assert found.message == "p publishes what no subscriber receives" + more


def test_the_nearest_pattern_is_of_the_same_account():
    rows = [row("coverage", pattern="a.b", account="OTHER", matched=1),
            row("coverage", pattern="a.x", account="ONE", matched=1)]  # fmt: skip
    lost = row("flows", publisher="p", pattern="a.b", undelivered=1, account="ONE")
    (found,) = findings({"flows": [lost], "coverage": rows})
    assert found.message.endswith("; the nearest pattern is a.x")


def test_rows_of_one_group_are_one_finding_of_all_of_them():
    """The largest row is the example; counts are added up, and times are those of all rows."""
    later = START + timedelta(seconds=9)
    rows = [row("spoofed", who="a", claimed="b", subject=f"s{n}", count=n, accepted=accepted,
                first=first, last=first)
            for n, accepted, first in ((2, 0, later), (3, 2, START), (3, 1, later))]  # fmt: skip
    (found,) = findings({"spoofed": rows})
    assert (found.count, found.rows, found.witness) == (8, 3, "s3")
    assert found.message == "a sent as b; the broker accepted 3"
    assert (found.first[17:19], found.last[17:19]) == ("00", "09")


def test_findings_of_two_accounts_are_two():
    rows = [row("refused", who="a", kind="publish", subject="s", count=1, account=account)
            for account in (None, "$G", "ONE", "TWO")]  # fmt: skip
    found = findings({"refused": rows}, name="RUN", logs=["x.log", "y z.log"])
    assert sorted(each.key for each in found) == [
        ("a", "publish"), ("a", "publish"), ("a", "publish", "ONE"), ("a", "publish", "TWO"),
    ]  # fmt: skip
    assert all(
        shlex.split(each.command)[:8]
        == ["subtrie", "report", "lines", "--log", "x.log", "--log", "y z.log", "--"]
        for each in found
    )


def test_the_account_is_a_word_of_the_command_if_it_has_a_name():
    for account, words in ((None, []), ("$G", []), ("ONE", ["ONE"])):
        lost = row("undelivered", subject="a.b", count=1, account=account)
        (found,) = findings({"undelivered": [lost]})
        assert shlex.split(found.command)[6:] == ["RUN", "undelivered", "a.b", *words]


def test_periods_of_a_rule_are_added_up_before_it_is_unused():
    periods = [row("permission_usage", service="a", effect="allow", verb="publish", rule=rule,
                   accepted=used, refused=refused)
               for rule, used, refused in (("r", 0, 0), ("r", 1, 0), ("q", 0, 0), ("q", 0, 1),
                                           ("p", 0, 0), ("p", 0, 0))]  # fmt: skip
    (found,) = findings({"permission_usage": periods})
    assert (found.witness, found.count) == ("p", 1)


@pytest.mark.parametrize(("who", "subject", "account", "told"), [
    ("a", SUBJECT, "A", 0), ("b", SUBJECT, "A", 1), ("a", "other", "A", 1), ("a", SUBJECT, "B", 1),
])  # fmt: skip
def test_a_violation_is_left_out_for_the_same_client_and_subject_only(who, subject, account, told):
    rows = [row("violations", kind="spoofed", who="a", subject=SUBJECT, account="A", count=1,
                witness=SUBJECT),
            row("violations", kind="forbidden", who=who, subject=subject, account=account, count=1,
                witness=subject)]  # fmt: skip
    assert len(findings({"violations": rows})) == told


def test_findings_are_ordered_by_level_then_count_then_example():
    rows = [row("malformed", subject=subject, reason=subject, count=count, received=received)
            for subject, count, received in (("b", 1, 0), ("a", 1, 0), ("c", 5, 0), ("d", 1, 1))
            ]  # fmt: skip
    assert [each.witness for each in findings({"malformed": rows})] == ["d", "c", "a", "b"]


def test_the_report_of_a_run_has_these_findings(tmp_path):
    rows = {"refused": [row("refused", who="a", kind="publish", subject="s", count=1)]}
    assert read_report(make_run(tmp_path / "run", rows)).findings == findings(
        rows, name=str(tmp_path / "run")
    )
