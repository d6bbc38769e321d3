"""Each option of ``subtrie audit`` reaches the audit; what is printed on request only."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime

import pytest
from answered_files import FILES
from click.testing import CliRunner

import subtrie.audit
from subtrie._cli.app import app
from subtrie.audit import Questions, Selection


class Enough(ValueError):
    """The audit was called, and is not made."""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run the command up to the audit; return what that would get."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUBTRIE_REDACT_KEY", raising=False)
    for name in ("shop.log", "shop.conf", "jsz.json"):
        content = FILES[name]
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "shop.py").write_text(FILES["services/shop.py"])
    found = {}

    def audit(logs, **given):
        found.update(given, logs=logs)
        raise Enough

    monkeypatch.setattr(subtrie.audit, "audit", audit)

    def run(*words):
        found.clear()
        done = CliRunner().invoke(app, ["audit", "shop.log", *words])
        assert done.exit_code == 2
        assert found, done.output
        return dict(found)

    return run


NOTHING = {"logs": ("shop.log",), "out": None, "planes": (), "window": None, "redact": (),
           "redact_key": None, "selection": None}  # fmt: skip
DAY = datetime(2026, 11, 21, tzinfo=UTC)
#: Options, and what the audit gets instead.
PASSED_ON = [
    ([], {}),
    (["--plane", "p", "--plane", "q"], {"planes": ("p", "q")}),
    (["--window", "60"], {"window": 60}),
    (["--redact", "id"], {"redact": ("id",)}),
    (["--redact", "path", "--redact", "id"], {"redact": ("path", "id")}),
    (["--out", "run"], {"out": "run"}),
    (["--memory", "1m"], {"memory": 1 << 20}),
    (["--since", "2026-11-21"], {"selection": Selection(since=DAY)}),
    (["--until", "2026-11-21"], {"selection": Selection(until=DAY)}),
    (["--source", "web.x"], {"selection": Selection(source="web.x")}),
    (["--host", "web.x"], {"selection": Selection(host="web.x")}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "given"), PASSED_ON)
def test_an_option_reaches_the_audit(asked, words, given):
    found = asked(*words)
    assert found.pop("questions") == Questions(automatic=True)
    assert callable(found.pop("step"))
    assert callable(found.pop("progress"))
    assert found == NOTHING | given


def test_the_key_of_a_redaction_is_a_variable(asked, monkeypatch):
    monkeypatch.setenv("SUBTRIE_REDACT_KEY", "a key of 16 bytes")
    assert asked("--redact", "id")["redact_key"] == b"a key of 16 bytes"


#: Options, and the questions that they ask.
QUESTIONS = [
    (["--answers"], {}),
    (["--subject", "a.b"], {"subject": "a.b"}),
    (["--subject", "a.b", "--at", "2026-11-21"], {"subject": "a.b", "time": DAY}),
    (["--min-days", "1"], {"min_days": 1}),
    (["--min-sources", "7"], {"min_sources": 7}),
    (["--min-days", "2", "--min-sources", "1"], {"min_days": 2, "min_sources": 1}),
    (["--claimed-identities"], {"claimed_identities": True}),
    (["--payloads", "heads"], {"payloads": "heads"}),
    (["--fail-on", "violations"], {}),
    (["--fail-on", "spoofed,flows"], {}),
    (["--fail-on", "spoofed"], {"automatic": True}),
]


@pytest.mark.parametrize(("words", "questions"), QUESTIONS)
def test_an_option_asks_a_question(asked, words, questions):
    assert asked(*words)["questions"] == Questions(**questions)


@pytest.mark.parametrize(
    ("words", "name", "automatic"),
    [
        (["--rules", "shop.conf"], "rules", False), (["--code", "code"], "code", False),
        (["--streams", "jsz.json"], "streams", True),
    ],
)  # fmt: skip
def test_a_file_is_read_for_the_questions(asked, words, name, automatic):
    found = asked(*words)["questions"]
    assert getattr(found, name)
    assert found.automatic == automatic
    plain = dataclasses.replace(found, **{name: None}, automatic=False)
    assert plain == Questions()
    if name == "rules":
        assert {each.rpartition("/")[2] for each in found.rules} == {"web", "stock", "idle"}
    elif name == "code":
        assert {each.host for each in found.code} == {"web.x", "stock.x"}


def printed(*words):
    done = CliRunner().invoke(app, ["audit", "shop.log", "--rows", "1", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_proposal_is_printed_where_a_question_was_asked(tmp_path, monkeypatch):
    """As a difference to the rules that are given, one line a rule."""
    monkeypatch.chdir(tmp_path)
    for name in ("shop.log", "shop.conf"):
        (tmp_path / name).write_text(FILES[name])
    assert "Proposal for" not in printed()
    assert ": subscriptions, 4 rows" not in printed()
    assert ": subscriptions, 4 rows" in printed("--long")
    asks = ("--claimed-identities", "--min-days", "1", "--min-sources", "1")
    told = printed(*asks)
    proposals = [line for line in told.splitlines() if line.startswith("Proposal for ")]
    assert proposals
    assert all(", JWT " in line for line in proposals)
    assert "difference" not in told
    told = printed(*asks, "--rules", "shop.conf")
    changes = [line for line in told.splitlines() if line.startswith(("  + ", "  - "))]
    assert "  - publish _INBOX.>  (such as _INBOX.x)" in changes


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("1024", 1024), ("2k", 2048), ("2K", 2048), ("3G", 3 << 30),
     *((wrong, None) for wrong in ("0", "0g", "m", "", "2x", "-1", "1.5g", "2mm", "\u00b2m"))],
)  # fmt: skip
def test_a_size_of_memory(asked, text, size):
    if size is not None:
        assert asked("--memory", text)["memory"] == size
        return
    done = CliRunner().invoke(app, ["audit", "shop.log", "--memory", text])
    assert (done.exit_code, done.exception.__class__) == (2, SystemExit)
    assert f"--memory {text} is not a size: write 512m or 2g" in done.output
