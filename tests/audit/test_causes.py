"""Findings by their cause, and how they are printed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trace_writer import Trace

from subtrie._cli import audit_tables
from subtrie._findings.finding import Finding
from subtrie.audit import TABLES, Questions, audit, verdict
from subtrie.report._causes import Judged, by_identity
from subtrie.report._findings import all_findings

TAX = "tax.1"


def stopped(*, again: bool) -> Trace:
    """Return a log in which a subscriber was gone for two of five messages."""
    trace = Trace()
    trace.write(2, "<<- [SUB tax.* 1]", login="$G/user:taxes")
    for number in range(5):
        trace.tick(2)
        if number == 2:
            trace.write(2, "<<- [UNSUB 1 ]", login="$G/user:taxes")
        if number == 4:
            if not again:
                break
            trace.write(2, "<<- [SUB tax.* 1]", login="$G/user:taxes")
        trace.write(1, f"<<- [PUB {TAX} 2]", login="$G/user:web")
        trace.write(1, '<<- MSG_PAYLOAD: ["hi"]', login="$G/user:web")
        if number not in (2, 3):
            trace.deliver(2, TAX, "1")
    return trace


def test_a_reply_that_came_too_late_is_named(tmp_path):
    """It was advised that the requester reconnects sooner."""
    trace = Trace()
    trace.write(2, "<<- [SUB quote 1]", login="$G/user:quotes")
    for number in range(3):
        inbox = f"_INBOX.Xq{number}dLw9sT4vB1nZ7kR2mYc"
        trace.write(1, f"<<- [SUB {inbox} {number}]", login="$G/user:report")
        trace.write(1, f"<<- [PUB quote {inbox} 0]", login="$G/user:report")
        trace.write(2, f"->> [MSG quote 1 {inbox} 0]", login="$G/user:quotes")
        trace.tick(0.1)
        trace.write(1, f"<<- [UNSUB {number} ]", login="$G/user:report")
        trace.tick(2)
        trace.write(2, f"<<- [PUB {inbox} 2]", login="$G/user:quotes")
        trace.write(2, '<<- MSG_PAYLOAD: ["42"]', login="$G/user:quotes")
        trace.tick(2)
    log = tmp_path / "trace.log"
    log.write_text(trace.text())
    with audit([str(log)], questions=Questions()) as run:
        [finding] = [each for each in all_findings(run) if each.rule == "flows"]
    assert (finding.message, finding.count) == (
        "quotes replied when the requester did not wait any longer", 3,
    )  # fmt: skip
    assert finding.instead.startswith("Answer sooner, or let the requester wait longer")


@pytest.mark.parametrize("again", [True, False])
def test_messages_lost_while_their_subscriber_was_gone_are_in_the_verdict(tmp_path, again):
    """The same subject was received before, so the verdict was ``no findings``."""
    log = tmp_path / "trace.log"
    log.write_text(stopped(again=again).text())
    with audit([str(log)], questions=Questions()) as run:
        assert verdict(run) == "2 undelivered"
        [finding] = all_findings(run)
        received, lost = sorted(run.rows("flows"), key=lambda row: row["subscriber"] is None)
    assert (finding.level, finding.count) == ("warning", 2)
    told = "web published while no client received it: taxes "
    told += (
        "did not subscribe tax.* from 2026-11-21T08:00:06.000000Z to 2026-11-21T08:00:10.000000Z"
        if again
        else "subscribed tax.* until 2026-11-21T08:00:06.000000Z"
    )
    assert finding.message == told
    assert (finding.first, finding.last) == (
        "2026-11-21T08:00:06.000000Z", "2026-11-21T08:00:08.000000Z",
    )  # fmt: skip
    names = ("published", "delivered", "undelivered", "bytes")
    assert [received[name] for name in names] == ([3, 3, 0, 6] if again else [2, 2, 0, 4])
    assert [lost[name] for name in names] == [2, 0, 2, 4]


@pytest.mark.parametrize("seconds", [0.9, 1.1])
def test_a_slow_consumer_is_the_cause_if_its_connection_ended_at_once(tmp_path, seconds):
    trace = Trace()
    login = "$G/user:billing"
    trace.write(2, "<<- [SUB tax.* 1]", login=login)
    trace.write(1, f"<<- [PUB {TAX} 2]", login="$G/user:web")
    trace.deliver(2, TAX, "1")
    trace.tick(2)
    trace.write(
        2, "Slow Consumer Detected: WriteDeadline of 10s exceeded", level="INF", login=login
    )
    trace.tick(seconds)
    trace.write(2, "Client connection closed: Slow Consumer", level="DBG", login=login)
    trace.tick(2)
    trace.write(1, f"<<- [PUB {TAX} 2]", login="$G/user:web")
    log = tmp_path / "trace.log"
    log.write_text(trace.text())
    with audit([str(log)], questions=Questions()) as run:
        found = {each.rule: each for each in all_findings(run)}
    cut = "was cut off: no client received 1 messages to tax.*"
    assert (cut in found["slow_consumers"].message) is (seconds < 1)
    assert len(found) == (1 if seconds < 1 else 2)


def judged(rule: str, account: str | None, level: str = "error") -> Judged:
    return Judged(Finding(rule, level, f"{rule} of {account}", user="u", count=1), account=account)


def test_misuse_without_an_account_is_that_of_the_only_account() -> None:
    connect, one, two = (
        judged("claimed_users", None),
        judged("refused", "A"),
        judged("refused", "B"),
    )
    assert len(by_identity([connect, one])) == 1
    found = by_identity([connect, one, two])
    assert sorted(each.message for each in found) == [
        "claimed_users of None", "refused of A", "refused of B",
    ]  # fmt: skip


def test_a_note_about_an_identity_is_a_finding_of_its_own() -> None:
    rules = ("spoofed", "violations")
    levels = [("error", "warning"), ("error", "note"), ("note", "note")]
    found = [
        by_identity([judged(rule, "A", level) for rule, level in zip(rules, each, strict=True)])
        for each in levels
    ]
    assert [len(each) for each in found] == [1, 2, 2]


def spoofing(login: str) -> Trace:
    """Return a log in which a client sends as another, which the broker accepts or refuses."""
    trace = Trace()
    trace.subscribe(2, "p1.safe.443.*.b_com._.GET.x", "1")
    for source in ("c_com", "d_com"):
        trace.write(1, f"<<- [PUB p1.safe.443.{source}.b_com._.GET.x 0]", login=login)
    trace.write(1, "<<- [PUB p1.safe.443.e_com.b_com._.GET.x 0]", login=login)
    refused = 'Publish Violation - Subject "p1.safe.443.e_com.b_com._.GET.x"'
    trace.write(1, refused, level="ERR", login=login)
    return trace


def test_all_misuse_of_an_identity_is_one_finding(tmp_path):
    """It was one for each name that it claimed, and one more for each kind of refusal."""
    log = tmp_path / "trace.log"
    log.write_text(spoofing("$G/user:a.com").text())
    with audit([str(log)]) as run:
        found = [each for each in all_findings(run) if each.user == "a.com"]
    [finding] = found
    assert (finding.level, finding.count) == ("error", 3)
    assert finding.message == (
        "a.com has no enforced rules: 2 kinds of misuse, 3 messages "
        "(other senders named, refused by the broker)"
    )
    assert "a.com sent as c.com; the broker accepted 1" in finding.why
    assert "subtrie gencreds" in finding.instead


@pytest.mark.requirement("A82")
def test_a_name_that_the_client_chose_is_not_an_accusation(tmp_path):
    log = tmp_path / "trace.log"
    lines = [each.replace('"v1:x"', '"v1:x:a.com"') for each in spoofing("").lines]
    log.write_text("\n".join([*lines, ""]))
    with audit([str(log)]) as run:
        assert "spoofed and accepted" not in verdict(run)
        assert "2 accepted under another name than the client's own" in verdict(run)
        assert {each.level for each in all_findings(run) if each.rule == "spoofed"} == {"note"}


def printed(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    console = Console(width=80, file=text, force_terminal=True, color_system=None)
    same = frozenset(c for c in columns if len({row[c] for row in rows}) == 1)
    audit_tables._rich_table(console, "Title", columns, rows, same)
    return text.getvalue()


@pytest.mark.parametrize("name", [name for name in TABLES if name != "runs"])
def test_headings_are_words_at_80_columns(name):
    hidden = {*audit_tables._WIDE, "window"}
    columns = [c for c in TABLES[name] if c not in hidden]
    some = ("orders.eu.created", "a-service-with-a-long-name")
    rows = [dict.fromkeys(columns, 1234 + at) | {columns[0]: text} for at, text in enumerate(some)]
    heading = next(line for line in printed(tuple(columns), rows).splitlines() if "┃" in line)
    assert "…" not in heading
    words = heading.split("┃")
    assert len(set(words)) == len(words) - 1  # the first and the last are empty


def test_headings_of_flows_are_words_beside_long_texts():
    """Thirteen columns of long texts had more than 80 characters, and the last heading was cut."""
    columns = tuple(c for c in TABLES["flows"] if c not in audit_tables._WIDE)
    numbers = ("published", "delivered", "undelivered", "per_minute")
    rows = [{c: 1234 + at if c in numbers else f"{c}-of-a-long-name-{at}" for c in columns}
            for at in range(2)]  # fmt: skip
    lines = printed(columns, rows).splitlines()
    heading = next(line for line in lines if "┃" in line)
    assert "…" not in heading
    assert len(heading) <= 80
    assert all(str(row["published"]) in lines[at] for row, at in zip(rows, (-3, -2), strict=True))


def test_a_column_of_one_value_goes_into_the_title():
    rows = [{"kind": "nats", "subject": each} for each in ("a", "b")]
    assert "Title, kind nats" in " ".join(printed(("kind", "subject"), rows).split())
    assert "nats" in printed(("kind",), [{"kind": "nats"}] * 2)


def test_a_value_of_the_shown_rows_alone_does_not_go_into_the_title(tmp_path):
    """The title said 'undelivered 0' of a table whose other rows had undelivered messages."""
    trace = Trace()
    trace.subscribe(2, "orders.*", "1")
    for _ in range(3):
        for name in ("orders.a", "lost.b"):
            trace.tick(2)
            trace.publish(1, name)
            if name == "orders.a":
                trace.deliver(2, name, "1")
        trace.tick(2)
        trace.publish(1, "orders.a")
        trace.deliver(2, "orders.a", "1")
    log = tmp_path / "trace.log"
    log.write_text(trace.text())
    with audit([str(log)], questions=Questions()) as run:
        total, rows, same = audit_tables._largest(run, "flows", 1)
    assert (total, [row["undelivered"] for row in rows]) == (2, [0])
    assert "publisher" in same
    assert "undelivered" not in same


def test_each_count_says_whether_it_is_bad(run, tmp_path: Path):
    log = tmp_path / "trace.log"
    trace = stopped(again=True)
    trace.deliver(2, "late.1", "1")
    log.write_text(trace.text() + "something else\n")
    told = run(log).output
    assert "unmatched deliveries: 1 (no fault: " in told
    assert "+ 1 unparseable (bad: " in told
    assert "ambiguous delivery windows: 0\n" in told
    assert "from 2026-11-21 08:00:06.000 to 08:00:08.000" in told
    assert "→ Let the subscriber reconnect sooner" in told


def test_a_leaf_node_receives_what_is_sent_to_it_only(tmp_path):
    """The messages had a row without a subscriber, as those that are lost."""
    trace = Trace()
    for number in range(3):
        trace.tick(2)
        trace.write(1, "<<- [PUB cmd.edge.start 2]", login="$G/user:web")
        if number:
            front = f"[7] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [TRC] 127.0.0.1:1 - lid:9 - "
            trace.lines.append(f"{front}->> [LMSG cmd.edge.start 2]")
    log = tmp_path / "trace.log"
    log.write_text(trace.text())
    with audit([str(log)], questions=Questions()) as run:
        rows = {row["subscriber"]: row for row in run.rows("flows")}
        assert verdict(run) == "1 undelivered"
    names = ("published", "delivered", "undelivered", "bytes")
    assert [rows["other servers"][name] for name in names] == [2, 2, 0, 4]
    assert [rows[None][name] for name in names] == [1, 0, 1, 2]
