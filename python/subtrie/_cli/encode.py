"""``subtrie encode``: a URL to a request's subject, a route to its service's pattern."""

from __future__ import annotations

import click

from .. import microbus
from .._errors import SubtrieError
from .stream import console, inputs, line_of, no, refused


@click.command()
@click.argument("targets", nargs=-1)
@click.option("--plane", default=None, help="The plane; MICROBUS_PLANE or 'microbus' otherwise.")
@click.option("--method", default=None, help="GET for a request, ANY for a route.")
@click.option("--source", default=None, help="The caller's host: TARGETS are URLs of requests.")
@click.option("--host", default=None, help="The service's host: TARGETS are routes it serves.")
@click.option("--slot", default="", help="With --host: an id- or loc- slot.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def encode(
    targets: tuple[str, ...],
    plane: str | None,
    method: str | None,
    source: str | None,
    host: str | None,
    slot: str,
    as_json: bool,
) -> None:
    """The subject of each URL (with --source), or the pattern of each route (with --host).

    Reads one per line from standard input when none is given. Exit code 2 when one is refused.

    \b
    subtrie encode --source web.shop https://orders.shop/order/17
    subtrie encode --host orders.shop --method GET '/order/{id}'
    """
    if (source is None) == (host is None):
        raise click.UsageError("give either --source (URLs of requests) or --host (routes)")
    if source is not None and slot:
        raise click.UsageError("a URL carries its slot itself, as in https://id-k3x9.host/path")
    screen = console()
    all_encoded = True
    for text in inputs(targets):
        try:
            on = microbus.default_plane() if plane is None else plane
            if source is not None:
                subject: str = microbus.request_from_url(
                    plane=on, source=source, method=method or "GET", url=text
                )
            else:
                subject = microbus.subscription_from_route(
                    plane=on, host=host or "", method=method or "ANY", route=text, slot=slot
                )
        except SubtrieError as error:
            all_encoded = False
            if as_json:
                line_of({"target": text, "subject": None, **refused(error)})
            else:
                screen.print(no(text, error))
            continue
        if as_json:
            line_of({"target": text, "subject": str(subject)})
        else:
            click.echo(subject)
    raise SystemExit(0 if all_encoded else 2)
