"""One function for each table of answers: DataFrames in, the rows of the table out.

Each reads the events when it is called, and returns a small table that is complete. The columns
are those of ``TABLES``. ``Audit(events=…, rules=…, code=…)`` makes all of them in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..audit._answers.here import FLOWS, PUBLISHES, REQUESTS
from ..audit._answers.questions import Questions
from ..audit._schema import TABLE_COLUMNS, arrow_schema
from ._answers_on_spark import answers_on_spark
from ._table_functions import subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..acl import Permissions
    from ..audit._answers.tables import Answers
    from ..gencreds import Service


def permission_usage(
    events: DataFrame, rules: Mapping[str, Permissions], *, window: int | None = None
) -> DataFrame:
    """Return how often each rule of each service was used.

    Every rule that matches a message is counted, with the messages that the broker accepted and
    refused; ``decided`` counts those that the rule decides. A rule with neither is unused. A row
    without a rule (effect ``none``) counts what a service tried and no rule matches.

    Args:
        events: A table with the columns ``EVENTS``.
        rules: Today's permissions by service.
        window: The length of a period in seconds; by default all events are one.

    Returns:
        ``service, window, verb, effect, rule``, ``accepted``, ``refused``, ``decided``, ``days``,
        ``last`` and ``origin`` (file and line).

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    questions = Questions(rules=rules, window=window)
    return _table(events, questions, "permission_usage", lambda each: each.permission_usage())


def violations(events: DataFrame, rules: Mapping[str, Permissions] | None = None) -> DataFrame:
    """Return what the broker accepted although it should not.

    ``forbidden`` and ``forbidden_subscription``: the rules do not allow it. ``spoofed``: the source
    in the subject is not the identity of the connection. ``cross_plane``: an identity publishes on
    another plane than the one it uses most.

    Args:
        events: A table with the columns ``EVENTS``.
        rules: Today's permissions by service; without them nothing is forbidden.

    Returns:
        ``kind, who, subject`` (folded), ``rule`` (that forbids it, else the nearest), ``count``,
        ``first``, ``last`` and ``witness`` (a subject).

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    return _table(events, Questions(rules=rules), "violations", lambda each: each.violations())


def synthesise(
    events: DataFrame,
    rules: Mapping[str, Permissions] | None = None,
    *,
    min_days: int = 3,
    min_sources: int = 2,
) -> tuple[DataFrame, DataFrame]:
    """Return the smallest rules that cover the traffic, and what is too thin for a rule.

    There is one rule for each source, destination, port, method, slot and subscribed route. Only
    messages that the broker accepted, that a client received, whose source is the identity of the
    connection, and that today's rules allow are evidence. A part of a path becomes a wildcard only
    if the subscribed route has one there and several values were seen, on ``min_days`` days, from
    ``min_sources`` services. The trust root is never generalised.

    Args:
        events: A table with the columns ``EVENTS``.
        rules: Today's permissions by service.
        min_days: The days on which there must be evidence for a rule.
        min_sources: The services from which there must be evidence for a wildcard.

    Returns:
        The tables ``proposal`` (``service, verb, rule``, ``days``, ``sources``, ``count``,
        ``witnesses``, ``covered_by``) and ``too_thin`` (``service, verb, pattern``, ``days``,
        ``sources``, ``count``, ``why``, ``witness``).

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    questions = Questions(rules=rules, min_days=min_days, min_sources=min_sources)
    proposal, thin = _answers(events, questions, (PUBLISHES,)).synthesise()
    spark = events.sparkSession
    return _frame(spark, "proposal", proposal), _frame(spark, "too_thin", thin)


def gap(
    events: DataFrame,
    *,
    rules: Mapping[str, Permissions] | None = None,
    code: Sequence[Service] | None = None,
) -> DataFrame:
    """Return where code, rules and traffic disagree: a row for each call of a service.

    Args:
        events: A table with the columns ``EVENTS``.
        rules: Today's permissions by service.
        code: The services that ``gencreds.scan`` found.

    Returns:
        ``service, destination, port, method, path``, ``code`` (file and line), ``rule`` (that
        decides), ``traffic`` (accepted messages), ``refused`` and ``finding``: ``ok``,
        ``never called``, ``no rule``, ``denied`` (``rule`` is the deny rule), ``not in code``,
        ``rule only`` or ``refused``. A side that is not given is not judged.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    scanned = None if code is None else tuple(code)
    return _table(events, Questions(rules=rules, code=scanned), "gap", lambda each: each.gap())


def flows(events: DataFrame) -> DataFrame:
    """Return flows: publishers, the patterns on which messages were received, and subscribers.

    Args:
        events: A table with the columns ``EVENTS``.

    Returns:
        ``publisher, pattern, subscriber, queue``, ``published``, ``delivered``, ``undelivered``,
        ``bytes``, ``first``, ``last`` and ``per_minute`` (messages a minute between them, of at
        least a minute). Without a subscriber the pattern is the folded subject.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, Questions(), "flows", lambda each: each.flows(), None, (FLOWS,))


def latency(events: DataFrame, heads: DataFrame | None = None) -> DataFrame:
    """Return the latency of requests.

    Of the kind ``nats``: to the first message on the reply subject. Of the kind ``microbus``: to
    the first response with the message id of the request, for each host that answers.

    Args:
        events: A table with the columns ``EVENTS``.
        heads: The rows of ``payload_heads`` for the same logs; without them no row is of Microbus.

    Returns:
        ``kind, requester, subject, responder``, ``count``, ``p50`` and ``p99`` (microseconds,
        nearest rank), ``unanswered`` and ``errors`` (responses with an error, of Microbus only).

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _table(events, Questions(), "latency", lambda each: each.latency(), heads, (REQUESTS,))


def at(subscriptions: DataFrame, subject: str, time: datetime) -> DataFrame:
    """Return the subscriptions that would have received a subject at a time.

    Of the rows with one ``queue``, one member receives the message.

    Args:
        subscriptions: The table ``subscriptions``.
        subject: The subject.
        time: When it is published, with a time zone.

    Returns:
        ``subject, time, server, conn, sid``, ``identity``, ``pattern``, ``queue``, ``start`` and
        ``end``.

    Raises:
        SubjectError: Not a valid subject.
        ValueError: The time has no time zone.
    """
    from ..audit._answers.receivers import at_rows

    if time.tzinfo is None:
        raise ValueError("the time has no time zone: give one, as datetime(..., tzinfo=UTC)")
    rows = at_rows(_matching(subscriptions, subject), subject, time)
    return _frame(subscriptions.sparkSession, "at", rows)


def history(subscriptions: DataFrame, subject: str) -> DataFrame:
    """Return the intervals in which the receivers of a subject stayed the same.

    Args:
        subscriptions: The table ``subscriptions``.
        subject: The subject.

    Returns:
        ``subject, server, start``, ``end``, ``subscribers``, ``groups`` and ``receivers``.

    Raises:
        SubjectError: Not a valid subject.
    """
    from ..audit._answers.receivers import history_rows

    begin = {
        row["server"]: row["start"]
        for row in subscriptions.groupBy("server").agg({"start": "min"})
        .withColumnRenamed("min(start)", "start").toArrow().to_pylist()
    }  # fmt: skip
    rows = history_rows(_matching(subscriptions, subject), subject, begin)
    return _frame(subscriptions.sparkSession, "history", rows)


def _matching(subscriptions: DataFrame, subject: str) -> list[dict[str, Any]]:
    """Return the subscriptions whose pattern matches a subject."""
    from ..audit._answers.tables import matching_rows

    Questions(subject=subject)
    patterns = subscriptions.select("pattern").distinct().toArrow()["pattern"].to_pylist()
    found = [row["pattern"] for row in matching_rows(({"pattern": p} for p in patterns), subject)]
    columns = ("server", "conn", "sid", "start", "end", "identity", "pattern", "queue")
    rows = subscriptions.select(*columns).where(subscriptions["pattern"].isin(found))
    return list(rows.toArrow().to_pylist())


def _answers(
    events: DataFrame, questions: Questions, wanted: Sequence[str], heads: DataFrame | None = None
) -> Answers:
    of = subscriptions(events).toArrow()
    return answers_on_spark(events, of, questions, heads=heads, wanted=wanted)


def _table(
    events: DataFrame,
    questions: Questions,
    name: str,
    rows: Callable[[Answers], list[dict[str, Any]]],
    heads: DataFrame | None = None,
    wanted: Sequence[str] = (PUBLISHES,),
) -> DataFrame:
    """Return one table of answers."""
    return _frame(events.sparkSession, name, rows(_answers(events, questions, wanted, heads)))


def _frame(spark: SparkSession, name: str, rows: list[dict[str, Any]]) -> DataFrame:
    """Return rows as a DataFrame with the columns of a table."""
    import pyarrow as pa

    from ..audit._answers.tables import sorted_rows

    schema = arrow_schema(TABLE_COLUMNS[name])
    return spark.createDataFrame(pa.Table.from_pylist(sorted_rows(name, rows), schema))
