"""The results of a function: how a response is made of them, and how they are read from one.

A dataclass, a mapping or a model is the object of the named results, as in Go; ``result="item"`` of
an endpoint or a call names a single one. A member ``http_response_body`` is the whole body, and
``http_status_code`` the status. A scalar or a list without a name is the bare body, ``bytes`` and
``str`` as they are. A result that is absent is the zero of its type.
"""

# A80

from __future__ import annotations

import collections.abc
import dataclasses
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .._core import control_headers
from .._core.errors import refusal
from ._conversion.compile import converter_of
from ._conversion.converter import Conversion, Converter, Misfit, TooLong, Unconvertible, shown
from ._envelope import ResponseEnvelope
from ._errors import HTTPError
from ._headers import HeaderValues
from ._json import json_bytes
from ._limits import check_head
from ._message import Response

RESPONSE_BODY, STATUS = "http_response_body", "http_status_code"
_JSON: HeaderValues = {"Content-Type": ["application/json"]}
_TEXT: HeaderValues = {"Content-Type": ["text/plain; charset=utf-8"]}
_BYTES: HeaderValues = {"Content-Type": ["application/octet-stream"]}


# --- of a handler


def to_response(result: Any) -> ResponseEnvelope:
    """Return the response for what a handler returned, unless its result has a name.

    Args:
        result: None, bytes, text, a JSON value, a dataclass, a model or a ``Response``.

    Raises:
        TypeError: The value cannot be represented in JSON.
        ValueError: A number is not finite, or a time has no zone.
        HTTPError: The status is not valid, or the headers are too long (500).
    """
    if isinstance(result, dict):  # what most handlers return
        if STATUS in result or RESPONSE_BODY in result:
            return _with_status(result)
        return ResponseEnvelope(200, json_bytes(result), _JSON)
    if result is None:
        return ResponseEnvelope(200, b"")
    if isinstance(result, Response):
        return _of_response(result)
    if isinstance(result, (bytes, bytearray, memoryview)):
        return ResponseEnvelope(200, bytes(result), _BYTES)
    if isinstance(result, str):
        return ResponseEnvelope(200, result.encode(), _TEXT)
    kind: Any = type(result)
    names = _names_beside_the_body(kind)
    if names:
        return _with_status({name: getattr(result, name) for name in names})
    return ResponseEnvelope(200, json_bytes(result), _JSON)


def named_response(name: str) -> Callable[[Any], ResponseEnvelope]:
    """Return the function that makes the responses of a handler whose single result has a name.

    Args:
        name: The name of the result.
    """

    def to_named_response(result: Any) -> ResponseEnvelope:
        if isinstance(result, Response):
            return _of_response(result)
        if name == RESPONSE_BODY:
            return _with_status({name: result})
        return ResponseEnvelope(200, json_bytes({name: result}), _JSON)

    return to_named_response


def _of_response(result: Response) -> ResponseEnvelope:
    """Return a response that a handler made: without control headers, anew."""
    _check_status(result.status)
    given = {  # the handler may keep it
        name: values
        for name, values in result.headers.lists.items()
        if name not in control_headers.CONTROL and name != "Content-Length"
    }
    check_head("", given, "response", 500)
    return ResponseEnvelope(result.status, result.body, given)


def _check_status(status: Any) -> None:
    if type(status) is not int or not 200 <= status <= 999:
        is_text = isinstance(status, str | bytes)
        hint = ": a status is a number; pass a text as body=" if is_text else ""
        shown = str(status)[:40]
        raise HTTPError(f"a handler cannot respond with status {shown}{hint}", status=500)


def _with_status(results: dict[str, Any]) -> ResponseEnvelope:
    """Return the response for results of which one is the status, or the whole body."""
    results = dict(results)
    status = results.pop(STATUS, 0) or 200
    _check_status(status)
    if RESPONSE_BODY not in results:
        return ResponseEnvelope(status, json_bytes(results), _JSON)
    body = results.pop(RESPONSE_BODY)
    if results:
        raise HTTPError(f"{RESPONSE_BODY} beside {', '.join(results)}", status=500)
    if isinstance(body, (bytes, bytearray, memoryview)):
        return ResponseEnvelope(status, bytes(body), _BYTES)
    return ResponseEnvelope(status, json_bytes(body), _JSON)


@lru_cache(maxsize=1024)
def _names_beside_the_body(kind: Any) -> tuple[str, ...]:
    """Return the members of a type that has a status or a whole body; empty for other types."""
    if dataclasses.is_dataclass(kind):
        names = tuple(each.name for each in dataclasses.fields(kind))
    else:
        names = tuple(getattr(kind, "model_fields", ()))
    return names if STATUS in names or RESPONSE_BODY in names else ()


# --- of a typed client


class Result:
    """The results of a function, as its annotation declares them.

    Args:
        annotation: The annotation of ``return``.
        name: The name of the single result; empty if the annotation is the object of all results.
        names: Local names that annotations of fields may mention.

    Raises:
        BusError: The annotation cannot be converted (``annotation``).
    """

    def __init__(
        self, annotation: Any, name: str = "", names: dict[str, Any] | None = None
    ) -> None:
        self.annotation, self.name = annotation, name
        self._converter: Converter | None = None
        if annotation in (Response, None, type(None)):
            return
        try:
            self._converter = converter_of(annotation, names)
        except Unconvertible as error:
            told = f"the result: {error}"
            raise refusal("BusError", "annotation", told, field="result") from None
        members = self._converter.members or frozenset()
        self._has_status = STATUS in members
        self._has_body = RESPONSE_BODY in members

    def read(self, response: Response) -> Any:
        """Return the results in a response.

        Args:
            response: The response.

        Raises:
            HTTPError: The response is an error, or does not fit the annotation (502).
        """
        converter = self._converter
        if self.annotation is Response:
            return response
        if converter is None:
            response.raise_for_status()
            return None
        if response.error is not None or not self._has_status:
            response.raise_for_status()
        if not self.name:
            if self.annotation is bytes:
                return response.body
            if self.annotation is str and not _is_json(response):
                return _text(response)
        return self._converted(converter, self._results(converter, response))

    def _results(self, converter: Converter, response: Response) -> Any:
        """Return the JSON value that the annotation describes."""
        if self._has_body:
            body: Any = response.body
            field = next(
                (each for each in getattr(converter, "fields", ()) if each.name == RESPONSE_BODY),
                None,
            )
            raw = field is not None and field.converter.name == "bytes"
            if not raw:
                body = response.json()
            return {RESPONSE_BODY: body, STATUS: response.status}
        value = response.json()
        if self.name and self.name != RESPONSE_BODY:
            if value is None:
                return None
            if not isinstance(value, dict):
                self._refuse(f"{shown(value)}, not an object with {self.name!r}")
            if self.name not in value:
                members = converter.members or frozenset()
                if not members.isdisjoint(value):
                    self._refuse(
                        f"{shown(value)}, the members of the result itself, not an object with "
                        f"{self.name!r}; declare the call without result="
                    )
            return value.get(self.name)
        if type(value) is dict:
            self._check_shape(converter, value)
            if self._has_status:
                return {**value, STATUS: response.status}
        return value

    def _check_shape(self, converter: Converter, value: dict[str, Any]) -> None:
        """Refuse an object whose one member has the declared members, or is a bare result."""
        members = converter.members
        if len(value) != 1:
            return
        ((name, inner),) = value.items()
        if members is None:
            if not converter.is_open:
                self._refuse(f"an object with {name!r}; declare the call with result={name!r}")
        elif (
            name not in members
            and isinstance(inner, dict)
            and not members.isdisjoint(inner)
            and not converter.is_open
        ):
            self._refuse(
                f"an object with {name!r}, which has the declared members; declare the call with "
                f"result={name!r}, or a result with a member {name!r}"
            )

    def _converted(self, converter: Converter, value: Any) -> Any:
        try:
            return (
                converter.zero() if converter.lacks(value) else converter.read(value, Conversion())
            )
        except Misfit as error:
            told = error.described(self.name or "response")
        except TooLong as error:
            told = f"it is too long: {error}"
        except RecursionError:
            told = "it is nested too deeply"
        raise HTTPError(f"the response does not fit: {told}", status=502)

    def _refuse(self, told: str) -> typing.NoReturn:
        raise HTTPError(f"the response is {told}", status=502)

    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the body of a response; None if it has none."""
        if self._converter is None or (self.annotation is bytes and not self.name):
            return None
        found = self._converter.schema(1 if self.name else 0)
        if self.name and self.name != RESPONSE_BODY:
            return {"type": "object", "properties": {self.name: found}}
        properties = found.get("properties", {})
        if RESPONSE_BODY in properties:
            body: dict[str, Any] = properties[RESPONSE_BODY]
            return body
        properties.pop(STATUS, None)
        return found


def _text(response: Response) -> str:
    try:
        return response.body.decode()
    except UnicodeDecodeError:
        told = "the response does not fit: 'response' is not text in UTF-8"
        raise HTTPError(told, status=502) from None


def _is_json(response: Response) -> bool:
    return response.headers.get("Content-Type", "").startswith("application/")


def awaited(annotation: Any) -> Any:
    """Return the type of a result that a function returns to be awaited.

    Args:
        annotation: The annotation of ``return``.
    """
    origin = typing.get_origin(annotation)
    if origin in (collections.abc.Awaitable, collections.abc.Coroutine):
        return (Any, *typing.get_args(annotation))[-1]
    return annotation
