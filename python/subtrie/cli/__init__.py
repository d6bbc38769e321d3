"""The command ``subtrie``: one file a verb."""

from __future__ import annotations

import click

from .conformance import conformance


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="subtrie")
def main() -> None:
    """The subject system of the Microbus service bus over NATS."""


main.add_command(conformance)
