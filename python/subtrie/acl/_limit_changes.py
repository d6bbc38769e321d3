"""Changed limits and times: the message, connection or login that is possible on one side only."""

# A81

from __future__ import annotations

from collections.abc import Iterator

from ._consequence import Consequence
from ._load.setting_keys import DEFAULT_LIMITS
from ._uncompared import TIMES, Uncompared

#: A limit by its names, and what one more than the smaller of two limits is.
_LIMITS = {
    **dict.fromkeys(("max_payload", "payload"), "a message of {:,} bytes may be published"),
    **dict.fromkeys(("max_connections", "conn"), "{:,} connections may be open at a time"),
    **dict.fromkeys(("max_subscriptions", "subs"), "{:,} subscriptions may be held at a time"),
    **dict.fromkeys(("max_leafnodes", "leaf"), "{:,} leaf nodes may connect at a time"),
}  # fmt: skip


def of_limit(part: Uncompared) -> Iterator[Consequence]:
    """Yield what is possible with the larger of two limits, or in the longer time.

    Args:
        part: the limit, or the bound of a token, that differs.
    """
    name = part.keys[-1]
    if name in TIMES:
        yield _of_time(part, name)
    elif name in _LIMITS:
        default = DEFAULT_LIMITS.get(name) if len(part.keys) == 1 else None
        old, new = (_number(each, default) for each in (part.old, part.new))
        smaller = min(each for each in (old, new) if each is not None)
        what = _LIMITS[name].format(smaller + 1)
        gained = old is not None and (new is None or new > old)
        yield Consequence(gained, f"{what}{_where(part)}", str(smaller + 1), part.user)


def is_limit(part: Uncompared) -> bool:
    """Return True if a part is a limit of sizes, counts or times."""
    return part.keys[-1:] != () and part.keys[-1] in (*_LIMITS, *TIMES)


def _number(text: str, default: int | None) -> int | None:
    return int(text) if text else default


def _where(part: Uncompared) -> str:
    match part.keys:
        case ("accounts" | "account claims", account, *_):
            return f" in {account}"
    return "" if part.user is None else f" as {part.user}"


def _of_time(part: Uncompared, name: str) -> Consequence:
    match part.keys:
        case ("account claims", account, *_):
            who = f"users of {account}"
        case ("user claims", user, *_) if user:
            who = user
        case _:
            who = "the user"
    old, new = part.old, part.new
    before, after = part.times
    if name == "exp":
        gained = before != 0 and (after == 0 or after > before)
        longer, shorter = (new, old) if gained else (old, new)
        until = f"until {longer}" if longer else "without end"
        message = f"{who} may log in {until}, and not only until {shorter}"
    else:
        gained = after < before
        longer, shorter = (new, old) if gained else (old, new)
        since = f"from {longer} on" if longer else "at once"
        message = f"{who} may log in {since}, and not only from {shorter} on"
    return Consequence(gained, message, longer or shorter, part.user)
