"""Subjects that are not addresses of a plane: malformed, or other traffic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import classify
from .._partial.add_up import add_up
from .rows import Rows
from .subjects import Subjects

if TYPE_CHECKING:
    import pyarrow as pa

#: The name under which the messages of these subjects stand among the rows.
OUTSIDE = "~outside"
_COLUMNS = ("subject", "reason", "published", "taken", "first_accepted", "last_accepted")


def outside_rows(summed: pa.Table, subjects: Subjects) -> Rows:
    """Return the accepted messages of these subjects, from the sums of all."""
    import pyarrow.compute as pc

    at = summed["at"].combine_chunks()
    addressed = subjects.addressed.take(at)
    wanted = pc.and_(pc.invert(addressed), pc.greater(summed["published"], 0).combine_chunks())
    at = at.filter(wanted)
    table = summed.filter(wanted).select(_COLUMNS[2:])
    table = table.add_column(0, "reason", subjects.text("reason", at))
    table = table.add_column(0, "subject", subjects.texts.take(at))
    return OUTSIDE, table.append_column("key", table["subject"])


def outside_tables(table: pa.Table, planes: Sequence[str]) -> dict[str, pa.Table]:
    """Return the rows of ``malformed`` and ``other_traffic``: the first begin with a plane.

    Args:
        table: What ``outside_rows`` returned; all rows of a subject, in the order of subjects.
        planes: The planes of the traffic.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.num_rows:
        table = add_up(table.drop_columns(["key"]), ("subject", "reason")).sort_by("subject")
    firsts = pc.replace_substring_regex(table["subject"], r"(?s)\..*", "")
    begins = pc.is_in(firsts, value_set=pa.array(list(planes), pa.string()))
    malformed = table.filter(begins)
    malformed = malformed.select(_COLUMNS).rename_columns(
        ["subject", "reason", "count", "delivered", "first", "last"]
    )
    other = table.filter(pc.invert(begins)).select(["subject", "published"])
    other = other.rename_columns(["subject", "count"])
    classes = [classify(text) for text in other["subject"].to_pylist()]
    other = other.append_column("class", pa.array(classes, pa.string()))
    return {"malformed": malformed, "other_traffic": other}
