"""Subtrie permissions JSON: the arguments of ``Permissions`` and the number of the format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..._core.errors import SubtrieError
from ..._core.file_errors import file_error, located
from ..._findings.finding import Place
from .._response_limit import ResponseLimit
from .._rule_entry import checked_entries
from .loaded import LoadedPermissions

FORMAT = 1
_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


def is_subtrie_json(text: str) -> bool:
    """Return True if a text is in this format; a configuration may begin with a brace too."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "subtrie" in document


def permissions_in_json(text: str, path: Path) -> LoadedPermissions:
    """Read what ``dump`` wrote. Raises ``PermissionsError``."""
    document = _distinct(text, path)
    number = document.pop("subtrie")
    if type(number) is not int or number != FORMAT:
        raise file_error("json-format", path.name, path)
    dialect = document.pop("dialect", "server")
    if dialect not in ("strict", "server"):
        raise file_error("json-field", "dialect", path, field="dialect")
    loaded = LoadedPermissions(dialect=dialect)
    for name in _LISTS:
        entries = document.pop(name, None)
        if entries is None:
            continue
        if not isinstance(entries, list) or not all(isinstance(e, str) for e in entries):
            raise file_error("json-field", name, path, field=name)
        for entry, line in zip(entries, _lines(text, name, entries), strict=True):
            try:
                [kept] = checked_entries([entry], name, dialect, name.startswith("subscribe")) or ()
            except SubtrieError as error:
                raise located(error, path, line) from None
            loaded.sources.setdefault((name, kept), Place(str(path), line))
        setattr(loaded, name, tuple(entries))
    limit = document.pop("allow_responses", None)
    if document:
        raise file_error("unknown-key", min(document), path)
    try:
        loaded.allow_responses = None if limit is None else ResponseLimit(**limit)
    except (TypeError, ValueError):
        raise file_error("json-field", "allow_responses", path, field="allow_responses") from None
    return loaded


def _distinct(text: str, path: Path) -> dict[str, Any]:
    """The object; a duplicate name is refused."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            duplicate = next(name for name in names if names.count(name) > 1)
            raise file_error("alias-twice", duplicate, path)
        return values

    document: dict[str, Any] = json.loads(text, object_pairs_hook=without_duplicates)
    return document


def _lines(text: str, name: str, entries: list[str]) -> Iterator[int]:
    """The line of each entry if it is written as ``dump`` writes it; else that of its list."""
    at = max(text.find(f'"{name}"'), 0)
    for entry in entries:
        spellings = (json.dumps(entry), json.dumps(entry, ensure_ascii=False))
        places = [place for each in spellings if (place := text.find(each, at)) >= 0]
        at = min(places, default=at)
        yield text.count("\n", 0, at) + 1
        at += 1 if places else 0
