"""The kinds of input: how a variation of each is made, and what reads it.

The bases are those that the fuzzers begin with (``fuzz/seeds.py``), damaged images
(``tests/damaged_images.py``), and small examples of the other kinds.
"""

from __future__ import annotations

import base64
import functools
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

_ROOT = Path(__file__).resolve().parents[2]
sys.path += [
    str(_ROOT / "fuzz"),
    *(str(_ROOT / "tests" / each) for each in ("audit", "acl", "gencreds")),
]

import operators  # noqa: E402
import seeds  # noqa: E402
import source_trees  # noqa: E402
import texts  # noqa: E402
from test_unresolved_calls import REPORTED  # noqa: E402
from trace_writer import random_trace  # noqa: E402

import damaged_images  # noqa: E402
from subtrie import SubjectTrie, SubtrieError, reference  # noqa: E402
from subtrie._cli.app import app  # noqa: E402
from subtrie.connector import _codec  # noqa: E402
from subtrie.connector._config import parse_config, read_config_files  # noqa: E402
from subtrie.connector._env_files import read_env_files  # noqa: E402

from .variations import json_bytes, vary, vary_json  # noqa: E402

#: The files of an input, by their names in its folder.
Files = dict[str, bytes]
#: Longer output of a command is not one clear answer, in characters.
_MOST_OUTPUT = 8 * 1024 * 1024
_MOST_ERROR = 64 * 1024


class Kind(NamedTuple):
    """A kind of input.

    Attributes:
        make: Makes the files of a variation.
        read: Reads them in their folder; returns the outcome in a word, raises what is a fault.
        seconds: The most CPU time that one input may cost, many times what it takes.
        mebibytes: The most memory that one input may add.
    """

    make: Callable[[random.Random], Files]
    read: Callable[[Path, random.Random], str]
    seconds: float
    mebibytes: int


def _command(*arguments: object) -> str:
    """Run a command in this process; anything but an exit with an answer or a message is raised."""
    done = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 1, 2), f"exit code {done.exit_code}"
    assert "Traceback" not in done.stderr, done.stderr
    assert len(done.output) < _MOST_OUTPUT, f"{len(done.output)} characters of output"
    if done.exit_code != 2:
        return "answer"
    assert done.output.strip(), "bad input without a message"
    assert len(done.stderr) < _MOST_ERROR, f"{len(done.stderr)} characters of error"
    return "refused"


def _one(name: str, data: Callable[[random.Random], bytes]) -> Callable[[random.Random], Files]:
    return lambda dice: {name: data(dice)}


@functools.cache
def _seeds() -> dict[str, list[bytes]]:
    """Return the first corpus of each fuzz target."""
    found: dict[str, list[bytes]] = {}
    for target, data in seeds.seeds():
        found.setdefault(target, []).append(data)
    return {target: sorted(set(all_of)) for target, all_of in found.items()}


def _seed(*targets: str) -> Callable[[random.Random], bytes]:
    def make(dice: random.Random) -> bytes:
        bases = _seeds()[dice.choice(targets)]
        return vary(dice.choice(bases), dice, bases)

    return make


# --- images


@functools.cache
def _images() -> list[bytes]:
    dice, made = random.Random(7), [damaged_images.example()]
    for count in (0, 1, 40, 900):
        trie = SubjectTrie()
        for number in range(count):
            tokens = [dice.choice(("a", "b", "*", f"t{number}")) for _ in range(dice.randint(1, 6))]
            queue = dice.choice((None, "q"))
            trie.add(".".join([*tokens, *dice.choice(([], [">"]))]), number, queue=queue)
        made.append(trie.to_bytes())
    return made


def _image(dice: random.Random) -> bytes:
    image = dice.choice(_images())
    for _ in range(dice.choice((0, 1, 1, 2, 5))):
        words = damaged_images.words_of(image)
        place = dice.choice((dice.randrange(32), dice.randrange(len(words))))
        value = dice.choice((0, 1, 2**63, 2**64 - 1, 2**32, words[place] ^ 1 << dice.randrange(64),
                             dice.choice(words), dice.randrange(2**64)))  # fmt: skip
        image = damaged_images.changed(image, place, value)
    return image if dice.random() < 0.7 else vary(image, dice)


def _read_image(folder: Path, dice: random.Random) -> str:
    data = (folder / "input").read_bytes()
    for engine in (SubjectTrie, reference.SubjectTrie):
        for verify in (True, False):
            try:
                trie = engine.from_bytes(data, verify=verify)
                for subject in ("a", "a.b", "b.a.t7", "a.b.a.b.a.b"):
                    trie.match(subject)
                    trie.count(subject)
                len(trie), str(trie), trie.stats(), trie.matching(">")
                trie.add("a.b", 1)
            except SubtrieError:
                outcome = "refused"
            else:
                outcome = "answer"
    return outcome


# --- what the protocol carries


def _read_frames(folder: Path, dice: random.Random) -> str:
    texts.engines((folder / "input").read_bytes())
    return "answer"


_HEADS = [
    b"GET https://a.example/x?y=1 HTTP/1.1\r\nHost: a.example\r\nMicrobus-Msg-Id: 7\r\n"
    b"Microbus-Time-Budget: 20s\r\nMicrobus-From-Host: b.example\r\n\r\n",
    b"POST https://a.example/%2F HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n"
    b"Microbus-Fragment: 1/2\r\nContent-Type: application/json\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nMicrobus-Op-Code: Res\r\n\r\n{}",
    b"HTTP/1.1 404 Not Found\r\nMicrobus-Op-Code: Err\r\nContent-Length: 22\r\n\r\n"
    b'{"err":{"error":"no"}}',
]


def _head(dice: random.Random) -> bytes:
    bases = _HEADS + _seeds()["http"][:200]
    return vary(dice.choice(bases), dice, bases)


def _read_head(folder: Path, dice: random.Random) -> str:
    data, outcome = (folder / "input").read_bytes(), "refused"
    for read in (_codec.read_request, _codec.read_response):
        try:
            message = read(data)
        except SubtrieError:
            continue
        outcome = "answer"
        for name in ("Microbus-Time-Budget", "Microbus-Fragment", "Microbus-From-Host"):
            message.headers.get(name)
        try:
            message.json()
        except (SubtrieError, ValueError, RecursionError):  # what handlers are told to expect
            outcome = "refused"
    return outcome


# --- JWTs


@functools.cache
def _operator() -> Any:
    return operators.Operator(
        {"template": {"pub": {"allow": ["orders.{{name()}}"]}, "sub": {"deny": [">"]}},
         "exports": [{"subject": "a.*", "type": "service", "token_req": True}],
         "imports": [{"subject": "b.>", "type": "stream", "account": "A" * 56, "to": "c"}],
         "mappings": {"a.*": [{"subject": "b.$1", "weight": 50}]}, "revocations": {"*": 1}}
    )  # fmt: skip


_CLAIMS = {
    "type": "user", "version": 2, "pub": {"allow": ["orders.>", "a.b"], "deny": ["orders.x"]},
    "sub": {"allow": ["_INBOX.>", "work q"]}, "resp": {"max": 1, "ttl": 60_000_000_000},
    "subs": -1, "data": -1, "payload": -1,
}  # fmt: skip


def _parts(token: str) -> list[Any]:
    """The header and the claims of a token."""
    padded = (part + "=" * (-len(part) % 4) for part in token.split(".")[:2])
    return [json.loads(base64.urlsafe_b64decode(part)) for part in padded]


def _jwt(dice: random.Random) -> Files:
    operator = _operator()
    user = operator.user(_CLAIMS)[0]
    files = {}
    for name, token in (("user.jwt", user), ("account.jwt", operator.account_jwt)):
        if dice.random() < 0.5:
            header, claims = _parts(token)
            claims |= {"iat": 1, "jti": "x"}
            parts = [json_bytes(header if dice.random() < 0.9 else vary_json(header, dice), dice),
                     json_bytes(vary_json(claims, dice), dice)]  # fmt: skip
            signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
            signature = base64.urlsafe_b64encode(operator.account.sign(signed)).rstrip(b"=")
            data = signed + b"." + signature
        else:
            data = token.encode()
        files[name] = vary(data, dice) if dice.random() < 0.2 else data
    if dice.random() < 0.3:
        block = b"-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n"
        files["user.jwt"] = vary(block % files["user.jwt"], dice)
    return files


def _read_jwt(folder: Path, dice: random.Random) -> str:
    user, account = folder / "user.jwt", folder / "account.jwt"
    user.chmod(0o600)
    return _command(*dice.choice((
        ("acl", "lint", user), ("acl", "lint", user, "--account-jwt", account),
        ("acl", "show", user, "--account-jwt", account), ("acl", "show", folder),
        ("acl", "flows", folder), ("acl", "lint", folder), ("acl", "who", "orders.x", folder),
        ("why", "-p", user, "orders.new"), ("acl", "diff", user, account),
    )))  # fmt: skip


# --- configurations


_CONFIGURATIONS = [
    b"""\
listen: 127.0.0.1:4222
RULE = "orders.>"
include "more.conf"
authorization {
  default_permissions { publish: "a.*", subscribe: ["_INBOX.>", "work q"] }
  users = [
    { user: web, password: "$2a$11$abc"
      permissions { publish { allow: [$RULE, "x"], deny: x.y } } }
    { nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 }
  ]
  timeout: 2
}
no_auth_user: web
""",
    b"""\
accounts {
  A { users [ { user: a, password: a } ], jetstream: enabled
      exports [ { stream: "a.>" }, { service: "q.*", accounts: [B], response_type: stream } ]
      mappings { "m.*": [ { destination: "n.$1", weight: 40% }
                            { destination: "o.$1", weight: 60% } ] } }
  B { users [ { user: b, password: b, allowed_connection_types: ["WEBSOCKET"] } ]
      imports [ { stream { account: A, subject: "a.>" }, prefix: "in" }
                { service { account: A, subject: "q.x" }, to: "ask" } ] }
  SYS { users [ { user: s, password: s } ] }
}
system_account: SYS
leafnodes { listen: 127.0.0.1:7422
  remotes [ { urls: ["nats://u:p@h:1"], account: A, deny_imports: ["a.b"] } ] }
cluster { name: c, listen: 127.0.0.1:6222
  permissions { import: "a", export { allow: [b], deny: c } } }
gateway { name: g, port: 7522, gateways [ { name: h, url: "nats://h:7522" } ] }
""",
    b'{"authorization": {"users": [{"user": "u", '
    b'"permissions": {"publish": "a", "subscribe": []}}]}}',
    b'{"subtrie": 1, "dialect": "server", "publish_allow": ["a.>"], "publish_deny": [], '
    b'"subscribe_allow": null, "subscribe_deny": ["b q"], "allow_responses": null}',
]  # fmt: skip


def _configuration(dice: random.Random) -> Files:
    base = dice.choice(_CONFIGURATIONS)
    more = vary(b"port: 4222\ndebug: false\n", dice)
    return {
        "nats.conf": vary(base, dice, _CONFIGURATIONS), "more.conf": more,
        "old.conf": dice.choice(_CONFIGURATIONS), "policy.txt": vary(_POLICY, dice),
    }  # fmt: skip


_POLICY = b"user web\nmay publish orders.>\nno subscribe >\nstrict no publish a.b\n"


def _read_configuration(folder: Path, dice: random.Random) -> str:
    conf, old = folder / "nats.conf", folder / "old.conf"
    return _command(*dice.choice((
        ("acl", "lint", conf), ("acl", "show", conf), ("acl", "flows", conf),
        ("acl", "who", "orders.x", conf), ("acl", "diff", old, conf), ("acl", "minimise", conf),
        ("acl", "test", folder / "policy.txt", conf), ("acl", "lint", conf, "--format", "sarif"),
        ("why", "-p", conf, "--user", "web", "orders.new"),
        ("acl", "diff", conf, old, "--format", "markdown"),
    )))  # fmt: skip


# --- source trees


@functools.cache
def _sources() -> list[bytes]:
    files = sorted((_ROOT / "examples" / "shop").rglob("*.py"))
    services = [data for file in files if b"Connector(" in (data := file.read_bytes())]
    return services + [f"{source_trees.HEAD}{text}\n".encode() for text in REPORTED.values()]


_PROJECT = b"""\
[project]
name = "shop"
[tool.subtrie.gencreds]
planes = ["prod"]
[tool.subtrie.gencreds.services."orders.shop"]
publish = ["orders.>"]
"""


def _tree(dice: random.Random) -> Files:
    bases = _sources()
    files = {f"m{n}.py": dice.choice(bases) for n in range(dice.randint(1, 3))}
    files = {name: vary(data, dice, bases) for name, data in files.items()}
    if dice.random() < 0.3:
        files["pyproject.toml"] = vary(_PROJECT, dice)
    return files


def _read_tree(folder: Path, dice: random.Random) -> str:
    return _command("gencreds", "--plane", "prod", folder, "--dry-run")


# --- traffic


@functools.cache
def _logs() -> list[bytes]:
    with (_ROOT / "examples" / "captures" / "go_app" / "trace.log").open("rb") as stream:
        lines = stream.read(200_000).splitlines(keepends=True)
    parts = [b"".join(lines[at : at + 120]) for at in range(0, len(lines), 120)]
    return [*parts, *(random_trace(seed).encode() for seed in range(8))]


def _log(dice: random.Random) -> bytes:
    return vary(dice.choice(_logs()), dice, _logs())


def _read_traffic(folder: Path, dice: random.Random) -> str:
    (file,) = folder.iterdir()
    return _command(*dice.choice((
        ("audit", file), ("audit", file, "--json"), ("wire", file), ("wire", file, "--check"),
        ("who", "-s", file, "a.b"), ("audit", file, "--fail-on", "undelivered,refused"),
        ("audit", file, "--report", folder / "page.html"),
    )))  # fmt: skip


def _read_capture(folder: Path, dice: random.Random) -> str:
    (file,) = folder.iterdir()
    data = file.read_bytes()
    if dice.random() < 0.5:  # sums that hold, so that what is inside is read
        file.write_bytes(texts._summed(data) if data.startswith(b"subtrie") else data)
    return _command(*dice.choice((("audit", file), ("wire", file), ("wire", file, "--check"))))


def _snapshot(dice: random.Random) -> bytes:
    return json_bytes(vary_json(dice.choice(seeds._ANSWERS), dice), dice)


def _read_snapshot(folder: Path, dice: random.Random) -> str:
    (file,) = folder.iterdir()
    return _command(*dice.choice((
        ("audit", file), ("wire", file), ("who", "-s", file, "a.b"), ("acl", "flows", file),
        ("acl", "show", file), ("audit", file, "--json"),
    )))  # fmt: skip


# --- run folders


@functools.cache
def _run() -> Files:
    """The files of a result."""
    import tempfile

    from subtrie.audit import audit

    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder, "trace.log"), Path(folder, "run")
        log.write_bytes(_logs()[0] + _logs()[-1])
        audit([str(log)], out=out)
        return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def _run_folder(dice: random.Random) -> Files:
    files = dict(_run())
    kind = dice.randrange(3)
    if kind == 0:
        manifest = vary_json(json.loads(files["audit.json"]), dice)
        files["audit.json"] = json_bytes(manifest, dice)
    name = dice.choice(sorted(set(files) - {"audit.json"}))
    if kind == 1:
        files[name] = vary(files[name], dice, [files[each] for each in sorted(files)])
    elif kind == 2:
        files[name] = _other_rows(files[name], dice)
    return {f"run/{name}": data for name, data in files.items()}


def _other_rows(data: bytes, dice: random.Random) -> bytes:
    """Return a table whose rows have other values of the same types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(data))
    rows = table.to_pylist() or [dict.fromkeys(table.column_names)]
    for _ in range(dice.choice((1, 2, 10))):
        row = dice.choice(rows)
        name = dice.choice(table.column_names)
        try:
            value = pa.array([dice.choice(_PLAIN)], table.schema.field(name).type)[0].as_py()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            value = None
        row[name] = value
    made = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, table.schema), made)
    return bytes(made.getvalue())


_PLAIN = (
    None,
    0,
    -1,
    2**31 - 1,
    -(2**31),
    2**63 - 1,
    "",
    "a.b",
    "\x1b[2J",
    "[" * 5000,
    "{}",
    "a" * 70_000,
    True,
    [],
    ["a"],
)


def _read_run(folder: Path, dice: random.Random) -> str:
    run = folder / "run"
    return _command(*dice.choice((
        ("report", "json", run), ("report", "html", run), ("report", "markdown", run),
        ("report", "diff", run, run), ("report", "json", run),
    )))  # fmt: skip


# --- settings


_SETTINGS = [
    b"shop.example:\n  Limit: 7\n  Name: 'a b'\nall:\n  Shelf: upper\n",
    b'MICROBUS_NATS: nats://127.0.0.1:4222\nMICROBUS_PLANE: "prod"\n',
]


def _settings(dice: random.Random) -> Files:
    names = ("config.yaml", "config.local.yaml", "env.yaml", "env.local.yaml")
    return {name: vary(dice.choice(_SETTINGS), dice, _SETTINGS) for name in names}


def _read_settings(folder: Path, dice: random.Random) -> str:
    import contextlib

    with contextlib.chdir(folder):
        read_config_files()
        read_env_files()
    parse_config((folder / "env.yaml").read_text(encoding="utf-8", errors="replace"))
    return "answer"


KINDS: dict[str, Kind] = {
    "image": Kind(_one("input", _image), _read_image, 10, 64),
    "frame": Kind(_one("input", _seed("engines")), _read_frames, 10, 64),
    "head": Kind(_one("input", _head), _read_head, 5, 32),
    "jwt": Kind(_jwt, _read_jwt, 10, 128),
    "configuration": Kind(_configuration, _read_configuration, 20, 256),
    "source": Kind(_tree, _read_tree, 20, 512),
    "log": Kind(_one("trace.log", _log), _read_traffic, 20, 512),
    "capture": Kind(_one("input.capture", _seed("capture")), _read_capture, 20, 256),
    "snapshot": Kind(_one("connz.json", _snapshot), _read_snapshot, 10, 256),
    "run": Kind(_run_folder, _read_run, 20, 256),
    "settings": Kind(_settings, _read_settings, 5, 32),
}
