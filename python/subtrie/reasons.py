"""Every reason for which an input is refused: the code, the sentence, the hint, the HTTP status.

One table for both engines and for the docs. A sentence is filled with what was refused: ``{value}``
(shortened, quoted), ``{field}`` (the argument). Codes are stable: code may branch on them.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """One rule that can refuse an input."""

    sentence: str
    hint: str
    status: int = 400


GRAMMAR: dict[str, Reason] = {
    "empty": Reason("it is empty", "a subject has at least one token"),
    "empty-token": Reason("a token is empty", "remove the leading, trailing or double dot"),
    "whitespace": Reason("it holds whitespace", "subjects hold no blank of any kind"),
    "control": Reason(
        "it holds a control character", "use printable characters, or dialect='server'"
    ),
    "non-ascii": Reason(
        "it holds a character beyond ASCII",
        "percent-encode it, or use dialect='server', which gives no guarantees",
    ),
    "surrogate": Reason(
        "it holds a lone surrogate, which no UTF-8 can carry",
        "decode the bytes it came from properly",
    ),
    "partial-wildcard": Reason(
        "a wildcard is part of a longer token",
        "a wildcard stands alone between dots; dialect='server' takes it as text",
    ),
    "wildcard": Reason(
        "it holds a wildcard token, and a subject is concrete",
        "use Pattern for what is subscribed to",
    ),
    "tail-not-last": Reason(
        "'>' is not the last token", "use '*' for a single token in the middle"
    ),
    "too-long": Reason("it is too long", "1,024 bytes in strict, 4,096 in server", 414),
    "too-many-tokens": Reason("it has too many tokens", "64 in strict", 414),
}

INDEX: dict[str, Reason] = {
    "queue-empty": Reason("a queue name is never empty", "leave it out for no queue"),
    "queue-whitespace": Reason(
        "a queue name holds no whitespace", "on the wire a blank would end the name"
    ),
    "queue-wildcard": Reason(
        "a queue name holds no wildcard token", "'*' and '>' stand for nothing here"
    ),
    "index-full": Reason("the index is full", "spread the patterns over several indexes", 507),
}

IMAGE: dict[str, Reason] = {
    "image-magic": Reason(
        "they do not begin as an image does", "give what SubjectTrie.to_bytes returned"
    ),
    "image-version": Reason(
        "the format has another version", "write the image with this version of subtrie"
    ),
    "image-length": Reason(
        "there are too few or too many of them", "give the whole image and nothing else"
    ),
    "image-header": Reason("the header is damaged", "write the image again"),
    "image-checksum": Reason("the content is not what was written", "write the image again"),
    "image-damaged": Reason("the content contradicts itself", "write the image again"),
}

MICROBUS: dict[str, Reason] = {
    "plane": Reason(
        "a plane is one or more ASCII letters and digits", "use a name such as 'microbus'"
    ),
    "trust": Reason(
        "trust is 'danger' for port 666 and 'safe' for every other", "leave it to the encoder"
    ),
    "port": Reason(
        "a port is written in digits, without sign or leading zero", "use 0 to 65535, as in 443"
    ),
    "port-range": Reason("the port is out of range", "ports go from 0 to 65535"),
    "host-empty": Reason("a host is empty", "name the host, as in 'payments.core'"),
    "host-length": Reason("the host is too long", "at most 252 characters"),
    "host-character": Reason(
        "the host holds a character that no URL host may hold",
        "use letters, digits, '-' and '.'",
    ),
    "identity": Reason(
        "it holds a character that no service identity may hold",
        "use lower-case letters, digits and '-' between dots",
    ),
    "empty-label": Reason(
        "a label of the host is empty", "remove the leading, trailing or double dot"
    ),
    "reserved": Reason(
        "the host is reserved: 'id-…', 'loc-…', 'all' and '….all' name no service",
        "choose another name",
    ),
    "stacked": Reason(
        "a second 'id-' or 'loc-' label follows the first", "address one slot at a time"
    ),
    "slot": Reason(
        "a slot is 'id-' with letters and digits, or 'loc-' with parts joined by '-'",
        "as in 'id-k3x9' or 'loc-us-west'; leave it empty for the bare position",
    ),
    "method": Reason(
        "the method is unknown",
        "use GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE or PATCH",
        405,
    ),
    "method-any": Reason(
        "ANY is for subscriptions only", "publish with the method that is meant", 405
    ),
    "argument": Reason(
        "a path argument does not fill its whole part of the path", "write '/{name}/'"
    ),
    "argument-name": Reason(
        "the name of a path argument is no identifier",
        "begin with a lower-case letter, go on with letters and digits",
    ),
    "greedy": Reason(
        "a greedy path argument is not the last part of the path", "move '{name...}' to the end"
    ),
    "locality": Reason(
        "a locality is made of lower-case letters and digits joined by '-'",
        "write 'us-west-b-1', or '1.b.west.us'",
    ),
    "url-host": Reason("the URL names no host", "write 'https://host/path'"),
    "url-control": Reason("the URL holds a control character", "percent-encode it"),
    "url-backtick": Reason("the URL holds a backtick", "percent-encode it"),
    "url-escape": Reason(
        "a percent sign begins no valid escape", "write '%25' for a percent sign itself"
    ),
    "url-user": Reason("the user part of the URL holds a stray character", "leave it out"),
    "url-address": Reason(
        "square brackets enclose an IPv6 address, at the start of the host", "as in '[::1]'"
    ),
    "too-few-tokens": Reason(
        "it has too few tokens", "a request has eight or more, a reply has six"
    ),
    "reply-tokens": Reason(
        "a reply has exactly six tokens", "<plane>.reply._.<source>.<host>.<id>"
    ),
    "reply-port": Reason("the port token of a reply is '_'", "a reply has no port"),
    "reply-subscription": Reason(
        "it is the pattern of a reply, which has neither port nor path",
        "only patterns of requests decode",
    ),
    "subscription-source": Reason(
        "the source token of a subscription is '*'", "who may send is a matter of permissions"
    ),
    "escape": Reason(
        "'%' is not followed by two lower-case hexadecimal digits", "encode with subtrie.microbus"
    ),
    "not-canonical": Reason(
        "it is not the one spelling of what it stands for", "encode with subtrie.microbus"
    ),
    "placeholder": Reason("'_' alone stands for nothing here", "it is no host"),
    "utf8": Reason("its bytes are no UTF-8", "use text"),
}

#: The areas, as the docs show them.
AREAS: dict[str, dict[str, Reason]] = {
    "Subjects and patterns": GRAMMAR,
    "Microbus addresses": MICROBUS,
    "Index": INDEX,
    "Images of an index": IMAGE,
}

#: Every reason by its code.
REASONS: dict[str, Reason] = {code: rule for area in AREAS.values() for code, rule in area.items()}
