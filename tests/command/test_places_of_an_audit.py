"""Each option of ``subtrie audit`` reaches the audit: here, on Spark, and of logs that grow.

And the session is the one that is asked for.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

import subtrie.audit._growing
import subtrie.spark
from subtrie._cli.app import app
from subtrie.audit import Questions, Selection
from subtrie.audit._readers.growing_log import files_there

#: What stands for a session of Spark.
SESSION = "a session"
KEY = "a key of 16 bytes"
LINE = "[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n"
PLACES = {
    "here": [], "on Spark": ["--master", "local[2]"], "grows": ["--follow"],
    "grows on Spark": ["--follow", "--master", "local[2]"],
}  # fmt: skip
AUDITS = {
    "here": (subtrie.audit, "audit"), "on Spark": (subtrie.spark, "audit"),
    "grows": (subtrie.audit._growing, "GrowingAudit"),
    "grows on Spark": (subtrie.spark, "audit_stream"),
}  # fmt: skip


class Enough(ValueError):
    """The audit was called, and is not made."""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run the command up to the audit in a place; return the arguments of the audit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUBTRIE_REDACT_KEY", raising=False)
    (tmp_path / "shop.log").write_text(LINE)
    monkeypatch.setattr(subtrie.spark, "cluster_session", lambda *_, **__: SESSION)

    def run(place, *words):
        found = {}

        def called(*given, **named):
            found.update(named, given=given)
            raise Enough

        monkeypatch.setattr(*AUDITS[place], called)
        done = CliRunner().invoke(app, ["audit", "shop.log", *PLACES[place], *words])
        assert done.exit_code == 2
        assert found, done.output
        return found

    return run


DAY = datetime(2026, 11, 21, tzinfo=UTC)
#: Options, and what the audit gets in each place; where it is ``selection``, not of a growing log.
PASSED_ON = [
    ([], {}),
    (["--plane", "p", "--plane", "q"], {"planes": ("p", "q")}),
    (["--window", "60"], {"window": 60}),
    (["--redact", "id"], {"redact": ("id",)}),
    (["--min-days", "1"], {"questions": Questions(min_days=1)}),
    (["--payloads", "heads"], {"questions": Questions(payloads="heads")}),
    (["--since", "2026-11-21"], {"selection": Selection(since=DAY)}),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("words", "given"), PASSED_ON)
def test_an_option_reaches_the_audit_in_each_place(asked, monkeypatch, place, words, given):
    grows = place.startswith("grows")
    if grows and "selection" in given:
        return
    monkeypatch.setenv("SUBTRIE_REDACT_KEY", KEY)
    found = asked(place, "--out", "run", *words)
    wanted = {"planes": (), "window": None, "redact": (), "redact_key": KEY.encode(),
              "questions": Questions(automatic=True)} | given  # fmt: skip
    if place == "grows":
        assert found.pop("given") == (("shop.log",), "run")
    else:
        session = () if place == "here" else (SESSION,)
        assert found.pop("given") == (*session, ("shop.log",))
        wanted["out"] = "run"
    if grows:
        wanted["noted"] = files_there(["shop.log"])
    else:
        wanted = {"selection": None, **wanted}
        assert callable(found.pop("step"))
    if place == "grows on Spark":
        wanted["checkpoint"] = "run.checkpoint"
        assert found.pop("interval")
    if place == "here":
        assert callable(found.pop("progress"))
    assert found == wanted


def test_the_progress_is_where_it_is_asked_for(asked):
    found = asked("grows on Spark", "--out", "run", "--checkpoint", "elsewhere")
    assert found["checkpoint"] == "elsewhere"


#: Options, which session is asked for, and how.
SESSIONS = [
    (["--master", "spark://one:7077"], "cluster_session", ("spark://one:7077",),
     {"memory": "1g", "settings": {}}),
    (["--master", "local[2]", "--memory", "3g", "--conf", "a.b=c=d", "--conf", "e=f"],
     "cluster_session", ("local[2]",), {"memory": "3g", "settings": {"a.b": "c=d", "e": "f"}}),
    (["--remote", "sc://one:15002"], "connect_session", ("sc://one:15002",), {}),
    (["--format", "delta", "--out", "lake"], "local_session", (),
     {"memory": "1g", "log_bytes": len(LINE)}),
    (["--format", "delta", "--out", "lake", "--memory", "2g"], "local_session", (),
     {"memory": "2g", "log_bytes": len(LINE)}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "given", "named"), SESSIONS)
def test_the_session_that_is_asked_for(tmp_path, monkeypatch, words, name, given, named):
    (tmp_path / "shop.log").write_text(LINE)
    found = []
    for each in ("cluster_session", "connect_session", "local_session"):

        def called(*positional, each=each, **more):
            found.append((each, positional, more))
            raise Enough

        monkeypatch.setattr(subtrie.spark, each, called)
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "shop.log"), *words])
    assert done.exit_code == 2
    assert found == [(name, given, named)]
