"""The sender of a message is what the broker proved; another claim of its client is a finding."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from local_run import read
from trace_writer import Trace

from plain_trace_log import read_events
from subtrie._nats.nkey import key_pair, seed_in
from subtrie.acl import Permissions
from subtrie.audit import Questions
from subtrie.audit import audit as here
from subtrie.audit._identity import identity_of_options, who_connected
from subtrie.audit._results.row_lines import key_text, row_lines
from subtrie.audit._schema import TABLE_KEYS
from subtrie.gencreds import Creds, sign
from subtrie.gencreds._trial import trial
from subtrie.report._findings import all_findings
from subtrie.spark import TABLES, audit, verdict
from subtrie.wire import Tap
from tests.answers.broker import running
from tests.patience import wait_until

OWN = "p1.safe.443.evil_shop.b_com._.GET.x"
OTHER = "p1.safe.443.bank_core.b_com._.GET.x"
ALLOWED = Permissions(publish_allow=["p1.*.*.evil_shop.>"], subscribe_allow=[">"])


def token(**claims: object) -> str:
    """Return a JWT without a signature."""
    parts = ({"typ": "JWT", "alg": "ed25519-nkey"}, claims, "signature")
    texts = (json.dumps(part).encode() for part in parts)
    return ".".join(base64.urlsafe_b64encode(text).decode().rstrip("=") for text in texts)


EVIL = token(name="evil.shop", sub="UEVIL", iss="AISSUER")


async def session(port: int, creds: Creds, **more: object) -> None:
    """Log in with creds and further options, publish as oneself and as another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    info = json.loads((await reader.readline())[5:])
    pair = key_pair(creds.seed, "SU")
    sig = base64.urlsafe_b64encode(pair.sign(info["nonce"].encode())).decode().rstrip("=")
    options = {"verbose": False, "jwt": creds.jwt, "sig": sig, "version": "1", "protocol": 1} | more
    options |= {"name": "n", "lang": "x"}
    writer.write(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
    for lines in (b"", f"PUB {OWN} 0\r\n\r\nPUB {OTHER} 0\r\n\r\nPING\r\n".encode()):
        writer.write(lines)
        while await reader.readline() != b"PONG\r\n":
            pass
    writer.close()
    await writer.wait_closed()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The log of a broker in operator mode, and what a tap took of the same connections."""
    folder = tmp_path_factory.mktemp("operator")
    made = trial(folder / "trial")
    creds = sign(ALLOWED, seed_in(made.key), name="evil.shop")
    log = folder / "trace.log"
    with made.config.open("a") as config:
        config.write(f'\ntrace: true\ndebug: true\nlogfile: "{log}"\n')

    async def main(address: str) -> None:
        host, port = address.rsplit(":", 1)
        async with Tap(to=(host, int(port)), out=folder / "taken") as tap:
            await session(tap.port, creds)
            await session(tap.port, creds, user="bank.core")
            await session(tap.port, creds, User="bank.core")  # names have no case for the broker

    with running(made.config) as address:
        asyncio.run(main(address))
        wait_until(lambda: log.read_text().count("Client connection closed") == 3)
    return {"log": log, "capture": folder / "taken"}


@pytest.mark.requirement("A82")
@pytest.mark.parametrize("source", ["log", "capture"])
def test_a_service_does_not_choose_under_which_name_the_audit_records_it(sources, source):
    """``"user": "bank.core"`` beside its own creds made every line of evil.shop bank.core's."""
    with audit(None, [str(sources[source])]) as result:
        found = {name: list(result.rows(name)) for name in TABLES}
        told = verdict(result)
        findings = [each.why for each in all_findings(result)]
    (spoofed,) = found["spoofed"]
    assert (spoofed["who"], spoofed["claimed"], spoofed["count"]) == ("evil.shop", "bank.core", 3)
    assert (spoofed["identity_source"], spoofed["client"]) == ("jwt", "n")
    assert spoofed["user"].startswith("U")
    (refused,) = found["refused"]
    assert (refused["who"], refused["subject"], refused["count"]) == ("evil.shop", OTHER, 3)
    assert (refused["identity_source"], refused["user"]) == ("jwt", spoofed["user"])
    (claimed,) = found["claimed_users"]
    assert (claimed["who"], claimed["claimed"], claimed["count"]) == ("evil.shop", "bank.core", 2)
    assert "2 claims of another user" in told
    assert any("evil.shop claims another user: bank.core" in each for each in findings)


def test_the_lines_of_a_row_are_those_of_the_proven_identity(sources):
    log = str(sources["log"])
    with audit(None, [log]) as result:
        for table, count in (("spoofed", 6), ("claimed_users", 3)):
            (row,) = result.rows(table)
            keys = [key_text(row[name]) for name in TABLE_KEYS[table]]
            assert len(list(row_lines(result, table, keys, [log]))) == count


@pytest.mark.requirement("A82")
@pytest.mark.parametrize(
    ("options", "who", "source", "claimed"),
    [
        ({"jwt": EVIL, "user": "bank.core"}, "evil.shop", "jwt", "bank.core"),
        ({"jwt": EVIL, "nkey": "UBANK"}, "evil.shop", "jwt", "UBANK"),
        ({"jwt": EVIL, "user": "evil.shop", "nkey": "UEVIL"}, "evil.shop", "jwt", None),
        ({"jwt": EVIL, "name": "bank.core"}, "evil.shop", "jwt", None),
        ({"jwt": EVIL, "USER": "bank.core"}, "evil.shop", "jwt", "bank.core"),
        ({"JWT": EVIL, "user": "bank.core"}, "evil.shop", "jwt", "bank.core"),
        ({"jwt": token(sub="UEVIL"), "name": "bank.core"}, "UEVIL", "jwt", None),
        ({"jwt": "no token", "user": "bank.core"}, "bank.core", "user", None),
        ({"nkey": "UEVIL", "user": "bank.core"}, "UEVIL", "nkey", "bank.core"),
        ({"nkey": "UEVIL", "name": "bank.core"}, "UEVIL", "nkey", None),
        ({"user": "evil.shop", "name": "bank.core"}, "evil.shop", "user", None),
        ({"user": "Several", "name": "bank.core"}, "bank.core", "claimed", None),
        ({"auth_token": "t", "name": "bank.core"}, "bank.core", "claimed", None),
        ({"auth_token": "t"}, None, "token", None),
        ({"name": "bank.core"}, "bank.core", "claimed", None),
        ({}, None, None, None),
    ],
)
def test_what_was_proven_comes_before_what_is_claimed(options, who, source, claimed):
    found = who_connected(options)
    assert (found.identity, found.source, found.claimed) == (who, source, claimed)
    assert identity_of_options(options) == who


@pytest.mark.parametrize(
    ("options", "account", "checked", "who"),
    [
        ({"user": "a.com", "name": "b.com"}, None, True, ("a.com", "user", "a.com", "b.com")),
        ({"user": "Several", "name": "b.com"}, None, True,
         ("b.com", "claimed", "Several", "b.com")),
        ({"user": "Several", "name": "B c"}, None, True, ("Several", "user", "Several", "B c")),
        ({"user": "Several"}, None, True, ("Several", "user", "Several", None)),
        ({"nkey": "UX", "name": "b.com"}, None, True, ("UX", "nkey", "UX", "b.com")),
        ({"jwt": EVIL, "name": "n"}, None, True, ("evil.shop", "jwt", "UEVIL", "n")),
        ({"jwt": token(name="x.y"), "name": "n"}, None, True, ("x.y", "jwt", "x.y", "n")),
        ({"jwt": token(sub="UX")}, None, True, ("UX", "jwt", "UX", None)),
        ({"jwt": token(name="x.y", iss="AX")}, "AX", True, ("x.y", "jwt", "x.y", None)),
        ({"jwt": token(name="x.y", iss="AX")}, "AY", True, (None, None, None, None)),
        ({"jwt": token(name="x.y", iss="AS", nats={"issuer_account": "AX"})}, "AX", True,
         ("x.y", "jwt", "x.y", None)),
        ({"jwt": token(name="x.y", iss="AS", nats={"issuer_account": "AX"})}, "AY", True,
         (None, None, None, None)),
        ({"jwt": token(name="x.y", iss="AX", nats=7)}, "AX", True, ("x.y", "jwt", "x.y", None)),
        ({"jwt": token(name=7, sub="")}, None, True, (None, None, None, None)),
        ({"jwt": EVIL + ".more", "name": "n"}, None, True, ("n", "claimed", None, "n")),
        ({"jwt": "a.!.c", "name": "n"}, None, True, ("n", "claimed", None, "n")),
        ({"jwt": "a.Wzdd.c", "name": "n"}, None, True, ("n", "claimed", None, "n")),
        ({"auth_token": "t", "name": "n"}, None, True, ("n", "claimed", None, "n")),
        ({"auth_token": "t"}, None, True, (None, "token", None, None)),
        ({"user": "a.com", "name": "n", "jwt": EVIL}, None, False, ("a.com", "claimed", None, "n")),
        ({"name": "n", "jwt": EVIL}, None, False, ("evil.shop", "claimed", None, "n")),
        ({"name": "n"}, None, False, ("n", "claimed", None, "n")),
        ({"auth_token": "t"}, None, False, (None, None, None, None)),
        ({"user": "", "name": None, "nkey": 7}, None, True, (None, None, None, None)),
    ],
)  # fmt: skip
def test_what_is_known_of_who_connected(options, account, checked, who):
    found = who_connected(options, account, checked=checked)
    assert tuple(found.columns.values()) == who
    assert list(found.columns) == ["identity", "identity_source", "user", "client"]
    upper = {name.upper(): value for name, value in options.items()}
    assert who_connected(upper, account, checked=checked) == found


def test_a_jwt_that_the_server_did_not_check_proves_nothing():
    """A server with users of its own ignores the JWT that a client sends beside its password."""
    options = {"jwt": EVIL, "user": "shop.core"}
    assert who_connected(options, "AISSUER").identity == "evil.shop"
    found = who_connected(options, "$G")
    assert (found.identity, found.source, found.claimed) == ("shop.core", "user", "evil.shop")
    assert who_connected({"user": "a.com"}, checked=False).source == "claimed"


def logged(*lines: tuple[int, str, str]) -> bytes:
    trace = Trace()
    for conn, login, rest in lines:
        trace.write(conn, rest, login=login)
    return trace.text().encode()


def whose(data: bytes) -> list[tuple[Any, ...]]:
    """Return who sent each operation, by both readers of logs."""
    names = ("op", "identity", "identity_source", "user", "client", "subject")
    rows, _ = read_events(data)
    native = read(data)
    found, expected = ([tuple(row[n] for n in names) for row in each] for each in (native, rows))
    assert found == expected
    return [row[:4] for row in found if row[0] != "LOGIN"]


LOGIN = "AISSUER/TRIAL/user:bank.core"
CONNECT = f'<<- [CONNECT {{"jwt":"{EVIL}","user":"bank.core"}}]'


def test_the_lines_of_a_row_are_not_those_of_a_client_that_claims_the_user(tmp_path):
    """The user in the prefix of a line is that of CONNECT, also beside a JWT of another one."""
    publish = f"<<- [PUB {OWN} 0]"
    log = tmp_path / "trace.log"
    log.write_bytes(logged((1, "", CONNECT), (1, LOGIN, publish), (2, LOGIN, publish)))
    with here([str(log)]) as result:
        (row,) = result.rows("spoofed")
        assert (row["who"], row["claimed"], row["count"]) == ("bank.core", "evil.shop", 1)
        keys = [key_text(row[name]) for name in TABLE_KEYS["spoofed"]]
        (line,) = row_lines(result, "spoofed", keys, [str(log)])
    assert "cid:2 - " in line.text


@pytest.mark.parametrize("user", ["Several", "evil.shop"])
def test_the_service_of_a_request_is_a_host(tmp_path, user):
    """A user that cannot be one may be that of many: then it is the source in the subject."""
    log = tmp_path / "trace.log"
    log.write_bytes(logged((1, f"$G/user:{user}", f"<<- [PUB {OWN} 0]")))
    with here([str(log)], planes=["p1"], questions=Questions()) as result:
        (row,) = result.rows("too_thin")
    assert row["service"] == "evil.shop"


def test_the_connect_line_of_a_log_is_read_before_the_prefix_that_the_client_chose():
    found = whose(
        logged((1, "", CONNECT), (1, LOGIN, "<<- [PUB a 0]"), (2, LOGIN, "<<- [PUB a 0]"))
    )
    assert found == [
        ("CONNECT", None, None, None),
        ("CLAIM", "evil.shop", "jwt", "UEVIL"),
        ("PUB", "evil.shop", "jwt", "UEVIL"),
        ("PUB", "bank.core", "user", "bank.core"),
    ]


def test_a_second_connect_does_not_hide_the_first_one():
    """The broker keeps what it proved, and takes what the second one adds."""
    again = '<<- [CONNECT {"user":"bank.core"}]'
    login = "AISSUER/TRIAL/jwt:UEVIL"
    first = CONNECT.replace(',"user":"bank.core"', "")
    lines = [(1, "", first), (1, login, "<<- [PUB a 0]"), (1, login, again)]
    found = whose(logged(*lines, (1, login, "<<- [PUB a 0]"), (1, login, "<<- [PUB a 0]")))
    assert [row[0] for row in found] == ["CONNECT", "PUB", "CONNECT", "CLAIM", "PUB", "PUB"]
    assert {row[1] for row in found[1:]} == {"evil.shop"}


def test_a_jwt_of_another_account_is_a_claim():
    login = "$G/user:shop.core"
    found = whose(logged((1, "", CONNECT), (1, login, "<<- [PUB a 0]")))
    assert found[1:] == [
        ("CLAIM", "shop.core", "user", "shop.core"),
        ("PUB", "shop.core", "user", "shop.core"),
    ]


@pytest.mark.parametrize(
    ("login", "who"),
    [
        ("A/T/jwt:UKEY", ("UKEY", "jwt", "UKEY")),
        ("A/nkey:UKEY", ("UKEY", "nkey", "UKEY")),
        ("A/user:Several", ("Several", "user", "Several")),
        ("A/token", (None, "token", None)),
        ("", (None, None, None)),
    ],
)
def test_without_a_connect_line_the_prefix_says_who_it_is(login, who):
    ((_, *found),) = whose(logged((1, login, "<<- [PUB a 0]")))
    assert tuple(found) == who


@pytest.mark.parametrize(
    "options",
    [
        "{", "[]", '{"jwt":5}', '{"jwt":"a.b.c"}', '{"jwt":"a.e30.c"}', '{"jwt":"a.!.c"}',
        '{"user":"\\ud800"}', '{"user":"a","USER":null}', '{"x":{"user":"a"},"user":"b"}',
        '{"u\u017fer":"a"}', '{"user":"a"}x', '{"user":"\\u00e9\\ud83d\\ude00"}',
    ],
)  # fmt: skip
def test_both_readers_read_the_same_connect(options):
    whose(logged((1, "", f"<<- [CONNECT {options}]"), (1, "$G/user:p.com", "<<- [PUB a 0]")))
