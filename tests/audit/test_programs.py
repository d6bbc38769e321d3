"""Programs that share a user are rows of their own, up to a number for each user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from test_trace_reference import compare
from trace_writer import Trace

from subtrie.acl import Permissions
from subtrie.audit import Questions, Run, audit, load_rules
from subtrie.audit._answers.sums import MANY, MOST_PROGRAMS


class Programs(Trace):
    """A log of programs that log in as one user of an account; each has a name of its own."""

    user = "app"

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.conns = {name: number for number, name in enumerate(names, 1)}

    def says(self, name: str, rest: str, level: str = "TRC") -> None:
        """Write a line about the connection of a program."""
        self.tick(0.001)
        conn = self.conns[name]
        self.lines.append(
            f"[7] {self.clock:%Y/%m/%d %H:%M:%S.%f} [{level}] 127.0.0.1:{4000 + conn} - "
            f'cid:{conn} - "v1:x:{name}" - "ACME/user:{self.user}" - {rest}'
        )


def picked(run: Run, table: str, *names: str) -> list[tuple[Any, ...]]:
    rows = (tuple(row[name] for name in names) for row in run.rows(table))
    return sorted(rows, key=str)


def of(trace: Trace, folder: Path) -> Run:
    (folder / "trace.log").write_text(trace.text())
    return audit([str(folder / "trace.log")], questions=Questions())


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    trace = Programs("web", "shop", "ship", "bill")
    trace.says("ship", "<<- [SUB orders.* 1]")
    trace.says("bill", "<<- [SUB orders.* 1]")
    for name in ("web", "shop", "shop"):
        trace.says(name, f"<<- [PUB orders.new r.{name} 2]")
        trace.says("ship", f"->> [MSG orders.new 1 r.{name} 2]")
        trace.says("bill", f"->> [MSG orders.new 1 r.{name} 2]")
    trace.says("bill", "<<- [PUB r.web 0]")
    for name, plane in (("web", "p1"), ("web", "p1"), ("shop", "p2")):
        trace.says(name, f"<<- [PUB {plane}.safe.443.app.b_com._.GET.x 0]")
    with of(trace, tmp_path) as found:
        yield found


def test_flows_name_the_programs_of_both_ends(run: Run) -> None:
    names = ("client", "subscriber_client", "published", "delivered")
    found = [row for row in picked(run, "flows", *names, "user", "subscriber_user", "publisher",
                                   "subscriber") if row[1]]  # fmt: skip
    assert found == [
        (*counts, "app", "app", "app", "app")
        for counts in (
            ("shop", "bill", 2, 2), ("shop", "ship", 2, 2),
            ("web", "bill", 1, 1), ("web", "ship", 1, 1),
        )
    ]  # fmt: skip


def test_the_latency_of_each_program_is_its_own(run: Run) -> None:
    found = picked(run, "latency", "client", "user", "requester", "count", "unanswered")
    assert found == [("shop", "app", "app", 0, 2), ("web", "app", "app", 1, 0)]


def test_subscriptions_name_the_program_and_what_proves_its_user(run: Run) -> None:
    found = picked(run, "subscriptions", "client", "user", "identity", "identity_source")
    assert found == [("bill", "app", "app", "user"), ("ship", "app", "app", "user")]


def test_the_plane_of_a_user_is_that_of_all_its_programs(run: Run) -> None:
    found = picked(run, "cross_plane", "client", "user", "plane", "home_plane", "count")
    assert found == [("shop", "app", "p2", "p1", 1)]


@pytest.mark.parametrize("count", [MOST_PROGRAMS, MOST_PROGRAMS + 1])
def test_more_programs_of_one_user_than_a_number_are_one_row(tmp_path: Path, count: int) -> None:
    """A name with a random part has no row for each start of its program."""
    names = [f"web-{number}" for number in range(count)]
    trace = Programs("ship", *names)
    trace.says("ship", "<<- [SUB orders.* 1]")
    for number, name in enumerate(names):  # of many subjects, which are in many buckets
        trace.says(name, f"<<- [PUB orders.{number} r.{number} 2]")
        trace.says("ship", f"->> [MSG orders.{number} 1 r.{number} 2]")
    apart = count <= MOST_PROGRAMS
    with of(trace, tmp_path) as run:
        for table, sums in (("flows", "published"), ("latency", "unanswered")):
            rows = picked(run, table, "client", sums)
            assert rows == [(name, 1) for name in sorted(names)] if apart else [(MANY, count)]


def test_the_name_of_a_client_without_a_language_is_that_of_its_connect(tmp_path: Path) -> None:
    """The line that says that it is slow had no client: what the server prints has no place."""
    front = "[7] 2026/11/21 08:00:00.{:06} [{}] 127.0.0.1:41 - cid:1 - "
    lines = (
        ("TRC", '<<- [CONNECT {"user":"app","name":"web","version":"1"}]'),
        ("TRC", '"v1:web" - "$G/user:app" - <<- [SUB a.b 1]'),
        ("TRC", '"v1:web" - "$G/user:app" - <<- [PUB a.c 0]'),
        ("INF", '"v1:web" - "$G/user:app" - Slow Consumer Detected: MaxPending of 9 Exceeded'),
    )
    data = "".join(
        front.format(at, level) + rest + "\n" for at, (level, rest) in enumerate(lines)
    ).encode()
    compare(data)
    (tmp_path / "trace.log").write_bytes(data)
    with audit([str(tmp_path / "trace.log")], questions=Questions()) as run:
        for table in ("slow_consumers", "subscriptions", "flows", "logins"):
            assert picked(run, table, "user", "client") == [("app", "web")], table


def two_programs(folder: Path) -> tuple[Trace, Questions]:
    """Two programs ask a third one, and one does and subscribes what the rules do not allow."""
    rules = folder / "nats.conf"
    rules.write_text(
        "accounts { ACME: { users: [ { user: app.com, password: x, permissions: { "
        'publish: ["p1.safe.443.app_com.b_com.*.GET.x", "log.>"], '
        'subscribe: ["a.>", "p1.>"] } } ] } }'
    )
    trace = Programs("web", "shop", "b.com")
    trace.user = "app.com"
    trace.says("b.com", "<<- [SUB p1.safe.443.*.b_com._.GET.x 1]")
    for name, count in (("web", 1), ("shop", 2)):
        for _ in range(count):
            trace.says(name, "<<- [PUB p1.safe.443.app_com.b_com._.GET.x 0]")
            trace.says("b.com", "->> [MSG p1.safe.443.app_com.b_com._.GET.x 1 0]")
    trace.says("shop", "<<- [PUB other 0]")
    trace.says("web", "<<- [PUB log.x 0]")
    trace.says("web", "<<- [SUB a.b 1]")
    trace.says("shop", "<<- [SUB elsewhere 1]")
    trace.says("shop", "<<- [SUB nowhere 2]")
    trace.says("shop", 'Subscription Violation - Subject "nowhere", SID 2', "ERR")
    return trace, Questions(rules=load_rules([rules]), min_days=1, min_sources=1)


PROOF = ("client", "user", "identity_source")


def test_usage_and_proposals_name_the_program_and_what_proves_its_user(tmp_path: Path) -> None:
    """They had one row for all programs of a user, and did not say who it was."""
    trace, questions = two_programs(tmp_path)
    (tmp_path / "trace.log").write_text(trace.text())
    shop, web = ("shop", "app.com", "user"), ("web", "app.com", "user")
    address = "p1.safe.443.app_com.b_com._.GET.x"
    with audit([str(tmp_path / "trace.log")], questions=questions) as run:
        used = picked(run, "permission_usage", "verb", "rule", *PROOF, "accepted", "refused")
        assert used == sorted([
            ("publish", "p1.safe.443.app_com.b_com.*.GET.x", *shop, 2, 0),
            ("publish", "p1.safe.443.app_com.b_com.*.GET.x", *web, 1, 0),
            ("publish", "log.>", *web, 1, 0),
            ("publish", None, *shop, 1, 0),
            ("subscribe", "a.>", *web, 1, 0),
            ("subscribe", "p1.>", "b.com", "app.com", "user", 1, 0),
            ("subscribe", None, *shop, 1, 1),
        ], key=str)  # fmt: skip
        rules = picked(run, "proposal", "verb", "rule", *PROOF, "count", "days")
        assert rules == [
            ("publish", address, *shop, 2, 1), ("publish", address, *web, 1, 1),
            ("subscribe", "a.b", *web, 1, 1),
            ("subscribe", address.replace("app_com", "*"), "b.com", "app.com", "user", 1, 1),
        ]  # fmt: skip
        thin = picked(run, "too_thin", "pattern", "why", *PROOF)
        assert thin == [("log.x", "not a Microbus request", *web)]
        wrong = picked(run, "violations", "kind", "subject", *PROOF, "count")
        assert wrong == [
            ("forbidden", "other", *shop, 1), ("forbidden_subscription", "elsewhere", *shop, 1),
        ]  # fmt: skip


def test_a_user_who_may_do_nothing_has_rules(tmp_path: Path) -> None:
    """Its messages and subscriptions were not judged, as if its rules were not given."""
    trace, _ = two_programs(tmp_path)
    (tmp_path / "trace.log").write_text(trace.text())
    rules = tmp_path / "app.com.json"
    rules.write_text('{"subtrie": 1, "publish_allow": [], "subscribe_allow": []}')
    questions = Questions(rules=load_rules([f"app.com={rules}"]))
    with audit([str(tmp_path / "trace.log")], questions=questions) as run:
        wrong = picked(run, "violations", "kind", "subject", "rule", "client", "count")
        assert wrong == sorted([
            *(("forbidden", "p1.safe.443.app_com.b_com._.GET.x", None, *each)
              for each in (("shop", 2), ("web", 1))),
            ("forbidden", "log.x", None, "web", 1), ("forbidden", "other", None, "shop", 1),
            *(("forbidden_subscription", pattern, None, name, 1) for pattern, name in (
                ("a.b", "web"), ("elsewhere", "shop"), ("p1.safe.443.*.b_com._.GET.x", "b.com"))),
        ], key=str)  # fmt: skip
        used = picked(run, "permission_usage", "verb", "effect", "rule", "client", "accepted")
        assert used == [
            *(("publish", "none", None, *each) for each in (("shop", 3), ("web", 2))),
            *(("subscribe", "none", None, name, 1) for name in ("b.com", "shop", "web")),
        ]  # fmt: skip
        assert run.count("proposal") == 0


def test_evidence_of_the_programs_of_a_user_adds_up_to_the_days_of_a_rule(tmp_path: Path) -> None:
    """Each asks on one day; the rule is that of their user."""
    trace, questions = two_programs(tmp_path)
    text = trace.text()
    day, later = f"{trace.clock:%Y/%m/%d}", f"{trace.clock:%Y/%m}/28"
    assert day != later
    shop = text.index("cid:2")
    (tmp_path / "trace.log").write_text(text[:shop] + text[shop:].replace(day, later))
    asked = replace(questions, min_days=2)
    with audit([str(tmp_path / "trace.log")], questions=asked) as run:
        rules = picked(run, "proposal", "verb", "client", "days")
        assert [each for each in rules if each[0] == "publish"] == [
            ("publish", "shop", 1), ("publish", "web", 1),
        ]  # fmt: skip


def test_usage_and_proposals_of_programs_are_the_same_on_spark(spark: Any, tmp_path: Path) -> None:
    from subtrie.spark import audit as on_spark

    trace, questions = two_programs(tmp_path)
    (tmp_path / "trace.log").write_text(trace.text())
    logs, asked = [str(tmp_path / "trace.log")], {"questions": questions}
    with audit(logs, **asked) as here, on_spark(spark, logs, **asked) as there:
        for name in ("permission_usage", "proposal", "too_thin", "violations"):
            assert here.count(name)
            assert list(here.rows(name)) == list(there.rows(name)), name


@pytest.mark.parametrize("count", [MOST_PROGRAMS, MOST_PROGRAMS + 1])
def test_more_programs_than_a_number_are_one_row_of_each_rule(tmp_path: Path, count: int) -> None:
    _, questions = two_programs(tmp_path)
    names = [f"web-{number}" for number in range(count)]
    trace = Programs(*names)
    trace.user = "app.com"
    for number, name in enumerate(names):
        trace.says(name, f"<<- [PUB orders.{number} 0]")
        trace.says(name, f"<<- [PUB log.{number} 0]")
        trace.says(name, f"<<- [SUB a.{number} 1]")
    trace.says("web-0", "<<- [SUB nowhere 2]")
    trace.says("web-0", 'Subscription Violation - Subject "nowhere", SID 2', "ERR")
    (tmp_path / "trace.log").write_text(trace.text())
    with audit([str(tmp_path / "trace.log")], questions=questions) as run:
        for table in ("permission_usage", "violations", "proposal", "too_thin"):
            names_of = {row["client"] for row in run.rows(table) if row["user"]}
            assert len(names_of) == (count if count <= MOST_PROGRAMS else 1), table
            assert MANY not in names_of or names_of == {MANY}


def test_the_sums_of_a_small_log_are_exact(tmp_path: Path) -> None:
    """Each column of a flow and of a latency, and the times of its first and last message."""
    trace = Programs("a", "b", "s", "q")
    moments: list[Any] = []

    def says(name: str, rest: str) -> None:
        trace.says(name, rest)
        moments.append(trace.clock.replace(tzinfo=UTC))

    says("s", "<<- [SUB orders.* 1]")
    says("q", "<<- [SUB orders.* g 1]")
    for name, size in (("a", 2), ("a", 6), ("b", 4)):  # at 2, 5, and 8
        says(name, f"<<- [PUB orders.1 {size}]")
        says("s", f"->> [MSG orders.1 1 {size}]")
        says("q", f"->> [MSG orders.1 1 {size}]")
    for _ in range(2):  # at 11 and 12
        says("a", "<<- [PUB lost.x 3]")
    for reply, answered in (("r.1", True), ("r.2", False)):  # at 13 and 16
        says("a", f"<<- [PUB orders.2 {reply} 1]")
        says("s", f"->> [MSG orders.2 1 {reply} 1]")
        if answered:
            says("s", f"<<- [PUB {reply} 5]")
    columns = ("client", "pattern", "subscriber_client", "queue", "published", "delivered",
               "undelivered", "bytes", "first", "last", "rate")  # fmt: skip
    with of(trace, tmp_path) as run:
        flows = {row[:4]: row[4:] for row in picked(run, "flows", *columns)}
        latency = picked(run, "latency", "client", "subject", "responder", "count", "p50", "p99",
                         "unanswered", "errors")  # fmt: skip
    rate = {"start": moments[11].replace(microsecond=0), "width_s": 1, "counts": [2]}
    at = moments.__getitem__
    one = {"start": moments[15].replace(microsecond=0), "width_s": 1, "counts": [1]}
    assert flows == {
        ("a", "orders.*", "s", None): (4, 4, 0, 10, at(2), at(16), None),
        ("a", "orders.*", "q", "g"): (2, 2, 0, 8, at(2), at(5), None),
        ("b", "orders.*", "s", None): (1, 1, 0, 4, at(8), at(8), None),
        ("b", "orders.*", "q", "g"): (1, 1, 0, 4, at(8), at(8), None),
        ("a", "lost.x", None, None): (2, 0, 2, 6, at(11), at(12), rate),
        ("s", "r.*", None, None): (1, 0, 1, 5, at(15), at(15), one),
    }
    assert latency == [
        ("a", "orders.*", "app", 1, 2000, 2000, 0, None),
        ("a", "orders.*", None, 0, None, None, 1, None),
    ]


def test_a_forbidden_message_is_shown_by_the_least_of_its_subjects(tmp_path: Path) -> None:
    """Each was published once; the earliest is another one."""
    trace = Programs("a")
    for number in (2, 1, 3):
        trace.says("a", f"<<- [PUB orders.{number} 0]")
    (tmp_path / "trace.log").write_text(trace.text())
    for rules, rule in (
        (Permissions(publish_deny=("orders.>",)), "orders.>"),
        (Permissions(publish_allow=("orders.1.x",)), "orders.1.x"),
    ):
        with audit([str(tmp_path / "trace.log")], questions=Questions(rules={"app": rules})) as run:
            assert picked(run, "violations", "kind", "subject", "witness", "rule", "count") == [
                ("forbidden", "orders.*", "orders.1", rule, 3)
            ]
