"""Findings by their cause: a subscriber that was gone, a slow consumer, all misuse of one user."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from report_runs import START, RunOfRows, row

from subtrie.report._findings import all_findings
from subtrie.report._rows import time_text


def at(seconds: float | None) -> Any:
    return None if seconds is None else START + timedelta(seconds=seconds)


def text(seconds: float) -> str:
    return str(time_text(at(seconds)))


def findings(**tables: list[dict[str, Any]]) -> list[Any]:
    return all_findings(RunOfRows(tables))


def lost(first: float | None, last: float | None, **more: Any) -> dict[str, Any]:
    usual = {"subject": "tax.1", "count": 3, "first": at(first), "last": at(last)}
    return row("undelivered", **{**usual, **more})


def subscribed(start: float | None, end: float | None, **more: Any) -> dict[str, Any]:
    usual = {"server": "n", "conn": "c", "pattern": "tax.*", "identity": "b", "client": "b"}
    return row("subscriptions", start=at(start), end=at(end), **{**usual, **more})


NEAR = "No pattern is near this subject"
UNTIL, AGAIN = f"b subscribed tax.* until {text(10)}", "b did not subscribe tax.* from {} to {}"
ONLY = f"b subscribed tax.* only from {text(20)} on"
#: Subscriptions, the time of what was lost, and what is told.
GONE = {
    "ended": ([subscribed(0, 10)], (11, 12), UNTIL),
    "ended with the last": ([subscribed(0, 10)], (10, 10), UNTIL),
    "ended between": ([subscribed(0, 10)], (5, 12), UNTIL),
    "ended after it": ([subscribed(0, 10)], (5, 9), NEAR),
    "never ended": ([subscribed(0, None)], (5, 6), NEAR),
    "began with the first": ([subscribed(5, None)], (5, 6), NEAR),
    "began after it": ([subscribed(20, None)], (5, 6), ONLY),
    "came again": ([subscribed(0, 10), subscribed(20, None)], (11, 12),
                   AGAIN.format(text(10), text(20))),
    "came again twice": ([subscribed(30, None), subscribed(0, 10), subscribed(20, 25)], (11, 12),
                         AGAIN.format(text(10), text(20))),
    "came again twice, in another order": (
        [subscribed(20, 25), subscribed(0, 10), subscribed(30, None)], (11, 12),
        AGAIN.format(text(10), text(20))),
    "another began with the first": (
        [subscribed(0, 3), subscribed(5, None, identity="a")], (5, 6), NEAR),
    "the last of two": ([subscribed(0, 3, identity="a"), subscribed(0, 10)], (11, 12), UNTIL),
    "the last of two, in another order": (
        [subscribed(0, 10), subscribed(0, 3, identity="a")], (11, 12), UNTIL),
    "another was there": ([subscribed(0, 10), subscribed(0, None, identity="a")], (11, 12), NEAR),
    "no name": ([subscribed(0, 10, identity=None)], (11, 12), UNTIL.replace("b ", "c ", 1)),
    "another pattern": ([subscribed(0, 10, pattern="other.*")], (11, 12), NEAR),
    "the first pattern": ([subscribed(0, 9, pattern="tax.>"), subscribed(0, 10)], (11, 12), UNTIL),
    "an unknown begin": ([subscribed(None, 10)], (11, 12), NEAR),
    "another account": ([subscribed(0, 10, account="A")], (11, 12), UNTIL),
    "no time": ([subscribed(0, 10)], (None, 12), NEAR),
    "no last time": ([subscribed(0, 10)], (11, None), NEAR),
}  # fmt: skip


@pytest.mark.parametrize("case", GONE)
def test_who_was_gone_is_told(case):
    rows, (first, last), told = GONE[case]
    (found,) = findings(subscriptions=rows, undelivered=[lost(first, last)])
    assert found.message == told
    assert ("reconnect" in found.instead) is (told != NEAR)


def test_only_subscribers_of_the_same_account_were_gone():
    rows = [subscribed(0, 10, account="A"), subscribed(0, 9, account="B", identity="other")]
    (found,) = findings(subscriptions=rows, undelivered=[lost(11, 12, account="A")])
    assert found.message == UNTIL


def test_refused_messages_have_no_such_cause():
    refused = row("refused", who="a", kind="publish", subject="tax.1", count=1, first=at(11),
                  last=at(12))  # fmt: skip
    (found,) = findings(subscriptions=[subscribed(0, 10)], refused=[refused])
    assert found.message == "The broker refused a: publish"
    flow = row("flows", publisher="p", pattern="tax.1", undelivered=2, first=at(11), last=at(12))
    (found,) = findings(subscriptions=[subscribed(0, 10)], flows=[flow])
    assert found.message == f"p published while no client received it: {UNTIL}"


LEAF = "n/leaf:1"


@pytest.mark.parametrize(("down", "told"), [
    (9, True), (11, True), (8.99, False), (11.01, False), (None, False),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["leaf", "route"])
def test_a_leaf_node_that_was_down_is_the_cause(down, told, kind):
    link = row("links", server="n", conn="c", kind=kind, remote="hub", end=at(down), address="x",
               messages_in=0, messages_out=0)  # fmt: skip
    for rows, since in (([subscribed(0, 10)], f"from {text(10)} on"),
                        ([subscribed(0, 10), subscribed(20, None)],
                         f"from {text(10)} to {text(20)}")):  # fmt: skip
        found = findings(subscriptions=rows, links=[link], undelivered=[lost(11, 12)])
        (message,) = (each.message for each in found if each.rule == "undelivered")
        is_leaf = message == f"the leaf node hub (tax.*) was down {since}"
        assert is_leaf is (told and kind == "leaf")


@pytest.mark.parametrize(("server", "conn", "remote", "name"), [
    ("n", "c", "hub", "hub"), ("n", "c", None, "b"), ("m", "c", "hub", None),
    ("n", "d", "hub", None),
])  # fmt: skip
def test_a_leaf_node_is_that_of_the_connection(server, conn, remote, name):
    link = row("links", server=server, conn=conn, kind="leaf", remote=remote, end=at(10),
               address="x", messages_in=0, messages_out=0)  # fmt: skip
    found = findings(subscriptions=[subscribed(0, 10)], links=[link], undelivered=[lost(11, 12)])
    (message,) = (each.message for each in found if each.rule == "undelivered")
    assert message == (
        UNTIL if name is None else f"the leaf node {name} (tax.*) was down from {text(10)} on"
    )


@pytest.mark.parametrize(("client", "leaf", "named"), [
    (10, 10, "leaf"), (10, 9, "leaf"), (10, 8.9, "client"), (8.9, 10, "leaf"),
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_of_a_leaf_node_and_a_client_that_left_at_once_the_leaf_node_is_named(
    client, leaf, named, turned
):
    rows = [subscribed(0, client, identity="client"),
            subscribed(0, leaf, identity="leaf", conn=LEAF)]  # fmt: skip
    (found,) = findings(subscriptions=rows[::-1] if turned else rows, undelivered=[lost(11, 12)])
    assert found.message.startswith(f"{named} subscribed tax.* until ")


def link(server: str, end: float, **more: Any) -> dict[str, Any]:
    usual = {"kind": "leaf", "conn": "7/leaf:1", "remote": "east", "address": "h",
             "messages_in": 0, "messages_out": 0}  # fmt: skip
    return row("links", server=server, start=at(0), end=at(end), **{**usual, **more})


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ([link("n", 10)], [10]),
        ([link("n", 10), link("m", 10.5)], [10]),
        ([link("m", 10.5), link("n", 10)], [10]),
        ([link("n", 10), link("m", 11)], [10]),
        ([link("n", 10), link("m", 11.1)], [10, 11.1]),
        # Two of one server are two connections, and each has one other end.
        ([link("n", 10), link("n", 10.5, conn="7/leaf:2", address="i", remote="west")],
         [10, 10.5]),
        ([link("n", 10), link("m", 10.2), link("k", 10.4)], [10, 10.4]),
        ([link("n", 10), link("n", 10.1, conn="7/leaf:2"), link("m", 10.2), link("k", 10.3)],
         [10, 10.1]),
        # What is not a leaf node has no other end here.
        ([link("n", 10, kind="route"), link("m", 10, kind="route")], [10, 10]),
    ],
    ids=range(9),
)  # fmt: skip
def test_a_connection_to_a_leaf_node_is_told_once_though_both_servers_log_its_end(links, told):
    found = [each for each in findings(links=links) if each.rule == "links"]
    assert sum(each.rows for each in found) == len(told)
    for seconds in told:
        assert any(text(seconds) in each.message for each in found) or len(found) < len(told)


def test_a_leaf_node_that_is_a_cause_is_not_told_again():
    """Neither of the two servers that log the end of its connection."""
    links = [link("n", 10), link("m", 10.2)]
    gone = subscribed(0, 10, conn="7/leaf:1", identity=None, client=None)
    found = findings(links=links, subscriptions=[gone], undelivered=[lost(11, 12)])
    assert [each.rule for each in found] == ["undelivered"]
    other = subscribed(0, 10, conn="7/leaf:9", identity=None, client=None)
    found = findings(links=links, subscriptions=[other], undelivered=[lost(11, 12)])
    assert sorted(each.rule for each in found) == ["links", "undelivered"]


def slow(first: float | None, last: float | None, **more: Any) -> dict[str, Any]:
    usual = {"who": "b", "client": "b", "count": 1, "first": at(first), "last": at(last)}
    return row("slow_consumers", **{**usual, **more})


@pytest.mark.parametrize(("first", "last", "cause"), [
    (10, 10, True), (11, 12, True), (11.01, 12, False), (8, 9, True), (8, 8.99, False),
    (5, 15, True),
])  # fmt: skip
def test_messages_lost_as_a_slow_consumer_was_cut_off_are_in_its_finding(first, last, cause):
    found = findings(subscriptions=[subscribed(0, 10)], slow_consumers=[slow(first, last)],
                     undelivered=[lost(13, 20), lost(12.5, 16, subject="tax.0", nearest="x",
                                                     differs_at=0)])  # fmt: skip
    reads = "b reads more slowly than the broker sends to it"
    told = {each.message for each in found}
    assert told == (
        {f"{reads}, and was cut off: no client received 6 messages to tax.0, tax.1"}
        if cause
        else {reads, UNTIL}
    )
    if cause:
        (one,) = found
        assert (one.count, one.rows) == (6, 3)
        assert (one.first, one.last) == (text(min(first, 12.5)), text(20))


def test_what_was_lost_before_a_slow_consumer_was_told_is_in_its_time():
    (one,) = findings(subscriptions=[subscribed(0, 10)], slow_consumers=[slow(10, 10)],
                      undelivered=[lost(5, 12)])  # fmt: skip
    assert (one.first, one.last, one.count) == (text(5), text(12), 3)


@pytest.mark.parametrize(("time", "other"), [
    (10, {"who": "x"}), (10, {"client": "x"}), (10, {"account": "X"}), (None, {}),
])  # fmt: skip
def test_another_slow_consumer_is_not_the_cause(time, other):
    found = findings(subscriptions=[subscribed(0, 10)], undelivered=[lost(11, 12)],
                     slow_consumers=[slow(time, time, **other)])  # fmt: skip
    assert len(found) == 2


@pytest.mark.parametrize("order", [1, -1])
def test_a_slow_consumer_with_several_users_is_the_cause_at_the_times_of_each(order):
    """The last of its rows was taken for all of them."""
    times = ((10, "u"), (50, "v"), (None, "w"))
    rows = [slow(time, time, user=user) for time, user in times[::order]]
    (one,) = findings(subscriptions=[subscribed(0, 10)], slow_consumers=rows,
                      undelivered=[lost(11, 12)])  # fmt: skip
    assert "was cut off: no client received 3 messages to tax.1" in one.message
    assert len(findings(subscriptions=[subscribed(0, 30)], slow_consumers=rows,
                        undelivered=[lost(31, 32)])) == 2  # fmt: skip


def misuse(accepted: int = 3, **more: Any) -> dict[str, list[dict[str, Any]]]:
    times = {"first": at(5), "last": at(6)}
    return {
        "refused": [row("refused", who="a", kind="publish", subject="r", count=5, first=at(1),
                        last=at(2), **more)],
        "cross_plane": [row("cross_plane", identity="a", plane="p", home_plane="h", count=2,
                            **times, **more)],
        "spoofed": [row("spoofed", who="a", claimed="b", subject="s", count=4, accepted=accepted,
                        first=at(7), last=at(9), **more)],
    }  # fmt: skip


def test_all_misuse_of_one_user_is_one_finding():
    """A refused spoof is among the refused messages, so it is counted once."""
    (found,) = findings(**misuse())
    assert found.message == (
        "a has no enforced rules: 3 kinds of misuse, 10 messages (other senders named, other "
        "planes used, refused by the broker)"
    )
    assert (found.level, found.count, found.rows, found.key) == ("error", 10, 3, ("a",))
    assert (found.first, found.last) == (text(1), text(9))
    assert (found.rule, found.witness, found.user) == ("spoofed", "s", "a")
    assert found.why == (
        "a sent as b; the broker accepted 3; a of plane h published on p; The broker refused a: "
        "publish"
    )
    assert found.instead.startswith("Give it a user of its own")


def test_misuse_that_was_refused_is_held_back():
    tables = misuse(accepted=0)
    del tables["cross_plane"]
    (found,) = findings(**tables)
    assert found.message == (
        "a is held back by the broker: 2 kinds of misuse, 5 messages (other senders named, "
        "refused by the broker)"
    )
    assert (found.level, found.count) == ("warning", 5)
    few = {**tables, "refused": [{**tables["refused"][0], "count": 1}]}
    assert findings(**few)[0].count == 4


@pytest.mark.parametrize("kind", ["refused", "cross_plane", "spoofed"])
def test_one_kind_of_misuse_stays_as_it_is(kind):
    tables = misuse()
    (found,) = findings(**{kind: tables[kind]})
    assert "kinds of misuse" not in found.message


def test_misuse_in_two_accounts_is_two_findings():
    one, two = misuse(account="A"), misuse(account="B")
    found = findings(**{name: one[name] + two[name] for name in one})
    assert sorted(each.key for each in found) == [("a", "A"), ("a", "B")]


def test_claims_and_violations_are_misuse_and_claims_are_not_counted():
    tables = {
        "claimed_users": [row("claimed_users", who="a", claimed="b", count=7)],
        "violations": [row("violations", kind="forbidden", who="a", subject="s", witness="s",
                           count=2)],
    }  # fmt: skip
    (found,) = findings(**tables)
    assert found.message == (
        "a has no enforced rules: 2 kinds of misuse, 2 messages (other users claimed, rules broken)"
    )


def claims(**more: Any) -> list[dict[str, Any]]:
    return [row("claimed_users", who="a", claimed="b", count=7, **more)]


def test_a_claim_without_an_account_is_of_the_only_account_of_its_user():
    others = [row("refused", who="x", kind="publish", subject="r", count=1, account="B"),
              row("cross_plane", identity="x", plane="p", home_plane="h", count=1,
                  account="B")]  # fmt: skip
    one = misuse(account="A")
    tables = {**one, "refused": [*one["refused"], others[0]],
              "cross_plane": [*one["cross_plane"], others[1]]}  # fmt: skip
    found = {each.key: each for each in findings(**tables, claimed_users=claims())}
    assert sorted(found) == [("a", "A"), ("x", "B")]
    assert "other users claimed" in found["a", "A"].message
    assert "4 kinds of misuse" in found["a", "A"].message


def test_a_claim_without_an_account_is_of_none_of_two():
    one, two = misuse(account="A"), misuse(account="B")
    tables = {name: one[name] + two[name] for name in one}
    found = findings(**tables, claimed_users=claims())
    assert len(found) == 3
    assert not any("other users claimed" in each.message for each in found)


def test_a_name_that_the_client_claims_itself_is_not_misuse():
    tables = misuse()
    claimed = [{**tables["spoofed"][0], "identity_source": "claimed"}]
    found = findings(spoofed=claimed, refused=tables["refused"])
    assert sorted((each.rule, each.level) for each in found) == [
        ("refused", "warning"), ("spoofed", "note"),
    ]  # fmt: skip


def test_a_name_and_what_it_did_are_cut():
    long = "n" * 100
    tables = {
        "spoofed": [row("spoofed", who=long, claimed=f"b\x1b{n}", subject=str(n), count=1,
                        accepted=1) for n in range(20)],
        "refused": [row("refused", who=long, kind="publish", subject="s", count=1)],
    }  # fmt: skip
    (found,) = findings(**tables)
    assert found.message.startswith("n" * 29 + "…" + "n" * 29 + " has no")
    assert len(found.why) <= 400
    assert found.why.isprintable()
    assert "n" * 31 not in found.why
