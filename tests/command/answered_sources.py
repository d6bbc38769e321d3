"""The sources that the recorded commands derive rules from."""

from __future__ import annotations

#: Each call can be determined.
CLEAR = """\
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Annotated, ClassVar, Final, Optional, Union

import tables as names
from tables import *

from subtrie.connector import Client, Connector

web = Connector("web.x")
client = Client("stock.x")
PAIRS = (("three.x", "/p"), ("four.x", "/q"))
ROOT: Final = "https://five.x"

@client.call("GET", "/items/{id}")
async def item(id: int): ...

@client.call("ANY", "//absolute.x:8080/{rest...}")
async def rest(rest: str): ...

class Holder:
    kept: ClassVar[Connector] = web

    def __init__(self, bus: Connector) -> None:
        self.bus = bus

    @property
    def there(self) -> Connector:
        return self.bus

    async def go(self) -> None:
        await self.there.request("GET", "https://property.x/p")
        await self.kept.request("GET", "https://class.x/p")
        await self.bus.request("GET", "https://attribute.x/p")

class Below(Holder):
    def __init__(self) -> None:
        super().__init__(web)

    async def go(self) -> None:
        await super().go()
        await self.bus.request("GET", "https://inherited.x/p")

async def optional(bus: Optional[Connector]) -> None:
    await bus.request("GET", "https://optional.x/a")

async def union(bus: Union[Connector, None]) -> None:
    await bus.request("GET", "https://union.x/a")

async def bar(bus: Connector | None) -> None:
    await bus.request("GET", "https://bar.x/a")

async def annotated(bus: Annotated[Connector, "x"]) -> None:
    await bus.request("GET", "https://annotated.x/a")

async def quoted(bus: "Connector") -> None:
    await bus.request("GET", "https://quoted.x/a")

async def loops() -> None:
    for host, path in PAIRS:
        await web.request("GET", f"https://{host}{path}")
    for other in ("ten.x", "eleven.x"):
        await web.request("GET", f"https://{other}/tuple")
    for further in ["twelve.x"]:
        await web.request("GET", f"https://{further}/list")
    [await web.request("GET", f"https://{each}/comprehension") for each in ("thirteen.x",)]
    await asyncio.gather(*(web.request("GET", f"https://{it}/generator") for it in ("f.x", "g.x")))

async def texts(flag: bool) -> None:
    await web.request("GET", ROOT + "/plus")
    await web.request("GET", "https://{}/format".format("thirteen.x"))
    await web.request("GET", "https://{host}/{path}".format(host="fourteen.x", path="named"))

    await web.request("GET" if flag else "POST", "https://seventeen.x/either")
    await web.request("GET", f"https://nineteen.x/{flag!r}")
    await web.request("GET", names.URL)
    await web.request("GET", STARRED)
    await web.request("GET", url="https://twenty.x:0/keyword")
    await web.publish("POST", "https://published.x/a")
    await client.item(web, id=3)
    await client.rest(web, rest="a")
    await Below().go()
"""
TABLES = """\
URL = "https://module.x/a"
STARRED = "https://starred.x/a"
_HIDDEN = "https://hidden.x/a"
"""

#: Most calls cannot be determined.
UNCLEAR = """\
import operator
from collections.abc import AsyncIterator, Iterator

from subtrie.connector import Connector

web = Connector("web.x")
HOSTS = {"a": "one.x", "b": "two.x"}
LIST = ["one.x"]


def each() -> Iterator[Connector]:
    yield web


async def later() -> AsyncIterator[Connector]:
    yield web


async def use(url: str, number: int, *more: str, **named: str) -> None:
    for bus in each():
        await bus.request("GET", "https://iterator.x/a")
    async for other in later():
        await other.request("GET", "https://later.x/a")
    for host in HOSTS.values():
        await web.request("GET", f"https://{host}/values")
    for one in LIST:
        await web.request("GET", f"https://{one}/list")
    for two in sorted(["a.x"]):
        await web.request("GET", f"https://{two}/sorted")
    await web.request("GET", "/".join(["https://sixteen.x", "join"]))
    await web.request("get".upper(), "https://eighteen.x/upper")
    await web.request("GET", url)
    await web.request("GET", "https://a.x/" + more[0])
    await web.request(named["method"], "https://b.x/")
    await web.request("GET", f"https://c.x:{number}/")
    await web.request("GET", "https://%s/%s" % more)
    await web.request("GET", "https://{0}/".format(*more))
    await web.request(*more)
    await web.request("GET", **named)
    await getattr(web, url)("GET", "https://d.x/")
    await operator.methodcaller("request", "GET", "https://e.x/")(web)
    method = web.request
    await method("GET", url)
    await eval("web.request('GET', url)")
    await web.subscribe("GET", url)
    await url.request("GET", "https://f.x/")
"""
