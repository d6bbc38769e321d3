"""The rows of ``permission_usage``: how often each rule of each service was used, and by whom."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from .rule_table import Rule, of_subscription, service_of
from .sums import EPOCH, PROGRAM, Sums, greatest_known, one_name_of_many, time_of

Rows = list[dict[str, Any]]
#: Account, user, client and source of the identity.
_Program = tuple[str | None, ...]


def publish_usage(sums: Sums, rules: Sequence[Rule]) -> Rows:
    """Return the usage of the rules to publish.

    Args:
        sums: The sums of the messages, whose programs are bounded.
        rules: The rules, by number.
    """
    found, used = [], set()
    for (service, number, window, *program), values in sums["match"].items():
        accepted, refused, decided, days, last = values
        rule = None if number is None else rules[number]
        used.add(number)
        row = {"window": time_of(window), "accepted": accepted, "refused": refused,
               "decided": decided, "days": days, "last": time_of(last),
               **dict(zip(PROGRAM, program, strict=True))}  # fmt: skip
        found.append(_usage(service, "publish", rule, row))
    return [*found, *_unused(rules, used)]


def subscribe_usage(
    subscriptions: Iterable[Mapping[str, Any]],
    sums: Sums,
    services: Container[str],
    rules: Sequence[Rule],
    length: int | None,
) -> Rows:
    """Return the usage of the rules to subscribe.

    Args:
        subscriptions: The accepted subscriptions.
        sums: The sums of the messages, which have those that were refused.
        services: The services that have rules, perhaps none to subscribe.
        rules: The rules, by number.
        length: The length of a period in microseconds, or None.
    """
    of_service: dict[str, list[tuple[int, Rule]]] = {}
    for number, rule in enumerate(rules):
        of_service.setdefault(rule.service, []).append((number, rule))
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    tried = []
    for row in _subscribed(subscriptions, sums, length):
        service = service_of(row["identity"], row["user"], services)
        if service in services:
            tried.append({**row, "service": service})
    for row in one_name_of_many(tried, ("service", "account", "user")):
        service = row["service"]
        numbers = of_subscription(of_service.get(service, ()), row["pattern"], row["queue"])
        program = {name: row[name] for name in PROGRAM}
        counted: list[int | None] = [*numbers] or [None]
        for which in counted:
            into = found.setdefault(
                (service, which, row["window"], *program.values()),
                {"window": row["window"], "accepted": 0, "refused": 0, "decided": 0,
                 "days": set(), "last": row["last"], **program},
            )  # fmt: skip
            into["accepted"] += row["accepted"]
            into["refused"] += row["refused"]
            if numbers and which == min(numbers):
                into["decided"] += row["accepted"] + row["refused"]
            if row["day"] is not None:
                into["days"].add(row["day"])
            into["last"] = greatest_known(into["last"], row["last"])
    rows = [
        _usage(service, "subscribe", None if n is None else rules[n], row)
        for (service, n, *_), row in found.items()
    ]
    return [*rows, *_unused(rules, {number for _, number, *_ in found})]


def _subscribed(
    subscriptions: Iterable[Mapping[str, Any]], sums: Sums, length: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the subscriptions that the server accepted, and those that it refused."""
    for row in subscriptions:
        start = row["start"]
        yield {"identity": row["identity"], "pattern": row["pattern"], "queue": row["queue"],
               "accepted": 1, "refused": 0, "last": start,
               "day": None if start is None else day_of(start),
               "window": _window(start, length), **{n: row[n] for n in PROGRAM}}  # fmt: skip
    for (identity, pattern, queue, day, window, *program), values in sums["refusal"].items():
        refused, last = values
        yield {"identity": identity, "pattern": pattern, "queue": queue, "accepted": 0,
               "refused": refused, "last": time_of(last), "day": day, "window": time_of(window),
               **dict(zip(PROGRAM, program, strict=True))}  # fmt: skip


def _window(time: datetime | None, length: int | None) -> datetime | None:
    if length is None or time is None:
        return None
    micros = (time - EPOCH) // timedelta(microseconds=1)
    return EPOCH + timedelta(microseconds=micros // length * length)


def day_of(time: datetime) -> int:
    """Return the number of a day since 1970."""
    return (time - EPOCH).days


def _unused(rules: Sequence[Rule], used: set[int | None]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the rules that no program used."""
    for number, rule in enumerate(rules):
        if number not in used:
            yield _usage(rule.service, rule.verb, rule, {})


def _usage(service: str, verb: str, rule: Rule | None, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "service": service,
        "window": row.get("window"),
        "verb": verb,
        "effect": "none" if rule is None else rule.effect,
        "rule": None if rule is None else rule.text,
        "accepted": row.get("accepted", 0),
        "refused": row.get("refused", 0),
        "decided": row.get("decided", 0),
        "days": len(row.get("days", ())),
        "last": row.get("last"),
        "origin": None if rule is None else rule.origin,
        **{name: row.get(name) for name in PROGRAM},
    }
