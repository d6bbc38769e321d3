"""Subjects and patterns to addresses: canonical text or nothing (A7).

A subject decodes only if encoding the address again gives the same bytes, and its source is an
identity. So two spellings never stand for one sender (S0-003, S0-041).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from ..._address import ReplyAddress, RequestAddress, SubscriptionAddress
from ..._errors import AddressError, SubtrieError
from .._grammar import check_pattern, check_subject
from ._arguments import Broken, of, text
from ._escape import host_of
from ._fields import METHODS, id_of, plane_of, port_of, slot_of, trust_of
from ._hosts import addressed_host_of, identity_of
from ._paths import path_of, route_path_of

# Whose subject is it, where no layout but a prefix tells.
_FAMILIES = (
    ("_INBOX.", "inbox"),
    ("$JS.", "jetstream"),
    ("$KV.", "kv"),
    ("$O.", "object"),
    ("$SRV.", "service"),
    ("$SYS.", "system"),
    ("_SYS.", "legacy-system"),
    ("_GR_.", "gateway"),
    ("$GNR.", "gateway"),
    ("_STAN.", "streaming"),
    ("$MQTT.", "mqtt"),
    ("$JSC.", "jetstream"),
    ("$NRG.", "jetstream"),
    ("$GR.", "gateway"),
    ("$LDS.", "system"),
    ("_R_.", "inbox"),
)

_T = TypeVar("_T")


class _Tokens:
    """The tokens of a text; reading one blames it, and tells where in the text it broke."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = text.split(".")
        self.starts = [0]
        for token in self.tokens:
            self.starts.append(self.starts[-1] + len(token) + 1)

    def __len__(self) -> int:
        return len(self.tokens)

    def read(self, index: int, field: str, rule: Callable[[str], _T]) -> _T:
        """The token under a rule."""
        start = self.starts[index]
        with of(field, self.text):
            try:
                return rule(self.tokens[index])
            except Broken as broken:
                at = None if broken.position is None else start + broken.position
                raise Broken(broken.reason, at) from None

    def too_few(self) -> None:
        with of(None, self.text):
            raise Broken("too-few-tokens", len(self.text))


def decode(subject: str) -> RequestAddress | ReplyAddress:
    """The address of a canonical subject."""
    _checked(check_subject, text(subject, "subject"))
    tokens = _Tokens(subject)
    plane = tokens.read(0, "plane", plane_of)
    if len(tokens) < 2:
        tokens.too_few()
    trust = tokens.read(1, "trust", _trust)
    if trust == "reply":
        return _reply(tokens, plane)
    if len(tokens) < 8:  # S0-005
        tokens.too_few()
    port = tokens.read(2, "port", port_of)
    if trust != trust_of(port):
        tokens.read(1, "trust", _no_trust)
    source = tokens.read(3, "source", _source)
    host = tokens.read(4, "host", _host)
    slot = tokens.read(5, "slot", _slot)
    tokens.read(4, "host", lambda _: addressed_host_of(host, slot))
    method = tokens.read(6, "method", _method)
    with of("path", subject):
        path = path_of(tokens.tokens[7:], tokens.starts[7:-1])
    return RequestAddress(plane, trust, port, source, host, slot, method, path)


def _reply(tokens: _Tokens, plane: str) -> ReplyAddress:
    """S0-075: six tokens, of which the third is ``_`` (S0-076)."""
    if len(tokens) != 6:
        with of(None, tokens.text):
            raise Broken("reply-tokens", min(len(tokens.text), tokens.starts[min(len(tokens), 6)]))
    tokens.read(2, "port", _no_port)
    source = tokens.read(3, "source", _source)
    host = tokens.read(4, "host", _host)
    return ReplyAddress(plane, source, host, tokens.read(5, "id", _id))


def decode_subscription(pattern: str) -> SubscriptionAddress:
    """The address of a canonical pattern for requests; not for replies."""
    _checked(check_pattern, text(pattern, "pattern"))
    tokens = _Tokens(pattern)
    plane = tokens.read(0, "plane", plane_of)
    if len(tokens) < 2:
        tokens.too_few()
    trust = tokens.read(1, "trust", _request_trust)
    if len(tokens) < 8:
        tokens.too_few()
    port = tokens.read(2, "port", _any_port)
    if trust != trust_of(port):
        tokens.read(1, "trust", _no_trust)
    tokens.read(3, "source", _any_source)
    host = tokens.read(4, "host", _host)
    slot = tokens.read(5, "slot", _slot)
    tokens.read(4, "host", lambda _: addressed_host_of(host, slot))
    method = tokens.read(6, "method", _any_method)
    with of("path", pattern):
        path = route_path_of(tokens.tokens[7:], tokens.starts[7:-1])
    return SubscriptionAddress(plane, trust, port, host, slot, method, path)


def source_of(subject: str) -> str | None:
    """The verified source, or None where the message must be rejected (S0-041, A7)."""
    if not isinstance(subject, str):
        raise TypeError(f"subject must be str, not {type(subject).__name__}")
    try:
        return decode(subject).source
    except AddressError:
        return None


def classify(subject: str) -> str:
    """The family of a subject: Microbus by its layout, the others by their prefix."""
    if not isinstance(subject, str):
        raise TypeError(f"subject must be str, not {type(subject).__name__}")
    try:
        reply = isinstance(decode(subject), ReplyAddress)
        return "microbus-reply" if reply else "microbus-request"
    except AddressError as error:
        if error.reason == "surrogate":
            return "other"
    return next((family for prefix, family in _FAMILIES if subject.startswith(prefix)), "other")


def _checked(check: Callable[[str], None], value: str) -> None:
    """The grammar first, so that all that follows is printable ASCII without an empty token."""
    with of(None, value):
        try:
            check(value)
        except SubtrieError as error:
            raise Broken(error.reason, error.position) from None


def _trust(token: str) -> str:
    if token not in ("safe", "danger", "reply"):  # S0-007
        raise Broken("trust", 0)
    return token


def _request_trust(token: str) -> str:
    if token == "reply":
        raise Broken("reply-subscription", 0)
    return _trust(token)


def _no_trust(token: str) -> NoReturn:
    raise Broken("trust", 0)


def _no_port(token: str) -> None:
    if token != "_":
        raise Broken("reply-port", 0)


def _any_port(token: str) -> int | None:
    if token == "*":
        return None
    port = port_of(token)
    if port == 0:  # it would have been written '*'
        raise Broken("not-canonical", 0)
    return port


def _any_source(token: str) -> None:
    if token != "*":
        raise Broken("subscription-source", 0)


def _source(token: str) -> str:
    """A source is an identity, and so each of its characters is one byte of the token."""
    return identity_of(host_of(token))


def _host(token: str) -> str:
    return host_of(token)


def _slot(token: str) -> str:
    return "" if token == "_" else _lower(token, slot_of(token))


def _id(token: str) -> str:
    return _lower(token, id_of(token))


def _lower(token: str, folded: str) -> str:
    for at, (char, lower) in enumerate(zip(token, folded, strict=False)):
        if char != lower:
            raise Broken("not-canonical", at)
    return folded


def _method(token: str) -> str:
    if token == "ANY":
        raise Broken("method-any", 0)
    if token not in METHODS:
        raise Broken("method", 0)
    return token


def _any_method(token: str) -> str | None:
    return None if token == "*" else _method(token)
