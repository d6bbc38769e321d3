"""Usage, violations, gap and receivers of worlds of another generator, message by message."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from mesh import HOSTS, Mesh, Message, fits, flat, may

from subtrie.audit._answers.questions import load_code, load_rules
from subtrie.audit._answers.receivers import at_rows
from subtrie.audit._answers.tables import matching_rows
from subtrie.spark import Questions, audit

Row = dict[str, Any]


class Second(NamedTuple):
    """A world, and the answers about it."""

    world: Mesh
    tables: dict[str, list[Row]]


@pytest.fixture(scope="module", params=[7, 77])
def second(request: Any, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Second:
    folder = tmp_path_factory.mktemp("mesh")
    world = Mesh(request.param)
    world.write(folder)
    rules = load_rules(sorted((folder / "rules").iterdir()))
    questions = Questions(rules=rules, code=load_code([folder / "code"]))
    with audit(spark, [str(folder / "nats.log")], questions=questions) as found:
        names = ("permission_usage", "violations", "gap", "subscriptions")
        return Second(world, {name: list(found.rows(name)) for name in names})


def test_the_world_has_all_that_is_asked_for(second: Second) -> None:
    assert {row["kind"] for row in second.tables["violations"]} == {
        "forbidden", "forbidden_subscription", "spoofed", "cross_plane",
    }  # fmt: skip
    findings = {row["finding"] for row in second.tables["gap"]}
    assert findings >= {"ok", "never called", "not in code", "refused", "rule only", "denied"}
    assert {message.accepted for message in second.world.messages} == {True, False}


@pytest.mark.requirement("P-04")
def test_the_usage_of_each_rule(second: Second) -> None:
    world = second.world
    found = {
        (row["service"], row["verb"], row["effect"], row["rule"]): tuple(
            row[name] for name in ("accepted", "refused", "decided", "days", "last")
        )
        for row in second.tables["permission_usage"]
    }
    expected: dict[Any, Any] = {}
    for host, rules in world.rules.items():
        sent = [(m.subject, m.accepted, m.at) for m in world.messages if m.who == host]
        made = [(s.pattern, s.accepted, s.start) for s in world.subscriptions if s.who == host]
        publish = [("deny", rule) for rule in rules.deny] + [("allow", x) for x in rules.allow]
        for verb, entries, uses in (
            ("publish", publish, sent),
            ("subscribe", [("allow", rule) for rule in rules.subscribe], made),
        ):
            for effect, rule in entries:
                used = [use for use in uses if fits(rule, use[0])]
                decides = sum(
                    next(r for _, r in entries if fits(r, text)) == rule for text, *_ in used
                )
                expected[host, verb, effect, rule] = counted(used, decides)
            rest = [use for use in uses if not any(fits(rule, use[0]) for _, rule in entries)]
            if rest:
                expected[host, verb, "none", None] = counted(rest, 0)
    assert found == expected


def counted(uses: list[tuple[str, bool, datetime]], decided: int) -> tuple[Any, ...]:
    accepted = sum(use[1] for use in uses)
    days = {use[2].date() for use in uses}
    last = max((use[2] for use in uses), default=None)
    return accepted, len(uses) - accepted, decided, len(days), last


@pytest.mark.requirement("P-08")
def test_each_message_is_in_one_row_of_its_violation(second: Second) -> None:
    """Each row counts just the messages that belong to it."""
    world = second.world
    told: dict[tuple[str, str], list[Message]] = defaultdict(list)
    for message in world.messages:
        if not message.accepted:
            continue
        rules = world.rules.get(message.who)
        if rules is not None and not may(rules, message.subject):
            told["forbidden", message.who].append(message)
        if message.subject.split(".")[3] != flat(message.who):
            told["spoofed", message.who].append(message)
        if message.subject.startswith("other."):
            told["cross_plane", message.who].append(message)
    for each in world.subscriptions:
        rules = world.rules.get(each.who)
        allowed = rules is None or any(fits(rule, each.pattern) for rule in rules.subscribe)
        if each.accepted and not allowed:
            shown = Message(each.who, each.pattern, each.start, True)
            told["forbidden_subscription", each.who].append(shown)
    rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in second.tables["violations"]:
        rows[row["kind"], row["who"]].append(row)
    assert set(rows) == set(told)
    for key, some in rows.items():
        mine: dict[str, list[Message]] = defaultdict(list)
        for message in told[key]:
            fitting = [row["subject"] for row in some if fits(row["subject"], message.subject)]
            assert fitting, message
            mine[min(fitting, key=wildness)].append(message)
        for row in some:
            messages = mine[row["subject"]]
            assert row["count"] == len(messages), row
            assert row["first"] == min(message.at for message in messages)
            assert row["last"] == max(message.at for message in messages)
            assert row["witness"] == min(message.subject for message in messages)
            if row["kind"] == "forbidden":
                denies = world.rules[row["who"]].deny
                refused = [rule for rule in denies if fits(rule, row["witness"])]
                assert row["rule"] in (refused or world.rules[row["who"]].allow)


def wildness(pattern: str) -> list[int]:
    return [(token == ">") * 2 + (token == "*") for token in pattern.split(".")]


@pytest.mark.requirement("P-08")
def test_each_call_is_in_the_row_of_its_edge(second: Second) -> None:
    world = second.world
    rows: dict[tuple[Any, ...], Row] = {}

    def row_of(key: tuple[Any, ...]) -> Row:
        return rows.setdefault(
            key, {"code": False, "rule": None, "deny": None, "traffic": 0, "refused": 0}
        )

    used = set()
    code: dict[str, list[tuple[str, tuple[Any, ...]]]] = defaultdict(list)
    for host, calls in world.calls.items():
        for route in calls:
            asked = route._replace(path=route.path.replace(">", "*"))
            key = (host, route.host, route.port, route.method, asked.path)
            code[host].append((asked.pattern(flat(host), "*"), key))
            row = row_of(key)
            row["code"] = True
            for rule in world.rules[host].deny if host in world.rules else ():
                if fits(rule, asked.pattern(flat(host))):
                    row["deny"] = rule
            for rule in world.rules[host].allow if host in world.rules else ():
                if fits(rule, asked.pattern(flat(host))):
                    row["rule"] = rule
                    used.add((host, rule))
                    break
    heard = {each.pattern for each in world.subscriptions if each.accepted}
    for message in world.messages:
        who, subject = message.who, message.subject
        tokens = subject.split(".")
        if tokens[3] != flat(who):
            continue  # spoofed
        of_code = [entry for entry in code[who] if fits(entry[0], subject)]
        routes = [pattern for pattern in heard if fits(pattern, subject)]
        path = ".".join(min(routes, key=wildness).split(".")[7:]) if routes else None
        place = (who, tokens[4].replace("_", "."), int(tokens[2]), tokens[6], path)
        row = row_of(min(of_code, key=lambda e: wildness(e[0]))[1] if of_code else place)
        row["traffic"] += message.accepted
        row["refused"] += not message.accepted
        rules = world.rules.get(who)
        if rules is not None and may(rules, subject):
            rule = next(rule for rule in rules.allow if fits(rule, subject))
            row["rule"] = row["rule"] or rule
            used.add((who, rule))
        elif rules is not None:
            denies = (rule for rule in rules.deny if fits(rule, subject))
            row["deny"] = row["deny"] or next(denies, None)
    for host, rules in world.rules.items():
        for rule in rules.allow:
            if (host, rule) not in used:
                tokens = rule.split(".")
                wide = tokens[5] == ">"
                method, path = ("*", "*") if wide else (tokens[6], ".".join(tokens[7:]))
                key = (host, tokens[4].replace("_", "."), int(tokens[2]), method, path)
                row_of(key)["rule"] = row_of(key)["rule"] or rule
    for key, row in rows.items():
        row["finding"] = finding(row, key[0] in world.rules)
        row["rule"] = row["deny"] or row["rule"]
        del row["deny"]
    names = ("service", "destination", "port", "method", "path")
    found = {
        tuple(row[name] for name in names): {
            "code": row["code"] is not None,
            **{name: row[name] for name in ("rule", "traffic", "refused", "finding")},
        }
        for row in second.tables["gap"]
    }
    assert found == rows


def finding(row: Row, ruled: bool) -> str:
    """Return what the page says of the sides that an edge has."""
    if row["traffic"] == 0 and row["refused"]:
        return "refused"
    if row["deny"]:
        return "denied"
    if row["traffic"] and not row["code"]:
        return "not in code"
    if ruled and row["rule"] is None:
        return "no rule"
    if not row["traffic"]:
        return "never called" if row["code"] else "rule only"
    return "ok"


@pytest.mark.requirement("P-09")
def test_the_receivers_at_any_time(second: Second) -> None:
    world = second.world
    edges = {each.start for each in world.subscriptions}
    edges |= {each.end for each in world.subscriptions if each.end is not None}
    times = sorted(edges | {edge - timedelta(microseconds=1) for edge in edges})
    checked = 0
    for subject in sorted({message.subject for message in world.messages})[::5]:
        matching = matching_rows(second.tables["subscriptions"], subject)
        for time in times:
            told = {
                (row["identity"], row["conn"], row["sid"], row["pattern"], row["queue"])
                for row in at_rows(matching, subject, time)
            }
            expected = {
                (each.who, f"9/client:{each.cid}", str(each.sid), each.pattern, each.queue)
                for each in world.subscriptions
                if each.accepted and fits(each.pattern, subject)
                and each.start <= time and (each.end is None or time < each.end)
            }  # fmt: skip
            assert told == expected
            checked += len(told)
    assert checked > 500
    assert {each.who for each in world.subscriptions} == set(HOSTS)
