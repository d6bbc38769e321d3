"""A trial: an operator, an account and a server configuration for a broker on loopback."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from .._core.errors import refusal
from .._nats.jwt import account_claims, operator_claims, signing_input, unpadded_base64
from .._nats.nkey import fresh_seed, key_pair, seed_in
from ._sign import write_all

#: Where the broker of a trial listens, unless ``MICROBUS_NATS`` names a port of this machine.
_HOST, _PORT = "127.0.0.1", 4222
_LISTEN = re.compile(r'^listen: "(.*)"$', re.MULTILINE)

_OPERATOR, _ACCOUNT, _CONFIG = "operator.nk", "account.nk", "nats.conf"
_NAMES = (_OPERATOR, _ACCOUNT, _CONFIG)


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """The files of a trial.

    Attributes:
        folder: the folder that holds them; creds belong there too.
        key: the file with the account's seed, which signs creds.
        config: the server configuration.
        url: where the broker of this configuration is reached.
    """

    folder: Path
    key: Path
    config: Path
    url: str


def _address(url: str) -> str:
    """Return the host and the port of a URL of this machine; else the default ones."""
    try:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        port = parts.port or _PORT
    except ValueError:
        return f"{_HOST}:{_PORT}"
    local = parts.hostname in ("localhost", _HOST)
    return f"{_HOST}:{port if local else _PORT}"


def trial(folder: str | Path, name: str = "TRIAL", *, url: str = "") -> Trial:
    """Return the trial in a folder; make its keys and its configuration if it has none.

    The configuration trusts the operator, knows the account from memory, and listens on loopback,
    so that ``nats-server -c nats.conf`` accepts what the account signs. Not for production.

    Args:
        folder: the folder; made with mode 0700 if it does not exist.
        name: the name of the account.
        url: a URL whose port the broker gets, if it is one of this machine; several are
            separated by commas, and the first one counts.

    Raises:
        PermissionsError: the folder holds some of the files and not all (``trial``), or a file
            with a seed may be read by others.
        OSError: a file cannot be read or written.
        ImportError: the package ``nkeys`` is missing.
    """
    folder = Path(folder)
    address = _address(url.partition(",")[0].strip())
    found = Trial(folder, folder / _ACCOUNT, folder / _CONFIG, f"nats://{address}")
    present = [each for each in _NAMES if (folder / each).exists()]
    if len(present) == len(_NAMES):
        seed_in(found.key)
        listens = _LISTEN.search(found.config.read_text(errors="replace"))
        return dataclasses.replace(found, url=f"nats://{listens[1]}") if listens else found
    if present:
        raise refusal("PermissionsError", "trial", str(folder))
    seeds = {kind: fresh_seed(kind) for kind in ("SO", "SA")}
    operator, account = (key_pair(seed, kind) for kind, seed in seeds.items())
    public = {kind: key.public_key.decode() for kind, key in (("O", operator), ("A", account))}
    tokens = []
    for claims in (
        operator_claims("subtrie trial", public["O"]),
        account_claims(name, public["O"], public["A"]),
    ):
        signed = signing_input(claims)
        tokens.append(b".".join((signed, unpadded_base64(operator.sign(signed)))).decode())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    preload = f"resolver_preload: {{\n  {public['A']}: {tokens[1]}\n}}\n"
    config = (
        f"# a broker for a trial: nats-server -c {_CONFIG}\n"
        f"listen: {json.dumps(address)}\noperator: {tokens[0]}\nresolver: MEMORY\n{preload}"
    )
    write_all(
        [
            (seeds["SO"] + os.linesep, folder / _OPERATOR),
            (seeds["SA"] + os.linesep, found.key),
            (config, found.config),
        ]
    )
    return found
