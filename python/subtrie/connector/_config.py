"""Configuration values: requested from ``configurator.core``, else the defaults.

The configurator is optional: a service starts without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .._nats.ports import CONTROL
from ._client import RequestClient
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
    """The configuration values of one connector."""

    def __init__(self, client: RequestClient) -> None:
        self._client = client
        self.values: dict[str, Config[Any]] = {}

    async def refresh(self) -> None:
        """Request all values at once; without an answer everything stays as it is."""
        if not self.values:
            return
        try:
            response = await self._client.request("POST", _URL, json={"names": list(self.values)})
            fields = response.json()
            texts = fields["values"] if isinstance(fields, dict) else {}
        except AckTimeout:
            return  # there is no configurator
        except (HTTPError, KeyError, TypeError) as error:
            logger.warning(
                "the configuration cannot be read: %s",
                error,
                extra={"service": self._client.host},
            )
            return
        for name, config in self.values.items():
            text = texts.get(name) if isinstance(texts, dict) else None
            config.take(text if isinstance(text, str) else None)
