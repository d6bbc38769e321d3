"""Questions of ``acl who`` over generated deployments, which a live broker answers.

Each question is one user, one verb, and a subject or a pattern of one account. The broker is asked
by doing it: the user publishes, or subscribes in every way that its lists may allow.

With ``PYTHONPATH=.:tests:tests/acl``:

    python tests/acl/who_questions.py --seed 1 --count 10000 [--record FILE]
    python tests/acl/who_questions.py --vectors FILE

The second form writes questions with the answers of the broker as rows of the kind ``who``.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flow_questions import WORDS, generated
from judged_by_hand import judge_by_hand
from raw_client import RawClient
from who_variants import KINDS, Live, running

from servers import binaries
from subtrie._core import engine
from subtrie.acl._access import OTHERS, Access, AccessReview

#: How often a message is published where mappings decide by chance.
TIMES = 60


class _Broker:
    """A broker with two connections of each user: one publishes, one receives."""

    def __init__(self, live: Live) -> None:
        self._senders, self._receivers = (
            {name: RawClient(live.url, **live.logins[name]) for name in live.model.users}
            for _ in range(2)
        )

    def accepts(self, user: str, pattern: str, queue: str | None) -> bool:
        """Return whether a user may subscribe."""
        receiver = self._receivers[user]
        receiver.subscribe(pattern, "1", queue)
        receiver.flush()
        accepted = not receiver.refused
        receiver.unsubscribe("1")
        receiver.flush()
        return accepted

    def publishes(self, user: str) -> RawClient:
        """The connection by which a user publishes."""
        return self._senders[user]

    def receives(self, user: str) -> RawClient:
        """The connection by which a user receives."""
        return self._receivers[user]

    def heard(
        self, listener: str, patterns: list[str], sender: str, subjects: list[str]
    ) -> set[str]:
        """The subjects that a user receives by those subscriptions that are not refused."""
        receiver, publisher = self._receivers[listener], self._senders[sender]
        for sid, entry in enumerate(patterns):
            pattern, _, queue = entry.partition(" ")
            receiver.subscribe(pattern, str(sid), queue or None)
        receiver.flush()
        for subject in subjects:
            publisher.publish(subject)
        publisher.flush()
        for sid in range(len(patterns)):
            receiver.unsubscribe(str(sid))
        receiver.flush()
        return {subject for _, subject, _ in receiver.messages}

    def close(self) -> None:
        for each in (*self._senders.values(), *self._receivers.values()):
            each.close()


class _Questions:
    """The questions about one deployment."""

    def __init__(self, live: Live, broker: _Broker, rng: random.Random) -> None:
        self._model, self._broker, self._rng = live.model, broker, rng
        self._linked = live.linked
        self._review = AccessReview(live.model, "broker")
        self.counts: Counter[str] = Counter()
        self.undetermined: list[str] = []
        #: The questions whose answers the broker gave: true, false, or null for "not determined".
        self.rows: list[dict[str, Any]] = []

    def ask(self, account: str, text: str, verb: str) -> int:
        """Ask about every user that can be asked; return how many they were."""
        rows = self._review.who(account, text, verb)
        asked = 0
        answers: dict[str, bool | None] = {}
        question = {"account": account, "subject": text, "verb": verb}
        self.rows.append({"kind": "who", **question, "expect": answers})
        for user in self._model.users:
            found = [each for each in rows if each.user == user]
            if any(not each.determined for each in found):
                self.counts["undetermined"] += 1
                self.undetermined.append(found[0].rule)
                answers[user] = None
                asked += 1
                continue
            if verb == "subscribe" and not found and not user.startswith(f"{account}/"):
                continue  # nothing to try: it knows no message of the account
            check = {"publish": self._published, "receive": self._received,
                     "subscribe": self._subscribed}[verb]  # fmt: skip
            problem = check(account, text, user, found)
            if problem:
                message = {"account": account, "subject": text, "verb": verb, "user": user}
                raise AssertionError(json.dumps(message | {"found": str(found), "live": problem}))
            crossing = not user.startswith(f"{account}/")
            if found or not (crossing and verb == "publish" and self._is_mapped(account, text)):
                answers[user] = bool(found)
            where = "another account" if crossing else "own account"
            self.counts[f"{verb}, {where}, {'yes' if found else 'no'}"] += 1
            asked += 1
        if self._linked is not None and verb != "subscribe":
            asked += self._of_others(account, text, verb, rows)
        return asked

    def _of_others(self, account: str, text: str, verb: str, rows: list[Access]) -> int:
        """Ask about clients of the linked broker: what crosses must have been named."""
        assert self._linked is not None
        others = [each for each in rows if each.user.startswith(OTHERS)]
        owner = f"{account}/{account.lower()}0"
        subjects = [text] if _literal(text) else list(self._subjects(text))
        if verb == "publish":
            # Imports may rename what they send, so they send a little of everything.
            sent = [*subjects, *self._subjects(">")]
            receiver = self._broker.receives(owner)
            receiver.subscribe(">", "1")
            receiver.flush()
            heard = self._linked.brings(receiver, sent)
            receiver.unsubscribe("1")
            receiver.flush()
            if account != self._linked.account:
                heard = set()  # it is not told which of them came by the link alone
            crossed = {each for each in heard if engine.matches(text, each)}
        else:
            crossed = self._linked.takes(self._broker.publishes(owner), subjects)
        if crossed and not others:
            raise AssertionError(f"{verb} {account}:{text}: {crossed} crossed, {rows}")
        for each in others:
            self.undetermined.append(each.rule)
        kind = "named, not determined" if others else "nothing crosses"
        self.counts[f"{verb}, clients of a linked broker, {kind}"] += 1
        return 1

    def _subscribed(self, account: str, text: str, user: str, found: list[Access]) -> str:
        queues = {None, *(entry.partition(" ")[2] or None for entry in
                          self._model.users[user].lists("subscribe")[0])}  # fmt: skip
        for row in found:
            pattern = row.known_as or text
            if not any(self._broker.accepts(user, pattern, queue) for queue in queues):
                return f"{pattern} is refused"
        if not found and any(self._broker.accepts(user, text, queue) for queue in queues):
            return f"{text} is accepted"
        return ""

    def _received(self, account: str, text: str, user: str, found: list[Access]) -> str:
        owner = f"{account}/{account.lower()}0"
        lists = self._model.users[user].lists("subscribe")[0]
        for row in found:
            subject = row.witness or text
            told = row.known_as or subject
            queued = [f"{told} {entry.partition(' ')[2]}" for entry in lists if " " in entry]
            asked = [told, *queued, *lists]
            heard = self._broker.heard(user, asked, owner, [subject] * TIMES)
            if not any(engine.matches(told, each) for each in heard):
                return f"not heard: {subject} as {told}, but {heard}"
        if found:
            return ""
        subjects = [text] * TIMES if _literal(text) else list(self._subjects(text))
        heard = self._broker.heard(user, [*lists, *subjects], owner, subjects)
        return f"heard: {heard}" if heard else ""

    def _published(self, account: str, text: str, user: str, found: list[Access]) -> str:
        owner = f"{account}/{account.lower()}0"
        for row in found:
            subject = row.known_as if row.known_as and _literal(row.known_as) else row.witness
            heard = self._broker.heard(owner, [">"], user, [subject or text] * TIMES)
            if not any(self._counts(account, text, each) for each in heard):
                return f"{subject or text} does not arrive, but {heard}"
        if found:
            return ""
        tried = [text] * TIMES if _literal(text) else list(self._subjects(text))
        if not user.startswith(f"{account}/"):
            tried = [*tried, *self._subjects(">")]
            if self._is_mapped(account, text):
                return ""  # the listener cannot tell what the message was published as
        heard = self._broker.heard(owner, [">"], user, tried)
        wrong = [each for each in heard if engine.matches(text, each)]
        return f"arrives: {wrong}" if wrong else ""

    def _counts(self, account: str, text: str, heard: str) -> bool:
        """True if a message that the account receives may be one of those that were asked about."""
        return engine.matches(text, heard) or self._is_mapped(account, text)

    def _is_mapped(self, account: str, text: str) -> bool:
        mappings = self._model.accounts[account].mappings
        return any(engine.overlaps(each.source, text) for each in mappings)

    def _subjects(self, pattern: str) -> Iterator[str]:
        for _ in range(24):
            tokens = []
            for token in pattern.split("."):
                if token == ">":
                    tokens += self._rng.choices(WORDS, k=self._rng.randint(1, 3))
                else:
                    tokens.append(self._rng.choice(WORDS) if token == "*" else token)
            yield ".".join(tokens)


def _literal(text: str) -> bool:
    return {"*", ">"}.isdisjoint(text.split("."))


def judged(
    seed: int, count: int, folder: Path, rows: list[dict[str, Any]] | None = None
) -> tuple[Counter[str], list[str]]:
    """Counts of answers by kind, and why some are not determined. Raises on any difference.

    Args:
        seed: The seed of deployments and questions.
        count: The number of questions.
        folder: A folder for the brokers.
        rows: Receives the questions about single configurations, with the answers.
    """
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    undetermined: list[str] = []
    left = count
    for number, deployment in enumerate(generated(seed, 10**9)):
        if left <= 0:
            break
        fits = deployment["input"] == "store"
        kind = rng.choice([each for each in KINDS if each != "templates" or fits])
        if fits and rng.random() < 0.5:
            kind = "templates"
        with running(kind, rng, deployment, folder / str(number)) as live:
            broker = _Broker(live)
            questions = _Questions(live, broker, rng)
            asked = 0
            for each in _asked(rng, deployment):
                asked += questions.ask(*each)
            broker.close()
        config = folder / str(number) / "nats.conf"
        if rows is not None and config.exists() and kind != "leaf node":
            rows += [{**each, "config": config.read_text()} for each in questions.rows]
        left -= asked
        counts += questions.counts
        counts[f"of kind: {kind}"] += asked
        undetermined += questions.undetermined
    return counts, undetermined


def _asked(rng: random.Random, deployment: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Twelve questions: about both ends of imports, mappings, and anything."""
    texts = []
    for name, block in deployment["accounts"].items():
        for taken in block["imports"]:
            kind = "stream" if "stream" in taken else "service"
            texts.append((taken[kind]["account"], taken[kind]["subject"]))
            texts.append((name, taken.get("to") or taken[kind]["subject"]))
        texts += [(name, source) for source in block.get("mappings", {})]
        texts.append((name, rng.choice(["a.*", "x", "a.b", "*.x", "m.x", ">"])))
    for account, text in rng.sample(texts, min(len(texts), 12)):
        tokens = ["*" if token[0] == "$" else token for token in text.split(".")]
        if rng.random() < 0.6:
            tokens = [rng.choice(WORDS) if token in ("*", ">") else token for token in tokens]
        yield account, ".".join(tokens), rng.choice(["publish", "receive", "subscribe"])


def counted(seed: int, count: int, folder: Path) -> Counter[str]:
    """Print why answers are not determined, and return the counts of answers by kind."""
    counts, undetermined = judged(seed, count, folder)
    for reason, number in Counter(undetermined).most_common():
        print(number, reason)
    return counts


def write_vectors(path: Path) -> None:
    """Write 150 questions of seed 5 with the answers of a broker."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        judged(5, 3000, Path(folder), rows)
    version = next(iter(binaries()))
    chosen = random.Random(5).sample([each for each in rows if each["expect"]], 150)
    chosen.sort(key=lambda each: (each["config"], each["account"], each["subject"]))
    with path.open("w") as out:
        for number, row in enumerate(chosen, 1):
            head = {"id": f"w{number:04}", "kind": "who", "from": f"nats-server {version}"}
            out.write(json.dumps({**head, **row}) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--vectors"]:
        write_vectors(Path(sys.argv[2]))
    else:
        judge_by_hand(__doc__, counted, 10_000)
