"""The numbers in the name of an import mean what they mean to a running broker."""

from __future__ import annotations

import asyncio

import nats
import pytest
from command_runs import written

from servers import serving
from subtrie.acl import Deployment
from subtrie.acl._account import Import, transformed
from subtrie.acl._renaming import Renaming

#: Kind, the pattern that is exported, and the name by which it is imported.
IMPORTS = [
    ("stream", "s.*", "x.$1.*"), ("stream", "s.*.*", "x.$2.$1"), ("stream", "s.*.*", "x.$2.*.$1"),
    ("stream", "s.*.*", "x.*.$1"), ("stream", "s.*.*", "x.$2.*"), ("stream", "s.*.*", "x.*.*"),
    ("stream", "s.*.*.*", "x.$2.$3.$1"), ("stream", "s.*.>", "x.$1.y.>"),
    ("service", "s.*.*", "x.$2.*"), ("service", "s.*.*", "x.*.$1"), ("service", "s.*.*", "x.$2.$1"),
    ("service", "s.*.*.*", "x.$2.$3.$1"), ("service", "s.*.*.*", "x.$3.$1.$2"),
    ("service", "s.*.*.*", "x.$1.$3.$2"), ("service", "s.*.*", "x.*.*"),
]  # fmt: skip


@pytest.fixture(scope="module")
def delivered(tmp_path_factory):
    """The subject under which a broker delivers one message through each import."""
    lines, sent = [], []
    for number, (kind, there, here) in enumerate(IMPORTS):
        there, here = f"{number}.{there}", f"{number}.{here}"
        lines.append(
            f"B{number} {{ users: [{{ user: b{number}, password: x }}], imports: ["
            f'{{ {kind}: {{ account: A, subject: "{there}" }}, to: "{here}" }}] }}'
        )
        pattern = there if kind == "stream" else here.replace("$1", "*").replace("$2", "*")
        tokens = iter("abcd")
        sent.append(".".join(next(tokens) if each in ("*", ">", "$3") else each
                             for each in pattern.split(".")))  # fmt: skip
    offers = ", ".join(f'{{ {kind}: "{n}.{there}" }}' for n, (kind, there, _) in enumerate(IMPORTS))
    config = (
        f"accounts {{ A {{ users: [{{ user: a, password: x }}], exports: [{offers}] }}\n"
        + "\n".join(lines) + "\n}"
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("numbers")

    async def asked(url):
        found: dict[int, str] = {}
        one = await nats.connect(url, user="a", password="x")
        others = [await nats.connect(url, user=f"b{n}", password="x") for n in range(len(IMPORTS))]
        for n, (kind, _, _) in enumerate(IMPORTS):

            async def note(message, n=n):
                found.setdefault(n, message.subject)

            receiver, sender = (others[n], one) if kind == "stream" else (one, others[n])
            await receiver.subscribe(f"{n}.>", cb=note)
            while n not in found:  # a PING of nats-py may pass what was written before it
                await sender.publish(sent[n], b"x")
                await sender.flush()
        for each in (one, *others):
            await each.close()
        return found

    with serving(folder, config) as url:
        found = asyncio.run(asked(url))
    return Deployment.load(written(folder, config, "read.conf")), sent, found


@pytest.mark.parametrize("number", range(len(IMPORTS)))
def test_a_message_has_the_subject_that_the_broker_gives_it(delivered, number):
    deployment, sent, found = delivered
    (taken,) = deployment.accounts[f"B{number}"].imports
    assert taken.arriving(sent[number]) == found[number]
    renaming = Renaming.of_import(taken)
    assert renaming.image(sent[number]) == found[number]


@pytest.mark.parametrize("kind", ["stream", "service"])
def test_the_way_back_is_the_other_way_through(kind):
    taken = Import(kind, "A", "s.*.*.*", "x.$2.$3.$1")
    there = "s.a.b.c"
    here = transformed(*taken.ends, there)
    assert here == ("x.b.c.a" if kind == "stream" else "x.c.a.b")
    assert transformed(*taken.ends[::-1], here) == there
