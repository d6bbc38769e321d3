"""Requests and responses as handlers and callers see them.

In process these objects themselves are delivered: each receiver has its own headers, the bytes of
the body are shared. The receiver sets the verified source from the subject, whatever the headers
say.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from .. import _control_headers
from ._errors import HTTPError
from ._headers import Headers
from ._json import json_value
from ._url import parse_query


class LocalCaller(Protocol):
    """A pending request in this process: it is acknowledged without a message."""

    acked: bool

    def take(self, response: Response) -> None:
        """Take the response, in the handler's thread."""
        ...


class Request:
    """A request as its handler sees it.

    Attributes:
        method: The HTTP method.
        url: The whole URL.
        path: The decoded path.
        query: The query arguments: each name with its list of values.
        headers: The headers.
        body: The body, as bytes.
        arguments: The path arguments by name.
        source: The verified host name of the sender.
        attested: True if the request came from within this process: then the source is stated by
            the sender's connector, not enforced by a broker.
        budget: The time budget in seconds, at arrival.
        caller: The pending request, if the sender is in this process.
    """

    __slots__ = (
        "_query",
        "arguments",
        "attested",
        "body",
        "budget",
        "caller",
        "headers",
        "method",
        "path",
        "source",
        "url",
        "url_query",
    )

    def __init__(
        self,
        method: str,
        url: str,
        *,
        path: str = "/",
        url_query: str = "",
        headers: Headers | None = None,
        body: bytes = b"",
    ) -> None:
        self.method = method
        self.url = url
        self.path = path
        self.url_query = url_query
        self.headers = Headers() if headers is None else headers
        self.body = body
        self.arguments: dict[str, str] = {}
        self.source = ""
        self.attested = False
        self.budget = 0.0
        self.caller: LocalCaller | None = None
        self._query: dict[str, list[str]] | None = None

    @property
    def query(self) -> dict[str, list[str]]:
        """The query arguments: each name with its values in order."""
        if self._query is None:
            self._query = parse_query(self.url_query)
        return self._query

    def json(self) -> Any:
        """Return the body parsed as JSON; None if it is empty.

        Raises:
            HTTPError: The body is not valid JSON (400).
        """
        return _read_json(self.body)

    def received(self) -> Request:
        """Return the request for another receiver: headers of its own, the same body."""
        copy = Request.__new__(Request)
        copy.method, copy.url, copy.path = self.method, self.url, self.path
        copy.url_query, copy.body = self.url_query, self.body
        copy.headers = self.headers.copy()
        copy.arguments, copy.source, copy.attested, copy.budget = {}, self.source, False, 0.0
        copy.caller = self.caller
        copy._query = None
        return copy

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url} source={self.source or 'unverified'}>"


class Response:
    """A response.

    Attributes:
        status: The HTTP status.
        headers: The headers.
        body: The body, as bytes.
        source: The verified host name of the responder.
        error: The ``HTTPError`` if the response is an error. Only responses of ``publish`` have
            one; ``request`` raises it.

    Args:
        status: The HTTP status.
        body: The body; text is encoded as UTF-8.
        headers: The headers.
    """

    __slots__ = ("body", "error", "headers", "source", "status")

    def __init__(
        self,
        status: int = 200,
        body: bytes | str = b"",
        *,
        headers: Headers | dict[str, str] | None = None,
    ) -> None:
        self.status = status
        self.body = body.encode() if isinstance(body, str) else bytes(body)
        self.headers = headers if isinstance(headers, Headers) else Headers(headers or {})
        self.source = ""
        self.error: HTTPError | None = None

    @property
    def id(self) -> str:
        """The id of the responding instance."""
        return self.headers.get(_control_headers.FROM_ID, "")

    @property
    def queue(self) -> str | None:
        """The queue name for which the responder was chosen, or None."""
        return self.headers.get(_control_headers.QUEUE) or None

    @property
    def locality(self) -> str:
        """The locality of the responder, such as ``us-west-b-1``; empty if not announced."""
        return self.headers.get(_control_headers.LOCALITY, "")

    def json(self) -> Any:
        """Return the body parsed as JSON; None if it is empty.

        Raises:
            HTTPError: The body is not valid JSON (400).
        """
        return _read_json(self.body)

    def raise_for_status(self) -> Response:
        """Return the response itself, unless it is an error.

        Raises:
            HTTPError: The response is an error, or its status is 400 or more.
        """
        if self.error is not None:
            raise self.error
        if self.status >= 400:
            raise HTTPError(self.body.decode(errors="replace")[:200], status=self.status)
        return self

    def received(self) -> Response:
        """Return the response for another receiver: headers of its own, the same body."""
        copy = Response.__new__(Response)
        copy.status, copy.body, copy.headers = self.status, self.body, self.headers.copy()
        copy.source, copy.error = self.source, self.error
        return copy

    def __repr__(self) -> str:
        return f"<Response {self.status} source={self.source or 'unset'}, {len(self.body)} bytes>"


Message = Request | Response


def _read_json(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json_value(body)
    except (ValueError, RecursionError) as error:
        raise HTTPError(f"the body is not valid JSON: {error}", status=400) from None


class RequestContext(NamedTuple):
    """Headers, call depth and deadline (on the loop's clock) of the request in progress."""

    headers: Headers
    depth: int
    deadline: float


#: The context of the request that the running task handles, or None.
current_request: ContextVar[RequestContext | None] = ContextVar("subtrie_inbound", default=None)

_FORWARDED = ("Accept-Language", "Microbus-Actor")
_FORWARDED_BY_PREFIX = ("X-Forwarded-", "Microbus-Baggage-")


def forwarded_headers(headers: Headers) -> dict[str, list[str]]:
    """Return the headers that are forwarded to nested calls."""
    return {
        name: values
        for name, values in headers._values.items()
        if name in _FORWARDED or name.startswith(_FORWARDED_BY_PREFIX)
    }
