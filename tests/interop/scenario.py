"""One scenario of a recording from the side of one role: which request caused which.

The recording has the messages in order. A request that the role sent while it handled another one,
one call deeper, is nested in that; any other is one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from subtrie._core.errors import SubtrieError
from subtrie.microbus import RequestAddress, decode
from tests.interop.roles import CACHE, CONTROL, Nested
from tests.interop.wire import Recorded

#: Responses that implementations word differently, by path on port 888, with the reason.
WORDED_OTHERWISE = {
    "/openapi.json": "the description of a service is worded by each implementation",
    "/metrics": "what is measured, and whether, differs: the recorded one may have nothing to say",
}


@dataclass
class RoleScenario:
    """One scenario for one role."""

    name: str
    messages: list[Recorded]
    scenario: dict[str, Any]
    nested: dict[str, list[Nested]] = field(default_factory=dict)
    own: list[Recorded] = field(default_factory=list)  # requests that no other request caused
    held: dict[str, bytes] = field(default_factory=dict)  # cached values that responses show
    excluded: dict[str, str] = field(default_factory=dict)  # message id, and why
    unplayed: set[str] = field(default_factory=set)  # message ids of exchanges left out whole

    def late(self, answer: Recorded) -> bool:
        """Return whether a response came after its request had timed out."""
        asked = self.asked(answer)
        return (
            asked is not None
            and answer.is_answer
            and asked.budget > 0
            and answer.t - asked.t > asked.budget
        )

    def asked(self, answer: Recorded) -> Recorded | None:
        """Return the request of a response."""
        for message in self.messages:
            if message.is_request and message.message_id == answer.message_id:
                return message
        return None


def scenario_for(
    role: str, host: str, scenario: dict[str, Any], messages: list[Recorded]
) -> RoleScenario:
    """Read one scenario."""
    plot = RoleScenario(scenario["name"], messages, scenario)
    caused: set[str] = set()
    for place, request in enumerate(messages):
        if not request.is_request or role not in request.delivered_to:
            continue
        answers = [
            (at, message)
            for at, message in enumerate(messages)
            if message.service == role
            and message.is_answer
            and message.message_id == request.message_id
        ]
        if why := _refused(request):
            plot.unplayed.add(request.message_id)
            plot.excluded[request.message_id] = why
            continue
        path = _own_path(request, host)
        if answers and path in WORDED_OTHERWISE:
            plot.excluded[request.message_id] = WORDED_OTHERWISE[path]
        if path == CACHE[0] and answers and b" 200 " in answers[0][1].payload[:13]:
            _what_is_held(plot, request, answers[0][1])
        end = answers[-1][0] if answers else len(messages)
        inner = plot.nested.setdefault(request.message_id, [])
        for at in range(place + 1, end):
            message = messages[at]
            if (
                message.service == role
                and message.is_request
                and message.depth == request.depth + 1
                and message.message_id not in caused
            ):
                caused.add(message.message_id)
                inner.append(nested_in(messages, message, at))
    for at, message in enumerate(messages):
        if message.service != role or not message.is_request or message.message_id in caused:
            continue
        if why := _refused(message):
            plot.unplayed.add(message.message_id)
            plot.excluded[message.message_id] = why
        elif message.depth == 1:
            plot.own.append(message)
        elif parent := _earlier(role, messages[:at], message.depth - 1):
            # Sent after the response, by a handler that went on.
            plot.nested[parent.message_id].append(nested_in(messages, message, at))
        else:
            plot.unplayed.add(message.message_id)
            plot.excluded[message.message_id] = "what caused it is not recorded"
    return plot


def _refused(request: Recorded) -> str:
    """Return why a request is left out: subtrie is stricter than Go, or it cannot be parsed."""
    if request.payload.partition(b"\r\n")[0].count(b" ") != 2:
        return "its request line cannot be read"
    try:
        decode(request.subject)
    except SubtrieError as error:
        return f"subtrie refuses to send this: {error.reason}"
    return ""


def _earlier(role: str, before: list[Recorded], depth: int) -> Recorded | None:
    """Return the last request to the role at a depth."""
    for message in reversed(before):
        if message.is_request and role in message.delivered_to and message.depth == depth:
            return message
    return None


def nested_in(messages: list[Recorded], message: Recorded, at: int) -> Nested:
    """Return a request of the role's own, with its whole body and the place of its response."""
    return Nested(message, at, answered(messages, message), whole_body(messages, message))


def whole_body(messages: list[Recorded], request: Recorded) -> bytes:
    """Return the body of a request, reassembled from its fragments."""
    parts = {
        int(m.fragment.partition("/")[0] or 1): m.body
        for m in messages
        if m.op == "Req" and m.message_id == request.message_id
    }
    return b"".join(parts[number] for number in sorted(parts))


def answered(messages: list[Recorded], request: Recorded) -> int:
    """Return the place of the last response to a request; after everything if there is none."""
    places = [
        at
        for at, message in enumerate(messages)
        if message.is_answer and message.message_id == request.message_id
    ]
    return places[-1] if places else len(messages)


def _what_is_held(plot: RoleScenario, request: Recorded, answer: Recorded) -> None:
    """Record a cached value that a response shows: the cache's client is outside the connector."""
    query = parse_qs(request.method_and_url[1].partition("?")[2])
    if query.get("do") == ["load"]:
        plot.held[query["key"][0]] = answer.body
    elif query.get("do") == ["checksum"] and query["key"][0] not in plot.held:
        plot.excluded[request.message_id] = "a digest of a value that the recording does not show"


def _own_path(request: Recorded, host: str) -> str:
    """Return the path if the connector itself responds to it."""
    to = decode(request.subject)
    if not isinstance(to, RequestAddress) or to.port != 888 or to.host not in (host, "all"):
        return ""
    return to.path if to.path in CONTROL + CACHE else ""
