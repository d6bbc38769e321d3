"""The page in a real browser: it works, is accessible, and runs nothing from the data."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from browser import SCREENS, Browser
from selenium.webdriver.common.keys import Keys

AXE = Path(__file__).parent / "vendor" / "axe.min.js"

#: A script that returns text that overlaps, leaves the screen, or is cut.
_LAYOUT = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
_OPEN_ALL = "for (const each of document.querySelectorAll('details')) each.open = true"


def cells(browser: Browser, table: str, column: int) -> list[str]:
    """Return the texts of a column of the rows that are shown."""
    found: list[str] = browser.run(
        "return [...document.querySelectorAll(`#table-${arguments[0]} tbody tr`)]"
        ".map((row) => row.children[arguments[1]].textContent)",
        table,
        column,
    )
    return found


def press_head(browser: Browser, table: str, name: str) -> str:
    """Press the head of a column, and return its aria-sort."""
    found: str = browser.run(
        "const head = [...document.querySelectorAll(`#table-${arguments[0]} th`)]"
        ".find((each) => each.textContent === arguments[1]);"
        "head.querySelector('button').click(); return head.getAttribute('aria-sort')",
        table,
        name,
    )
    return found


def type_into(browser: Browser, selector: str, text: str) -> None:
    field = browser.find(selector)
    field.clear()
    field.send_keys(text)


def click_edge(browser: Browser) -> None:
    """Click the heaviest edge."""
    browser.run(
        "document.querySelector('.picture .edge')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


def edges(browser: Browser) -> list[str]:
    """Return what each edge of the picture is called."""
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('.picture .edge')]"
        ".map((edge) => edge.getAttribute('aria-label'))"
    )
    return found


@pytest.mark.parametrize("name", ["small", "answers", "hostile", "large", "flows", "empty"])
def test_a_page_opens_without_an_error(browser, pages, name):
    browser.open(pages[name])
    assert browser.run("return document.querySelectorAll('main section').length") >= 2


@pytest.mark.parametrize("screen", SCREENS)
def test_the_select_of_edges_cut_the_name_of_the_second_service(browser, pages, screen):
    browser.resize(screen)
    browser.open(pages["small"])
    room, needed = browser.run("""
        const edges = document.querySelector("select[name=edge]");
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = getComputedStyle(edges).font;
        const texts = [...edges.options].map((each) => pen.measureText(each.text).width);
        return [edges.clientWidth - 30, Math.max(...texts)]""")  # 30: the padding and the arrow
    assert needed <= room


def test_a_table_sorts_by_number_and_back(browser, pages):
    browser.open(pages["small"])
    assert press_head(browser, "coverage", "matched") == "descending"
    assert cells(browser, "coverage", 1)[:3] == ["39", "38", "37"]
    assert press_head(browser, "coverage", "matched") == "ascending"
    assert cells(browser, "coverage", 1)[:3] == ["0", "1", "2"]
    assert press_head(browser, "coverage", "pattern") == "ascending"
    assert cells(browser, "coverage", 0)[1].endswith("h1._.GET.x")


def test_a_filter_chooses_rows_by_all_words(browser, pages):
    browser.open(pages["small"])
    type_into(browser, "#table-coverage-filter", "H39 get")
    assert len(cells(browser, "coverage", 0)) == 1
    foot = browser.find("#table-coverage .rows").text
    assert foot == "1 of 1 row (40 without the filter)"
    type_into(browser, "#table-coverage-filter", "no such row")
    assert cells(browser, "coverage", 0) == []


def test_more_rows_are_shown_on_request(browser, pages):
    browser.open(pages["small"])
    assert len(cells(browser, "coverage", 0)) == 15
    browser.run("document.querySelector('#table-coverage .foot button').click()")
    assert len(cells(browser, "coverage", 0)) == 40


def test_a_table_is_copied_as_csv_with_all_its_columns(browser, pages):
    browser.open(pages["small"])
    type_into(browser, "#table-call_graph-filter", "mint")
    browser.run("document.querySelector('#table-call_graph .tools button').click()")
    browser.wait("return page.copied")
    rows = list(csv.DictReader(io.StringIO(browser.run("return page.copied"))))
    (row,) = rows
    assert (row["source"], row["port"], row["route"]) == ("orders.example", "666", "mint")
    assert row["first"] == "2026-11-21T08:00:00.000000Z"
    assert "copied" in browser.find("#status").text


def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(browser, pages):
    browser.open(pages["hostile"])
    browser.run("document.querySelector('#table-other_traffic .tools button').click()")
    browser.wait("return page.copied")
    texts = [
        row["subject"] for row in csv.DictReader(io.StringIO(browser.run("return page.copied")))
    ]
    assert "'=HYPERLINK(1)" in texts
    assert not [text for text in texts if text[:1] in "=+-@"]


def test_the_picture_shows_volume_and_what_is_wrong(browser, pages):
    browser.open(pages["small"])
    found = browser.run(
        "return Object.fromEntries([...document.querySelectorAll('.picture .edge')].map((edge) => ["
        "edge.getAttribute('aria-label').split(':')[0],"
        "{width: Number(edge.querySelector('.volume').getAttribute('stroke-width')),"
        " marks: [...edge.querySelectorAll('.mark, .diamond')]"
        ".map((mark) => mark.getAttribute('class')),"
        " dashes: [...edge.querySelectorAll('.mark')]"
        ".map((mark) => getComputedStyle(mark).strokeDasharray)}]))"
    )
    heavy, light = found["web.example → stock.example"], found["orders.example → token.example"]
    assert heavy["width"] > 2 * light["width"]
    assert (heavy["marks"], light["marks"]) == (["mark undelivered"], ["diamond"])
    refused = found["orders.example → stock.example"]
    assert refused["marks"] == ["mark refused"]
    assert refused["dashes"] != heavy["dashes"]


def test_the_picture_is_filtered(browser, pages):
    browser.open(pages["small"])
    assert len(edges(browser)) == 5
    type_into(browser, "input[name=service]", "token")
    assert [each.split(":")[0] for each in edges(browser)] == ["orders.example → token.example"]
    type_into(browser, "input[name=service]", " ")
    for field, value, count in (("trust", "danger", 1), ("trust", "", 5), ("show", "refused", 1)):
        browser.run(
            "const field = document.querySelector(`select[name=${arguments[0]}]`);"
            "field.value = arguments[1]; field.dispatchEvent(new Event('change'))",
            field,
            value,
        )
        assert len(edges(browser)) == count, (field, value)


def test_an_edge_that_is_clicked_shows_its_routes_and_subjects(browser, pages):
    browser.open(pages["small"])
    click_edge(browser)
    panel = browser.find(".edge-details").text
    assert "web.example → stock.example" in panel
    assert "prod.safe.443.web_example.stock_example._.GET.itms" in panel.replace("\n", "")
    assert cells(browser, "edge-call_graph", 1) == ["GET", "POST"]
    assert browser.run("return document.querySelector('select[name=edge]').value") == "0"


def test_the_picture_is_used_by_keyboard(browser, pages):
    browser.open(pages["small"])
    assert browser.run("return document.querySelectorAll('.edge[tabindex=\"0\"]').length") == 1
    browser.run("document.querySelector('.picture .edge').focus()")
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ENTER)
    pressed = browser.run(
        "return [...document.querySelectorAll('.picture .edge')]"
        ".map((edge) => edge.getAttribute('aria-pressed'))"
    )
    assert pressed == ["false", "true", "false", "false", "false"]
    assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "true"


def test_a_finding_opens_and_its_command_is_copied(browser, pages):
    browser.open(pages["small"])
    browser.find(".finding summary").send_keys(Keys.ENTER)
    assert browser.run("return document.querySelector('.finding').open")
    browser.find(".finding .command button").send_keys(Keys.ENTER)
    browser.wait("return page.copied")
    assert browser.run("return page.copied").startswith("subtrie report lines ")


def test_a_table_that_is_too_wide_leaves_columns_to_the_csv(browser, pages):
    browser.open(pages["answers"])
    browser.wait(
        "return document.querySelector('#table-call_graph').textContent.includes('Too wide')"
    )
    heads = browser.run(
        "return [...document.querySelectorAll('#table-call_graph th')]"
        ".filter((head) => !head.hidden).map((head) => head.textContent)"
    )
    assert {"port", "route", "undelivered"} <= set(heads)
    assert "instances" not in heads
    assert len(cells(browser, "call_graph", len(heads) - 1)) == 3


def test_the_diff_of_a_proposal_is_copied(browser, pages):
    browser.open(pages["answers"])
    browser.run("document.querySelector('.diff').open = true")
    browser.run("document.querySelector('.diff button').click()")
    browser.wait("return page.copied")
    assert browser.run("return page.copied").splitlines() == [
        "  # publish",
        "+ prod.safe.443.web_example.new.>",
        "- prod.safe.443.web_example.old_example.*.GET.>",
        "  prod.safe.443.web_example.stock_example.*.GET.>",
    ]


def test_an_edge_shows_latency_code_and_rules(browser, pages):
    browser.open(pages["answers"])
    click_edge(browser)
    panel = browser.find(".edge-details").text
    for part in ("Latency", "1.25 ms", "40 ms", "web.py:0", "never called", "5 accepted"):
        assert part in panel, part


def test_a_log_without_microbus_shows_publishers_and_subscribers(browser, pages):
    browser.open(pages["flows"])
    assert "No Microbus traffic" in browser.find(".map").text
    assert [each.split(":")[0] for each in edges(browser)] == [
        "shop → billing",
        "shop → (no subscriber)",
    ]
    click_edge(browser)
    assert "orders.*.paid" in browser.find(".edge-details").text.replace("\n", "")


def test_five_thousand_edges_are_folded_to_the_heaviest(browser, pages):
    """Counted work: what is drawn does not grow with the run."""
    browser.open(pages["large"])
    assert len(edges(browser)) == 60
    assert "The 60 heaviest of 5,000 edges" in browser.find(".under .rows").text
    assert edges(browser)[0].startswith("svc-0.prod.example → svc-0.prod.example: 1,000,006")
    assert sum("undelivered" in each for each in edges(browser)) == 20
    assert browser.run("return document.querySelectorAll('*').length") < 4_000
    type_into(browser, "input[name=service]", "svc-17.")
    assert all("svc-17." in each for each in edges(browser))
    type_into(browser, "#table-call_graph-filter", "items-4999.")
    assert len(cells(browser, "call_graph", 0)) == 1


def test_hostile_subjects_run_nothing_and_make_no_element(browser, pages):
    browser.open(pages["hostile"])
    browser.run(_OPEN_ALL)
    browser.run(
        "for (const edge of document.querySelectorAll('.picture .edge'))"
        " edge.dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.run("return window.hacked") is None
    assert (
        browser.run(
            "return document.querySelectorAll('img, iframe, object, b:not(.constant b)').length"
        )
        == 0
    )
    assert browser.run("return document.scripts.length") == 8
    text = browser.run("return document.getElementById('report').textContent")
    assert "<img src=x onerror=window.hacked=1>" in text
    assert "\u202e" not in text
    assert "\\u{202e}gpj.exe" in text


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["answers", "hostile", "large"])
def test_nothing_overlaps_is_cut_or_leaves_the_screen(browser, pages, name, screen):
    browser.resize(screen)
    browser.open(pages[name])
    click_edge(browser)
    browser.run(_OPEN_ALL)
    found = browser.run(_LAYOUT)
    assert found["wrong"] == []
    assert found["boxes"] > 100


def test_the_check_of_the_layout_finds_faults(browser, pages):
    browser.open(pages["small"])
    browser.run("document.querySelector('h1').style.marginBottom = '-40px'")
    for place, style in (
        (".lead", "width: 90px; overflow: hidden; white-space: nowrap"),
        ("footer p", "width: 4000px; white-space: nowrap; letter-spacing: 9px"),
    ):
        browser.run(
            "document.querySelector(arguments[0]).style.cssText = arguments[1]", place, style
        )
    wrong = browser.run(_LAYOUT)["wrong"]
    for kind in ("overlap", "clipped", "outside", "the page is"):
        assert any(each.startswith(kind) for each in wrong), kind


def violations(browser: Browser) -> list[str]:
    """Return what axe-core finds. It runs beside the page, which its policy does not concern."""
    browser.command("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    found: dict[str, Any] = browser.run_async(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']})"
        ".then(done, (error) => done({error: String(error)}))"
    )
    assert "error" not in found, found
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", ["phone", "laptop"])
def test_axe_finds_no_violation(browser, pages, screen, dark):
    browser.resize(screen, dark=dark)
    browser.open(pages["answers"])
    click_edge(browser)
    browser.run(_OPEN_ALL)
    assert violations(browser) == []


def test_axe_finds_no_violation_in_hostile_data(browser, pages):
    browser.open(pages["hostile"])
    assert violations(browser) == []


def test_axe_finds_faults(browser, pages):
    browser.open(pages["small"])
    browser.run(
        "document.querySelector('select').removeAttribute('name');"
        "document.querySelector('.lead').style.color = '#ccc';"
        "document.querySelector('svg').setAttribute('role', 'img');"
        "document.querySelector('svg').removeAttribute('aria-label')"
    )
    assert {each.split(":")[0] for each in violations(browser)} >= {"color-contrast", "svg-img-alt"}


def test_print_has_no_controls_and_a_light_background(browser, pages):
    browser.resize("laptop", dark=True, media="print")
    browser.open(pages["small"])
    shown = browser.run(
        "return [...document.querySelectorAll('button:not(th button), input, select, nav')]"
        ".filter((each) => each.checkVisibility()).length"
    )
    assert shown == 0
    assert (
        browser.run("return getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
    )
    assert browser.run(_LAYOUT)["wrong"] == []


def test_the_theme_can_be_chosen(browser, pages):
    browser.open(pages["small"])
    color = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(color)
    browser.run("document.querySelector('.theme').click()")
    assert browser.run(color) != light
    browser.run("document.querySelector('.theme').click()")
    assert browser.run(color) == light
