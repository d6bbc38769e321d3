"""``subtrie acl need``: the smallest permissions for one role of a client of JetStream."""

from __future__ import annotations

from pathlib import Path

import click

from .._core import engine
from .._core.errors import SubtrieError
from .._findings.finding import Finding
from .._nats.reserved_subjects import INBOX
from ..acl._jetstream.load import load_streams
from ..acl._jetstream.need import (
    ROLES,
    WITHOUT_STREAM,
    Need,
    NotEnough,
    Target,
    needed,
    stream_of,
)
from ..acl._jetstream.streams import Stream
from .format_option import FORMS, JSON, TEXT, formats
from .output_formats import print_findings
from .permission_files import SOURCE, BadFile, bad_file
from .stream import printable, say

#: Roles whose target is a subject, which may have a colon.
_OF_SUBJECTS = ("request", "service")


@click.command()
@click.argument("role", type=click.Choice(ROLES))
@click.argument("target", metavar="STREAM[/CONSUMER]")
@click.argument("sources", type=SOURCE, nargs=-1)
@click.option(
    "--subject", "subjects", multiple=True,
    help="A subject that is published, or a filter; those of the stream by default. Of a "
    "key-value bucket, a pattern of keys.",
)  # fmt: skip
@click.option("--deliver", metavar="SUBJECT", help="The deliver subject of a push consumer.")
@click.option("--inbox", default=INBOX, show_default=True, help="The client's prefix of inboxes.")
@click.option("--account", help="The account of the stream, if several have one of its name.")
@formats((TEXT, JSON, "conf", *(each for each in FORMS if each not in (TEXT, JSON))))
def need(
    role: str,
    target: str,
    sources: tuple[Path | str, ...],
    subjects: tuple[str, ...],
    deliver: str | None,
    inbox: str,
    account: str | None,
    form: str,
) -> None:
    r"""Print the smallest permissions with which a client of nats-py can do what ROLE does.

    STREAM is a stream; of kv-… and object-…, a bucket; of request and service, a subject. With
    CONSUMER, the client binds to a consumer that exists; without, it makes one. SOURCES tell the
    streams: saved answers of /jsz?accounts=1&streams=1&consumers=1&config=1, of nats stream info
    --json, or the address of a monitoring port. Exit code 2 if the role needs what they do not
    tell.

    \b
    Examples:
      subtrie acl need pull ORDERS/shipper
      subtrie acl need publish ORDERS --subject 'orders.>' --format conf
      subtrie acl need kv-read cfg http://127.0.0.1:8222
    """
    name, _, consumer = target.partition("/")
    if account is None and sources and ":" in name and role not in _OF_SUBJECTS:
        account, _, name = name.partition(":")  # as streams are listed
    try:
        for each in (name, *subjects, inbox, *(each for each in (deliver, consumer) if each)):
            engine.check_pattern(each, "server")
        stream = _stream(role, stream_of(role, name), sources, account)
        found = needed(role, Target(name, consumer or None, subjects, stream, deliver, inbox))
    except NotEnough as error:
        raise BadFile(str(error)) from None
    except (SubtrieError, OSError) as error:
        raise bad_file(error) from None
    if form in (JSON, "conf"):
        print(found.permissions().dump(form), end="")
        for note in found.notes:
            click.echo(f"note: {printable(note)}", err=True)
    elif form == TEXT:
        _print(found)
    else:
        rows = [
            Finding.at(target, "entry", "note", f"{verb} {entry}: {why}")
            for verb, entry, why in _cells(found)
        ]
        table = (("list", "entry", "for"), _cells(found))
        print_findings(form, "subtrie acl need", rows, table=table)


#: Most streams that an error lists.
_SHOWN = 10


def _stream(
    role: str, name: str, sources: tuple[Path | str, ...], account: str | None
) -> Stream | None:
    """The stream that the inputs tell; None without inputs."""
    if not sources:
        return None
    streams = load_streams(sources, account)
    found = streams.named(name, account)
    if len(found) > 1:
        accounts = ", ".join(each.account for each in found)
        raise NotEnough(f"{accounts} have a stream {name} each; pass --account")
    if not found and role not in WITHOUT_STREAM:
        labels = [each.label for each in streams.streams]
        known = ", ".join(labels[:_SHOWN]) or "no stream"
        if len(labels) > _SHOWN:
            known += f" and {len(labels) - _SHOWN} more"
        wanted = name if account is None else f"{account}:{name}"
        raise NotEnough(f"{sources[0]}: there is no stream {wanted}; it holds {known}")
    return found[0] if found else None


def _cells(found: Need) -> list[tuple[str, str, str]]:
    rows = [("publish", entry, why) for entry, why in found.publish.items()]
    rows += [("subscribe", entry, why) for entry, why in found.subscribe.items()]
    if found.responses:
        rows.append(("allow responses", "1", "answers"))
    return rows


def _print(found: Need) -> None:
    rows = _cells(found)
    widths = [max(len(row[index]) for row in rows) for index in (0, 1)]
    for verb, entry, why in rows:
        line = f"{verb.ljust(widths[0])}  {printable(entry).ljust(widths[1])}  "
        say(line, (why, "dim"))
    for note in found.notes:
        say((f"note: {printable(note)}", "dim"))
