"""The parser of the NATS protocol: a part of ``_subtrie.pyi``."""

from collections.abc import Callable
from typing import Any, final

from ._core.subject import Dialect

@final
class Parser:
    r"""An incremental parser of one direction of a NATS connection, without input or output.

    Args:
        conn: ``client``, ``server_to_client``, ``route``, ``leaf`` or ``route_legacy``.
        dialect: ``server`` (what nats-server accepts) or ``strict`` (CR LF only).
        max_control_line: The maximum number of bytes of a line.
        max_payload: The maximum number of bytes of a payload; None for no limit.
        pinned_account: The account of a route that carries one account only.
        lnocu: Whether a leaf node connection names the origin of an unsubscription.

    Example:
        >>> [op.subject for op in Parser("client").feed(b"PUB orders.new 2\r\nhi\r\n")]
        ['orders.new']
    """

    def __new__(
        cls,
        conn: str,
        *,
        dialect: Dialect = "server",
        max_control_line: int = 4096,
        max_payload: int | None = 1048576,
        pinned_account: str | None = None,
        lnocu: bool = False,
    ) -> Parser: ...
    @property
    def conn(self) -> str:
        """The kind of connection."""

    @property
    def dialect(self) -> str:
        """``server`` or ``strict``."""

    @property
    def complete(self) -> bool:
        """Whether the parser is between two operations and has met no error."""

    @property
    def offset(self) -> int:
        """The number of bytes of the stream that belong to completed operations."""

    @property
    def held(self) -> int:
        """The number of buffered bytes of an incomplete operation."""

    def feed(self, data: bytes) -> list[Op]:
        """Feed bytes; return the operations they complete.

        Raises:
            WireError: The bytes violate the protocol; ``.operations`` are those completed before.
        """

@final
class DeliveryReader:
    r"""A reader of what a server sends to a client, which composes acknowledgements of requests.

    Example:
        >>> DeliveryReader().feed(b"MSG orders.new 7 2\r\nhi\r\nPI")
        ([(7, 'orders.new', b'hi')], [], b'')
    """

    def __new__(cls) -> DeliveryReader: ...
    def acknowledge(
        self,
        sid: int,
        plane: str,
        host: str,
        whole: tuple[bytes, bytes],
        fragment: tuple[bytes, bytes],
        receiver: Callable[[list[tuple[Any, str, bytes]]], Callable[[], None] | None],
        tag: Any,
    ) -> None:
        """Acknowledge the requests that a subscription receives.

        Args:
            sid: The id of the subscription.
            plane: The plane of the service.
            host: The host of the service.
            whole: The acknowledgement of a whole message, before and after the message id.
            fragment: That of a fragment.
            receiver: Groups the acknowledged messages in what ``feed`` returns.
            tag: The object that stands for the subscription in each message.
        """

    def forget(self, sid: int) -> None:
        """Compose no acknowledgements for a subscription any more."""

    def exclude(self, hosts: list[str]) -> None:
        """Compose no acknowledgements of requests from these hosts."""

    def limit(self, max_payload: int) -> None:
        """Refuse messages of more bytes, including their NATS headers, from now on."""

    def feed(
        self, data: bytes
    ) -> tuple[
        list[Any],
        list[tuple[Callable[[list[tuple[Any, str, bytes]]], None], list[tuple[Any, str, bytes]]]],
        bytes,
    ]:
        """Return what the next bytes complete, and the acknowledgements to be written.

        In order are messages, as tuples of subscription id, subject and payload without headers,
        and other operations, as ``Op``. Messages that are acknowledged are not among them: they
        stand with their receiver, as tuples of tag, subject and payload.

        Raises:
            WireError: The bytes violate the protocol; ``.operations``, ``.groups`` and
                ``.acknowledgements`` are what they completed before.
        """

@final
class Op:
    """One operation of the protocol; an attribute that it does not have is None."""

    @property
    def conn(self) -> str:
        """The kind of connection."""

    @property
    def op(self) -> str:
        """The name of the operation, in upper case."""

    @property
    def account(self) -> str | None:
        """The account, between servers."""

    @property
    def origin(self) -> str | None:
        """The cluster from which a leaf node's operation comes."""

    @property
    def subject(self) -> str | None:
        """The subject or pattern."""

    @property
    def reply(self) -> str | None:
        """The reply subject."""

    @property
    def queue(self) -> str | None:
        """The queue group of a subscription."""

    @property
    def queues(self) -> tuple[str, ...] | None:
        """The queue groups of a routed message."""

    @property
    def sid(self) -> str | None:
        """The subscription id."""

    @property
    def rsid(self) -> str | None:
        """The subscription id on a legacy route, ``RSID:…`` or ``QRSID:…``."""

    @property
    def is_queue(self) -> bool | None:
        """Whether an ``rsid`` is that of a queue subscription."""

    @property
    def cid(self) -> int | None:
        """The client id within an ``rsid``."""

    @property
    def printed_sid(self) -> str | None:
        """The additional subscription id of an UNSUB on a legacy route."""

    @property
    def max(self) -> int | None:
        """The number of messages after which an UNSUB takes effect."""

    @property
    def weight(self) -> int | None:
        """The number of members of a queue group."""

    @property
    def size(self) -> int | None:
        """The size of headers and payload in bytes."""

    @property
    def header_size(self) -> int | None:
        """The size of the headers in bytes."""

    @property
    def payload(self) -> memoryview | None:
        """Headers and payload."""

    @property
    def header(self) -> memoryview | None:
        """The bytes of the headers."""

    @property
    def body(self) -> memoryview | None:
        """The payload without headers."""

    @property
    def status(self) -> str | None:
        """The status in the first line of the headers."""

    @property
    def description(self) -> str | None:
        """The text after the status."""

    @property
    def headers(self) -> tuple[tuple[str, str], ...] | None:
        """The headers as pairs of name and value."""

    @property
    def json(self) -> Any:
        """The options of INFO or CONNECT."""

    @property
    def message(self) -> str | None:
        """The text of -ERR."""

    @property
    def raw(self) -> bytes:
        """The bytes as read."""

    @property
    def offset(self) -> int:
        """The offset of the operation in the stream."""

    def as_dict(self) -> dict[str, Any]:
        """Return the operation in the form of the conformance vectors."""

    def __bytes__(self) -> bytes:
        """Return the canonical form."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
