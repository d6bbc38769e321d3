"""The options of commands that send over the bus: where the broker is, and as whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def broker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--nats``, ``--creds`` and ``--plane`` to a command.

    Args:
        command: The command; it gets ``nats``, ``creds`` and ``plane``, each a text or None.
    """
    broker = "The URL of the broker.  [default: MICROBUS_NATS, else nats://127.0.0.1:4222]"
    plane = "The plane.  [default: MICROBUS_PLANE, else microbus]"
    for option in (
        click.option("--plane", help=plane),
        click.option(
            "--creds", type=click.Path(exists=True, dir_okay=False), help="The creds file."
        ),
        click.option("--nats", help=broker),
    ):
        command = option(command)
    return command
