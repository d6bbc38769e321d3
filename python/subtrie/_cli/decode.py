"""``subtrie decode``: the parts of a Microbus subject or subscription."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.text import Text

from .. import microbus
from .._errors import SubtrieError
from .stream import console, inputs, line_of, no, printable, refused


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--subscription", is_flag=True, help="Decode patterns that services subscribe to.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def decode(subjects: tuple[str, ...], subscription: bool, as_json: bool) -> None:
    """The parts of each SUBJECT. Reads one per line from standard input when none is given.

    Only canonical addresses decode. Exit code 0 when all do, 1 when one does not.
    """
    screen = console()
    read = microbus.decode_subscription if subscription else microbus.decode
    all_decoded = True
    for text in inputs(subjects):
        try:
            address = read(text)
        except SubtrieError as error:
            all_decoded = False
            if error.reason == "wildcard":
                error.hint = "patterns decode with --subscription"
            if as_json:
                line_of({"subject": text, "kind": None, **refused(error)})
            else:
                screen.print(no(text, error))
            continue
        kind = type(address).__name__.removesuffix("Address").lower()
        if as_json:
            line_of({"subject": text, "kind": kind, **asdict(address)})
        else:
            parts = Text.assemble((kind, "bold"))
            for name, value in asdict(address).items():
                shown = "any" if value is None else printable(str(value)) or "-"
                parts.append(f"  {name}=", "dim").append(shown)
            screen.print(parts)
    raise SystemExit(0 if all_decoded else 1)
