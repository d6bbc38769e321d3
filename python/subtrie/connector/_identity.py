"""Who sent it, and to whom: the subject alone says so, on both transports.

The strict rule (S0-040, S0-041, A7, A25): a canonical address of this plane, a source that is an
identity in its one spelling, ``danger`` exactly for port 666; else there is no source, and the
message is rejected before anybody reads it. It holds as far as the broker has enforced who may
publish under which source (S0-119); in process the sender's connector attests it (S0-133).
"""

from __future__ import annotations

from functools import lru_cache

from .. import microbus
from .._address import ReplyAddress, RequestAddress
from .._errors import SubtrieError


@lru_cache(maxsize=8192)
def request_address(subject: str) -> RequestAddress | None:
    """The address of a request, or None where the message must be rejected."""
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return address if isinstance(address, RequestAddress) else None


@lru_cache(maxsize=1024)
def reply_address(subject: str) -> ReplyAddress | None:
    """The address of an answer, or None where the message must be rejected."""
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return address if isinstance(address, ReplyAddress) else None


@lru_cache(maxsize=8192)
def return_subject(plane: str, source: str, host: str, instance: str) -> str | None:
    """Where an answer to an instance goes; None where the instance is no instance."""
    try:
        return microbus.encode_reply(plane=plane, source=source, host=host, id=instance)
    except SubtrieError:
        return None


@lru_cache(maxsize=8192)
def request_subject(plane: str, source: str, method: str, url: str) -> str:
    """The subject of a request to a URL. Raises ``AddressError``."""
    return microbus.request_from_url(plane=plane, source=source, method=method, url=url)
