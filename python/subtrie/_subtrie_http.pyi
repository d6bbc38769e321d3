"""HTTP messages in payloads: a part of ``_subtrie.pyi``."""

def read_http_request(data: bytes) -> tuple[str, str, dict[str, list[str]], bytes] | None:
    """Return method, target, headers and body of a request; None if it is not plain.

    A plain request is a whole message of HTTP/1.1 that every strict parser reads in the same way:
    one of the nine methods except CONNECT, an ASCII target, one ``Host``, a body of the length in
    ``Content-Length`` (none without it), no ``Transfer-Encoding`` or ``Upgrade``, lines that end
    with CR LF, at most 96 headers and 64 KiB of head. A complete parser, ``h11``, decides about any
    other. The reference engine returns None.

    Args:
        data: The bytes of one message.

    Returns:
        The headers by canonical name, each with its values in order: UTF-8, or Latin-1 if a value
        is not UTF-8.
    """

def read_http_response(data: bytes) -> tuple[int, dict[str, list[str]], bytes] | None:
    """Return status, headers and body of a response to any request but HEAD; None if not plain.

    Plain is defined as in ``read_http_request``; the status is not 101, and a body without
    ``Content-Length`` is all that follows.
    """

def write_http_request(method: str, url: str, headers: dict[str, list[str]], body: bytes) -> bytes:
    """Return the bytes of a request, line for line as Go writes it.

    Args:
        method: The method in upper case.
        url: The URL with its port; its authority is written as ``Host``.
        headers: Valid values by canonical name. ``Host``, ``Content-Length``,
            ``Transfer-Encoding`` and ``Trailer`` are left out.
        body: The body.
    """

def write_http_response(
    status: int, phrase: str, headers: dict[str, list[str]], body: bytes
) -> bytes:
    """Return the bytes of a response, line for line as Go writes it.

    Args:
        status: The status; 1xx, 204 and 304 have no body.
        phrase: The reason phrase.
        headers: As in ``write_http_request``, with ``Host`` and ``User-Agent`` written.
        body: The body.
    """
