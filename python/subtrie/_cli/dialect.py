"""The option ``--dialect``, with one default for every command."""

from __future__ import annotations

import click

by_dialect = click.option(
    "--dialect",
    type=click.Choice(["strict", "server"]),
    default="strict",
    show_default=True,
    help="The grammar: that of the NATS documentation, or what nats-server accepts.",
)
