"""The parts of a report at their limits: edges, diffs of rules, tables, counts and cells."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from report_runs import START, RunOfRows, call, row

from subtrie.audit import TABLES
from subtrie.audit._results.shown_rows import shown_rows, told_elsewhere
from subtrie.audit._schema import TABLE_COLUMNS
from subtrie.microbus import encode_reply
from subtrie.report import Report, read_report, to_html, to_markdown
from subtrie.report import _edges as edges
from subtrie.report import _html as html
from subtrie.report import _rows as rows
from subtrie.report import _rule_diffs as rule_diffs
from subtrie.report._markdown import cell
from subtrie.report._sections import LEADS


def read(tables: dict[str, list[dict[str, Any]]]) -> Report:
    return read_report(RunOfRows(tables))


def subject(path: str, source: str = "a_x", host: str = "b_x") -> str:
    return f"prod.safe.443.{source}.{host}._.GET.{path}"


def undelivered(*subjects: str) -> list[dict[str, Any]]:
    return [row("undelivered", subject=each, count=1) for each in subjects]


def test_edges_are_ordered_by_messages_then_by_name_and_cut(monkeypatch):
    monkeypatch.setattr(edges, "MOST_EDGES", 3)
    report = read({"call_graph": [call("a.x", "c.x", 5), call("b.x", "a.x", 7),
                                  call("a.x", "b.x", 5), call("z.x", "a.x", 1)]})  # fmt: skip
    assert [(each.source, each.destination) for each in report.edges] == [
        ("b.x", "a.x"), ("a.x", "b.x"), ("a.x", "c.x"),
    ]  # fmt: skip
    assert report.edges_total == report.counts["edges"] == 4


def test_an_edge_adds_up_each_count():
    more = {"refused": 2, "delivered": 3, "undelivered": 4, "bytes": 5, "route": "z"}
    late = START + timedelta(hours=1)
    first = call("a.x", "b.x", 1, **more, first=None, last=None)
    (edge,) = read({"call_graph": [first, call("a.x", "b.x", 10, **{**more, "route": "y"},
                                               first=START, last=late)]}).edges  # fmt: skip
    assert (edge.published, edge.refused, edge.delivered) == (11, 4, 6)
    assert (edge.undelivered, edge.bytes, edge.routes) == (8, 10, 2)
    assert (edge.first, edge.last) == (rows.time_text(START), rows.time_text(late))


@pytest.mark.parametrize("part", ["port", "method", "route"])
def test_routes_of_an_edge_differ_in_port_method_or_path(part):
    values = {"port": (443, 444), "method": ("GET", "PUT"), "route": ("y", "z")}[part]
    calls = [call("a.x", "b.x", 1, **{part: each}) for each in (*values, values[0])]
    (edge,) = read({"call_graph": calls}).edges
    assert (edge.routes, edge.published) == (2, 3)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_an_edge_has_up_to_three_examples_in_their_order(number):
    subjects = [subject(f"p{each}") for each in range(number)]
    (edge,) = read({"call_graph": [call("a.x", "b.x", 9)],
                    "undelivered": undelivered(*subjects, *subjects)}).edges  # fmt: skip
    assert edge.samples == tuple(subjects[:3])


def test_an_example_is_a_request_of_the_edge():
    reply = str(encode_reply(plane="prod", source="a.x", host="b.x", id="id-1"))
    others = [subject("x", source="c_x"), subject("x", host="c_x"), "no.address", reply]
    (edge,) = read({"call_graph": [call("a.x", "b.x", 9)],
                    "undelivered": undelivered(*others, subject("y"))}).edges  # fmt: skip
    assert edge.samples == (subject("y"),)


@pytest.mark.parametrize("table", ["undelivered", "refused", "hot_subjects", "fan_out"])
def test_an_example_is_of_any_table_with_subjects(table):
    rows_of = [row(table, subject=subject("y"), count=1, published=1)]
    (edge,) = read({"call_graph": [call("a.x", "b.x", 9)], table: rows_of}).edges
    assert edge.samples == (subject("y"),)


def test_so_many_subjects_are_read_for_examples(monkeypatch):
    monkeypatch.setattr(edges, "_SUBJECTS_READ", 2)
    tables = {"call_graph": [call("a.x", "b.x", 9)]}
    for others, samples in ((1, (subject("y"),)), (2, ())):
        lost = undelivered(*(f"o.{each}" for each in range(others)), subject("y"))
        assert read({**tables, "undelivered": lost}).edges[0].samples == samples


def test_a_flow_has_names_for_unknown_ends():
    flows = [row("flows", publisher=who, pattern=pattern, subscriber=to, published=1)
             for who, pattern, to in (("p", "a", "s"), ("p", "b", "s"), (None, "a", "s"),
                                      ("p", "a", None))]  # fmt: skip
    report = read({"flows": flows, "hot_subjects": [row("hot_subjects", subject=subject("y"))]})
    assert [(each.source, each.destination, each.routes, each.samples)
            for each in report.edges] == [
        ("p", "s", 2, ()), ("(unknown)", "s", 1, ()), ("p", "(no subscriber)", 1, ()),
    ]  # fmt: skip
    assert report.counts["services"] == 4


def usage(rule: str | None, effect: str = "allow", service: str = "s", verb: str = "publish"):
    return row("permission_usage", service=service, verb=verb, effect=effect, rule=rule)


def proposal(rule: str, service: str = "s", verb: str = "publish"):
    return row("proposal", service=service, verb=verb, rule=rule)


def test_a_diff_has_the_allow_rules_of_a_service_with_a_proposal():
    report = read({
        "permission_usage": [usage("b"), usage("b"), usage("d", "deny"), usage(None), usage("c"),
                             usage("x", service="other"), usage("c", verb="subscribe")],
        "proposal": [proposal("c"), proposal("a"), proposal("n", service="r"),
                     proposal("b", verb="subscribe")],
    })  # fmt: skip
    assert [(each.service, each.added, each.removed, each.lines) for each in report.diffs] == [
        ("r", 1, 0, ("  # publish", "+ n")),
        ("s", 2, 2, ("  # publish", "+ a", "- b", "  c", "  # subscribe", "+ b", "- c")),
    ]


@pytest.mark.parametrize(("most", "lengths"), [
    (9, [3, 3, 3]), (10, [3, 3, 3]), (8, [3, 3, 2]), (7, [3, 3, 1]), (6, [3, 3]), (4, [3, 1]),
    (2, [2]),
])  # fmt: skip
def test_the_lines_of_all_diffs_have_one_limit(monkeypatch, most, lengths):
    monkeypatch.setattr(rule_diffs, "MOST_LINES", most)
    proposed = [proposal(rule, service=service) for service in "cab" for rule in "xy"]
    diffs = read({"proposal": proposed}).diffs
    assert [len(each.lines) for each in diffs] == lengths
    assert [each.service for each in diffs] == ["a", "b", "c"][: len(lengths)]
    assert all((each.added, each.removed) == (2, 0) for each in diffs)


def test_rows_have_a_limit_in_number_and_one_in_bytes(monkeypatch):
    subjects = [row("other_traffic", subject=f"s{n}", count=n, **{"class": "x"}) for n in range(9)]
    monkeypatch.setattr(rows, "MOST_ROWS", 4)
    (section,) = read({"other_traffic": subjects}).sections
    assert ([each[0] for each in section.rows], section.total) == (["s8", "s7", "s6", "s5"], 9)
    monkeypatch.setattr(rows, "MOST_ROWS", 100)
    size = len('["s8", 8, "x", null]')
    for budget, shown in ((2 * size, 2), (2 * size - 1, 1), (2 * size + 1, 2), (0, 0)):
        monkeypatch.setattr(rows, "_OTHER_BUDGET", budget)
        (section,) = read({"other_traffic": subjects}).sections
        assert (len(section.rows), section.total) == (shown, 9)


def test_a_table_has_its_own_number_of_bytes(monkeypatch):
    """Tables that people explore have more than the others."""
    assert rows._BUDGET["call_graph"] > rows._BUDGET["flows"] > rows._OTHER_BUDGET
    tables = {"call_graph": [call("a.x", "b.x", 1)] * 9,
              "flows": [row("flows", publisher="a", pattern="p", published=1)] * 9,
              "other_traffic": [row("other_traffic", subject="s", count=1)] * 9}  # fmt: skip
    for table in tables:
        for name in ("call_graph", "flows"):
            monkeypatch.setitem(rows._BUDGET, name, 10_000 * (table == name))
        monkeypatch.setattr(rows, "_OTHER_BUDGET", 10_000 * (table == "other_traffic"))
        shown = {each.table: len(each.rows) for each in read(tables).sections}
        assert shown == {each: 9 * (each == table) for each in tables}


def test_a_row_without_its_count_comes_after_those_with_one():
    made = [row("hot_subjects", subject=name, published=count)
            for name, count in (("a", None), ("b", 0), ("c", 1))]  # fmt: skip
    (section,) = read({"hot_subjects": made}).sections
    assert [each[0] for each in section.rows] == ["c", "a", "b"]


@pytest.mark.parametrize(("table", "ranked", "order"), [
    ("hot_subjects", "published", "cab"), ("undelivered", "count", "cab"),
    ("gap", "traffic", "cab"), ("replies", "published", "cab"), ("coverage", "delivered", "cab"),
    ("permission_usage", "accepted", "bac"), ("subscriptions", None, "abc"),
])  # fmt: skip
def test_the_largest_rows_come_first_and_unused_rules(table, ranked, order):
    """Of equal rows the first comes first; a table without a count stays as it is."""
    text = next(name for name in TABLES[table]
                if name in ("subject", "path", "replier", "pattern", "rule"))  # fmt: skip
    values = zip("abc", (2, 1, 3), strict=True) if ranked else zip("abc", (0, 0, 0), strict=True)
    made = [row(table, **{text: name} | ({ranked: count} if ranked else {}), start=START)
            if table == "subscriptions" else row(table, **{text: name, str(ranked): count})
            for name, count in values]  # fmt: skip
    section = next(each for each in read({table: made}).sections if each.table == table)
    place = [each.name for each in section.columns].index(text)
    assert "".join(each[place] for each in section.rows) == order


def refusal(subject: str, count: int, first: int | None, last: int | None, **more: Any) -> Any:
    times = [None if at is None else START + timedelta(seconds=at) for at in (first, last)]
    usual = {"who": "u", "kind": "publish", "subject": subject, "count": count}
    return row("refused", first=times[0], last=times[1], **{**usual, **more})


def test_rows_that_differ_in_a_number_of_their_subject_are_shown_as_one(monkeypatch):
    refused = [
        refusal("a.17", 2, 5, 6), refusal("b.7", 1, 1, 2), refusal("a.18", 3, None, None),
        refusal("a.19", 4, 3, 9), refusal("a.17", 1, 0, 1, kind="subscribe"),
    ]  # fmt: skip

    def shown() -> list[tuple[Any, ...]]:
        found = shown_rows(RunOfRows({"refused": [dict(each) for each in refused]}), "refused")
        return [
            (each["subject"], each["kind"], each["count"], *(
                None if each[name] is None else (each[name] - START).seconds
                for name in ("first", "last")
            ))
            for each in found
        ]  # fmt: skip

    together = [("a.*", "publish", 9, 3, 9), ("b.7", "publish", 1, 1, 2),
                ("a.17", "subscribe", 1, 0, 1)]  # fmt: skip
    assert shown() == together
    monkeypatch.setattr("subtrie.audit._results.shown_rows._MOST", 3)
    assert shown() == together  # three groups are all
    monkeypatch.setattr("subtrie.audit._results.shown_rows._MOST", 2)
    assert sorted(shown()) == sorted([
        ("a.17", "publish", 2, 5, 6), ("b.7", "publish", 1, 1, 2),
        ("a.18", "publish", 3, None, None), ("a.19", "publish", 4, 3, 9),
        ("a.17", "subscribe", 1, 0, 1),
    ])  # fmt: skip


@pytest.mark.parametrize(("second", "counts"), [([3], [5]), ([2], None), (None, None)])
def test_the_rate_of_rows_shown_as_one_has_all_of_them(second, counts):
    """One that does not have all messages of its row, as of an older result, tells nothing."""
    rates = [
        None if each is None else {"start": START, "width_s": 1, "counts": each}
        for each in ([2], second)
    ]
    refused = [refusal("a.1", 2, 0, 0, rate=rates[0]), refusal("a.2", 3, 0, 0, rate=rates[1])]
    (found,) = shown_rows(RunOfRows({"refused": refused}), "refused")
    assert (found["rate"] and found["rate"]["counts"]) == counts


def user(who: str, user: str | None = None, client: str | None = None, **more: Any) -> Any:
    return {"who": who, "user": user, "client": client, **more}


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ([], set()),
        ([user("a", "u"), user("b", "v")], {"user", "client"}),
        ([user("a", "u"), user("b", "u")], {"user", "client"}),
        ([user("a", "u"), user("a", "v")], {"client"}),
        ([user("a", "u", "x"), user("a", "u", "y")], {"user"}),
        # A rule that nothing used is that of no program; if none was used, all count.
        ([user("a", "u", "x", decided=1, accepted=1, refused=0),
          user("a", None, None, decided=0, accepted=0, refused=0)], {"user", "client"}),
        ([user("a", "u", "x", decided=1, accepted=0, refused=1),
          user("a", "v", "x", decided=1, accepted=1, refused=0)], {"client"}),
        ([user("a", "u", "x", decided=0, accepted=0, refused=0),
          user("a", "v", "x", decided=0, accepted=0, refused=0)], {"client"}),
        ([{"subscriber": "s", "subscriber_user": "u", "subscriber_client": each} for each in "xy"],
         {"subscriber_user"}),
        ([{"subscriber": "s", "subscriber_user": each, "subscriber_client": "x"} for each in "uv"],
         {"subscriber_client"}),
        ([{"other": 1, "user": "u", "client": "x"}], set()),
    ],
    ids=range(11),
)  # fmt: skip
def test_columns_that_say_no_more_than_the_identity_are_not_shown(listed, told):
    assert told_elsewhere(listed) == told


def test_the_flows_are_the_last_table_where_there_are_calls():
    tables = {"flows": [row("flows", publisher="a", pattern="p", published=1, first=START)],
              "coverage": [row("coverage", pattern="p", matched=1)]}  # fmt: skip
    assert [each.table for each in read(tables).sections] == ["flows", "coverage"]
    calls = read({**tables, "call_graph": [call("a.x", "b.x", 1)]})
    assert [each.table for each in calls.sections] == ["call_graph", "coverage", "flows"]
    assert calls.empty == [each for each in LEADS if each not in
                           ("call_graph", "coverage", "flows")]  # fmt: skip


#: Values of each kind of column, as they are shown.
CELLS = (
    (None, "count", "-"), (True, "flag", "yes"), (False, "flag", "no"), (0, "count", "0"),
    ("2026-11-21T08:00:00.000000Z", "time", "2026-11-21 08:00:00.000000"),
    (["a", "b"], "text", "a, b"), (0.1234, "share", "12.3%"), (1_234, "count", "1,234"),
    (1_234_567, "microseconds", "1,234.57 ms"), (1_234, "bytes", "1,234"),
    (1_234, "number", "1234"), ("x", "text", "x"), ("x", "subject", "x"),
)  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "text"), CELLS)
def test_a_cell_is_written_as_its_kind(value, kind, text):
    assert cell(value, kind) == text


#: The columns whose kind is not text.
KINDS = {
    "time": "first last start end window time", "microseconds": "p50 p99", "share": "share",
    "subject": "subject pattern route nearest rule witness path text covered_by",
    "count": "published refused delivered undelivered forwarded count instances accepted received "
             "matched subscribers groups traffic redelivered acknowledged decided days errors "
             "offset",
    "number": "port per_minute differs_at", "bytes": "bytes", "flag": "subscription_inactive",
}  # fmt: skip


def test_each_column_has_the_kind_of_its_values():
    """A number that is not known to be a count was written without commas, a time as text."""
    wanted = {name: kind for kind, names in KINDS.items() for name in names.split()}
    schema = {name: columns for name, columns in TABLES.items() if name != "runs"}
    known = {column for columns in schema.values() for column in columns}
    assert set(wanted) <= known, set(wanted) - known
    from subtrie.report._sections import _KINDS

    assert {name: _KINDS.get(name, "text") for name in wanted} == wanted
    texts, numbers = {"text", "subject"}, {"count", "bytes", "number", "share", "microseconds"}
    kinds = {"timestamp": {"time"}, "boolean": {"flag"}, "string": texts, "bigint": numbers,
             "int": numbers, "double": numbers}  # fmt: skip
    for table, columns in TABLE_COLUMNS.items():
        for name, stored in columns if table != "runs" else ():
            assert _KINDS.get(name, "text") in kinds.get(stored, texts), (table, name, stored)


def test_the_title_names_three_planes():
    titles = {0: "Traffic", 1: "Traffic on p0", 3: "Traffic on p0, p1, p2",
              4: "Traffic on p0, p1, p2 and 1 more planes"}  # fmt: skip
    for number, title in titles.items():
        calls = [call("a.x", "b.x", 1, plane=f"p{each}") for each in range(number)]
        assert read({"call_graph": calls}).title == title


@pytest.mark.parametrize("table", ["call_graph", "undelivered", "flows"])
def test_the_time_of_a_run_is_that_of_each_table_of_messages(table):
    late = START + timedelta(hours=1)
    counts = read({table: [row(table, plane="p", published=1, subject="s", first=START, last=late)
                           ]}).counts  # fmt: skip
    assert (counts["first"], counts["last"]) == (rows.time_text(START), rows.time_text(late))
    nothing = read({}).counts
    assert (nothing["first"], nothing["last"], nothing["services"]) == (None, None, 0)


def test_markdown_has_fifty_rows_of_a_table_and_says_how_many_there_are():
    for number, told in ((50, False), (51, True)):
        rows_of = [row("other_traffic", subject=f"s{n}", count=1) for n in range(number)]
        text = to_markdown(read({"other_traffic": rows_of}))
        assert text.count("| `s") == 50
        assert (f"50 of {number} rows." in text) is told


def test_all_of_a_report_in_markdown(monkeypatch):
    monkeypatch.setattr("subtrie.report._read.MOST_FINDINGS", 1)
    report = read({
        "call_graph": [call("a.x", "b.x", 1_234, plane="_p_")],
        "undelivered": [row("undelivered", subject="a.b", count=2),
                        row("undelivered", subject="x", nearest="x", count=1, differs_at=0)],
        "permission_usage": [usage("r\x1b", service="_s_")],
        "proposal": [proposal("q", service="_s_")],
        "hot_subjects": [row("hot_subjects", subject="a|b", published=1_000, share=0.5)],
    })  # fmt: skip
    report = replace(report, verdict="_bad_", run={**report.run, "version": "_1_"})
    lines = to_markdown(report).splitlines()
    assert lines[:7] == ["# Traffic on &#95;p&#95;", "", "**&#95;bad&#95;**", "",
                         "| read | value |", "|---|---|", "| ambiguous | 0 |"]  # fmt: skip
    assert "| first | 2026-11-21 08:00:00.000000 |" in lines
    assert "| published | 1,235 |" in lines
    assert "| input | - |" not in lines
    place = lines.index("## Findings")
    assert lines[place - 1] == lines[place + 1] == ""
    assert lines[place + 5 : place + 11] == [
        "", "2 more findings are not shown.", "", "To see the lines of the log:", "",
        f"    {report.findings[0].command}",
    ]  # fmt: skip
    place = lines.index("## Proposed rules of &#95;s&#95;")
    assert lines[place - 1 : place + 6] == ["", lines[place], "", "      # publish", "    + q",
                                            "    - r\\x1b", ""]  # fmt: skip
    place = lines.index("## Hot subjects")
    assert lines[place - 1 : place + 7] == [
        "", lines[place], "", LEADS["hot_subjects"], "",
        "| subject | published | bytes | share |", "|---|---|---|---|",
        "| <code>a&#124;b</code> | 1,000 | 0 | 50.0% |",
    ]  # fmt: skip
    assert lines[-3] == f"Without rows: {', '.join(report.empty)}."
    assert lines[-1] == f"Run {report.run['run']}, subtrie &#95;1&#95;, input {'0' * 64}."
    bare = replace(report, findings=[], findings_left_out=0, empty=[],
                   run={**report.run, "input_digest": None})  # fmt: skip
    text = to_markdown(bare)
    assert text.endswith(", input -.\n")
    assert not any(each in text for each in ("Findings", "not shown", "Without rows", "To see"))


def test_what_the_page_says_before_a_script_runs():
    refused = read({"refused": [row("refused", who="u", kind="publish", subject="s", count=1)]})
    digest = "0123456789abcdef" * 4
    run = {"run": "<r>", "version": "<v>", "input_digest": digest}
    page = to_html(replace(refused, title="<t>\x1b", verdict="<bad>\x1b\n", run=run))
    head = page[: page.index("<script")]
    for text in ("&lt;t&gt;\\x1b", "&lt;bad&gt;\\x1b\\n", "&lt;r&gt;", "&lt;v&gt;", digest[:16]):
        assert text in head, text
    assert not any(text in head for text in ("\x1b", "<t>", "<bad>", digest[:17]))
    assert 'class="verdict bad"' in head
    good = to_html(replace(refused, findings=[], run={**run, "input_digest": None}))
    assert 'class="verdict good"' in good[: good.index("<script")]


@pytest.mark.parametrize("name", ["evil.js", "evil.css"])
@pytest.mark.parametrize("text", ["a</SCRIPT>", "a</script", "a</style", "a</STYLE>"])
def test_a_file_that_would_end_its_element_is_refused(tmp_path, monkeypatch, name, text):
    (tmp_path / name).write_text(text)
    monkeypatch.setattr("subtrie.report._html._HERE", tmp_path)
    with pytest.raises(ValueError, match=f"{name} would end the element"):
        html._text(name)


def test_a_report_says_what_was_read():
    tables = {"subscriptions": [row("subscriptions", pattern="a", start=START)] * 3,
              "unparseable": [row("unparseable", reason="x", text="t")]}  # fmt: skip
    counts = read({**tables, "call_graph": [call("a.x", "a.x", 1)]}).counts
    assert counts == {
        "ambiguous": 0, "forwarded": 0, "lines": 3, "operations": 2, "payloads": 0, "server": 0,
        "unmatched": 0, "unparseable_lines": 1, "published": 2, "services": 1, "edges": 1,
        "subscriptions": 3, "first": rows.time_text(START), "last": counts["last"],
    }  # fmt: skip
    assert list(counts)[:8] == sorted(list(counts)[:8])
    report = read({"call_graph": [call("a.x", "b.x", 1, plane=each) for each in "qp"]})
    assert (report.run["planes"], report.run["options"]) == (["p", "q"], {})
    assert list(report.run) == ["run", "version", "input_digest", "options", "planes"]
    for name, shown in (("NAME", "NAME"), (None, "RUN")):
        found = read_report(RunOfRows(tables), name=name).findings
        assert f" -- {shown} " in found[0].command


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_findings_beyond_the_limit_are_left_out_and_counted(monkeypatch, number):
    monkeypatch.setattr("subtrie.report._read.MOST_FINDINGS", 2)
    refused = [row("refused", who=f"u{n}", kind="publish", subject="s", count=1)
               for n in range(number)]  # fmt: skip
    report = read({"refused": refused})
    assert (len(report.findings), report.findings_left_out) == (min(number, 2), max(0, number - 2))


def test_the_title_is_text_of_a_bounded_length():
    (name,) = {
        each.title for each in [read({"call_graph": [call("a", "b", 1, plane="\x1b" * 99)]})]
    }
    assert name.isprintable()
    assert len(name) < 220
    flows = [row("flows", publisher="a", pattern="p", published=1)]
    assert read({"flows": flows}).title == "Traffic without Microbus"


@pytest.mark.parametrize("error", [TypeError, KeyError, AttributeError, ZeroDivisionError,
                                   OverflowError, IndexError])  # fmt: skip
def test_a_value_of_another_program_is_one_clear_error(error):
    class Broken(RunOfRows):
        def count(self, table: str) -> int:
            raise error("odd")

    with pytest.raises(ValueError, match=r"^NAME: a value of the result is not that of an audit: "):
        read_report(Broken({}), name="NAME")


def test_an_older_result_has_fewer_tables():
    class Older(RunOfRows):
        def rows(self, table: str) -> Any:
            if table in ("links", "consumers", "proposal", "flows"):
                raise KeyError(table)
            return super().rows(table)

    report = read_report(Older({"undelivered": undelivered("s")}))
    assert [each.table for each in report.sections] == ["undelivered"]
    assert "links" in report.empty


def test_a_page_says_at_its_top_whether_there_are_findings():
    for tables, state in (({}, "good"), ({"undelivered": undelivered("s")}, "bad")):
        assert f'<p class="verdict {state}">' in to_html(read(tables))
