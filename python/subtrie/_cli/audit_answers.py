"""The options of ``subtrie audit`` that ask questions, and how a proposal is printed."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from .stream import printable

if TYPE_CHECKING:
    from datetime import datetime

    from ..acl import Permissions
    from ..audit import Questions, Run, Selection


@dataclasses.dataclass(frozen=True)
class AnswerOptions:
    """The values of the options.

    Attributes:
        questions: What is asked.
        selection: Which messages are audited; None for all.
        rules: Today's permissions by service; None if they are not given.
        fail_on: The tables that must be empty.
    """

    questions: Questions
    selection: Selection | None
    rules: dict[str, Permissions] | None
    fail_on: tuple[str, ...]


def asks(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ask questions; the command gets a function that reads them."""

    @wraps(command)
    def asking(
        *arguments: Any,
        rules: tuple[str, ...],
        code: tuple[str, ...],
        answers: bool,
        at: str | None,
        subject: str | None,
        since: str | None,
        until: str | None,
        source: str | None,
        host: str | None,
        min_days: int | None,
        min_sources: int | None,
        claimed_identities: bool,
        payloads: str | None,
        fail_on: tuple[str, ...],
        streams: tuple[str, ...],
        **named: Any,
    ) -> Any:
        def read() -> AnswerOptions:
            """Read the files that the options name. Raises what ``load_rules`` raises."""
            from ..acl._jetstream.load import load_streams
            from ..audit import ANSWERS, TABLES, Questions, Selection
            from ..audit._answers.questions import load_code, load_rules

            tables = tuple(name for each in fail_on for name in each.split(","))
            for name in tables:
                if name not in TABLES:
                    raise ValueError(f"--fail-on: there is no table {name!r}")
            if at is not None and subject is None:
                raise ValueError("--at needs --subject: whose receivers do you ask for?")
            times = {"since": since, "until": until}
            parsed = {each: _time_of(each, text) for each, text in times.items()}
            selection = Selection(**parsed, source=source, host=host)
            permissions = load_rules(rules) if rules else None
            thresholds: dict[str, Any] = {"min_days": min_days, "min_sources": min_sources}
            given: dict[str, Any] = {
                name: value for name, value in thresholds.items() if value is not None
            }
            if claimed_identities:
                given["claimed_identities"] = True
            wanted = set(tables) & set(ANSWERS)
            asked = bool(rules or code or answers or subject or given or wanted or payloads)
            questions = Questions(
                rules=permissions,
                code=load_code(code) if code else None,
                subject=subject,
                time=_time_of("at", at),
                payloads=payloads,
                automatic=not asked,
                streams=load_streams(streams) if streams else None,
                **given,
            )
            return AnswerOptions(questions, selection or None, permissions, tables)

        return command(*arguments, read_questions=read, **named)

    with_options: Callable[..., Any] = asking
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


_OPTIONS = (
    click.option(
        "--rules", multiple=True, metavar="[SERVICE=]FILE",
        help="Today's permissions: configuration, creds, JWT, JSON, or a folder; repeatable.",
    ),
    click.option(
        "--code", multiple=True, type=click.Path(exists=True), metavar="DIR",
        help="The source of the services, to compare with rules and traffic; repeatable.",
    ),
    click.option(
        "--streams", multiple=True, metavar="FILE|URL",
        help="The streams: a saved /jsz of `acl streams`, or a monitoring port; repeatable.",
    ),
    click.option("--answers", is_flag=True, help="Propose rules, and print flows and latency."),
    click.option("--subject", help="Print who received this subject, and when that changed."),
    click.option("--at", metavar="TIME", help="Print who would have received --subject then."),
    click.option("--since", metavar="TIME", help="Audit messages from this time on."),
    click.option("--until", metavar="TIME", help="Audit messages before this time."),
    click.option("--source", metavar="HOST", help="Audit only what this host sends."),
    click.option("--host", metavar="HOST", help="Audit only what is sent to this host."),
    click.option(
        "--min-days", type=click.IntRange(min=1),
        help="Propose a rule after evidence on this many days (default: 3).",
    ),
    click.option(
        "--min-sources", type=click.IntRange(min=1),
        help="Propose a wildcard after evidence from this many services (default: 2).",
    ),
    click.option(
        "--claimed-identities", is_flag=True,
        help="Propose rules also for clients whose name the broker did not prove.",
    ),
    click.option(
        "--payloads", type=click.Choice(["heads"]),
        help="Read message id, op code and status of Microbus messages, for their latency.",
    ),
    click.option(
        "--fail-on", multiple=True, metavar="TABLE,...",
        help="Exit 1 if one of these tables has a row, such as violations,spoofed.",
    ),
)  # fmt: skip


def exit_code(result: Run, tables: tuple[str, ...], logs: Sequence[str]) -> int:
    """Print which tables of ``--fail-on`` are not empty, and what was not read; return the code.

    Args:
        result: The result.
        tables: The tables that must be empty.
        logs: The inputs.
    """
    from ..audit._readers.log_files import input_kind
    from ..audit._results.verdict import failing, not_read

    found = failing(result, tables)
    if found:
        told = ", ".join(f"{count} in {name}" for name, count in found.items())
        print(f"subtrie audit: --fail-on: {told}", file=sys.stderr)
    unread = not_read(result, tables)
    if unread is None:
        return 1 if found else 0
    hint = ": the input does not tell deliveries, or --redact hides them"
    if not result.summary["operations"]:
        is_log = any(input_kind(path) == "log" for path in logs)
        hint = "; run nats-server with -DV, and give the log that it writes" if is_log else ""
    print(f"subtrie audit: {unread}{hint}", file=sys.stderr)
    return 2


def print_proposal(result: Run, rules: dict[str, Permissions] | None) -> None:
    """Print each service's proposed rules as the difference to today's, with their size as a JWT.

    Args:
        result: The result.
        rules: Today's permissions; None if they are not given.
    """
    from ..audit import proposed_permissions
    from ..gencreds import plan

    for service, permissions in proposed_permissions(result.rows("proposal")).items():
        count = len(permissions.publish_allow or ()) + len(permissions.subscribe_allow or ())
        size = plan(permissions, name=service)
        rules_of = "1 rule" if count == 1 else f"{count} rules"
        print(f"\nProposal for {printable(service)}: {rules_of}, JWT {size}")
        today = None if rules is None else rules.get(service)
        if today is None:
            continue
        difference = today.diff(permissions)
        for sign, grants in (("+", difference.added), ("-", difference.removed)):
            for grant in grants:
                print(f"  {sign} {printable(str(grant))}  (such as {printable(grant.witness)})")
        if not difference:
            print("  no difference to today's rules")


def _time_of(option: str, text: str | None) -> datetime | None:
    """Return the time that an option names."""
    from ..audit._answers.questions import parse_time

    try:
        return None if text is None else parse_time(text)
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from None
