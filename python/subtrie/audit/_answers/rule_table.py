"""The rules of services as numbered rows, and which of them decides.

Deny entries take precedence, so those of a service have lower numbers than its allow entries: of
the rules that match, the one with the least number decides. Pure rules without Spark.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from ..._core import engine
from ...acl import Permissions

#: In place of the number of the rule that decides: no rule matches; the service has no rules here.
NO_RULE, NO_RULES = -1, -2


@dataclass(frozen=True)
class Rule:
    """One entry of a permissions list.

    Attributes:
        service: The service it belongs to.
        verb: ``publish`` or ``subscribe``.
        effect: ``allow`` or ``deny``.
        text: The entry; ``>`` if everything is allowed.
        origin: File and line, if known.
        implied: Whether there is no list, so that everything is allowed: also a subject that is not
            valid, which no entry matches.
    """

    service: str
    verb: str
    effect: str
    text: str
    origin: str | None = None
    implied: bool = False

    @property
    def pattern(self) -> str:
        """The pattern without a queue."""
        return self.text.partition(" ")[0]


def numbered(rules: Mapping[str, Permissions], verb: str) -> list[Rule]:
    """Return the rules of one verb of all services; the position of a rule is its number."""
    found = []
    for service in sorted(rules):
        permissions = rules[service]
        for effect in ("deny", "allow"):
            name = f"{verb}_{effect}"
            entries = getattr(permissions, name)
            for entry in (">",) if entries is None else dict.fromkeys(entries):
                place = permissions.sources.get((name, entry))
                origin = None if place is None else f"{place.file}:{place.line}"
                found.append(Rule(service, verb, effect, entry, origin, entries is None))
    return found


def service_of(identity: str | None, user: str | None, rules: Container[str]) -> str | None:
    """Return the service whose rules apply to a client: its user if that has some.

    Else it is the identity, which beside a user is what the client calls itself.
    """
    return user if user in rules else identity


def of_subscription(
    rules: Sequence[tuple[int, Rule]], pattern: str, queue: str | None
) -> list[int]:
    """Return the numbers of the rules that apply to a subscription, in ascending order.

    A deny entry applies if it covers the pattern, an allow entry likewise.

    Args:
        rules: The subscribe rules of the service with their numbers.
        pattern: What is subscribed to.
        queue: The queue group; None without one.
    """
    return [number for number, rule in rules if _covers(rule.text, pattern, queue)]


def _covers(entry: str, pattern: str, queue: str | None) -> bool:
    subject, _, group = entry.partition(" ")
    if group and (queue is None or not engine.covers(group, queue)):
        return False
    return bool(engine.covers(subject, pattern))
