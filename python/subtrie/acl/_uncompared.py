"""Differences of two inputs besides the lists of users, which ``Permissions.diff`` compares.

Accounts with exports, imports and mappings, ``no_auth_user``, links to other brokers, types of
connections: a change of these may change who may do what. They are named, not decided.
"""

# A81

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

from .._core.file_errors import file_error
from .._findings.finding import Place
from ._load.files import STANDARD_INPUT
from ._load.settings import Setting, Settings, load_settings


@dataclasses.dataclass(frozen=True, slots=True)
class Uncompared:
    """A part of two inputs that differs, or was not seen, and may change who may do what.

    Attributes:
        part: the blocks and keys that lead to it, by `` / ``.
        change: ``added``, ``removed``, ``changed``, or ``not seen``.
        old: its value before, if that may be shown; else empty.
        new: its value after.
        user: the user (``user`` or ``account/user``) whom alone it concerns; None for others.
        place: where it is: in the new input, else in the old one; None if it has no place.
        keys: the blocks and keys of ``part``, one by one.
        times: of a time, before and after, in seconds; 0 for none.
    """

    part: str
    change: str
    old: str = ""
    new: str = ""
    user: str | None = None
    place: Place | None = None
    keys: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    times: tuple[float, float] = dataclasses.field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        if self.change == "not seen":
            return self.part
        values = " → ".join(filter(None, (self.old, self.new)))
        return f"{self.part} {self.change}" + (f": {values}" if values else "")


def uncompared(
    old: str | Path,
    new: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    root: str | Path | None = None,
) -> list[Uncompared]:
    """Return what differs between two inputs besides the lists of their users.

    Ports, logging and the broker's own storage are left out; whatever else differs is named, also
    what this version does not know. Without a result, only the lists can make a difference.

    Args:
        old: the input before a change, of any format of ``Permissions.load_all``.
        new: the input after it.
        env: values of a configuration's variables; default: the process's environment.
        root: the folder that must contain included files; default: that of each input.

    Raises:
        PermissionsError: what nats-server would refuse; or both inputs read the same file, so
            that a change of it cannot be seen.
        OSError: a file cannot be read.
    """
    before, after = (load_settings(each, env=env, root=root) for each in (old, new))
    if not _same_input(old, new):
        _check_shared(before, after)
    found = [
        Uncompared(f"accounts of {each}, and users without a connection at the time", "not seen")
        for each, settings in ((old, before), (new, after))
        if not settings.told
    ]
    one_kind = before.kind == after.kind
    return [*found, *_parts(before.root, after.root, (), one_kind)]


def _same_input(old: str | Path, new: str | Path) -> bool:
    if str(old) == str(new):
        return True
    one, other = Path(old), Path(new)
    return (
        STANDARD_INPUT not in (one, other)
        and one.exists()
        and other.exists()
        and (one.samefile(other))
    )


def _check_shared(before: Settings, after: Settings) -> None:
    """Refuse two inputs that read one file: as it is now, it stands for both."""
    read = {_identity(each): each for each in before.files}
    for each in after.files:
        if _identity(each) in read:
            raise file_error("shared-file", each.name, each)


def _identity(path: Path) -> tuple[int, int] | str:
    if path.name == str(STANDARD_INPUT) or not path.exists():  # the name of an open pipe
        return str(path)
    stat = path.stat()
    return stat.st_dev, stat.st_ino


#: Settings that are times: the end and the beginning of logins.
TIMES = ("exp", "nbf")
#: Of a user, what an input of another kind does not tell, or tells in another way.
_OF_KIND = {"password", "account", *TIMES}


def _parts(
    old: Setting | None, new: Setting | None, path: tuple[str, ...], one_kind: bool
) -> Iterator[Uncompared]:
    """Yield the parts that differ below a path; a block that one side lacks is one part.

    Args:
        old: the block or value before; None without one.
        new: the same after.
        path: the keys and names that lead to it.
        one_kind: True if both inputs can hold the same settings.
    """
    found = new or old
    assert found is not None
    one_sided = old is None or new is None
    user, whole = _user(path)
    if one_sided and whole and one_kind:
        return  # what a new or a removed user may do is a difference of lists
    blocks = [each.value if each is not None else {} for each in (new, old)]
    if all(isinstance(each, dict) for each in blocks) and (not one_sided or _opened(path)):
        new_account = one_sided and path[:1] in (("accounts",), ("account claims",))
        for name in blocks[0] | blocks[1]:
            if new_account and len(path) == 2 and name == "limits":
                continue  # they limit what is named beside them
            yield from _parts(blocks[1].get(name), blocks[0].get(name), (*path, name), one_kind)
        return
    if old is not None and new is not None and old.value == new.value:
        return
    if user is not None and not one_kind and path[-1] in _OF_KIND:
        return
    change = "added" if old is None else "removed" if new is None else "changed"
    before, after = ("" if each is None else each.text for each in (old, new))
    part = " / ".join(filter(None, path))
    is_time = path[-1] in TIMES
    was, now = (each.value or 0 if each is not None and is_time else 0 for each in (old, new))
    yield Uncompared(part, change, before, after, user or None, found.place, path, (was, now))


def _user(path: tuple[str, ...]) -> tuple[str | None, bool]:
    """The user to whom a path belongs, None without one; True if it is all of the user."""
    match path:
        case ("accounts", account, "users", name, *rest):
            return f"{account}/{name}", not rest
        case ("authorization", "users", name, *rest) | ("user claims", name, *rest):
            return name, not rest
    return None, False


def _opened(path: tuple[str, ...]) -> bool:
    """True if the parts of a block are named one by one even if one side lacks the block."""
    match path:
        case () | ("accounts",) | ("accounts", _) | ("authorization",) | ("mappings",):
            return True
        case ("accounts", _, "users" | "exports" | "imports" | "mappings" | "limits"):
            return True
        case ("account claims", _, "limits"):
            return True
        case ("authorization", "users") | ("user claims",):
            return True
    return _user(path)[1]
