"""``subtrie acl who --verb read`` and others: the users that may do something to a stream."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from .._core import engine
from .._core.errors import SubtrieError
from .._findings.finding import Finding
from ..acl import Deployment
from ..acl._access import split_question
from ..acl._jetstream.access import Access, access
from ..acl._jetstream.streams import Stream, Streams
from .format_option import TEXT
from .output_formats import print_findings
from .permission_files import BadFile, UserSelection, bad_file
from .stream import printable, say
from .stream_sources import NOT_GIVEN, apart


def who_stream(
    question: str, files: tuple[Path | str, ...], selection: UserSelection, verb: str, form: str
) -> int:
    """Print the users that may do something to a stream; return the exit code.

    Args:
        question: a stream or a subject that streams capture, perhaps after an account.
        files: the inputs, of permissions and of streams.
        selection: the users that are asked about.
        verb: ``read``, ``write``, ``delete`` or ``admin``.
        form: the format.
    """
    try:
        sources, streams = apart(files, selection.account)
        if not sources:
            raise BadFile(f"{files[0]}: it holds streams only; give the configuration, too")
        deployment = Deployment.load(*sources, allow_readable=selection.allow_readable)
        streams = streams.named_as_in(deployment.accounts)
        wanted, unseen = _wanted(question, deployment, streams)
        found = [
            each
            for stream in wanted
            for each in access(deployment, streams, stream, verb)
            if selection.concerns(each.user)
        ]
    except (SubtrieError, OSError, ImportError) as error:
        raise bad_file(error) from None
    if form == TEXT:
        _print(wanted, found, verb, unseen)
    else:
        file = str(files[0])
        rows = [Finding.at(file, *_kind(each), _sentence(each, verb)) for each in found]
        rows += [Finding.at(file, "not-seen", "error", each) for each in unseen]
        objects = [*(_object(each, verb) for each in found), *({"not_seen": e} for e in unseen)]
        table = [
            (each.stream.label, each.user, way.does, " ".join(way.subjects), " ".join(way.rules))
            for each in found
            for way in each.ways
        ]
        table += [("not seen", "", each, "", "") for each in unseen]
        headings = ("stream", "user", "way", "subjects", "rules")
        print_findings(form, "subtrie acl who", rows, objects=objects, table=(headings, table))
    if unseen or not all(each.determined for each in found):
        return 2
    return 0 if found else 1


def _wanted(
    question: str, deployment: Deployment, streams: Streams
) -> tuple[list[Stream], list[str]]:
    """The streams of a question, and what is not known, a line each."""
    known = dict.fromkeys((*deployment.accounts, *(each.account for each in streams.streams)))
    account, name = split_question(question, known)
    engine.check_pattern(name, "server")
    unseen = list(streams.unseen)
    if not streams.given:
        if "." in name:
            raise BadFile(f"which streams capture {name} is not known: {NOT_GIVEN}")
        names = [account] if account is not None else _with_jetstream(deployment)
        return [Stream(name, each, key=each, consumers=None) for each in names], [NOT_GIVEN]
    found = streams.named(name, account)
    if not found:
        found = [e for e in streams.capturing(name) if account in (None, e.account)]
    if not found:
        labels = ", ".join(each.label for each in streams.streams) or "no stream"
        raise BadFile(f"{question}: no stream has this name or captures it; there is {labels}")
    unseen += [
        f"the account {each.account} of the stream {each.name} is not given"
        for each in found
        if each.account not in deployment.accounts
    ]
    return found, unseen


def _with_jetstream(deployment: Deployment) -> list[str]:
    rows = deployment.accounts.values()
    found = [each.name for each in rows if each.jetstream]
    return found or [each.name for each in rows if each.name != deployment.system_account]


def _kind(found: Access) -> tuple[str, str]:
    return ("may", "note") if found.determined else ("not-determined", "error")


def _sentence(found: Access, verb: str) -> str:
    ways = "; ".join(f"{each.does} by {', '.join(each.rules)}" for each in found.ways)
    may = "may" if found.determined else "perhaps may"
    return f"{found.user} {may} {verb} {found.stream.label}: {ways}"


def _object(found: Access, verb: str) -> dict[str, Any]:
    allowed = True if found.determined else None
    row = {"account": found.stream.account, "stream": found.stream.name, "user": found.user}
    ways = [dataclasses.asdict(each) for each in found.ways]
    return {**row, "verb": verb, "allowed": allowed, "ways": ways}


def _print(wanted: list[Stream], found: list[Access], verb: str, unseen: list[str]) -> None:
    for stream in wanted:
        rows = [each for each in found if each.stream is stream]
        if len(wanted) > 1:
            say((printable(stream.label), "bold"))
        for each in rows:
            mark = ("✓ ", "green") if each.determined else ("? ", "yellow")
            say(mark, printable(each.user))
            for way in each.ways:
                what = f"{' '.join(way.subjects)}  by {', '.join(way.rules)}"
                unsure = "" if way.determined else "? "
                say((printable(f"    {unsure}{way.does}: {what}"), "dim"))
        if not rows:
            say(f"no user may {verb} {printable(stream.label)}")
    for line in unseen:
        say(("? ", "yellow"), printable(line))
