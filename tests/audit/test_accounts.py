"""Accounts are apart in every table: equal subjects of two accounts are never joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.audit import Questions, Run, audit
from subtrie.report._findings import all_findings

#: The account and the login of each connection.
OF = {1: "ACME", 2: "ACME", 3: "GLOBEX", 4: "GLOBEX"}


class AccountTrace(Trace):
    """A log of clients of two accounts."""

    def write(self, conn: int, rest: str, **more: Any) -> None:
        super().write(conn, rest, login=f"{OF[conn]}/user:u{conn}", **more)
        self.tick(0.001)


def two_accounts() -> Trace:
    """Return a log in which ACME has a subscriber of what GLOBEX alone publishes, and more."""
    trace = AccountTrace()
    trace.subscribe(2, "orders.*", "1")
    trace.subscribe(4, "audit.>", "1")
    # GLOBEX has no subscriber of orders; a message of the same size is on its way in ACME
    trace.publish(1, "orders.new", "aa")
    trace.publish(3, "orders.new", "bb")
    trace.deliver(2, "orders.new", "1", "aa")
    trace.publish(3, "orders.new", "cc")
    trace.publish(3, "orders.new", "dd")
    # an answer on a reply subject that both accounts use
    trace.publish(1, "ask", "q", "r.1")
    trace.publish(3, "r.1", "a")
    return trace


def run_of(trace: Trace, tmp_path: Path, questions: Questions | None = None) -> Run:
    path = tmp_path / "trace.log"
    path.write_text(trace.text())
    return audit([str(path)], questions=questions)


def picked(run: Run, table: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in run.rows(table)]


@pytest.fixture
def run(tmp_path):
    with run_of(two_accounts(), tmp_path, Questions()) as found:
        yield found


def test_a_subscriber_in_another_account_receives_nothing(run) -> None:
    flows = picked(run, "flows", "account", "publisher", "pattern", "subscriber", "published",
                   "delivered", "undelivered")  # fmt: skip
    assert ("ACME", "u1", "orders.*", "u2", 1, 1, 0) in flows
    assert ("GLOBEX", "u3", "orders.new", None, 3, 0, 3) in flows
    assert not [row for row in flows if row[0] == "GLOBEX" and row[3] is not None]


def test_equal_subjects_are_rows_of_their_own(run) -> None:
    assert picked(run, "hot_subjects", "account", "subject", "published") == [
        ("ACME", "ask", 1),
        ("ACME", "orders.new", 1),
        ("GLOBEX", "orders.new", 3),
        ("GLOBEX", "r.1", 1),
    ]
    assert picked(run, "fan_out", "account", "subject", "delivered") == [("ACME", "orders.new", 1)]
    assert ("GLOBEX", "orders.new", 3) in picked(
        run, "other_traffic", "account", "subject", "count"
    )


def test_a_subscription_matches_messages_of_its_account(run) -> None:
    assert picked(run, "coverage", "account", "pattern", "matched", "delivered") == [
        ("GLOBEX", "audit.>", 0, 0),
        ("ACME", "orders.*", 1, 1),
    ]
    assert picked(run, "subscriptions", "account", "pattern") == [
        ("ACME", "orders.*"),
        ("GLOBEX", "audit.>"),
    ]


def test_an_answer_in_another_account_is_none(run) -> None:
    assert picked(run, "latency", "account", "subject", "responder", "unanswered") == [
        ("ACME", "ask", None, 1)
    ]


def test_who_receives_a_subject_is_asked_for_each_account(tmp_path) -> None:
    trace = two_accounts()
    trace.subscribe(4, "orders.new", "2")
    with run_of(trace, tmp_path, Questions(subject="orders.new")) as run:
        assert picked(run, "history", "account", "receivers") == [
            *(("ACME", "u2"), ("GLOBEX", ""), ("GLOBEX", "u4"))
        ]


PLANE = "p1.safe.443.{}.orders_core._.POST.create"


def microbus() -> Trace:
    trace = AccountTrace()
    trace.subscribe(2, "p1.safe.443.*.orders_core._.POST.create", "1")
    trace.publish(1, PLANE.format("web_core"))
    trace.deliver(2, PLANE.format("web_core"), "1")
    trace.publish(3, PLANE.format("web_core"))
    return trace


def test_undelivered_in_one_account_is_not_hidden_by_another(tmp_path) -> None:
    with run_of(microbus(), tmp_path) as run:
        assert picked(
            run, "undelivered", "account", "count", "nearest", "subscription_inactive"
        ) == [("GLOBEX", 1, None, False)]
        assert picked(run, "call_graph", "account", "delivered", "undelivered", "route") == [
            ("GLOBEX", 0, 1, None),
            ("ACME", 1, 0, "create"),
        ]


def test_the_nearest_pattern_is_one_of_the_account(tmp_path) -> None:
    trace = microbus()
    trace.subscribe(4, "p1.safe.443.*.orders_core._.POST.cancel", "1")
    trace.publish(3, PLANE.format("web_core"))
    with run_of(trace, tmp_path) as run:
        assert picked(run, "undelivered", "nearest", "differs_at") == [
            ("p1.safe.443.*.orders_core._.POST.cancel", 7)
        ]


def test_an_imported_message_is_a_flow_of_its_publisher(tmp_path) -> None:
    """GLOBEX imports orders of ACME, and publishes some, too."""
    trace = AccountTrace()
    trace.subscribe(2, "orders.*", "1")
    trace.subscribe(4, "orders.>", "1")
    for payload in ("a", "bb", "ccc"):
        trace.publish(1, "orders.new", payload)
        trace.deliver(2, "orders.new", "1", payload)
        trace.deliver(4, "orders.new", "1", payload)
    trace.publish(3, "orders.new", "dddd")
    trace.deliver(4, "orders.new", "1", "dddd")
    with run_of(trace, tmp_path, Questions()) as run:
        assert run.summary["unmatched"] == 0
        assert picked(
            run, "flows", "account", "publisher", "pattern", "subscriber", "delivered"
        ) == [
            ("ACME", "u1", "orders.*", "u2", 3),
            ("ACME", "u1", "orders.>", "u4", 3),
            ("GLOBEX", "u3", "orders.>", "u4", 1),
        ]


def test_findings_about_one_name_in_two_accounts_are_two(tmp_path) -> None:
    trace = AccountTrace()
    for conn in (1, 3):
        trace.subscribe(conn, f"p1.safe.443.*.orders_core._.POST.own{conn}", "1")
        for subject in (PLANE.format("web_core"), "p2" + PLANE.format("web_core")[2:]):
            login = f"{OF[conn]}/user:shop.core"
            for rest in (f"<<- [PUB {subject} 2]", '<<- MSG_PAYLOAD: ["hi"]'):
                Trace.write(trace, conn, rest, login=login)
        Trace.write(trace, conn, f'Publish Violation - Subject "{subject}"', level="ERR",
                    login=login)  # fmt: skip
    with run_of(trace, tmp_path) as run:
        found = [each for each in all_findings(run) if each.user == "shop.core"]
    assert [each.count for each in found] == [2, 2]
    assert len({each.message for each in found}) == 1
    assert {each.key for each in found} == {("shop.core", "ACME"), ("shop.core", "GLOBEX")}
    assert all("kinds of misuse" in each.message for each in found)


def test_accounts_that_are_not_told_can_be_any(tmp_path) -> None:
    """As in the log of a server that prints them for some connections only."""
    trace = Trace()
    trace.subscribe(2, "orders.*", "1")
    trace.write(1, "<<- [PUB orders.new 2]", login="ACME/user:u1")
    trace.write(1, '<<- MSG_PAYLOAD: ["hi"]', login="ACME/user:u1")
    trace.deliver(2, "orders.new", "1")
    with run_of(trace, tmp_path, Questions()) as run:
        assert picked(run, "coverage", "account", "matched", "delivered") == [(None, 1, 1)]
        assert picked(run, "flows", "publisher", "subscriber", "delivered") == [
            ("u1", "7/client:2", 1)
        ]
