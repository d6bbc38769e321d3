"""Requests and responses as handlers and callers see them, and the envelopes they travel in.

``Request`` and ``Response`` are the public half; the connector itself makes ``RequestEnvelope`` and
``ResponseEnvelope``, which add what a message needs on its way. In process these objects themselves
are delivered: each receiver has its own headers, the bytes of the body are shared. Their headers
are written when they are first read. The receiver sets the verified source from the subject,
whatever the headers say.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from .. import _control_headers
from ._errors import HTTPError
from ._headers import Headers, HeaderValues
from ._json import json_value
from ._url import parse_query

if TYPE_CHECKING:
    from ._runtime import Runtime

_NO_VALUES: HeaderValues = {}


class Limit(Protocol):
    """A deadline of a running handler: of its own, or that of a caller on the same loop."""

    def stop(self) -> None:
        """Cancel the deadline: the handler is done."""
        ...

    def passed(self) -> bool:
        """Return whether the deadline alone cancelled the handler; takes the cancellation back."""
        ...


class _WithHeaders:
    """A message whose headers are written when they are first read."""

    __slots__ = ("_headers",)

    _headers: Headers | None

    @property
    def headers(self) -> Headers:
        """The headers."""
        headers = self._headers
        if headers is None:
            headers = self._headers = self._written_headers()
        return headers

    @headers.setter
    def headers(self, headers: Headers) -> None:
        self._headers = headers

    def _written_headers(self) -> Headers:
        return Headers()


class Request(_WithHeaders):
    """A request as its handler sees it.

    Attributes:
        method: The HTTP method.
        url: The whole URL.
        path: The decoded path.
        url_query: The query of the URL, as text.
        body: The body, as bytes.
        arguments: The path arguments by name.
        source: The verified host name of the sender.
        attested: True if the request came from within this process: then the source is stated by
            the sender's connector, not enforced by a broker.
        budget: The time budget in seconds, at arrival.
        actor: The claims of the verified actor token, or None.
    """

    __slots__ = (
        "_query",
        "actor",
        "arguments",
        "attested",
        "body",
        "budget",
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
        self.body = body
        self.arguments: dict[str, str] = {}
        self.source = ""
        self.attested = False
        self.budget = 0.0
        self.actor: dict[str, Any] | None = None
        self._headers = headers
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

    def received(self) -> RequestEnvelope:
        """Return the request for another receiver: headers of its own, the same body."""
        copy = RequestEnvelope(self.method, self.url, self.path, self.url_query, self.body)
        copy.headers, copy.source = self.headers.copy(), self.source
        return copy

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url} source={self.source or 'unverified'}>"


class RequestEnvelope(Request):
    """A request on its way.

    Attributes:
        sender: The runtime of the sender, if the headers are not written yet.
        given: The headers that the sender gave; never modified.
        message_id: The id by which the response is matched.
        depth: The number of calls in the chain.
        caller: The pending request, if the sender is in this process.
        deadline: When the handler must be done, on the clock of its loop.
        limit: The deadline that is armed, or None.
        task: The task of the handler, if it runs over more than one turn of the loop.
        expects: The host that must respond; empty for any.
    """

    __slots__ = (
        "caller",
        "deadline",
        "depth",
        "expects",
        "given",
        "limit",
        "message_id",
        "sender",
        "task",
    )

    def __init__(
        self,
        method: str,
        url: str,
        path: str,
        url_query: str,
        body: bytes,
        given: HeaderValues = _NO_VALUES,
        sender: Runtime | None = None,
        budget: float = 0.0,
        depth: int = 0,
        message_id: str = "",
    ) -> None:
        # The slots of ``Request``, without the cost of a second call.
        self.method, self.url, self.path, self.url_query = method, url, path, url_query
        self.body, self.budget, self.depth, self.message_id = body, budget, depth, message_id
        self.arguments = {}
        self.source = "" if sender is None else sender.host
        self.attested = False
        self.actor = self._headers = self._query = None
        self.given, self.sender = given, sender
        self.caller: LocalCaller | None = None
        self.deadline = 0.0
        self.expects = ""
        self.limit: Limit | None = None
        self.task: asyncio.Task[None] | None = None

    def again(self, url: str, budget: float) -> RequestEnvelope:
        """Return a request to be sent once more, to another URL of the same path.

        Args:
            url: The URL.
            budget: The time that is left, in seconds.
        """
        again = RequestEnvelope(
            self.method, url, self.path, self.url_query, self.body, self.given, self.sender, budget,
            self.depth,
        )  # fmt: skip
        again.expects = self.expects
        return again

    def _written_headers(self) -> Headers:
        values = self.given.copy()
        if self.sender is not None:
            values |= self.sender.sender_headers(_control_headers.REQUEST)
            values[_control_headers.CALL_DEPTH] = [str(self.depth)]
            values[_control_headers.TIME_BUDGET] = [_control_headers.duration(self.budget)]
            values[_control_headers.MSG_ID] = [self.identified()]
        return Headers.of(values)

    def identified(self) -> str:
        """Return the message id; one that stays in this process has none until it is read."""
        if not self.message_id and self.sender is not None:
            self.message_id = self.sender.ids.message()
        return self.message_id

    def header(self, name: str) -> str:
        """Return the first value of a header that the sender gave; empty if there is none.

        The headers are not written for it.

        Args:
            name: The name in canonical form.
        """
        values = self.given if self._headers is None else self._headers.lists
        several = values.get(name)
        return several[0] if several else ""

    def received(self) -> RequestEnvelope:
        """Return the request for another receiver: headers of its own, the same body."""
        copy = super().received()
        copy.budget, copy.depth, copy.message_id = self.budget, self.depth, self.message_id
        copy.caller = self.caller
        return copy


class LocalCaller(Protocol):
    """A pending request in this process: it is acknowledged without a message."""

    acked: bool
    loop: Any

    def take(self, response: ResponseEnvelope) -> None:
        """Take the response, in the handler's thread."""
        ...

    def limit(self, task: Any, deadline: float) -> Limit:
        """Cancel a handler on the caller's own loop at a time on its clock."""
        ...


class Response(_WithHeaders):
    """A response.

    Attributes:
        status: The HTTP status.
        body: The body, as bytes.
        source: The verified host name of the responder.
        error: The ``HTTPError`` if the response is an error. Only responses of ``publish`` have
            one; ``request`` raises it.

    Args:
        status: The HTTP status.
        body: The body; text is encoded as UTF-8.
        headers: The headers.
    """

    __slots__ = ("body", "error", "source", "status")

    def __init__(
        self,
        status: int = 200,
        body: bytes | str = b"",
        *,
        headers: Headers | dict[str, str] | None = None,
    ) -> None:
        self.status = status
        self.body = body.encode() if isinstance(body, str) else bytes(body)
        self.source = ""
        self.error: HTTPError | None = None
        self._headers = (
            headers if isinstance(headers, Headers) else Headers(headers) if headers else None
        )

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

    @property
    def text(self) -> str:
        """The body as text, in UTF-8."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body parsed as JSON; None if it is empty.

        Raises:
            HTTPError: The body is not valid JSON (502): the responder is to blame, not the caller.
        """
        return _read_json(self.body, 502)

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

    def received(self) -> ResponseEnvelope:
        """Return the response for another receiver: headers of its own, the same body."""
        copy = ResponseEnvelope(self.status, self.body)
        copy.headers, copy.source, copy.error = self.headers.copy(), self.source, self.error
        return copy

    def __repr__(self) -> str:
        return f"<Response {self.status} source={self.source or 'unset'}, {len(self.body)} bytes>"


class ResponseEnvelope(Response):
    """A response or an acknowledgement on its way.

    Attributes:
        op: The operation code.
        message_id: The id of the request, once it was received.
        request: The request, on the side of the responder.
        given: The headers that the handler gave; never modified.
        sender: The runtime of the responder, if the headers are not written yet.
        group: The queue name of the endpoint, or None.
    """

    __slots__ = ("given", "group", "message_id", "op", "request", "sender")

    def __init__(self, status: int, body: bytes, given: HeaderValues = _NO_VALUES) -> None:
        self.status, self.body, self.given = status, body, given
        self.source = self.op = self.message_id = ""
        self.error = self._headers = None
        self.sender: Runtime | None = None
        self.request: RequestEnvelope | None = None
        self.group: str | None = None

    def sealed(
        self, op: str, sender: Runtime, group: str | None, request: RequestEnvelope
    ) -> ResponseEnvelope:
        """Say who responds to which request; returns the response itself.

        Args:
            op: The operation code.
            sender: The responder.
            group: The queue name of the endpoint, or None.
            request: The request.
        """
        self.op, self.sender, self.group, self.request = op, sender, group, request
        self.source = sender.host
        return self

    def _written_headers(self) -> Headers:
        values = self.given.copy()
        if self.sender is not None:
            values |= self.sender.sender_headers(self.op, self.group)
            assert self.request is not None
            values[_control_headers.MSG_ID] = [self.request.identified()]
        return Headers.of(values)

    @property
    def id(self) -> str:
        """The id of the responding instance."""
        if self._headers is None and self.sender is not None:
            return self.sender.id
        return super().id

    @property
    def locality(self) -> str:
        """The locality of the responder, such as ``us-west-b-1``; empty if not announced."""
        if self._headers is None and self.sender is not None:
            return self.sender.locality
        return super().locality

    def received(self) -> ResponseEnvelope:
        """Return the response for another receiver: headers of its own, the same body."""
        copy = super().received()
        copy.op, copy.message_id = self.op, self.message_id
        return copy


Message = Request | Response

#: The request that the running task handles, or None: its own calls inherit from it.
current_request: ContextVar[RequestEnvelope | None] = ContextVar("subtrie_inbound", default=None)

#: With a tracer provider, the client writes the trace context of the current span instead.
_FORWARDED = ("Accept-Language", "Microbus-Actor", "Traceparent", "Tracestate")
_FORWARDED_BY_PREFIX = ("X-Forwarded-", "Microbus-Baggage-")


def forwarded_headers(request: RequestEnvelope) -> HeaderValues:
    """Return the headers that are forwarded to nested calls."""
    written = request._headers
    values = request.given if written is None else written.lists
    return {
        name: each
        for name, each in values.items()
        if name in _FORWARDED or name.startswith(_FORWARDED_BY_PREFIX)
    }


def _read_json(body: bytes, status: int = 400) -> Any:
    if not body:
        return None
    try:
        return json_value(body)
    except (ValueError, RecursionError) as error:
        raise HTTPError(f"the body is not valid JSON: {error}", status=status) from None
