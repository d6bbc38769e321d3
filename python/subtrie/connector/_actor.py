"""Actor tokens: the JWT in ``Microbus-Actor``, verified before a handler runs.

A token is signed with Ed25519 by one of the two token services. Its ``iss`` claim chooses between
them and never routes: keys are requested from these two hosts alone, and only they may respond.
Keys are kept; for an unknown key id they are requested again, at most once a second. An unsigned
token is accepted in the deployment TESTING alone. A token says who the end user is; the sender of a
request is still the verified source only.
"""

# A76

from __future__ import annotations

import asyncio
import base64
import contextvars
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, NoReturn

from .._core.control_headers import ACTOR
from .._core.errors import SubtrieError
from .._core.extras import install_command
from .._core.ports import CONTROL
from . import _system
from ._claims import Claims, flattened
from ._endpoint import Endpoint
from ._envelope import RequestEnvelope
from ._errors import AckTimeout, HTTPError

logger = logging.getLogger("subtrie.connector")

#: The services that sign tokens.
ISSUERS = ("access.token.core", "bearer.token.core")

_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=?")  # 32 bytes
_LONGEST = 16_384  # characters of a token
_REFETCH = 1.0  # seconds between requests for the keys of one issuer, as in Go
_FETCH_LIMIT = 5.0  # seconds
_MOST_KEYS = 256  # of one issuer
_REMEMBERED = 1024  # tokens whose signature was checked

#: Requests a URL and returns the verified source of the response and its JSON value.
Fetch = Callable[[str, float], Awaitable[tuple[str, Any]]]


class _Token(NamedTuple):
    """A token whose signature was checked; unsigned if ``issuer`` is empty."""

    payload: bytes
    flat: dict[str, Any]
    expires: Any
    not_before: Any
    issuer: str
    key_id: str
    key: bytes


class ActorVerifier:
    """Verifies the actor tokens of requests to one connector.

    Args:
        fetch: Requests the keys.
        allow_unsigned: Returns whether tokens without a signature are accepted.
        host: The host of the connector, which the log names.
        clock: Seconds since the epoch, for ``exp`` and ``nbf``.
    """

    def __init__(
        self,
        fetch: Fetch,
        *,
        allow_unsigned: Callable[[], bool],
        host: str = "",
        clock: Callable[[], float] = lambda: _system.now(),
    ) -> None:
        self._fetch, self._allow_unsigned, self._clock = fetch, allow_unsigned, clock
        self._host = host
        self._keys: dict[str, dict[str, bytes]] = {issuer: {} for issuer in ISSUERS}
        self._fetched: dict[str, float] = {}
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self._checked: OrderedDict[str, _Token] = OrderedDict()

    async def check_request(self, endpoint: Endpoint, request: RequestEnvelope) -> None:
        """Verify the token of a request before its handler runs, and set its claims.

        Args:
            endpoint: The endpoint that handles the request.
            request: The request.

        Raises:
            HTTPError: The token is missing or not valid (401), or its claims do not suffice (403).
        """
        request.actor = await self.check(request.header(ACTOR), endpoint.requires)

    async def check(self, token: str, requires: Claims | None) -> dict[str, Any] | None:
        """Return the claims of a token; None if there is none and none is required.

        Args:
            token: The value of ``Microbus-Actor``; empty if absent.
            requires: What the claims must satisfy, or None.

        Raises:
            HTTPError: The token is missing or not valid (401), or its claims do not satisfy
                ``requires`` (403).
        """
        if not token:
            if requires is not None:
                raise HTTPError("an actor token is required", status=401)
            return None
        checked = self._checked.get(token)
        if checked is None or not self._current(checked):
            checked = await self._signed(token)
            self._checked[token] = checked
            if len(self._checked) > _REMEMBERED:
                self._checked.popitem(last=False)
        self._check_time(checked)
        if requires is not None and not requires.satisfied_by(checked.flat):
            raise HTTPError("the claims of the actor token are not sufficient", status=403)
        claims: dict[str, Any] = json.loads(checked.payload)  # the handler may change its own
        return claims

    def issued(self, token: str) -> bool:
        """Return whether a text says that it is a token of the two services, true or not.

        Args:
            token: The text.
        """
        if len(token) > _LONGEST or not _TOKEN.fullmatch(token):
            return False
        try:
            header, claims = (_object(_decoded(part)) for part in token.split(".")[:2])
        except HTTPError:
            return False
        issuer = claims.get("iss")
        if header.get("alg") == "none" and self._allow_unsigned():
            return True
        return isinstance(issuer, str) and (issuer.partition("://")[2] or issuer) in ISSUERS

    def _current(self, token: _Token) -> bool:
        """Return whether the key of a token is still published."""
        return not token.issuer or self._keys[token.issuer].get(token.key_id) == token.key

    async def _signed(self, token: str) -> _Token:
        if len(token) > _LONGEST or not _TOKEN.fullmatch(token):
            _refuse("not a JWT")
        header_part, payload_part, signature = token.split(".")
        header, claims = _object(_decoded(header_part)), _object(_decoded(payload_part))
        payload = _decoded(payload_part)
        algorithm = header.get("alg")
        if algorithm == "none" and not signature and self._allow_unsigned():
            return _Token(
                payload, flattened(claims), claims.get("exp"), claims.get("nbf"), "", "", b""
            )
        key_id, issuer = header.get("kid"), claims.get("iss")
        if algorithm != "EdDSA" or "crit" in header:
            _refuse("not signed with EdDSA")
        if not isinstance(key_id, str) or not key_id or not isinstance(issuer, str):
            _refuse("it names no key or no issuer")
        issuer = issuer.partition("://")[2] or issuer
        if issuer not in self._keys:
            _refuse("not issued by a token service")
        key = await self._key(issuer, key_id)
        _check_signature(key, token, signature, self._host)
        # The claims are unfolded only now: an unsigned token costs no work for them.
        flat, expires, not_before = flattened(claims), claims.get("exp"), claims.get("nbf")
        return _Token(payload, flat, expires, not_before, issuer, key_id, key)

    def _check_time(self, token: _Token) -> None:
        now = self._clock()
        if _bounds(token.expires) and now >= token.expires:
            _refuse("expired")
        if _bounds(token.not_before) and now < token.not_before:
            _refuse("not valid yet")

    # --- keys

    async def _key(self, issuer: str, key_id: str) -> bytes:
        key = self._keys[issuer].get(key_id)
        if key is None:
            await self._request_keys(issuer)
            key = self._keys[issuer].get(key_id)
        if key is None:
            _refuse("its key is unknown")
        return key

    async def _request_keys(self, issuer: str) -> None:
        """Request the keys of an issuer; requests at the same time share one."""
        task = self._fetching.get(issuer)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            now = _system.monotonic()
            if now - self._fetched.get(issuer, -_REFETCH) < _REFETCH:
                return
            self._fetched[issuer] = now
            # In a context of its own: neither the budget nor the actor of the request is passed on.
            task = asyncio.get_running_loop().create_task(
                self._replace_keys(issuer), context=contextvars.Context()
            )
            self._fetching[issuer] = task
        await asyncio.shield(task)

    async def _replace_keys(self, issuer: str) -> None:
        try:
            source, value = await self._asked(f"https://{issuer}:{CONTROL}/jwks")
            if source != issuer:
                text = "%s: keys of %s came from %s and are not used"
                logger.warning(text, self._host, issuer, source)
                return
            self._keys[issuer] = _keys_in(value)
        except (SubtrieError, ValueError) as error:
            logger.warning("%s: the keys of %s cannot be read: %s", self._host, issuer, error)
        finally:
            self._fetching.pop(issuer, None)

    async def _asked(self, url: str) -> tuple[str, Any]:
        try:
            return await self._fetch(url, _FETCH_LIMIT)
        except AckTimeout:
            # One late acknowledgement would refuse every token for a second: asked once more.
            return await self._fetch(url, _FETCH_LIMIT)


def _keys_in(value: Any) -> dict[str, bytes]:
    """Return the Ed25519 keys of a JWK set by their ids."""
    listed = value.get("keys") if isinstance(value, dict) else None
    keys: dict[str, bytes] = {}
    for each in listed[:_MOST_KEYS] if isinstance(listed, list) else ():
        if not isinstance(each, dict) or each.get("crv", "Ed25519") != "Ed25519":
            continue
        key_id, text = each.get("kid"), each.get("x")
        if isinstance(key_id, str) and key_id and isinstance(text, str) and _KEY.fullmatch(text):
            keys[key_id] = base64.urlsafe_b64decode(text[:43] + "=")
    return keys


def _bounds(moment: Any) -> bool:
    """Return whether a claim bounds the validity of a token; absent and 0 do not, as in Go."""
    if moment is None:
        return False
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        _refuse("a time in it is not a number")
    return moment != 0


def _check_signature(key: bytes, token: str, signature: str, host: str) -> None:
    try:
        from nacl.exceptions import CryptoError
        from nacl.signing import VerifyKey
    except ImportError:
        logger.error("%s: actor tokens need PyNaCl: %s", host, install_command("creds"))
        _refuse("this service cannot check signatures; its log says why")
    try:
        VerifyKey(key).verify(token.rpartition(".")[0].encode(), _decoded(signature))
    except (CryptoError, ValueError):
        _refuse("its signature is not valid")


def _decoded(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        _refuse("not a JWT")


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        _refuse("not a JWT")
    if not isinstance(value, dict):
        _refuse("not a JWT")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse(why: str) -> NoReturn:
    raise HTTPError(f"the actor token is refused: {why}", status=401)
