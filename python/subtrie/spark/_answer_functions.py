"""One function for each table of answers: DataFrames in, the rows of the table out.

Each reads the events when it is called, and returns a small table that is complete. The columns
are those of ``TABLES``. ``Audit(events=…, rules=…, code=…)`` makes all of them in one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..audit._answers.questions import Questions
from ..audit._here import micros
from ..audit._partial.kinds import batches_of
from ..audit._partial.parts import Reading
from ..audit._schema import TABLE_COLUMNS, TABLES, arrow_schema
from ..audit._tables.traffic import SUMS
from ._partials import head_of, partials_of_frame
from ._table_jobs import partial_rows, read_context

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
        ``last``, ``origin`` (file and line), and of the program that used it ``account``,
        ``user``, ``client`` and ``identity_source``.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    answers = _answers(events, Questions(rules=rules), window)
    return _frame(events.sparkSession, "permission_usage", answers.permission_usage())


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
        ``first``, ``last``, ``witness`` (a subject), ``account``, ``user``, ``client`` and
        ``identity_source``.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    found = _answers(events, Questions(rules=rules)).violations()
    return _frame(events.sparkSession, "violations", found)


def synthesise(
    events: DataFrame,
    rules: Mapping[str, Permissions] | None = None,
    *,
    min_days: int = 3,
    min_sources: int = 2,
    claimed_identities: bool = False,
) -> tuple[DataFrame, DataFrame]:
    """Return the smallest rules that cover the traffic, and what is too thin for a rule.

    There is one rule for each source, destination, port, method, slot and subscribed route. Only
    messages that the broker accepted, that a client received, whose source is the proven identity
    of the connection, and that today's rules allow are evidence. A part of a path becomes a
    wildcard only if the subscribed route has one there and several values were seen, on
    ``min_days`` days, from ``min_sources`` services. The trust root is never generalised.

    Args:
        events: A table with the columns ``EVENTS``.
        rules: Today's permissions by service.
        min_days: The days on which there must be evidence for a rule.
        min_sources: The services from which there must be evidence for a wildcard.
        claimed_identities: Whether a name that the broker did not prove is evidence too.

    Returns:
        The tables ``proposal`` (``service, verb, rule``, ``days``, ``sources``, ``count``,
        ``witnesses``, ``covered_by``) and ``too_thin`` (``service, verb, pattern``, ``days``,
        ``sources``, ``count``, ``why``, ``witness``), each also with ``account``, ``user``,
        ``client`` and ``identity_source`` of the program.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``, or the rules name no service of it.
    """
    questions = Questions(
        rules=rules,
        min_days=min_days,
        min_sources=min_sources,
        claimed_identities=claimed_identities,
    )
    proposal, thin = _answers(events, questions).synthesise()
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
    found = _answers(events, Questions(rules=rules, code=scanned)).gap()
    return _frame(events.sparkSession, "gap", found)


def flows(events: DataFrame) -> DataFrame:
    """Return flows: publishers, the patterns on which messages were received, and subscribers.

    Args:
        events: A table with the columns ``EVENTS``.

    Returns:
        ``publisher, pattern, subscriber, queue``, ``published``, ``delivered``, ``undelivered``,
        ``bytes``, ``first``, ``last`` and ``per_minute`` (messages a minute between them, of at
        least a minute), ``account``, ``user`` and ``client`` of the publisher, and
        ``subscriber_user`` and ``subscriber_client``. Without a subscriber the pattern is the
        folded subject.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _frame(events.sparkSession, "flows", _answers(events, Questions()).flows())


def consumers(events: DataFrame) -> DataFrame:
    """Return the programs that receive from consumers of streams, and consumers without any.

    Args:
        events: A table with the columns ``EVENTS``.

    Returns:
        ``stream, consumer, who``, ``ack_policy``, ``deliver_subject``, ``filter_subject``,
        ``delivered``, ``redelivered``, ``acknowledged``, ``rejected``, ``first``, ``last``, and
        ``account``, ``user`` and ``client`` of the program.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _frame(events.sparkSession, "consumers", _answers(events, Questions()).consumers())


def latency(events: DataFrame) -> DataFrame:
    """Return the latency of requests: to the first message on the reply subject.

    That of Microbus requests needs the heads of payloads: ``Questions(payloads="heads")`` of an
    audit of logs.

    Args:
        events: A table with the columns ``EVENTS``.

    Returns:
        ``kind, requester, subject, responder``, ``count``, ``p50`` and ``p99`` (microseconds,
        nearest rank), ``unanswered``, ``errors`` (null), ``account``, ``user`` and ``client`` of
        the requester.

    Raises:
        ValueError: The table lacks a column of ``EVENTS``.
    """
    return _frame(events.sparkSession, "latency", _answers(events, Questions()).latency())


def at(subscriptions: DataFrame, subject: str, time: datetime) -> DataFrame:
    """Return the subscriptions that would have received a subject at a time.

    Of the rows with one ``queue``, one member receives the message.

    Args:
        subscriptions: The table ``subscriptions``.
        subject: The subject.
        time: When it is published, with a time zone.

    Returns:
        ``subject, time, server, conn, sid``, ``identity``, ``pattern``, ``queue``, ``start``,
        ``end``, ``account``, ``user``, ``client`` and ``identity_source``.

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
    columns = [name for name in TABLES["subscriptions"] if name in subscriptions.columns]
    rows = subscriptions.select(*columns).where(subscriptions["pattern"].isin(found))
    return list(rows.toArrow().to_pylist())


def _answers(events: DataFrame, questions: Questions, window: int | None = None) -> Answers:
    """Return the answers to questions; two jobs, of which the first reads the events."""
    spark = events.sparkSession
    reading = Reading(window=micros(window), follow=True, answers=True)
    partials = partials_of_frame(events, reading).persist()
    try:
        whole = read_context(spark, head_of(partials), (), questions, reading.window)
        assert whole.answers is not None
        rows = partial_rows(spark, partials, whole.context, None, (SUMS,))
        for row in rows.where(f"`table` = '{SUMS}'").select("data").toLocalIterator():
            with batches_of(row.data) as batches:
                table = batches.read_all()
            pairs = (table[name].to_pylist() for name in ("kind", "sums"))
            whole.answers.sums.add_rows(zip(*pairs, strict=True))
    finally:
        partials.unpersist()
    whole.answers.check()
    return whole.answers


def _frame(spark: SparkSession, name: str, rows: list[dict[str, Any]]) -> DataFrame:
    """Return rows as a DataFrame with the columns of a table."""
    import pyarrow as pa

    from ..audit._answers.tables import sorted_rows

    schema = arrow_schema(TABLE_COLUMNS[name])
    return spark.createDataFrame(pa.Table.from_pylist(sorted_rows(name, rows), schema))
