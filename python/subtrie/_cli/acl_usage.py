"""``subtrie acl usage``: rules that no traffic used, what was tried, and what would suffice."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import click

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
from .stream import printable, say_good
from .usage_traffic import Evidence, LogAudit, Missed, Wanted, added, namesakes, read_run, told

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
    claimed: int = 0


class _TriedOut(NamedTuple):
    """On what proposals were tried, empty without it; and what each refused."""

    where: str
    missed: list[list[Missed]]


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
    "--claimed-identities",
    is_flag=True,
    help="Count traffic also under names that the broker did not prove.",
)
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
    claimed_identities: bool,
    artefact: str | None,
    selection: UserSelection,
    form: str,
) -> None:
    r"""Compare the rules in FILES with the traffic in logs, or of audits.

    Reports rules that nothing used, what the broker refused, and what it accepted although no rule
    allows it; and proposes narrower rules, which never allow more than today's. A user is known by
    the name that the broker proved, and its account where several have one name; that of a file of
    one user is the name of the file, unless USER= says it. Evidence of several logs and audits adds
    up; of an audit, messages are counted for each rule if it was made with --rules. Exit code 1 if
    there is a warning, 2 if the permissions of a user are not in FILES.

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
    accounts = frozenset(each.account for each in users_of_files if each.account)
    wanted = Wanted(accounts, claimed_identities)
    log = LogAudit(logs, code, wanted, often=share is not None)
    found, cut = _evidence(log, runs, wanted, users_of_files, share)
    users, period = _traffic(users_of_files, found), told(found)
    _check_known(users, found, ", ".join((*logs, *runs)), selection)
    try:
        answers = [_usage(each, traffic) for each, traffic in users]
    except SubtrieError as error:
        raise bad_file(error) from None
    tried = _tried_out(answers, against, log, cut)
    rows = [*unknown, *(row for each in answers for row in _rows(each))]
    rows += [
        _missed_row(each, missed)
        for each, some in zip(answers, tried.missed, strict=True)
        for missed in some
    ]
    missed = [each for some in tried.missed for each in some]
    changed = [(each.of, each.proposal) for each in answers if each.proposal is not None]
    if artefact is not None:
        for each, proposal in changed:
            print_as(artefact, each.name, each.account, each.permissions, proposal)
    elif form == TEXT:
        if not all(each.exact for answer in answers for each in answer.entries):
            period += "; messages are not counted by rule, as the audit had no --rules with it"
        print_usage(period, rows, [(each.label, proposal) for each, proposal in changed])
        if tried.where and not missed:
            say_good(f"{printable(tried.where)}: the proposal refuses nothing")
    else:
        objects = [each for answer in answers for each in _objects(answer)]
        objects += [{"kind": "would-refuse", **each._asdict()} for each in missed]
        if tried.where:
            objects.append({"kind": "tried-out", "on": tried.where, "refused": len(missed)})
        print_findings(form, "subtrie acl usage", rows, objects=objects)
    if unknown:
        raise SystemExit(2)
    raise SystemExit(1 if any(each.level == "warning" for each in rows) else 0)


def _evidence(
    log: LogAudit,
    runs: tuple[str, ...],
    wanted: Wanted,
    users: list[ReviewedUser],
    share: float | None,
) -> tuple[Evidence, datetime | None]:
    """The traffic of logs and runs, and the time from which it is held out."""
    found, cut = [read_run(each, wanted) for each in runs], None
    # An audit knows rules by the names of users.
    several = namesakes(each.name for each in users)
    today = None if several else {each.name: each.permissions for each in users}
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
    answers: list[Usage], against: tuple[str, ...], held: LogAudit, cut: datetime | None
) -> _TriedOut:
    """Return the refusals by the proposals in other logs, and in the time that is held out."""
    missed: list[list[Missed]] = [[] for _ in answers]
    several = namesakes(each.of.name for each in answers)
    others = LogAudit(against, wanted=held.wanted, often=bool(several))
    tries: list[tuple[LogAudit, datetime | None]] = [(others, None)] if against else []
    tries += [(held, cut)] if cut is not None else []
    left = list(range(len(answers)))
    while left and tries:  # an audit takes one user of each name
        together = {answers[at].of.name: at for at in left}
        left = [at for at in left if at not in together.values()]
        rules, accounts = {}, {}
        for name, at in together.items():
            of, proposal = answers[at].of, answers[at].proposal
            rules[name] = of.permissions if proposal is None else proposal.permissions
            if name in several:
                accounts[name] = of.account
        for log, since in tries:
            for each in log.refused_by(rules, accounts, since):
                missed[together[each.user]].append(each)
    for log, _ in tries:
        log.close()
    where = [*against]
    if cut is not None:
        where.append(f"{', '.join(held.logs)} from {cut:%Y-%m-%d %H:%M:%S} UTC")
    return _TriedOut(", ".join(where), missed)


def _missed_row(answer: Usage, missed: Missed) -> Finding:
    user, times = answer.of, _times(missed.times)
    message = f"{user.label}: the proposal refuses {missed.verb} {missed.subject}, seen {times}"
    return Finding.at(user.permissions.place or user.file, "would-refuse", "warning", message)


def _users_of_files(
    files: tuple[_Named, ...], selection: UserSelection
) -> tuple[list[ReviewedUser], list[Finding]]:
    """The users of the files, and a row for each whose permissions are not in them."""
    found: dict[tuple[str, str], ReviewedUser] = {}
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
            others = (each for each in found.values() if each.name == name)
            for other in others:
                if not (account and other.account) or account == other.account:
                    raise BadFile(
                        f"{source}: {other.label} and {one.label} have one name, and not two "
                        "accounts that tell their traffic apart; choose one with --account"
                    )
            found[account, name] = one
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


def _traffic(users: Sequence[ReviewedUser], found: Evidence) -> list[tuple[ReviewedUser, Traffic]]:
    """Return each user and its traffic; in its own account, where the traffic tells it."""
    several = namesakes(each.name for each in users)
    told = []
    for each in users:
        own = found.of_accounts.get(each.account, {}).get(each.name, Traffic())
        whole = own or each.name in several
        told.append((each, own if whole else found.users.get(each.name, Traffic())))
    return told


def _check_known(
    users: list[tuple[ReviewedUser, Traffic]], found: Evidence, run: str, selection: UserSelection
) -> None:
    """Refuse users that are not those of the traffic."""
    there = sorted(name for name, traffic in found.users.items() if traffic)
    missing = [each.name for each, traffic in users if not traffic]
    if not missing or (len(missing) < len(users) and selection.user is None):
        return  # a user among others that never came is a finding
    claimed = [each.name for each, traffic in users if traffic.claimed and not traffic]
    if claimed:
        raise BadFile(
            f"{run}: clients claim this name, and the broker proved no user of it: "
            f"{', '.join(claimed[:_SHOWN_USERS])}; --claimed-identities takes their word"
        )
    known = ", ".join(there[:_SHOWN_USERS]) or "no users"
    more = f" and {len(there) - _SHOWN_USERS} more" if len(there) > _SHOWN_USERS else ""
    raise BadFile(
        f"{run}: no traffic of {', '.join(missing[:_SHOWN_USERS])}; it has {known}{more}; write "
        "USER=FILE if a file of one user has another name"
    )


def _usage(user: ReviewedUser, traffic: Traffic) -> Usage:
    permissions = user.permissions
    if not traffic:
        return Usage(user, (), (), (), None, traffic.claimed)
    proposal = narrowed(permissions, traffic)
    return Usage(
        user,
        tuple(entry_usage(permissions, traffic)),
        tuple(refusals(permissions, traffic)),
        tuple(uncovered(permissions, traffic)),
        proposal if proposal.removed or proposal.added else None,
        traffic.claimed,
    )


def _rows(answer: Usage) -> Iterator[Finding]:
    user = answer.of
    own = user.permissions.place or user.file
    if not answer.entries:
        message = f"{user.label}: no traffic of this user"
        yield Finding.at(own, "unused-user", "warning", message)
    if answer.claimed:
        message = (
            f"{user.label}: {answer.claimed:,} messages and subscriptions under this name are not "
            "counted, as the broker did not prove the user; --claimed-identities counts them"
        )
        yield Finding.at(own, "claimed", "warning", message)
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
    """The proposed entries that allow something of one that goes."""
    if proposal is None or (usage.verb, usage.entry) not in proposal.removed:
        return []
    whole = usage.entry.partition(" ")[0]
    return [
        entry
        for entry in proposal.permissions.lists(usage.verb)[0]
        if engine.overlaps(whole, entry.partition(" ")[0])
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
    own = answer.of.permissions.place
    if not answer.entries:
        where = {"file": answer.of.file if own is None else own.file}
        yield {"kind": "unused-user", **user, **where, "line": None if own is None else own.line}
    for each in answer.entries:
        place = answer.of.permissions.sources.get((f"{each.verb}_allow", each.entry))
        line = None if place is None else place.line
        more = {"file": answer.of.file if place is None else place.file, "line": line}
        yield {"kind": "rule", **user, **dataclasses.asdict(each), **more}
    if answer.claimed:
        yield {"kind": "claimed", **user, "count": answer.claimed}
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
