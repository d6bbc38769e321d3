"""No clock gates a test: a busy machine changes no verdict.

A test counts work, or waits with ``patience`` for what must come. What reads a clock all the same
is listed here with its reason, and a wait is longer than any machine needs.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).resolve().parents[1]
ENOUGH = 20  # seconds: a shorter wait may end on a machine that is only busy

DATE = "a date in a file or a token, hours from now"
LEAST = "the least time that something takes: load makes it longer"
DUE = "the time at which a timer is due; the test looks at the order of what fires"
CPU = "CPU time of code without events to count, with a bound of many times what it takes"
CAPTURE = "the times of the steps of a capture"
RECORD = "a run by hand, whose record has the time it took"
WAIT = "the one way to wait"

#: Files and functions that read a clock.
ALLOWED = {
    "acl/operators.py": DATE,
    "acl/login_pairs.py::times": DATE,
    "acl/test_fifteen_questions.py": DATE,
    "acl/test_token_validity.py": DATE,
    "answers/test_answer_rules.py::test_bad_questions_are_refused": DATE,
    "attacks/__main__.py": RECORD,
    "attacks/test_attacks.py": CPU,
    "attacks/worker.py": CPU,
    "audit/test_attacks_on_the_audit.py::test_redaction_of_long_subjects_costs_no_more_than_"
    "their_length": CPU,
    "audit/test_killed_runs.py::age": DATE,
    "chaos/broker_cluster.py": RECORD,
    "chaos/world.py": RECORD,
    "cluster/driver.py": RECORD,
    "wire/test_real_server.py::talked": CAPTURE,
    "certificates.py": DATE,
    "connector/test_ack_timer.py::test_the_timer_starts_again_if_the_loop_was_blocked": LEAST,
    "connector/test_config_sources.py::test_replicas_of_the_configurator_share_the_latest_"
    "values": DATE,
    "connector/test_credentials.py": DATE,
    "connector/test_delivery_choices.py": DUE,
    "connector/test_faults.py::test_two_services_that_take_one_request_have_deadlines_of_their_"
    "own": LEAST,
    "connector/test_fragments.py::test_nothing_is_kept_of_the_senders_of_transfers_that_have_"
    "ended": DUE,
    "connector/test_lifecycle.py::test_without_a_setting_a_hook_has_24_seconds_at_shutdown": DUE,
    "connector/test_request_boundaries.py": DUE,
    "connector/test_runner_boundaries.py": DUE,
    "connector/test_services.py::test_runs_that_were_missed_are_not_made_up_for": DUE,
    "connector/test_timers.py": DUE,
    "connector/test_token_validity.py": DATE,
    "cross_engine.py": RECORD,
    "cross_go.py": RECORD,
    "leaks/__main__.py": RECORD,
    "patience.py": WAIT,
    "simulation/__main__.py": RECORD,
    "command/test_bad_inputs.py::test_both_engines_refuse_every_bad_input_with_the_same_error": CPU,
    "index/test_image_hostile.py::asked": CPU,
    "acl/test_permission_sets.py::test_a_hostile_pair_finishes": CPU,
    "acl/test_permission_sets.py::test_two_sets_of_a_thousand_rules_compare_in_under_50_ms": CPU,
}

_CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
_CLOCKS |= {f"{each}_ns" for each in _CLOCKS}
_WAITS = {"wait", "wait_for", "join", "communicate", "run", "check_output", "get", "acquire"}


def gates(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the kind of each part of a module by which a clock may gate a test."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            if any(each.name != "sleep" for each in node.names):
                yield node.lineno, "clock"
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.timeout":
            yield node.lineno, "time limit of a test"
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {each.arg: each.value for each in node.keywords}
            if (
                called.rpartition(".")[2] in {"settings", "register_profile"}
                and "deadline" in given
            ):
                yield node.lineno, "deadline of Hypothesis"
            elif _reads_a_clock(called, node):
                yield node.lineno, "clock"
            elif (limit := _limit(called, node, given)) and limit < ENOUGH:
                yield node.lineno, f"wait of {limit:g} s"


def _reads_a_clock(called: str, call: ast.Call) -> bool:
    of, _, name = called.rpartition(".")
    return (of.endswith("datetime") and name in {"now", "utcnow"}) or (
        bool(of) and name in _CLOCKS and not call.args
    )


def _limit(called: str, call: ast.Call, given: dict[str | None, ast.expr]) -> float | None:
    """Return the seconds after which a wait gives up, where the code has a number."""
    of, _, name = called.rpartition(".")
    limit = given.get("timeout") if of and name in _WAITS else None
    if called in {"asyncio.wait_for", "asyncio.timeout"} or (name in {"wait", "join"} and of):
        limit = limit or (call.args[-1] if call.args else None)
    if isinstance(limit, ast.Constant) and isinstance(limit.value, int | float):
        return limit.value
    return None


@functools.cache
def gates_below(folder: Path) -> dict[str, list[str]]:
    """Return what may gate a test in the modules below a folder, by file and function."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        name = str(path.relative_to(folder))
        for part in ast.parse(path.read_text()).body:
            key = f"{name}::{part.name}" if hasattr(part, "name") else name
            for line, kind in gates(part):
                found.setdefault(key, []).append(f"{name}:{line}: {kind}")
    return found


def test_no_clock_gates_a_test():
    """Beside the one profile of Hypothesis, which ``conftest.py`` registers."""
    wrong = []
    for key, lines in gates_below(TESTS).items():
        if key == "conftest.py":
            assert [line.partition(": ")[2] for line in lines] == ["deadline of Hypothesis"]
            continue
        listed = key in ALLOWED or key.partition("::")[0] in ALLOWED
        wrong += [line for line in lines if not (listed and line.endswith(": clock"))]
    assert not wrong, (
        "count work or wait with tests/patience.py; a clock that gates nothing is listed with its "
        "reason in ALLOWED:\n" + "\n".join(wrong)
    )


def test_every_reason_is_that_of_a_clock():
    found = {part for key in gates_below(TESTS) for part in (key, key.partition("::")[0])}
    assert sorted(set(ALLOWED) - found) == []


def test_no_property_has_a_time_limit():
    assert settings().deadline is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("begun = time.monotonic()\nwork()\nassert time.monotonic() - begun < 2", "clock"),
        ("assert asyncio.get_running_loop().time() < end", "clock"),
        ("from time import perf_counter", "clock"),
        ("took = timed(time.perf_counter_ns())", "clock"),
        ("assert datetime.datetime.now() < end", "clock"),
        ("@settings(max_examples=7, deadline=200)\ndef test(): ...", "deadline of Hypothesis"),
        ("@pytest.mark.timeout(5)\ndef test(): ...", "time limit of a test"),
        ("await asyncio.wait_for(done.wait(), 5)", "wait of 5 s"),
        ("async with asyncio.timeout(0.5):\n    await done.wait()", "wait of 0.5 s"),
        ("assert done.wait(1)", "wait of 1 s"),
        ("thread.join(timeout=2)", "wait of 2 s"),
        ("subprocess.run(command, timeout=10)", "wait of 10 s"),
    ],
)
def test_a_clock_in_a_test_is_found(tmp_path, code, kind):
    (tmp_path / "test_planted.py").write_text(code)
    assert {
        line.partition(": ")[2] for lines in gates_below(tmp_path).values() for line in lines
    } == {kind}


@pytest.mark.parametrize(
    "code",
    [
        "await until(lambda: heard)",
        "await asyncio.wait_for(done.wait(), PATIENCE)",
        "async with asyncio.timeout(60):\n    await done.wait()",
        "row.get('t', 0)\nprogram.wait_for(': up', 2)\n', '.join(names)",
        "await web.request('GET', url, timeout=0.2)",
    ],
)
def test_what_gates_no_test_is_not(tmp_path, code):
    (tmp_path / "test_planted.py").write_text(code)
    assert gates_below(tmp_path) == {}
