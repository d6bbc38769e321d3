"""Inputs that are full of secrets, and the search for them in everything that is written.

The secrets stand where real ones do: in CONNECT lines, in headers and bodies of messages, in a
token's place in a subject, in lines that no broker wrote, in creds and in a server's configuration.
"""

from __future__ import annotations

import base64
import gzip
import json
import urllib.parse
from collections.abc import Iterable
from pathlib import Path

from secrets_watch import PASSWORD
from subtrie.wire import capture

_TRACE = "[7] 2026/11/22 10:00:0{}.000000 [TRC] 127.0.0.1:5 - cid:7 - {}"
SUBJECT = "p1.safe.443.a_com.b_com._.GET.x"


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class PlantedSecrets:
    """The secrets of a run, and the files that hold them.

    Args:
        folder: Where the files are made.
    """

    def __init__(self, folder: Path) -> None:
        import nkeys

        self.folder = folder
        self.seed = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER).decode()
        self.jwt = ".".join(
            _part(part)
            for part in (
                b'{"typ":"JWT","alg":"ed25519-nkey"}',
                b'{"name":"bank.core","sub":"UABC","iss":"AABC","nats":{"type":"user","version":2,'
                b'"pub":{"allow":["a.b"]}}}',
                b"planted-signature" * 3,
            )
        )
        self.account = nkeys.encode_seed(bytes(range(1, 33)), nkeys.PREFIX_BYTE_ACCOUNT).decode()
        self.others = [
            f"planted-{name}-7f3a" for name in ("token", "bearer", "cookie", "body", "nonce", "sig")
        ]
        token, bearer, cookie, body, nonce, signature = self.others
        connect = json.dumps(
            {"user": "a.com", "pass": PASSWORD, "auth_token": token, "jwt": self.jwt,
             "nkey": "UABC", "sig": signature, "name": "a.com"}
        )  # fmt: skip
        headers = f"Authorization: Bearer {bearer}\r\nCookie: s={cookie}\r\nX-Key: {self.seed}\r\n"
        request = (
            f"GET /x HTTP/1.1\r\nHost: b.com\r\n{headers}Microbus-Actor: {self.jwt}\r\n"
            f"Microbus-Op-Code: Req\r\nMicrobus-Msg-Id: AAAAAAAA\r\n\r\n{body} {self.seed}"
        )
        self.log, self.capture = folder / "trace.log", folder / "capture"
        self._write_log(connect, request)
        self._write_capture(connect.encode(), headers.encode(), request.encode(), nonce.encode())
        self.snapshot = folder / "connz.json"
        self.snapshot.write_text(
            json.dumps({"server_id": "A", "now": "2026-11-22T00:00:00Z", "connections": [
                {"cid": 7, "name": self.jwt, "jwt": self.jwt, "authorized_user": "a.com",
                 "subscriptions_list_detail": [{"subject": SUBJECT, "sid": "1"}]}]})
        )  # fmt: skip
        self.creds = folder / "a.com_nats.creds"
        self.creds.touch(0o600)
        self.creds.write_text(
            f"-----BEGIN NATS USER JWT-----\n{self.jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{self.seed}\n------END USER NKEY SEED------\n"
        )
        self.bare_seed = folder / "account.nk"
        self.bare_seed.touch(0o600)
        self.bare_seed.write_text(f"{self.account}\n")
        self.configuration = folder / "nats.conf"
        self.configuration.write_text(
            "authorization { users = [\n"
            f'  {{ user: "a.com", password: "{PASSWORD}", permissions: {{ publish: ["a.>"] }} }}\n'
            f'  {{ user: "b.com", password: "{PASSWORD}", permissions: {{ publish: ["a.b"] }} }}\n'
            "] }\n"
        )
        self.broken_configuration = folder / "broken.conf"
        self.broken_configuration.write_text(f"authorization {{ token: {PASSWORD} }} }}\n")

    def _write_log(self, connect: str, request: str) -> None:
        size = len(request.encode())
        lines = [
            "[7] 2026/11/22 10:00:00.000000 [INF] Starting nats-server",
            _TRACE.format(1, f"<<- [CONNECT {connect}]"),
            _TRACE.format(1, f"<<- [SUB {SUBJECT} 1]"),
            _TRACE.format(2, f"<<- [PUB {SUBJECT} {size}]"),
            _TRACE.format(2, f"<<- MSG_PAYLOAD: [{json.dumps(request)}]"),
            _TRACE.format(2, f"->> [MSG {SUBJECT} 1 {size}]"),
            _TRACE.format(3, f"<<- [PUB {self.seed}]"),
            _TRACE.format(3, f"<<- [PUB x.{self.seed} 2]"),
            _TRACE.format(3, f"<<- [PUB x.{self.jwt} 2]"),
            _TRACE.format(3, f"no operation {self.jwt} {self.seed}"),
            f'[7] 2026/11/22 10:00:04.000000 [ERR] refused {{"pass":"{PASSWORD}"}} {self.seed}',
            f'no line of a broker {{"password": "{PASSWORD}"}} {self.seed}',
        ]
        self.log.write_text("\n".join(lines) + "\n")
        self.clean_log = self.log.with_name("clean.log")  # every line is one of nats-server
        self.clean_log.write_text("\n".join(lines[:9]) + "\n")

    def _write_capture(self, connect: bytes, headers: bytes, request: bytes, nonce: bytes) -> None:
        subject, seed = SUBJECT.encode(), self.seed.encode()
        block = b"NATS/1.0\r\n" + headers + b"\r\n"
        sizes = b"%d %d" % (len(block), len(block) + len(request))
        second = 10**9
        with capture.Writer(self.capture) as writer:
            writer.write("opened", 1, b'{"kind":"client"}', at=second)
            info = b'INFO {"server_id":"A","client_id":7,"nonce":"%b","headers":true}\r\n' % nonce
            writer.write("s2c", 1, info, at=second)
            for data in (
                b"CONNECT %b\r\nSUB %b 1\r\n" % (connect, subject),
                b"PUB %b %d\r\n%b\r\n" % (subject, len(request), request),
                b"HPUB %b %b\r\n%b%b\r\n" % (subject, sizes, block, request),
                b"PUB x.%b 0\r\n\r\n" % seed,
                b"PUB bad %b\r\n" % seed,  # an error of the protocol ends the stream
            ):
                writer.write("c2s", 1, data, at=2 * second)
            writer.write("s2c", 1, b"-ERR 'Authorization Violation'\r\n", at=3 * second)
            writer.write("closed", 1, b"{}", at=4 * second)

    @property
    def all(self) -> list[str]:
        """The secrets."""
        return [self.seed, self.account, self.jwt, PASSWORD, *self.others]

    def shown_in(self, data: bytes | str) -> list[str]:
        """Return the secrets that stand in some bytes: plain, in base64, in hex or escaped."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        return [
            secret
            for secret in self.all
            if any(
                form in data
                for form in (
                    secret.encode(),
                    base64.b64encode(secret.encode()).rstrip(b"=")[:-1],
                    secret.encode().hex().encode(),
                    urllib.parse.quote(secret, safe="").replace("-", "%2d").encode(),
                )
            )
        ]

    def shown_in_files(self, paths: Iterable[Path]) -> dict[str, list[str]]:
        """Return the files below some paths that show secrets, tables of Parquet decoded."""
        import pyarrow.parquet as pq

        found: dict[str, list[str]] = {}
        for path in paths:
            for file in [path, *path.rglob("*")]:
                if not file.is_file():
                    continue
                data = file.read_bytes()
                if file.suffix == ".parquet":
                    data += repr(pq.read_table(file).to_pylist()).encode()
                if file.suffix == ".gz":
                    data += gzip.decompress(data)
                if shown := self.shown_in(data):
                    found[str(file)] = shown
        return found
