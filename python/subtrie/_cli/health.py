"""``subtrie health``: whether a service answers, for the probes of containers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator

import click

from .._core.errors import SubtrieError
from .._core.ports import CONTROL
from ..connector import AckTimeout, Connector, HTTPError, Response
from .broker_options import broker_options
from .stream import print_json, printable

#: Seconds for the broker and the answer, so that with the start of the interpreter it is a second.
_LIMIT = 0.6


@click.command()
@click.argument("service", metavar="HOST")
@click.option("--id", "instance", metavar="ID", default="",
              help="Ask this instance.  [default: whichever answers first]")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=_LIMIT,
              show_default=True, help="The seconds for the broker and the answer.")  # fmt: skip
@click.option("--host", metavar="HOST", help="The host that asks.  [default: the service's own]")
@broker_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def health(
    service: str,
    instance: str,
    timeout: float,
    host: str | None,
    nats: str | None,
    creds: str | None,
    plane: str | None,
    as_json: bool,
) -> None:
    r"""Ask the service HOST over the broker whether it is up.

    It asks with the creds of the service, as a probe in its container does. It serves nothing, so
    it never answers in place of the service.

    Exit code 0 if the service answers, 1 if not, 2 for bad input; within a second.

    \b
    Examples:
      subtrie health orders.example
      subtrie health orders.example --id id-orders1 --timeout 2
    """
    name = f"{instance}.{service}" if instance else service
    begun, why = time.perf_counter(), ""
    response: Response | None = None
    try:
        with _quiet():  # the one line says it
            asker = Connector(
                host or service,
                nats=nats,
                creds=creds,
                plane=plane,
                short_circuit=False,
                round_trip=0.25,
            )
            url = f"https://{name}:{CONTROL}/ping"
            response = asyncio.run(_asked(asker, url, service, timeout))
    except AckTimeout:
        why = f"no such service answers on the plane {asker.plane}"
    except TimeoutError:  # also of the request
        why = f"no answer within {timeout:g} s"
    except (HTTPError, OSError) as error:
        why = str(error)
    except (SubtrieError, ValueError) as error:
        click.echo(f"subtrie: {printable(str(error))}", err=True)
        raise SystemExit(2) from None
    seconds = round(time.perf_counter() - begun, 3)
    if as_json:
        found = None if response is None else response.id
        print_json({"host": service, "up": response is not None, "id": found, "seconds": seconds,
                    **({"error": why} if why else {})})  # fmt: skip
    elif response is not None:
        click.echo(f"{service}: up, {response.id}, {seconds * 1000:.0f} ms")
    else:
        click.echo(f"{name}: {printable(why)}", err=True)
    raise SystemExit(0 if response is not None else 1)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    log = logging.getLogger("subtrie")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


async def _asked(asker: Connector, url: str, source: str, limit: float) -> Response:
    connected = False
    try:
        async with asyncio.timeout(limit), asker._lifecycle.sending(wait=0.0):
            connected = True
            return await asker.request("GET", url, timeout=limit, source=source)
    except TimeoutError:
        if connected:
            raise
        broker = asker._lifecycle.broker()
        raise ConnectionError(f"no connection to {broker} within {limit:g} s") from None
