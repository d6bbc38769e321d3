"""Options shared by the verbs about permissions: which file, which user, which model."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from .._core.errors import SubtrieError
from .._core.file_errors import other_mistakes
from .._findings.text import file_first
from ..acl import Decision, Deployment, Permissions
from ..acl._load import holds_one_user, is_configuration
from ..acl._load.config_parser import each_file_once
from ..acl._load.deployments import is_address
from ..acl._load.files import STANDARD_INPUT, read_text
from ..acl._mapped import may_publish
from .stream import in_words_of_the_command, printable

#: How the formats of a permissions file are named in help texts.
FORMATS = (
    "a server configuration, a .creds file, a user JWT, subtrie permissions JSON, a folder of JWTs "
    "as nsc keeps them, saved answers of /accountz and /connz, or - for standard input"
)


_Loaded = TypeVar("_Loaded")

every_user = click.option(
    "--every-user",
    is_flag=True,
    help="All users of a server configuration, one by one; the default if none is selected.",
)


by_model = click.option(
    "--model", type=click.Choice(["strict", "broker"]),
    help="Decide by set inclusion alone, or only as a running nats-server does; without it, both "
    "must agree.",
)  # fmt: skip


class BadFile(click.ClickException):
    """A file that cannot be read or decides nothing: one line without the usage, exit code 2."""

    exit_code = 2
    #: Why, if a rule of subtrie refused it.
    reason: str | None = None

    def format_message(self) -> str:
        """Return the message with control characters escaped."""
        return "\n".join(file_first(printable(each)) for each in self.message.split("\n"))


class _PermissionSource(click.ParamType):  # type: ignore[type-arg]
    """A file, or ``-`` for standard input; with ``several``, a folder or an address too."""

    name = "file"

    def __init__(self, *, several: bool) -> None:
        self._several = several

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | str:
        """Return the path, or the address as it is."""
        text = str(value)
        if self._several and is_address(text):
            return text
        path = Path(text)
        if path != STANDARD_INPUT and not path.exists():
            raise BadFile(f"{text}: no such file{_right_order(text, ctx)}")
        if path.is_dir() and not self._several:
            raise BadFile(f"{text}: a file is needed, not a folder")
        return path


def _right_order(text: str, ctx: click.Context | None) -> str:
    """Return the right command if a file was given before what is asked; else nothing."""
    if ctx is None:
        return ""
    given = {each.name for each in ctx.command.params if isinstance(each, click.Argument)}
    before = [str(value) for name, value in ctx.params.items() if name in given]
    file = next((each for each in before if Path(each).exists()), None)
    return "" if file is None else files_after(ctx, text, file)


def files_after(ctx: click.Context, asked: str, file: str) -> str:
    """Return the end of a message that shows the right order of a question and a file."""
    command = printable(shlex.join([*ctx.command_path.split(), asked, file]))
    return f"; what is asked comes first, files after: {command}"


#: A file of one verb's own, such as a policy or a baseline.
FILE = _PermissionSource(several=False)
#: A file of permissions, a folder of JWTs, or the address of a running broker.
SOURCE = _PermissionSource(several=True)


def bad_file(error: Exception) -> BadFile:
    """Return the error of a command: every mistake of the run, in the words of the command."""
    lines = [in_words_of_the_command(str(each)) for each in (error, *other_mistakes(error))]
    made = BadFile("\n".join([f"{len(lines)} mistakes", *lines] if len(lines) > 1 else lines))
    made.reason = getattr(error, "reason", None)
    return made


by_plane = click.option(
    "--plane",
    metavar="NAME",
    hidden=True,  # only for Microbus; docs/permissions.md names it
    help="The plane of a Microbus deployment: its rules apply.",
)


#: What the files of a command hold, by what was asked for.
_LOADED: ContextVar[dict[tuple[str, ...], Any] | None] = ContextVar("loaded files", default=None)


def _once(key: tuple[str, ...], load: Callable[[], _Loaded]) -> _Loaded:
    """Return what a file holds; within a command it is loaded once."""
    kept = _LOADED.get()
    if kept is None:
        return load()
    if key not in kept:
        kept[key] = load()
    found: _Loaded = kept[key]
    return found


@dataclasses.dataclass(frozen=True)
class UserSelection:
    """The user whose permissions are taken from a file, and how the file may be read."""

    user: str | None
    account: str | None
    account_jwt: Path | None
    allow_readable: bool

    @property
    def names_a_user(self) -> bool:
        """True if the options select a user or an account."""
        return self.user is not None or self.account is not None

    def concerns(self, user: str | None) -> bool:
        """Return True if a question about the selection is also one about a user; None for all.

        Args:
            user: ``user`` or ``account/user``.
        """
        if user is None or not self.names_a_user:
            return True
        account, _, name = user.rpartition("/")
        return self.user in (None, name, user) and self.account in (None, account)

    @property
    def _account_token(self) -> str | None:
        try:
            return None if self.account_jwt is None else read_text(self.account_jwt).strip()
        except (SubtrieError, OSError) as error:
            raise bad_file(error) from None

    def load(self, path: Path, user: str | None = None) -> Permissions:
        """Return the permissions of one user; a usage error (exit 2) if they cannot be read.

        Args:
            path: the file.
            user: the user, instead of that of the options.
        """
        user = user if user is not None else self.user
        try:
            known = ("configuration", str(path))
            if user is not None and _once(known, lambda: is_configuration(path)):
                # Other questions may be about other users of the file.
                found = self._chosen(self.load_each(path), str(user))
                if found is not None:
                    return found
            return Permissions.load(
                path,
                user=user,
                account=self.account,
                account_jwt=self._account_token,
                allow_readable=self.allow_readable,
            )
        except (SubtrieError, OSError, ImportError) as error:
            raise bad_file(error) from None

    def _chosen(self, users: dict[str, Permissions], user: str) -> Permissions | None:
        """The user that is named; None if there is no such user, or there are several."""
        if "/" in user and user in users and self.account is None:
            return users[user]
        fitting = []
        for label, each in users.items():
            account, _, name = label.rpartition("/")
            if user in (name, label) and self.account in (None, account):
                fitting.append(each)
        return fitting[0] if len(fitting) == 1 else None

    def load_determined(self, path: Path, user: str | None = None) -> Permissions:
        """Return the same; a usage error too if the account defines the permissions."""
        permissions = self.load(path, user)
        if permissions.determined:
            return permissions
        message = f"{path}: permissions are decided elsewhere, by {permissions.decided_by}"
        by_account = "account JWT" in permissions.decided_by
        raise BadFile(f"{message}; pass --account-jwt" if by_account else message)

    def deployment(self, path: Path | str) -> Deployment | None:
        """Return the deployment of a file; None if it holds one user, or cannot hold accounts."""
        try:
            if _once(("one user", str(path)), lambda: holds_one_user(path)):
                return None
            key = ("deployment", str(path), str(self.allow_readable))
            return _once(key, lambda: Deployment.load(path, allow_readable=self.allow_readable))
        except (SubtrieError, OSError, ImportError) as error:
            raise bad_file(error) from None

    def may_publish(
        self, path: Path | str
    ) -> Callable[[Permissions, str, str, str | None], Decision]:
        """Return the decision about publishing, with the mappings of the accounts of a file.

        It gets the permissions, the label of the user (empty for the one that is selected), the
        subject, and the model or None.

        Args:
            path: the file.
        """
        deployment = self.deployment(path)
        mapping = deployment is not None and any(
            each.mappings for each in deployment.accounts.values()
        )

        selected: list[str] = []
        if mapping and deployment is not None:
            whole = self.user is not None and "/" in self.user and self.user in deployment.users
            selected = [str(self.user)] if whole and self.account is None else [
                each for each in deployment.users if self.concerns(each)
            ]  # fmt: skip

        def decide(
            permissions: Permissions, label: str, subject: str, model: str | None
        ) -> Decision:
            if deployment is None or not mapping:
                return may_publish(permissions, None, None, subject, model)
            fitting = [label] if label in deployment.users else selected
            account = deployment.account_of(fitting[0]) if len(fitting) == 1 else None
            return may_publish(permissions, account, deployment.cluster, subject, model)

        return decide

    def load_each(self, path: Path | str) -> dict[str, Permissions]:
        """Return the permissions of every user; a usage error (exit 2) if they cannot be read.

        Those of users who are decided about elsewhere are not determined.
        """
        token = self._account_token
        try:
            return _once(
                ("users", str(path), str(self.allow_readable), str(token)),
                lambda: Permissions.load_all(
                    path, account_jwt=token, allow_readable=self.allow_readable
                ),
            )
        except (SubtrieError, OSError, ImportError) as error:
            raise bad_file(error) from None


def of_user(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select a user; the command gets them as ``selection``."""

    @wraps(command)
    def selected(
        *arguments: Any,
        user: str | None,
        account: str | None,
        account_jwt: Path | None,
        allow_readable: bool,
        **named: Any,
    ) -> Any:
        selection = UserSelection(user, account, account_jwt, allow_readable)
        token = _LOADED.set({})
        try:
            with each_file_once():
                return command(*arguments, selection=selection, **named)
        finally:
            _LOADED.reset(token)

    with_options: Callable[..., Any] = selected
    for option in (
        click.option(
            "--allow-readable", is_flag=True, help="Accept a creds file that others may read."
        ),
        click.option(
            "--account-jwt", type=FILE,
            help="The account's own JWT, if it defines the user's permissions.",
        ),
        click.option("--account", help="The user's account, if a configuration has several."),
        click.option("--user", help="The user, if a configuration has several."),
    ):  # fmt: skip
        with_options = option(with_options)
    return with_options
