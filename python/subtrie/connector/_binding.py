"""Binding a request to the parameters of a handler, by their annotations.

Decided once, when the endpoint is made. A parameter annotated ``Request`` is the request; path
arguments are bound by name; ``bytes`` is the raw body; a dataclass, a pydantic model, a ``dict`` or
a ``list`` is the JSON body, or if there are several, its field of that name; others come from the
query, then from a field of the JSON body, then from the default. A field that is absent is its
type's zero, because Go does not send zeros. Anything else that is absent or does not fit is
answered with 400.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Union

from .. import _control_headers
from .._errors import refusal
from ._envelope import ResponseEnvelope
from ._errors import HTTPError
from ._headers import HeaderValues
from ._json import json_bytes
from ._limits import check_head
from ._message import Request, Response

_MISSING = inspect.Parameter.empty
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")

Binder = Callable[[Request], Any]


def argument_binder(
    handler: Callable[..., Any], hints: Mapping[str, Any], path_names: Sequence[str]
) -> Callable[[Request, Callable[..., Any]], Any]:
    """Return a function that calls a handler with its arguments for a request.

    Args:
        handler: The function.
        hints: Its type hints.
        path_names: The names of the path arguments.

    Raises:
        BusError: A parameter cannot be filled from a request (``endpoint``).
    """
    parameters = list(inspect.signature(handler).parameters.values())
    kinds: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise refusal("BusError", "endpoint", str(parameter), field="parameter")
        annotation = hints.get(parameter.name, _MISSING)
        kinds[parameter.name] = _MISSING if isinstance(annotation, str) else annotation

    bodies = body_parameters(kinds, path_names)
    several, whole = len(bodies) > 1, len(bodies) == 1 or bytes in kinds.values()
    positional: list[Binder] = []
    named: list[tuple[str, Binder]] = []
    for parameter in parameters:
        name, annotation, default = parameter.name, kinds[parameter.name], parameter.default
        if name in bodies and several:
            binder: Binder = partial(_from_field, name, annotation, default)
        else:
            binder = _binder(name, annotation, default, path_names, whole)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named.append((name, binder))
        else:
            positional.append(binder)

    # Written out for the usual numbers of parameters: a list costs more than the calls.
    if not named and len(positional) == 1:
        (only,) = positional
        return lambda request, call: call(only(request))
    if not named and len(positional) == 2:
        first, second = positional
        return lambda request, call: call(first(request), second(request))
    return lambda request, call: call(
        *[bind(request) for bind in positional], **{name: bind(request) for name, bind in named}
    )


def body_parameters(kinds: Mapping[str, Any], path_names: Sequence[str]) -> list[str]:
    """Return the parameters that are bound to the JSON body, or to its fields if several are.

    Args:
        kinds: The annotation of each parameter.
        path_names: The names of the path arguments.
    """
    return [
        name
        for name, annotation in kinds.items()
        if annotation is not Request
        and not any(_same_name(each, name) for each in path_names)
        and ((annotation is _MISSING and name == "body") or _is_body(annotation))
    ]


def check_path_names(
    handler: Callable[..., Any], hints: Mapping[str, Any], path_names: Sequence[str]
) -> None:
    """Refuse a named path argument that no parameter takes, unless the request itself is taken.

    Args:
        handler: The function.
        hints: Its type hints.
        path_names: The names of the path arguments.

    Raises:
        BusError: A path argument is not taken (``path-argument``).
    """
    names = list(inspect.signature(handler).parameters)
    if any(_is_request(name, hints) for name in names):
        return
    for each in path_names:
        unnamed = each.startswith("path") and each[4:].isdigit()
        if not unnamed and not any(_same_name(each, name) for name in names):
            raise refusal("BusError", "path-argument", each, field="route")


def _is_request(name: str, hints: Mapping[str, Any]) -> bool:
    return hints.get(name) is Request or (name == "request" and name not in hints)


def takes_request_only(handler: Callable[..., Any], hints: Mapping[str, Any]) -> bool:
    """Return whether the request itself is the one parameter of a handler.

    Args:
        handler: The function.
        hints: Its type hints.
    """
    names = list(inspect.signature(handler).parameters)
    return len(names) == 1 and _is_request(names[0], hints)


def _binder(
    name: str, annotation: Any, default: Any, path_names: Sequence[str], whole: bool
) -> Binder:
    """Return the binder of one parameter; ``whole`` if another one takes the whole body."""
    if annotation is Request or (annotation is _MISSING and name == "request"):
        return lambda request: request
    in_path = next((each for each in path_names if _same_name(each, name)), None)
    if in_path is not None:
        if annotation in (_MISSING, str):
            return lambda request: request.arguments[in_path]
        if annotation is int:
            return lambda request: _integer(name, request.arguments[in_path])
        return lambda request: scalar(name, annotation, request.arguments[in_path])
    if annotation is bytes:
        return lambda request: request.body
    if (annotation is _MISSING and name == "body") or _is_body(annotation):
        unconverted = _unconverted_type(annotation)
        return lambda request: _from_body(request, annotation, unconverted, default)
    return lambda request: _from_query(request, name, annotation, default, whole)


def _same_name(in_path: str, parameter: str) -> bool:
    """Return whether a path argument fits a parameter: ``orderId`` and ``order_id`` do."""
    unconverted = parameter.rstrip("_")
    return (
        in_path in (parameter, unconverted)
        or in_path.lower() == unconverted.replace("_", "").lower()
    )


def _without_none(annotation: Any) -> Any:
    """Return the type beside None in an optional one."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        others = [each for each in typing.get_args(annotation) if each is not type(None)]
        if len(others) == 1:
            return others[0]
    return annotation


def _is_body(annotation: Any) -> bool:
    bare = _without_none(annotation)
    origin = typing.get_origin(bare) or bare
    if origin in (list, tuple, set, frozenset):
        (item, *_) = typing.get_args(bare) or (Any,)
        # A list of scalars comes from the query.
        return _without_none(item) not in (int, float, bool, str)
    return (
        origin is dict
        or dataclasses.is_dataclass(origin)
        or hasattr(origin, "model_validate")
        or typing.is_typeddict(origin)
    )


def _unconverted_type(annotation: Any) -> Any:
    """Return the type whose JSON values need no conversion: a ``dict`` or ``list`` of anything."""
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if (origin, arguments) in ((dict, ()), (dict, (str, Any)), (list, ()), (list, (Any,))):
        return origin
    return _MISSING


def _from_body(request: Request, annotation: Any, unconverted: Any, default: Any) -> Any:
    if not request.body:
        return zero("body", annotation) if default is _MISSING else default
    value = request.json()
    if annotation is _MISSING or type(value) is unconverted:
        return value
    return structured("body", annotation, value)


def _from_field(name: str, annotation: Any, default: Any, request: Request) -> Any:
    fields = request.json() if request.body else {}
    if not isinstance(fields, dict):
        raise HTTPError("the body is not a JSON object", status=400)
    for each in (name, name.rstrip("_")):
        if each in fields:
            value = fields[each]
            return value if annotation is _MISSING else structured(name, annotation, value)
    return zero(name, annotation) if default is _MISSING else default


def _from_query(request: Request, name: str, annotation: Any, default: Any, whole: bool) -> Any:
    values = request.query.get(name) if request.url_query else None
    if values is None and name.endswith("_"):
        values = request.query.get(name.rstrip("_"))
    if values is not None:
        if (
            typing.get_origin(_without_none(annotation)) in (list, tuple, set, frozenset)
            or annotation is list
        ):
            return structured(name, annotation, values, texts=True)
        return scalar(name, annotation, values[-1])
    fields = request.json() if request.body.startswith(b"{") else None
    if isinstance(fields, dict) and name in fields:
        value = fields[name]
        return value if annotation is _MISSING else structured(name, annotation, value)
    if default is not _MISSING:
        return default
    if annotation is not _MISSING and type(None) in typing.get_args(annotation):
        return None
    if isinstance(fields, dict) and not whole:
        return zero(name, annotation)
    raise HTTPError(f"argument {name!r} is missing", status=400)


_DEEPEST_ZERO = 8  # dataclasses within dataclasses


def zero(name: str, annotation: Any, depth: int = 0) -> Any:
    """Return the zero of a type, which Go leaves out of a body.

    Args:
        name: The name of the parameter, for the error.
        annotation: Its type.
        depth: How many dataclasses contain it.

    Raises:
        HTTPError: The type has no zero (400).
    """
    origin = typing.get_origin(annotation) or annotation
    if annotation in (_MISSING, Any, object) or type(None) in typing.get_args(annotation):
        return None
    if origin in (bool, int, float, str, bytes, list, tuple, set, frozenset, dict):
        return origin()
    if typing.is_typeddict(origin):
        return {}
    if hasattr(origin, "model_validate"):
        return structured(name, annotation, {})
    if dataclasses.is_dataclass(origin) and isinstance(origin, type) and depth < _DEEPEST_ZERO:
        hints = _hints_of(origin)
        given = {
            field.name: zero(f"{name}.{field.name}", hints[field.name], depth + 1)
            for field in dataclasses.fields(origin)
            if field.init and field.default is field.default_factory is dataclasses.MISSING
        }
        return _made(name, origin, given)
    raise HTTPError(f"argument {name!r} is missing", status=400)


def scalar(name: str, annotation: Any, text: str) -> Any:
    """Convert a text from a path or a query.

    Args:
        name: The name of the parameter.
        annotation: Its type.
        text: The text.

    Raises:
        HTTPError: The text does not fit the type (400).
    """
    annotation = _without_none(annotation)
    if annotation in (_MISSING, str, Any):
        return text
    if annotation is bool:
        if text.lower() in _TRUE or text.lower() in _FALSE:
            return text.lower() in _TRUE
        raise HTTPError(f"{name!r} is not a boolean: {text[:60]!a}", status=400)
    if annotation in (int, float) and len(text) > 400:
        raise HTTPError(f"{name!r} is too long", status=400)
    try:
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return structured(name, annotation, text, texts=True)
        return annotation(text)
    except (TypeError, ValueError):
        kind = getattr(annotation, "__name__", str(annotation))
        raise HTTPError(f"{name!r} is not a valid {kind}: {text[:60]!a}", status=400) from None


def _integer(name: str, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    value: int = scalar(name, int, text)
    return value


def structured(name: str, annotation: Any, value: Any, *, texts: bool = False) -> Any:
    """Convert a JSON value to an annotated type.

    Args:
        name: The name of the parameter, for error messages.
        annotation: Its type.
        value: The JSON value.
        texts: Whether the values are texts from a query.

    Raises:
        HTTPError: The value does not fit the type (400); the message says where.
    """
    origin = typing.get_origin(annotation) or annotation
    arguments = typing.get_args(annotation)
    if annotation in (Any, object, _MISSING):
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        failed: HTTPError | None = None
        for each in arguments:
            if each is not type(None):
                try:
                    return structured(name, each, value, texts=texts)
                except HTTPError as error:
                    failed = error
        raise failed or HTTPError(f"{name!r} does not fit its type", status=400)
    if origin is typing.Literal:
        if value in arguments:
            return value
    elif hasattr(origin, "model_validate"):
        try:
            return origin.model_validate(value)
        except ValueError as error:
            raise HTTPError(f"{name!r}: {error}", status=400) from None
    elif dataclasses.is_dataclass(origin) and isinstance(origin, type):
        if isinstance(value, dict):
            return _dataclass(name, origin, value)
    elif origin in (list, tuple, set, frozenset):
        if isinstance(value, list):
            item = arguments[0] if arguments else Any
            return origin(
                structured(f"{name}[{i}]", item, v, texts=texts) for i, v in enumerate(value)
            )
    elif origin is dict or typing.is_typeddict(origin):
        if isinstance(value, dict):
            item = arguments[1] if len(arguments) == 2 else Any
            return {k: structured(f"{name}.{k}", item, v) for k, v in value.items()}
    elif isinstance(origin, type) and issubclass(origin, enum.Enum):
        for member in origin:
            if member.value == value or (texts and str(member.value) == value):
                return member
    elif origin is type(None):
        if value is None:
            return None
    elif texts and isinstance(value, str):
        return scalar(name, annotation, value)
    elif origin is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif origin is bytes and isinstance(value, str):
        return value.encode()
    elif (
        isinstance(origin, type)
        and isinstance(value, origin)
        and not (origin is int and isinstance(value, bool))
    ):
        return value
    kind = getattr(annotation, "__name__", str(annotation))
    raise HTTPError(f"{name!r} is not a valid {kind}: {json.dumps(value)[:60]}", status=400)


@lru_cache(maxsize=1024)
def _hints_of(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _dataclass(name: str, kind: type, value: dict[str, Any]) -> Any:
    hints = _hints_of(kind)
    given: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.init and field.name in value:
            place = f"{name}.{field.name}"
            given[field.name] = structured(place, hints[field.name], value[field.name])
    return _made(name, kind, given)


def _made(name: str, kind: type, given: dict[str, Any]) -> Any:
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise HTTPError(f"{name!r}: {error}", status=400) from None


_JSON: HeaderValues = {"Content-Type": ["application/json"]}
_TEXT: HeaderValues = {"Content-Type": ["text/plain; charset=utf-8"]}
_BYTES: HeaderValues = {"Content-Type": ["application/octet-stream"]}


def to_response(result: Any) -> ResponseEnvelope:
    """Return the response for None, bytes, text, a JSON value, a dataclass or a ``Response``.

    Raises:
        TypeError: The value cannot be represented in JSON.
        HTTPError: The status is not valid, or the headers are too long (500).
    """
    if type(result) is dict:  # what most handlers return
        return ResponseEnvelope(200, json_bytes(result), _JSON)
    if result is None:
        return ResponseEnvelope(200, b"")
    if isinstance(result, Response) and not 200 <= result.status <= 999:
        raise HTTPError(f"a handler cannot respond with status {result.status}", status=500)
    if isinstance(result, Response):  # the handler may keep it: without control headers, anew
        given = {
            name: values
            for name, values in result.headers.lists.items()
            if name not in _control_headers.CONTROL and name != "Content-Length"
        }
        check_head("", given, "response", 500)
        return ResponseEnvelope(result.status, result.body, given)
    if isinstance(result, (bytes, bytearray, memoryview)):
        return ResponseEnvelope(200, bytes(result), _BYTES)
    if isinstance(result, str):
        return ResponseEnvelope(200, result.encode(), _TEXT)
    return ResponseEnvelope(200, json_bytes(result), _JSON)
