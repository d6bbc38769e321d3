"""``subtrie tap``: record the traffic between clients and a broker."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..wire import Tap
from ..wire.capture import CONNECTION_KINDS
from .stream import print_json, printable

if TYPE_CHECKING:
    _Type = click.ParamType[tuple[str, int]]
else:  # in older versions of click the class is not generic
    _Type = click.ParamType


class Address(_Type):
    """A ``host:port``; the default host is 127.0.0.1."""

    name = "host:port"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return host and port."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not (port.isascii() and port.isdecimal() and int(port) < 65_536):
            self.fail(f"{value!r} is not a valid host:port", param, ctx)
        return host.strip("[]") or "127.0.0.1", int(port)


#: The signals that end the recording.
_STOPS = (signal.SIGINT, signal.SIGTERM)


@click.command()
@click.option(
    "--listen", type=Address(), default=":4333", show_default=True, help="The address to listen on."
)
@click.option("--to", type=Address(), required=True, help="The address of the broker.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The directory of the capture.",
)
@click.option(
    "--kind",
    type=click.Choice(CONNECTION_KINDS),
    default="client",
    show_default=True,
    help="The protocol of the connections.",
)
@click.option(
    "--rotate",
    type=click.IntRange(min=1),
    default=64 << 20,
    show_default=True,
    help="Size in bytes after which a new file begins.",
)
@click.option(
    "--json", "as_json", is_flag=True,
    help="Print the address, and at the end the number of connections, as JSON.",
)  # fmt: skip
@click.pass_context
def tap(
    context: click.Context,
    listen: tuple[str, int],
    to: tuple[str, int],
    out: Path,
    kind: str,
    rotate: int,
    as_json: bool,
) -> None:
    r"""Forward every connection to a broker and record both directions, until interrupted.

    Clients only need another port. The capture holds passwords and payloads as they were sent; its
    directory is readable by its owner only. Routes can be recorded only with no_advertise: true,
    pool_size: -1 and compression: off. Exit 0; 2 if the address cannot be bound or a write fails.

    \b
    Examples:
      subtrie tap --to 127.0.0.1:4222 --out capture
      subtrie tap --listen :5333 --to 127.0.0.1:4222 --out capture --json
    """
    before = {number: signal.getsignal(number) for number in _STOPS}
    try:
        opened = Tap(to=to, out=out, listen=listen, kind=kind, rotate=rotate)
        error = asyncio.run(_until_stopped(opened, as_json))
    except OSError as caught:
        error = caught
    finally:
        for number, handler in before.items():  # asyncio leaves those of Python in their place
            signal.signal(number, handler)
    if error is not None:
        click.echo(f"subtrie: {printable(str(error))}", err=True)
        context.exit(2)


async def _until_stopped(opened: Tap, as_json: bool) -> Exception | None:
    """Run the proxy until a signal; return the error that stopped the recording, if any."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _STOPS:
        loop.add_signal_handler(number, stop.set)
    async with opened:
        if as_json:
            print_json({"listening": f"{opened.listen[0]}:{opened.port}"})
        else:
            click.echo(f"listening on {opened.listen[0]}:{opened.port}", err=True)
        await stop.wait()
    if as_json:
        print_json({"connections": opened.connections})
    return opened.error
