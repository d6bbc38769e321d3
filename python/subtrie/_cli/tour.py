"""``subtrie tour``: what subtrie does, in six commands that can be repeated."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import click

from .stream import print_json, say

#: The folder that the printed commands name.
FOLDER = "tour"

#: The files of the tour: subscriptions, and a list of permissions before and after it was edited.
FILES = {
    "subscriptions.txt": """\
# one pattern per line, with an optional queue group
prod.safe.443.*.orders_shop._.GET.orders.* orders.shop
prod.safe.443.*.orders_shop._.POST.orders orders.shop
prod.safe.443.*.stock_shop._.GET.items.> stock.shop
""",
    "old.conf": """\
authorization { users: [ { user: web, password: $WEB_PASSWORD, permissions: { publish: {
  allow: [ "prod.safe.443.web_shop.orders_shop._.GET.orders.*"
           "prod.safe.443.web_shop.stock_shop._.GET.items.*"
           "prod.safe.443.web_shop.stock_shop._.GET.items.*.>" ]
  deny:  [ "prod.safe.443.web_shop.orders_shop._.GET.orders.all" ]
} } } ] }
""",
    "new.conf": """\
authorization { users: [ { user: web, password: $WEB_PASSWORD, permissions: { publish: {
  allow: [ "prod.safe.443.web_shop.orders_shop._.GET.orders.*"
           "prod.safe.443.web_shop.stock_shop._.GET.items.>" ]
  deny:  [ "prod.safe.443.web_shop.orders_shop._.GET.order.all" ]
} } } ] }
""",
}

_SUBJECT = "prod.safe.443.web_shop.orders_shop._.GET.orders.7"
_ORDER = "prod.safe.443.web_shop.orders_shop._.GET.order.7"
_ALL = "prod.safe.443.web_shop.orders_shop._.GET.orders.all"


class TourStep(NamedTuple):
    """One step: what it shows, and the arguments of the command that shows it."""

    title: str
    arguments: tuple[str, ...]


STEPS = (
    TourStep(
        "A request becomes a subject: plane, port, sender, receiver, method, path.",
        ("encode", "--plane", "prod", "--source", "web.shop", "https://orders.shop/orders/7"),
    ),
    TourStep("Its parts are read back; the sender is part of the subject.", ("decode", _SUBJECT)),
    TourStep(
        "The subscriptions that match it.",
        ("who", "-s", f"{FOLDER}/subscriptions.txt", _SUBJECT),
    ),
    TourStep(
        "A near miss: no service has this path; the nearest pattern differs in one token.",
        ("who", "-s", f"{FOLDER}/subscriptions.txt", _ORDER),
    ),
    TourStep(
        "Permissions were tidied up: two rules became one, and exactly one subject leaks.",
        ("acl", "diff", f"{FOLDER}/old.conf", f"{FOLDER}/new.conf"),
    ),
    TourStep(
        "The rule that allows it now: the deny entry was misspelt.",
        ("why", "-p", f"{FOLDER}/new.conf", _ALL),
    ),
)


@click.command()
@click.option(
    "--write", is_flag=True,
    help=f"Write the files of the tour to ./{FOLDER}, so that its commands can be repeated.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each step.")
def tour(write: bool, as_json: bool) -> None:
    """Show what subtrie does: addresses, matches, a near miss, a leak in permissions.

    Takes two seconds and no network. Each step prints the command that repeats it. Exit code 0.
    """
    if write:
        Path(FOLDER).mkdir(exist_ok=True)
        _write(Path(FOLDER))
    with tempfile.TemporaryDirectory() as kept:
        _write(Path(kept))
        for number, step in enumerate(STEPS, 1):
            if as_json:
                code, printed = answer((*step.arguments, "--json"), kept)
                answers: list[Any] = [json.loads(line) for line in printed.splitlines()]
                command = shlex.join(("subtrie", *step.arguments))
                print_json({"step": number, "title": step.title, "command": command,
                            "exit_code": code, "answers": answers})  # fmt: skip
                continue
            say((f"{number}. {step.title}", "bold"))
            say(("   $ " + shlex.join(("subtrie", *step.arguments)), "cyan"))
            for line in answer(step.arguments, kept)[1].splitlines():
                say("   " + line)
            say()
    if not as_json and not write:
        say(f"To repeat these commands here: subtrie tour --write (makes the folder {FOLDER})")


def answer(arguments: tuple[str, ...], folder: str) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and what it prints.

    Args:
        arguments: Those of the command ``subtrie``.
        folder: The folder that stands for ``tour``.
    """
    from .app import app

    real = [word.replace(f"{FOLDER}/", f"{folder}/") for word in arguments]
    printed = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(printed):
        try:
            app(real, standalone_mode=False)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, printed.getvalue().replace(f"{folder}/", f"{FOLDER}/")


def _write(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
