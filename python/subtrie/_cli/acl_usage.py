"""``subtrie acl usage``: rules that no traffic used, what was tried, and what would suffice."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from .._core import engine
from .._core.errors import SubtrieError
from .._findings.finding import Finding
from ..acl import Permissions, Traffic, narrowed
from ..acl._narrowing import Narrowing
from ..acl._rule_usage import Attempt, EntryUsage, entry_usage, refusals, uncovered
from .format_option import TEXT, by_format
from .output_formats import print_findings
from .permission_files import SOURCE, BadFile, UserSelection, bad_file, of_user
from .proposal_formats import AS, print_as, print_usage
from .stream import console
from .usage_traffic import Evidence, LogAudit, Missed, added, read_run, told

_SHOWN_USERS = 5


class _Named(NamedTuple):
    """A source of permissions, and the user it is of if it says none."""

    user: str | None
    source: Path | str


class _NamedSource(click.ParamType):  # type: ignore[type-arg]
    """``FILE`` or ``USER=FILE``."""

    name = "[user=]file"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> _Named:
        """Return the user, or None, and the source."""
        user, equals, rest = str(value).partition("=")
        if equals and "/" not in user and not Path(str(value)).exists():
            return _Named(user, SOURCE.convert(rest, param, ctx))
        return _Named(None, SOURCE.convert(value, param, ctx))


@dataclasses.dataclass(frozen=True)
class ReviewedUser:
    """A user whose permissions are compared with traffic.

    Attributes:
        label: the account and the name, as messages show them.
        account: the account; empty if the file names none.
        name: the name by which the traffic knows the user.
        file: the file of the permissions.
        permissions: the permissions.
    """

    label: str
    account: str
    name: str
    file: str
    permissions: Permissions


@dataclasses.dataclass(frozen=True)
class Usage:
    """The answer about one user."""

    of: ReviewedUser
    entries: tuple[EntryUsage, ...]
    refused: tuple[Attempt, ...]
    uncovered: tuple[Attempt, ...]
    proposal: Narrowing | None


class _TriedOut(NamedTuple):
    """On what the proposals were tried, empty without it; and what they would have refused."""

    where: str
    missed: list[Missed]


@click.command()
@click.argument("files", type=_NamedSource(), metavar="[USER=]FILE...", nargs=-1, required=True)
@click.option(
    "--traffic", "runs", metavar="RUN", multiple=True,
    help="A directory that subtrie audit --out wrote; may be repeated.",
)  # fmt: skip
@click.option(
    "--log", "logs", metavar="LOG", multiple=True,
    help="A trace log, which is audited here with the rules in FILES; may be repeated.",
)  # fmt: skip
@click.option(
    "--code", multiple=True, type=click.Path(exists=True), metavar="DIR",
    help="With --log: the source of the services; what a call leaves open needs no second "
    "source.",
)  # fmt: skip
@click.option(
    "--against", metavar="LOG", multiple=True,
    help="Report what the proposal would have refused in this log; may be repeated.",
)  # fmt: skip
@click.option(
    "--hold-out", "share", type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Propose from the time before, and report what the proposal would have refused in the "
    "last SHARE (0.3) of the time of --log.",
)  # fmt: skip
@click.option(
    "--as", "artefact", type=click.Choice(AS),
    help="Print only the proposal: permissions of a server configuration, commands of nsc, or "
    "permissions JSON with the size of the user's JWT.",
)  # fmt: skip
@of_user
@by_format
def usage(
    files: tuple[_Named, ...],
    runs: tuple[str, ...],
    logs: tuple[str, ...],
    code: tuple[str, ...],
    against: tuple[str, ...],
    share: float | None,
    artefact: str | None,
    selection: UserSelection,
    form: str,
) -> None:
    r"""Compare the rules in FILES with the traffic in logs, or of audits.

    Reports rules that nothing used, what the broker refused, and what it accepted although no rule
    allows it; and proposes narrower rules, which never allow more than today's. A user is known by
    its name; that of a file of one user is the name of the file, unless USER= says it. Evidence of
    several logs and audits adds up; of an audit, messages are counted for each rule if it was made
    with --rules. Exit code 1 if there is a warning, 2 if the
    permissions of a user are not in FILES.

    \b
    Examples:
      subtrie acl usage nats.conf --log monday.log --against tuesday.log
      subtrie acl usage nats.conf --log trace.log --hold-out 0.3 --as config
      subtrie acl usage orders=orders.creds --traffic run
    """
    if not logs and not runs:
        raise click.UsageError("where is the traffic? give --log LOG, or --traffic RUN")
    if not logs and (code or share is not None):
        raise click.UsageError("--code and --hold-out go with --log")
    users_of_files, unknown = _users_of_files(files, selection)
    today = {each.name: each.permissions for each in users_of_files}
    found, cut = _evidence(LogAudit(logs, code), runs, today, share)
    users, period = found.users, told(found)
    _check_known(users_of_files, users, ", ".join((*logs, *runs)), selection)
    try:
        answers = [_usage(each, users.get(each.name, Traffic())) for each in users_of_files]
    except SubtrieError as error:
        raise bad_file(error) from None
    tried = _tried_out(answers, against, logs if cut else (), cut)
    rows = [*unknown, *(row for each in answers for row in _rows(each))]
    rows += [row for each in answers for row in _missed_rows(each, tried.missed)]
    changed = [(each.of, each.proposal) for each in answers if each.proposal is not None]
    if artefact is not None:
        for each, proposal in changed:
            print_as(artefact, each.name, each.account, each.permissions, proposal)
    elif form == TEXT:
        if not all(each.exact for answer in answers for each in answer.entries):
            period += "; messages are not counted by rule, as the audit had no --rules with it"
        print_usage(period, rows, [(each.label, proposal) for each, proposal in changed])
        if tried.where and not tried.missed:
            console().print(Text(f"✓ {tried.where}: the proposal refuses nothing", "green"))
    else:
        objects = [each for answer in answers for each in _objects(answer)]
        objects += [{"kind": "would-refuse", **each._asdict()} for each in tried.missed]
        if tried.where:
            objects.append({"kind": "tried-out", "on": tried.where, "refused": len(tried.missed)})
        print_findings(form, "subtrie acl usage", rows, objects=objects)
    if unknown:
        raise SystemExit(2)
    raise SystemExit(1 if any(each.level == "warning" for each in rows) else 0)


def _evidence(
    log: LogAudit, runs: tuple[str, ...], today: dict[str, Permissions], share: float | None
) -> tuple[Evidence, datetime | None]:
    """The traffic of logs and runs, and the time from which it is held out."""
    found, cut = [read_run(each) for each in runs], None
    if log.logs:
        logged = log.evidence(today)
        if share is not None:
            if logged.period is None:
                raise BadFile(f"{log.logs[0]}: --hold-out needs times, and this log has none")
            first, last = logged.period
            cut = last - (last - first) * share
            logged = log.evidence(today, until=cut)
        found.append(logged)
    return reduce(added, found), cut


def _tried_out(
    answers: list[Usage], against: tuple[str, ...], held: tuple[str, ...], cut: datetime | None
) -> _TriedOut:
    """Return the refusals by the proposals in other logs, and in the time that is held out."""
    rules = {
        each.of.name: each.of.permissions if each.proposal is None else each.proposal.permissions
        for each in answers
    }
    missed: list[Missed] = []
    where = [*against]
    if against:
        missed += LogAudit(against).refused_by(rules)
    if cut is not None:
        missed += LogAudit(held).refused_by(rules, since=cut)
        where.append(f"{', '.join(held)} from {cut:%Y-%m-%d %H:%M:%S} UTC")
    return _TriedOut(", ".join(where), missed)


def _missed_rows(answer: Usage, missed: list[Missed]) -> Iterator[Finding]:
    user = answer.of
    for each in missed:
        if each.user == user.name:
            times = _times(each.times)
            message = f"{user.label}: the proposal refuses {each.verb} {each.subject}, seen {times}"
            yield Finding.at(
                user.permissions.place or user.file, "would-refuse", "warning", message
            )


def _users_of_files(
    files: tuple[_Named, ...], selection: UserSelection
) -> tuple[list[ReviewedUser], list[Finding]]:
    """The users of the files, and a row for each whose permissions are not in them."""
    found: dict[str, ReviewedUser] = {}
    unknown: list[Finding] = []
    for named, source in files:
        for label, permissions in selection.load_each(source).items():
            path, _, name = label.rpartition("/")
            account = path.rpartition("/")[2]
            if not label:
                name = named or selection.user or _name_of(source)
            elif not selection.concerns(label) or named not in (None, name):
                continue
            if (why := _unusable(permissions)) is not None:
                message = f"{label or name}: {why[1]}"
                unknown.append(Finding.at(str(source), why[0], "error", message))
                continue
            one = ReviewedUser(label or name, account, name, str(source), permissions)
            if name in found:
                both = f"{found[name].label} and {one.label}"
                raise BadFile(
                    f"{source}: {both} have one name, and traffic does not tell accounts; choose "
                    "one with --account"
                )
            found[name] = one
    if not found:
        message = f"{files[0].source}: no such user, or none with permissions of its own"
        raise BadFile(": ".join([message, *(each.message for each in unknown[:1])]))
    return list(found.values()), unknown


def _unusable(permissions: Permissions) -> tuple[str, str] | None:
    """Return a code and a message if there are no entries to compare with traffic."""
    if not permissions.determined:
        return "not-determined", f"decided elsewhere, by {permissions.decided_by}"
    if permissions.anonymous == "no-authorization":
        return permissions.anonymous, "no authorization: every connection may do everything"
    return None


def _name_of(source: Path | str) -> str:
    if str(source) == "-":
        raise BadFile("-: the user of standard input is not known; write USER=-")
    return re.sub(r"_nats$", "", Path(source).stem)


def _check_known(
    users_of_files: list[ReviewedUser],
    users: dict[str, Traffic],
    run: str,
    selection: UserSelection,
) -> None:
    """Refuse users that are not those of the traffic."""
    there = sorted(name for name, traffic in users.items() if traffic)
    missing = [each.name for each in users_of_files if each.name not in there]
    if not missing or (len(missing) < len(users_of_files) and not selection.names_a_user):
        return  # a user among others that never came is a finding
    known = ", ".join(there[:_SHOWN_USERS]) or "no users"
    more = f" and {len(there) - _SHOWN_USERS} more" if len(there) > _SHOWN_USERS else ""
    raise BadFile(
        f"{run}: no traffic of {', '.join(missing[:_SHOWN_USERS])}; it has {known}{more}; write "
        "USER=FILE if a file of one user has another name"
    )


def _usage(user: ReviewedUser, traffic: Traffic) -> Usage:
    permissions = user.permissions
    if not traffic:
        return Usage(user, (), (), (), None)
    proposal = narrowed(permissions, traffic)
    return Usage(
        user,
        tuple(entry_usage(permissions, traffic)),
        tuple(refusals(permissions, traffic)),
        tuple(uncovered(permissions, traffic)),
        proposal if proposal.removed or proposal.added else None,
    )


def _rows(answer: Usage) -> Iterator[Finding]:
    user = answer.of
    own = user.permissions.place or user.file
    if not answer.entries:
        message = f"{user.label}: no traffic of this user"
        yield Finding.at(own, "unused-user", "warning", message)
    for each in answer.entries:
        at = user.permissions.sources.get((f"{each.verb}_allow", each.entry)) or own
        what = f"{user.label}: {each.verb} {each.entry}"
        if each.state == "unused":
            yield Finding.at(at, "unused-rule", "warning", f"{what} was not used")
        elif each.state == "undetermined":
            message = f"{what}: whether it was used is not determined; audit with --rules"
            yield Finding.at(at, "undetermined", "note", message)
        parts = _parts(answer.proposal, each)
        if parts and each.state != "unused":
            message = f"{what}: {', '.join(parts)} allows the traffic"
            yield Finding.at(at, "narrower", "note", message)
    for one in answer.refused:
        yield Finding.at(own, "tried", "warning", _tried(user, one))
    for one in answer.uncovered:
        message = f"{user.label}: {one.verb} {one.witness} was accepted {_times(one.count)}"
        yield Finding.at(own, "not-covered", "warning", f"{message}, and no entry allows it")


def _parts(proposal: Narrowing | None, usage: EntryUsage) -> list[str]:
    """The entries that replace one."""
    if proposal is None or (usage.verb, usage.entry) not in proposal.removed:
        return []
    whole = usage.entry.partition(" ")[0]
    return [
        entry
        for verb, entry in proposal.added
        if verb == usage.verb and engine.covers(whole, entry.partition(" ")[0])
    ]


def _tried(user: ReviewedUser, attempt: Attempt) -> str:
    if attempt.allowed:
        why = "although the entries allow it"
    elif attempt.rule is None:
        why = "as no entry allows it"
    else:
        why = f"by the deny entry {attempt.rule}"
    tried = f"{attempt.verb} {attempt.witness}"
    return f"{user.label}: {tried} was refused {_times(attempt.count)}, {why}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _objects(answer: Usage) -> Iterator[dict[str, Any]]:
    user = {"user": answer.of.name, "account": answer.of.account or None}
    if not answer.entries:
        yield {"kind": "unused-user", **user, "file": answer.of.file}
    for each in answer.entries:
        place = answer.of.permissions.sources.get((f"{each.verb}_allow", each.entry))
        line = None if place is None else place.line
        more = {"file": answer.of.file if place is None else place.file, "line": line}
        yield {"kind": "rule", **user, **dataclasses.asdict(each), **more}
    for kind, attempts in (("tried", answer.refused), ("not-covered", answer.uncovered)):
        for one in attempts:
            yield {"kind": kind, **user, **dataclasses.asdict(one)}
    if answer.proposal is not None:
        changes = {
            name: [{"verb": verb, "entry": entry} for verb, entry in found]
            for name, found in (
                ("removed", answer.proposal.removed), ("added", answer.proposal.added),
            )
        }  # fmt: skip
        yield {"kind": "proposal", **user, **changes}
