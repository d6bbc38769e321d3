"""A program in strict mode is clean under mypy and pyright, and a mistake in it is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python"

PROGRAM = '''
"""Index, addresses, permissions and two services."""

from collections.abc import Callable
from dataclasses import dataclass

from subtrie import Dispatcher, Pattern, Subject, SubjectTrie, SubtrieError, check_name, microbus
from subtrie.acl import Decision, Permissions
from subtrie.connector import Client, Connector, Event, HTTPError, Request, Response, run
from subtrie.gencreds import rules, scan

Handler = Callable[[str], None]


def found(trie: SubjectTrie[Handler], text: str) -> list[Handler]:
    near = trie.explain(text).nearest
    if near:
        print(near[0].pattern, near[0].differs_at)
    return [*trie.match(text), *trie.select(text)]


def addresses() -> str | None:
    subject: Subject = microbus.request_from_url(
        plane="p", source="a.b", method="GET", url="https://c.d/x"
    )
    overlap = Pattern("a.*").overlaps("*.b")
    address = microbus.decode(subject)
    print(address.replace(plane="q"), overlap, check_name("A", "stream").legal)
    return microbus.source_of(subject)


def decisions(old: Permissions, new: Permissions) -> Decision:
    for grant in old.diff(new).added:
        print(grant.pattern.upper(), grant.witness.tokens)
    return new.can_publish("a.b", model="broker")


@dataclass
class Order:
    item: str
    pieces: int = 1


service = Connector("shop.example")
client = Client("stock.example")
placed = Event[Order]("shop.example", "/on-placed")
dispatcher: Dispatcher[Order] = Dispatcher()


@client.call("GET", "/level/{item}")
async def level(item: str) -> int:
    raise NotImplementedError


@service.endpoint("POST", "/order/{id}")
async def place(id: int, order: Order, request: Request) -> dict[str, int]:
    if await level(service, order.item) < order.pieces:
        raise HTTPError("sold out", status=409)
    response: Response = await service.request("GET", "https://bank.example/limit")
    print(request.source, response.status)
    await service.trigger(placed, order)
    return {"order": id}


@service.on(placed)
async def note(order: Order) -> None:
    dispatcher.dispatch("orders.new", order)


if __name__ == "__main__":
    try:
        print([rules(each, "p").publish_allow for each in scan(".")])
    except SubtrieError as error:
        print(error.reason, error.position, error.hint)
    run(service)
'''

MISTAKE = "\nwrong: str = found(SubjectTrie[Handler](), 'a.b')\n"


def mypy(file: Path) -> list[str]:
    """The lines of the errors that mypy finds."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent",
         "--cache-dir", str(file.parents[1] / "mypy"), str(file)],
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if ": error:" in line]


def pyright(file: Path) -> list[str]:
    """The errors that pyright finds in strict mode."""
    (file.parent / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "typeCheckingMode": "strict",
                "include": [file.name],
                "extraPaths": [str(PACKAGE)],
                "pythonVersion": "3.11",
            }
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=file.parent, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright, which npm installs at its first run, cannot start: {done.stderr}")
    report = json.loads(done.stdout)
    return [
        f"{each['range']['start']['line'] + 1}: {each['message']}"
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    ]


@pytest.mark.parametrize("checker", [mypy, pyright], ids=["mypy", "pyright"])
def test_a_program_is_clean_and_a_mistake_is_found(checker, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + MISTAKE, encoding="utf-8")
    (found,) = checker(file)  # the mistake, and nothing in the program
    assert str(len((PROGRAM + MISTAKE).splitlines())) in found
