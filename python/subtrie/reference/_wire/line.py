"""Parsing of the arguments of a line, as nats-server does."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..._core.errors import SubtrieError
from .. import _grammar as grammar
from .json_check import is_object
from .op import PAYLOADS, rsid_of

_BLANKS = b" \t\r\n"
# nats-server splits the arguments of PUB and HPUB only at space and tab, so CR is text.
_SPLIT = re.compile(rb"[^ \t\r\n]+")
_SPLIT_PUBLISHED = re.compile(rb"[^ \t]+")

_UNBOUNDED = 1 << 40

Parts = dict[str, Any]


class Limits(NamedTuple):
    """The limits and options of a parser."""

    strict: bool
    line: int
    payload: int
    pinned: bool
    lnocu: bool


class LineError(Exception):
    """A protocol violation: its code, its offset in the operation, and what was being read."""

    def __init__(self, reason: str, position: int, stage: str = "arguments") -> None:
        super().__init__(reason)
        self.reason, self.position, self.stage = reason, position, stage


class _Args:
    """The arguments of a line, with their offsets."""

    def __init__(self, text: bytes, published: bool = False) -> None:
        pattern = _SPLIT_PUBLISHED if published else _SPLIT
        self.found = list(pattern.finditer(text))
        self.texts = [found[0] for found in self.found]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: int) -> bytes:
        return self.texts[place]

    def place(self, place: int) -> int:
        return self.found[place].start()

    def places(self, **parts: int) -> dict[str, int]:
        """Return the offsets of those parts that are validated later."""
        return {name: self.place(place) for name, place in parts.items() if place < len(self)}


def _arg_count() -> LineError:
    return LineError("arg count", -1)  # of the operation as a whole


def read_line(conn: str, name: str, text: bytes, limits: Limits) -> Parts:
    """Return the parts of the operation of a line."""
    parts = _read(conn, name, text, limits)
    places = parts.pop("places", {})
    if limits.strict:
        _strict(name, parts, places)
    return parts


def _read(conn: str, name: str, text: bytes, limits: Limits) -> Parts:
    if name in ("INFO", "CONNECT"):
        return _json(text)
    if name == "-ERR":
        if not text:
            raise _arg_count()
        return {"message": text}
    if name in ("PUB", "HPUB"):
        return _published(name, text, limits)
    if name == "SUB":
        return _subscribed(text)
    if name == "UNSUB":
        return _unsubscribed(conn, text, limits)
    if name == "MSG" or conn == "server_to_client":
        return _delivered(conn, name, text, limits)
    if name in ("RMSG", "HMSG", "LMSG"):
        return _routed(conn, name, text, limits)
    if name in ("A+", "A-"):
        return _account(text)
    return _interest(conn, name, text, limits)


def _json(text: bytes) -> Parts:
    stripped = text.strip(_BLANKS)  # nats-server writes a space after INFO
    if not is_object(stripped):
        raise LineError("bad json", len(text) - len(text.lstrip(_BLANKS)))
    return {"json": stripped}


def _published(name: str, text: bytes, limits: Limits) -> Parts:
    """``subject [reply] [header size] size``."""
    sizes = 2 if name == "HPUB" else 1
    args = _Args(text, published=True)
    if len(args) not in (1 + sizes, 2 + sizes):
        raise _arg_count()
    parts: Parts = {"subject": args[0], "places": args.places(subject=0, reply=1)}
    if len(args) == 2 + sizes:
        parts["reply"] = args[1]
    return _sized("client", args, sizes, parts, limits)


def _is_sid(text: bytes) -> bool:
    """Return whether the text is a number of 64 bits."""
    digits = re.fullmatch(rb"0*([0-9]{1,20})", text)
    return digits is not None and int(digits[1]) < 1 << 64


def _delivered(conn: str, name: str, text: bytes, limits: Limits) -> Parts:
    """``subject sid [reply] [header size] size``."""
    sizes = 2 if name == "HMSG" else 1
    args = _Args(text)
    if len(args) not in (2 + sizes, 3 + sizes):
        raise _arg_count()
    if conn == "server_to_client" and not _is_sid(args[1]):
        raise LineError("bad sid", args.place(1))
    parts: Parts = {"subject": args[0], "sid": args[1]}
    parts["places"] = args.places(subject=0, reply=2)
    if len(args) == 3 + sizes:
        parts["reply"] = args[2]
    return _sized(conn, args, sizes, parts, limits)


def _routed(conn: str, name: str, text: bytes, limits: Limits) -> Parts:
    """``[origin] [account] subject [reply | + reply queue… | '|' queue…] [header size] size``."""
    sizes = 2 if name == "HMSG" or (name == "LMSG" and conn == "route") else 1
    args = _Args(text)
    lead = ["subject"]
    if conn == "route":
        if not limits.pinned:
            lead.insert(0, "account")
        if name == "LMSG":
            lead.insert(0, "origin")
    more = len(args) - len(lead) - sizes
    if more < 0:
        raise _arg_count()
    parts: Parts = dict(zip(lead, args.texts, strict=False))
    parts["queues"] = []
    replies = len(lead) + (1 if more > 1 else 0)
    parts["places"] = args.places(subject=len(lead) - 1, reply=replies)
    if more == 1:
        parts["reply"] = args[len(lead)]
    elif more > 1:
        sign = args[len(lead)]
        if sign not in (b"+", b"|"):
            raise LineError("bad reply indicator", args.place(len(lead)))
        names = args.texts[len(lead) + 1 : -sizes]
        if sign == b"+":
            parts["reply"] = names.pop(0)
        parts["queues"] = names
    return _sized(conn, args, sizes, parts, limits)


def _sized(conn: str, args: _Args, sizes: int, parts: Parts, limits: Limits) -> Parts:
    """Return the parts with the sizes at the end of the line, checked against the limits."""
    numbers = []
    for place in range(len(args) - sizes, len(args)):
        number = size_of(args[place], as_client=conn == "server_to_client")
        if number is None:
            reason = "bad size" if place == len(args) - 1 else "bad header size"
            raise LineError(reason, args.place(place))
        numbers.append(number)
    if sizes == 2:
        parts["header_size"] = numbers[0]
        if numbers[0] > numbers[1]:
            raise LineError("header larger than total", args.place(len(args) - 2))
    parts["size"] = numbers[-1]
    if parts["size"] > limits.payload:
        raise LineError("max payload", args.place(len(args) - 1))
    return parts


def size_of(text: bytes, as_client: bool = False) -> int | None:
    """Return the number in digits: one to nine for nats-server, any number for the Go client."""
    if not re.fullmatch(rb"[0-9]+", text):
        return None
    digits = text.lstrip(b"0") if as_client else text
    return None if len(digits) > 9 else int(digits or b"0")


def _subscribed(text: bytes) -> Parts:
    """``subject [queue] sid``."""
    args = _Args(text)
    if len(args) not in (2, 3):
        raise _arg_count()
    parts: Parts = {"subject": args[0], "sid": args[-1], "places": args.places(subject=0)}
    if len(args) == 3:
        parts["queue"] = args[1]
    return parts


def _unsubscribed(conn: str, text: bytes, limits: Limits) -> Parts:
    """``sid [max]``; a ``max`` that is 0 or not a number means immediately.

    On a legacy route there is an RSID, which may follow another sid.
    """
    # A53
    args = _Args(text)
    leads = conn == "route_legacy" and len(args) > 1 and rsid_of(args[1]) is not None
    if len(args) - leads not in (1, 2):
        raise _arg_count()
    parts: Parts = {"sid": args[1] if leads else args[0]}
    if leads:
        parts["printed_sid"] = args[0]
    if len(args) - leads == 2:
        parts["max"] = size_of(args[-1]) or None
        if parts["max"] is None and limits.strict:
            raise LineError("bad size", args.place(len(args) - 1))
    return parts


def _interest(conn: str, name: str, text: bytes, limits: Limits) -> Parts:
    """``[origin] [account] subject [queue [weight]]``; only a subscription has a weight."""
    args = _Args(text)
    begins = name.endswith("+")
    lead = ["subject"]
    if conn == "route":
        if not limits.pinned:
            lead.insert(0, "account")
        if name.startswith("LS") and (begins or limits.lnocu):
            lead.insert(0, "origin")
    more = len(args) - len(lead)
    if more not in (0, 2 if begins else 1):
        raise _arg_count()
    parts: Parts = dict(zip(lead, args.texts, strict=False))
    if more:
        parts["queue"] = args[len(lead)]
    if more and begins:
        weight = size_of(args[-1])
        if weight is None and limits.strict:
            raise LineError("bad size", args.place(len(args) - 1))
        parts["weight"] = -1 if weight is None else weight
    parts["places"] = args.places(subject=len(lead) - 1)
    return parts


def _account(text: bytes) -> Parts:
    args = _Args(text)
    if len(args) != 1:
        raise _arg_count()
    return {"account": args[0]}


def _strict(name: str, parts: Parts, places: dict[str, int]) -> None:
    """Validate the subjects of a line in the strict dialect, after splitting the line."""  # A33
    check = grammar.check_subject if name in PAYLOADS else grammar.check_pattern
    for part, judge in (("subject", check), ("reply", grammar.check_subject)):
        if part not in parts:
            continue
        try:
            # The length of the line limits that of the subject.
            judge(parts[part].decode(), "strict", _UNBOUNDED, _UNBOUNDED)
        except UnicodeDecodeError as error:
            raise LineError("bad subject", places[part] + error.start) from None
        except SubtrieError as error:
            raise LineError("bad subject", places[part] + (error.position or 0)) from None
