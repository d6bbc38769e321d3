"""Programs that share a user are rows of their own, up to a number for each user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_trace_reference import compare
from trace_writer import Trace

from subtrie.audit import Questions, Run, audit
from subtrie.audit._answers.sums import MANY, MOST_PROGRAMS


class Programs(Trace):
    """A log of programs that log in as one user of an account; each has a name of its own."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.conns = {name: number for number, name in enumerate(names, 1)}

    def says(self, name: str, rest: str) -> None:
        """Write a line about the connection of a program."""
        self.tick(0.001)
        conn = self.conns[name]
        self.lines.append(
            f"[7] {self.clock:%Y/%m/%d %H:%M:%S.%f} [TRC] 127.0.0.1:{4000 + conn} - cid:{conn} - "
            f'"v1:x:{name}" - "ACME/user:app" - {rest}'
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
