"""Read the traffic of users: from results of audits, or from logs that are audited here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .._core.errors import SubtrieError
from .._core.extras import install_command
from .._nats.reserved_subjects import INBOX
from ..acl import Permissions, Traffic
from ..acl._traffic import is_of
from .permission_files import BadFile, bad_file

if TYPE_CHECKING:
    from ..audit import Run
    from ..audit._read_once import ReadOnce

_AGAIN = "make it with: subtrie audit LOG --rules FILE --out RUN"
Period = tuple[datetime, datetime]
_Made = TypeVar("_Made")


class Evidence(NamedTuple):
    """The traffic of users, as one result tells it, and its time.

    Attributes:
        users: The traffic of each user in all accounts, by name.
        of_accounts: The same for each of the accounts that are asked for.
        period: The first and the last time; None if the traffic has no times.
    """

    users: dict[str, Traffic]
    of_accounts: dict[str, dict[str, Traffic]]
    period: Period | None


@dataclass(frozen=True)
class Wanted:
    """The selection of users whose traffic is read.

    Attributes:
        accounts: The accounts that are kept apart.
        claimed_identities: Whether a name that the broker did not prove counts as proven.
    """

    accounts: frozenset[str] = frozenset()
    claimed_identities: bool = False


class Missed(NamedTuple):
    """A refusal by a proposal: user, verb, subject or pattern, and how often."""

    user: str
    verb: str
    subject: str
    times: int


def read_run(run: str, wanted: Wanted = Wanted()) -> Evidence:
    """Return what the result of an audit tells, without Spark.

    Args:
        run: the directory that ``subtrie audit --out`` wrote.
        wanted: whose traffic is read.

    Raises:
        BadFile: There is no result, or it was made without what is needed.
    """
    try:
        from ..audit import OutputFolderError, open_run

        try:
            result = open_run(run)
        except OutputFolderError:
            message = "not a result of subtrie audit --out, or one that is damaged or newer"
            raise BadFile(f"{run}: {message}; {_AGAIN}") from None
        for table in ("flows", "permission_usage"):
            result.count(table)
        if not result.count("flows") and result.counters["published"]:
            raise BadFile(
                f"{run}: this run does not tell which rules were used, as it was made without "
                f"--rules and without --answers; {_AGAIN}"
            )
        return _evidence(result, wanted)
    except ImportError as error:
        raise BadFile(f"--traffic needs {error.name}: {install_command('audit', 'cli')}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise BadFile(f"{run}: not a result of subtrie audit --out; {_AGAIN}") from None
    except KeyError as error:
        raise BadFile(
            f"{run}: this run is of an older version and has no table {error}; {_AGAIN}"
        ) from None
    except (OSError, ValueError) as error:
        raise BadFile(str(error)) from None


def added(one: Evidence, other: Evidence) -> Evidence:
    """Return the evidence of two results."""
    users = _both(one.users, other.users)
    of_accounts = {
        account: _both(some, other.of_accounts[account])
        for account, some in one.of_accounts.items()
    }
    periods = [each.period for each in (one, other) if each.period is not None]
    span = (min(e[0] for e in periods), max(e[1] for e in periods)) if periods else None
    return Evidence(users, of_accounts, span)


def _both(one: Mapping[str, Traffic], other: Mapping[str, Traffic]) -> dict[str, Traffic]:
    users = dict(one)
    for name, traffic in other.items():
        users[name] = users[name].added(traffic) if name in users else traffic
    return users


class LogAudit:
    """Audits logs in this process, as often as it is asked.

    Args:
        logs: the logs: files, folders or shell patterns, as ``subtrie audit`` takes them.
        code: folders of source code, whose calls count as evidence of what varies.
        wanted: whose traffic is read.
        often: whether to keep what is read, so that the logs are read once.

    Attributes:
        logs: the logs.
        wanted: whose traffic is read.
    """

    def __init__(
        self,
        logs: Sequence[str],
        code: Sequence[str] = (),
        wanted: Wanted = Wanted(),
        *,
        often: bool = False,
    ) -> None:
        self.logs, self._folders, self.wanted, self._often = tuple(logs), code, wanted, often
        self._kept: ReadOnce | None = None

    def evidence(
        self, rules: Mapping[str, Permissions] | None, until: datetime | None = None
    ) -> Evidence:
        """Return what the logs tell.

        Args:
            rules: today's permissions by user; None if a user is of several accounts.
            until: only of before this time; None for all.
        """
        wanted = self.wanted

        def tell(result: Run) -> Evidence:
            return _evidence(result, wanted)

        return self._audited(rules, tell, wanted.claimed_identities, self._folders, until=until)

    def refused_by(
        self,
        rules: Mapping[str, Permissions],
        accounts: Mapping[str, str],
        since: datetime | None = None,
    ) -> list[Missed]:
        """Return what rules would have refused of what the broker accepted.

        Replies are left out for users with ``allow_responses``.

        Args:
            rules: the proposed permissions by user.
            accounts: the accounts of users whose names others have too.
            since: only from this time on; None for all.
        """

        def tell(result: Run) -> list[Missed]:
            counts: Counter[tuple[str, str, str]] = Counter()
            for each in _missed(result, rules, accounts, self.wanted.claimed_identities):
                counts[each.user, each.verb, each.subject] += each.times
            return sorted(Missed(*key, times) for key, times in counts.items())

        return self._audited(rules, tell, since=since)

    def close(self) -> None:
        """Forget what was read."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _audited(
        self,
        rules: Mapping[str, Permissions] | None,
        tell: Callable[[Run], _Made],
        claimed_identities: bool = False,
        folders: Sequence[str] = (),
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> _Made:
        try:
            from ..audit import Questions, Selection, audit
            from ..audit._answers.questions import load_code
            from ..audit._read_once import ReadOnce
            from ..audit._readers.log_files import log_files

            chosen = Selection(since=since, until=until) if since or until else None
            code = load_code(folders) if folders else None
            questions = Questions(rules=rules, code=code, claimed_identities=claimed_identities)
            if self._often:
                self._kept = self._kept or ReadOnce(tuple(log_files(self.logs)))
                made = self._kept.audit(questions, chosen)
            else:
                made = audit(tuple(log_files(self.logs)), questions=questions, selection=chosen)
            with made as result:
                return tell(result)
        except ImportError as error:
            raise BadFile(f"--log needs {error.name}: {install_command('audit', 'cli')}") from None
        except SubtrieError as error:
            raise bad_file(error) from None
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            raise BadFile(f"{name}{error.strerror or error}") from None
        except ValueError as error:
            raise BadFile(str(error)) from None


def _evidence(result: Run, wanted: Wanted) -> Evidence:
    def users(account: str | None) -> dict[str, Traffic]:
        return Traffic.of_tables(
            result.rows,
            result.summary["planes"],
            account=account,
            claimed_identities=wanted.claimed_identities,
        )

    of_accounts = {account: users(account) for account in sorted(wanted.accounts)}
    found: list[datetime | None] = []
    for table in ("flows", "refused"):
        for row in result.rows(table):
            found += (row["first"], row["last"])
    for row in result.rows("subscriptions"):
        found += (row["start"], row["end"] or row["start"])
    times = [time for time in found if time is not None]
    period = (min(times), max(times)) if times else None
    return Evidence(users(None), of_accounts, period)


def _missed(
    result: Run,
    rules: Mapping[str, Permissions],
    accounts: Mapping[str, str],
    claimed_identities: bool,
) -> Iterator[Missed]:
    """Yield the messages and subscriptions that rules forbid although the broker accepted them."""
    from ..audit._answers.rule_table import service_of

    verbs = {"forbidden": "publish", "forbidden_subscription": "subscribe"}
    for row in result.rows("violations"):
        verb, user = verbs.get(row["kind"]), service_of(row["who"], row["user"], rules)
        if verb is None or user is None or user not in rules:
            continue
        if not (claimed_identities or is_of(user, row)):
            continue
        if row.get("account") not in (None, accounts.get(user, row.get("account"))):
            continue  # of another user of this name
        answers = rules[user].allow_responses is not None and verb == "publish"
        if not (answers and _is_reply(row["subject"])):
            yield Missed(user, verb, row["witness"], row["count"])


def _is_reply(subject: str) -> bool:
    first, _, rest = subject.partition(".")
    return first.startswith(INBOX) or rest.partition(".")[0] == "reply"


def namesakes(names: Iterable[str]) -> set[str]:
    """Return the names that several users have."""
    return {name for name, count in Counter(names).items() if count > 1}


def told(evidence: Evidence) -> str:
    """Return the time of evidence as text."""
    if evidence.period is None:
        return "at unknown times"
    first, last = evidence.period
    return f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
