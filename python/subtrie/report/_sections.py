"""The tables of a report: their titles, what they say, and the kinds of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..audit import TABLES
from ._content import Column, Section
from ._rows import largest_rows

if TYPE_CHECKING:
    from ..audit import Run

#: Each table in the order in which it is shown, with its title and one sentence.
_TEXTS = {
    "flows": (
        "Flows",
        "Who published what, and who received it. Inboxes, numbers and long random tokens are "
        "shown as *.",
    ),
    "call_graph": ("Calls", "Requests of one service to a route of another."),
    "permission_usage": (
        "Use of permissions",
        "Each rule and the traffic that it decided. A rule that nothing used can be removed.",
    ),
    "proposal": (
        "Proposed permissions",
        "The smallest set of rules that the traffic justifies, with the evidence for each.",
    ),
    "too_thin": ("Too little evidence", "Traffic that is too rare for a rule to be proposed."),
    "gap": ("Code, rules and traffic", "Where the source, the permissions and the log differ."),
    "violations": ("Violations", "What the rules forbid, and what was accepted all the same."),
    "undelivered": (
        "Undelivered",
        "Accepted messages without a subscriber, and the pattern that is nearest.",
    ),
    "spoofed": ("Spoofed sources", "Messages whose subject names another sender."),
    "claimed_users": ("Claimed users", "Clients that name another user than the proven one."),
    "refused": ("Refused by the broker", "Publishes and subscriptions that were not permitted."),
    "jetstream_errors": (
        "Errors of JetStream",
        "What streams did not store, and what else JetStream refused, and why.",
    ),
    "logins": ("Logins", "Who came from where, and whom the broker refused, and why."),
    "links": ("Links", "Routes, gateways and leaf nodes: when each was up."),
    "servers": ("Servers", "Starts, reloads, lame duck mode and stops of servers."),
    "slow_consumers": ("Slow consumers", "Clients that read more slowly than they were sent to."),
    "malformed": ("Malformed subjects", "Subjects on a plane that are not canonical addresses."),
    "cross_plane": ("Other planes", "What an identity published outside its own plane."),
    "latency": ("Latency", "The time from a request to its reply, at nearest rank."),
    "consumers": (
        "Consumers of streams",
        "Who receives from which consumer, what came again, and what was acknowledged or refused.",
    ),
    "coverage": (
        "Coverage",
        "The traffic of each subscription. Zeros are subscriptions without a message.",
    ),
    "hot_subjects": ("Hot subjects", "The subjects with the most messages, and their share."),
    "history": ("Subscribers over time", "When the subscribers of a subject changed."),
    "at": ("Subscribers at a moment", "Who would have received the subject at that time."),
    "replies": ("Replies", "The answers of each service to each caller."),
    "fan_out": ("Fan-out", "How many subscribers each delivered subject has."),
    "other_traffic": ("Other traffic", "Subjects that are on no plane."),
    "subscriptions": ("Subscriptions", "Every subscription that the broker accepted."),
    "unparseable": ("Unparseable lines", "Lines that nats-server did not write, or incomplete."),
}
#: What each table has, in one sentence.
LEADS = {table: lead for table, (_, lead) in _TEXTS.items()}
_KINDS = {
    **dict.fromkeys(("first", "last", "start", "end", "window", "time"), "time"),
    **dict.fromkeys(("p50", "p99"), "microseconds"),
    **dict.fromkeys(
        ("subject", "pattern", "route", "nearest", "rule", "witness", "witnesses", "path", "text"),
        "subject",
    ),
    **dict.fromkeys(
        (
            *("published", "refused", "delivered", "undelivered", "forwarded", "count"),
            *("instances", "accepted", "received", "matched", "subscribers", "groups", "traffic"),
            *(
                "redelivered",
                "acknowledged",
                "rejected",
                "decided",
                "days",
                "sources",
                "unanswered",
                "errors",
                "offset",
                "messages_in",
                "messages_out",
            ),
        ),
        "count",
    ),
    "port": "number",
    "per_minute": "number",
    "differs_at": "number",
    **dict.fromkeys(("bytes", "bytes_in", "bytes_out"), "bytes"),
    "share": "share",
    "subscription_inactive": "flag",
    "covered_by": "subject",
}


def sections_of(result: Run) -> tuple[list[Section], list[str]]:
    """Return the tables of a result that have rows, and the names of those that have none."""
    from ..audit._results.shown_rows import told_elsewhere

    found, empty = [], []
    for name, (title, lead) in _TEXTS.items():
        total, rows = largest_rows(result, name, TABLES[name])
        if not total:
            empty.append(name)
            continue
        columns = [Column(each, _KINDS.get(each, "text")) for each in TABLES[name]]
        named = [dict(zip(TABLES[name], row, strict=True)) for row in rows]
        told = told_elsewhere(named)
        unused = {i for i, each in enumerate(columns)
                  if each.name in told or all(row[i] is None for row in rows)}  # fmt: skip
        found.append(
            Section(
                table=name,
                title=title,
                lead=lead,
                columns=tuple(each for i, each in enumerate(columns) if i not in unused),
                rows=[[v for i, v in enumerate(row) if i not in unused] for row in rows],
                total=total,
            )
        )
    return found, empty
