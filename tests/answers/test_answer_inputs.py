"""Files of rules and code that answers are asked with, and what they make of sums by column."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from test_answer_columns import PATTERN, at, edge, micros, subscribed

from subtrie._core.errors import SubtrieError
from subtrie.acl import Permissions
from subtrie.audit._answers import tables
from subtrie.audit._answers.questions import MAX_RULES, Questions, load_code, load_rules
from subtrie.audit._answers.rule_table import NO_RULE, Rule, numbered
from subtrie.audit._answers.rule_usage import day_of, publish_usage, subscribe_usage
from subtrie.audit._answers.sums import PROGRAM, Sums
from subtrie.audit._answers.tables import Answers, _ranks, matching_rows, sorted_rows
from subtrie.audit._schema import TABLES
from subtrie.gencreds import Service, scan

ONE_USER = '{"subtrie": 1, "publish_allow": ["%s"]}'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(*sources: str) -> dict[str, tuple[str, ...]]:
    return {name: rules.publish_allow or () for name, rules in load_rules(sources).items()}


# --- files of rules


def test_the_service_of_a_file_is_said_or_its_name(here) -> None:
    for name in ("m.shop", "n.shop_nats", "k=m.shop"):
        (here / f"{name}.json").write_text(ONE_USER % name[0])
    assert loaded("m.shop.json", "n.shop_nats.json") == {"m.shop": ("m",), "n.shop": ("n",)}
    assert loaded(str(here / "m.shop.json")) == {"m.shop": ("m",)}
    for service in ("a.shop", "z.shop"):
        assert loaded(f"{service}=m.shop.json") == {service: ("m",)}
        assert loaded(f"{service}={here / 'm.shop.json'}") == {service: ("m",)}
    with pytest.raises(ValueError, match="cannot tell which service"):
        load_rules(["k=m.shop.json"])  # there is a file of this name


def test_of_a_folder_each_file_is_read_but_the_hidden_ones(here) -> None:
    (here / "rules").mkdir()
    for name in ("b.shop", "a.shop"):
        (here / "rules" / f"{name}.json").write_text(ONE_USER % name)
    (here / "rules" / ".hidden").write_text("no rules")
    assert list(loaded("rules")) == ["a.shop", "b.shop"]
    with pytest.raises(ValueError, match="a folder has the rules of several services"):
        load_rules(["a.shop=rules"])
    (here / "other").mkdir()
    (here / "other" / "a.txt").write_text("no rules")
    with pytest.raises(ValueError, match=r"neither \*\.json nor \*\.jwt"):
        load_rules(["other"])
    (here / "other" / "a.jwt").write_text("no token")
    with pytest.raises((SubtrieError, ValueError)) as told:
        load_rules(["other"])
    assert "neither" not in str(told.value)


def test_the_users_of_accounts_are_services(here) -> None:
    """The account is not part of the name; what is not in the file is refused, unless not asked."""
    users = ", ".join(
        f"{name}: {{ users: [ {{ user: {name.lower()}, password: x, permissions: "
        f'{{ publish: "{name}" }} }} ] }}'
        for name in ("A", "B", "C")
    )
    (here / "server.conf").write_text(f"accounts {{ {users} }}")
    assert loaded("server.conf") == {"a": ("A",), "b": ("B",), "c": ("C",)}
    for name in "abc":
        assert loaded(f"{name}=server.conf") == {name: (name.upper(),)}
    with pytest.raises(ValueError, match=r"server\.conf has no user d"):
        load_rules(["d=server.conf"])
    (here / "open.conf").write_text("port: 4222\n")
    with pytest.raises(ValueError, match="no authorization: every connection may do everything"):
        load_rules(["open.conf"])
    (here / "guest.conf").write_text(
        'no_auth_user: g\nauthorization { users: [ { user: g, permissions: { publish: "x" } } ] }'
    )
    assert loaded("guest.conf") == {"g": ("x",)}, "who does not log in is a user here"
    issuer = "AA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCS47C"
    (here / "callout.conf").write_text(
        f"authorization {{ users: [ {{ user: u, password: x }} ], "
        f"auth_callout {{ issuer: {issuer}, auth_users: [ u ] }} }}"
    )
    with pytest.raises(ValueError, match="are not in this file: decided elsewhere, by the author"):
        load_rules(["callout.conf"])
    assert list(load_rules(["u=callout.conf"])) == ["u"]


# --- code

_CONNECTOR = 'from subtrie.connector import Connector\na = Connector("{}")\n'


def test_the_services_of_source_trees_are_sorted_and_each_is_in_one(here) -> None:
    """A tree in which no host is known has none."""
    for name in ("z.shop", "b.shop"):
        (here / name).mkdir()
        (here / name / "a.py").write_text(_CONNECTOR.format(name))
    (here / "unknown").mkdir()
    (here / "unknown" / "a.py").write_text(
        "import sys\n" + _CONNECTOR.replace('"{}"', "sys.argv[1]")
        + 'async def f():\n    await a.request("GET", "https://x.shop/y")\n'
    )  # fmt: skip
    found = load_code(["unknown", "z.shop", "b.shop"])
    assert [service.host for service in found] == ["b.shop", "z.shop"]
    assert [service.host for service in scan("unknown")] == [""]
    with pytest.raises(ValueError, match="no service of a connector in unknown"):
        load_code(["unknown"])
    with pytest.raises(ValueError, match=r"z\.shop: z\.shop is in two source trees"):
        load_code(["z.shop", "b.shop", "z.shop"])


def test_what_is_asked_if_nothing_is_said() -> None:
    assert Questions() == Questions(
        rules=None, code=None, subject=None, time=None, min_days=3, min_sources=2,
        claimed_identities=False, payloads=None, automatic=False, streams=None,
    )  # fmt: skip
    assert not Rule("a", "publish", "allow", "x").implied


# --- the usage of rules


def used(rule: Rule | None, service: str, verb: str, **told: Any) -> dict[str, Any]:
    """Return a row of the usage of a rule; of what is not told, there was nothing."""
    row = dict.fromkeys(TABLES["permission_usage"]) | {"service": service, "verb": verb}
    row |= {"effect": rule.effect if rule else "none", "rule": rule.text if rule else None}
    row |= {"origin": rule.origin if rule else None}
    return row | dict.fromkeys(("accepted", "refused", "decided", "days"), 0) | told


def in_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted_rows("permission_usage", rows)


def test_each_sum_of_a_rule_to_publish_is_in_its_column() -> None:
    rules = [
        Rule("a", "publish", "deny", "x", "f:1"),
        Rule("a", "publish", "allow", ">"),
        Rule("b", "publish", "allow", "y", "g:2"),
        Rule("b", "publish", "allow", "z"),
    ]
    sums, program = Sums(), ("A", "u", "c", "jwt")
    days = frozenset({4, 9, 11})
    sums.add("match", ("a", 0, None, *program), (5, 6, 7, days, micros(8)))
    sums.add("match", ("a", None, micros(0), *program), (1, 2, 0, frozenset(), None))
    sums.add("match", ("b", 2, micros(0), *[None] * 4), (3, 0, 3, days, micros(9)))
    named = dict(zip(PROGRAM, program, strict=True))
    told = {"accepted": 5, "refused": 6, "decided": 7, "days": 3, "last": at(8), **named}
    assert in_columns(publish_usage(sums, rules)) == in_columns([
        used(rules[0], "a", "publish", **told),
        used(None, "a", "publish", window=at(0), accepted=1, refused=2, **named),
        used(rules[2], "b", "publish", window=at(0), accepted=3, decided=3, days=3, last=at(9)),
        used(rules[1], "a", "publish"), used(rules[3], "b", "publish"),
    ])  # fmt: skip
    sums.add("match", ("a", 0, None, "A"), (5, 6, 7, days, 8))
    with pytest.raises(ValueError, match="zip"):
        publish_usage(sums, rules)


_RULES = [Rule("a", "subscribe", "deny", "x.no", "f:1"), Rule("a", "subscribe", "allow", "x.*"),
          Rule("a", "subscribe", "allow", "x.>"), Rule("b", "subscribe", "allow", "y q"),
          Rule("b", "subscribe", "allow", "never")]  # fmt: skip
#: The rules that cover a subscription of a service.
_COVER: dict[tuple[str, str, str | None], list[int | None]] = {
    ("a", "x.no", None): [0, 1, 2], ("a", "x.1", None): [1, 2], ("a", "x.>", None): [2],
    ("b", "y", "q"): [3],
}  # fmt: skip


@pytest.mark.parametrize("seconds", [None, 10])
def test_each_subscription_uses_the_rules_that_cover_it(seconds) -> None:
    """Of the service that it is of; the rule with the least number decides."""
    who = [("a", None), ("b", None), ("other", None), (None, None), ("other", "a"), ("b", "other")]
    what = [("x.no", None), ("x.1", None), ("x.>", None), ("y", "q"), ("y", None)]
    times = [at(1), at(9), at(10), at(100_000), None]
    sums, rows, wanted = Sums(), [], {}
    for number, ((identity, user), (pattern, queue), time) in enumerate(
        itertools.product(who, what, times)
    ):
        refused, program = number % 3, ("A", user, "c", "jwt")
        row = dict(zip(PROGRAM, program, strict=True))
        rows.append(row | {"identity": identity, "pattern": pattern, "queue": queue, "start": time})
        window = None if seconds is None or time is None else (
            datetime.fromtimestamp(int(time.timestamp()) // seconds * seconds, UTC)
        )  # fmt: skip
        micro = None if time is None else micros(int((time - at(0)).total_seconds()))
        began = None if window is None else int(window.timestamp()) * 1_000_000
        if refused:
            key = (
                identity,
                pattern,
                queue,
                None if time is None else day_of(time),
                began,
                *program,
            )
            sums.add("refusal", key, (refused, micro))
        service = user if user in ("a", "b") else identity
        if service not in ("a", "b"):
            continue
        cover = _COVER.get((service, pattern, queue), [None])
        for rule in cover:
            of = wanted.setdefault(
                (service, rule, window, program),
                {"accepted": 0, "refused": 0, "decided": 0, "days": set(), "times": set(), **row},
            )
            of["accepted"] += 1
            of["refused"] += refused
            of["decided"] += (1 + refused) * (rule is not None and rule == cover[0])
            of["times"] |= {time} - {None}
            of["days"] |= {time.date() for time in {time} - {None}}
    expected = [
        used(None if rule is None else _RULES[rule], service, "subscribe", window=window,
             **told | {"days": len(told["days"]), "last": max(told.pop("times"), default=None)})
        for (service, rule, window, _), told in wanted.items()
    ] + [used(_RULES[4], "b", "subscribe")]  # fmt: skip
    found = subscribe_usage(
        rows, sums, {"a": 1, "b": 1}, _RULES, None if seconds is None else seconds * 1_000_000
    )
    assert in_columns(found) == in_columns(expected)


def test_rules_are_numbered_with_their_places(tmp_path) -> None:
    path = tmp_path / "server.conf"
    path.write_text(
        "authorization { users: [\n { user: a, password: x, permissions: {\n"
        '  publish: { deny: "x"\n allow: "y" }\n } }\n] }\n'
    )
    rules = numbered(load_rules([path]), "publish")
    assert [(rule.text, rule.effect, rule.implied) for rule in rules] == [
        ("x", "deny", False), ("y", "allow", False),
    ]  # fmt: skip
    assert [rule.origin for rule in rules] == [f"{path}:3", f"{path}:4"]
    (rule,) = numbered(load_rules([path]), "subscribe")
    assert (rule.text, rule.effect, rule.implied, rule.origin) == (">", "allow", True, None)


# --- the tables


def sums_of(witness: str = "b", published: int = 1) -> tuple[Any, ...]:
    return (published, 0, published, 0, frozenset({3}), micros(1), micros(2), None, witness,
            (micros(1), witness), witness)  # fmt: skip


@pytest.mark.parametrize(("most", "refused"), [(6, False), (5, True), (4, True)])
def test_more_rules_than_the_most_are_refused(monkeypatch, most, refused) -> None:
    assert MAX_RULES == 1_000_000
    monkeypatch.setattr(tables, "MAX_RULES", most)
    rules = {
        "a": Permissions(publish_allow=("x", "y"), subscribe_allow=("z",), publish_deny=("w",)),
        "b": Permissions(publish_allow=(), subscribe_allow=("x", "y")),
    }
    if not refused:
        assert Answers(subscribed(), Questions(rules=rules))
        return
    with pytest.raises(ValueError, match=f"more than {most} rules"):
        Answers(subscribed(), Questions(rules=rules))


@pytest.mark.parametrize(
    ("decided", "witness", "told", "rule"),
    [(0, "x.y", {}, "x.y"), (1, "x.n", {}, "x.n"), (NO_RULE, "x.z", {}, "x.y"),
     (NO_RULE, "x.z", {"identity": "other", "user": "a.b"}, "x.y"), (NO_RULE, "x..z", {}, None)],
)  # fmt: skip
def test_the_rule_of_what_is_forbidden_is_that_which_denies_or_the_nearest(
    decided, witness, told, rule
) -> None:
    """Of the rules of its user, if it has some; of what matches no rule, a text is not valid."""
    rules = {"a.b": Permissions(publish_deny=("x.y", "x.n"), publish_allow=("x.y", "other.>"))}
    found = Answers(subscribed(), Questions(rules=rules))
    key = edge(**{"allowed": False, "decided": decided, "pattern": "x", "plane": None, **told})
    found.sums.add("edge", key, sums_of(witness))
    (row,) = found.violations()
    assert (row["kind"], row["witness"], row["rule"]) == ("forbidden", witness, rule)


def test_subscriptions_that_the_rules_forbid_are_violations() -> None:
    """Not those of a client without rules, nor of a pattern that is not valid."""
    rules = {"a": Permissions(subscribe_allow=("x.*", "q one"))}
    rows = [{"identity": "a", "pattern": "x.y"}, {"identity": "a", "pattern": "y"},
            {"identity": "a", "pattern": "a..b"}, {"identity": "other", "pattern": "y"},
            {"pattern": "y"}, {"identity": "i", "user": "a", "pattern": "z"},
            {"identity": "a", "pattern": "q", "queue": "one"},
            {"identity": "a", "pattern": "q", "queue": "two"}]  # fmt: skip
    found = Answers(subscribed(*rows), Questions(rules=rules)).violations()
    assert sorted((row["who"], row["witness"]) for row in found) == [
        ("a", "q two"), ("a", "y"), ("i", "z"),
    ]  # fmt: skip
    assert {row["kind"] for row in found} == {"forbidden_subscription"}
    assert Answers(subscribed(*rows), Questions()).violations() == []


def test_the_gap_is_about_requests_of_a_known_sender_but_not_to_the_control_port() -> None:
    for rules in ({"a.b": Permissions()}, None):
        found = Answers(subscribed(), Questions(rules=rules, code=(Service("a.b"),)))
        for kind, port, standing in itertools.product(
            ("other", "reply", "request", "subscription"), (80, 888, 9000),
            ("claimed", "spoofed", "unknown", "verified"),
        ):  # fmt: skip
            pattern = PATTERN.replace("443", str(port))
            key = edge(
                kind="".join(list(kind)),
                port=port,
                pattern=pattern,
                standing="".join(list(standing)),
                decided=None if rules is None else 0,
            )
            found.sums.add("edge", key, sums_of(published=port))
        assert [(row["port"], row["traffic"], row["finding"]) for row in found.gap()
                if row["path"] == "items.*"] == [
            (80, 240, "not in code"), (9000, 27_000, "not in code"),
        ]  # fmt: skip


def test_a_rule_is_covered_by_one_that_allows_it_alone() -> None:
    pattern = "p.safe.443.a_b.c_d._.GET.items"
    rules = {"a.b": Permissions(publish_deny=("p.safe.>",), publish_allow=("p.*.443.>",)),
             "e": Permissions(publish_allow=("p.>",))}  # fmt: skip
    for told, covered in (({}, "p.*.443.>"), ({"user": "e"}, "p.>")):
        found = Answers(subscribed(), Questions(rules=rules, min_days=1, min_sources=1))
        key = edge(pattern=pattern, route="items", decided=1, allowed=True, **told)
        found.sums.add("edge", key, sums_of(pattern))
        ((row,), thin) = found.synthesise()
        assert (row["rule"], row["covered_by"], thin) == (pattern, covered, [])


@pytest.mark.parametrize("order", [*itertools.permutations(("p.*.443.>", "q.>", "p.safe.80.>"))])
def test_a_rule_is_covered_by_any_of_several_rules_of_its_service(order) -> None:
    pattern = "p.safe.443.a_b.c_d._.GET.items"
    rules = {"a.b": Permissions(publish_allow=order), "e": Permissions(publish_allow=("q.>",))}
    found = Answers(subscribed(), Questions(rules=rules, min_days=1, min_sources=1))
    key = edge(pattern=pattern, route="items", decided=1, allowed=True)
    found.sums.add("edge", key, sums_of(pattern))
    ((row,), _) = found.synthesise()
    assert (row["rule"], row["covered_by"]) == (pattern, "p.*.443.>")


def test_programs_of_one_name_in_several_accounts_have_rules_of_their_own() -> None:
    pattern = "p.safe.443.a_b.c_d._.GET.items"
    found = Answers(subscribed(), Questions(min_days=1, min_sources=1))
    for account in ("A", "B", "C"):
        key = edge(pattern=pattern, route="items", account=account)
        found.sums.add("edge", key, sums_of(pattern))
    proposed, thin = found.synthesise()
    assert [(row["account"], row["rule"]) for row in proposed] == [
        (account, pattern) for account in "ABC"
    ]
    assert thin == []


def test_values_of_all_senders_are_those_of_a_route() -> None:
    """In one account."""
    for other, wild in ((None, True), ("B", False)):
        found = Answers(subscribed(), Questions(min_days=1, min_sources=1))
        found.sums.add("edge", edge(), sums_of())
        for source, account, low, high in (("a_b", None, "7", "7"), ("e_b", other, "5", "5"),
                                           ("f_b", other, "6", "6")):  # fmt: skip
            key = (PATTERN.replace("a_b", source), 1, account, True)
            found.sums.add("value", key, (low, high))
        ((row,), _) = found.synthesise()
        assert row["rule"].endswith(".items.*" if wild else ".items.7")


@pytest.mark.parametrize("last", [None, at(400_000)])
def test_a_subscription_is_evidence_for_each_day_on_which_it_was_active(last) -> None:
    """Those of one program to one pattern add up; the days of all programs are beside them."""
    day, some = at(86_400), {"identity": "a", "identity_source": "jwt", "pattern": "x"}
    rows = [
        {"pattern": "x", "start": day},
        some | {"client": "c", "start": at(0), "end": at(86_399)},
        some | {"client": "c", "start": day, "end": at(2 * 86_400)},
        some | {"client": "d", "start": at(86_400 * 3)},
        some | {"client": "e"},
        some | {"client": "c", "account": "A", "start": day, "end": day},
        some | {"client": "c", "identity_source": "claimed", "start": day, "end": day},
    ]
    rules = {"a": Permissions(subscribe_allow=("y",))}
    found = Answers(subscribed(*rows), Questions(rules=rules))._active_subscriptions(last)
    first, to = day_of(at(0)), day_of(last or at(86_400 * 3))
    late, same = {*range(first + 3, to + 1)}, {first + 1}
    all_days = {first, first + 1, first + 2} | late
    told = [
        (account, each.program.client, each.standing, each.published, each.taken, set(each.days),
         set(each.all_days or ()))
        for account, each in found
    ]  # fmt: skip
    assert told == [
        (None, "c", "verified", 2, 2, {first, first + 1, first + 2}, all_days),
        (None, "d", "verified", 1, 1, late, all_days),
        (None, "e", "verified", 1, 1, set(), all_days),
        ("A", "c", "verified", 1, 1, same, same), (None, "c", "claimed", 1, 1, same, same),
    ]  # fmt: skip
    plain = Answers(subscribed(*rows), Questions())
    assert {each.allowed for _, each in plain._active_subscriptions(last)} == {None}
    made = Answers(subscribed(*rows), Questions(rules=rules))._active_subscriptions(last)
    assert {(each.kind, each.service, each.allowed, each.route) for _, each in made} == {
        ("subscription", "a", False, None)
    }


def test_keys_of_another_length_are_refused() -> None:
    """None is cut to its columns."""
    flow = (1, 1, 0, 1, 1, 1, None)
    for kind, length, values, read in (
        ("edge", len(edge()), sums_of(), lambda made: made.edges),
        ("flow", 9, flow, lambda made: made.flows()), ("flow", 8, (*flow, 1), Answers.flows),
        ("latency", 7, ({1: 1}, 0), lambda made: made.latency()),
    ):  # fmt: skip
        made = Answers(subscribed(), Questions())
        made.sums.add(kind, ("a",) * (length + 1), values)
        with pytest.raises(ValueError, match="zip"):
            read(made)
    made = Answers(subscribed(), Questions())
    made.sums.add("edge", edge(), (1, *sums_of()))
    with pytest.raises(ValueError, match="zip"):
        assert made.edges


def test_errors_are_told_of_microbus_requests_alone() -> None:
    found = Answers(subscribed(), Questions())
    for kind in ("nats", "".join(["micro", "bus"])):
        found.sums.add("latency", (kind, "a", "x", "b", None, None, None), ({4: 1}, 2))
    assert {row["kind"]: row["errors"] for row in found.latency()} == {"nats": None, "microbus": 2}


@pytest.mark.parametrize("total", [202, 404])
def test_a_rank_is_of_a_hundred(total) -> None:
    half = total // 2
    for fast in (half - 1, half):
        found = _ranks({5: fast, 9: total - fast})
        assert found["p50"] == (5 if fast == half else 9)
    last = -(-total * 99 // 100)
    for fast in (last - 1, last):
        assert _ranks({5: fast, 9: total - fast})["p99"] == (5 if fast == last else 9)


def test_patterns_that_are_not_valid_match_nothing() -> None:
    """And do not end the others, in whatever order."""
    some = [{"pattern": each} for number in range(60) for each in (f"a.*.{number}", f"a..{number}")]
    for number in range(0, 60, 7):
        assert matching_rows(some, f"a.x.{number}") == [{"pattern": f"a.*.{number}"}]


def test_rows_with_rates_are_sorted_by_them() -> None:
    rates = [{"start": at(1), "width_s": 1, "counts": [count]} for count in (3, 1, 2)]
    rows = [dict.fromkeys(TABLES["violations"], "a") | {"rate": rate} for rate in (*rates, None)]
    found = sorted_rows("violations", rows)
    assert [row["rate"] and row["rate"]["counts"] for row in found] == [None, [1], [2], [3]]


def test_a_day_begins_at_midnight() -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for number in (0, 1, 20_000):
        begin = epoch + timedelta(days=number)
        assert day_of(begin) == day_of(begin + timedelta(days=1, microseconds=-1)) == number
