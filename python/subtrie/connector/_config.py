"""Configuration values: of the constructor, of ``configurator.core``, or of other sources.

A value of the constructor wins; then what the configurator has; then the variable
``<HOST>_<NAME>``; then ``config.yaml``; then the default. As in Go, a service on a broker does not
start if the configurator is silent, but here only if a value has no other source; nor does it if a
value cannot be parsed. One that arrives later and cannot be parsed is logged, and the old one kept.

Each ``config.yaml`` has two levels, a domain and the names below it: ``shop.example:``, ``  Limit:
7``. Files of the working directory and its parents add up, nearer ones win, and in each directory
``config.local.yaml``; a folder that others may write ends the search (``_config_folders``). The
most specific domain wins: the host, then its parents (``example``), then ``all``. Other YAML than
these two levels of plain or quoted texts is reported and skipped.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from .._core.errors import SubtrieError, refusal
from .._core.ports import CONTROL
from ._client import RequestClient
from ._config_folders import config_folders
from ._errors import AckTimeout, HTTPError

logger = logging.getLogger("subtrie.connector")

_URL = f"https://configurator.core:{CONTROL}/values"
REFRESH_PAUSE = 0.1  # seconds between a reading of the values and one that was asked for meanwhile
Value = TypeVar("Value")


class Config(Generic[Value]):
    """A named configuration value, made by ``Connector.config``; ``.get()`` returns it."""

    def __init__(self, name: str, default: Value, parse: Callable[[str], Value]) -> None:
        self.name, self.default, self._parse = name, default, parse
        self.value = default

    def get(self) -> Value:
        """Return the value in force."""
        return self.value

    def take(self, text: str | None) -> None:
        """Set the value to what a text means, or to the default.

        Args:
            text: The text; None for the default.

        Raises:
            ValueError: The text cannot be parsed; the old value is kept.
            TypeError: The same.
        """
        self.value = self.default if text is None else self._parse(text)

    def __repr__(self) -> str:
        return f"Config({self.name!r})"


class Configuration:
    """The configuration values of one connector.

    Args:
        client: Requests the values.
        given: Values by name, which no other source overrides.
        required: Whether a service on a broker needs the configurator for values that no other
            source has.
    """

    def __init__(self, client: RequestClient, given: Mapping[str, str], *, required: bool) -> None:
        self._client, self._required = client, required
        self._given = dict(given)
        self.values: dict[str, Config[Any]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None

    @contextmanager
    def replaced(self, given: Mapping[str, str]) -> Iterator[None]:
        """Give values for the length of a ``with`` block; then all are what they were.

        Args:
            given: Values by name, which no other source overrides.

        Raises:
            BusError: There is no value of a name (``config-name``).
            TypeError: A value is not text.
        """
        for name, text in given.items():
            if name not in self.values:
                error = refusal("BusError", "config-name", name, field="config")
                known = ", ".join(sorted(self.values)) or "none"
                error.args = (f"{self._client.host}: {error.args[0]}; it has {known}",)
                raise error
            if not isinstance(text, str):
                what = type(text).__name__
                raise TypeError(f"{self._client.host}: config {name!r} takes text, not {what}")
        kept, values = self._given, {each: each.value for each in self.values.values()}
        self._given = kept | dict(given)
        try:
            yield
        finally:
            self._given = kept
            for each, value in values.items():
                each.value = value

    async def load(self, *, on_broker: bool) -> None:
        """Read all values at startup.

        Args:
            on_broker: Whether the service is reached over a broker, outside of tests.

        Raises:
            BusError: The configurator does not answer and a value has no other source
                (``configurator``), or a value cannot be parsed (``config-value``).
        """
        answered, texts, refused = await self._read()
        if refused:
            raise refused[0]
        if answered or not on_broker:
            return
        missing = [name for name in self.values if name not in texts]
        if missing and self._required:
            error = refusal("BusError", "configurator", ", ".join(missing), field="config")
            near = "".join(self._near(name) for name in missing)
            error.args = (f"{self._client.host}: {error.args[0]}{near}",)
            raise error
        if missing:
            logger.warning(
                "%s: no configurator; the defaults of %s are in force",
                self._client.host,
                ", ".join(missing),
            )

    def _near(self, name: str) -> str:
        """Return the variable of a value, and a name of a file that was perhaps meant, in words."""
        host = self._client.host
        labels = host.lower().split(".")
        domains = ["all", *(".".join(labels[first:]) for first in range(len(labels)))]
        files = read_config_files()
        others = {each: text for domain in domains for each, text in files.get(domain, {}).items()
                  if each not in self.values}  # fmt: skip
        text = f"; the variable of {name} is {variable_of(host, name)}"
        for close in difflib.get_close_matches(name, others, 1):
            text += f"; {getattr(others[close], 'place', 'config.yaml')} has {close}"
        return text

    def _local(self) -> dict[str, ConfigText]:
        """Return the values of the constructor, the environment and the files, by name."""
        files = read_config_files() if self.values else {}
        found: dict[str, ConfigText] = {}
        for name in self.values:
            variable = variable_of(self._client.host, name)
            if name in self._given:
                found[name] = ConfigText(self._given[name], "config=")
            elif variable in os.environ:
                found[name] = ConfigText(os.environ[variable], variable)
            elif (text := value_of(files, self._client.host, name)) is not None:
                found[name] = ConfigText(text, getattr(text, "place", "config.yaml"))
        return found

    async def refresh(self) -> None:
        """Read all values again; one that cannot be parsed is logged, and the old one kept.

        All who ask while the values are read share one reading after it: these may be old. A
        reading is a call of the request that asked for it first, so its depth counts.
        """
        shared, running = self._following, self._refreshing
        if shared is None:
            if running is None or running.done():
                self._refreshing = shared = asyncio.create_task(self._refresh())
            else:
                self._following = shared = asyncio.create_task(self._refresh_after(running))
        await asyncio.shield(shared)

    async def _refresh_after(self, running: asyncio.Task[None]) -> None:
        await asyncio.wait((running,))
        await asyncio.sleep(REFRESH_PAUSE)
        self._refreshing, self._following = asyncio.current_task(), None
        await self._refresh()

    def close(self) -> None:
        """Stop reading the values: the connector shuts down."""
        for task in (self._refreshing, self._following):
            if task is not None:
                task.cancel()
        self._refreshing = self._following = None

    async def _refresh(self) -> None:
        _, _, refused = await self._read()
        for error in refused:
            logger.error("%s", error, extra={"service": self._client.host})

    async def _read(self) -> tuple[bool, dict[str, ConfigText], list[SubtrieError]]:
        """Read all values, and request them at once.

        Returns:
            Whether the configurator answered, the texts by name, and an error for each that cannot
            be parsed.
        """
        if not self.values:
            return True, {}, []
        texts, answered = self._local(), True
        try:
            response = await self._client.request("POST", _URL, json={"names": list(self.values)})
            fields = response.json()
            told = fields["values"] if isinstance(fields, dict) else {}
            if isinstance(told, dict):
                texts |= {
                    name: ConfigText(text, "configurator.core")
                    for name, text in told.items()
                    if isinstance(text, str) and name not in self._given
                }
        except AckTimeout:
            answered = False  # there is no configurator
        except (HTTPError, KeyError) as error:
            logger.warning(
                "%s: the configuration cannot be read: %s",
                self._client.host,
                error,
                extra={"service": self._client.host},
            )
            answered = False
        refused = []
        for name, config in self.values.items():
            text = texts.get(name)
            try:
                if answered or text is not None:
                    config.take(text)
            except (ValueError, TypeError) as error:
                made = refusal("BusError", "config-value", name, field="config")
                place = "" if text is None else f"{text.place}: "
                what = f"config {name!r} cannot be parsed: {error}; {made.hint}"
                made.args = (f"{self._client.host}: {place}{what}",)
                refused.append(made)
        return answered, texts, refused


def variable_of(host: str, name: str) -> str:
    """Return the environment variable of a value."""
    return re.sub(r"[^A-Z0-9]", "_", f"{host}_{name}".upper())


_NAMES = ("config.yaml", "config.local.yaml")  # the second one wins


_MAX_SIZE = 1 << 20  # bytes of one file
_LONGEST_LINE = 4096
_QUOTED = r"""\"([^"\\]*)\"|'([^']*)'"""
_KEY = rf"""(?:{_QUOTED}|([A-Za-z0-9_.][^:#"'\[\]{{}}]*?))"""
_VALUE = rf"""(?:{_QUOTED}|([^#"'\s\[\]{{}}&*!|>%@`,][^ ]*+(?:[ ]++[^ #][^ ]*+)*+))"""
_LINE = re.compile(rf"(?P<indent>[ ]*){_KEY}[ ]*:(?:[ ]+{_VALUE})?[ ]*(?:[ ]#.*)?")

Values = dict[str, dict[str, str]]  # by domain and name


class ConfigText(str):
    """The text of a value, and where it stands: a variable, ``file:line``, or who gave it."""

    def __new__(cls, text: str, place: str) -> ConfigText:
        """Return the text with its place."""
        made = super().__new__(cls, text)
        made.place = place
        return made

    place: str


def read_config_files(folder: Path | None = None) -> Values:
    """Return the values of all files, from the root to a directory.

    Args:
        folder: The directory; the working directory by default.
    """
    folder = Path.cwd() if folder is None else folder
    values: Values = {}
    for each in reversed(config_folders(folder, _NAMES)):
        for name in _NAMES:
            file = each / name
            text = _text_of(file)
            for domain, names in parse_config(text, str(file)).items():
                values.setdefault(domain, {}).update(names)
    return values


def _text_of(file: Path) -> str:
    """Return the text of a file; an empty one if it is not there or does not count."""
    try:
        # Without O_NONBLOCK a pipe of this name would never open.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # ``open`` refuses that of a folder, and keeps it open
        _warn_once("%s is not read: it is not a regular file", file)
        return ""
    with open(descriptor, "rb") as opened:
        data = opened.read(_MAX_SIZE + 1)
    if len(data) > _MAX_SIZE:
        _warn_once("%s is larger than %d bytes and not read", file, _MAX_SIZE)
        return ""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        _warn_once("%s is not read: it is not UTF-8", file)
        return ""


@lru_cache(maxsize=1024)
def _warn_once(told: str, *values: object) -> None:
    """Log a warning about a file, which is read several times."""
    logger.warning(told, *values)


def parse_config(text: str, file: str = "config.yaml") -> Values:
    """Return the values in the text of one file.

    Args:
        text: The text.
        file: The name of the file, for messages.
    """
    values: Values = {}
    domain: dict[str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "---":
            continue
        found = _LINE.fullmatch(line.rstrip()) if len(line) <= _LONGEST_LINE else None
        if found is None:
            _warn_once("%s:%d is not read: not 'domain:' or '  name: value'", file, number)
            continue
        key = next((part for part in found.groups()[1:4] if part is not None), "")
        value = next((part for part in found.groups()[4:7] if part is not None), "")
        if not found["indent"]:
            domain = values.setdefault(key.strip().lower(), {})
        elif domain is not None:
            text = value.strip() if found[7] is not None else value
            domain[key.strip()] = ConfigText(text, f"{file}:{number}")
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
