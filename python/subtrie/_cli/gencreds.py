"""``subtrie gencreds``: least-privilege permissions of the services in a source tree."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .._core.duration import parse_duration
from .._core.errors import SubtrieError
from .._findings.junit import Passed
from .._findings.text import file_first
from .._nats.nkey import fresh_seed, holds_seed, seed_in, seed_of
from .._nats.secret_file import secret_file_fault
from ..acl import Permissions
from ..gencreds import Service, UnresolvedCall, plan, rules, scan, sign, write_all
from ..gencreds._sign import check_size
from ..gencreds._trial import trial
from .format_option import JUNIT, SARIF
from .gencreds_answers import (
    Need,
    as_conf,
    as_json,
    as_markdown,
    as_nsc,
    as_text,
    findings,
    unresolved_as_json,
)
from .output_formats import print_findings
from .permission_files import bad_file
from .stream import printable

#: Units that Go does not have, in seconds.
_LONG_DURATION = re.compile(r"([0-9]{1,9})([dw])")
_LONG_UNITS = {"d": 86_400, "w": 604_800}
_REPORTS = (SARIF, JUNIT)
_FORMS = ("text", "json", "conf", "nsc", *_REPORTS, "markdown")


class _KeyFile(click.ParamType):  # type: ignore[type-arg]
    """A file with a seed, or ``-``; a seed itself is refused, and not repeated."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path, or ``-``."""
        text = str(value)
        if holds_seed(text):
            self.fail(
                "other users can read a seed on the command line; pass a file, or - for stdin"
            )
        if text != "-" and not Path(text).exists():
            self.fail(f"{printable(text)} does not exist")
        return text


class _Duration(click.ParamType):  # type: ignore[type-arg]
    """A duration as Go writes it, or a number of days or weeks."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds."""
        text = str(value)
        long = _LONG_DURATION.fullmatch(text)
        if long is not None:
            seconds = int(long[1]) * _LONG_UNITS[long[2]]
        else:
            seconds = (parse_duration(text) or 0) // 1_000_000_000
        if seconds < 1:
            self.fail(f"{printable(text)} is not a duration; write 90m, 720h, 30d or 4w")
        return seconds


@click.command()
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--plane", help="The plane of the deployment; creds are valid for one.")
@click.option(
    "--service", "names", multiple=True, metavar="HOST", help="Only this service; may be repeated."
)
@click.option(
    "--signing-key",
    type=_KeyFile(),
    help="A file with the account seed (SA…); - for standard input.",
)
@click.option("--account", metavar="KEY", help="The account's public key, if a signing key signs.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(), show_default=".",
    help="The folder for <host>_nats.creds; for one service also a file *.creds.",
)  # fmt: skip
@click.option(
    "--try", "trial_folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Make an operator, an account and nats.conf for a broker on loopback (the port of "
    "MICROBUS_NATS, else 4222) in this folder, if it has none, and write creds there; without "
    "SOURCE, those of a user that may do everything.",
)  # fmt: skip
@click.option("--expires", type=_Duration(), help="How long the creds are valid: 720h, 30d.")
@click.option(
    "--persist-keys", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep the users' keys here, in <host>_user.nk. By default, each run makes new ones.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the rules and the changes; write nothing.")
@click.option(
    "--allow-dynamic", is_flag=True, help="Grant wildcards for calls that cannot be determined."
)
@click.option("--pin-ids", is_flag=True, help="Allow replies to the ids in the source only.")
@click.option(
    "--format", "form", type=click.Choice(_FORMS), default="text", show_default=True,
    help="conf: users for a server configuration; nsc: commands; sarif, junit and markdown: for "
    "reviews. These five do not write creds.",
)  # fmt: skip
@click.option("--json", "in_json", is_flag=True, help="The same as --format json.")
def gencreds(
    source: Path | None,
    plane: str | None,
    names: tuple[str, ...],
    signing_key: str | None,
    account: str | None,
    out: Path,
    trial_folder: Path | None,
    expires: int | None,
    persist_keys: Path | None,
    dry_run: bool,
    allow_dynamic: bool,
    pin_ids: bool,
    form: str,
    in_json: bool,
) -> None:
    r"""Write least-privilege creds for the services in SOURCE: <host>_nats.creds.

    SOURCE is a folder, or a file and what it imports. It is parsed, never imported or run. Exit
    code 1 if a call cannot be determined statically, or if the rules do not fit into a JWT.

    \b
    Examples:
      subtrie gencreds --plane prod services/ --dry-run
      subtrie gencreds --plane prod services/ --signing-key account.seed --out creds
    """
    if trial_folder is not None:
        if signing_key is not None or account is not None or out != Path() or dry_run:
            raise click.UsageError("--try goes without --signing-key, --account, --out, --dry-run")
        out, signing_key = trial_folder, _tried(trial_folder, source, expires)
        if source is None:
            return
    if source is None:
        raise click.UsageError("give a SOURCE, or --try DIR")
    if plane is None:
        raise click.UsageError("give the plane of the deployment: --plane NAME")
    form = "json" if in_json else form
    writes = not dry_run and form in ("text", "json")
    try:
        services = _chosen(scan(source, hosts=names), names, source)
        if any(each.dynamic for each in services) and not allow_dynamic:
            if form == "json":
                print(unresolved_as_json(services, plane))
            elif form in _REPORTS:
                print_findings(form, "subtrie gencreds", findings(services, [], source))
            _report_unresolved(services)
            raise SystemExit(1)
        needs = [
            _need(each, plane, out, allow_dynamic, pin_ids, expires, account)
            for each in services
            if each.host
        ]
        if not needs:
            _report_unresolved(services)
            raise SystemExit(1)
        if len(needs) > 1 and out.suffix == ".creds":
            hosts = ", ".join(each.host for each in needs)
            raise click.UsageError(f"{out} is one file for several services: {hosts}")
        if writes:
            _write(needs, signing_key, account, expires, persist_keys)
    except (SubtrieError, OSError, ImportError) as error:
        raise bad_file(error) from None
    _answer(needs, form, plane, source, expires, written=writes)


def _tried(folder: Path, source: Path | None, expires: int | None) -> str:
    """Make the files of a trial, say how to use them, and return the file that signs."""
    try:
        files = trial(folder, url=os.environ.get("MICROBUS_NATS", ""))
        if source is None:
            everything = Permissions()
            creds = sign(everything, seed_in(files.key), name="trial", expires=expires)
            write_all([(creds.text, folder / "nats.creds")])
            print(f"wrote {printable(str(folder / 'nats.creds'))}: a user that may do everything")
    except (SubtrieError, OSError, ImportError) as error:
        raise bad_file(error) from None
    print(f"broker: nats-server -c {printable(str(files.config))}, at {printable(files.url)}")
    return str(files.key)


def _chosen(services: list[Service], names: Sequence[str], source: Path) -> list[Service]:
    hosts = [each.host for each in services if each.host]
    for name in names:
        if name not in hosts:
            known = ", ".join(hosts) or "none"
            raise click.UsageError(
                f"{printable(name)} is not a service of {source}, which has: {known}"
            )
    if not hosts and not any(each.dynamic for each in services):
        raise click.UsageError(
            f"{source}: no service found; Connector('host.name') in the source declares one"
        )
    return [each for each in services if not names or each.host in names]


def _report_unresolved(services: list[Service]) -> None:
    """Print each unresolved call once."""
    places: dict[UnresolvedCall, None] = {}
    for service in services:
        places |= dict.fromkeys(service.dynamic)
    for each in sorted(places, key=lambda each: (each.file, each.line)):
        line = printable(f"{each.file}:{each.line}: {each.message}")
        print(file_first(line), file=sys.stderr)
    print(
        f"subtrie: {len(places)} unresolved in the source: use constants, declare them in "
        "pyproject.toml, or pass --allow-dynamic",
        file=sys.stderr,
    )


def _need(
    service: Service,
    plane: str,
    out: Path,
    allow_dynamic: bool,
    pin_ids: bool,
    expires: int | None,
    account: str | None,
) -> Need:
    permissions = rules(service, plane, allow_dynamic=allow_dynamic, pin_ids=pin_ids)
    file = out if out.suffix == ".creds" else out / f"{service.host}_nats.creds"
    existed = file.is_file()
    # What a link elsewhere leads to is not read: the link is replaced.
    elsewhere = existed and secret_file_fault(file, allow_readable=True) == "link"
    before = Permissions.load(file) if existed and not elsewhere else None
    if before is not None and not before.determined:
        before = None
    planned = plan(permissions, name=service.host, expires=expires, issuer_account=account)
    return Need(service, permissions, planned, file, existed, before)


def _write(
    needs: list[Need],
    signing_key: str | None,
    account: str | None,
    expires: int | None,
    persist_keys: Path | None,
) -> None:
    """Sign everything, then write everything: an error leaves all files as they were."""
    if signing_key is None:
        raise click.UsageError("pass --signing-key FILE to sign, or --dry-run, or --format conf")
    for each in needs:
        try:
            check_size(each.planned, each.host)
        except SubtrieError as error:
            print(f"subtrie: {error}", file=sys.stderr)
            raise SystemExit(1) from None
    seed = seed_of(sys.stdin.buffer.read(65_536)) if signing_key == "-" else seed_in(signing_key)
    files: list[tuple[str, str | Path]] = []
    for each in needs:
        user_seed = fresh_seed()
        if persist_keys is not None:
            kept = persist_keys / f"{each.host}_user.nk"
            if kept.exists():
                user_seed = seed_in(kept)
            else:
                files.append((user_seed + "\n", kept))
        creds = sign(
            each.permissions,
            seed,
            name=each.host,
            expires=expires,
            issuer_account=account,
            user_seed=user_seed,
        )
        files.append((creds.text, each.file))
    for folder in {Path(path).parent for _, path in files}:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_all(files)


def _answer(
    needs: list[Need], form: str, plane: str, source: Path, expires: int | None, *, written: bool
) -> None:
    too_large = [each for each in needs if not each.planned.fits]
    if form == "json":
        print(as_json(needs, plane, written))
    elif form == "conf":
        print(as_conf(needs), end="")
    elif form == "nsc":
        print(as_nsc(needs, expires), end="")
    elif form in _REPORTS:
        found = findings([each.service for each in needs], needs, source)
        same = [each for each in needs if not (each.changes and each.changes.added)]
        passed = [Passed(str(each.file), f"{each.host}: no new access") for each in same]
        print_findings(form, "subtrie gencreds", found, passed=passed)
    elif form == "markdown":
        print(as_markdown(needs, source), end="")
    else:
        as_text(needs, written)
    if too_large and form != "conf":
        for each in too_large:
            try:
                check_size(each.planned, each.host)
            except SubtrieError as error:
                print(f"subtrie: {error}", file=sys.stderr)
        raise SystemExit(1)
