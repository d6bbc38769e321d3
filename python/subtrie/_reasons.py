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

NAMES: dict[str, Reason] = {
    "name-empty": Reason("it is empty", "a name has at least one character"),
    "name-character": Reason(
        "it holds a character that this kind of name may not hold", "see the rule that failed"
    ),
    "name-single": Reason("more than one character", "this production is a single character"),
    "name-too-long": Reason("it is too long", "at most 255 characters", 414),
    "name-empty-token": Reason(
        "a part between dots is empty", "remove the leading, trailing or double dot"
    ),
    "name-wildcard": Reason("it holds a wildcard token", "wildcards stand in patterns only"),
    "name-tail-not-last": Reason(
        "'>' is not the last token", "use '*' for a single token in the middle"
    ),
    "name-no-dollar": Reason("an internal prefix begins with a dollar sign", "as in '$JS.API.'"),
    "name-no-final-dot": Reason("a prefix ends in a dot", "as in 'orders.'"),
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

WIRE: dict[str, Reason] = {
    "parse": Reason("the bytes are no operation of this connection", "see `.cause`"),
    "unknown op": Reason("no operation of this connection has this name", "check `conn`"),
    "no delimiter": Reason(
        "a blank separates the name of an operation from its arguments", "as in 'SUB foo 1'"
    ),
    "arg count": Reason("the line has too few or too many arguments", "see docs/wire.md"),
    "bad size": Reason("a size is written in one to nine digits", "as in 'PUB foo 5'"),
    "bad sid": Reason("the id of a subscription is a number here", "as in 'MSG foo 1 5'"),
    "header larger than total": Reason(
        "the header size is larger than the total size", "the total counts the headers too"
    ),
    "bad reply indicator": Reason(
        "'+' or '|' stands before the queue names of a routed message",
        "'+' announces a reply subject and queues, '|' queues alone",
    ),
    "payload terminator": Reason(
        "CR LF does not follow the payload", "the size counts the payload without its CR LF"
    ),
    "bad json": Reason(
        "the options are not one JSON object with each name once", "as in 'CONNECT {}'"
    ),
    "max control line": Reason(
        "the line is longer than max_control_line", "4,096 bytes, 65,536 between servers", 414
    ),
    "max payload": Reason("the payload is larger than max_payload", "raise max_payload", 413),
    "monitor": Reason(
        "it is neither /connz nor /subsz nor /routez", "save the answer as the server gave it"
    ),
    "bad message": Reason(
        "the bytes are no such protobuf message", "ask `identify` which message a subject carries"
    ),
    "record": Reason("a record of the capture is damaged", "read on behind `.resume`"),
    "not a capture": Reason("the file is no capture", "subtrie tap writes captures"),
    "line end": Reason(
        "CR LF ends a line, and neither stands alone",
        "dialect='server' takes LF as the broker does",
    ),
    "bad subject": Reason(
        "the subject is none of seed 001", "dialect='server' takes what the broker takes"
    ),
}

PERMISSIONS: dict[str, Reason] = {
    "too-much-work": Reason(
        "it would take more steps than one question may", "compare smaller sets of rules", 413
    ),
    "publish-queue": Reason(
        "a publish rule names a queue", "queues are for subscriptions; keep the pattern alone"
    ),
    "queue-words": Reason(
        "a subscribe rule has more than a pattern and a queue", "write 'pattern' or 'pattern queue'"
    ),
    "dialects": Reason("the two sets speak of different dialects", "give both the same dialect="),
}

LOADING: dict[str, Reason] = {
    "account-decides": Reason(
        "the account or its signing key decides, and it is not at hand", "give account_jwt="
    ),
    "unknown-key": Reason("the key is unknown here", "nats-server would not load it either"),
    "alias-twice": Reason(
        "it says a second time what another word said", "the broker takes either; keep one"
    ),
    "config-type": Reason("its value is of the wrong type", "see nats-server's documentation"),
    "duration": Reason("it is no duration", "write a number with a unit in quotes, as in '2m'"),
    "several-users": Reason("there are several users", "name one with user= (and account=)"),
    "user-unknown": Reason("no such user is among these", "name one of them"),
    "user-twice": Reason("the user is defined twice", "the broker refuses it too"),
    "auth-mix": Reason(
        "two ways to say who may connect do not go together", "the broker refuses it too; keep one"
    ),
    "nkey": Reason("it is no public key of the kind needed here", "U… is a user, A… an account"),
    "account-name": Reason(
        "the account is the broker's own, or named twice", "give each its own name"
    ),
    "callout": Reason("it names no issuer, or no users", "the broker needs issuer and auth_users"),
    "connection-type": Reason(
        "it is no way to connect", "STANDARD, WEBSOCKET, LEAFNODE, MQTT, IN_PROCESS, …"
    ),
    "user-name": Reason("an entry names no user", "give user or nkey"),
    "no-user": Reason(
        "the configuration names no user", "name users under authorization or accounts"
    ),
    "conf-syntax": Reason("something follows its end", "remove it"),
    "conf-end": Reason("it ends within a block, an array or a quoted text", "close it"),
    "conf-separator": Reason(
        "two values are not parted by one comma or new line", "put exactly one between them"
    ),
    "conf-key": Reason("a key is expected here", "write 'key: value'; quote other characters"),
    "conf-value": Reason("a value is expected here", "quote values with special characters"),
    "conf-escape": Reason(
        "a backslash begins no valid escape", "use x and two digits, t, n, r, a quote, a backslash"
    ),
    "conf-number": Reason("it is no number the broker reads", "put a blank after it, or quote it"),
    "conf-block": Reason("text in parentheses is not read here", "put it in quotes"),
    "conf-depth": Reason("blocks are nested too deep", "32 levels at most"),
    "conf-variable": Reason(
        "the variable is undefined, or defined by itself", "define it above, or in the environment"
    ),
    "include-file": Reason("the included file cannot be read", "paths are relative to the file"),
    "include-cycle": Reason("the file includes itself", "break the circle"),
    "include-depth": Reason("too many files are included", "32 levels and 256 files at most"),
    "include-root": Reason(
        "the included file lies outside the root folder", "give root= if that is meant"
    ),
    "file-size": Reason("the file is too large", "16 MiB at most", 413),
    "json-format": Reason("it is of an unknown format", "'subtrie' must be 1"),
    "json-field": Reason("the field is of the wrong type", "write it as dump() does"),
    "jwt": Reason("it is no JWT", "three base64url parts joined by dots, the first two JSON"),
    "jwt-kind": Reason("it is a JWT of another kind", "a version 2 JWT of NATS is needed"),
    "jwt-chain": Reason(
        "it does not lead to the keys given", "give the account's own JWT, and its operator's key"
    ),
    "jwt-scoped": Reason(
        "a scoped signing key signed it, and it has lists of its own", "the broker refuses it too"
    ),
    "jwt-signature": Reason("its signature is wrong", "it was changed, or signed by another key"),
    "seed-kind": Reason(
        "only an account's seed signs, and only a user's seed is a user", "SA… signs, SU… is signed"
    ),
    "seed": Reason("it is no seed", "base32 with a checksum, as the tools of NATS print it"),
    "jwt-size": Reason(
        "CONNECT would not fit into the broker's control line of 4,096 bytes with this JWT",
        "name fewer rules, or shorter ones",
        413,
    ),
    "event-host": Reason(
        "an event is triggered by its own host only", "call the other service instead"
    ),
    "creds-blocks": Reason("a creds file holds one JWT and at most one seed", "make it again"),
    "creds-mode": Reason("others may read it, and it holds a seed", "chmod 600"),
    "creds-link": Reason("it is a link that leaves its folder", "copy the file here"),
}

SOURCES: dict[str, Reason] = {
    "source-syntax": Reason("it is nothing that Python or TOML reads", "mend it where it says"),
    "source-depth": Reason("it is nested too deep to be read", "take it apart"),
    "source-size": Reason("the file is too large", "4 MiB at most", 413),
    "source-files": Reason("there are too many files", "name a folder with fewer than 20,000", 413),
    "source-uses": Reason(
        "there is more traffic than one scan takes", "name a smaller folder", 413
    ),
    "source-link": Reason("it is a link that leaves its folder", "name the folder it leads to"),
    "source-read": Reason("it cannot be read", "give a regular file that you may read"),
    "other-plane": Reason(
        "the source names a plane that is not the one asked for",
        "leave plane= to the environment, or give this one",
    ),
    "dynamic": Reason(
        "nobody can tell from the source what it reaches",
        "use constants, declare it in pyproject.toml, or allow it with --allow-dynamic",
    ),
    "declared-key": Reason(
        "it is nothing that [[tool.subtrie.gencreds.calls]] takes",
        "service, method with url or route, publish, subscribe, in: each a text",
    ),
    "declared-call": Reason(
        "an entry declares not exactly one thing",
        "write method and url, method and route, publish, or subscribe",
    ),
    "declared-plane": Reason(
        "a raw subject lies in a plane, or may", "declare method and url instead"
    ),
    "declared-service": Reason("no such service is in the source", "write its host name"),
    "several-services": Reason("there is not exactly one service", "name one of them"),
    "unstable-ids": Reason(
        "not every replica of it has an id that the source tells",
        "give each Connector a literal id=",
    ),
    "no-service": Reason("no service is in the source", "Connector('host.name') makes one"),
}

BUS: dict[str, Reason] = {
    "ack-timeout": Reason("nobody acknowledged it", "is the service running, on this plane?", 404),
    "request-timeout": Reason("its time budget is used up", "give it more time", 408),
    "call-depth": Reason("it is the 65th call in a chain", "services call each other in turn", 508),
    "answered-error": Reason("the service answered with an error", "see its message", 500),
    "no-transport": Reason(
        "there is neither a broker nor the short circuit", "set MICROBUS_NATS", 503
    ),
    "not-started": Reason("the connector is not running", "await connector.startup() first", 503),
    "running": Reason("the connector runs already", "start it once"),
    "started": Reason(
        "the connector runs already, and a decorator cannot wait for the broker",
        "await connector.subscribe(method, route, handler)",
    ),
    "payload-limit": Reason(
        "the broker's largest message leaves no room for headers", "128 KiB are the least", 503
    ),
    "too-large": Reason("the body is larger than allowed", "raise max_body on both sides", 413),
    "too-many-fragments": Reason(
        "the body would take more fragments than allowed", "raise max_fragments", 413
    ),
    "malformed": Reason("the payload is no HTTP/1.1 message", "send one whole message"),
    "header-name": Reason("it is no name of a header", "use letters, digits and '-'"),
    "header-value": Reason("a header holds a control character", "encode the value"),
    "readable-creds": Reason(
        "others may read the file", "chmod 600 it, or allow_readable_creds=True"
    ),
    "creds-expired": Reason("the token in the creds has expired", "issue new creds"),
    "creds-not-yet-valid": Reason(
        "the token in the creds is not valid yet", "check the clock of this machine and the token"
    ),
    "endpoint": Reason("the handler does not fit its route", "name each path argument in both"),
}

#: The areas, as the docs show them.
AREAS: dict[str, dict[str, Reason]] = {
    "Subjects and patterns": GRAMMAR,
    "Microbus addresses": MICROBUS,
    "Names": NAMES,
    "Index": INDEX,
    "Wire": WIRE,
    "Permissions": PERMISSIONS,
    "Files with permissions": LOADING,
    "Sources of services": SOURCES,
    "The bus": BUS,
    "Images of an index": IMAGE,
}

#: Every reason by its code.
REASONS: dict[str, Reason] = {code: rule for area in AREAS.values() for code, rule in area.items()}
