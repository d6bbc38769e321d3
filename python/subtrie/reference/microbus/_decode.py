"""Decoding of subjects and patterns to addresses; only canonical text decodes.

A subject decodes only if encoding its address gives the same bytes and its source is an identity.
So two spellings never stand for one sender.
"""

# A7, S0-003, S0-041

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from ..._core.address import ReplyAddress, RequestAddress, SubscriptionAddress
from ..._core.errors import AddressError, SubtrieError
from .._grammar import check_pattern, check_subject
from ._arguments import RuleViolation, argument, text
from ._escape import host_of
from ._fields import METHODS, id_of, plane_of, port_of, slot_of, trust_of
from ._hosts import addressed_host_of, identity_of
from ._paths import path_of, route_path_of

# The families that are recognised by prefix.
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
    """The tokens of a text; an error about a token has its position in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = text.split(".")
        self.starts = [0]
        for token in self.tokens:
            self.starts.append(self.starts[-1] + len(token) + 1)

    def __len__(self) -> int:
        return len(self.tokens)

    def read(self, index: int, field: str, rule: Callable[[str], _T]) -> _T:
        """Apply a rule to a token and return its result."""
        start = self.starts[index]
        with argument(field, self.text):
            try:
                return rule(self.tokens[index])
            except RuleViolation as violation:
                at = None if violation.position is None else start + violation.position
                raise RuleViolation(violation.reason, at) from None

    def too_few(self) -> None:
        """Raise because there are too few tokens."""
        with argument(None, self.text):
            raise RuleViolation("too-few-tokens", len(self.text))


def decode(subject: str) -> RequestAddress | ReplyAddress:
    """Return the address of a canonical subject.

    Raises:
        AddressError: The subject is not canonical; ``.position`` is an offset in it.
    """
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
    with argument("path", subject):
        path = path_of(tokens.tokens[7:], tokens.starts[7:-1])
    return RequestAddress(plane, trust, port, source, host, slot, method, path)


def _reply(tokens: _Tokens, plane: str) -> ReplyAddress:
    """Return the address of a reply."""  # S0-075, S0-076
    if len(tokens) != 6:
        with argument(None, tokens.text):
            raise RuleViolation(
                "reply-tokens", min(len(tokens.text), tokens.starts[min(len(tokens), 6)])
            )
    tokens.read(2, "port", _no_port)
    source = tokens.read(3, "source", _source)
    host = tokens.read(4, "host", _host)
    return ReplyAddress(plane, source, host, tokens.read(5, "id", _id))


def decode_subscription(pattern: str) -> SubscriptionAddress:
    """Return the address of a canonical pattern for requests.

    Raises:
        AddressError: The pattern is not canonical, or is the pattern of a reply.
    """
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
    with argument("path", pattern):
        path = route_path_of(tokens.tokens[7:], tokens.starts[7:-1])
    return SubscriptionAddress(plane, trust, port, host, slot, method, path)


def source_of(subject: str) -> str | None:
    """Return the verified source of a request or reply, or None if it must be rejected."""
    if not isinstance(subject, str):
        raise TypeError(f"subject must be str, not {type(subject).__name__}")
    try:
        return decode(subject).source
    except AddressError:
        return None


def classify(subject: str) -> str:
    """Return the family of a subject: Microbus by its tokens, the others by their prefix."""
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
    """Apply the grammar, so that the tokens are printable ASCII and not empty."""
    with argument(None, value):
        try:
            check(value)
        except SubtrieError as error:
            raise RuleViolation(error.reason, error.position) from None


def _trust(token: str) -> str:
    if token not in ("safe", "danger", "reply"):  # S0-007
        raise RuleViolation("trust", 0)
    return token


def _request_trust(token: str) -> str:
    if token == "reply":
        raise RuleViolation("reply-subscription", 0)
    return _trust(token)


def _no_trust(token: str) -> NoReturn:
    raise RuleViolation("trust", 0)


def _no_port(token: str) -> None:
    if token != "_":
        raise RuleViolation("reply-port", 0)


def _any_port(token: str) -> int | None:
    if token == "*":
        return None
    port = port_of(token)
    if port == 0:  # the encoder writes '*'
        raise RuleViolation("not-canonical", 0)
    return port


def _any_source(token: str) -> None:
    if token != "*":
        raise RuleViolation("subscription-source", 0)


def _source(token: str) -> str:
    """Return the source, whose characters are each one byte of the token."""
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
            raise RuleViolation("not-canonical", at)
    return folded


def _method(token: str) -> str:
    if token == "ANY":
        raise RuleViolation("method-any", 0)
    if token not in METHODS:
        raise RuleViolation("method", 0)
    return token


def _any_method(token: str) -> str | None:
    return None if token == "*" else _method(token)
