"""``subtrie call``: send one request over the bus, and print what comes back."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import click

from .._core.errors import SubtrieError
from ..connector import Connector, HTTPError, Response
from ..connector._run import missing_creds
from .broker_options import broker_options
from .stream import print_json, printable

_BROKER_LIMIT = 5.0  # seconds to wait for a broker that is not there


@click.command()
@click.argument("method")
@click.argument("url")
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE",
              help="A path or query argument.")  # fmt: skip
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME:VALUE",
              help="A header.")  # fmt: skip
@click.option(
    "-d", "--data", metavar="BODY", help="The body; @FILE reads a file, '-' standard input."
)
@click.option("--all", "to_all", is_flag=True, help="Send to all subscribers, and print each one.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=20.0,
              show_default=True, help="The seconds to wait; at most 5 for the broker.")  # fmt: skip
@click.option("--host", default="cli.subtrie", show_default=True, metavar="HOST",
              help="The host that sends it.")  # fmt: skip
@broker_options
@click.option("-i", "--include", is_flag=True, help="Print the status and the headers too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per response.")
def call(
    method: str,
    url: str,
    params: tuple[str, ...],
    headers: tuple[str, ...],
    data: str | None,
    to_all: bool,
    timeout: float,
    host: str,
    nats: str | None,
    creds: str | None,
    plane: str | None,
    include: bool,
    as_json: bool,
) -> None:
    r"""Send a request to URL over the bus, and print the body of the response.

    The body of the request is JSON if it parses as JSON, else text. With creds, pass the host they
    were issued for as --host.

    Exit code 0 for a status below 400, 1 for an error or if no service responds, 2 for bad input.

    \b
    Examples:
      subtrie call GET https://shop.example/order/{id} -p id=17
      subtrie call POST https://shop.example/order/17 -d '{"item": "tea"}' -i
      subtrie call --all GET https://all:888/ping
    """
    content = _content(data)
    given = dict(_pair(each, ":", "--header") for each in headers)
    if content is not None and "content-type" not in {name.lower() for name in given}:
        given["Content-Type"] = "application/json" if _is_json(content) else "text/plain"
    options: dict[str, Any] = {
        "params": [_pair(each, "=", "--param") for each in params],
        "headers": {name: value.strip() for name, value in given.items()},
        "body": content,
        "timeout": timeout,
    }
    try:
        connector = Connector(host, nats=nats, creds=creds, plane=plane, short_circuit=False)
    except (SubtrieError, OSError, ValueError) as error:
        raise click.UsageError(printable(str(error))) from None
    try:
        responses = asyncio.run(_responses(connector, method, url, to_all, options))
    except (SubtrieError, OSError, ValueError) as error:
        failed = isinstance(error, HTTPError | OSError)
        if as_json:
            print_json({"status": getattr(error, "status", None), **_of_error(error)})
        trace = ""
        if isinstance(error, HTTPError) and error.status >= 500 and error.trace:
            trace = f" (trace {error.trace})"  # the log of the service has it, too
        missing = "" if creds else missing_creds(error, [connector])
        click.echo(f"subtrie: {printable(str(error))}{trace}{missing}", err=True)
        raise SystemExit(1 if failed else 2) from None
    if not responses:
        click.echo(f"subtrie: no service responded to {method} {printable(url)}", err=True)
    for response in responses:
        _print(response, include=include, as_json=as_json)
    good = [each.error is None and each.status < 400 for each in responses]
    raise SystemExit(0 if good and all(good) else 1)


async def _responses(
    connector: Connector, method: str, url: str, to_all: bool, options: dict[str, Any]
) -> list[Response]:
    loop = asyncio.get_running_loop()
    ends = loop.time() + options["timeout"]
    # Nothing is served: a caller with the host of a service must not answer in its place.
    async with connector._lifecycle.sending(wait=min(_BROKER_LIMIT, options["timeout"])):
        options["timeout"] = ends - loop.time()
        if to_all:
            return [each async for each in connector.publish(method, url, **options)]
        return [await connector.request(method, url, **options)]


def _print(response: Response, *, include: bool, as_json: bool) -> None:
    text = response.body.decode("utf-8", "replace")
    if as_json:
        headers = dict(response.headers)
        print_json(
            {
                "status": response.status,
                "source": response.source,
                "id": response.id,
                "headers": headers,
                "body": json.loads(text) if _is_json(text) else text,
                **(_of_error(response.error) if response.error is not None else {}),
            }
        )
        return
    if include:
        click.echo(f"{response.status} {response.source} {response.id}".rstrip())
        for name, value in response.headers.items():
            click.echo(f"{name}: {printable(value)}")
        click.echo()
    if sys.stdout.isatty():
        text = "\n".join(printable(line) for line in text.splitlines())
        click.echo(text)
    elif response.body:
        sys.stdout.buffer.write(response.body)
        sys.stdout.buffer.flush()
        if not response.body.endswith(b"\n"):
            click.echo()


def _content(data: str | None) -> str | None:
    """Return the body that ``--data`` stands for."""
    if data is None or not (data == "-" or data.startswith("@")):
        return data
    try:
        content = sys.stdin.buffer.read() if data == "-" else Path(data[1:]).read_bytes()
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--data {printable(data)}: {error}") from None


def _of_error(error: BaseException) -> dict[str, str]:
    """Return what an error says, and the trace by which the log of the service names its cause."""
    trace = getattr(error, "trace", "")
    return {"error": str(error), **({"trace": trace} if trace else {})}


def _pair(text: str, sign: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found:
        raise click.UsageError(f"{option} takes NAME{sign}VALUE, not {text!r}")
    return name, value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
