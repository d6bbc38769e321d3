"""The events of a selection, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..audit._answers.selection import MESSAGES, ZONES, Selection, host_token

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def selected(selection: Selection, events: DataFrame) -> DataFrame:
    """Return the events that are audited."""
    from pyspark.sql import functions as F

    message = F.coalesce(F.col("op").isin(*MESSAGES), F.lit(False))
    kept = F.lit(True)
    if selection.since is not None:
        kept = kept & (F.col("time") >= F.lit(selection.since))
    if selection.until is not None:
        kept = kept & (F.col("time") < F.lit(selection.until))
    chosen = events.where(~message | kept)
    for name, place in ((selection.source, 3), (selection.host, 4)):
        if name is not None:
            chosen = _only(chosen, message, name, place)
    return chosen


def _only(events: DataFrame, message: object, name: str, place: int) -> DataFrame:
    """Return the messages of which a token is a host, or that an identity sends or receives."""
    from pyspark.sql import functions as F

    token = host_token(name)
    direction = "in" if place == 3 else "out"
    tokens = F.split("subject", r"\.")
    named = (F.get(tokens, F.lit(place)) == token) & F.get(tokens, F.lit(1)).isin(*ZONES)
    own = (F.col("identity") == name) & (F.col("direction") == direction)
    messages = events.where(message)  # type: ignore[arg-type]
    subjects = messages.where(named | own).select("subject").distinct()
    others = events.where(~message)  # type: ignore[operator]
    return others.unionByName(
        messages.join(subjects, "subject", "left_semi").select(*events.columns)
    )
