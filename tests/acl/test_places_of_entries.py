"""Files, lines and columns in answers: those of an entry where it stands, in every format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_runs import run, written

from subtrie.audit import Questions, audit, load_rules

MAIN = """# The users are in another file, and no line of this one names an entry.
jetstream: { store_dir: js }
include users.conf
"""
#: Entries that are given twice, by several users, and in lists over several lines.
USERS = """accounts {
  A: {
    exports: [
      { stream: "a.>" }
      { service: "s.ask",
        accounts: [B] }
      { stream: "never.>" }
    ]
    users: [
      { user: one, password: p, permissions: {
          publish: [ "a.used",
            "a.spare", "a.used", "a.spare",
            "a.spare.>", "*.*.*" ]
          subscribe: { allow: [
            "b.>", "b.spare",
            "b.spare" ], deny: ["b.x",
            "b.x"] } } }
      { user: two, password: p, permissions: {
          publish: [ "a.used", "a.spare",
            "a.spare" ]
          subscribe: "_INBOX.two.>" } }
    ]
  }
  B: {
    imports: [ { stream: { account: A, subject: "a.>" } } ]
    users: [
      { user: three, password: p, permissions: {
          publish: [
            "q.used",
            "a.spare", "q.used"
          ]
          subscribe: "b.spare" } }
    ]
  }
}
leafnodes {
  listen: "127.0.0.1:7422"
  remotes: [
    { url: "nats://hub:7422", account: A } ]
}
"""
_SENT = '[7] 2026/11/21 08:00:01 [TRC] 127.0.0.1:1 - cid:1 - "v1:py" - "A/user:one" - <<- '
LOG = f'{_SENT}[PUB a.used 2]\n{_SENT}MSG_PAYLOAD: ["hi"]\n'
FORMS = ("text", "json", "markdown", "sarif", "junit")
_PLACE = r"([\w/]+\.conf):(\d+)(?::(\d+))?"
_TEXT = re.compile(rf"{_PLACE}: (?:note|warning|error) [\w-]+: (.*)")
_CELL = re.compile(rf"`{_PLACE}` .*?`([^`]* [^`]*)`")
_ENTRY = re.compile(r"(?:New access of )?(\S+): (deny )?(publish|subscribe) ([^\s,:]+)")

#: File, line, column and message of a row.
Row = tuple[str, int, "int | None", str]


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    written(tmp_path, MAIN, "main.conf")
    written(tmp_path, USERS, "users.conf")
    written(tmp_path, LOG, "trace.log")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def place_in(text: str, *marks: str) -> tuple[int, int]:
    """Return line and column of the last mark, each sought after the one before."""
    at = 0
    for each in marks:
        at = text.index(each, at)
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def first_place(user: str, verb: str, entry: str, deny: bool, text: str) -> tuple[int, int]:
    """Return where a list of a user has an entry first."""
    side = ["deny:"] if deny else []
    return place_in(text, f"user: {user.rpartition('/')[2]},", f"{verb}:", *side, f'"{entry}"')


def rows_of(form: str, printed: str) -> list[Row]:
    """Return the rows of an answer that have a line."""
    found: list[tuple[str | None, ...]] = []
    if form in ("text", "markdown"):
        pattern = _TEXT if form == "text" else _CELL
        found = [m.groups() for m in map(pattern.search, printed.splitlines()) if m]
    elif form == "junit":
        for each in ElementTree.fromstring(printed):
            if place := re.fullmatch(_PLACE, each.attrib["classname"]):
                found.append((*place.groups(), each.attrib["name"].partition(": ")[2]))
    elif form == "sarif":
        for each in json.loads(printed)["runs"][0]["results"]:
            where = each["locations"][0]["physicalLocation"]
            region, file = where["region"], where["artifactLocation"]["uri"]
            if (column := region.get("startColumn")) or file != "main.conf":
                found.append((file, region["startLine"], column, each["message"]["text"]))
    else:
        for each in map(json.loads, printed.splitlines()):
            known = {"message": f"{each.get('account')}/{each.get('user')}: ", **each}
            if each.get("kind") == "rule":
                known["message"] += f"{each['verb']} {each['entry']}"
            if known.get("line"):
                found.append(tuple(known.get(n) for n in ("file", "line", "column", "message")))
    return [(str(file), int(line or 0), None if column is None else int(column), str(message))
            for file, line, column, message in found]  # fmt: skip


def check_entries(found: Iterable[Row], text: str, file: str = "users.conf") -> set[str]:
    """Compare the place of each entry with the file, and return the entries."""
    entries = set()
    for where, line, column, message in found:
        assert where == file, message
        if told := _ENTRY.match(message):
            user, deny, verb, entry = told.groups()
            place = first_place(user, verb, entry, deny is not None, text)
            assert (line, column or place[1]) == place, message
            assert f'"{entry}"' in text.splitlines()[line - 1]
            entries.add(f"{user} {deny or ''}{verb} {entry}")
    return entries


LINTED = {
    "A/one publish a.used", "A/one publish a.spare", "A/one publish *.*.*",
    "A/one subscribe b.spare", "A/one deny subscribe b.x", "A/two publish a.spare",
    "B/three publish q.used",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_lint_names_the_first_place_of_an_entry_in_its_file(form):
    found = rows_of(form, run("acl", "lint", "main.conf", "--format", form))
    assert check_entries(found, USERS) == LINTED


def test_a_comment_in_an_included_file_is_about_the_entries_of_its_line(site):
    commented = USERS.replace('"a.used",\n', '"a.used", # subtrie: ignore[redundant]\n', 1)
    assert commented.count("ignore[") == 1
    written(site, commented, "users.conf")
    found = rows_of("json", run("acl", "lint", "main.conf", "--json"))
    assert check_entries(found, commented) == LINTED - {"A/one publish a.used"}


UNUSED = {
    *(f"A/one publish {each}" for each in ("a.spare", "a.spare.>", "*.*.*")),
    *(f"A/one subscribe {each}" for each in ("b.>", "b.spare")),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_usage_names_the_first_place_of_a_rule_and_the_place_of_a_user(form):
    printed = run("acl", "usage", "main.conf", "--log", "trace.log", "--format", form, status=1)
    found = rows_of(form, printed)
    used = {"A/one publish a.used"} if form == "json" else set()
    assert check_entries(found, USERS) == UNUSED | used
    places = {line for _, line, _, message in found if not _ENTRY.match(message)}
    assert places == {place_in(USERS, f"user: {each},")[0] for each in ("two", "three")}


def test_rules_of_an_audit_have_their_first_place():
    with audit(["trace.log"], questions=Questions(rules=load_rules(["main.conf"]))) as made:
        rows = [row for row in made.rows("permission_usage") if row["rule"]]
    found: list[Row] = []
    for row in rows:
        if row["origin"]:
            file, _, line = row["origin"].rpartition(":")
            deny = "deny " if row["effect"] == "deny" else ""
            message = f"{row['service']}: {deny}{row['verb']} {row['rule']}"
            found.append((Path(file).name, int(line), None, message))
    # An entry that is given twice is one rule, whose messages count once.
    assert len(check_entries(found, USERS)) == len(found) == 13
    assert [row["accepted"] for row in rows if row["rule"] == "a.used"] == [1, 0]


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_new_access_is_at_the_first_place_of_the_entry_that_grants_it(form, site):
    (site / "new").mkdir()
    written(site / "new", MAIN, "main.conf")
    text = '"a.used", "z.>",\n "y.y", "z.>", "y.y",\n'.join(
        USERS.rsplit('"a.used", "a.spare",\n', 1)
    )
    written(site / "new", text, "users.conf")
    printed = run("acl", "diff", "main.conf", "new/main.conf", "--format", form, status=1)
    found = check_entries(rows_of(form, printed), text, "new/users.conf")
    assert found == {"A/two publish z.>", "A/two publish y.y"}


@pytest.mark.parametrize("form", ["sarif", "junit"])
@pytest.mark.parametrize("command", ["show", "minimise"])
def test_the_entries_of_a_user_are_at_their_first_places(command, form):
    words = ("acl", command, "main.conf", "--user", "one", "--account", "A", "--format", form)
    found = []
    for file, line, column, message in rows_of(form, run(*words)):
        if told := re.match(r"(publish|subscribe) (allow|deny):? (\S+)", message):
            deny = "deny " if told[2] == "deny" else ""
            if " is new in " not in message:
                found.append((file, line, column, f"A/one: {deny}{told[1]} {told[3]}"))
    entries = check_entries(found, USERS)
    smaller = {"A/one publish a.spare.>", "A/one subscribe b.spare"}
    more = {"A/one publish a.used", "A/one deny subscribe b.x"}
    assert entries == (UNUSED | more if command == "show" else smaller)


@pytest.mark.parametrize("form", FORMS)
def test_exports_and_links_are_at_their_lines_of_an_included_file(form):
    printed = run("acl", "flows", "main.conf", "--format", form, status=1)
    found = {(file, line, re.sub("^[AB]: ", "", message)) for file, line, _, message in
             rows_of(form, printed) if "/None: " not in message}  # fmt: skip
    expected = (
        ('stream: "a.>"', "stream a.> may be imported by any account"),
        ('stream: "never.>"', "stream never.> may be imported by any account"),
        ('stream: "never.>"', "no account imports the stream never.>"),
        ('service: "s.ask"', "no account imports the service s.ask"),
        ("imports:", "no user of B may receive from the stream a.>"),
    )
    assert found == {("users.conf", place_in(USERS, mark)[0], said) for mark, said in expected}
    if form == "json":
        rows = [row for row in map(json.loads, printed.splitlines()) if "sends" in row]
        assert [(row["file"], row["line"]) for row in rows] == [
            ("users.conf", place_in(USERS, each)[0]) for each in ("{ url:", "leafnodes")
        ]
