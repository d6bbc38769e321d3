"""Requests and responses as handlers and callers see them.

The connector makes envelopes, which add what a message needs on its way. Their headers are written
when they are first read. The receiver sets the verified source from the subject, whatever the
headers say.
"""

from __future__ import annotations

from typing import Any

from .._core import control_headers
from ._errors import HTTPError
from ._for_clients import best_language, external_url
from ._headers import Headers, HeaderValues
from ._json import json_value
from ._url import parse_query


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

    def _header_lists(self) -> HeaderValues:
        """Return the values to be sent by name; a message that waits for its answer keeps none."""
        headers = self._headers
        return self._written_headers().lists if headers is None else headers.lists

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

    def external_url(self, url: str) -> str:
        """Return a URL of the bus as the client of an ingress reaches it.

        ``/order/7`` of ``shop.example`` becomes ``https://www.example.com/shop.example/order/7``,
        from the headers ``X-Forwarded-…`` that the ingress set; without them, the path alone.

        Args:
            url: The URL, or a path of the host that was asked; a relative path stays as it is.
        """
        return external_url(self.headers, self.url, url)

    def language(self, *offered: str) -> str:
        """Return which language the client prefers, by ``Accept-Language``.

        Args:
            offered: The languages, such as ``en`` and ``fr-CA``; the first one is returned if the
                client wants another or says nothing.

        Raises:
            TypeError: No language is offered.
        """
        if not offered:
            raise TypeError("language() needs the languages to choose from, such as 'en', 'de'")
        return best_language(self.headers.get("Accept-Language", ""), offered)

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url} source={self.source or 'unverified'}>"


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
        return self.headers.get(control_headers.FROM_ID, "")

    @property
    def queue(self) -> str | None:
        """The queue name for which the responder was chosen, or None."""
        return self.headers.get(control_headers.QUEUE) or None

    @property
    def locality(self) -> str:
        """The locality of the responder, such as ``us-west-b-1``; empty if not announced."""
        return self.headers.get(control_headers.LOCALITY, "")

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

    def __repr__(self) -> str:
        return f"<Response {self.status} source={self.source or 'unset'}, {len(self.body)} bytes>"


Message = Request | Response


def _read_json(body: bytes, status: int = 400) -> Any:
    if not body:
        return None
    try:
        return json_value(body)
    except (ValueError, RecursionError) as error:
        raise HTTPError(f"the body is not valid JSON: {error}", status=status) from None
