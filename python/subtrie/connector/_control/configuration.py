"""Values a service is configured with: asked of ``configurator.core``, else the default.

The configurator's absence is no error: a service must start where there is none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .._client.requester import Requester
from .._errors import AckTimeout, HTTPError

logger = logging.getLogger("subtrie.connector")

_URL = "https://configurator.core:888/values"
Value = TypeVar("Value")


class Config(Generic[Value]):
    """One named value: call ``.get()``, or read ``.value``."""

    def __init__(self, name: str, default: Value, parse: Callable[[str], Value]) -> None:
        self.name, self.default, self._parse = name, default, parse
        self.value = default

    def get(self) -> Value:
        """The value now in force."""
        return self.value

    def take(self, text: str | None) -> None:
        """Takes the configurator's text; a value that cannot be read leaves the old one."""
        if text is None:
            self.value = self.default
            return
        try:
            self.value = self._parse(text)
        except (ValueError, TypeError) as error:
            logger.error("configuration %s is unreadable: %s", self.name, error)

    def __repr__(self) -> str:
        return f"Config({self.name!r})"


class Configuration:
    """All values of one connector."""

    def __init__(self, connector: Requester) -> None:
        self.connector = connector
        self.values: dict[str, Config[Any]] = {}

    async def refresh(self) -> None:
        """Asks for all values at once; where nobody answers, everything stays as it is."""
        if not self.values:
            return
        try:
            answer = await self.connector.request("POST", _URL, json={"names": list(self.values)})
            told = answer.json()
            texts = told["values"] if isinstance(told, dict) else {}
        except AckTimeout:
            return  # there is no configurator
        except (HTTPError, KeyError, TypeError) as error:
            logger.warning("no configuration: %s", error, extra={"service": self.connector.host})
            return
        for name, config in self.values.items():
            text = texts.get(name) if isinstance(texts, dict) else None
            config.take(text if isinstance(text, str) else None)
