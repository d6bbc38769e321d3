"""The reasons of connectors, a part of the table of reasons."""

from __future__ import annotations

from .reason import Reason

BUS: dict[str, Reason] = {
    "ack-timeout": Reason(
        "no service acknowledged the request", "check that the service runs on this plane", 404
    ),
    "request-timeout": Reason("the time budget is used up", "raise the timeout", 408),
    "call-depth": Reason(
        "the call would be the 65th in a chain", "services call each other in turn", 508
    ),
    "answered-error": Reason(
        "the service responded with an error", "see the message of the error", 500
    ),
    "publish-refused": Reason(
        "the broker does not let the service publish this request",
        "use the creds that gencreds made for this host, and compare with subtrie why",
        403,
    ),
    "no-transport": Reason(
        "neither a NATS server nor the short circuit is configured", "set MICROBUS_NATS", 503
    ),
    "not-started": Reason("the connector is not started", "await connector.startup() first", 503),
    "running": Reason("the connector is already started", "start it once"),
    "started": Reason(
        "the connector is already started, and a decorator cannot wait for the server",
        "await connector.subscribe(method, route, handler)",
    ),
    "payload-limit": Reason(
        "the server's max_payload is too small for headers", "set it to at least 128 KiB", 503
    ),
    "too-large": Reason("the body is larger than max_body", "raise max_body on both sides", 413),
    "too-many-fragments": Reason(
        "the body needs more fragments than max_fragments", "raise max_fragments", 413
    ),
    "timeout-type": Reason("it is not a number", "give the seconds as a number"),
    "path-value": Reason("a path argument has no value", "give its value in params"),
    "json-and-body": Reason("both json and body are given", "give one of them"),
    "broker-scheme": Reason(
        "it is not a URL that connectors use",
        "begin it with nats:// or tls://; a WebSocket (ws://, wss://) is not supported",
    ),
    "malformed": Reason("the payload is not an HTTP/1.1 message", "send one complete message"),
    "header-name": Reason("not a valid header name", "use letters, digits and '-'"),
    "header-value": Reason("a header value contains a control character", "encode the value"),
    "readable-creds": Reason(
        "others may read the file", "chmod 600 the file, or pass allow_readable_creds=True"
    ),
    "endpoint": Reason(
        "a parameter of the handler cannot be filled from a request",
        "declare each argument by name, without * and **",
    ),
    "queue-character": Reason(
        "the queue name contains a character that is not allowed",
        "use letters, digits, '.', '_' and '-'",
    ),
    "creds-expired": Reason("the token in the creds has expired", "issue new creds"),
    "creds-not-yet-valid": Reason(
        "the token in the creds is not valid yet", "check the clock of this machine and the token"
    ),
    "requires": Reason(
        "not a valid expression of required claims",
        "use names with dots, numbers, quoted text, == != < <= > >=, !, &&, || and parentheses",
    ),
    "path-argument": Reason(
        "no parameter of the handler takes this path argument",
        "give a parameter its name, or one annotated Request",
    ),
    "annotation": Reason(
        "values of this type cannot be converted to and from JSON",
        "use a dataclass, a pydantic model or a type that docs/connector.md lists",
    ),
    "generator": Reason(
        "a handler that yields has no single result", "collect the results and return a list"
    ),
    "cache-key": Reason(
        "it is not one key of the cache, nor one part of the keys", "give a text that is not empty"
    ),
    "stub": Reason(
        "a parameter of the declared call cannot be sent",
        "declare each argument by name, without * and **",
    ),
    "undeclared-use": Reason(
        "the service does not declare that it sends this request",
        "add it to uses= of the connector, where gencreds reads it",
    ),
    "route-twice": Reason(
        "the connector serves this method and route already", "unsubscribe the other endpoint first"
    ),
    "configurator": Reason(
        "configurator.core does not answer, and these values have no other source",
        "set them in config.yaml or config=, or pass configurator='optional'",
        503,
    ),
    "config-name": Reason(
        "the service has no configuration value of this name", "use a name that it declares"
    ),
    "config-value": Reason(
        "the text of this value cannot be parsed",
        "correct it where it is set, or the parse= of the declaration",
    ),
    "subscription-refused": Reason(
        "the broker refuses the service's own subscription",
        "use the creds that gencreds made for this host, and compare with subtrie why",
        403,
    ),
}
