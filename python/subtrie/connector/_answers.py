"""The responses to a multicast or an event, each with its typed result, as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, TypeVar

from ._errors import HTTPError
from ._message import Response
from ._responses import ResponseStream
from ._results import Result

R = TypeVar("R")


class Answer(Generic[R]):
    """One response to a multicast or an event: ``get()`` returns its typed result.

    Attributes:
        response: The response: its source, id, status and headers.
    """

    __slots__ = ("_result", "response")

    def __init__(self, response: Response, result: Result) -> None:
        self.response, self._result = response, result

    @property
    def error(self) -> HTTPError | None:
        """The error that the responder sent; None if there is none."""
        return self.response.error

    def get(self) -> R:
        """Return the result.

        Raises:
            HTTPError: The response is an error, or does not fit the declared type.
        """
        if self.response.error is not None:
            raise self.response.error
        result: R = self._result.read(self.response)
        return result

    def __repr__(self) -> str:
        return f"<Answer of {self.response.source or 'no service'}: {self.response.status}>"


class Answers(AsyncIterator[Answer[R]]):
    """The answers to one multicast, to be iterated over once, as they come.

    Args:
        responses: The responses.
        result: The declared result.
        source: The host whose responses are taken; empty for any.
    """

    def __init__(self, responses: ResponseStream, result: Result, source: str = "") -> None:
        self._responses, self._result, self._source = responses, result, source

    def __aiter__(self) -> Answers[R]:
        return self

    async def __anext__(self) -> Answer[R]:
        async for response in self._responses:
            # What the connector itself says, such as a timeout, has no source.
            if not self._source or response.source in ("", self._source):
                return Answer(response, self._result)
        raise StopAsyncIteration


class Triggered(Answers[R], Coroutine[Any, Any, list[Response]]):
    """The answers to an event: iterate over them as they come, or await all responses."""

    _all: Coroutine[Any, Any, list[Response]] | None = None

    def __await__(self) -> Generator[Any, Any, list[Response]]:
        return self._responses_of_all().__await__()

    async def _responses_of_all(self) -> list[Response]:
        return [response async for response in self._responses]

    # A coroutine, so that it can become a task or run in the background.

    def _running(self) -> Coroutine[Any, Any, list[Response]]:
        self._all = self._all or self._responses_of_all()
        return self._all

    def send(self, value: Any) -> Any:
        """Run the wait for all responses on, as of a coroutine."""
        return self._running().send(value)

    def throw(
        self,
        kind: type[BaseException] | BaseException,
        value: BaseException | object = None,
        traceback: TracebackType | None = None,
    ) -> Any:
        """Raise an exception in the wait for all responses, as of a coroutine."""
        error = kind if isinstance(kind, BaseException) else value
        return self._running().throw(error if isinstance(error, BaseException) else kind())  # type: ignore[operator]

    def close(self) -> None:
        """End the wait for all responses, as of a coroutine."""
        self._running().close()
