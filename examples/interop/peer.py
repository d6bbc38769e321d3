"""A service and a caller for testing implementations with each other.

    peer serve --nats URL --plane P --host H [--locality L] [--version N]
    peer call --nats URL --plane P --host H [--locality L] [--multicast] [--timeout 400ms]
              [--header 'N: V'] METHOD URL [BODY|@FILE]
    peer function --nats URL --plane P --host H --to HOST NAME ARGUMENTS

``serve`` prints ``READY host id``, and ``EVENT from body`` for each event it receives. ``call``
prints one JSON object a line for each response. ``function`` calls one of the functions of
``functions.py`` with the arguments of a JSON object, as a typed client does, and prints an object
with its named ``result`` and its ``error``. Any program that does the same can replace it in
``tests/interop``.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import inspect
import json
from pathlib import Path
from typing import Any

from subtrie._core.control_headers import seconds_of
from subtrie.connector import Connector, Event, HTTPError, Request, Response, serve
from subtrie.connector._json import json_bytes

from .functions import RESULTS, calls, serve_functions


def service(connector: Connector) -> None:
    """Add the routes that callers of the interoperability tests request."""
    event = Event(connector.host, "/on-event")
    serve_functions(connector)

    @connector.endpoint("GET", "/hello/{name}")
    async def hello(name: str, request: Request) -> dict[str, str]:
        return {"hello": name, "from": request.source, "by": connector.id}

    @connector.endpoint("POST", "/echo")
    async def echo(request: Request) -> Response:
        kind = request.headers.get("Content-Type", "application/octet-stream")
        return Response(200, request.body, headers={"Content-Type": kind})

    @connector.endpoint("ANY", ":0/any")
    async def anything(request: Request) -> dict[str, str]:
        return {"method": request.method, "url": request.url}

    @connector.endpoint("GET", "/files/{path...}")
    async def files(path: str) -> str:
        return path

    @connector.endpoint("ANY", "/")
    async def root() -> str:
        return "root"

    @connector.endpoint("GET", "/big")
    async def big(n: int) -> bytes:
        return (b"0123456789abcdef" * (n // 16 + 1))[:n]

    @connector.endpoint("GET", "/fail")
    async def fail() -> None:
        raise HTTPError("short and stout", status=418, properties={"pot": "small"})

    @connector.endpoint("GET", "/status")
    async def status(n: int) -> None:
        raise HTTPError("as asked", status=n)

    @connector.endpoint("GET", "/admin", requires="roles.admin && !suspended")
    async def admin(request: Request) -> dict[str, Any]:
        return {"sub": (request.actor or {}).get("sub")}

    @connector.endpoint("GET", "/trace")
    async def trace(request: Request) -> dict[str, str]:
        names = ("Traceparent", "Tracestate")
        return {name.lower(): request.headers.get(name, "") for name in names}

    @connector.endpoint("GET", "/slow")
    async def slow(ms: int) -> str:
        await asyncio.sleep(ms / 1000)
        return "done"

    @connector.endpoint("POST", ":666/mint")
    async def mint(request: Request) -> dict[str, str]:
        return {"minted": request.source}

    @connector.endpoint("GET", "/relay")
    async def relay(u: str, m: str = "GET") -> Response:
        answer = await connector.request(m, u)
        return Response(answer.status, answer.body)

    @connector.endpoint("POST", "/fire")
    async def fire(request: Request) -> dict[str, int]:
        answers = [a async for a in connector.publish("POST", event.url, body=request.body)]
        return {"answers": len(answers)}

    @connector.on(event)
    async def on_event(request: Request) -> None:
        print("EVENT", request.source, request.body.decode(errors="replace"), flush=True)


async def serve_and_announce(connector: Connector) -> None:
    """Serve until a signal arrives."""
    running = asyncio.create_task(serve(connector))
    while not connector.running and not running.done():
        await asyncio.sleep(0.005)
    if connector.running:
        print("READY", connector.host, connector.id, flush=True)
    await running


def response_line(answer: Response | HTTPError) -> dict[str, object]:
    """Return a response as the line that ``call`` prints."""
    if isinstance(answer, HTTPError):
        return {"status": answer.status, "headers": {}, "body": "", "error": answer.message}
    line: dict[str, object] = {
        "status": answer.error.status if answer.error else answer.status,
        "headers": {name: answer.headers.all(name) for name in answer.headers},
    }
    try:
        line["body"] = answer.body.decode()
    except UnicodeDecodeError:
        line["body_b64"] = base64.b64encode(answer.body).decode()
    line["error"] = answer.error.message if answer.error else ""
    return line


async def send_and_print(connector: Connector, given: argparse.Namespace) -> None:
    """Send one request and print the responses."""
    text = given.body or ""
    body = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
    pairs = (header.partition(":") for header in given.header)
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    timeout = seconds_of(given.timeout) if given.timeout else None
    async with connector:
        options: dict[str, Any] = {"headers": headers, "timeout": timeout, "body": body or None}
        if given.multicast:
            async for answer in connector.publish(given.method, given.url, **options):
                print(json.dumps(response_line(answer)), flush=True)
            return
        try:
            print(
                json.dumps(
                    response_line(await connector.request(given.method, given.url, **options))
                )
            )
        except HTTPError as error:
            print(json.dumps(response_line(error)))


async def call_and_print(connector: Connector, given: argparse.Namespace) -> None:
    """Call a function and print its results by name, as they travel."""
    line: dict[str, Any] = {"error": "", "result": {}}
    arguments = json.loads(given.arguments)
    if "httpRequestBody" in arguments:
        arguments["http_request_body"] = arguments.pop("httpRequestBody")
    call = calls(given.to)[given.name]
    absent = inspect.signature(call.__wrapped__).parameters.keys() - arguments.keys()
    arguments |= dict.fromkeys(absent)  # null is the zero
    async with connector:
        try:
            result = await call(connector, **arguments)
            named = {RESULTS[given.name]: result} if given.name in RESULTS else result
            text = json_bytes(named).decode()
            for name in ("http_response_body", "http_status_code"):
                text = text.replace(f'"{name}"', json.dumps(_in_go(name)))
            line["result"] = json.loads(text)
        except HTTPError as error:
            line["error"] = str(error)
    print(json.dumps(line))


def _in_go(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)


def main() -> None:
    """Run the command line."""
    common = argparse.ArgumentParser(add_help=False)
    for name in ("--nats", "--plane", "--host"):
        common.add_argument(name, required=True)
    common.add_argument("--locality", default="")
    common.add_argument("--version", type=int, default=0)
    common.add_argument("--round-trip", help="e.g. 400ms: wait longer for acknowledgements")
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("serve", parents=[common])
    call = verbs.add_parser("call", parents=[common])
    call.add_argument("--multicast", action="store_true")
    call.add_argument("--timeout", default="")
    call.add_argument("--header", action="append", default=[])
    call.add_argument("method")
    call.add_argument("url")
    call.add_argument("body", nargs="?")
    function = verbs.add_parser("function", parents=[common])
    function.add_argument("--to", required=True)
    function.add_argument("name")
    function.add_argument("arguments")
    given = parser.parse_args()
    connector = Connector(
        given.host,
        plane=given.plane,
        locality=given.locality,
        version=given.version,
        nats=given.nats,
        short_circuit=False,
        round_trip=seconds_of(given.round_trip) if given.round_trip else None,
    )
    if given.verb == "serve":
        service(connector)
        asyncio.run(serve_and_announce(connector))
    elif given.verb == "call":
        asyncio.run(send_and_print(connector, given))
    else:
        asyncio.run(call_and_print(connector, given))


if __name__ == "__main__":
    main()
