"""Measure each verb about permissions on a large deployment, and write a record.

    python benches/deployment_size.py [--users 2000] [--record FILE] [--only VERB]

20 accounts share the users; each account exports a stream and a service and takes those of the
account before it, maps a subject, and has streams. The figure is the CPU time of a whole command,
from the start of Python to its end, and the most memory that it held; the least of three runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ACCOUNTS = 20


def configuration(users: int, *, changed: bool = False) -> str:
    """Return a configuration; the changed one has another list and one more import."""
    rng = random.Random(1)
    blocks = []
    for number in range(ACCOUNTS):
        rows = []
        for index in range(users // ACCOUNTS):
            name = f"u{number}x{index}"
            lists = {
                "publish": {"allow": [f"a{number}.{rng.randrange(50)}.>", f"ask{number}.*",
                                      f"old{number}.>"], "deny": [f"a{number}.*.private"]},
                "subscribe": [f"a{number}.{rng.randrange(50)}.*", f"_INBOX.{name}.>",
                              f"from{number}.>"],
            }  # fmt: skip
            if changed and not index:
                lists["publish"]["allow"].append("more.>")  # type: ignore[index]
            rows.append({"user": name, "password": "$PASSWORD", "permissions": lists})
        before = (number - 1) % ACCOUNTS
        imports: list[dict[str, Any]] = []
        if number:
            stream = {"account": f"A{before}", "subject": f"a{before}.>"}
            service = {"account": f"A{before}", "subject": f"ask{before}.*"}
            imports = [{"stream": stream, "to": f"from{number}.>"}, {"service": service}]
        if changed and number == 1:
            imports.append({"stream": {"account": "A0", "subject": "more.>"}})
        block = {
            "jetstream": "enabled", "users": rows, "imports": imports,
            "exports": [{"stream": f"a{number}.>"}, {"service": f"ask{number}.*"},
                        *([{"stream": "more.>"}] if changed and not number else [])],
            "mappings": {f"old{number}.*": f"a{number}.$1"},
        }  # fmt: skip
        blocks.append(f"A{number} {json.dumps(block)}")
    return "jetstream { store_dir: /data }\naccounts {\n" + "\n".join(blocks) + "\n}\n"


def streams() -> dict[str, Any]:
    """Return an answer of ``/jsz`` with ten streams of each account."""
    details = []
    for number in range(ACCOUNTS):
        rows = [
            {"name": f"S{index}", "config": {
                "name": f"S{index}", "subjects": [f"a{number}.{index}.>"], "storage": "file",
            }, "consumer_detail": [{"name": "c", "config": {"durable_name": "c"}}]}
            for index in range(10)
        ]  # fmt: skip
        details.append({"name": f"A{number}", "id": f"A{number}", "stream_detail": rows})
    return {"server_id": "N", "account_details": details}


def log(users: int) -> str:
    """Return a trace log in which each user subscribes, publishes and receives once."""
    lines = ["[7] 2026/11/21 08:00:00.000001 [INF] Server is ready"]
    each = users // ACCOUNTS
    for index in range(users):
        number, name = index // each, f"u{index // each}x{index % each}"
        start = "[7] 2026/11/21 08:00:01.000001 [TRC] 127.0.0.1:"
        where = f'{start}{10_000 + index % 50_000} - cid:{index + 1} - "v1.31:go:{name}" - '
        lines.append(f"{where}<<- [SUB _INBOX.{name}.*  1]")
        lines.append(f"{where}<<- [PUB ask{number}.x _INBOX.{name}.1 0]")
    return "\n".join(lines) + "\n"


def commands(folder: Path, users: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the verbs with their arguments."""
    conf, other = "nats.conf", "new.conf"
    yield "who", ["acl", "who", "A3:a3.7.x", conf, "--verb", "receive"]
    yield "who, no account", ["acl", "who", "a3.7.x", conf, "--verb", "receive"]
    yield "who, a stream", ["acl", "who", "A3:S4", conf, "jsz.json", "--verb", "read"]
    yield "flows", ["acl", "flows", conf]
    yield "why", ["acl", "why", "a3.7.x", conf, "--user", "u3x7"]
    yield "diff", ["acl", "diff", conf, other]
    yield "lint", ["acl", "lint", conf]
    yield "show", ["acl", "show", conf]
    yield "streams", ["acl", "streams", "jsz.json"]
    yield "need", ["acl", "need", "pull", "A3:S4/c", "jsz.json"]
    yield "usage", ["acl", "usage", conf, "--traffic", "run"]
    yield "test", ["acl", "test", "policy.txt"]
    yield "check", ["check", "a3.*.x", "--against", "a3.7.>"]


def prepared(folder: Path, users: int) -> None:
    """Write the inputs of all commands."""
    (folder / "nats.conf").write_text(configuration(users))
    (folder / "new.conf").write_text(configuration(users, changed=True))
    (folder / "jsz.json").write_text(json.dumps(streams()))
    (folder / "trace.log").write_text(log(users))
    per = users // ACCOUNTS
    rows = [
        f"of nats.conf A{number}/u{number}x{index}\nno publish b.x\nyes publish ask{number}.x\n"
        for number in range(ACCOUNTS)
        for index in range(per)
    ]
    (folder / "policy.txt").write_text("".join(rows))
    audit = [sys.executable, "-m", "subtrie", "audit", "trace.log", "--out", "run"]
    subprocess.run(audit, cwd=folder, check=True, capture_output=True)


def measured(folder: Path, arguments: list[str]) -> dict[str, Any]:
    """Return the CPU seconds, the memory and the exit code of one command."""
    with subprocess.Popen(
        [sys.executable, "-m", "subtrie", *arguments], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert b"Traceback" not in said, said.decode()
    assert b"Error" not in said, said.decode()
    cpu = used.ru_utime + used.ru_stime
    return {"cpu_s": round(cpu, 2), "rss_mb": used.ru_maxrss // 1024, "exit": process.returncode}


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--only", help="the verb alone")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--record", type=Path, help="add the rows to this file")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder, options.users)
        for verb, arguments in commands(folder, options.users):
            if options.only in (None, verb):
                runs = [measured(folder, arguments) for _ in range(options.runs)]
                row = {"users": options.users, "verb": verb}
                rows.append(row | min(runs, key=lambda each: each["cpu_s"]))
                print(json.dumps(rows[-1]), flush=True)
    if options.record is not None:
        known = json.loads(options.record.read_text()) if options.record.exists() else {}
        kept = [each for each in known.get("rows", []) if each["users"] != options.users]
        machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
        record = {"accounts": ACCOUNTS, "machine": machine, "rows": [*kept, *rows]}
        options.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
