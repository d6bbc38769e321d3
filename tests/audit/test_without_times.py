"""Logs, captures and snapshots that have no times are audited, with all answers and views."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from trace_writer import Trace, random_trace

from subtrie._cli.app import app

_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+ ")
_REQUEST = "prod.safe.443.web_shop.orders_shop._.GET.orders.7"
_RULES = {
    "subtrie": 1, "dialect": "server", "publish_allow": ["prod.reply.>", "a.>"],
    "publish_deny": [], "subscribe_allow": [">"], "subscribe_deny": [], "allow_responses": None,
}  # fmt: skip


class _LoggedIn(Trace):
    """Traffic of users with names."""

    def write(self, conn: int, rest: str, **more: str) -> None:
        login = ("", "web.shop", "orders.shop")[conn]
        super().write(conn, rest, login=f"$G/user:{login}", **more)


def _microbus() -> str:
    trace = _LoggedIn()
    trace.subscribe(2, "prod.safe.443.*.orders_shop._.GET.orders.*", "1", "orders.shop")
    for _ in range(3):
        trace.publish(1, _REQUEST, reply="prod.reply._.web_shop.web_shop.id-1")
        trace.deliver(2, _REQUEST, "1")
        trace.tick(5)
    trace.publish(2, "prod.reply._.orders_shop.web_shop.id-1")
    return trace.text()


_INPUTS = {"plain": random_trace(3), "microbus": _microbus()}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        *((kind, more) for kind in _INPUTS for more in ("", "--json", "--subject", "--report")),
        ("microbus", "--rules"),
    ],
)
def test_a_log_without_times_is_audited(tmp_path, kind, more):
    log, rules, page = tmp_path / "trace.log", tmp_path / "rules", tmp_path / "page.html"
    log.write_text(_TIME.sub("", _INPUTS[kind]))
    rules.mkdir()
    for host in ("web.shop", "orders.shop"):
        (rules / f"{host}.json").write_text(json.dumps(_RULES))
    options = {"--rules": ["--rules", rules], "--subject": ["--subject", _REQUEST],
               "--report": ["--report", page], "--json": ["--json"]}.get(more, [])  # fmt: skip
    run = tmp_path / "run"
    for arguments in (["audit", log, "--out", run, *options], ["report", "json", run],
                      ["report", "diff", run, run], ["audit", log, *options]):  # fmt: skip
        done = CliRunner().invoke(app, [str(each) for each in arguments])
        assert done.exit_code == 0, (arguments, done.output[-2000:], repr(done.exception))


@pytest.mark.parametrize("now", [None, "x", "", "2026-13-45T00:00:00Z"])
def test_a_snapshot_without_a_time_is_audited(tmp_path, now):
    row = {"account": "$G", "subject": "a.>", "sid": "1", "msgs": 0}
    subscriptions = [row, {**row, "subject": "b", "sid": "2"}]
    connection = {"cid": 8, "name": "n", "subscriptions_list_detail": subscriptions}
    page = {"server_id": "A", "now": now, "num_connections": 1, "connections": [connection]}
    (tmp_path / "connz.json").write_text(json.dumps(page))
    for options in ([], ["--json"]):
        done = CliRunner().invoke(app, ["audit", str(tmp_path / "connz.json"), *options])
        assert done.exit_code == 0, (done.output, repr(done.exception))
