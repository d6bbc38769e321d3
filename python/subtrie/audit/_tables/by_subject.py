"""The tables about single subjects: undelivered, malformed or other traffic, and the hottest.

The hottest are found from parts that name only the most frequent of theirs. A part that has all
messages of its subjects names the first 100. One that has some of the messages names more, and says
how many messages a subject has at most that it does not name (``unnamed``). A sum over such parts
is exact if each of them names the subject, and it is among the first if it is greater than all that
others can have. Where that is not so, the subjects that can be among the first are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import classify
from .._partial.kinds import add_up
from .._partial.rates import ACCEPTED, RATE
from .._schema import TABLE_COLUMNS, Rows, arrow_schema
from .bucket import Subjects
from .pattern_index import PatternIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from .bucket import Subjects


def explained(
    missed: pa.Table, at: pa.Array, lost: pa.Table, index: PatternIndex, rows: Any, numbers: Any
) -> pa.Table:
    """Add the nearest pattern of each subject, and whether it was subscribed.

    Args:
        missed: The undelivered subjects, with their accounts.
        at: The number of each of them among all subjects.
        lost: Server, account, subject and position of each message.
        index: The patterns.
        rows: For each match, the number of its subject, ascending.
        numbers: For each match, the number of its pattern.
    """
    import numpy as np
    import pyarrow as pa

    positions: dict[tuple[str | None, str], list[tuple[str, str | None, int]]] = {}
    names = ("server", "account", "subject", "position")
    for server, account, subject, position in zip(*(lost[n].to_pylist() for n in names),
                                                  strict=True):  # fmt: skip
        positions.setdefault((account, subject), []).append((server, account, position))
    place = at.to_numpy(zero_copy_only=False)
    starts, ends = np.searchsorted(rows, place), np.searchsorted(rows, place, side="right")
    near = _nearest(index, missed.filter(pa.array(starts == ends)))
    nearest: list[str | None] = []
    differs: list[int | None] = []
    inactive: list[bool] = []
    named = zip(missed["account"].to_pylist(), missed["subject"].to_pylist(), strict=True)
    for key, start, end in zip(named, starts, ends, strict=True):
        matching = [int(n) for n in numbers[start:end]]
        if matching:
            nearest.append(index.patterns[min(matching)].as_py())
            differs.append(None)
            sent = positions.get(key, ())
            inactive.append(
                not all(any(index.was_active(n, *place) for n in matching) for place in sent)
            )
            continue
        pattern, token = near[key]
        nearest.append(pattern)
        differs.append(token)
        inactive.append(False)
    added = {"nearest": pa.array(nearest, pa.string()), "differs_at": pa.array(differs, pa.int32()),
             "subscription_inactive": pa.array(inactive, pa.bool_())}  # fmt: skip
    for name, column in added.items():
        missed = missed.append_column(name, column)
    return missed


def _nearest(
    index: PatternIndex, missed: pa.Table
) -> dict[tuple[str | None, str], tuple[str | None, int | None]]:
    """Return the nearest pattern of each account and subject, and the token in which it differs."""
    import pyarrow.compute as pc

    found: dict[tuple[str | None, str], tuple[str | None, int | None]] = {}
    for account in pc.unique(missed["account"]).to_pylist():
        of = missed["account"]
        own = pc.is_null(of) if account is None else pc.fill_null(pc.equal(of, account), False)
        subjects = missed["subject"].filter(own)
        numbers, places = index.nearest(subjects, account)
        names = index.patterns.take(numbers).to_pylist()
        pairs = zip(names, places.to_pylist(), strict=True)
        keys = ((account, subject) for subject in subjects.to_pylist())
        found |= dict(zip(keys, pairs, strict=True))
    return found


#: The name under which the messages of these subjects stand among the rows.
OUTSIDE = "~outside"
_COLUMNS = (
    *("subject", "reason", "published", "taken", "first_accepted", "last_accepted", ACCEPTED),
    "account",
)


def outside_rows(summed: pa.Table, subjects: Subjects) -> Rows:
    """Return the accepted messages of these subjects, from the sums of all."""
    import pyarrow.compute as pc

    at = summed["at"].combine_chunks()
    addressed = subjects.addressed.take(at)
    wanted = pc.and_(pc.invert(addressed), pc.greater(summed["published"], 0).combine_chunks())
    at = at.filter(wanted)
    table = summed.filter(wanted).select(_COLUMNS[2:-1])
    table = table.add_column(0, "reason", subjects.text("reason", at))
    table = table.add_column(0, "subject", subjects.texts.take(at))
    table = table.append_column("account", subjects.account.take(at))
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
        table = add_up(table.drop_columns(["key"]), ("subject", "reason", "account"))
        table = table.append_column("known", pc.fill_null(table["account"], ""))
        table = table.sort_by([("subject", "ascending"), ("known", "ascending")])
    firsts = pc.replace_substring_regex(table["subject"], r"(?s)\..*", "")
    begins = pc.is_in(firsts, value_set=pa.array(list(planes), pa.string()))
    malformed = table.filter(begins)
    malformed = malformed.select(_COLUMNS).rename_columns(
        ["subject", "reason", "count", "received", "first", "last", RATE, "account"]
    )
    other = table.filter(pc.invert(begins)).select(["subject", "published", "account"])
    other = other.rename_columns(["subject", "count", "account"])
    classes = [classify(text) for text in other["subject"].to_pylist()]
    other = other.append_column("class", pa.array(classes, pa.string()))
    return {"malformed": malformed, "other_traffic": other}


#: The name of their table.
HOT = "hot_subjects"
#: The number of rows of ``hot_subjects``.
HOTTEST = 100
#: In place of its name: the subjects that can be in it, which must be counted.
CANDIDATES = "~candidates"
_MOST_CANDIDATES = 100_000
#: The subjects that a part names if it has only some of their messages.
NAMED = 4_096
_NAME = ("subject", "account")
_COUNTED = (*_NAME, "published")
_ORDER: list[tuple[str, Any]] = [
    *(("published", "descending"), ("subject", "ascending"), ("account", "ascending")),
]


def most_published(summed: pa.Table, subjects: Subjects) -> pa.Table:
    """Return the subjects with the most messages.

    Args:
        summed: The number of each subject (``at``), ``published`` and ``bytes``; one row each.
        subjects: The subjects.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if summed.num_rows > HOTTEST:
        counts = summed["published"].to_numpy()
        least = np.partition(counts, len(counts) - HOTTEST)[len(counts) - HOTTEST]
        summed = summed.filter(pc.greater_equal(summed["published"], int(least)))
    at = summed["at"].combine_chunks()
    found = pa.table({"subject": subjects.texts.take(at), "account": subjects.account.take(at),
                      "published": summed["published"], "bytes": summed["bytes"]})  # fmt: skip
    if found.num_rows > HOTTEST:  # subjects with as many messages as the last of them
        found = found.take(pc.select_k_unstable(found, HOTTEST, _ORDER))
    return found


def names_of_most(tables: Sequence[pa.Table], most: int) -> pa.Table:
    """Return the subjects that have the most messages in some tables together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    added = add_up(pa.concat_tables([each.select(_COUNTED) for each in tables]), _NAME)
    return added.take(pc.select_k_unstable(added, most, _ORDER))


class Hottest(NamedTuple):
    """The rows of ``hot_subjects``, or the subjects that can be among them.

    Attributes:
        rows: The rows; None if the parts do not tell which they are.
        candidates: The subjects of which one must count the messages; None if it can be any.
    """

    rows: pa.Table | None
    candidates: pa.Table | None


def hottest(tables: Iterable[pa.Table], published: int, unnamed: int) -> Hottest:
    """Return the rows of ``hot_subjects``, or what is known about them.

    Memory: at most 100,000 candidates.

    Args:
        tables: What the parts name; all rows of a subject are in one table. A row of a part that
            has only some messages has the column ``unnamed``.
        published: The number of accepted messages.
        unnamed: The sum of ``unnamed`` over all parts.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    best: pa.Table | None = None
    open_: list[pa.Table] = []  # the others that can be among the best
    least = held = 0
    for table in tables:
        if "unnamed" not in table.column_names:
            table = table.append_column("unnamed", pa.repeat(pa.scalar(0), table.num_rows))
        added = add_up(table.drop_columns(["key"]), _NAME)
        hidden = pc.subtract(unnamed, added["unnamed"])
        added = added.drop_columns(["unnamed"]).append_column("hidden", hidden)
        both = added if best is None else pa.concat_tables([best, added])
        ordered = both.sort_by(_ORDER)
        best, rest = ordered.slice(0, HOTTEST), ordered.slice(HOTTEST)
        least = best["published"][-1].as_py() if best.num_rows == HOTTEST else 0
        open_.append(rest.filter(pc.greater(rest["hidden"], 0)))
        held += open_[-1].num_rows
        if held > _MOST_CANDIDATES:
            open_ = [_reaching(open_, least)]
            held = open_[0].num_rows
    if best is None:
        return Hottest(None if unnamed else hot_rows([], published), None)
    if (unnamed and least <= unnamed) or held > _MOST_CANDIDATES:
        return Hottest(None, None)
    others = _reaching(open_, least)
    if others.num_rows or pc.max(best["hidden"]).as_py():
        return Hottest(None, pa.concat_tables([best, others]).select(list(_NAME)))
    return Hottest(hot_rows(best.to_pylist(), published), None)


def _reaching(tables: Sequence[pa.Table], least: int) -> pa.Table:
    """Return the subjects that can have so many messages."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.concat_tables(tables)
    return table.filter(pc.greater_equal(pc.add(table["published"], table["hidden"]), least))


def hot_rows(rows: Iterable[dict[str, Any]], published: int) -> pa.Table:
    """Return rows of ``hot_subjects``, sorted by subject, with their share."""
    import pyarrow as pa

    made = [
        {name: row[name] for name in (*_NAME, "published", "bytes")}
        | {"share": row["published"] / published}
        for row in sorted(rows, key=lambda row: (row["subject"], row["account"] or ""))
    ]
    return pa.Table.from_pylist(made, arrow_schema(TABLE_COLUMNS[HOT]))
