"""Configuration values: of the constructor, of ``configurator.core``, or of other sources.

A value of the constructor wins; then what the configurator has; then the variable
``<HOST>_<NAME>``; then ``config.yaml``; then the default. As in Go, a service on a broker does not
start if the configurator is silent, but here only if a value has no other source.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from .._errors import refusal
from .._nats.ports import CONTROL
from ._client import RequestClient
from ._config_file import read_config_files, value_of
from ._errors import AckTimeout, HTTPError

logger = logging.getLogger("subtrie.connector")

_URL = f"https://configurator.core:{CONTROL}/values"
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
        """Set the configurator's text; one that cannot be parsed keeps the old value."""
        if text is None:
            self.value = self.default
            return
        try:
            self.value = self._parse(text)
        except (ValueError, TypeError) as error:
            logger.error("configuration value %s cannot be parsed: %s", self.name, error)

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

    async def load(self, *, on_broker: bool) -> None:
        """Read all values at startup.

        Args:
            on_broker: Whether the service is reached over a broker, outside of tests.

        Raises:
            BusError: The configurator does not answer and a value has no other source
                (``configurator``).
        """
        answered = await self.refresh()
        if answered or not on_broker:
            return
        local = self._local()
        missing = [name for name in self.values if name not in local]
        if missing and self._required:
            raise refusal("BusError", "configurator", ", ".join(missing), field="config")
        if missing:
            logger.warning(
                "%s: no configurator; the defaults of %s are in force",
                self._client.host,
                ", ".join(missing),
            )

    def _local(self) -> dict[str, str]:
        """Return the values of the constructor, the environment and the files, by name."""
        files = read_config_files() if self.values else {}
        found: dict[str, str] = {}
        for name in self.values:
            variable = re.sub(r"[^A-Z0-9]", "_", f"{self._client.host}_{name}".upper())
            text = self._given.get(name, os.environ.get(variable))
            if text is None:
                text = value_of(files, self._client.host, name)
            if text is not None:
                found[name] = text
        return found

    async def refresh(self) -> bool:
        """Read all values again, and request them at once; return whether they were answered."""
        if not self.values:
            return True
        texts, answered = self._local(), True
        try:
            response = await self._client.request("POST", _URL, json={"names": list(self.values)})
            fields = response.json()
            told = fields["values"] if isinstance(fields, dict) else {}
            if isinstance(told, dict):
                told = {n: t for n, t in told.items() if isinstance(t, str)}
                texts |= {n: t for n, t in told.items() if n not in self._given}
        except AckTimeout:
            answered = False  # there is no configurator
        except (HTTPError, KeyError, TypeError) as error:
            logger.warning(
                "the configuration cannot be read: %s",
                error,
                extra={"service": self._client.host},
            )
            answered = False
        for name, config in self.values.items():
            if answered or name in texts:
                config.take(texts.get(name))
        return answered
