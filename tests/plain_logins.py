"""The identity of a connection in a trace log: what the broker proved, before any claim.

The server prints the first of the nkey, the user and the JWT of CONNECT before each line of a
connection. Beside a JWT the other two are claims that the server does not check. So CONNECT itself
is read: its JWT is what the server accepted if the account of the connection is the one that issued
it.
"""  # A82

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from subtrie._core.errors import SubtrieError
from subtrie._core.redaction import redact_text
from subtrie.reference.microbus import check_identity_host
from subtrie.wire import log

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BYTE = re.compile("[\udc80-\udcff]")


@dataclass
class _Login:
    name: str | None = None
    subject: str | None = None
    issuers: tuple[str | None, ...] = ()
    nkey: str | None = None
    user: str | None = None
    client: str | None = None
    told: bool = False


class Logins:
    """The logins of the connections that are open."""

    def __init__(self) -> None:
        self._by_conn: dict[str, _Login] = {}

    def connect(self, conn: str, options: str) -> None:
        """Read the options of CONNECT. Those of a second one replace those of the first one."""
        found = _object(options.encode("utf-8", "surrogateescape"))
        names = ("jwt", "nkey", "user", "name")
        jwt, nkey, user, client = (_text(found.get(name)) for name in names)
        login = self._by_conn.setdefault(conn, _Login())
        login.told = False
        parts = [] if jwt is None else jwt.split(".")
        if len(parts) == 3 and (claims := _base64(parts[1])) is not None:
            said = _object(claims)
            nats = said.get("nats")
            account = nats.get("issuer_account") if isinstance(nats, dict) else None
            login.subject = _text(said.get("sub"))
            login.name = _text(said.get("name")) or login.subject
            login.issuers = (_text(said.get("iss")), _text(account))
        login.nkey, login.user = nkey or login.nkey, user or login.user
        login.client = client or login.client

    def close(self, conn: str) -> None:
        """Forget a connection that was closed."""
        self._by_conn.pop(conn, None)

    def restart(self, process: str) -> None:
        """Forget the connections of a process."""
        for conn in [conn for conn in self._by_conn if conn.startswith(f"{process}/")]:
            self.close(conn)

    def who(
        self,
        conn: str,
        account: str | None,
        printed: tuple[str | None, str | None],
        client: str | None,
    ) -> dict[str, str | None]:
        """Return the columns of events that say who is behind a connection.

        Args:
            conn: The connection.
            account: Its account, as the server prints it.
            printed: What the user is (``user``, ``jwt``, ``nkey``, ``token``), and the user.
            client: The name that the client gave itself.
        """
        login = self._by_conn.get(conn)
        proven = login is not None and account is not None and account in login.issuers
        if login is not None and proven and login.name is not None:
            name = redact_text(login.name)
            subject = name if login.subject is None else redact_text(login.subject)
            return _columns(name, "jwt", subject, client)
        how, user = printed
        user = user or None
        # A user that is not the host of a service may be that of many: the client says which.
        shared = how == "user" and not _is_host(user) and _is_host(client)
        if client is not None and (user is None or shared):
            return _columns(client, "claimed", user, client)
        return _columns(user, how if user or how == "token" else None, user, client)

    def client(self, conn: str, printed: str | None) -> str | None:
        """Return the name of a client; what is printed has no place for one without a language."""
        login = self._by_conn.get(conn)
        if printed is None or login is None or login.client is None:
            return log.client_name(printed)
        return log.client_name(printed) or login.client

    def of_leaf(self, conn: str) -> dict[str, str | None] | None:
        """Return who a leaf node is, whose lines name no user: what its CONNECT names."""
        login = self._by_conn.get(conn)
        if login is None:
            return None
        known = {"jwt": login.name, "nkey": login.nkey, "user": login.user}
        for source, name in known.items():
            if name is not None:
                user = redact_text(login.subject or name)
                return _columns(redact_text(name), source, user, None)
        return None

    def login(self, conn: str, who: dict[str, str | None]) -> tuple[bool, str | None]:
        """Return once for each CONNECT that its user was accepted, and another that it claims."""
        login = self._by_conn.get(conn)
        if login is None or login.told:
            return False, None
        login.told = True
        if who["user"] is None:
            return True, None
        proven = (who["identity"], who["user"])
        claims = (text for text in (login.user, login.nkey, login.name) if text is not None)
        return True, next((text for text in map(redact_text, claims) if text not in proven), None)


def _is_host(name: str | None) -> bool:
    try:
        check_identity_host(name or "")
    except SubtrieError:
        return False
    return True


def _columns(
    identity: str | None, source: str | None, user: str | None, client: str | None
) -> dict[str, str | None]:
    return {"identity": identity, "identity_source": source, "user": user, "client": client}


def _object(text: bytes) -> dict[str, Any]:
    """Return a JSON object; other text has no options, nor has text nested deeper than 128."""
    decoded = _BYTE.sub(
        lambda byte: rf"\\x{ord(byte[0]) - 0xDC00:02x}", text.decode("utf-8", "surrogateescape")
    )
    signs = _STRING.sub("", decoded)
    steps = (1 if sign in "{[" else -1 if sign in "}]" else 0 for sign in signs)
    if max(accumulate(steps), default=0) > 128:
        return {}
    try:
        found = json.loads(
            decoded, strict=False, object_pairs_hook=_members, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_constant(name: str) -> None:
    """Refuse ``NaN`` and the infinities, which are not JSON."""
    raise ValueError(name)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as the server reads it: names without case, the last of equal ones.

    ``null`` says nothing.
    """
    return {name.upper().lower(): value for name, value in pairs if value is not None}


def _text(value: object) -> str | None:
    """Return a text that is not empty, with U+FFFD for lone surrogates."""
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) and value else None


def _base64(text: str) -> bytes | None:
    if set("=+/") & set(text):  # Python takes both alphabets, and padding
        return None
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
