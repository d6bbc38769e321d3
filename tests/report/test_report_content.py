"""The content of a report, and that its three views have the same; no browser is needed."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from base64 import b64encode
from dataclasses import replace
from html import unescape
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_runs import HOSTILE, call, make_run, row, small_tables

from subtrie._cli.app import app
from subtrie._cli.audit_tables import print_tables
from subtrie._core.printable import escaped, printable, shortened
from subtrie._findings.markdown import code_table
from subtrie.report import read_report, to_html, to_json, to_markdown
from subtrie.report._findings import all_findings
from subtrie.spark import open_audit

REPORT = files("subtrie.report")


def embedded(page: str) -> dict[str, object]:
    """Return the content that a page has."""
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.S)
    assert found
    content: dict[str, object] = json.loads(found[1])
    return content


@pytest.fixture(scope="module")
def report(runs):
    return read_report(runs["small"], name="RUN")


def test_findings_are_ordered_by_severity_and_have_a_witness(report):
    kinds = [(each.level, each.rule, each.count) for each in report.findings]
    assert kinds == [
        ("error", "spoofed", 4),
        ("warning", "undelivered", 10),
        ("warning", "refused", 5),
        ("note", "malformed", 12),
    ]
    spoofed, undelivered = report.findings[:2]
    assert (spoofed.first, spoofed.last) == (undelivered.first, undelivered.last)
    assert undelivered.witness == "prod.safe.443.web_example.stock_example._.GET.itms"
    assert (undelivered.first, undelivered.last) == (
        "2026-11-21T08:00:00.000000Z",
        "2026-11-21T08:01:00.000000Z",
    )
    assert shlex.split(undelivered.command) == [
        *("subtrie", "report", "lines", "--log", "LOG", "--", "RUN"),
        *("undelivered", undelivered.witness),
    ]


def test_no_two_findings_have_one_key(runs):
    for run in runs.values():
        found = [each.identity for each in all_findings(open_audit(run))]
        assert len(found) == len(set(found))
        assert found or run == runs["empty"]


def test_the_verdict_is_the_sums(report):
    assert report.verdict == "4 spoofed and accepted, 10 undelivered, 12 malformed, 5 refused"
    assert (report.counts["services"], report.counts["edges"]) == (4, 5)


def test_routes_of_two_services_are_one_edge(report):
    edge = report.edges[0]
    assert (edge.source, edge.destination) == ("web.example", "stock.example")
    assert (edge.published, edge.delivered, edge.undelivered, edge.routes) == (93, 83, 10, 2)
    assert edge.samples == ("prod.safe.443.web_example.stock_example._.GET.itms",)
    trusts = {(each.source, each.destination): each.trusts for each in report.edges}
    assert trusts["orders.example", "token.example"] == ("danger",)


def test_an_edge_has_all_planes_and_trusts_and_the_whole_time(tmp_path):
    rows = [
        call("a.x", "b.x", 3, plane="two", port=666, route="z"),
        call("a.x", "b.x", 5, plane="one"),
        call("a.x", "b.x", 1, plane="two"),
    ]
    (edge,) = read_report(make_run(tmp_path / "run", {"call_graph": rows})).edges
    assert (edge.planes, edge.trusts) == (("one", "two"), ("danger", "safe"))
    assert (edge.published, edge.routes) == (9, 2)
    alone = read_report(make_run(tmp_path / "alone", {"call_graph": rows[1:2]})).edges[0]
    assert (edge.first, edge.last) == (alone.first, alone.last)


def test_an_edge_has_at_most_three_different_examples_the_undelivered_first(tmp_path):
    def subject(path: str) -> str:
        return f"prod.safe.443.a_x.b_x._.GET.{path}"

    paths = ["n", "m", "n", "l", "k"]
    tables = {
        "call_graph": [call("a.x", "b.x", 9)],
        "hot_subjects": [row("hot_subjects", subject=subject(each)) for each in paths],
        "undelivered": [row("undelivered", subject=subject("lost"), count=1)],
    }
    (edge,) = read_report(make_run(tmp_path / "run", tables)).edges
    assert edge.samples[0] == subject("lost")
    assert len(edge.samples) == len(set(edge.samples)) == 3


def test_commands_are_quoted_for_a_shell(runs):
    found = read_report(runs["hostile"], name="a run; rm -rf").findings
    assert found
    for each in found:
        words = shlex.split(each.command)
        assert "a run; rm -rf" in words
        assert each.command.isprintable()


def test_the_three_views_have_one_content(report):
    page = to_html(report)
    assert embedded(page) == json.loads(to_json(report)) == json.loads(json.dumps(report.as_dict()))
    text = MarkdownIt("commonmark").enable("table").render(to_markdown(report))
    plain = unescape(re.sub(r"<[^>]*>", "", text))
    for section in report.sections:
        assert section.title in plain
    for each in report.findings:
        assert each.witness in plain
        assert each.message in plain


def test_the_same_run_gives_the_same_bytes(runs):
    for view in (to_html, to_markdown, to_json):
        assert view(read_report(runs["small"], name="R")) == view(
            read_report(runs["small"], name="R")
        )


def test_hostile_text_is_not_markup(runs):
    report = read_report(runs["hostile"])
    page = to_html(report)
    assert len(re.findall(r"<script\b", page)) == 1 + len(scripts_of(page))
    assert embedded(page)["edges"]
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(to_markdown(report))
    tags = set(re.findall(r"<\s*/?\s*([a-z0-9!-]+)", rendered))
    allowed = {"h1", "h2", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code"}
    assert tags <= allowed | {"pre"}, tags
    assert "\u202e" not in to_markdown(report) + page
    assert "\x1b" not in to_markdown(report) + page


TEXTS = st.text(st.sampled_from("ab_*>.@#:`|\\\\[]()!<&~ -/7\u202e\x1b"), min_size=1, max_size=12)


@given(st.lists(TEXTS.filter(lambda text: text == text.strip()), min_size=2, max_size=4))
@example(["prod._.a_b", "prod._.c_d"])
@example(["a.![p](https://evil.example/p.png)@team#1", "b`c"])
@example(["a|b", "`"])
@example(["@team", "a.@team.b"])
@pytest.mark.requirement("T19")
def test_a_subject_in_markdown_is_code_and_nothing_else(texts):
    """An underscore was written as ``&#95;``, which no terminal and no diff shows as one."""
    markdown = code_table(["subject"] * len(texts), [texts])
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    cells = re.findall(r"<td>(.*?)</td>", rendered)
    assert [unescape(cell) for cell in cells] == [f"<code>{printable(t)}</code>" for t in texts]
    signs = set("&<|`[]()!@#~:\\\u202e\x1b")  # a text with one of these is written as HTML
    assert "&#95;" not in markdown or signs & set("".join(texts))
    assert "@" not in markdown


@pytest.mark.requirement("T19")
def test_the_title_of_a_page_is_text(report):
    named = replace(report, title="</title><script>a&b\u202e")
    page = to_html(named)
    (title,) = re.findall(r"<title>(.*?)</title>", page, re.S)
    assert title == "&lt;/title&gt;&lt;script&gt;a&amp;b\\u202e"


def test_prose_in_markdown_has_no_mention_and_keeps_words_with_underscores():
    assert escaped("a_b _c_ @team") == "a_b &#95;c&#95; &#64;team"


@given(st.text(st.sampled_from("ab:!()[]/ .0w<_-"), max_size=14))
@example("http://a.b (x)[y](z) :smile: !!! a:+1: a:100:")
@example("[x](a)![y](b)")
def test_prose_in_markdown_stays_text(text):
    """A colon was written as ``&#58;``, which a terminal and a diff show as it is."""
    shown = escaped(text)
    assert unescape(shown) == printable(text)
    rendered = MarkdownIt("commonmark").enable("table").renderInline(f"x{shown}")
    assert unescape(rendered).replace("\n", "") == f"x{printable(text)}"
    assert not re.search(r":(?!\d\d:)[a-z0-9+-]+:|://|!\[|\]\(", shown)


@pytest.mark.parametrize("most", [4, 5, 48])
def test_a_text_that_fits_is_not_shortened(most):
    text = "abcdefgh" * 6
    assert shortened(text[:most], most) == text[:most]
    found = shortened("x" * most + "y", most)
    assert (len(found) <= most, found[0], found[-1]) == (True, "x", "y")
    assert "…" in found


def test_prose_in_markdown_is_plain_where_that_is_safe():
    plain = "not compared: 3 (a, b) at 08:00:01! of a.b, 'x': 2"
    assert escaped(plain) == plain
    assert escaped("a:b x:100: https://a") == "a&#58;b x&#58;100: https&#58;//a"


def test_a_violation_that_is_a_spoofed_source_is_one_finding(tmp_path):
    """Each spoofed message was two findings, ``spoofed`` and ``violations``."""
    subject = "prod.safe.443.web_example.stock_example._.GET.items"
    both = [
        row("violations", kind=kind, who="evil.example", subject=subject, count=3, witness=subject)
        for kind in ("spoofed", "forbidden")
    ]
    other = row("violations", kind="forbidden", who="web.example", subject=subject, count=1,
                witness=subject)  # fmt: skip
    told = row("spoofed", who="evil.example", claimed="web.example", subject=subject, count=3,
               accepted=3)  # fmt: skip
    make_run(tmp_path / "run", {"spoofed": [told], "violations": [*both, other]})
    found = [(each.rule, each.user) for each in read_report(str(tmp_path / "run")).findings]
    assert found == [("spoofed", "evil.example"), ("violations", "web.example")]


def test_the_advice_about_an_inactive_subscription_does_not_speak_of_misspelling(tmp_path):
    subject = "prod.safe.443.web_example.stock_example._.GET.items"
    gone = row("undelivered", subject=subject, count=2, nearest=subject, differs_at=None,
               subscription_inactive=True)  # fmt: skip
    make_run(tmp_path / "run", {"undelivered": [gone]})
    (found,) = read_report(str(tmp_path / "run")).findings
    assert found.message == "The subscriber was not subscribed at that time"
    assert "misspelled" not in found.instead
    assert "history" in found.instead


def scripts_of(page: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", page, re.S)


def test_the_policy_allows_what_is_in_the_file_and_nothing_else(report):
    page = to_html(report)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    rules = {
        part.partition(" ")[0]: part.partition(" ")[2]
        for part in unescape(policy[1]).split("; ")
        if part
    }
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy[1]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    for name, texts in (("script-src", scripts_of(page)), ("style-src", [style])):
        digests = [b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert rules[name].split() == [f"'sha256-{each}'" for each in digests]
    assert not re.search(r"<(link|img|iframe|object|embed)\b|\ssrc=|\son[a-z]+=\"", page)


@pytest.mark.parametrize("name", ["d3.min.js", "dagre.min.js"])
def test_vendored_files_are_the_released_ones(name):
    entry = json.loads(REPORT.joinpath("vendor/vendor.json").read_text())[name]
    data = REPORT.joinpath(f"vendor/{name}").read_bytes()
    assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    assert REPORT.joinpath(f"vendor/{entry['license_file']}").read_text().strip()
    assert entry["version"] in entry["source"]
    assert entry["license_file"] in {"d3.LICENSE", "dagre.LICENSE"}


def test_nothing_else_is_vendored():
    folder = Path(str(REPORT.joinpath("vendor")))
    assert {each.name for each in folder.iterdir()} == {
        *("vendor.json", "d3.min.js", "d3.LICENSE", "dagre.min.js", "dagre.LICENSE"),
    }


def test_the_checker_of_the_tests_is_the_released_one():
    data = (Path(__file__).parent / "vendor/axe.min.js").read_bytes()
    # axe-core 4.14.1 of npm, axe.min.js; MPL-2.0
    assert (
        hashlib.sha256(data).hexdigest()
        == "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
    )


def test_sizes_of_pages(pages):
    assert pages["small"].stat().st_size < 600_000
    assert pages["large"].stat().st_size < 6_000_000


def test_a_large_table_is_cut_and_says_so(tmp_path):
    rows = [row("other_traffic", subject=f"{i:06}.{'x' * 40}", count=i) for i in range(9_000)]
    report = read_report(make_run(tmp_path / "run", {"other_traffic": rows}))
    (section,) = report.sections
    assert section.total == 9_000
    assert len(section.rows) < 9_000
    counts = [values[1] for values in section.rows]
    assert counts == list(range(8_999, 8_999 - len(counts), -1))
    assert f"{section.total:,} rows" in to_markdown(report)


def test_a_log_without_microbus_says_so(tmp_path):
    report = read_report(make_run(tmp_path / "run", {}))
    assert (report.graph, report.edges, report.verdict) == ("none", [], "no findings")


def test_findings_beyond_the_limit_are_counted(tmp_path):
    rows = [row("refused", who=f"u{i}", subject="a.b", count=1, kind="publish") for i in range(75)]
    report = read_report(make_run(tmp_path / "run", {"refused": rows}))
    assert (len(report.findings), report.findings_left_out) == (60, 15)
    assert "15 more findings" in to_markdown(report)


def test_a_column_without_a_value_is_not_shown(report):
    calls = next(each for each in report.sections if each.table == "call_graph")
    assert "window" not in [each.name for each in calls.columns]
    assert all(len(values) == len(calls.columns) for values in calls.rows)


def test_commands_write_files_and_standard_output(runs, tmp_path):
    for name, begin in (("html", "<!doctype html>"), ("markdown", "# Traffic"), ("json", "{")):
        out = tmp_path / name
        done = CliRunner().invoke(app, ["report", name, str(runs["small"]), "--out", str(out)])
        assert (done.exit_code, done.output) == (0, "")
        printed = CliRunner().invoke(app, ["report", name, str(runs["small"])])
        assert printed.output == out.read_text(encoding="utf-8")
        assert printed.output.startswith(begin)


@pytest.mark.parametrize("what", ["absent", "other", "damaged"])
def test_a_directory_without_a_result_is_one_clear_error(tmp_path, what):
    folder = tmp_path / "run"
    if what != "absent":
        folder.mkdir()
        name = "audit.json" if what == "damaged" else "notes.txt"
        (folder / name).write_text("x")
    done = CliRunner().invoke(app, ["report", "html", str(folder)])
    assert done.exit_code == 2
    (line,) = done.output.splitlines()
    assert str(folder) in line


def test_an_earlier_page_stays_if_the_new_one_fails(runs, tmp_path, monkeypatch):
    out = tmp_path / "page.html"
    out.write_text("earlier")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    done = CliRunner().invoke(app, ["report", "html", str(runs["small"]), "--out", str(out)])
    assert done.exit_code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    assert out.read_text() == "earlier"


def test_times_are_the_first_and_last_of_all_rows(tmp_path):
    tables = small_tables()
    tables["call_graph"].append(call("late.example", "stock.example", 3_000))
    report = read_report(make_run(tmp_path / "run", tables))
    assert report.counts["first"] == "2026-11-21T08:00:00.000000Z"
    assert report.counts["last"] == "2026-11-21T08:50:00.000000Z"


def test_views_of_a_changed_report_differ(report):
    """The views show the content, not the run."""
    changed = replace(report, verdict="something else")
    for view in (to_html, to_markdown, to_json):
        assert "something else" in view(changed)


def test_every_hostile_text_is_in_the_content(runs):
    edges = {each.source for each in read_report(runs["hostile"]).edges}
    assert edges == set(HOSTILE)


def test_a_rule_that_no_period_used_is_a_finding(runs):
    found = [
        each for each in read_report(runs["answers"]).findings if each.rule == "permission_usage"
    ]
    assert [(each.level, each.count, each.witness) for each in found] == [
        ("note", 1, "prod.safe.443.web_example.old_example.*.GET.>")
    ]


def test_a_route_that_was_never_called_is_a_finding(runs):
    (found,) = (each for each in read_report(runs["answers"]).findings if each.rule == "gap")
    assert (found.witness, found.level) == ("items.*", "note")
    assert found.message == "web.example to stock.example: never called"


def test_the_proposal_is_a_diff(runs):
    (diff,) = read_report(runs["answers"]).diffs
    assert (diff.service, diff.added, diff.removed) == ("web.example", 1, 1)
    assert diff.lines == (
        "  # publish",
        "+ prod.safe.443.web_example.new.>",
        "- prod.safe.443.web_example.old_example.*.GET.>",
        "  prod.safe.443.web_example.stock_example.*.GET.>",
    )


def test_without_microbus_traffic_the_command_prints_what_is_wrong_and_the_flows(runs, capsys):
    result = open_audit(str(runs["flows"]))
    print_tables(result, 20, long=False, windowed=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("200 undelivered")
    assert lines[1].startswith("no Microbus traffic")
    headings = [line.partition(":")[0] for line in lines if line[:1].isupper()]
    assert headings == ["Findings", "Flows", "Slow consumers (connections that read too slowly)"]
    assert any("the nearest pattern is orders.*.paid" in line for line in lines)
    print_tables(result, 20, long=True, windowed=False)
    assert "\nwithout rows: call_graph, replies, " in capsys.readouterr().out


def test_messages_counted_together_are_in_the_report(runs, tmp_path):
    """The command said how many; the page did not."""
    assert "folded_messages" not in read_report(runs["flows"]).counts
    counters = {"folded_messages": 7, "untimed_requests": 3}
    make_run(tmp_path / "run", {}, **counters)
    counts = read_report(tmp_path / "run").counts
    assert (counts["folded_messages"], counts["untimed_requests"]) == (7, 3)


def test_without_microbus_traffic_the_edges_are_flows(runs):
    report = read_report(runs["flows"])
    assert (report.graph, report.title) == ("flows", "Traffic without Microbus")
    assert [(each.source, each.destination, each.undelivered) for each in report.edges] == [
        ("shop", "billing", 0),
        ("shop", "(no subscriber)", 200),
    ]
    assert [(each.rule, each.count, each.witness) for each in report.findings] == [
        ("flows", 200, "orders.*.paidd"),
        ("slow_consumers", 2, "billing"),
        ("coverage", 1, "stock.>"),
    ]
    assert report.findings[0].message == (
        "shop publishes what no subscriber receives; the nearest pattern is orders.*.paid"
    )
    assert report.sections[0].table == "flows"
