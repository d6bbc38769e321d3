"""``subtrie acl streams``: the streams of a broker, what they capture, and where they overlap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .._core import engine
from .._core.errors import SubtrieError
from .._findings.finding import Finding
from ..acl._jetstream.load import load_streams
from ..acl._jetstream.overlaps import Overlap, overlaps
from ..acl._jetstream.streams import Stream
from .format_option import TEXT, by_format
from .output_formats import print_findings
from .permission_files import SOURCE, bad_file
from .stream import printable, say


@click.command()
@click.argument("sources", type=SOURCE, nargs=-1, required=True)
@click.option("--subject", metavar="PATTERN", help="Only what captures some subject of it.")
@click.option("--account", help="The account of streams whose input does not tell it.")
@by_format
def streams(
    sources: tuple[Path | str, ...], subject: str | None, account: str | None, form: str
) -> None:
    r"""List streams: what each captures, copies, publishes again and delivers, and their overlaps.

    A SOURCE is a saved answer of /jsz?accounts=1&streams=1&consumers=1&config=1, of nats stream
    info --json or nats consumer info --json, or the address of a monitoring port. Two streams
    overlap if both capture a subject, in two accounts, or if one captures what the other publishes
    again or delivers; each with an example. Exit code 1 if --subject finds no stream, 2 if an input
    does not hold all streams.

    \b
    Examples:
      subtrie acl streams jsz.json
      subtrie acl streams http://127.0.0.1:8222 --subject 'orders.>'
    """
    try:
        if subject is not None:
            engine.check_pattern(subject, "server")
        known = load_streams(sources, account)
    except (SubtrieError, OSError) as error:
        raise bad_file(error) from None
    rows = list(known.streams if subject is None else known.capturing(subject))
    common = [e for e in overlaps(known) if subject is None or e.one in rows or e.two in rows]
    if form == TEXT:
        _print(rows, common, subject, known.unseen)
    else:
        file = str(sources[0])
        notes = [Finding.at(file, "stream", "note", _sentence(each)) for each in rows]
        notes += [Finding.at(file, "overlap", "note", each.sentence) for each in common]
        notes += [Finding.at(file, "not-seen", "error", each) for each in known.unseen]
        objects = [*map(_object, rows), *map(_overlap, common)]
        objects += [{"not_seen": each} for each in known.unseen]
        table = [(each.label, each.kind, *(", ".join(part) for _, part in _parts(each)))
                 for each in rows]  # fmt: skip
        table += [("not seen", "", each, "", "", "") for each in known.unseen]
        headings = ("stream", "kind", "captures", "copies", "publishes again", "consumers")
        print_findings(form, "subtrie acl streams", notes, objects=objects, table=(headings, table))
    if known.unseen:
        raise SystemExit(2)
    raise SystemExit(0 if rows or subject is None else 1)


def _parts(stream: Stream) -> list[tuple[str, list[str]]]:
    origins = [("mirror of " if each.mirror else "source ") + each.name
               + (f" by {each.api}" if each.api else "") for each in stream.origins]  # fmt: skip
    again = [] if stream.republish is None else [f"{stream.republish[0]} as {stream.republish[1]}"]
    consumers = ["not given"] if stream.consumers is None else []
    for each in stream.consumers or ():
        filters = f" of {', '.join(each.filters)}" if each.filters else ""
        deliver = f" to {each.deliver}" if each.deliver else ""
        group = f" in the queue {each.group}" if each.group else ""
        consumers.append(f"{each.name}{filters}{deliver}{group}")
    return [("captures", list(stream.subjects)), ("copies", origins), ("publishes again", again),
            ("consumers", consumers)]  # fmt: skip


def _sentence(stream: Stream) -> str:
    parts = [f"{what} {', '.join(texts)}" for what, texts in _parts(stream) if texts]
    return f"{stream.kind} {stream.label}: {'; '.join(parts) or 'captures nothing'}"


def _object(stream: Stream) -> dict[str, Any]:
    row: dict[str, Any] = {"stream": stream.name, "account": stream.account, "kind": stream.kind}
    row |= {what.replace(" ", "_"): texts for what, texts in _parts(stream)}
    return {**row, "direct": stream.direct, "retention": stream.retention}


def _overlap(overlap: Overlap) -> dict[str, Any]:
    pair = [overlap.one.label, overlap.two.label]
    return {"overlap": pair, "how": overlap.how, "example": overlap.example}


def _print(
    rows: list[Stream], common: list[Overlap], subject: str | None, unseen: tuple[str, ...]
) -> None:
    for stream in rows:
        say(printable(f"{stream.kind} {stream.label}"))
        for what, texts in _parts(stream):
            if texts:
                say((printable(f"  {what}: {', '.join(texts)}"), "dim"))
    if not rows:
        told = "no stream" if subject is None else f"no stream captures {printable(subject)}"
        say(told)
    for each in common:
        say((printable(each.sentence), "yellow"))
    for line in unseen:
        say(("? ", "yellow"), printable(line))
