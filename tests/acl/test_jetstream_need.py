"""``subtrie acl need``: real programs of nats-py under its lists, on a running broker."""

from __future__ import annotations

import asyncio
import json

from click.testing import CliRunner
from jetstream_roles import ROLES
from role_runs import config, each_missing, prepared_once, refusals

from servers import monitor, serving
from subtrie._cli.app import app

MONITORED = 'http: "127.0.0.1:-1"'


def _needed(*arguments):
    result = CliRunner().invoke(app, ["acl", "need", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_program_passes_under_its_list_and_fails_without_any_one_entry(tmp_path, capsys):
    with serving(tmp_path / "first", config(tmp_path / "store", [], MONITORED)) as url:
        asyncio.run(prepared_once(url))
        page = monitor(tmp_path / "first")
        lists = {f"u{n}": _needed(*each, page) for n, each in enumerate(ROLES)}
    programs = {f"u{n}": program for n, program in enumerate(ROLES.values())}
    blocks, users, missing = each_missing(programs, lists, tmp_path)
    with serving(tmp_path / "second", config(tmp_path / "store", blocks, MONITORED)) as url:
        found = refusals(url, users)
    for name, each in zip(programs, ROLES, strict=True):
        assert found[name] == [], (each, lists[name])
    kept = [missing[name] for name in missing if not found[name]]
    assert not kept
    assert len({role for role, _ in ROLES}) >= 12
    with capsys.disabled():
        print(f"  [{len(lists)} programs pass; {len(missing)} without one entry fail]")
