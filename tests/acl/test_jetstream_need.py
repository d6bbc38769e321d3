"""``subtrie acl need``: real programs of nats-py under its lists, on a running broker."""

from __future__ import annotations

import asyncio
import json

import nats
from click.testing import CliRunner
from jetstream_roles import ROLES, answering, prepared, run
from servers import monitor, serving

from subtrie._cli.app import app
from subtrie.acl import Permissions

SERVER = 'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{}" }}\n'
ROOT = "{ user: root, password: open }"


def _needed(*arguments):
    result = CliRunner().invoke(app, ["acl", "need", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _without(lists, name, entry):
    """The lists with one entry less."""
    value = None if name == "allow_responses" else [e for e in lists[name] if e != entry]
    return lists | {name: value}


def _entries(lists):
    for name in ("publish_allow", "subscribe_allow"):
        yield from ((name, entry) for entry in lists[name])
    if lists["allow_responses"]:
        yield "allow_responses", "1"


def _user(name, lists, folder):
    path = folder / "lists.json"
    path.write_text(json.dumps(lists))
    block = Permissions.load(path).dump("conf").replace("permissions =", "permissions:", 1)
    return f"{{ user: {name}, password: open, {block} }}"


async def _prepared(url):
    root = await nats.connect(url, user="root", password="open")
    await prepared(root)
    await root.close()


async def _judged(url, users):
    root = await nats.connect(url, user="root", password="open")
    await answering(root)
    found = {}
    for name, program in users.items():
        await prepared(root)
        found[name] = await run(url, name, program)
    await root.close()
    return found


def test_a_program_passes_under_its_list_and_fails_without_any_one_entry(tmp_path, capsys):
    settings = SERVER.format(tmp_path / "store")
    with serving(tmp_path / "first", f"{settings}authorization {{ users: [ {ROOT} ] }}") as url:
        asyncio.run(_prepared(url))
        page = monitor(tmp_path / "first")
        lists = {each: _needed(*each, page) for each in ROLES}
    users, blocks, missing = {}, [ROOT], {}
    for number, (each, rules) in enumerate(lists.items()):
        users[f"u{number}"] = ROLES[each]
        blocks.append(_user(f"u{number}", rules, tmp_path))
        for index, (name, entry) in enumerate(_entries(rules)):
            users[f"u{number}x{index}"] = ROLES[each]
            missing[f"u{number}x{index}"] = (each, entry)
            blocks.append(_user(f"u{number}x{index}", _without(rules, name, entry), tmp_path))
    config = f"{settings}authorization {{ users: [\n{chr(10).join(blocks)}\n] }}"
    with serving(tmp_path / "second", config) as url:
        found = asyncio.run(_judged(url, users))
    for number, each in enumerate(lists):
        assert found[f"u{number}"] == [], (each, lists[each])
    kept = [missing[name] for name in missing if not found[name]]
    assert not kept
    assert len({role for role, _ in lists}) >= 12
    with capsys.disabled():
        print(f"  [{len(lists)} programs pass; {len(missing)} without one entry fail]")
