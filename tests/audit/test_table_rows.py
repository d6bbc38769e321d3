"""The rows of the tables of the traffic from a bucket, against sums in plain Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_rows import Row, added, bucket_of, same, sub, table_of, tables_of

from subtrie import SubtrieError, microbus
from subtrie.audit import Questions
from subtrie.audit._partial.kinds import batches_of
from subtrie.audit._schema import TABLES
from subtrie.audit._tables import traffic
from subtrie.audit._tables.bucket import are_hosts, by_account, replaced, sums_by_subject
from subtrie.audit._tables.traffic import rows_of, sorted_rows, subscription_rows, unparseable_rows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(seconds: int | None) -> datetime | None:
    return None if seconds is None else EPOCH + timedelta(seconds=seconds)


CALL, REPLY = "p1.safe.443.{}.b_com._.{}.x", "p1.reply._.b_com.{}.id-k{}"
SUBJECTS = [CALL.format("a_com", "GET"), CALL.format("c_com", "GET"), CALL.format("a_com", "POST"),
            CALL.format("a_com", "GET").replace("443", "888"), CALL.format("a_com", "GET") + ".y",
            CALL.format("a_com", "GET").replace("b_com", "d_com"), REPLY.format("a_com", 1),
            REPLY.format("a_com", 2), REPLY.format("c_com", 1), "p2.safe.443.a_com.b_com._.GET.x",
            "p2.reply._.b_com.a_com.id-k1", "p1.safe.bad", "orders.new"]  # fmt: skip
COUNTS = ("published", "refused", "taken", "undelivered", "forwarded", "bytes", "lines")


@st.composite
def sent(draw: Any) -> Row:
    """Draw a row of messages: each count and each time is one of its own."""
    row: Row = {
        "server": draw(st.sampled_from("st")), "conn": draw(st.sampled_from(["1/client:1", "1/c"])),
        "account": draw(st.sampled_from([None, "A", "B"])),
        "identity": draw(st.sampled_from([None, "a.com", "b.com", "no host"])),
        "identity_source": draw(st.sampled_from([None, "user"])),
        "user": draw(st.sampled_from([None, "u"])), "client": draw(st.sampled_from([None, "n"])),
        "subject": draw(st.sampled_from(SUBJECTS)), "window": at(draw(st.sampled_from([None, 60]))),
    }  # fmt: skip
    row |= {name: draw(st.integers(0, 3)) for name in COUNTS}
    for end in ("", "_accepted", "_undelivered"):
        first = draw(st.sampled_from([None, 5, 7]))
        row[f"first{end}"], row[f"last{end}"] = at(first), at(None if first is None else first + 4)
    for name in ("rate_accepted", "rate_undelivered"):
        row[name] = draw(st.sampled_from([None, [1, 5, 1], [1, 8, 2]]))
    return row


@st.composite
def received(draw: Any) -> Row:
    """Draw a row of deliveries."""
    return {
        "server": draw(st.sampled_from("st")), "conn": draw(st.sampled_from(["1/client:5", "1/d"])),
        "account": draw(st.sampled_from([None, "A", "B"])), "sid": draw(st.sampled_from("12")),
        "queue": draw(st.sampled_from([None, "q", "r"])),
        "subject": draw(st.sampled_from(SUBJECTS)),
        "window": at(draw(st.sampled_from([None, 60]))), "count": draw(st.integers(1, 3)),
        "subscription": draw(st.sampled_from([None, 0, 1])),
        "consumer": draw(st.sampled_from([None, "_R_"])),
    }  # fmt: skip


def decoded(subject: str) -> Any:
    try:
        found = microbus.decode(subject)
    except SubtrieError:
        return None
    return found if found.plane == "p1" else None


def is_request(address: Any) -> bool:
    return isinstance(address, microbus.RequestAddress)


#: Subscriptions of the account B and of one that is not told.
SUBS = [sub("p1.safe.443.*.b_com._.GET.x", 0), sub("p1.safe.443.*.b_com._.GET.>", 1, account="B"),
        sub("p1.safe.443.*.b_com._.*.*", 2), sub("p1.>", 3, account="C")]  # fmt: skip


def route(subject: str, account: str | None) -> str | None:
    """Return the path of the most specific route of ``SUBS``."""
    if subject.startswith("p1.safe.443.") and ".b_com._.GET.x" in subject:
        if subject.endswith(".x"):
            return "x"
        return ">" if account in (None, "B") else None
    return "*" if subject == CALL.format("a_com", "POST") else None


@settings(max_examples=15)
@given(st.lists(sent(), max_size=8), st.lists(received(), max_size=6))
def test_the_tables_of_messages_are_sums_of_their_rows(publish, delivery) -> None:
    bucket = bucket_of(publish, delivery, subscription=SUBS)
    found = tables_of(bucket)
    both = [row | {"delivered": 0} for row in publish]
    none: Row = dict.fromkeys((*both[0], "conn") if both else ()) | dict.fromkeys(COUNTS, 0)
    both += [none | {"server": None, "conn": None, "first": None, "last": None,
                     "delivered": row["count"]}
             | {name: row[name] for name in ("subject", "account", "window")}
             for row in delivery]  # fmt: skip
    calls, replies = [], []
    for row in both:
        address = decoded(row["subject"])
        more = {"plane": address.plane, "account": row["account"]} if address else {}
        if is_request(address):
            calls.append(more | {
                "window": row["window"], "source": address.source, "destination": address.host,
                "port": address.port, "method": address.method,
                "route": route(row["subject"], row["account"]),
                "server_conn": row["server"] and f"{row['server']} {row['conn']}",
                **{name: row[name] for name in ("published", "refused", "delivered", "undelivered",
                                                "forwarded", "bytes", "first", "last")},
            })  # fmt: skip
        elif address is not None:
            replies.append(more | {"replier": address.source, "caller": address.host} | {
                name: row[name] for name in ("published", "delivered", "undelivered")})  # fmt: skip
    keys = ("plane", "window", "source", "destination", "port", "method", "account", "server_conn",
            "route")  # fmt: skip
    # A row may be in several parts, which are added up later.
    same(added(found.get("call_graph", []), keys), added(calls, keys))
    same(found.get("replies", []), added(replies, ("plane", "replier", "caller", "account")))
    assert ("call_graph" in found, "replies" in found) == (bool(calls), bool(replies))
    by = ("subject", "account")
    lost = added([{"subject": row["subject"], "account": row["account"],
                   "count": row["undelivered"],
                   "first": row["first_undelivered"], "last": row["last_undelivered"],
                   "rate": row["rate_undelivered"]}
                  for row in publish if decoded(row["subject"])], by)  # fmt: skip
    names = (*by, "count", "first", "last", "rate")
    same([{name: row[name] for name in names} for row in found.get("undelivered", [])],
         [row for row in lost if row["count"]])  # fmt: skip
    hot = added([{name: row[name] for name in (*by, "published", "bytes")} for row in publish], by)
    same(found.get("hot_subjects", []), [row for row in hot if row["published"]])
    places = dict.fromkeys((row["subject"], row["account"]) for row in delivery)
    same(found.get("fan_out", []), [
        {
            "subject": subject, "account": account, "delivered": sum(r["count"] for r in some),
            "subscribers": len({(r["server"], r["conn"], r["sid"])
                                for r in some if r["queue"] is None}),
            "groups": len({r["queue"] for r in some} - {None}),
        } for subject, account in places
        for some in [[r for r in delivery if (r["subject"], r["account"]) == (subject, account)]]
    ])  # fmt: skip
    totals = [{"forwarded": sum(row["forwarded"] for row in publish)}]
    assert found.get("~totals", []) == (totals if publish or delivery else [])
    _identities(publish, found)
    outside = added([{"subject": row["subject"], "published": row["published"],
                      "account": row["account"]} for row in publish], by)  # fmt: skip
    for name, wanted in (
        ("malformed", ["p1.safe.bad"]),
        ("other_traffic", SUBJECTS[9:11] + SUBJECTS[-1:]),
    ):
        same([{"subject": row["subject"], "published": row["count"], "account": row["account"]}
              for row in found.get(name, [])],
             [row for row in outside if row["published"] and row["subject"] in wanted])  # fmt: skip
    assert "~sums" not in found


PROOF = ("account", "user", "client", "identity_source")


def _identities(publish: list[Row], found: dict[str, list[Row]]) -> None:
    false, planes = [], []
    for row in publish:
        if row["identity"] not in ("a.com", "b.com"):
            continue
        proof = {name: row[name] for name in PROOF}
        address = decoded(row["subject"])
        if address is not None and address.source != row["identity"]:
            false.append({
                "who": row["identity"], "claimed": address.source, "subject": row["subject"],
                "accepted": row["published"], "count": row["published"] + row["refused"],
                "first": row["first"], "last": row["last"], "rate": row["rate_accepted"], **proof,
            })  # fmt: skip
        plane = row["subject"].partition(".")[0]
        if row["published"] and row["subject"] not in ("p1.safe.bad", "orders.new"):
            planes.append({
                "identity": row["identity"], "plane": plane, "count": row["published"],
                "first": row["first_accepted"], "last": row["last_accepted"],
                "rate": row["rate_accepted"], **proof,
            })  # fmt: skip
    same(found.get("spoofed", []), added(false, ("who", "claimed", "subject", *PROOF)))
    same(found.get("cross_plane", []), added(planes, ("identity", "plane", *PROOF)))


# --- the tables of what servers said


EVENTS = ("reason", "subject", "sid", "queue")
#: Table, kind of row, and which column of the row is which of the table.
LISTED = [
    ("refused", "refused", {"subject": "subject", "kind": "reason"}),
    ("slow_consumers", "slow", {}),
    ("claimed_users", "claim", {"claimed": "subject"}),
    ("jetstream_errors", "error", {"request": "sid", "stream": "subject", "why": "queue"}),
    ("logins", "login", {"address": "subject", "outcome": "op", "why": "queue"}),
]


@pytest.mark.parametrize(("table", "kind", "named"), LISTED)
def test_what_servers_said_is_added_up_by_who_it_is_about(table, kind, named) -> None:
    schema = table_of(kind, []).column_names
    base: Row = {name: name for name in schema}
    base |= {"count": 1, "first": at(5), "last": at(5), "rate": [1, 5, 1], "op": "LOGIN"}
    base |= {"day": 0, "window": at(0)}
    rows: list[Row] = [base, base | {"count": 2, "first": at(3), "last": at(9), "rate": [1, 3, 2]},
                       base | {"first": None, "last": None, "rate": None}]  # fmt: skip
    rows += [base | {name: "other"} for name in schema
             if isinstance(base[name], str) and name != "op"]  # fmt: skip
    rows += [base | {name: None} for name in ("identity", "user", "client", "account")]
    if kind == "login":
        rows += [base | {"op": "DENIED"}, base | {"op": "DENIED", "queue": None}]
    rows = [{name: row[name] for name in schema} for row in rows]
    plain = []
    for row in rows:
        who = row["identity"]
        if table not in ("claimed_users", "logins"):
            who = who or row["conn"]
        made = {"who": who, **{ours: row[theirs] for ours, theirs in named.items()}}
        if kind == "login":
            made["outcome"] = {"LOGIN": "accepted", "DENIED": "refused"}[row["op"]]
        plain.append(made | {n: row[n] for n in (*PROOF, "count", "first", "last", "rate")})
    bucket = bucket_of(**{kind: rows})
    found = tables_of(bucket, table)[table]
    same(found, added(plain, ("who", *named, *PROOF)))
    assert set(found[0]) == set(TABLES[table])


@pytest.mark.parametrize(
    "table", ["refused", "slow_consumers", "claimed_users", "jetstream_errors"]
)
def test_a_table_of_nothing_is_empty(table) -> None:
    assert tables_of(bucket_of(), table) == {table: []}


def test_lines_that_could_not_be_parsed() -> None:
    rows = [{"server": "s", "file": "f", "position": n, "reason": "r", "text": f"t{n}"}
            for n in range(2)]  # fmt: skip
    found = tables_of(bucket_of(unparseable=rows), "unparseable")["unparseable"]
    wanted = [{("offset" if n == "position" else n): v for n, v in row.items()} for row in rows]
    same(found, wanted)
    name, table = unparseable_rows(table_of("unparseable", rows))
    assert (name, table.num_rows) == ("unparseable", 2)
    assert table["key"].to_pylist() == sorted(table["key"].to_pylist())


def test_a_bucket_without_messages_has_no_rows_about_them() -> None:
    assert set(tables_of(bucket_of())) == {
        "refused", "slow_consumers", "claimed_users", "jetstream_errors", "unparseable"
    }  # fmt: skip


MADE_WITH = {"call_graph": "replies", "malformed": "other_traffic", "spoofed": "cross_plane"}


def test_the_tables_that_are_wanted() -> None:
    row: Row = {"server": "s", "conn": "1/client:1", "identity": "c.com", "published": 1,
                "undelivered": 1}  # fmt: skip
    publish = [row | {"subject": text} for text in SUBJECTS]
    received = {"server": "s", "conn": "c", "sid": "1", "subject": SUBJECTS[0], "count": 1}
    bucket = bucket_of(
        publish, [received], subscription=SUBS,
        login=[{"server": "s", "op": "LOGIN", "subject": "a", "count": 1}],
        link=[{"server": "s", "conn": "7/route:1", "queue": "up", "position": 1}],
        state=[{"server": "s", "conn": "7/", "op": "START", "position": 1}],
    )  # fmt: skip
    everything = [name for name, _ in rows_of(bucket)]
    assert len(everything) == len(set(everything)) == 19
    for name in everything:
        found = {made for made, _ in rows_of(bucket, [name])}
        pair = {name, MADE_WITH.get(name, name), *(k for k, v in MADE_WITH.items() if v == name)}
        assert found == pair
        assert {made for made, _ in rows_of(bucket, {name, "x", "undelivered"})} == (
            pair | {"undelivered"}
        )
    assert list(rows_of(bucket, [])) == []


def test_sums_of_answers_are_rows_if_they_are_asked() -> None:
    row: Row = {"server": "s", "conn": "1/client:1", "subject": "x", "published": 2, "lines": 0}
    assert "~sums" not in tables_of(bucket_of([row]))
    (name, table), = rows_of(bucket_of([row], questions=Questions()), ["~sums"])  # fmt: skip
    assert name == "~sums"
    assert table.column_names == ["key", "kind", "sums"]
    assert set(table["key"].to_pylist()) == {""}
    assert {"edge", "flow"} <= set(table["kind"].to_pylist())
    ((_, none),) = rows_of(bucket_of(questions=Questions()), ["~sums"])
    assert (none.num_rows, none.column_names) == (0, table.column_names)


@pytest.mark.parametrize(
    ("count", "pieces"), [(0, []), (1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2])]
)
def test_rows_are_moved_in_pieces_in_the_order_of_their_keys(monkeypatch, count, pieces) -> None:
    monkeypatch.setattr(traffic, "_PIECE", 2)
    keys = [f"k{(n * 3) % 5}" for n in range(count)]
    tables = [(name, pa.table({"key": pa.array(keys, pa.string()), "n": range(count)}))
              for name in ("one", "two")]  # fmt: skip
    batches = [row for batch in sorted_rows(tables) for row in batch.to_pylist()]
    assert [row["table"] for row in batches] == ["one"] * len(pieces) + ["two"] * len(pieces)
    for name in ("one", "two"):
        some = [row for row in batches if row["table"] == name]
        parts = [batches_of(row["data"]).read_all().to_pylist() for row in some]
        assert [len(part) for part in parts] == pieces
        assert [row["key"] for row in some] == [part[0]["key"] for part in parts]
        whole = [row for part in parts for row in part]
        assert [row["key"] for row in whole] == sorted(keys)
        assert sorted(row["n"] for row in whole) == list(range(count))


def test_a_piece_of_rows_is_small() -> None:
    """The task that merges them holds one of each bucket."""
    table = pa.table({"key": ["k"] * 2_049})
    found = [len(batches_of(row["data"]).read_all()) for batch in sorted_rows([("t", table)])
             for row in batch.to_pylist()]  # fmt: skip
    assert found == [2_048, 1]


def test_subscriptions_are_covered_without_traffic() -> None:
    bucket = bucket_of(subscription=[*SUBS, sub("a", 7, queue="q")])
    told = subscription_rows(bucket.index.subscriptions)
    assert [name for name, _ in told] == ["subscriptions", "coverage"]
    subscriptions, covered = (table.to_pylist() for _, table in told)
    assert [row["pattern"] for row in subscriptions] == [
        row["pattern"] for row in covered
    ] == [*(each["subject"] for each in SUBS), "a"]  # fmt: skip
    assert {(row["matched"], row["delivered"]) for row in covered} == {(0, 0)}
    assert [(row["account"], row["queue"]) for row in covered] == [
        (None, None), ("B", None), (None, None), ("C", None), (None, "q"),
    ]  # fmt: skip
    assert [row["key"].split("\x01")[2] for row in subscriptions] == [
        f"~{each}" for each in (0, 1, 2, 3, 7)
    ]  # fmt: skip


# --- sums of a bucket


@pytest.mark.parametrize(
    "places", [[], [4], [0, 1, 5], [0, 0, 1], [1, 0, 1], [2, 1, 0], [0, 1, 1], [0, 0]]
)
def test_sums_by_subject_have_one_row_for_each(places) -> None:
    names = sums_by_subject(table_of_at([])).column_names[1:]
    rows = [{"at": place, **{name: value(name, n) for name in names}}
            for n, place in enumerate(places)]  # fmt: skip
    found = sums_by_subject(table_of_at(rows))
    assert set(names) == {
        "published", "taken", "undelivered", "bytes", "rate_accepted", "rate_undelivered",
        "first_accepted", "last_accepted", "first_undelivered", "last_undelivered",
    }  # fmt: skip
    same(found.to_pylist(), added(rows, ("at",)))


def value(name: str, number: int) -> Any:
    if name.startswith("rate"):
        return [1, number, 1]
    return at(number) if name.startswith(("first", "last")) else number + len(name)


def table_of_at(rows: list[Row]) -> pa.Table:
    table = table_of("publish", [{n: v for n, v in row.items() if n != "at"} for row in rows])
    places = pa.array([row["at"] for row in rows], pa.int32())
    return replaced(table.append_column("at", places), "at", places)


def test_names_that_can_be_hosts() -> None:
    names = ["a.com", None, "no host", "a.com", "", "b", "user/x"]
    for column in (pa.array(names), pa.chunked_array([names[:3], names[3:]])):
        assert are_hosts(column).to_pylist() == [
            name in ("a.com", "b") for name in names
        ]  # fmt: skip


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, "A", "B"])), max_size=6),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, "A", "B"])), max_size=6),
    st.sampled_from([None, "A"]),
)
def test_the_subjects_of_each_account_have_numbers_of_their_own(sent, received, only) -> None:
    tables = [
        pa.table({"at": pa.array([place for place, _ in rows], pa.int32()),
                  "account": pa.array([account for _, account in rows], pa.string())})
        for rows in (sent, received)
    ]  # fmt: skip
    subjects = pa.record_batch({"subject": pa.array(["x", "y", "z"]),
                                "address": pa.array([7, 8, 9], pa.int32())})  # fmt: skip
    addresses = pa.record_batch({"kind": pa.array([1])})
    if not sent and not received:
        return
    *numbered, named, same_addresses = by_account(*tables, subjects, addresses, only)
    assert same_addresses is addresses
    places = named.to_pylist()
    if {account or only for _, account in sent + received} != {None}:
        assert len({tuple(row.values()) for row in places}) == len(places)
    for rows, table in zip((sent, received), numbered, strict=True):
        assert table.schema.field("at").type == pa.int32()
        assert table["account"].to_pylist() == [account for _, account in rows]
        for (place, account), number in zip(rows, table["at"].to_pylist(), strict=True):
            assert places[number] == {"subject": "xyz"[place], "address": 7 + place,
                                      "account": account or only}  # fmt: skip
    if len({account or only for _, account in sent + received}) > 1:
        used = {(place, account or only) for place, account in sent + received}
        assert {("xyz".index(row["subject"]), row["account"]) for row in places} == used
