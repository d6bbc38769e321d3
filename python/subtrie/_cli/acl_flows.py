"""``subtrie acl flows``: which messages cross from one account to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from .._core import engine
from .._core.errors import SubtrieError
from .._findings.finding import Finding
from .._findings.junit import Passed
from ..acl import Deployment
from ..acl._access import split_question
from ..acl._account import pattern_of
from ..acl._extent import extent
from ..acl._flows import Flow
from ..acl._link import Link
from .flows_of_streams import Stored, of_question, stored_messages, streams_not_seen
from .format_option import TEXT, by_format
from .output_formats import print_findings, print_lines
from .permission_files import SOURCE, BadFile, bad_file
from .stream import printable, say, say_good
from .stream_sources import apart

_LEVELS = {"unused-import": "warning", "no-authorization": "warning"}
_KINDS = {
    "leaf": "leaf node of",
    "leaf user": "leaf node user",
    "route": "cluster",
    "gateway": "gateway to",
}
_LISTENERS = {
    "leaf listener": "leaf nodes of other brokers may connect as any user of {accounts}",
    "gateway listener": "gateways of other clusters may connect, for all accounts",
    "websocket listener": "clients may connect by WebSocket",
    "mqtt listener": "clients may connect by MQTT; a topic a/b is the subject a.b",
}  # fmt: skip


@click.command()
@click.argument("sources", type=SOURCE, nargs=-1, required=True)
@click.option("--allow-readable", is_flag=True, help="Accept a creds file that others may read.")
@click.option("--from", "origin", metavar="ACCOUNT[:SUBJECT]", help="Only what leaves an account.")
@click.option("--to", "target", metavar="ACCOUNT", help="Only what arrives in an account.")
@click.option("--user", metavar="NAME", help="Only what a user may publish or receive.")
@by_format
def flows(
    sources: tuple[Path | str, ...],
    allow_readable: bool,
    origin: str | None,
    target: str | None,
    user: str | None,
    form: str,
) -> None:
    r"""Show which messages cross from one account to another, and between which users.

    A SOURCE is a server configuration, a JWT or creds file, a folder of JWTs as nsc keeps them,
    saved answers of /accountz?acc=NAME and /connz?auth=1&subs=detail, or the address of a
    monitoring port (http://127.0.0.1:8222); several add up. With a saved answer of
    /jsz?accounts=1&streams=1&consumers=1&config=1 among them, streams are shown with the users that
    may write and read them. Each import is shown with an example, before and after it is renamed;
    then links to other brokers, public exports, exports that no
    account imports, and imports that no user can use. Exit code 1 if there is such an import, or no
    authorization; 2 if an account, or the users at an end, are not among SOURCES. With --from, --to
    or --user, only the imports in question: exit code 1 if there is none.

    \b
    Examples:
      subtrie acl flows nats.conf
      subtrie acl flows nats.conf --from ORDERS:orders.7.done --to BILLING
      subtrie acl flows nats.conf --format json
    """
    try:
        others, known = apart(sources)
        if not others:
            raise BadFile(f"{sources[0]}: it holds streams only; give the configuration, too")
        deployment = Deployment.load(*others, allow_readable=allow_readable)
        known = known.named_as_in(deployment.accounts)
        stored = [stored_messages(deployment, known, each) for each in known.streams]
        crossing = deployment.flows()
        rows = list(_rows(deployment, str(sources[0])))
        rows += streams_not_seen(deployment, known, str(sources[0]))
        narrowed = (origin, target, user) != (None, None, None)
        if narrowed:
            crossing, rows = _selected(deployment, crossing, origin, target, user), []
            deployment.links = []
            stored = of_question(deployment, stored, origin, target, user)
    except (SubtrieError, OSError, ImportError) as error:
        raise bad_file(error) from None
    if form == TEXT:
        _print(deployment, crossing, rows, stored, narrowed)
    else:
        objects = [*(_object(deployment, each) for each in crossing), *_objects(deployment, rows)]
        objects += [each.as_dict() for each in stored]
        table = [
            (each.kind, each.source, each.target, each.published, each.received,
             _senders(deployment, each), _receivers(deployment, each)) for each in crossing
        ]  # fmt: skip
        table += [each.cells for each in stored]
        table += [(each.rule, each.place, "", each.message, "", "", "") for each in rows]
        headings = ("kind", "from", "to", "published", "received", "senders", "receivers")
        passed = [
            Passed(str(sources[0]), f"{each.kind} {each.source} to {each.target}: {each.published}")
            for each in crossing
        ]
        print_findings(
            form, "subtrie acl flows", rows,
            objects=objects, table=(headings, table), passed=passed,
        )  # fmt: skip
    unsure = [each.undetermined for each in crossing] + [each.undetermined for each in stored]
    if any(unsure) or any(each.rule == "not-seen" for each in rows):
        raise SystemExit(2)
    if narrowed:
        raise SystemExit(0 if crossing or stored else 1)
    raise SystemExit(1 if any(each.level == "warning" for each in rows) else 0)


def _selected(
    deployment: Deployment,
    crossing: list[Flow],
    origin: str | None,
    target: str | None,
    user: str | None,
) -> list[Flow]:
    """The imports between two accounts, of a subject, or of a user.

    Raises:
        BadFile: there is no such account or user.
        PatternError: not a valid pattern.
    """
    account, subject = split_question(origin or ">", deployment.accounts)
    if origin is not None and account is None:
        account, subject = origin, ">"
    engine.check_pattern(subject, "server")
    for name in (account, target):
        if name is not None and name not in deployment.accounts:
            raise BadFile(
                f"no account is called {name}; there are {', '.join(deployment.accounts)}"
            )
    known = [each for each in deployment.users if user in (each, each.rpartition("/")[2])]
    if user is not None and not known:
        raise BadFile(f"no user is called {user}; there are {', '.join(deployment.users)}")
    return [
        each
        for each in crossing
        if account in (None, each.source)
        and target in (None, each.target)
        and engine.overlaps(pattern_of(each.start), subject)
        and (user is None or {*known} & {*each.senders, *each.receivers, *each.undetermined})
    ]


def _rows(deployment: Deployment, file: str) -> Iterator[Finding]:
    for each in deployment.unused():
        level = _LEVELS.get(each.code, "note")
        message = f"{each.account}: {each.message}"
        where = each.file or file
        yield Finding(each.code, level, message, file=where, line=each.line, user=each.account)
    for message in deployment.ignored:
        yield Finding.at(file, "ignored", "warning", message)
    for message in deployment.unverified:
        yield Finding.at(file, "not-verified", "note", f"{message} is not verified")
    for message in deployment.unseen:
        yield Finding.at(file, "not-seen", "error", message)
    for name, user in deployment.users.items():
        if user.anonymous:
            sent, taken = (extent(user, verb) for verb in ("publish", "subscribe"))
            certified = "with a certificate and " if user._certified else ""
            who = f"a connection {certified}without credentials is {name}"
            level = _LEVELS.get(user.anonymous, "note")
            message = f"{who}: it may publish {sent} and subscribe to {taken}"
            yield Finding.at(file, user.anonymous, level, message)


def _object(deployment: Deployment, flow: Flow) -> dict[str, Any]:
    row = {"kind": flow.kind, "from": flow.source, "to": flow.target}
    row |= {"published": flow.published, "received": flow.received}
    now = deployment.subscribed(flow.target, flow.pattern)
    users = {"senders": flow.senders, "receivers": flow.receivers, "subscribed": now}
    return {**row, **users, "undetermined": flow.undetermined}


def _objects(deployment: Deployment, rows: list[Finding]) -> Iterator[dict[str, Any]]:
    for link in deployment.links:
        row = {"kind": link.kind, "name": link.name, "account": link.account}
        sent, taken = (extent(link.permissions, verb) for verb in ("publish", "subscribe"))
        yield {**row, "file": link.file, "line": link.line, "sends": sent, "takes": taken}
    for each in rows:
        message = each.message.removeprefix(f"{each.user}: ")
        account = each.user or None
        where = {"file": each.file, "line": each.line}
        yield {"account": account, **where, "rule": each.rule, "message": message}


def _names(deployment: Deployment, users: tuple[str, ...], flow: Flow, account: str) -> str:
    """The users at an end; without one, whether there may be one about whom it is not known."""
    unknown = any(deployment.account_of(each).name == account for each in flow.undetermined)
    return ", ".join(users) or ("not known" if unknown else "no user")


def _senders(deployment: Deployment, flow: Flow) -> str:
    return _names(deployment, flow.senders, flow, flow.source)


def _receivers(deployment: Deployment, flow: Flow) -> str:
    if flow.by_broker:
        return "the broker"
    return _names(deployment, flow.receivers, flow, flow.target)


def _print(
    deployment: Deployment,
    crossing: list[Flow],
    rows: list[Finding],
    stored: list[Stored],
    narrowed: bool,
) -> None:
    if not (crossing or deployment.links or rows or stored):
        nothing = "no account takes messages of another, and the broker connects to no other"
        say("no import fits") if narrowed else say_good(nothing)
    for flow in crossing:
        renamed = f" as {flow.received}" if flow.received != flow.published else ""
        line = f"{flow.kind} {flow.source} → {flow.target}  {flow.published}{renamed}"
        say(printable(line))
        ends = {
            "published by": _senders(deployment, flow),
            "received by": _receivers(deployment, flow),
            "subscribed now": ", ".join(deployment.subscribed(flow.target, flow.pattern)),
            "not determined": ", ".join(flow.undetermined),
        }
        for what, users in ends.items():
            if users:
                say((f"  {what}: {printable(users)}", "dim"))
    for each in stored:
        say(printable(each.title))
        for what, names in each.ends:
            say((f"  {what}: {printable(names)}", "dim"))
    for link in deployment.links:
        say(printable(_linked(link, deployment)))
    print_lines(rows)


def _linked(link: Link, deployment: Deployment) -> str:
    if link.kind in _LISTENERS:
        named = {deployment.account_of(each).name for each in deployment.users}
        users = [each.account for each in deployment.links if each.kind == "leaf user"]
        accounts = ", ".join(map(str, dict.fromkeys(users))) or ", ".join(sorted(named))
        return f"listener {link.name}: {_LISTENERS[link.kind].format(accounts=accounts)}"
    whose = "all accounts" if link.account is None else link.account
    sent, taken = (extent(link.permissions, verb) for verb in ("publish", "subscribe"))
    return f"{_KINDS[link.kind]} {link.name}: {whose}; sends {sent}; takes {taken}"
