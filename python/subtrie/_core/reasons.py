"""Reasons for which an input is refused: code, sentence, hint and HTTP status.

Both engines and ``docs/errors.md`` use this one table. Codes are stable, so programs may branch on
them.
"""

from __future__ import annotations

from .bus_reasons import BUS
from .reason import Reason

__all__ = ["AREAS", "IMAGE", "REASONS", "Reason"]

GRAMMAR: dict[str, Reason] = {
    "empty": Reason("it is empty", "use at least one token"),
    "empty-token": Reason("a token is empty", "remove the leading, trailing or double dot"),
    "whitespace": Reason("it contains whitespace", "remove it; no kind of whitespace is allowed"),
    "control": Reason(
        "it contains a control character", "use printable characters, or dialect='server'"
    ),
    "non-ascii": Reason(
        "it contains a character outside ASCII",
        "percent-encode it, or use dialect='server', for which NATS gives no guarantees",
    ),
    "surrogate": Reason(
        "it contains a lone surrogate, which UTF-8 cannot encode",
        "decode the original bytes with their real encoding",
    ),
    "partial-wildcard": Reason(
        "a wildcard is part of a longer token",
        "use a wildcard as a whole token; dialect='server' accepts it as literal text",
    ),
    "wildcard": Reason(
        "it contains a wildcard token, which a subject must not", "use Pattern for a subscription"
    ),
    "tail-not-last": Reason(
        "'>' is not the last token", "use '*' for a single token in the middle"
    ),
    "too-long": Reason(
        "it is too long", "use at most 1,024 bytes, or 4,096 with dialect='server'", 414
    ),
    "too-many-tokens": Reason("it has too many tokens", "use at most 64", 414),
}

NAMES: dict[str, Reason] = {
    "name-empty": Reason("it is empty", "use at least one character"),
    "name-character": Reason(
        "it contains a character that this kind of name does not allow",
        "see the rule in the report",
    ),
    "name-single": Reason("it has more than one character", "use exactly one character"),
    "name-too-long": Reason("it is too long", "use at most 255 characters", 414),
    "name-empty-token": Reason(
        "a part between dots is empty", "remove the leading, trailing or double dot"
    ),
    "name-wildcard": Reason(
        "it contains a wildcard token", "use wildcards only in patterns, not in names"
    ),
    "name-tail-not-last": Reason(
        "'>' is not the last token", "use '*' for a single token in the middle"
    ),
    "name-no-dollar": Reason(
        "an internal prefix must begin with a dollar sign", "write it as in '$JS.API.'"
    ),
    "name-no-final-dot": Reason("a prefix must end with a dot", "write it as in 'orders.'"),
}

INDEX: dict[str, Reason] = {
    "queue-empty": Reason("the queue name is empty", "pass queue=None for no queue"),
    "queue-whitespace": Reason(
        "the queue name contains whitespace",
        "remove it; a space ends the name",
    ),
    "queue-wildcard": Reason(
        "the queue name contains a wildcard token", "use a literal name without '*' and '>'"
    ),
    "index-full": Reason("the index is full", "distribute the patterns over several indexes", 507),
}

IMAGE: dict[str, Reason] = {
    "image-magic": Reason(
        "not a subtrie index image (bad magic)", "pass bytes returned by SubjectTrie.to_bytes"
    ),
    "image-version": Reason(
        "the image has a different format version", "write it again with this version of subtrie"
    ),
    "image-length": Reason(
        "the image is truncated or has trailing data", "pass the complete image and nothing else"
    ),
    "image-header": Reason("the image header is corrupt", "write the image again"),
    "image-checksum": Reason("the checksum does not match", "write the image again"),
    "image-damaged": Reason("the content is inconsistent", "write the image again"),
}

MICROBUS: dict[str, Reason] = {
    "plane": Reason(
        "a plane consists of one or more ASCII letters and digits", "use a name such as 'microbus'"
    ),
    "trust": Reason(
        "the second token of an address is 'danger' for port 666 and 'safe' for every other port",
        "let the encoder set it; a subject of another program has none",
    ),
    "port": Reason(
        "a port is written in digits, without a sign or a leading zero", "use 0 to 65535, as in 443"
    ),
    "port-range": Reason("the port is out of range", "use 0 to 65535"),
    "host-empty": Reason("the host is empty", "name a host, as in 'payments.core'"),
    "host-length": Reason("the host is too long", "use at most 252 characters"),
    "host-character": Reason(
        "the host contains a character that is not allowed in the host of a URL",
        "use letters, digits, '-' and '.'",
    ),
    "identity": Reason(
        "it contains a character that is not allowed in the identity of a service",
        "use lower-case letters, digits and '-', separated by dots",
    ),
    "empty-label": Reason(
        "a label of the host is empty", "remove the leading, trailing or double dot"
    ),
    "reserved": Reason(
        "the host is reserved: a service cannot be named 'id-…', 'loc-…', 'all' or '….all'",
        "choose another name",
    ),
    "stacked": Reason(
        "a second 'id-' or 'loc-' label follows the first", "use one slot per address"
    ),
    "slot": Reason(
        "a slot is 'id-' with letters and digits, or 'loc-' with parts joined by '-'",
        "write it as in 'id-k3x9' or 'loc-us-west', or leave it empty",
    ),
    "method": Reason(
        "the method is unknown",
        "use GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE or PATCH",
        405,
    ),
    "method-any": Reason(
        "ANY is only valid in a subscription", "publish with a specific method", 405
    ),
    "argument": Reason(
        "a path argument does not fill its whole path segment", "write it as in '/{name}/'"
    ),
    "argument-name": Reason(
        "the name of a path argument is not a valid identifier",
        "begin with a lower-case letter, then use letters and digits",
    ),
    "greedy": Reason(
        "a greedy path argument is not the last path segment", "move '{name...}' to the end"
    ),
    "locality": Reason(
        "a locality consists of lower-case letters and digits joined by '-'",
        "write it as in 'us-west-b-1' or '1.b.west.us'",
    ),
    "url-host": Reason("the URL has no host", "write it as in 'https://host/path'"),
    "url-control": Reason("the URL contains a control character", "percent-encode it"),
    "url-backtick": Reason("the URL contains a backtick", "percent-encode it"),
    "url-escape": Reason(
        "a percent sign does not begin a valid escape", "write '%25' for a literal percent sign"
    ),
    "url-user": Reason(
        "the user part of the URL contains a character that is not allowed", "remove it"
    ),
    "url-address": Reason(
        "square brackets must enclose an IPv6 address at the start of the host", "as in '[::1]'"
    ),
    "too-few-tokens": Reason(
        "it has too few tokens", "a request has eight or more, a reply has six"
    ),
    "reply-tokens": Reason(
        "a reply must have exactly six tokens", "use <plane>.reply._.<source>.<host>.<id>"
    ),
    "reply-port": Reason("the port token of a reply must be '_'", "a reply has no port"),
    "reply-subscription": Reason(
        "it is the pattern of a reply, which has no port and no path",
        "decode only patterns of requests",
    ),
    "subscription-source": Reason(
        "the source token of a subscription must be '*'", "use permissions to restrict senders"
    ),
    "escape": Reason(
        "'%' is not followed by two lower-case hexadecimal digits", "encode with subtrie.microbus"
    ),
    "not-canonical": Reason("not in canonical form", "encode with subtrie.microbus"),
    "placeholder": Reason("'_' alone is not a host", "name a host, as in 'payments.core'"),
    "utf8": Reason("it is not valid UTF-8", "use UTF-8 text"),
}

WIRE: dict[str, Reason] = {
    "parse": Reason("the bytes are not an operation of this connection", "see `.cause`"),
    "unknown op": Reason("this connection has no operation of this name", "check `conn`"),
    "no delimiter": Reason(
        "a space must separate the name of an operation from its arguments", "as in 'SUB foo 1'"
    ),
    "arg count": Reason("the line has too few or too many arguments", "see docs/wire.md"),
    "bad size": Reason("a size is written in one to nine digits", "as in 'PUB foo 5'"),
    "bad header size": Reason(
        "a header size is written in one to nine digits", "as in 'HPUB foo 12 17'"
    ),
    "bad sid": Reason(
        "the subscription id must be a number of 64 bits here", "as in 'MSG foo 1 5'"
    ),
    "header larger than total": Reason(
        "the header size is larger than the total size", "include the headers in the total"
    ),
    "bad reply indicator": Reason(
        "the queue names of a routed message must follow '+' or '|'",
        "use '+' before a reply subject and queues, '|' before queues alone",
    ),
    "payload terminator": Reason(
        "CR LF does not follow the payload", "give its size without CR LF"
    ),
    "bad json": Reason(
        "the options are not one JSON object with unique names", "as in 'CONNECT {}'"
    ),
    "max control line": Reason(
        "the line is longer than max_control_line",
        "use at most 4,096 bytes, or 65,536 between servers",
        414,
    ),
    "max payload": Reason("the payload is larger than max_payload", "raise max_payload", 413),
    "monitor": Reason(
        "it is not a /connz, /subsz or /routez response", "save the response without changes"
    ),
    "bad message": Reason(
        "the bytes are not a valid protobuf message of this type",
        "call `identify` to find the message type of a subject",
    ),
    "record": Reason("a record of the capture is corrupt", "continue reading at `.resume`"),
    "not a capture": Reason("the file is not a capture", "write one with subtrie tap"),
    "line end": Reason(
        "a line must end with CR LF, and neither may appear alone",
        "use dialect='server', which also accepts LF",
    ),
    "bad subject": Reason(
        "not a valid subject in the strict dialect",
        "use dialect='server', which accepts what nats-server accepts",
    ),
}

PERMISSIONS: dict[str, Reason] = {
    "too-much-work": Reason(
        "the comparison would take too many steps", "compare smaller sets of rules", 413
    ),
    "publish-queue": Reason(
        "a publish rule has a queue", "remove it; only subscribe rules may have one"
    ),
    "queue-words": Reason(
        "a subscribe rule has more than a pattern and a queue", "write 'pattern' or 'pattern queue'"
    ),
    "dialects": Reason("the two sets use different dialects", "give both the same dialect="),
}

LOADING: dict[str, Reason] = {
    "account-decides": Reason(
        "permissions are defined by the account JWT",
        "pass --account-jwt, or account_jwt= in Python",
    ),
    "unknown-key": Reason("unknown key", "remove it; nats-server refuses it too"),
    "alias-twice": Reason(
        "another key already sets this value", "keep one of the two; nats-server accepts either"
    ),
    "config-type": Reason("the value has the wrong type", "see the documentation of nats-server"),
    "duration": Reason("not a valid duration", "write a number with a unit, in quotes, as in '2m'"),
    "several-users": Reason(
        "the configuration has several users", "choose one with user= (and account=)"
    ),
    "user-unknown": Reason("no such user is defined", "choose one of the users shown"),
    "user-twice": Reason("the user is defined twice", "remove one; nats-server refuses this too"),
    "auth-mix": Reason(
        "two kinds of authentication are configured that exclude each other",
        "keep one; nats-server refuses this too",
    ),
    "nkey": Reason(
        "not a public NKey of the expected kind", "a user key begins with U, an account key with A"
    ),
    "account-name": Reason(
        "the account name is reserved, used twice, or not defined", "choose another name"
    ),
    "callout": Reason("the issuer or the users are missing", "set issuer and auth_users"),
    "connection-type": Reason(
        "not a valid connection type", "use STANDARD, WEBSOCKET, LEAFNODE, MQTT, IN_PROCESS, …"
    ),
    "user-name": Reason("an entry has no user name", "set user or nkey"),
    "import-refused": Reason(
        "no export allows this import", "export it there, or remove the import"
    ),
    "mapping": Reason("the broker refuses this mapping", "correct the destination, or the weights"),
    "snapshot": Reason(
        "not an answer of a broker's monitoring port", "give http://HOST:8222, or a saved answer"
    ),
    "streams": Reason(
        "not what a broker tells about streams",
        "give /jsz?accounts=1&streams=1&consumers=1&config=1, or nats stream info --json",
    ),
    "streams-many": Reason(
        "more than 100,000 streams or consumers", "give the pages of one account at a time", 413
    ),
    "streams-config": Reason(
        "the streams come without their settings",
        "ask /jsz?accounts=1&streams=1&consumers=1&config=1",
    ),
    "json-cut": Reason(
        "the JSON ends too early, or something else follows it", "save the whole answer"
    ),
    "snapshot-auth": Reason(
        "the connections come without accounts", "ask /connz?auth=1&subs=detail"
    ),
    "trial": Reason("the folder holds some files of a trial and not all", "give an empty folder"),
    "store-empty": Reason("the folder holds no JWT", "give a store of nsc, or a folder of *.jwt"),
    "store-files": Reason("the folder holds more JWTs than are read", "give one account's folder"),
    "operator-mode": Reason(
        "the broker is in operator mode: its users are not in the configuration",
        "give the user's .creds file or JWT, or a folder of JWTs as nsc keeps them",
    ),
    "conf-yaml": Reason(
        "YAML, such as Helm values or a ConfigMap, is not a configuration of nats-server",
        "give the configuration in it: kubectl get configmap NAME "
        "-o jsonpath='{.data.nats\\.conf}' | subtrie acl show -",
    ),
    "conf-syntax": Reason("unexpected text after the end", "remove it"),
    "conf-end": Reason("unexpected end in a block, an array or a quoted text", "close it"),
    "conf-separator": Reason(
        "two values must be separated by one comma or new line", "put exactly one between them"
    ),
    "conf-key": Reason("a key is expected here", "write 'key: value'; quote other characters"),
    "conf-value": Reason("a value is expected here", "quote a value with special characters"),
    "conf-escape": Reason(
        "a backslash does not begin a valid escape",
        "use x and two digits, t, n, r, a quote or a backslash",
    ),
    "conf-number": Reason(
        "nats-server does not accept this number", "quote it, or end it with a space"
    ),
    "conf-block": Reason("text in parentheses is not supported", "put it in quotes"),
    "conf-depth": Reason("blocks are nested too deeply", "use at most 32 levels"),
    "conf-variable": Reason(
        "the variable is undefined, or refers to itself",
        "define it first",
    ),
    "include-file": Reason("the included file cannot be read", "paths are relative to this file"),
    "include-cycle": Reason("the file includes itself", "remove one of the includes"),
    "include-depth": Reason("too many files are included", "use at most 32 levels and 256 files"),
    "include-root": Reason(
        "the included file is outside the root folder", "pass root= if this is intended"
    ),
    "shared-file": Reason(
        "both inputs read this file, so a change of it cannot be seen",
        "compare two checked-out trees: git worktree add BEFORE REVISION",
    ),
    "file-size": Reason("the file is too large", "use at most 16 MiB", 413),
    "answer-size": Reason(
        "the broker's answer is too large",
        "at most 64 MiB, 100,000 accounts and 100,000 connections; give its configuration",
        413,
    ),
    "json-format": Reason("the format is unknown", "set 'subtrie' to 1"),
    "json-field": Reason("the field has the wrong type", "write it as Permissions.dump() does"),
    "jwt": Reason(
        "not a valid JWT", "use three base64url parts joined by dots, the first two JSON"
    ),
    "jwt-kind": Reason("the JWT is of another kind", "use a version 2 JWT of NATS"),
    "jwt-chain": Reason(
        "it was not issued by the given keys", "give the account's own JWT and its operator's key"
    ),
    "jwt-revoked": Reason(
        "the account has revoked this user: no client can connect with the token",
        "issue a new token, or remove the file",
    ),
    "jwt-scoped": Reason(
        "it is signed by a scoped signing key, yet has permissions of its own",
        "remove them; nats-server refuses it too",
    ),
    "jwt-signature": Reason(
        "the signature does not verify", "the JWT was changed, or signed by another key"
    ),
    "seed-kind": Reason(
        "expected an account seed (SA…) for the account, or a user seed (SU…) for the user",
        "pass a seed of the expected kind",
    ),
    "seed": Reason("not a valid NKey seed", "use base32 with a checksum, as nsc and nk print it"),
    "jwt-size": Reason(
        "with this JWT, CONNECT exceeds the control line of 4,096 bytes",
        "use fewer or shorter rules",
        413,
    ),
    "event-host": Reason(
        "only the service that owns an event may trigger it", "call the other service instead"
    ),
    "creds-blocks": Reason(
        "a creds file contains exactly one JWT and at most one seed", "generate it again"
    ),
    "creds-mode": Reason(
        "the file contains a seed, and its group or others may read it", "chmod 600 the file"
    ),
    "creds-link": Reason("the file is a link that leaves its folder", "copy the file there"),
}

SOURCES: dict[str, Reason] = {
    "source-syntax": Reason("syntax error in the source file", "fix the reported line"),
    "source-depth": Reason("the source is nested too deeply to be parsed", "simplify it"),
    "source-size": Reason("the file is too large", "use at most 4 MiB", 413),
    "project-size": Reason(
        "the pyproject.toml is too large", "use at most 64 KiB, or scan without it", 413
    ),
    "source-files": Reason("the folder has too many files", "use fewer than 20,000", 413),
    "source-uses": Reason(
        "the source has too many endpoints and calls", "scan a smaller folder", 413
    ),
    "source-link": Reason("it is a link that leaves its folder", "scan the folder it links to"),
    "source-read": Reason("the file cannot be read", "give a regular, readable file"),
    "other-plane": Reason(
        "the source sets a different plane than the one requested",
        "omit plane=, or request this plane",
    ),
    "dynamic": Reason(
        "call target cannot be determined statically",
        "use constants, declare it in pyproject.toml, or pass --allow-dynamic",
    ),
    "declared-key": Reason(
        "not a valid key or value in [[tool.subtrie.gencreds.calls]]",
        "use service, method with url or route, publish, subscribe, in; each a string",
    ),
    "declared-call": Reason(
        "an entry must declare exactly one thing",
        "set method and url, method and route, publish, or subscribe",
    ),
    "declared-plane": Reason("a raw subject may be in a plane", "declare method and url instead"),
    "declared-service": Reason("the source has no such service", "use the host of a service"),
    "several-services": Reason("there is not exactly one service", "choose one of them"),
    "unstable-ids": Reason(
        "the source does not set the id of every replica", "give each Connector a literal id="
    ),
    "no-service": Reason("the source has no service", "create one with Connector('host.name')"),
}

#: The tables by area, in the order of ``docs/errors.md``.
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
