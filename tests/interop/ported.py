"""The requests to six example services of Go Microbus, and the form in which answers are compared.

    python -m tests.interop.ported NATS_URL PLANE > tests/interop/go_services.jsonl

records the answers of running services. Ids of instances and of messages are left out of them.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import sys
from pathlib import Path
from typing import Any

from subtrie.connector import Connector, HTTPError

RECORDED = Path(__file__).with_name("go_services.jsonl")
CALLER = "web.client.example"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
C, H, M = "https://calculator.example", "https://hello.example", "https://messaging.example"
S, K = "https://eventsource.example", "https://eventsink.example"

#: Method, URL, body and headers, in the order in which they are sent.
REQUESTS: list[tuple[str, str, str, dict[str, str]]] = [
    ("GET", "https://helloworld.example/hello-world", "", {}),
    ("GET", f"{C}/arithmetic?x=3&op=-&y=8", "", {}),
    ("GET", f"{C}/arithmetic?x=3&op=+&y=8", "", {}),
    ("GET", f"{C}/arithmetic?x=3&op=%2B&y=8", "", {}),
    ("GET", f"{C}/arithmetic?op=*&y=4", "", {}),
    ("GET", f"{C}/arithmetic?x=-7&op=/&y=2", "", {}),
    ("GET", f"{C}/arithmetic?x=1&op=%25&y=8", "", {}),
    ("GET", f"{C}/arithmetic?x=1&op=/&y=0", "", {}),
    ("GET", f"{C}/square?x=5", "", {}),
    ("GET", f"{C}/square", "", {}),
    ("GET", f"{C}/distance?p1.x=0&p1.y=0&p2.x=3&p2.y=4", "", {}),
    ("GET", f"{C}/distance?p1[x]=1&p2[x]=3&p2[y]=4", "", {}),
    ("POST", f"{C}/distance", '{"p1":{"x":1,"y":1},"p2":{"x":4,"y":5}}', JSON),
    ("POST", f"{C}/distance", '{"p2":{"x":3}}', JSON),
    ("POST", f"{C}/distance", '{"p1":null,"p2":{"y":2}}', JSON),
    ("POST", f"{C}/distance", "p2.x=3&p2.y=4", FORM),
    ("POST", f"{C}/distance", "{}", JSON),
    ("GET", f"{H}/hello", "", {}),
    ("GET", f"{H}/hello?name=Bella", "", {}),
    ("POST", f"{H}/hello?name=A%20B", "x", {}),
    ("GET", f"{H}/echo?a=b", "", {}),
    ("POST", f"{H}/echo", "body", {"X-One": "1", "Accept": "a/b"}),
    ("GET", f"{H}/ping", "", {}),
    ("GET", f"{H}/calculator", "", {}),
    ("GET", f"{H}/calculator?x=5&op=*&y=80", "", {}),
    ("GET", f"{H}/calculator?x=5&op=<&y=80", "", {}),
    ("POST", f"{H}/calculator", "x=5&op=-&y=7", FORM),
    ("GET", "https://root/", "", {}),
    ("GET", f"{M}/home", "", {}),
    ("GET", f"{M}/default-queue", "", {}),
    ("GET", f"{M}/no-queue", "", {}),
    ("GET", f"{M}/cache-load", "", {}),
    ("GET", f"{M}/cache-load?key=k", "", {}),
    ("GET", f"{M}/cache-store?key=k", "", {}),
    ("GET", f"{M}/cache-store?key=k&value=tea", "", {}),
    ("GET", f"{M}/cache-load?key=k", "", {}),
    ("GET", f"{M}/cache-load?key=k", "", {}),
    ("GET", f"{S}/register?email=ann@example.com", "", {}),
    ("POST", f"{S}/register", '{"email":"Bob <bob@example.com>"}', JSON),
    ("POST", f"{S}/register", '{"email":"a@gmail.com"}', JSON),
    ("POST", f"{S}/register", '{"email":"nobody"}', JSON),
    ("POST", f"{S}/register", "{}", JSON),
    ("GET", f"{K}/registered", "", {}),
    ("GET", f"{S}/register?email=ANN@example.com", "", {}),
    ("GET", f"{C}/nothing", "", {}),
]

#: Services of which ``/ping`` tells; others may run beside them.
PINGED = ("calculator", "eventsink", "eventsource", "hello", "helloworld", "messaging")


def shown(body: bytes, url: str) -> Any:
    """Return a body as it is compared: JSON without zeros, text without ids, of pages the facts."""
    if url.endswith("/ping"):
        hosts = re.findall(rf"(?m)^id-\w+\.({'|'.join(PINGED)})\.example\r?$", body.decode())
        return sorted(hosts)
    if url.endswith("/home"):  # what the replicas say
        return [x.split()[1] for x in body.decode().splitlines() if x.startswith(">")]
    if url.startswith(f"{H}/calculator"):  # of a page, what is calculated
        return [html.unescape(x) for x in re.findall(r"id=result>([^<]*)<", body.decode())]
    try:
        value = json.loads(body)
    except ValueError:
        text = re.sub(r"id-[a-z0-9]{10}", "ID", body.decode())
        return re.sub(r"(?m)^(Microbus-(?:Msg-Id|Time-Budget)): .*?$", r"\1", text)
    return {k: v for k, v in value.items() if v} if isinstance(value, dict) else value


async def answers(caller: Connector) -> list[dict[str, Any]]:
    """Send all requests, one after another, and return what is compared of the answers."""
    found = []
    for method, url, body, headers in REQUESTS:
        line: dict[str, Any] = {"method": method, "url": url, "body": body}
        try:
            given = {**headers, **({} if headers or not body else {"Content-Type": "text/plain"})}
            answer = await caller.request(method, url, body=body.encode() or None, headers=given)
            line |= {"status": answer.status, "answer": shown(answer.body, url)}
        except HTTPError as error:
            # What a division by zero, or an unknown path, is called differs.
            text = error.message if error.status == 400 else ""
            line |= {"status": error.status, "error": text}
        found.append(line)
        if "/register" in url:
            await asyncio.sleep(0.3)  # the event that follows is sent in the background
    return found


async def main(url: str, plane: str) -> None:
    """Print what running services answer."""
    caller = Connector(CALLER, nats=url, plane=plane, short_circuit=False, deployment="LOCAL")
    async with caller:
        for line in await answers(caller):
            print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
