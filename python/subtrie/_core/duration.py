"""Durations as Go writes and reads them: ``1h30m``, ``19.999s``, ``5ms``."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
    "h": 3600 * 10**9,
}  # fmt: skip  # the micro sign, and the Greek letter
_PART = re.compile(r"([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|h|m|s)")
_DURATION = re.compile(r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|h|m|s))+")
_LONGEST = 2**63 - 1  # of Go's int64, in nanoseconds
#: Longest text that is read: Python refuses to convert more than 4,300 digits.
_MOST_CHARACTERS = 1000


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration as Go's ``time.ParseDuration`` reads it.

    Each part is cut to whole nanoseconds. None if the text is not a duration, or is too long.
    """
    if text in ("0", "+0", "-0"):
        return 0
    if len(text) > _MOST_CHARACTERS or not _DURATION.fullmatch(text):
        return None
    total = 0
    for whole, part, unit in _PART.findall(text):
        size = _UNITS[unit]
        total += int(whole or "0") * size + int(part or "0") * size // 10 ** len(part)
    negative = text.startswith("-")
    if total > _LONGEST + negative:
        return None
    return -total if negative else total


def format_duration(nanoseconds: int) -> str:
    """Return the text of a duration as Go's ``Duration.String`` writes it: ``1m30s``, ``1.5µs``."""
    if nanoseconds < 0:
        return "-" + format_duration(-nanoseconds)
    if not nanoseconds:
        return "0s"
    if nanoseconds < 1_000_000_000:
        for unit in ("ms", "µs", "ns"):
            if nanoseconds >= _UNITS[unit]:
                return _decimal(nanoseconds, _UNITS[unit]) + unit
    minutes, rest = divmod(nanoseconds, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, 1_000_000_000) + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def readable_duration(seconds: float) -> str:
    """Return a duration as people write it: ``1m``, ``2h``, ``1m30s``; "any time" if negative."""
    if seconds < 0:
        return "any time"
    return compact_duration(round(seconds * 1e9))


def compact_duration(nanoseconds: int) -> str:
    """Return the same duration as ``format_duration``, without parts that are zero."""
    text = format_duration(nanoseconds)
    if text.endswith("m0s"):
        text = text[:-2]
    return text[:-2] if text.endswith("h0m") else text


def _decimal(total: int, size: int) -> str:
    whole, part = divmod(total, size)
    digits = f"{part:0{len(str(size)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)
