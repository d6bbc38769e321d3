"""``subtrie decode``: decode Microbus subjects and subscription patterns into their parts."""

from __future__ import annotations

from dataclasses import asdict

import click

from .. import microbus
from .._core.errors import SubtrieError
from .stream import error_fields, inputs, print_json, printable, say, say_rejected


@click.command()
@click.argument("subjects", nargs=-1)
@click.option("--subscription", is_flag=True, help="Decode subscription patterns.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def decode(subjects: tuple[str, ...], subscription: bool, as_json: bool) -> None:
    r"""Decode each SUBJECT into its parts, by default each line of standard input.

    Only canonical addresses decode. Exit code 0 if all decode, 1 if one does not.

    \b
    Examples:
      subtrie decode prod.safe.443.web_shop.orders_shop._.GET.orders.17
      subtrie decode --subscription 'prod.safe.443.*.orders_shop._.GET.orders.*'
    """
    read = microbus.decode_subscription if subscription else microbus.decode
    all_decoded = True
    for text in inputs(subjects):
        try:
            address = read(text)
        except SubtrieError as error:
            all_decoded = False
            if error.reason == "wildcard":
                error.hint = "to decode a subscription pattern, pass --subscription"
            if as_json:
                print_json({"subject": text, "kind": None, **error_fields(error)})
            else:
                say_rejected(text, error)
            continue
        kind = type(address).__name__.removesuffix("Address").lower()
        if as_json:
            print_json({"subject": text, "kind": kind, **asdict(address)})
        else:
            parts: list[str | tuple[str, str]] = [(kind, "bold")]
            for name, value in asdict(address).items():
                shown = "any" if value is None else printable(str(value)) or "-"
                parts += (f"  {name}=", "dim"), shown
            say(*parts)
    raise SystemExit(0 if all_decoded else 1)
