"""Files, sources and answers have the bounds that the page and the messages state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import subtrie
from stated_bounds import constant, constants_like_bounds, numbers_of, stated_rows
from subtrie._core.reasons import REASONS

ROWS = stated_rows("Bounds of files, sources and answers")

#: The bounds of the page: constants below ``subtrie/``.
ON_THE_PAGE = {
    "file of permissions, configuration or claims": "acl/_load/files.MAX_FILE",
    "files of a configuration": "acl/_load/config_parser.MAX_FILES",
    "levels of maps, arrays and includes of a configuration": "acl/_load/config_parser.MAX_DEPTH",
    "files of a store of accounts": "acl/_load/deployments.MAX_FILES",
    "token of a user or an account": "_nats/jwt.MAX_JWT",
    "answer of a broker": "acl/_load/snapshots.MAX_ANSWER",
    "accounts of a broker that is asked, and connections": (
        "acl/_load/snapshots.MAX_ROWS, acl/_load/snapshots.MAX_ROWS"
    ),
    "streams of all inputs, and consumers of one stream": (
        "acl/_jetstream/load.MAX_STREAMS, acl/_jetstream/load.MAX_CONSUMERS"
    ),
    "entries that one entry with a template gives": "acl/_load/templates.MAX_ENTRIES",
    "results of mappings with weights": "acl/_delivery.MAX_COURSES",
    "places that one question follows through accounts": "acl/_reach.MAX_PLACES",
    "entries that `acl lint` compares with each other": "acl/_lint.MOST_COMPARED",
    "source file": "gencreds/_source_files.MAX_FILE_BYTES",
    "source files of a scan": "gencreds/_source_files.MAX_FILES",
    "calls, endpoints and other uses of a scan": "gencreds/_scan.MAX_USES",
    "`pyproject.toml` of a scan": "gencreds/_declared.MAX_PROJECT_BYTES",
    "texts that one expression may have": "gencreds/_partial_strings.MAX_VALUES",
    "iterations of the loops around a call": "gencreds/_loops.MAX_ITERATIONS",
    "line of standard input": "_cli/stream.MAX_LINE",
    "data of a record of a capture": "wire/capture.MAX_DATA",
    "bytes of a damaged capture that are checksummed to find an intact record": (
        "wire/capture._MAX_CHECKSUMMED"
    ),
    "inboxes of NATS Streaming whose responses are awaited": (
        "wire/streaming/_conversation._MAX_INBOXES"
    ),
    "inboxes of an audit that are told apart": "audit/_partial/inboxes.MOST_INBOXES",
    "subscriptions, connections and restarts of one audit": "audit/_here.MAX_HEAD",
    "rules of one audit": "audit/_answers/questions.MAX_RULES",
    "clients of one user with rows of their own": "audit/_answers/sums.MOST_PROGRAMS",
    "rows of a table of a report": "report/_rows.MOST_ROWS",
    "findings of a report": "report/_findings.MOST_FINDINGS",
}

#: Bounds that users do not meet, and what a work or a message may be at most.
INSIDE: dict[str, float] = {
    "_cli/call._BROKER_LIMIT": 5.0,
    "_cli/health._LIMIT": 0.6,
    "_cli/run._STOP_LIMIT": 30.0,
    "_core/control_headers.MAX_BUDGET": 900.0,
    "_core/control_headers._LONGEST_DURATION": 64,
    "_core/display.MAX_ROWS": 50,
    "_core/display.MAX_TREE": 200,
    "_core/drawing.MAX_NODES": 200,
    "_core/drawing._MAX_LABEL": 40,
    "_core/drawing._MAX_LISTED": 8,
    "_core/duration._LONGEST": (1 << 63) - 1,
    "_core/duration._MOST_CHARACTERS": 1000,
    "_core/file_errors.MAX_MISTAKES": 100,
    "_nats/container_lines.LONGEST": 64 << 10,
    "_nats/nkey._MOST_BYTES": 64 << 10,
    "acl/_jetstream/reach._MAX_IMPORTS": 4,
    "acl/_load/files._MOST_PIPES": 8,
    "acl/_narrowing.MOST_PARTS": 8,
    "acl/_narrowing.MOST_PATTERNS": 1000,
    "acl/_subject_transform.MAX_OUTCOMES": 256,
    "audit/_partial/parts._HELD": 600_000,
    "audit/_partial/parts._LISTED_HELD": 100_000,
    "audit/_partial/rates.MOST_BARS": 32,
    "audit/_readers/growing_log._REMEMBERED": 1000,
    "audit/_readers/payload_heads._LONGEST": 64 << 10,
    "audit/_results/row_lines._LONGEST": 64 << 10,
    "audit/_results/shown_rows._MOST": 100_000,
    "audit/_runs/run_folder._MAX_MANIFEST": 64 << 20,
    "audit/_tables/by_subject._MOST_CANDIDATES": 100_000,
    "audit/_tables/pattern_index._MOST_OPENED": 8,
    "gencreds/_annotations.MAX_PARTS": 60,
    "gencreds/_constant_evaluation.MAX_DEPTH": 100,
    "gencreds/_declared.MAX_DOTS": 2000,
    "gencreds/_loops.MAX_DEPTH": 100,
    "gencreds/_name_resolution.MAX_BINDINGS": 64,
    "gencreds/_name_resolution.MAX_DEPTH": 60,
    "gencreds/_partial_strings.MAX_CHARACTERS": 8192,
    "gencreds/_source_files.MAX_PARTS": 100,
    "gencreds/_source_tree.MAX_LINEAGE": 200,
    "report/_edges.MOST_EDGES": 6000,
    "report/_rule_diffs.MOST_LINES": 5000,
    "spark/_message_rows._HELD": 1_000_000,
    "spark/_table_of_spans._LONGEST_LINE": 16 << 20,
    "wire/log._MAX_FOREIGN_PREFIX": 300,
}

#: Messages that name a bound: the reason, the constant and the text.
IN_MESSAGES = [
    ("file-size", "acl/_load/files.MAX_FILE", "16 MiB"),
    ("answer-size", "acl/_load/snapshots.MAX_ANSWER", "64 MiB"),
    ("source-size", "gencreds/_source_files.MAX_FILE_BYTES", "4 MiB"),
    ("project-size", "gencreds/_declared.MAX_PROJECT_BYTES", "64 KiB"),
    ("source-files", "gencreds/_source_files.MAX_FILES", "20,000"),
    ("conf-depth", "acl/_load/config_parser.MAX_DEPTH", "32 levels"),
    ("include-depth", "acl/_load/config_parser.MAX_FILES", "256 files"),
    ("answer-size", "acl/_load/snapshots.MAX_ROWS", "100,000 accounts"),
    ("answer-size", "acl/_load/snapshots.MAX_ROWS", "100,000 connections"),
    ("streams-many", "acl/_jetstream/load.MAX_STREAMS", "100,000 streams"),
    ("streams-many", "acl/_jetstream/load.MAX_CONSUMERS", "100,000"),
    ("host-length", "reference/microbus/_hosts._MAX_LENGTH", "252 characters"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_bound_on_the_page_is_that_of_the_code(row):
    bound, stated, beyond = row
    assert numbers_of(stated) == [constant(name) for name in ON_THE_PAGE[bound].split(", ")]
    for reason in re.findall(r"error `(.*)`", beyond):
        assert reason in REASONS


def test_bounds_inside_are_those_of_the_code():
    assert {row[0] for row in ROWS} == set(ON_THE_PAGE)
    assert {name: constant(name) for name in INSIDE} == INSIDE


def test_each_constant_that_looks_like_a_bound_is_known():
    folder = Path(subtrie.__file__).parent
    found = {
        f"{module}.{name}"
        for module, names in constants_like_bounds(folder).items()
        if module.partition("/")[0] not in ("connector", "reference")
        for name in names
        if isinstance(constant(f"{module}.{name}"), int | float)
    }
    listed = {name for names in ON_THE_PAGE.values() for name in names.split(", ")}
    assert sorted(found - listed - set(INSIDE)) == []


@pytest.mark.parametrize(("reason", "name", "shown"), IN_MESSAGES)
def test_a_message_names_the_bound_of_the_code(reason, name, shown):
    message = REASONS[reason]
    assert shown in f"{message.sentence} {message.hint}"
    assert numbers_of(shown) == [constant(name)]
