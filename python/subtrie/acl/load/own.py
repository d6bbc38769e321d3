"""Our JSON: the arguments of ``Permissions``, and ``subtrie``, the number of the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import SubtrieError
from ..permissions import Permissions
from ..responses import ResponseLimit
from .failure import failure, placed

FORMAT = 1
_LISTS = ("publish_allow", "publish_deny", "subscribe_allow", "subscribe_deny")


def from_json(document: dict[str, Any], path: Path) -> Permissions:
    """Reads what ``dump`` wrote. Raises ``PermissionsError``."""
    document = dict(document)
    if document.pop("subtrie") != FORMAT or type(FORMAT) is not int:
        raise failure("json-format", path.name, path)
    lists: dict[str, Any] = {}
    for name in _LISTS:
        entries = document.pop(name, None)
        if entries is None:
            continue
        if not isinstance(entries, list) or not all(isinstance(e, str) for e in entries):
            raise failure("json-field", name, path, field=name)
        lists[name] = entries
    limit = document.pop("allow_responses", None)
    dialect = document.pop("dialect", "server")
    if document:
        raise failure("unknown-key", min(document), path)
    if dialect not in ("strict", "server"):
        raise failure("json-field", "dialect", path, field="dialect")
    try:
        responses = None if limit is None else ResponseLimit(**limit)
    except (TypeError, ValueError):
        raise failure("json-field", "allow_responses", path, field="allow_responses") from None
    try:
        return Permissions(**lists, allow_responses=responses, dialect=dialect)
    except SubtrieError as error:
        raise placed(error, path, None) from None
