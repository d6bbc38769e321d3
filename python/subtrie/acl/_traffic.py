"""The traffic of one user, as the tables of an audit tell it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

#: The subject on which leaf nodes find loops; its second token is another after each start.
_LEAF_LOOPS = "$LDS."
#: The public nkey of a user, which is the subject of its JWT.
_USER_NKEY = re.compile(r"U[A-Z2-7]{55}")


class Published(NamedTuple):
    """Messages that the broker accepted.

    Attributes:
        pattern: the subscription that received them, folded; else their folded subject.
        received: whether a client received them.
        least: how many there were at least.
        most: how many there were at most.
    """

    pattern: str
    received: bool
    least: int
    most: int


class Subscribed(NamedTuple):
    """A subscription that the broker accepted: pattern, queue or None, how often."""

    pattern: str
    queue: str | None
    times: int


class Refused(NamedTuple):
    """A refused operation: verb, subject or pattern, how often."""

    verb: str
    subject: str
    times: int


class Counted(NamedTuple):
    """The numbers of accepted and refused operations that an allow entry matches."""

    accepted: int
    refused: int


@dataclasses.dataclass
class Traffic:
    """The traffic of one user.

    Attributes:
        published: what it published.
        subscribed: what it subscribed to.
        refused: what it tried.
        counted: the use of allow entries by verb and entry, where it was counted.
        proposed: rules for Microbus, by verb, that an audit derived from the traffic.
        planes: the planes of Microbus in the traffic; rules about them are in ``proposed``.
        claimed: the messages and subscriptions that are left out, as the broker did not prove that
            they are of this user.
    """

    published: list[Published] = dataclasses.field(default_factory=list)
    subscribed: list[Subscribed] = dataclasses.field(default_factory=list)
    refused: list[Refused] = dataclasses.field(default_factory=list)
    counted: dict[tuple[str, str], Counted] = dataclasses.field(default_factory=dict)
    proposed: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    planes: frozenset[str] = frozenset()
    claimed: int = 0

    @classmethod
    def of_tables(
        cls,
        rows: Callable[[str], Iterable[Mapping[str, Any]]],
        planes: Iterable[str] = (),
        *,
        account: str | None = None,
        claimed_identities: bool = False,
    ) -> dict[str, Traffic]:
        """Return the traffic of each user in the tables of an audit.

        A user is what the broker proved, also where its clients have names of their own. Each
        table is read once; memory grows with the distinct patterns of each user.

        Args:
            rows: a function that returns the rows of a table.
            planes: the planes of Microbus in the traffic.
            account: only of this account, and where it is not known; None for all.
            claimed_identities: whether a name that the broker did not prove counts as proven.
        """  # A82
        among = frozenset(planes)
        found: dict[str, Traffic] = {}

        def told(table: str) -> Iterable[Mapping[str, Any]]:
            return (
                row for row in rows(table)
                if account is None or row.get("account") in (None, account)
            )  # fmt: skip

        def sender(name: str, row: Mapping[str, Any], count: int) -> str | None:
            """Return the proven user of a row, else None; then the row is counted as claimed."""
            user = name if claimed_identities else _proven(name, row)
            if user is None:
                of(name).claimed += count
            return user

        def of(user: str) -> Traffic:
            return found.setdefault(user, cls(planes=among))

        flows: dict[tuple[str, str, bool], dict[tuple[Any, ...], tuple[int, int]]] = {}
        for row in told("flows"):
            if "" in row["pattern"].split("."):
                continue  # the broker takes it, and no entry matches it
            name = sender(row["publisher"], row, row["published"])
            if name is None:
                continue
            key = name, row["pattern"], row["subscriber"] is not None
            programs = flows.setdefault(key, {})
            program = row.get("account"), row.get("user"), row.get("client")
            least, most = programs.get(program, (0, 0))
            # Several subscribers may have received the same messages, or different ones.
            programs[program] = max(least, row["published"]), most + row["published"]
        for (user, pattern, received), programs in flows.items():
            bounds = map(sum, zip(*programs.values(), strict=True))
            of(user).published.append(Published(pattern, received, *bounds))
        subscriptions: dict[tuple[str, str, str | None], int] = {}
        for row in told("subscriptions"):
            if row["identity"] is not None:
                name = sender(row["identity"], row, 1)
                if name is None:
                    continue
                one = name, _of_any_start(row["pattern"]), row["queue"]
                subscriptions[one] = subscriptions.get(one, 0) + 1
        for (user, pattern, queue), count in subscriptions.items():
            of(user).subscribed.append(Subscribed(pattern, queue, count))
        for row in told("refused"):
            verb = "subscribe" if row["kind"] == "subscribe" else "publish"
            name = sender(row["who"], row, row["count"])
            if name is not None:
                of(name).refused.append(Refused(verb, row["subject"], row["count"]))
        for row in told("permission_usage"):
            if row["effect"] != "allow":
                continue
            # Also of a user without traffic: a row alone does not make it occur.
            counted = of(row["service"]).counted
            if not (claimed_identities or is_of(row["service"], row)):
                counted.setdefault((row["verb"], row["rule"]), Counted(0, 0))
                continue
            before = counted.get((row["verb"], row["rule"]), Counted(0, 0))
            counted[row["verb"], row["rule"]] = Counted(
                before.accepted + row["accepted"], before.refused + row["refused"]
            )
        for row in told("proposal"):
            of(row["service"]).proposed.append((row["verb"], row["rule"]))
        return found

    def added(self, other: Traffic) -> Traffic:
        """Return this traffic and that of other messages, as those of another day."""
        # An entry that one of them did not count may have been used there.
        counted = {
            key: Counted(*map(sum, zip(self.counted[key], more, strict=True)))
            for key, more in other.counted.items()
            if key in self.counted
        }
        sent: dict[tuple[str, bool], Published] = {}
        for each in (*self.published, *other.published):
            old = sent.get((each.pattern, each.received), each._replace(least=0, most=0))
            both = each._replace(least=old.least + each.least, most=old.most + each.most)
            sent[each.pattern, each.received] = both
        subscribed: dict[tuple[str, str | None], int] = {}
        for one in (*self.subscribed, *other.subscribed):
            name = one.pattern, one.queue
            subscribed[name] = subscribed.get(name, 0) + one.times
        return Traffic(
            list(sent.values()),
            [Subscribed(*name, times) for name, times in subscribed.items()],
            [*self.refused, *other.refused],
            counted,
            list(dict.fromkeys((*self.proposed, *other.proposed))),
            self.planes | other.planes,
            self.claimed + other.claimed,
        )

    def __bool__(self) -> bool:
        """Whether the user did anything."""
        used = any(each.accepted or each.refused for each in self.counted.values())
        return used or bool(self.published or self.subscribed or self.refused)

    def is_microbus(self, pattern: str) -> bool:
        """Return whether a pattern begins with a plane and a part of it, as Microbus writes it."""
        plane, _, rest = pattern.partition(".")
        return plane in self.planes and rest.partition(".")[0] in ("safe", "danger", "reply")


def _proven(name: str, row: Mapping[str, Any]) -> str | None:
    """Return the user that the broker proved to be behind a row; None if it proved none.

    A row without a column ``user`` is of an older result, which does not tell.
    """
    if "user" not in row:
        return name
    user: str | None = row["user"]
    # A client that shares its user is known by the name that it gave itself.
    of_jwt = user is not None and _USER_NKEY.fullmatch(user) is not None
    return name if of_jwt else user


def is_of(user: str, row: Mapping[str, Any]) -> bool:
    """Return whether the broker proved that a row is about a user, or it is about no program."""
    return row.get("identity_source") is None or _proven(user, row) == user


def _of_any_start(pattern: str) -> str:
    """Return a subscribed pattern without what is new at each start."""
    return f"{_LEAF_LOOPS}*" if pattern.startswith(_LEAF_LOOPS) else pattern
