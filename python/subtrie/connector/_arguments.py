"""The arguments of a function: how they are read from a request, and written to one.

Arguments travel by name. Methods with a body carry them in one JSON object, GET, DELETE, HEAD,
OPTIONS and TRACE in the query, and each may be in the path. If a name is given in several places,
the body wins over the path, and the query over the body. A parameter ``http_request_body`` is the
whole body; then the others are in path and query. What is absent or ``null`` is the declared
default, else the zero of the type, because Go does not send zeros; ``Annotated[int, REQUIRED]``
must be given.
"""

# A80

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._core.errors import refusal
from ._conversion.compile import converter_of, is_required
from ._conversion.converter import (
    Branch,
    Conversion,
    Converter,
    Misfit,
    Text,
    TooLong,
    Unconvertible,
    shown,
)
from ._conversion.query import merged, tree
from ._conversion.writing import deep_object, text_of
from ._errors import HTTPError
from ._message import Request
from ._url import parse_query

_UNANNOTATED: Any = inspect.Parameter.empty
_NOTHING: Any = object()

#: The name of the parameter, and of the member of a result, that is the whole body.
REQUEST_BODY = "http_request_body"
#: The methods whose requests have no body: their arguments are in the query.
WITHOUT_BODY = frozenset(("GET", "DELETE", "HEAD", "OPTIONS", "TRACE"))
_FORM = "application/x-www-form-urlencoded"


class Argument:
    """One argument of a function.

    Attributes:
        name: The name of the parameter.
        key: The name by which it travels: that of the path argument, or without a last ``_``.
        names: All names by which it is read.
        converter: The converter of its type.
        exact: The JSON type whose values need not be converted.
        default: The declared default, or ``inspect.Parameter.empty``.
        required: Whether it is marked as required.
        in_path: Whether it is a path argument.
    """

    def __init__(
        self, parameter: inspect.Parameter, annotation: Any, in_path: str | None, names: Any
    ) -> None:
        self.name = parameter.name
        self.key = in_path or parameter.name.rstrip("_") or parameter.name
        self.names = tuple(dict.fromkeys((self.key, self.name)))
        self.converter: Converter = converter_of(annotation, names)
        self.exact = self.converter.exact
        self.default = parameter.default
        self.required = is_required(annotation)
        self.in_path = in_path is not None

    def value(self, given: Any, conversion: Conversion) -> Any:
        """Return the argument for what was given.

        Args:
            given: A JSON value, a text or an object of a query, or nothing.
            conversion: The conversion.

        Raises:
            HTTPError: It does not fit, or is missing (400).
        """
        converter = self.converter
        if given is _NOTHING or converter.lacks(given):
            if self.required:
                raise HTTPError(f"argument {self.name!r} is missing", status=400)
            if self.default is not _UNANNOTATED:
                return self.default
            try:
                return converter.zero()
            except Misfit as error:
                raise HTTPError(f"argument {self.name!r} {error.message}", status=400) from None
        try:
            return converter.read(given, conversion)
        except Misfit as error:
            raise HTTPError(error.described(self.name), status=400) from None
        except TooLong as error:
            raise HTTPError(f"{self.name!r} is too long: {error}", status=400) from None
        except RecursionError:
            raise HTTPError(f"{self.name!r} is nested too deeply", status=400) from None


class CallParts(NamedTuple):
    """The parts of a typed call: parameters of the URL, and the options of the body."""

    params: list[tuple[str, str]]
    body: dict[str, Any]


class Arguments:
    """The arguments of a function, as its signature declares them.

    Args:
        function: The function.
        hints: Its type hints, with their metadata.
        path_names: The names of the path arguments.
        names: Local names that annotations of fields may mention.
        reason: The reason of the error for a parameter that has no place in a request.

    Attributes:
        named: The arguments that travel by name.
        body: The argument that is the whole body, or None.

    Raises:
        BusError: A parameter cannot be filled from a request.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        hints: Mapping[str, Any],
        path_names: Sequence[str],
        *,
        names: dict[str, Any] | None = None,
        reason: str = "endpoint",
    ) -> None:
        self.named: list[Argument] = []
        self.body: Argument | None = None
        self._requests: list[str] = []
        self._order: list[tuple[str, bool, int]] = []  # name, keyword only, place; -1: the request
        for parameter in inspect.signature(function).parameters.values():
            name = parameter.name
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise refusal("BusError", reason, str(parameter), field="parameter")
            annotation = hints.get(name, _UNANNOTATED)
            annotation = _UNANNOTATED if isinstance(annotation, str) else annotation
            keyword = parameter.kind is parameter.KEYWORD_ONLY
            if reason == "endpoint" and takes_request(name, hints):
                self._order.append((name, keyword, -1))
                continue
            in_path = next((each for each in path_names if _same_name(each, name)), None)
            try:
                made = Argument(parameter, annotation, in_path, names)
            except Unconvertible as error:
                told = f"{name}: {error}"
                raise refusal("BusError", "annotation", told, field="parameter") from None
            if name == REQUEST_BODY:
                self.body, self._kind = made, annotation
                self._order.append((name, keyword, -2))
            else:
                self._order.append((name, keyword, len(self.named)))
                self.named.append(made)
        self._names = frozenset(name for each in self.named for name in each.names)
        self._takes_request = any(place == -1 for _, _, place in self._order)
        self._keyword = any(keyword for _, keyword, _ in self._order)
        self._places = [place for _, _, place in self._order]

    # --- reading

    def binder(self) -> Callable[[Request, Callable[..., Any]], Any]:
        """Return a function that calls a handler with its arguments for a request."""
        # Written out for the usual handlers: a list costs more than the calls.
        if self._places == [-1] and not self._keyword:
            return lambda request, call: call(request)
        if not self._order:
            return lambda request, call: call()
        named, places, body = self.named, self._places, self.body
        if self._keyword:
            return self._call_by_name

        def bind(request: Request, call: Callable[..., Any]) -> Any:
            given = self._given(request) if named else ()
            return call(
                *[
                    given[place] if place >= 0 else request if place == -1 else self._whole(request)
                    for place in places
                ]
            )

        if body is None and places == list(range(len(named))):
            return lambda request, call: call(*self._given(request))
        return bind

    def _call_by_name(self, request: Request, call: Callable[..., Any]) -> Any:
        given = self._given(request) if self.named else []
        positional, named = [], {}
        for name, keyword, place in self._order:
            value = given[place] if place >= 0 else request
            if place == -2:
                value = self._whole(request)
            if keyword:
                named[name] = value
            else:
                positional.append(value)
        return call(*positional, **named)

    def _given(self, request: Request) -> list[Any]:
        """Return the arguments that travel by name, in the order of the parameters."""
        body: dict[str, Any] = {}
        if request.body and self.body is None:
            body = self._body(request)
        query: dict[str, Any] = {}
        if request.url_query:
            try:
                query = tree(request.query)
            except ValueError as error:
                raise HTTPError(str(error), status=400) from None
        path, conversion = request.arguments, None
        found: list[Any] = []
        if body and self._names.isdisjoint(body):
            self._refuse_other_shape(body, query)
        for argument in self.named:
            given: Any = _NOTHING
            for name in argument.names:
                if name in body:
                    given = body[name]
                if name in query:
                    given = merged(given, query[name])
                if given is not _NOTHING:
                    break
            if argument.in_path and (given is _NOTHING or given is None):
                given = path.get(argument.key) or _NOTHING
                if given is not _NOTHING:
                    if (
                        argument.exact is int
                        and given.isascii()
                        and given.isdigit()
                        and len(given) < 19
                    ):
                        found.append(int(given))
                        continue
                    if argument.exact is not str:
                        given = Text(given)
            if type(given) is argument.exact:
                found.append(given)
                continue
            conversion = conversion or Conversion()
            found.append(argument.value(given, conversion))
        return found

    def _body(self, request: Request) -> dict[str, Any]:
        """Return the members of the body: a JSON object, or a form."""
        if not request.body.startswith(b"{"):
            kind = _content_type(request)
            if kind == _FORM:
                return _form(request)
            if self._takes_request and kind != "application/json":
                return {}  # the handler reads it
        try:
            value = request.json()
        except HTTPError:
            if self._takes_request and _content_type(request) != "application/json":
                return {}
            raise
        if value is None:
            return {}
        if type(value) is not dict:
            raise HTTPError(
                f"the body is {shown(value)}, not an object of the arguments: {self._shape()}",
                status=400,
            )
        return value

    def _shape(self) -> str:
        """Return the shape of a body, for an error."""
        names = ", ".join(f'"{each.key}": …' for each in self.named)
        return "{" + names + "}"

    def _refuse_other_shape(self, body: dict[str, Any], query: dict[str, Any]) -> None:
        """Refuse a body of none of the arguments that has the members of one of them."""
        for argument in self.named:
            if argument.in_path or argument.key in query:
                continue
            members = argument.converter.members
            if argument.converter.is_open or (members and not members.isdisjoint(body)):
                raise HTTPError(
                    f"the body is {shown(body)}, the members of the argument {argument.name!r} "
                    f"itself; arguments travel by name: {self._shape()}. A parameter "
                    f"{REQUEST_BODY} takes the whole body",
                    status=400,
                )

    def _whole(self, request: Request) -> Any:
        """Return the argument that is the whole body."""
        argument = self.body
        assert argument is not None
        if self._kind is bytes:
            return request.body
        if not request.body:
            return argument.value(_NOTHING, Conversion())
        kind = _content_type(request)
        if kind == _FORM:
            return argument.value(_form(request), Conversion())
        if self._kind is str and kind != "application/json":
            return request.body.decode("utf-8", "replace")
        return argument.value(request.json(), Conversion())

    # --- writing

    def sent(self, method: str, values: Mapping[str, Any]) -> CallParts:
        """Return how a typed client sends its arguments.

        Args:
            method: The HTTP method.
            values: The arguments by the name of the parameter.

        Raises:
            TypeError: An argument cannot be represented in JSON.
            ValueError: An argument cannot: a number that is not finite, a time without a zone.
        """
        in_query = self.body is not None or method in WITHOUT_BODY
        params: list[tuple[str, str]] = []
        members: dict[str, Any] = {}
        for argument in self.named:
            value = values[argument.name]
            if argument.in_path:
                params.append((argument.key, "" if value is None else text_of(value)))
            elif not in_query:
                members[argument.key] = value
            elif type(value) is str or type(value) is int:
                params.append((argument.key, str(value)))
            elif value is not None or argument.default is not None:
                params.extend(deep_object(argument.key, value))
        if self.body is None:
            has_body = not in_query and any(not each.in_path for each in self.named)
            return CallParts(params, {"json": members} if has_body else {})
        value = values[REQUEST_BODY]
        if self._kind is bytes or isinstance(value, bytes):
            return CallParts(params, {"body": value})
        return CallParts(params, {"json": value})

    # --- describing

    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the body: the object of the arguments; None if it has none."""
        if self.body is not None:
            return None if self._kind is bytes else self.body.converter.schema(0)
        inside = [each for each in self.named if not each.in_path]
        if not inside:
            return None
        properties = {each.key: each.converter.schema(1) for each in inside}
        needed = [each.key for each in inside if each.required]
        found: dict[str, Any] = {"type": "object", "properties": properties}
        return found | {"required": needed} if needed else found


def _content_type(request: Request) -> str:
    """Return the media type of the body, without its parameters."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _form(request: Request) -> Branch:
    """Return the arguments of a form."""
    try:
        return Branch(tree(parse_query(request.body.decode())))
    except ValueError as error:
        raise HTTPError(f"the form is not valid: {error}", status=400) from None


def takes_request(name: str, hints: Mapping[str, Any]) -> bool:
    """Return whether a parameter is the request itself.

    Args:
        name: Its name.
        hints: The type hints of its function.
    """
    return hints.get(name) is Request or (name == "request" and name not in hints)


def takes_request_only(handler: Callable[..., Any], hints: Mapping[str, Any]) -> bool:
    """Return whether the request itself is the one parameter of a handler.

    Args:
        handler: The function.
        hints: Its type hints.
    """
    names = list(inspect.signature(handler).parameters)
    return len(names) == 1 and takes_request(names[0], hints)


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
    if any(takes_request(name, hints) for name in names):
        return
    for each in path_names:
        unnamed = each.startswith("path") and each[4:].isdigit()
        if not unnamed and not any(_same_name(each, name) for name in names):
            raise refusal("BusError", "path-argument", each, field="route")


def _same_name(in_path: str, parameter: str) -> bool:
    """Return whether a path argument fits a parameter: ``orderId`` and ``order_id`` do."""
    unconverted = parameter.rstrip("_")
    return (
        in_path in (parameter, unconverted)
        or in_path.lower() == unconverted.replace("_", "").lower()
    )
