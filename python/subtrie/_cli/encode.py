"""``subtrie encode``: encode URLs as request subjects, and routes as subscription patterns."""

from __future__ import annotations

import click

from .. import microbus
from .._core.errors import SubtrieError
from .stream import error_fields, inputs, print_json, say_rejected


@click.command()
@click.argument("targets", nargs=-1)
@click.option("--plane", default=None, help="The plane (default: MICROBUS_PLANE, else 'microbus').")
@click.option(
    "--method", default=None, help="The method (default: GET for a URL, ANY for a route)."
)
@click.option("--source", default=None, help="The caller's host; TARGETS are URLs of requests.")
@click.option("--host", default=None, help="The service's host; TARGETS are its routes.")
@click.option("--slot", default="", help="With --host: an id- or loc- slot.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def encode(
    targets: tuple[str, ...],
    plane: str | None,
    method: str | None,
    source: str | None,
    host: str | None,
    slot: str,
    as_json: bool,
) -> None:
    r"""Encode each URL (with --source) or each route (with --host) as a subject or pattern.

    TARGETS are by default the lines of standard input. Exit code 2 if one is refused.

    \b
    Examples:
      subtrie encode --source web.shop https://orders.shop/order/17
      subtrie encode --host orders.shop --method GET '/order/{id}'
    """
    if (source is None) == (host is None):
        raise click.UsageError(
            "give either --source (TARGETS are URLs) or --host (TARGETS are routes)"
        )
    if source is not None and slot:
        raise click.UsageError(
            "--slot applies to routes only; a URL contains its slot, as in https://id-k3x9.host/path"
        )
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
                print_json({"target": text, "subject": None, **error_fields(error)})
            else:
                say_rejected(text, error)
            continue
        if as_json:
            print_json({"target": text, "subject": str(subject)})
        else:
            click.echo(subject)
    raise SystemExit(0 if all_encoded else 2)
