"""What a reviewer should look at: rules that reach too far, do nothing, or are too many."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from .. import _engine
from .._nats.limits import CONTROL_LINE
from .._subject import Subject
from ._comparison import VERBS, danger_in
from ._rule_sets import Lists

#: What a user JWT holds besides its permissions, in bytes of JSON; then, beside its base64, header,
#: signature, and what else a client says when it connects.
_CLAIMS = 300
_AROUND = 140 + 288

_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One finding: which lint rule, how bad (``error``, ``warning``, ``note``), and an example.

    ``list`` and ``entry`` say what it is about, where it is about one entry: ``publish_allow`` …
    """

    rule: str
    level: str
    message: str
    witness: Subject | None = None
    file: str | None = None
    line: int | None = None
    list: str | None = None
    entry: str | None = None


def lint(permissions: Lists) -> list[Finding]:
    """All findings, the worst first."""
    if not permissions.known:
        return []
    found = [
        *_dead_in_jwt(permissions),
        *_wide(permissions),
        *_idle(permissions),
        *_responses(permissions),
        *_size(permissions),
    ]
    return sorted(found, key=lambda each: _ORDER[each.level])


def _finding(
    permissions: Lists,
    rule: str,
    level: str,
    message: str,
    where: tuple[str, str],
    witness: str | None = None,
) -> Finding:
    file, line = permissions.sources.get(where, (None, None))
    shown = None if witness is None else Subject._of(witness, permissions.dialect)
    return Finding(rule, level, message, shown, file, line, *where)


def _dead_in_jwt(permissions: Lists) -> Iterator[Finding]:
    for where in permissions.dead:
        message = f"{where[0]}: {where[1]} has '>' before its end and matches nothing"
        yield _finding(permissions, "dead", "error", message, where)


def _wide(permissions: Lists) -> Iterator[Finding]:
    cap = permissions.cap
    for verb in VERBS:
        allow, deny = permissions.lists(verb)
        for entry in dict.fromkeys(allow):
            where = (f"{verb}_allow", entry)
            reached = _engine.rules_overlap([entry], deny, [">"], [], cap)
            if reached is None:
                continue  # nothing is left of it: see below
            if entry.split(".")[0].split(" ")[0] in ("*", ">"):
                message = f"{verb} {entry} spans every plane: name the plane"
                yield _finding(permissions, "plane-wildcard", "error", message, where, reached[0])
            danger = danger_in(entry, deny, cap)
            if danger is not None:
                message = f"{verb} {entry} reaches the trust root, port 666"
                yield _finding(permissions, "danger", "error", message, where, danger[0])
            if verb == "subscribe":
                inbox = _inbox(permissions, entry, deny)
                if inbox is not None:
                    message = f"subscribe {entry} hears the replies to everyone"
                    yield _finding(permissions, "inbox", "warning", message, where, inbox[0])


def _inbox(permissions: Lists, entry: str, deny: list[str]) -> tuple[str, str | None] | None:
    """Where replies arrive to somebody whom no entry names, as far as this entry hears them."""
    entries = [entry for both in permissions.lists("subscribe") for entry in both]
    named = {token for entry in entries for token in entry.split(" ")[0].split(".")}
    somebody = next(name for n in range(len(named) + 1) if (name := f"x{n or ''}") not in named)
    inboxes = [f"_INBOX.{somebody}", f"_INBOX.{somebody}.>"]
    if entry.split(" ")[0].split(".")[1:2] == ["reply"]:
        inboxes.append(f"*.reply._.*.{somebody}.*")
    found: tuple[str, str | None] | None
    found = _engine.rules_overlap([entry], deny, inboxes, [], permissions.cap)
    return found


def _idle(permissions: Lists) -> Iterator[Finding]:
    cap = permissions.cap
    for verb in VERBS:
        allow, deny = permissions.lists(verb)
        for index, entry in enumerate(allow):
            where = (f"{verb}_allow", entry)
            if _engine.rules_overlap([entry], deny, [">"], [], cap) is None:
                message = f"{verb} {entry} is denied as a whole"
                yield _finding(permissions, "shadowed", "warning", message, where)
                continue
            rest = allow[:index] + allow[index + 1 :]
            # Of equal entries, the first stays.
            if entry in allow[index + 1 :] and entry not in allow[:index]:
                continue
            if _engine.rules_witness([entry], deny, rest, [], cap) is None:
                message = f"{verb} {entry} grants nothing that the others do not"
                yield _finding(permissions, "redundant", "note", message, where)
        for index, entry in enumerate(deny):
            where = (f"{verb}_deny", entry)
            rest = deny[:index] + deny[index + 1 :]
            if _engine.rules_overlap(allow, [], [entry], [], cap) is None:
                message = f"denying {verb} {entry} denies nothing that is allowed"
                yield _finding(permissions, "dead", "warning", message, where)
            elif not (entry in deny[index + 1 :] and entry not in deny[:index]) and (
                _engine.rules_overlap(allow, rest, [entry], [], cap) is None
            ):
                message = f"denying {verb} {entry} denies nothing that the others do not"
                yield _finding(permissions, "redundant", "note", message, where)


def _responses(permissions: Lists) -> Iterator[Finding]:
    limit = permissions.allow_responses
    if limit is None:
        return
    often = "without limit" if limit.max < 0 else f"{limit.max} times"
    message = (
        f"allow_responses: whoever sends a message may have an answer sent {often} to any subject, "
        "whatever the lists say"
    )
    yield Finding("allow-responses", "warning", message)


def _size(permissions: Lists) -> Iterator[Finding]:
    size = jwt_size(permissions)
    if size > CONTROL_LINE:
        message = (
            f"with a user JWT of these rules CONNECT takes about {size} bytes, more than the "
            f"broker's control line of {CONTROL_LINE}"
        )
        yield Finding("size", "error", message)


def jwt_size(permissions: Lists) -> int:
    """About how many bytes of a control line CONNECT takes with a user JWT of these rules."""
    lists = {
        short: {"allow": permissions.lists(verb)[0], "deny": permissions.lists(verb)[1]}
        for verb, short in (("publish", "pub"), ("subscribe", "sub"))
    }
    rules = len(json.dumps(lists, separators=(",", ":")).encode())
    return -(-(rules + _CLAIMS) * 4 // 3) + _AROUND
