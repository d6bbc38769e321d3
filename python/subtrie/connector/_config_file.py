"""Configuration values in ``config.yaml``, as Go reads them.

Each file has two levels, a domain and the names below it: ``shop.example:``, ``  Limit: 7``. Files
of the working directory and its parents add up, nearer ones win, and in each directory
``config.local.yaml``. The most specific domain wins: the host, then its parents (``example``), then
``all``. Other YAML than these two levels of plain or quoted texts is reported and skipped.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

logger = logging.getLogger("subtrie.connector")

_MAX_SIZE = 1 << 20  # bytes of one file
_LONGEST_LINE = 4096
_QUOTED = r"""\"([^"\\]*)\"|'([^']*)'"""
_KEY = rf"""(?:{_QUOTED}|([A-Za-z0-9_.][^:#"'\[\]{{}}]*?))"""
_VALUE = rf"""(?:{_QUOTED}|([^#"'\s\[\]{{}}&*!|>%@`,].*?))"""
_LINE = re.compile(rf"(?P<indent>[ ]*){_KEY}[ ]*:(?:[ ]+{_VALUE})?[ ]*(?:[ ]#.*)?")

Values = dict[str, dict[str, str]]  # by domain and name


def read_config_files(folder: Path | None = None) -> Values:
    """Return the values of all files, from the root to a directory.

    Args:
        folder: The directory; the working directory by default.
    """
    folder = Path.cwd() if folder is None else folder
    values: Values = {}
    for each in reversed((folder, *folder.parents)):
        for name in ("config.yaml", "config.local.yaml"):
            try:
                file = each / name
                if file.stat().st_size > _MAX_SIZE:
                    logger.warning("%s is larger than %d bytes and not read", file, _MAX_SIZE)
                    continue
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            for domain, names in parse_config(text, str(file)).items():
                values.setdefault(domain, {}).update(names)
    return values


def parse_config(text: str, file: str = "config.yaml") -> Values:
    """Return the values in the text of one file.

    Args:
        text: The text.
        file: The name of the file, for warnings.
    """
    values: Values = {}
    domain: dict[str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "---":
            continue
        found = _LINE.fullmatch(line.rstrip()) if len(line) <= _LONGEST_LINE else None
        if found is None:
            logger.warning("%s:%d is not read: not 'domain:' or '  name: value'", file, number)
            continue
        key = next((part for part in found.groups()[1:4] if part is not None), "")
        value = next((part for part in found.groups()[4:7] if part is not None), "")
        if not found["indent"]:
            domain = values.setdefault(key.strip().lower(), {})
        elif domain is not None:
            domain[key.strip()] = value.strip() if found[7] is not None else value
    return values


def value_of(values: Values, host: str, name: str) -> str | None:
    """Return the value of a name for a host: of its most specific domain; None if there is none.

    Args:
        values: The values.
        host: The host of the service.
        name: The name of the value.
    """
    labels = host.lower().split(".")
    for first in range(len(labels)):
        names = values.get(".".join(labels[first:]), {})
        if name in names:
            return names[name]
    return values.get("all", {}).get(name)
