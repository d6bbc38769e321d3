"""The rules of findings: which rows of which table are one, with its level, title and advice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._core.printable import shortened
from ..audit._results.verdict import CLAIMS, is_usual_error
from ._rows import crossed, program_of, time_text

#: What client libraries and servers subscribe for themselves.
_OF_LIBRARIES = ("$", "_INBOX.", "_R_.")
#: A row of a table.
Row = dict[str, Any]


@dataclass(frozen=True)
class FindingRule:
    """The rule by which rows of a table become findings.

    Attributes:
        table: The table.
        group: The columns by which rows are one finding.
        counted: The column that is added up; None counts rows.
        witness: The column of the example.
        level: The level of a group, from its rows added up.
        title: One line on a group, from its largest row.
        why: What it means; empty if the title says so.
        instead: What would work, by the largest row of a group.
        wanted: Whether a row is a finding at all.
        added: Columns by which rows of several periods are added up before they are judged.
    """

    table: str
    group: tuple[str, ...]
    counted: str | None
    witness: str
    level: Callable[[Row], str]
    title: Callable[[Row], str]
    why: str
    instead: Callable[[Row], str]
    wanted: Callable[[Row], bool] = lambda row: True
    added: tuple[str, ...] = ()


def _always(text: str) -> Callable[[Row], str]:
    return lambda row: text


def _undelivered_title(row: Row) -> str:
    if row["nearest"] is None:
        return "No pattern is near this subject"
    if row["subscription_inactive"]:
        return "The subscriber was not subscribed at that time"
    place = row["differs_at"]
    ours, theirs = (row[name].split(".")[place:] for name in ("subject", "nearest"))
    if not ours or not theirs:
        return f"No subscriber; the nearest pattern differs at token {place}"
    return f"No subscriber: {shortened(ours[0])}, where the nearest pattern has {theirs[0]}"


def _undelivered_advice(row: Row) -> str:
    if row["subscription_inactive"]:
        return (
            "Find out when the subscriber was gone: subtrie audit --subject has it in the table "
            "history."
        )
    return (
        "Compare the subject with the nearest pattern: one of the two is misspelled, or the "
        "endpoint does not exist."
    )


def _spoofed_level(row: Row) -> str:
    """Return the level; a name that the client claims itself is not an accusation."""  # A82
    if row["identity_source"] in CLAIMS:
        return "note"
    return "error" if row["accepted"] else "warning"


def _spoofed_advice(row: Row) -> str:
    own = "Give each service its own user, whose publish rules name it as the source."
    if row["identity_source"] not in CLAIMS:
        return own
    return f"Without creds, services of one process share a connection named after the first. {own}"


#: The rules, in the order of the tables.
RULES = (
    FindingRule(
        "spoofed",
        ("who", "claimed"),
        "count",
        "subject",
        _spoofed_level,
        lambda row: (
            f"{row['who']} sent as {row['claimed']}"
            + (f"; the broker accepted {row['accepted']}" if row["accepted"] else "; all refused")
        ),
        "",
        _spoofed_advice,
    ),
    FindingRule(
        "claimed_users",
        ("who", "claimed"),
        "count",
        "claimed",
        _always("error"),
        lambda row: f"{row['who']} claims another user: {row['claimed']}",
        "Its CONNECT names a user beside the credentials that the broker checked. The broker may "
        "print that name before its lines; the audit names the user that was proven.",
        _always("Let the client name no user beside its credentials."),
    ),
    FindingRule(
        "violations",
        ("kind", "who", "rule"),
        "count",
        "witness",
        _always("error"),
        lambda row: (
            f"{row['who']}: the given rules forbid this "
            f"{'subscription' if row['kind'] == 'forbidden_subscription' else 'publish'}, "
            "and the broker accepted it"
        ),
        "The rules in force differ from those that were given, or a rule is missing.",
        _always("Compare them: subtrie acl diff."),
        # The other kinds have a table of their own.
        lambda row: row["kind"] in ("forbidden", "forbidden_subscription"),
    ),
    FindingRule(
        "cross_plane",
        ("identity", "plane"),
        "count",
        "plane",
        _always("error"),
        lambda row: f"{row['identity']} of plane {row['home_plane']} published on {row['plane']}",
        "",
        _always("Permissions should fix the plane of each service."),
    ),
    FindingRule(
        "refused",
        ("who", "kind"),
        "count",
        "subject",
        _always("warning"),
        lambda row: f"The broker refused {row['who']}: {row['kind']}",
        "Either the rules lack an entry, or the service does what it should not.",
        _always("If it should do this, add the entry that subtrie acl usage proposes."),
        lambda row: row["kind"] != "payload",
    ),
    FindingRule(
        "refused",
        ("who",),
        "count",
        "subject",
        _always("warning"),
        lambda row: f"{row['who']} published messages larger than max_payload",
        "The broker stores and delivers none of them, and disconnects the client.",
        _always("Send less at once (an object store divides what is large), or raise max_payload."),
        lambda row: row["kind"] == "payload",
    ),
    FindingRule(
        "logins",
        ("who", "why"),
        "count",
        "address",
        _always("warning"),
        lambda row: f"The broker refused logins of {row['who'] or 'clients without a user'}",
        "Its credentials are wrong or have expired, or a stranger tries to log in.",
        _always("Compare its credentials with those of the broker; the example is its address."),
        lambda row: row["outcome"] == "refused",
    ),
    FindingRule(
        "jetstream_errors",
        ("who", "request", "stream", "why"),
        "count",
        "why",
        lambda row: "note" if is_usual_error(row["why"]) else "warning",
        lambda row: (
            f"The stream {row['stream']} did not store what {row['who']} published: {row['why']}"
            if row["request"] == "publish"
            else f"JetStream refused {row['request']} of {row['who']}: {row['why']}"
        ),
        "JetStream answered with an error; such a message is lost unless its publisher sends it "
        "again.",
        lambda row: (
            "Raise the limit of the stream, or let it discard old messages."
            if row["why"].startswith("maximum ")
            else ""
        ),
    ),
    FindingRule(
        "links",
        ("server", "remote", "kind"),
        None,
        "address",
        _always("note"),
        lambda row: (
            f"The {row['kind']} connection to {row['remote'] or 'another server'} ended"
            + (f" at {time_text(row['end'])}" if row["end"] else "")
            + crossed(row)
        ),
        "What is published for the other side meanwhile is lost, unless a stream stores it.",
        _always(""),
        lambda row: row["end"] is not None,
    ),
    FindingRule(
        "servers",
        ("server", "event"),
        None,
        "process",
        _always("note"),
        lambda row: f"The server of the process {row['process']} said: {row['event']}",
        "",
        _always(""),
        lambda row: row["event"] in ("lame duck", "reload"),
    ),
    FindingRule(
        "slow_consumers",
        ("who", "client"),
        "count",
        "who",
        _always("warning"),
        lambda row: f"{program_of(row)} reads more slowly than the broker sends to it",
        "The broker closes such a connection, and messages to it are lost.",
        _always("Keep handlers from blocking the reading, or share the work in a queue group."),
    ),
    FindingRule(
        "undelivered",
        ("nearest", "differs_at", "subscription_inactive"),
        "count",
        "subject",
        _always("warning"),
        _undelivered_title,
        "",
        _undelivered_advice,
    ),
    FindingRule(
        "malformed",
        ("reason",),
        "count",
        "subject",
        lambda row: "warning" if row["received"] else "note",
        lambda row: (
            "Not a canonical address"
            + ("" if row["reason"] == "not-canonical" else f": {row['reason']}")
            + (f"; {row['received']} were delivered all the same" if row["received"] else "")
        ),
        "",
        _always("Build subjects with the encoder, not by hand."),
    ),
    FindingRule(
        "gap",
        ("service", "finding"),
        None,
        "path",
        lambda row: "warning" if row["finding"] in ("refused", "no rule", "denied") else "note",
        lambda row: f"{row['service']} to {row['destination']}: {row['finding']}",
        "The source, the permissions and the traffic differ on this edge.",
        _always(""),
        lambda row: row["finding"] != "ok",
    ),
    FindingRule(
        "permission_usage",
        ("service",),
        None,
        "rule",
        _always("note"),
        lambda row: f"{row['service']} has rules that nothing used",
        "Each is a right that an intruder has too.",
        _always("Remove them, or keep them with a reason."),
        lambda row: row["effect"] == "allow" and not row["accepted"] and not row["refused"],
        ("service", "verb", "effect", "rule"),
    ),
    FindingRule(
        "flows",
        ("publisher", "pattern"),
        "undelivered",
        "pattern",
        _always("warning"),
        lambda row: f"{row['publisher']} publishes what no subscriber receives",
        "",
        _always(
            "Compare the subject with the patterns that are subscribed, or that streams store."
        ),
        # What a stream refused is among the errors of JetStream.
        lambda row: row["undelivered"] and not str(row["subscriber"]).startswith("stream "),
    ),
    FindingRule(
        "coverage",
        (),
        None,
        "pattern",
        _always("note"),
        lambda row: f"Subscriptions that received no message, such as {row['pattern']}",
        "No message of their time matches them: they are misspelled, or not needed.",
        _always(""),
        lambda row: (
            not row["matched"]
            and not row["delivered"]
            and not row["pattern"].startswith(_OF_LIBRARIES)
        ),
    ),
    FindingRule(
        "unparseable",
        ("reason",),
        None,
        "text",
        _always("note"),
        lambda row: f"Lines that could not be read: {row['reason']}",
        "The log was cut, or something else wrote into it.",
        _always(""),
    ),
)


def _unacknowledged_title(row: Row) -> str:
    told = (
        f"{row['who']} acknowledges nothing that stream {row['stream']}, consumer "
        f"{row['consumer']}, delivers"
    )
    if row["redelivered"]:
        return f"{told}; {row['redelivered']:,} came again"
    return told if row["ack_policy"] else f"{told}; its ack policy is not known"


#: The rule about consumers of streams; what is wanted needs all rows.
UNACKNOWLEDGED = FindingRule(
    "consumers",
    ("stream", "consumer", "who"),
    "delivered",
    "consumer",
    lambda row: "warning" if row["redelivered"] else "note",
    _unacknowledged_title,
    "A stream sends a message again until it is acknowledged, or max_deliver is reached.",
    _always(
        "Acknowledge each message after the work, or create the consumer with the ack policy none."
    ),
)

#: The rule about programs that acknowledge, and receive the same messages again.
AGAIN = FindingRule(
    "consumers",
    ("stream", "consumer", "who"),
    "redelivered",
    "consumer",
    # Each message came twice more, on average: a restart or a single loss causes fewer.
    lambda row: "warning" if 3 * row["redelivered"] >= 2 * row["delivered"] else "note",
    lambda row: (
        f"{row['who']} receives again what stream {row['stream']}, consumer {row['consumer']}, "
        f"delivered: {row['redelivered']:,} of {row['delivered']:,} messages"
        + (f"; it refused {row['rejected']:,} (-NAK or +TERM)" if row["rejected"] else "")
    ),
    "A stream sends a message again that was refused (-NAK), or acknowledged later than the ack "
    "wait. After max_deliver times it gives the message up.",
    lambda row: (
        "Find out why the program refuses them. The log has what it answered: subtrie report lines."
        if row["rejected"]
        else "Acknowledge sooner, or let the consumer wait longer (ack_wait)."
    ),
    lambda row: bool(row["redelivered"] and (row["acknowledged"] or row["rejected"])),
)

#: The rule about consumers whose filter no stored message matched; what is wanted needs the flows.
UNMATCHED = FindingRule(
    "consumers",
    ("stream", "consumer"),
    None,
    "filter_subject",
    _always("note"),
    lambda row: (
        f"The consumer {row['consumer']} delivers {row['filter_subject']}, and stream "
        f"{row['stream']} stored no such message"
    ),
    "Other messages were stored meanwhile: the filter is misspelled, or it waits for a rare one.",
    _always("Compare the filter of the consumer with the subjects that the stream stores."),
)
#: The rule about consumers that deliver to a subject without a subscriber; its level and what is
#: wanted need the subscriptions.
UNHEARD = FindingRule(
    "consumers",
    ("stream", "consumer", "deliver_subject"),
    None,
    "deliver_subject",
    _always("warning"),
    lambda row: (
        f"No client subscribes {row['deliver_subject']}, to which the consumer {row['consumer']} "
        f"of stream {row['stream']} delivers"
    ),
    "A push consumer without a subscriber delivers nothing, and its stream may keep all messages.",
    _always("Start the program that subscribes it, or delete the consumer."),
)
