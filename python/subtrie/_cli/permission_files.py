"""What the verbs about permissions share: which file, which user, and what refuses to load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .._errors import SubtrieError
from ..acl import Permissions
from .stream import printable

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


every_user = click.option(
    "--every-user", is_flag=True, help="All users of a server configuration, one by one."
)


by_model = click.option(
    "--model", type=click.Choice(["strict", "broker"]), default="strict", show_default=True,
    help="Set inclusion, or what a running nats-server does.",
)  # fmt: skip


def of_user(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say whose permissions are meant."""
    for option in (
        click.option(
            "--account-jwt", type=FILE, help="The account's own JWT, where a user's leaves it open."
        ),
        click.option("--account", help="Whose user, where a configuration has several accounts."),
        click.option("--user", help="Which user, where a configuration has several."),
    ):
        command = option(command)
    return command


def loaded(
    path: Path, user: str | None, account: str | None, account_jwt: Path | None
) -> Permissions:
    """The permissions in a file; a usage error (exit 2) where they cannot be read."""
    try:
        jwt = None if account_jwt is None else account_jwt.read_text().strip()
        return Permissions.load(path, user=user, account=account, account_jwt=jwt)
    except (SubtrieError, OSError, ImportError) as error:
        raise click.UsageError(str(error)) from None


def each_loaded(
    path: Path, account_jwt: Path | None, *, leave_out: bool = False
) -> dict[str, Permissions]:
    """Those of every user in a file; a usage error (exit 2) where they cannot be read.

    Users about whom an account or a callout decides are an error too, or left out, which is said.
    """
    try:
        jwt = None if account_jwt is None else account_jwt.read_text().strip()
        found = Permissions.load_all(path, account_jwt=jwt)
    except (SubtrieError, OSError, ImportError) as error:
        raise click.UsageError(str(error)) from None
    for name, permissions in found.items():
        who = f"{path}: {name}" if name else str(path)
        if not permissions.known and not leave_out:
            raise click.UsageError(f"{who}: an account or a callout decides, and is not at hand")
        if not permissions.known:
            click.echo(f"{printable(who)}: left out, as somebody else decides", err=True)
    return {name: permissions for name, permissions in found.items() if permissions.known}


def known(path: Path, permissions: Permissions) -> Permissions:
    """The same, where they tell at all."""
    if not permissions.known:
        raise click.UsageError(
            f"{path}: the account decides, and it is not at hand; give --account-jwt"
        )
    return permissions
