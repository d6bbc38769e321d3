"""Six example services of Go Microbus in Python: what a client of them cannot tell apart.

Each function makes one service; its options are those of ``Connector``.

    subtrie run examples.from_go.services:all_services
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Any

from subtrie.connector import Client, Connector, Event, HTTPError, Request, Response

CALCULATOR, SOURCE = "calculator.example", "eventsource.example"


# --- helloworld.example


def hello_world(**options: Any) -> Connector:
    """Return the service that greets the world."""
    service = Connector("helloworld.example", **options)

    @service.endpoint("GET", "/hello-world")
    async def hello_world() -> str:
        """Greet the world."""
        return "Hello, World!"

    return service


# --- calculator.example


@dataclass
class Point:
    """A point in the plane."""

    x: float
    y: float


@dataclass
class Arithmetic:
    """The results of ``/arithmetic``: their names are those of Go."""

    xEcho: int
    opEcho: str
    yEcho: int
    result: int


@dataclass
class Square:
    """The results of ``/square``."""

    xEcho: int
    result: int


calculator_client = Client(CALCULATOR)


@calculator_client.call("GET", "/arithmetic")
async def calculate(x: int, op: str, y: int) -> Arithmetic:
    """Ask the calculator."""


def calculator(**options: Any) -> Connector:
    """Return the service that calculates."""
    service = Connector(CALCULATOR, **options)
    used = service.metrics.counter("used_operators", "The operators used")
    sums = service.metrics.gauge("sum_operations", "The sum of the results of all operators")

    @service.endpoint("GET", "/arithmetic")
    async def arithmetic(x: int, op: str, y: int) -> Arithmetic:
        """Calculate with two integers."""
        op = "+" if op == " " else op  # a plus in a URL is a space
        if op not in ("+", "-", "*", "/"):
            raise HTTPError(f"invalid operator '{op}'", status=400)
        quotient = int(x / y) if op == "/" else 0  # a division by zero is answered with 500
        result = {"+": x + y, "-": x - y, "*": x * y}.get(op, quotient)
        used.add(op=op)
        sums.add(result, op=op)
        return Arithmetic(x, op, y, result)

    @service.endpoint("GET", "/square")
    async def square(x: int) -> Square:
        """Multiply an integer by itself."""
        used.add(op="^2")
        return Square(x, x * x)

    @service.endpoint("ANY", "/distance", result="d")
    async def distance(p1: Point, p2: Point) -> float:
        """Measure the straight line between two points."""
        return float(((p1.x - p2.x) ** 2 + (p1.y - p2.y) ** 2) ** 0.5)

    return service


# --- hello.example


def hello(**options: Any) -> Connector:
    """Return the service that shows what a service can do."""
    service = Connector("hello.example", **options)
    greeting = service.config("Greeting", default="Hello")
    repeat = service.config("Repeat", default=1, parse=int)

    @service.endpoint("ANY", "/hello")
    async def greet(request: Request) -> Response:
        """Greet a person by name."""
        name = request.query.get("name", [""])[0] or "World"
        text = f"{greeting.get()}, {name}!\n" * repeat.get()
        return Response(200, text, headers={"Content-Type": "text/plain"})

    @service.endpoint("ANY", "/echo")
    async def echo(request: Request) -> Response:
        """Show the request as it travelled."""
        target = request.path + (f"?{request.url_query}" if request.url_query else "")
        lines = [f"{request.method} {target} HTTP/1.1", f"Host: {request.url.split('/')[2]}"]
        if request.body:
            lines.append(f"Content-Length: {len(request.body)}")
        lines += [
            f"{name}: {value}"
            for name in sorted(request.headers)
            for value in request.headers.all(name)
        ]
        head = "\r\n".join([*lines, "", ""])
        return Response(200, head.encode() + request.body, headers={"Content-Type": "text/plain"})

    @service.endpoint("ANY", "/ping")
    async def ping() -> Response:
        """List all that answer a ping."""
        found = [
            f"{each.id}.{each.source}\r\n"
            async for each in service.publish("GET", "https://all:888/ping")
            if each.error is None
        ]
        return Response(200, "".join(found), headers={"Content-Type": "text/plain"})

    @service.endpoint("ANY", "/calculator")
    async def form(x: str, op: str, y: str) -> Response:
        """Show a form, and what the calculator says to it."""
        result = ""
        if x and op and y:
            try:
                answer = await calculate(service, int(x), op, int(y))
                result = str(answer.result)
            except HTTPError as error:
                result = html.escape(error.message)
        fields = "".join(
            f'<input name="{name}" value="{html.escape(value)}">'
            for name, value in (("x", x), ("op", op), ("y", y))
        )
        page = f"<form>{fields}<button>=</button> <b id=result>{result}</b></form>"
        return Response(200, page, headers={"Content-Type": "text/html"})

    @service.endpoint("ANY", "//root")
    async def root() -> Response:
        """Serve the root of the ingress."""
        page = "<html><body><h1>Microbus</h1></body></html>"
        return Response(200, page, headers={"Content-Type": "text/html; charset=utf-8"})

    @service.every(10)
    async def tick_tock() -> None:
        service.log.info("Ticktock")

    return service


# --- messaging.example


def messaging(**options: Any) -> Connector:
    """Return one replica of the service that shows the patterns of messaging."""
    service = Connector("messaging.example", **options)
    text = {"Content-Type": "text/plain"}
    default, to_all = (
        "https://messaging.example/default-queue",
        "https://messaging.example/no-queue",
    )

    @service.endpoint("GET", "/home")
    async def home() -> Response:
        """Ask the replicas in four ways, and show what they say."""
        one = await service.request("GET", default)
        same = await service.request("GET", default, instance=one.id)
        every = [each async for each in service.publish("GET", to_all)]
        last = [each async for each in service.publish("GET", to_all, instance=every[-1].id)]
        said = [f"> {each.raise_for_status().text}" for each in (one, same, *every, *last)]
        return Response(200, "\r\n".join([f"{service.id} asked:", *said]), headers=text)

    @service.endpoint("GET", "/no-queue", queue=None)
    async def no_queue() -> Response:
        """Answer by every replica."""
        return Response(200, f"NoQueue {service.id}", headers=text)

    @service.endpoint("GET", "/default-queue")
    async def default_queue() -> Response:
        """Answer by one of the replicas."""
        return Response(200, f"DefaultQueue {service.id}", headers=text)

    @service.endpoint("GET", "/cache-load")
    async def cache_load(key: str) -> Response:
        """Read a value that a replica has stored."""
        if not key:
            raise HTTPError("missing key")
        value = await service.cache.load(key)
        found = "found: no" if value is None else f"found: yes\nvalue: {value.decode()}"
        return Response(200, f"key: {key}\n{found}\n\nLoaded by {service.id}", headers=text)

    @service.endpoint("GET", "/cache-store")
    async def cache_store(key: str, value: str) -> Response:
        """Store a value for all replicas."""
        if not key or not value:
            raise HTTPError("missing value" if key else "missing key")
        await service.cache.store(key, value)
        stored = f"key: {key}\nvalue: {value}\n\nStored by {service.id}"
        return Response(200, stored, headers=text)

    return service


# --- eventsource.example and eventsink.example

on_allow_register = Event[dict[str, str]](SOURCE, "/on-allow-register", answer=bool, result="allow")
on_registered = Event[dict[str, str]](SOURCE, "/on-registered")


def event_source(**options: Any) -> Connector:
    """Return the service that registers users, if no subscriber objects."""
    service = Connector(SOURCE, **options)

    @service.endpoint("ANY", "/register", result="allowed")
    async def register(email: str) -> bool:
        """Register a user, unless a subscriber objects."""
        async for answer in service.trigger(on_allow_register, {"email": email}):
            if not answer.get():
                return False
        service.background(service.trigger(on_registered, {"email": email}))
        return True

    return service


def event_sink(**options: Any) -> Connector:
    """Return the service that objects to some registrations, and lists the others."""
    service = Connector("eventsink.example", **options)
    registrations: list[str] = []

    @service.on(on_allow_register)
    async def allow(email: str) -> bool:
        """Object to two providers of mail, and to who is registered."""
        name, at, domain = parseaddr(email.lower())[1].rpartition("@")
        if not (name and at and domain):
            return False
        address = f"{name}@{domain}"
        blocked = ("@gmail.com", ".gmail.com", "@hotmail.com", ".hotmail.com")
        return not address.endswith(blocked) and address not in registrations

    @service.on(on_registered)
    async def registered(email: str) -> None:
        """Note a registration."""
        registrations.append(email.lower())

    @service.endpoint("ANY", "/registered", result="emails")
    async def listed() -> list[str]:
        """List the registered users."""
        return registrations

    return service


def all_services(**options: Any) -> list[Connector]:
    """Return the six services, with two replicas of ``messaging.example``."""
    makers = (hello_world, calculator, hello, messaging, messaging, event_source, event_sink)
    return [make(**options) for make in makers]
