"""Findings for a reviewer: rules that reach too far, have no effect, or are too many."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from .._core import engine
from .._core.ports import DANGER as DANGER_PORT
from .._core.subject import Subject
from .._findings.finding import LEVELS, Finding
from .._nats.jwt import utc_text
from .._nats.limits import CONTROL_LINE
from .._nats.reserved_subjects import INBOX
from ._broker_model import bounding_deny
from ._comparison import VERBS, danger_in
from ._extent import extent
from ._rule_sets import RuleSets

#: Bytes of a user JWT besides its permissions, as JSON: an estimate; ``gencreds.plan`` is exact.
_CLAIMS = 300
#: Bytes of header and signature in base64, and of CONNECT besides the JWT.
_AROUND = 140 + 288

#: Most entries of a verb that are compared with one another: the time is quadratic in them, and
#: takes about two seconds for this number.
MOST_COMPARED = 1000


def lint(permissions: RuleSets, microbus: bool) -> list[Finding]:
    """Return all findings, errors first; ``microbus`` turns the rules about its subjects on."""
    found = [*_expiry(permissions), *_anonymous(permissions)]
    if not permissions.determined:
        message = f"what is allowed is decided elsewhere, by {permissions.decided_by}"
        found.append(Finding("not-determined", "error", message))
    else:
        found += [
            *_unmatchable(permissions),
            *_broad(permissions, microbus),
            *_unbounded(permissions),
            *_without_effect(permissions),
            *_responses(permissions),
            *_size(permissions),
        ]
    if permissions.place is not None:
        place = permissions.place
        found = [
            each if each.file else dataclasses.replace(each, **place._asdict()) for each in found
        ]
    return sorted(found, key=lambda each: LEVELS.index(each.level))


def _finding(
    permissions: RuleSets,
    rule: str,
    level: str,
    message: str,
    where: tuple[str, str],
    witness: str | None = None,
) -> Finding:
    file, line, column = permissions.sources.get(where) or (None, None, None)
    shown = None if witness is None else Subject._of(witness, permissions.dialect)
    return Finding(rule, level, message, shown, file, line, column, *where)


def _expiry(permissions: RuleSets) -> Iterator[Finding]:
    """Findings about the time in which a token is good."""
    validity = permissions.validity
    fault = validity.fault()
    if fault == "expired" and validity.expires is not None:
        message = (
            f"the token expired at {utc_text(validity.expires)}: no client can connect with it"
        )
        yield Finding("expired", "error", message)
    elif fault is not None and validity.not_before is not None:
        message = f"the token is not valid before {utc_text(validity.not_before)}"
        yield Finding("not-yet-valid", "warning", message)


def _anonymous(permissions: RuleSets) -> Iterator[Finding]:
    """A finding about a user that connections without credentials are."""
    if not permissions.anonymous:
        return
    sent, taken = (extent(permissions, verb) for verb in VERBS)
    who = "connection with a certificate" if permissions._certified else "connection"
    if permissions.anonymous == "no-authorization":
        message = f"no authorization: every {who} may publish {sent} and subscribe to {taken}"
    else:
        message = f"a {who} without credentials is this user"
        message += f": it may publish {sent} and subscribe to {taken}"
    everything = any(">" in permissions.lists(verb)[0] for verb in VERBS)
    serious = everything and not permissions._certified
    yield Finding(permissions.anonymous, "error" if serious else "warning", message)


def _unmatchable(permissions: RuleSets) -> Iterator[Finding]:
    for where in permissions.unmatchable:
        message = f"{where[0]}: {where[1]} has '>' before its end and matches nothing"
        yield _finding(permissions, "dead", "error", message, where)


def _broad(permissions: RuleSets, microbus: bool) -> Iterator[Finding]:
    cap = permissions.cap
    for verb in VERBS:
        allow, deny = permissions.lists(verb)
        for entry in dict.fromkeys(allow):
            where = (f"{verb}_allow", entry)
            reached = engine.rules_overlap([entry], deny, [">"], [], cap) if deny else (entry,)
            if reached is None:
                continue  # fully denied: reported below
            if not microbus:
                pass
            elif entry.split(".")[0].split(" ")[0] in ("*", ">"):
                message = f"{verb} {entry} spans every plane: name the plane"
                found = engine.rules_overlap([entry], deny, [">"], [], cap)
                witness = found and found[0]
                yield _finding(permissions, "plane-wildcard", "error", message, where, witness)
            danger = danger_in(entry, deny, cap) if microbus else None
            if danger is not None:
                message = f"{verb} {entry} reaches the trust root (port {DANGER_PORT})"
                yield _finding(permissions, "danger", "error", message, where, danger[0])
            if verb == "subscribe":
                inbox = _inbox(permissions, entry, deny)
                if inbox is not None:
                    message = f"subscribe {entry} receives replies to other clients"
                    yield _finding(permissions, "inbox", "warning", message, where, inbox[0])


def _inbox(permissions: RuleSets, entry: str, deny: list[str]) -> tuple[str, str | None] | None:
    """A reply subject of a client that no entry names, if this entry receives it."""
    entries = [entry for both in permissions.lists("subscribe") for entry in both]
    named = {token for entry in entries for token in entry.split(" ")[0].split(".")}
    other = next(name for n in range(len(named) + 1) if (name := f"x{n or ''}") not in named)
    inboxes = [f"{INBOX}.{other}", f"{INBOX}.{other}.>"]
    if entry.split(" ")[0].split(".")[1:2] == ["reply"]:
        inboxes.append(f"*.reply._.*.{other}.*")
    found: tuple[str, str | None] | None
    found = engine.rules_overlap([entry], deny, inboxes, [], permissions.cap)
    return found


def _unbounded(permissions: RuleSets) -> Iterator[Finding]:
    """Subscribe entries that end in ``*``, for which no deny bounds the depth."""
    allow, deny = permissions.lists("subscribe")
    for entry in dict.fromkeys(allow):
        subject, _, queue = entry.partition(" ")
        tokens = subject.split(".")
        if tokens[-1] != "*" or _own_replies(tokens):
            continue
        deep = ".".join([*tokens[:-1], ">"]) + (f" {queue}" if queue else "")
        found = engine.rules_witness([deep], deny, allow, [], permissions.cap)
        if found is None:
            continue
        bound = bounding_deny(entry)
        lost = [
            each
            for each in allow
            if engine.rules_overlap([each], deny, [bound], [], permissions.cap) is not None
        ]
        beside = f", which {', '.join(lost)} would lose in part" if lost else ""
        message = (
            f"subscribe {entry}: whether {deep.partition(' ')[0]} may be subscribed to is not "
            f"determined; deny subscribe {bound}{beside}"
        )
        where = ("subscribe_allow", entry)
        yield _finding(permissions, "unbounded-depth", "warning", message, where, found[0])


def _own_replies(tokens: list[str]) -> bool:
    """Return True for replies to one Microbus host: what is deeper is addressed to it too."""
    return len(tokens) == 6 and tokens[1:4] == ["reply", "_", "*"] and tokens[4] not in ("*", ">")


def _without_effect(permissions: RuleSets) -> Iterator[Finding]:
    cap = permissions.cap
    for verb in VERBS:
        allow, deny = permissions.lists(verb)
        count = len(allow) + len(deny)
        if count > MOST_COMPARED:
            message = (
                f"{verb}: {count} entries are too many to compare each with all others "
                f"(at most {MOST_COMPARED})"
            )
            yield Finding("unchecked", "warning", message)
            continue
        written = getattr(permissions, f"{verb}_allow") is not None
        for index, entry in enumerate(allow if written else ()):
            where = (f"{verb}_allow", entry)
            if engine.rules_overlap([entry], deny, [">"], [], cap) is None:
                message = f"{verb} {entry} is denied completely"
                yield _finding(permissions, "shadowed", "warning", message, where)
                continue
            rest = allow[:index] + allow[index + 1 :]
            # Of equal entries, only the later ones are redundant.
            if entry in allow[index + 1 :] and entry not in allow[:index]:
                continue
            if engine.rules_witness([entry], deny, rest, [], cap) is None:
                message = f"{verb} {entry} is redundant: the other entries grant the same"
                yield _finding(permissions, "redundant", "note", message, where)
        for index, entry in enumerate(deny):
            where = (f"{verb}_deny", entry)
            rest = deny[:index] + deny[index + 1 :]
            if engine.rules_overlap(allow, [], [entry], [], cap) is None:
                message = f"deny {verb} {entry} has no effect: nothing that it matches is allowed"
                yield _finding(permissions, "dead", "warning", message, where)
            elif not (entry in deny[index + 1 :] and entry not in deny[:index]) and (
                engine.rules_overlap(allow, rest, [entry], [], cap) is None
            ):
                message = f"deny {verb} {entry} is redundant: the other entries deny the same"
                yield _finding(permissions, "redundant", "note", message, where)


def _responses(permissions: RuleSets) -> Iterator[Finding]:
    limit = permissions.allow_responses
    if limit is None:
        return
    often = {-1: "without limit", 1: "once"}.get(max(limit.max, -1), f"{limit.max} times")
    message = (
        f"allow_responses: the sender of a message chooses the subject of the answer, which may be "
        f"sent {often} whatever the lists say"
    )
    yield Finding("allow-responses", "note", message)


def _size(permissions: RuleSets) -> Iterator[Finding]:
    size = jwt_size(permissions)
    if size > CONTROL_LINE:
        message = (
            f"with a user JWT of these rules CONNECT takes about {size} bytes, more than the "
            f"broker's control line of {CONTROL_LINE}"
        )
        yield Finding("size", "error", message)


def jwt_size(permissions: RuleSets) -> int:
    """Return about how many bytes CONNECT takes with a user JWT of these rules."""
    lists = {
        short: {"allow": permissions.lists(verb)[0], "deny": permissions.lists(verb)[1]}
        for verb, short in (("publish", "pub"), ("subscribe", "sub"))
    }
    rules = len(json.dumps(lists, separators=(",", ":")).encode())
    return -(-(rules + _CLAIMS) * 4 // 3) + _AROUND
