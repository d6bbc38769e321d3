"""Questions about deployments of three accounts, and a live broker that answers them.

A file holds one deployment on each line, as JSON::

    {"config": "accounts { … }",
     "questions": [{"publisher": "A/a0", "subject": "x.y", "receiver": "B/b0", "pattern": "x.*"}]}

``config`` is a server configuration without addresses; every user's password is ``open``. In its
place, ``accounts`` is the block of accounts as JSON, with ``input``: ``config`` (the default),
``store`` (the same accounts and users as JWTs in a folder, the broker in operator mode) or
``broker`` (accounts as the running broker tells them, users from the configuration); ``cluster``
may name the broker's cluster. A question may have ``queue``, the queue group of the subscription,
and ``expect``, the sorted subjects under which the message arrives; without it, the broker is
asked. Where chance decides, the broker's answer must be one of those the model lists.

With ``PYTHONPATH=.:tests:tests/acl``:

    python tests/acl/flow_questions.py --seed 1 --count 10000 [--out FILE | --file FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from operator_mode import OperatorMode
from operators import connecting
from raw_client import RawClient

from servers import monitor, serving
from subtrie._core import engine
from subtrie.acl import Deployment

ACCOUNTS = "ABC"
WORDS = ["a", "b", "x", "a", "b", "x", "a-b", "-x", "--y", "abcde"]
INPUTS = ("config", "config", "store", "store", "broker")
QUESTIONS_EACH = 80


def generated(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Deployments from a seed, with this many questions in all."""
    rng = random.Random(seed)
    while count > 0:
        number = min(count, QUESTIONS_EACH)
        yield _deployment(rng, number)
        count -= number


def _pattern(rng: random.Random, words: str = "abx", most: int = 3) -> str:
    tokens = [rng.choice(f"{words}{words}*") for _ in range(rng.randint(1, most))]
    if rng.random() < 0.25:
        tokens[-1] = ">"
    return ".".join(tokens)


def _renamed(rng: random.Random, subject: str, word: str) -> str:
    """Another subject with the same wildcards, perhaps numbered in another order."""
    tokens = subject.split(".")
    stars = [index for index, token in enumerate(tokens) if token == "*"]
    if len(stars) > 1 and rng.random() < 0.5:
        order = rng.sample(range(1, len(stars) + 1), len(stars))
        for index, number in zip(stars, order, strict=True):
            tokens[index] = f"${number}"
    elif stars and rng.random() < 0.3:
        for number, index in enumerate(stars, 1):
            tokens[index] = f"${number}"
    return ".".join([word, *tokens])


def _deployment(rng: random.Random, number: int) -> dict[str, Any]:
    exports = {
        name: [
            {rng.choice(["stream", "service"]): subject,
             **({} if rng.random() < 0.5 else {"accounts": list(ACCOUNTS)})}
            for subject in dict.fromkeys(_pattern(rng) for _ in range(rng.randint(1, 3)))
        ]
        for name in ACCOUNTS
    }  # fmt: skip
    order = {kind: rng.sample(ACCOUNTS, len(ACCOUNTS)) for kind in ("stream", "service")}
    blocks, patterns = [], ["a.*", ">", "*.>", "x.>", "p.>", "m.>"]
    for name in ACCOUNTS:
        imports: list[dict[str, Any]] = []
        for other in ACCOUNTS:
            for each in exports[other]:
                kind = "stream" if "stream" in each else "service"
                # The broker refuses cycles of imports.
                if order[kind].index(other) >= order[kind].index(name) or rng.random() < 0.3:
                    continue
                taken: dict[str, Any] = {kind: {"account": other, "subject": each[kind]}}
                chance = rng.random()
                if chance < 0.35:
                    taken["to"] = _renamed(rng, each[kind], f"{other.lower()}{len(imports)}")
                    patterns.append(f"{other.lower()}{len(imports)}.>")
                elif chance < 0.6 and kind == "stream":
                    taken["prefix"] = "p"
                if kind == "service":
                    local = taken.get("to", each[kind])
                    if any(
                        local
                        == one.get("to", *[o["subject"] for k, o in one.items() if k == "service"])
                        for one in imports
                        if "service" in one
                    ):
                        continue
                imports.append(taken)
        mappings = {}
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            source = _pattern(rng, "abx", 3)
            if not any(engine.overlaps(source, other) for other in mappings) or rng.random() < 0.2:
                mappings[source] = _targets(rng, source)
        users = [
            {"user": f"{name.lower()}{index}", "password": "open", **_permissions(rng, index)}
            for index in range(3)
        ]
        block = {"users": users, "exports": exports[name], "imports": imports}
        if mappings:
            block["mappings"] = mappings
        blocks.append((name, block))
    crossings = [(name, taken) for name, block in blocks for taken in block["imports"]]
    questions = [_question(rng, crossings, patterns) for _ in range(number)]
    return {
        "accounts": dict(blocks),
        "input": rng.choice([each for each in INPUTS if each != "store" or _fits_jwts(blocks)]),
        "cluster": rng.choice(["", "", "east", "west"]),
        "questions": questions,
    }


def _fits_jwts(blocks: list[tuple[str, dict[str, Any]]]) -> bool:
    """False if the broker refuses the accounts as JWTs, which it checks more closely."""
    for _, block in blocks:
        for kind in ("stream", "service"):
            offered = [each[kind] for each in block["exports"] if kind in each]
            if any(engine.overlaps(*pair) for pair in itertools.combinations(offered, 2)):
                return False
        for rows in block.get("mappings", {}).values():
            if " " in str(rows) and isinstance(rows, str):
                return False
            if isinstance(rows, list) and len(rows) > 1:
                return False
    return True


def _targets(rng: random.Random, source: str) -> Any:
    """The targets of a mapping: most of them certain, some by chance or by cluster."""
    chance = rng.random()
    if chance < 0.35:
        return _numbered(rng, source)
    if chance < 0.45:
        return [{"dest": _numbered(rng, source), "weight": "100%"}]
    end = ".>" if source.endswith(">") else ""
    if chance < 0.55:
        return [{"destination": f"m.some{end}", "weight": 40}]
    if chance < 0.75:
        rows = [{"destination": f"m.{name}{end}", "weight": 100, "cluster": name}
                for name in rng.sample(["east", "west", "a"], 2)]  # fmt: skip
        return [*rows, {"destination": f"m.else{end}", "weight": 100}][: rng.choice([2, 3])]
    count = source.split(".").count("*")
    if not count:
        return f"m.{rng.choice(['{{partition(3)}}', '{{random(2)}}', 'x'])}{end}"
    which, size = rng.randint(1, count), rng.randint(1, 3)
    function = rng.choice(
        ["partition(3,{w})", "partition( 5 , {w} )", "SplitFromLeft({w},{n})",
         "splitFromRight({w}, {n})", "sliceFromLeft({w},{n})", "SliceFromRight({w},{n})",
         "split({w},-)", "left({w},{n})", "Right({w},{n})", "partition(4)", "Wildcard({w})"]
    )  # fmt: skip
    return f"m.{{{{{function.format(w=which, n=size)}}}}}{end}"


def _question(
    rng: random.Random, crossings: list[tuple[str, dict[str, Any]]], patterns: list[str]
) -> dict[str, str]:
    """Two thirds follow an import, from the side where a message is published to the other."""

    def user(account: str) -> str:
        return f"{account}/{account.lower()}{rng.choice([0, 0, 0, 1, 2])}"

    if crossings and rng.random() < 0.67:
        importer, taken = rng.choice(crossings)
        kind = "stream" if "stream" in taken else "service"
        exporter, subject = taken[kind]["account"], taken[kind]["subject"]
        local = taken.get("to") or (f"p.{subject}" if "prefix" in taken else subject)
        ends = [(exporter, subject), (importer, local)]
        (here, published), (there, received) = ends if kind == "stream" else ends[::-1]
        pattern = rng.choice([pattern_of(received), ">", _literal(rng, received), "m.>"])
        return {"publisher": user(here), "subject": _literal(rng, published),
                "receiver": user(there), "pattern": pattern, **_queued(rng)}  # fmt: skip
    subject = ".".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
    pattern = rng.choice([_pattern(rng), rng.choice(patterns), ">"])
    return {"publisher": user(rng.choice(ACCOUNTS)), "subject": subject,
            "receiver": user(rng.choice(ACCOUNTS)), "pattern": pattern,
            **_queued(rng)}  # fmt: skip


def _queued(rng: random.Random) -> dict[str, str]:
    return {"queue": "q"} if rng.random() < 0.2 else {}


def pattern_of(text: str) -> str:
    """The pattern of a subject whose wildcards may be numbered."""
    return ".".join("*" if token[0] == "$" else token for token in text.split("."))


def _literal(rng: random.Random, text: str) -> str:
    """A subject of a pattern."""
    return ".".join(rng.choice(WORDS) if token[0] in "*>$" else token for token in text.split("."))


def _numbered(rng: random.Random, source: str) -> str:
    count = itertools.count(1)
    style = rng.choice(["${}", "{{{{wildcard({})}}}}"])
    tokens = [style.format(next(count)) if token == "*" else token for token in source.split(".")]
    return ".".join(["m", *tokens])


def _permissions(rng: random.Random, index: int) -> dict[str, Any]:
    if index == 0:
        return {}
    lists: dict[str, Any] = {}
    for verb in ("publish", "subscribe"):
        sides = {}
        if rng.random() < 0.6:
            sides["allow"] = [_pattern(rng) for _ in range(3)] + [">"] * (rng.random() < 0.5)
        if rng.random() < 0.5:
            sides["deny"] = [_pattern(rng)]
        if sides:
            lists[verb] = sides
    return {"permissions": lists} if lists else {}


def answered(
    deployment: dict[str, Any], folder: Path, path: Path
) -> tuple[Deployment, list[list[str]]]:
    """The deployment as its input tells it, and the deliveries of the broker: sorted subjects."""
    answers = []
    given = deployment.get("input", "config")
    config, operator = configuration(deployment), None
    sources: list[str | Path] = [path]
    if given == "store":
        operator = OperatorMode(deployment["accounts"])
        config = operator.config + _cluster(deployment)
        sources = [operator.store(folder / "store")]
    path.write_text(config)
    if given == "broker":
        config += "http: '127.0.0.1:-1'\n"
    with serving(folder, config) as url:
        clients: dict[tuple[str, str], RawClient] = {}

        def client(role: str, user: str) -> RawClient:
            if (role, user) not in clients:
                if operator is not None:
                    login = connecting(*operator.users[user])
                else:
                    login = {"user": user.rpartition("/")[2], "pass": "open"}
                clients[role, user] = RawClient(url, **login)
            return clients[role, user]

        model = Deployment.load(*sources)
        if given == "broker":
            told = Deployment.load(monitor(folder))
            model.accounts = told.accounts
        if given == "store":
            model.cluster = deployment["cluster"]
        for sid, question in enumerate(deployment["questions"]):
            publisher = client("publisher", question["publisher"])
            receiver = client("receiver", question["receiver"])
            receiver.subscribe(question["pattern"], str(sid), question.get("queue"))
            receiver.flush()
            publisher.publish(question["subject"])
            publisher.flush()
            receiver.unsubscribe(str(sid))
            receiver.flush()
            answers.append(sorted(subject for _, subject, _ in receiver.messages))
        for each in clients.values():
            each.close()
    return model, answers


def configuration(deployment: dict[str, Any]) -> str:
    """The text of the server configuration of a line."""
    if "config" in deployment:
        return str(deployment["config"])
    accounts = json.dumps(deployment["accounts"], indent=1)
    return f"accounts {accounts}\n{_cluster(deployment)}"


def _cluster(deployment: dict[str, Any]) -> str:
    name = deployment.get("cluster")
    return f"cluster {{ name: {name}, listen: '127.0.0.1:-1' }}\n" if name else ""


def judged(deployments: Iterable[dict[str, Any]], folder: Path) -> tuple[Counter[str], list[Any]]:
    """Counts of answers by kind, and the undetermined questions. Raises on any difference."""
    counts: Counter[str] = Counter()
    undetermined = []
    for number, each in enumerate(deployments):
        path = folder / f"{number}.conf"
        given = [question.get("expect") for question in each["questions"]]
        if None in given:
            model, asked = answered(each, folder / str(number), path)
        else:
            path.write_text(configuration(each))
            model, asked = Deployment.load(path), given
        counts[each.get("input", "config")] += len(asked)
        for question, said in zip(each["questions"], asked, strict=True):
            ours = model.delivery(
                question["publisher"], question["subject"], question["receiver"],
                question["pattern"], queue=question.get("queue"),
            )  # fmt: skip
            crossing = question["publisher"][0] != question["receiver"][0]
            kind = f"{'across' if crossing else 'within'} {'yes' if said else 'no'}"
            if not ours.determined:
                kind = "undetermined, listed" if ours.possible else "undetermined"
                undetermined.append({**question, "why": ours.explanation})
            counts[kind] += 1
            counts["renamed"] += any(text != question["subject"] for text in said)
            possible = (ours.subjects,) if ours.determined else ours.possible
            if possible and tuple(said) not in possible:
                raise AssertionError(json.dumps({"deployment": each, "question": question,
                                                 "broker": said, "ours": possible,
                                                 "why": ours.explanation}))  # fmt: skip
    return counts, undetermined


def main() -> None:
    """Generate or read questions, and compare the answers with a live broker's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="write the questions to this file")
    parser.add_argument("--file", type=Path, help="read the questions from this file")
    options = parser.parse_args()
    if options.file is not None:
        deployments = [json.loads(line) for line in options.file.read_text().splitlines()]
    else:
        deployments = list(generated(options.seed, options.count))
    if options.out is not None:
        options.out.write_text("".join(json.dumps(each) + "\n" for each in deployments))
        return
    with tempfile.TemporaryDirectory() as folder:
        counts, undetermined = judged(deployments, Path(folder))
    for each in undetermined:
        print(json.dumps(each))
    asked = sum(counts[kind] for kind in set(INPUTS))
    print(f"{asked} questions, no difference: {dict(sorted(counts.items()))}", file=sys.stderr)


if __name__ == "__main__":
    main()
