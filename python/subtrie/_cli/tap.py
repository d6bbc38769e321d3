"""``subtrie tap``: write down what passes between clients and a broker."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..wire import KINDS, Tap

if TYPE_CHECKING:
    _Type = click.ParamType[tuple[str, int]]
else:  # older versions of click know no types of it
    _Type = click.ParamType


class Address(_Type):
    """``host:port``; the host may be left out."""

    name = "host:port"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Host and port."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not (port.isascii() and port.isdecimal() and int(port) < 65_536):
            self.fail(f"{value!r} is no host:port", param, ctx)
        return host.strip("[]") or "127.0.0.1", int(port)


@click.command()
@click.option("--listen", type=Address(), default=":4333", show_default=True, help="For clients.")
@click.option("--to", type=Address(), required=True, help="The broker, as in 127.0.0.1:4222.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="A folder."
)
@click.option(
    "--kind", type=click.Choice(KINDS), default="client", show_default=True, help="Whose protocol."
)
@click.option(
    "--rotate",
    type=click.IntRange(min=1),
    default=64 << 20,
    show_default=True,
    help="Bytes after which a new file begins.",
)
@click.pass_context
def tap(
    context: click.Context,
    listen: tuple[str, int],
    to: tuple[str, int],
    out: Path,
    kind: str,
    rotate: int,
) -> None:
    """Pass every connection on to a broker and write down both directions, until interrupted.

    Clients need no change but the port. What is written holds passwords and payloads as they were
    sent; the folder is readable for its owner only. Routes pass a tap only with no_advertise,
    pool_size: -1 and compression: off. Exit 0; 2 when it cannot listen or write.
    """
    try:
        error = asyncio.run(_until_stopped(Tap(to=to, out=out, listen=listen, kind=kind,
                                               rotate=rotate)))  # fmt: skip
    except OSError as caught:
        error = caught
    if error is not None:
        click.echo(f"subtrie: {error}", err=True)
        context.exit(2)


async def _until_stopped(opened: Tap) -> Exception | None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with opened:
        click.echo(f"listening on {opened.listen[0]}:{opened.port}", err=True)
        await stop.wait()
    return opened.error
