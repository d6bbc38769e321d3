"""What a handler gets and what a caller gets: a request, a response.

In process these very objects travel: each receiver has its own headers, the body's bytes are
shared. The verified source is set by the receiver, from the subject, whatever the headers say.
"""

from __future__ import annotations

from typing import Any, Protocol

from ... import _control_headers
from .._errors import HTTPError
from .headers import Headers
from .json_codec import json_value
from .url import parse_query


class LocalCaller(Protocol):
    """A caller within this process: it needs no message to be told that it was heard."""

    acked: bool

    def take(self, response: Response) -> None:
        """Takes the answer, in the thread of whoever gives it."""
        ...


class Request:
    """A request as its handler sees it.

    ``method``, ``url``, ``path`` (decoded), ``query`` (name to list of values), ``headers``,
    ``body`` (bytes), ``arguments`` (path arguments by name), ``source`` (the verified host that
    asks), ``attested`` (True where it came from within this process, and the source is the word
    of the connector that sent it, not of a broker), ``budget`` (seconds left when it arrived).
    (``caller`` is the one who waits, where that is within this process: it needs no message to
    be told that it was heard.)
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
        """The arguments of the query, each name with its values in order."""
        if self._query is None:
            self._query = parse_query(self.url_query)
        return self._query

    def json(self) -> Any:
        """The body read as JSON; None where it is empty. Raises ``HTTPError`` 400."""
        return _read_json(self.body)

    def received(self) -> Request:
        """The same request for one more receiver: headers of its own, the same body."""
        made = Request.__new__(Request)
        made.method, made.url, made.path = self.method, self.url, self.path
        made.url_query, made.body = self.url_query, self.body
        made.headers = self.headers.copy()
        made.arguments, made.source, made.attested, made.budget = {}, self.source, False, 0.0
        made.caller = self.caller
        made._query = None
        return made

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url} from {self.source or 'nobody verified'}>"


class Response:
    """An answer: ``status``, ``headers``, ``body``, and who gave it.

    ``source`` is the verified host that answered, ``id`` its instance, ``queue`` the queue it
    answered for (None without one), ``locality`` where it stands (empty where it does not say).
    ``error`` is an ``HTTPError`` where the answer is an error: only what ``publish`` yields can
    have one, ``request`` raises it.
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
        """The instance that answered."""
        return self.headers.get(_control_headers.FROM_ID, "")

    @property
    def queue(self) -> str | None:
        """The queue the answer was given for, or None."""
        return self.headers.get(_control_headers.QUEUE) or None

    @property
    def locality(self) -> str:
        """Where the one who answered stands, as in ``us-west-b-1``; empty where it is not said."""
        return self.headers.get(_control_headers.LOCALITY, "")

    def json(self) -> Any:
        """The body read as JSON; None where it is empty. Raises ``HTTPError`` 400."""
        return _read_json(self.body)

    def raise_for_status(self) -> Response:
        """Raises ``HTTPError`` for an error, or a status of 400 and more; else the response."""
        if self.error is not None:
            raise self.error
        if self.status >= 400:
            raise HTTPError(self.body.decode(errors="replace")[:200], status=self.status)
        return self

    def received(self) -> Response:
        """The same answer for one more receiver: headers of its own, the same body."""
        made = Response.__new__(Response)
        made.status, made.body, made.headers = self.status, self.body, self.headers.copy()
        made.source, made.error = self.source, self.error
        return made

    def __repr__(self) -> str:
        return f"<Response {self.status} from {self.source or 'here'}, {len(self.body)} bytes>"


Message = Request | Response


def _read_json(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json_value(body)
    except (ValueError, RecursionError) as error:
        raise HTTPError(f"the body is no JSON: {error}", status=400) from None
