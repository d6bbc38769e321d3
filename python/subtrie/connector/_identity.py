"""Sender and destination of a message, read from its subject alone.

A subject that is not a canonical address of this plane (source in canonical form, ``danger`` for
port 666 and for no other) has no verified source, and its message is rejected before anything else
reads it. A source is as trustworthy as the broker's permissions on who may publish it; within the
process the sending connector attests it.
"""

# S0-040, S0-041, S0-119, S0-133, A7, A25

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote

from .. import microbus
from .._core.address import ReplyAddress, RequestAddress
from .._core.errors import SubtrieError


@lru_cache(maxsize=8192)
def request_address(subject: str) -> RequestAddress | None:
    """Return the address of a request, or None if the message must be rejected."""
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return address if isinstance(address, RequestAddress) else None


def why_rejected(subject: str) -> str:
    """Return why a message has no address: its ``source`` is not valid, or else its ``subject``.

    Args:
        subject: The subject that is not a canonical address of a request.
    """
    tokens = subject.split(".", 4)
    if len(tokens) == 5 and request_address(f"p.safe.443.{tokens[3]}.host._.GET._"):
        return "subject"
    return "source"


@lru_cache(maxsize=1024)
def reply_address(subject: str) -> ReplyAddress | None:
    """Return the address of a response, or None if the message must be rejected."""
    try:
        address = microbus.decode(subject)
    except SubtrieError:
        return None
    return address if isinstance(address, ReplyAddress) else None


_LONGEST_ID = 128  # characters of an instance id; bounds the memory of the cache


def return_subject(plane: str, source: str, host: str, instance: str) -> str | None:
    """Return the subject of responses to an instance, or None if the instance id is not valid."""
    return None if len(instance) > _LONGEST_ID else _return_subject(plane, source, host, instance)


@lru_cache(maxsize=8192)
def _return_subject(plane: str, source: str, host: str, instance: str) -> str | None:
    try:
        return microbus.encode_reply(plane=plane, source=source, host=host, id=instance)
    except SubtrieError:
        return None


def url_at(address: RequestAddress, url: str, query: str) -> str:
    """Return a URL if it names the host and the port of an address, else the URL of the address.

    Args:
        address: The address, which the broker has checked.
        url: The URL that the sender wrote, with its port.
        query: Its query, which no subject has.
    """
    host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
    if port == str(address.port) and (host == address.host or _same_host(host, address.host)):
        return url
    return address_url(address, query)


def address_url(address: RequestAddress, query: str) -> str:
    """Return the URL of an address, with a query."""
    path = quote(address.path, safe="/~!$&'()*+,;=:@")
    return f"https://{address.host}:{address.port}{path}" + (f"?{query}" if query else "")


def _same_host(written: str, host: str) -> bool:
    """Return whether two hosts become the same token of a subject; slots do not count."""
    try:
        return microbus.flatten_host(microbus.cut_slot(written)[0]) == microbus.flatten_host(host)
    except SubtrieError:
        return False
