"""The tables of an audit as the programs of ``clustered_system.py`` counted them.

Each function returns the rows of one table that follow from the truth, with their accounts, and
``seen`` the same columns of what an audit found. What programs of an account did in another one is
known to the programs; a log names ``other accounts`` there, and so do these rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from clustered_system import Receiver, Sent, Truth

from subtrie import Pattern
from subtrie.audit import Run

Rows = Counter[tuple[Any, ...]]
OTHERS, UNKNOWN = "other accounts", "not in the log"
#: Of the accounts, the one that the leaf node takes part in is ``SHOP``.
_SAME = {"$G": "SHOP"}


def mapped(subject: str) -> str:
    """Return the subject that the servers go on with."""
    return subject.replace("old.", "orders.") if subject.startswith("old.") else subject


def folded(subject: str) -> str:
    """Return a subject with a star in place of what varies."""
    if subject.startswith("_INBOX"):
        return "_INBOX.*.*"
    if subject.startswith("_R_."):
        return "_R_.>"
    return ".".join("*" if token.isdigit() else token for token in subject.split("."))


def _crosses(sent: Sent, receiver: Receiver) -> bool:
    return _SAME.get(sent.account, sent.account) != _SAME.get(receiver.account, receiver.account)


def flows(truth: Truth) -> Rows:
    """Return the messages of each flow and what became of them."""
    found: Rows = Counter()
    refused = {subject for _, _, verb, subject in truth.refused if verb == "publish"}
    for number, sent in truth.sent.items():
        if sent.subject in refused:
            continue
        subject, account = folded(mapped(sent.subject)), sent.account
        stream = truth.stored.get(number)
        receivers = truth.received.get(number, [])
        if stream is not None:
            found[account, sent.who, subject, f"stream {stream}", None, "delivered"] += 1
        elif not receivers:
            found[account, sent.who, subject, None, None, "undelivered"] += 1
        for each in receivers:
            pattern = folded(each.pattern)
            if each.pattern.startswith("consumer "):
                found[account, f"stream {stream}", subject, each.who, each.pattern,
                      "delivered"] += 1  # fmt: skip
            elif not _crosses(sent, each):
                found[account, sent.who, pattern, each.who, each.queue, "delivered"] += 1
            elif each.pattern == "_INBOX":
                found[account, sent.who, subject, OTHERS, None, "delivered"] += 1
            else:
                source = OTHERS if each.queue else UNKNOWN
                found[each.account, source, pattern, each.who, each.queue, "delivered"] += 1
                if each.queue:  # an imported service
                    found[account, sent.who, subject, OTHERS, None, "delivered"] += 1
    return found


def seen_flows(run: Run) -> Rows:
    """Return the same of an audit, without what clients ask of JetStream and acknowledge."""
    found: Rows = Counter()
    for row in run.rows("flows"):
        if str(row["pattern"]).startswith(("$JS.", "$SYS.")):
            continue
        key = (_account(row), row["publisher"], row["pattern"], row["subscriber"], row["queue"])
        for name in ("delivered", "undelivered"):
            if row[name]:
                found[(*key, name)] += row[name]
    return found


def refused(truth: Truth) -> Rows:
    """Return the refused operations of each program."""
    found: Rows = Counter()
    for (account, who, verb, subject), count in truth.refused.items():
        kind = "publish" if verb == "publish" else "subscribe"
        found[account, who, subject, kind] += count
    return found


def seen_refused(run: Run) -> Rows:
    """Return the same of an audit."""
    return _counted(run.rows("refused"), lambda row: (
        row["account"], row["who"], row["subject"], row["kind"],
    ))  # fmt: skip


def logins(truth: Truth) -> Rows:
    """Return the logins of each user, and what became of them."""
    found: Rows = Counter({("edge", "accepted"): 1})
    for (_, user, outcome), count in truth.logins.items():
        found[user or "till", outcome] += count
    return found


def seen_logins(run: Run) -> Rows:
    """Return the same of an audit."""
    return _counted(run.rows("logins"), lambda row: (row["who"], row["outcome"]))


def published(truth: Truth) -> Rows:
    """Return the accepted messages of each subject, apart from those of JetStream's clients."""
    found: Rows = Counter()
    barred = {subject for _, _, verb, subject in truth.refused if verb == "publish"}
    for sent in truth.sent.values():
        if sent.subject not in barred and not sent.subject.startswith(("_INBOX", "_R_")):
            found[sent.account, mapped(sent.subject)] += 1
    return found


def seen_published(run: Run) -> Rows:
    """Return the same of an audit."""
    rows = (row for row in run.rows("other_traffic")
            if not row["subject"].startswith(("_INBOX", "_R_", "$JS", "$SYS")))  # fmt: skip
    return _counted(rows, lambda row: (_account(row), row["subject"]))


def subscriptions(truth: Truth) -> Rows:
    """Return the subscriptions of each program, apart from those of answers."""
    return Counter(
        (each.account, each.who, each.pattern, each.queue) for each in truth.subscriptions
    )


def seen_subscriptions(run: Run) -> Rows:
    """Return the same of an audit, without those of leaf nodes."""
    return Counter(
        (_account(row), row["identity"], row["pattern"], row["queue"])
        for row in run.rows("subscriptions")
        if not row["pattern"].startswith(("_INBOX", "_R_")) and "/leaf:" not in row["conn"]
    )


def coverage(truth: Truth) -> Rows:
    """Return the messages that each pattern and queue group of the programs received."""
    patterns = {(each.account, each.pattern, each.queue) for each in truth.subscriptions}
    received = (each for some in truth.received.values() for each in some)
    return Counter(
        key for each in received if (key := (each.account, each.pattern, each.queue)) in patterns
    )


def seen_coverage(run: Run) -> Rows:
    """Return the same of an audit, without the patterns of leaf nodes and of answers."""
    return _of_patterns(run, "delivered")


def _of_patterns(run: Run, name: str) -> Rows:
    """Return a sum of each pattern and queue group of the programs over all servers."""
    found: Rows = Counter()
    own = {
        (row["server"], _account(row), row["pattern"], row["queue"])
        for row in run.rows("subscriptions")
        if "/leaf:" not in row["conn"]
    }
    for row in run.rows("coverage"):
        key = (_account(row), row["pattern"], row["queue"])
        if (row["server"], *key) in own and not row["pattern"].startswith(("_INBOX", "_R_")):
            found[key] += row[name]
    return +found


def matched(truth: Truth) -> Rows:
    """Return the messages of its own server and account that each pattern matched in its time."""
    barred = {subject for _, _, verb, subject in truth.refused if verb == "publish"}
    found: Rows = Counter()
    for each in truth.subscriptions:
        since, until = truth.lives[each]
        pattern = Pattern(each.pattern, dialect="server")
        theirs = (each.account, each.server)
        found[each.account, each.pattern, each.queue] += sum(
            since <= number < (len(truth.sent) if until is None else until)
            and (sent.account, sent.server) == theirs
            and sent.subject not in barred
            and pattern.matches(mapped(sent.subject))
            for number, sent in truth.sent.items()
        )
    return +found


def seen_matched(run: Run) -> Rows:
    """Return the same of an audit, without the patterns of leaf nodes and of answers."""
    return _of_patterns(run, "matched")


def fan_out(truth: Truth) -> Rows:
    """Return the receivers of each subject in their account, and how many messages they got."""
    receivers: dict[tuple[str, str], set[Receiver]] = {}
    found: Rows = Counter()
    for number, some in truth.received.items():
        for each in some:
            if each.pattern == "_INBOX":
                continue
            key = (each.account, _as_received(truth.sent[number], each))
            receivers.setdefault(key, set()).add(each)
            found[(*key, "delivered")] += 1
    for key, theirs in receivers.items():
        found[(*key, "subscribers")] = sum(each.queue is None for each in theirs)
        found[(*key, "groups")] = len({each.queue for each in theirs} - {None})
    return +found


def _as_received(sent: Sent, receiver: Receiver) -> str:
    """Return the subject of a message as an account that imports it sees it."""
    subject = mapped(sent.subject)
    if receiver.pattern.startswith("shop."):
        return f"shop.{subject}"
    return "pay.charge" if subject == "charge" else subject.replace("ask.", "quote.")


def seen_fan_out(run: Run) -> Rows:
    """Return the same of an audit, without answers and what JetStream is told."""
    found: Rows = Counter()
    for row in run.rows("fan_out"):
        if not row["subject"].startswith(("_INBOX", "_R_", "$JS", "$SYS")):
            for name in ("delivered", "subscribers", "groups"):
                found[_account(row), row["subject"], name] += row[name]
    return +found


def links(truth: Truth) -> Rows:
    """Return the messages that crossed the leaf node, as each of its two ends says.

    Those that cross a route are also JetStream's own, which no program knows.
    """
    sent = sum(
        sent.server == "edge" and bool(truth.received.get(number))
        for number, sent in truth.sent.items()
    )
    received = sum(
        each.server == "edge" and truth.sent[number].server != "edge"
        for number, some in truth.received.items()
        for each in some
    )
    found = Counter({("edge", "in"): sent, ("edge", "out"): received})
    return found + Counter({("n1", "in"): received, ("n1", "out"): sent})


def seen_links(run: Run) -> Rows:
    """Return the same of an audit."""
    found: Rows = Counter()
    for row in run.rows("links"):
        if row["kind"] == "leaf":
            for name in ("in", "out"):
                found[row["remote"], name] += row[f"messages_{name}"]
    return +found


def not_hottest(truth: Truth, run: Run) -> list[str]:
    """Return what ``hot_subjects`` says of clients that is not what they counted."""
    barred = {subject for _, _, verb, subject in truth.refused if verb == "publish"}
    counts: Rows = Counter()
    sizes: Rows = Counter()
    for sent in truth.sent.values():
        if sent.subject not in barred and not sent.subject.startswith(("_INBOX", "_R_")):
            counts[sent.account, mapped(sent.subject)] += 1
            sizes[sent.account, mapped(sent.subject)] += sent.size
    rows = {(_account(row), row["subject"]): row for row in run.rows("hot_subjects")}
    least = min(row["published"] for row in rows.values())
    found = [f"{key} is missing" for key, count in counts.items()
             if count > least and key not in rows]  # fmt: skip
    for key in counts.keys() & rows.keys():
        told = (rows[key]["published"], rows[key]["bytes"])
        if told != (counts[key], sizes[key]):
            found.append(f"{key}: {told}, not {(counts[key], sizes[key])}")
    return found


def requests(truth: Truth) -> Rows:
    """Return the answered and unanswered requests of each program."""
    found: Rows = Counter()
    for (account, who, subject), times in truth.asked.items():
        for time in times:
            found[account, who, subject, "answered" if time is not None else "unanswered"] += 1
    return found


def seen_requests(run: Run) -> Rows:
    """Return the same of an audit, without requests to JetStream and streams."""
    found: Rows = Counter()
    for row in run.rows("latency"):
        machine = str(row["responder"]).startswith(("stream", "JetStream", "server"))
        if machine or row["subject"].startswith("$"):
            continue
        key = (_account(row), row["requester"], row["subject"])
        found[(*key, "answered")] += row["count"]
        found[(*key, "unanswered")] += row["unanswered"]
    return +found


def _account(row: dict[str, Any]) -> str:
    """Return the account of a row; that of clients without a login is not always told."""
    return str(row["account"] or "$G")


def _counted(
    rows: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], tuple[Any, ...]]
) -> Rows:
    found: Rows = Counter()
    for row in rows:
        found[key(row)] += row["count"]
    return found


#: The truth and the audit of each table.
TABLES: dict[str, tuple[Callable[[Truth], Rows], Callable[[Run], Rows]]] = {
    "flows": (flows, seen_flows),
    "refused": (refused, seen_refused),
    "logins": (logins, seen_logins),
    "other_traffic": (published, seen_published),
    "subscriptions": (subscriptions, seen_subscriptions),
    "coverage": (coverage, seen_coverage),
    "matched": (matched, seen_matched),
    "fan_out": (fan_out, seen_fan_out),
    "links": (links, seen_links),
    "latency": (requests, seen_requests),
}


def too_slow(truth: Truth, run: Run) -> list[str]:
    """Return the requests that the audit says took longer than their program waited."""
    found = []
    waited: dict[tuple[str, str], list[float]] = {}
    for (_, who, subject), times in truth.asked.items():
        known = [time for time in times if time is not None]
        waited.setdefault((who, subject), []).extend(known)
    for row in run.rows("latency"):
        times = sorted(waited.get((row["requester"], row["subject"]), ()))
        if times and row["count"] == len(times):
            for percent in (50, 99):
                most = times[-(-len(times) * percent // 100) - 1] * 1e6
                if row[f"p{percent}"] > most:
                    found.append(
                        f"{row['subject']} {percent} %: {row[f'p{percent}']} µs, {most} µs"
                    )
    return found
