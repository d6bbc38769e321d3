"""Programs of all roles on a running broker, under lists, and under lists without an entry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nats
from jetstream_roles import answering, prepared, run
from nats.aio.client import Client

from subtrie.acl import Permissions

Program = Callable[[Client], Awaitable[None]]
Lists = dict[str, Any]

#: The settings of a broker; its folder, and the users.
SERVER = 'jetstream {{ store_dir: "{}" }}\n{}\nauthorization {{ users: [\n{}\n] }}'
#: The user that makes the streams, and answers.
ROOT = "{ user: root, password: open }"


def config(folder: Path, users: list[str], more: str = "") -> str:
    """A configuration with these users besides the root."""
    return SERVER.format(folder, more, "\n".join([ROOT, *users]))


def user(name: str, lists: Lists, folder: Path) -> str:
    """A user of a configuration with these lists, which are those of subtrie permissions JSON."""
    path = folder / "lists.json"
    path.write_text(json.dumps(lists))
    block = Permissions.load(path).dump("conf").replace("permissions =", "permissions:", 1)
    return f"{{ user: {name}, password: open, {block} }}"


def entries(lists: Lists) -> Iterator[tuple[str, str]]:
    """Each allow entry with the name of its list; ``allow_responses`` is one."""
    for name in ("publish_allow", "subscribe_allow"):
        yield from ((name, entry) for entry in lists[name])
    if lists["allow_responses"]:
        yield "allow_responses", "1"


def without(lists: Lists, name: str, entry: str) -> Lists:
    """The lists with one entry less."""
    value = None if name == "allow_responses" else [e for e in lists[name] if e != entry]
    return lists | {name: value}


def each_missing(
    programs: Mapping[str, Program], lists: Mapping[str, Lists], folder: Path
) -> tuple[list[str], dict[str, Program], dict[str, tuple[str, str]]]:
    """Users with their lists, and users with one entry less; their programs; what is missing."""
    blocks, of_users, missing = [], dict(programs), {}
    for name, rules in lists.items():
        blocks.append(user(name, rules, folder))
        for index, (side, entry) in enumerate(entries(rules)):
            other = f"{name}x{index}"
            of_users[other], missing[other] = programs[name], (name, entry)
            blocks.append(user(other, without(rules, side, entry), folder))
    return blocks, of_users, missing


async def prepared_once(url: str) -> None:
    """Make the streams."""
    root = await nats.connect(url, user="root", password="open")
    await prepared(root)
    await root.close()


def refusals(url: str, users: Mapping[str, Program]) -> dict[str, list[str]]:
    """The refusals of each user's program, which run one after the other."""

    async def tried() -> dict[str, list[str]]:
        root = await nats.connect(url, user="root", password="open")
        await answering(root)
        found = {}
        for name, program in users.items():
            await prepared(root)
            found[name] = await run(url, name, program)
        await root.close()
        return found

    return asyncio.run(tried())
