"""Typed calls elsewhere: another host, one instance, headers, all instances; typed answers."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import pytest

from subtrie import AddressError
from subtrie.connector import BusError, Client, Event, HTTPError, Request

HOST, OTHER = "shop.example", "branch.example"


@dataclass
class Told:
    by: str
    accept: str = ""


def client() -> Client:
    """A client whose function tells who served it."""
    made = Client(HOST, headers={"Accept": "text/plain"})

    @made.call("GET", "/who")
    async def who(n: int = 0) -> Told:
        raise NotImplementedError

    return made


def serve(connector, *, queue=...):
    options = {} if queue is ... else {"queue": queue}

    @connector.endpoint("GET", "/who", **options)
    async def who(request: Request, n: int = 0) -> Told:
        if n < 0:
            raise HTTPError("too small", status=400)
        return Told(connector.id, request.headers.get("Accept", "") + "".join(x_of(request)))

    return connector


def x_of(request: Request) -> list[str]:
    return request.headers.all("X-More")


async def test_a_client_and_a_call_at_another_host(make):
    shop, branch, web = serve(make(HOST)), serve(make(OTHER)), make("web.example")
    asked = client()
    there = asked.at(OTHER)
    async with shop, branch, web:
        assert (await asked.who(web)).by == shop.id
        assert (await there.who(web)).by == branch.id
        assert (await asked.who.at(OTHER)(web)).by == branch.id
        assert (await asked.who.within(3).at(OTHER)(web, 1)).by == branch.id


async def test_a_client_and_a_request_to_one_instance(make):
    first, second, web = serve(make(HOST)), serve(make(HOST)), make("web.example")
    asked = client()
    async with first, second, web:
        for each in (first, second) * 2:
            assert (await asked.at(instance=each.id).who(web)).by == each.id
            assert (await asked.who.at(instance=each.id)(web)).by == each.id
            url = f"https://{HOST}/who"
            assert (await web.request("GET", url, instance=each.id)).id == each.id
            (one,) = [r async for r in web.publish("GET", url, instance=each.id)]
            assert one.id == each.id


@pytest.mark.parametrize("wrong", ["a1b2", "id-a.b", "id-a/x", "loc-us", "id-", "id-a@b"])
def test_an_instance_that_is_not_an_id_is_refused_where_it_is_named(wrong):
    with pytest.raises(AddressError, match="slot"):
        client().at(instance=wrong)
    with pytest.raises(AddressError, match="slot"):
        client().who.at(instance=wrong)


async def test_an_instance_of_a_url_that_names_one_is_refused(make_memory):
    web = make_memory("web.example")
    async with web:
        with pytest.raises(AddressError, match="second"):
            await web.request("GET", f"https://id-a1.{HOST}/who", instance="id-b2")


async def test_headers_of_a_client_and_of_a_call(make):
    shop, web = serve(make(HOST)), make("web.example")
    asked = client()
    async with shop, web:
        assert (await asked.who(web)).accept == "text/plain"
        more = asked.at(headers={"X-More": "!"})
        assert (await more.who(web)).accept == "text/plain!"
        assert (await asked.who.at(headers={"Accept": "a/b"})(web)).accept == "a/b"
        assert (await asked.who(web)).accept == "text/plain"


async def test_a_call_declared_at_a_client_elsewhere_is_asked_there(make_memory):
    first, second, web = serve(make_memory(HOST)), serve(make_memory(HOST)), make_memory(OTHER)
    asked = client()
    async with first, second, web:
        for each in (first, first, second, second):
            there = asked.at(instance=each.id, headers={"Accept": "a/b"})
            told = await there.call("GET", "/who")(asked.who.__wrapped__)(web)
            assert (told.by, told.accept) == (each.id, "a/b")


@pytest.mark.parametrize("host", ["all", "SHOP.example", HOST])
async def test_a_client_of_all_services_takes_the_response_of_any(make_memory, host):
    shop, web = make_memory(HOST), make_memory("web.example")

    @Client(host).call("GET", ":888/ping")
    async def ping() -> None: ...

    async with shop, web:
        answers = [each async for each in ping.multicast(web)]
        sources = {each.response.source for each in answers}
        assert sources == ({HOST, "web.example"} if host == "all" else {HOST})
        await ping(web)


async def test_an_answer_that_does_not_come_is_a_timeout_of_no_service(make_memory):
    shop, web, asked = make_memory(HOST), make_memory("web.example"), client()
    go_on = asyncio.Event()

    @shop.endpoint("GET", "/who", queue=None)
    async def who() -> None:
        while not go_on.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go_on.wait()

    async with shop, web:
        answers = [each async for each in asked.who.within(0.05).multicast(web)]
        go_on.set()
    (late,) = answers
    assert (late.response.source, late.error.status) == ("", 408)


def test_a_client_elsewhere_makes_its_calls_once():
    there = client().at(OTHER)
    assert there.who is there.who


async def test_an_argument_of_a_path_without_a_name_is_not_one_of_the_function(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", "/a/{}/b/{n}")(lambda request: request.path)

    @Client(HOST).call("GET", "/a/{}/b/{n}")
    async def part(n: int, path1: str) -> str: ...

    async with shop, web:
        assert await part(web, 7, "x") == "/a/x/b/7"


async def test_a_client_elsewhere_has_what_is_declared_later(make_memory):
    shop, web = serve(make_memory(OTHER)), make_memory("web.example")
    asked = Client(HOST)
    there = asked.at(OTHER)

    @asked.call("GET", "/who")
    async def who(n: int = 0) -> Told: ...

    async with shop, web:
        assert (await there.who(web)).by == shop.id
    with pytest.raises(AttributeError, match="declares no function 'missing'"):
        there.missing  # noqa: B018 - the read is what is tested


def test_a_function_is_not_named_like_a_method_of_the_client():
    async def at() -> None: ...

    with pytest.raises(TypeError, match="rename the function"):
        Client(HOST).call("GET", "/x")(at)


async def test_the_uses_of_a_service_name_a_client_elsewhere(make_memory):
    branch = serve(make_memory(OTHER))
    asked = client()
    web = make_memory("web.example", uses=[asked.at(OTHER)], deployment="TESTING")
    async with branch, web:
        assert (await asked.who.at(OTHER)(web)).by == branch.id
        with pytest.raises(BusError, match=r"declared|uses"):
            await asked.who(web)


async def test_a_typed_multicast_yields_results_as_they_come(make):
    several = [serve(make(HOST), queue=None) for _ in range(3)]
    web = make("web.example")
    asked = client()
    async with several[0], several[1], several[2], web:
        answers = [answer async for answer in asked.who.multicast(web, 1)]
        assert {each.get().by for each in answers} == {each.id for each in several}
        assert {each.response.id for each in answers} == {each.id for each in several}
        failed = [answer async for answer in asked.who.multicast(web, -1)]
        assert len(failed) == 3
        for each in failed:
            assert each.error.status == 400
            with pytest.raises(HTTPError, match="too small"):
                each.get()


async def test_a_typed_multicast_takes_no_answer_of_another_host(make):
    shop, spy, web = serve(make(HOST), queue=None), make("spy.example"), make("web.example")

    @spy.endpoint("GET", f"//{HOST}/who")
    async def who() -> Told:
        return Told("spy")

    async with shop, spy, web:
        answers = [answer async for answer in client().who.multicast(web)]
        assert [each.get().by for each in answers] == [shop.id]


async def test_a_service_triggers_only_its_own_events(make):
    """As gencreds refuses it in the source, and a broker by the rules."""
    placed, heard = Event[dict](HOST, "/on-placed"), []
    shop, branch, sink = make(HOST), make(OTHER), make("sink.example")

    @sink.on(placed)
    async def on_placed(n: int) -> None:
        heard.append(n)

    async with shop, branch, sink:
        with pytest.raises(BusError, match="only the service that owns an event") as refused:
            branch.trigger(placed, {"n": 1})
        assert (refused.value.reason, refused.value.field) == ("event-host", "event")
        await shop.trigger(placed, {"n": 2})
    assert heard == [2]


async def test_the_answers_to_an_event_are_typed_and_come_as_they_are_given(make):
    allow = Event[dict](HOST, "/on-allow", answer=bool, result="allow")
    shop = make(HOST)
    sinks = [make(f"sink{n}.example") for n in range(3)]
    for place, sink in enumerate(sinks):

        @sink.on(allow)
        async def on_allow(email: str, place: int = place) -> bool:
            if place == 2:
                raise HTTPError("cannot tell", status=409)
            return place == 0

    async with shop, sinks[0], sinks[1], sinks[2]:
        found = {}
        async for answer in shop.trigger(allow, {"email": "a@b"}):
            found[answer.response.source] = answer.error or answer.get()
        assert found["sink0.example"] is True
        assert found["sink1.example"] is False
        assert found["sink2.example"].status == 409
        responses = await shop.trigger(allow, {"email": "a@b"})
        assert sorted(each.status for each in responses) == [200, 200, 409]
        task = shop.background(shop.trigger(allow, {"email": "a@b"}))
        assert len(await task) == 3


@pytest.mark.parametrize(
    ("options", "host", "taken"),
    [({}, "", False), ({"source": ""}, "", False), ({"source": None}, "", True),
     ({"source": "spy.example"}, "", True), ({"source": OTHER}, "", False), ({}, OTHER, False),
     ({"source": None}, OTHER, True), ({"source": "spy.example"}, OTHER, False)],
)  # fmt: skip
async def test_whose_response_a_call_takes(make_memory, options, host, taken):
    """A service may serve the routes of another host; a call takes that of its own."""
    spy, web = make_memory("spy.example"), make_memory("web.example")
    for served in (HOST, OTHER):
        spy.endpoint("GET", f"//{served}/who")(lambda: {"by": "spy"})
    asked = Client(HOST, **options)

    @asked.call("GET", "/who")
    async def who(n: int = 0) -> Told: ...

    async with spy, web:
        calls = [asked.at(host).who, who.at(host)]
        calls += [] if host else [who, asked.who, who.within(5)]
        calls.append(asked.at(host).call("GET", "/who")(who.__wrapped__))
        for each in calls:
            if taken:
                assert (await each(web)).by == "spy"
            else:
                with pytest.raises(HTTPError, match=f"spy.example responded, not {host or ''}"):
                    await each(web)


def test_a_client_and_its_calls_are_shown():
    asked = client()

    @asked.call("ANY", ":444/a/{id}")
    async def also(id: int) -> Told:
        """Return also."""
        raise NotImplementedError

    assert repr(asked) == f"<Client {HOST}: also, who>"
    assert repr(asked.at(OTHER)) == f"<Client {OTHER}: also, who>"
    assert repr(Client(HOST)) == f"<Client {HOST}: no functions>"
    assert repr(also) == f"<Call also: POST https://{HOST}:444/a/{{id}}>"
    assert repr(also.at(OTHER)) == f"<Call also: POST https://{OTHER}:444/a/{{id}}>"
    assert (also.__name__, also.__doc__) == ("also", "Return also.")
    there = asked.at(OTHER)
    own = there.call("GET", "/own")(also.__wrapped__)
    assert {each.url for each in there.declared_calls()} == {
        own.url, f"https://{OTHER}:443/who",
    }  # fmt: skip


@pytest.mark.parametrize("wrong", ["a b", "a..b", ".a", "id-1.a", "loc-us.a"])
def test_where_a_call_cannot_go_is_refused_where_it_is_named(wrong):
    for name_it in (client().at, client().who.at, lambda host: Client(host).call("GET", "/x")):
        with pytest.raises(AddressError):
            name_it(wrong)


async def test_a_function_may_declare_a_timeout_of_its_own(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", "/budget")(_budget)
    asked = Client(HOST)

    @asked.call("GET", "/budget")
    async def budget() -> list[float]: ...

    @asked.call("GET", "/budget")
    async def own(timeout: int = 3) -> list[float]: ...

    async with shop, web:
        assert await budget(web, timeout=7) == await budget.within(7)(web) == [7, 0]
        assert await budget.within(3)(web, timeout=7) == [7, 0]
        assert (await own(web, timeout=5))[1] == 5
        assert await own.within(7)(web, 4) == [7, 4]
        with pytest.raises(TypeError, match=r"unexpected|too many"):
            await budget(web, 7)


def _budget(request: Request, timeout: int = 0) -> list[float]:
    return [round(request.budget), timeout]


async def test_an_argument_that_contains_itself_is_refused_at_once(make_memory):
    web, asked = make_memory("web.example"), Client(HOST)

    @asked.call("GET", "/x")
    async def send(items: list) -> None: ...

    items: list = []
    items.append(items)
    async with web:
        for call in (send, send.multicast):
            with pytest.raises(HTTPError, match="an argument contains itself"):
                await call(web, items)


async def test_a_body_that_contains_itself_is_refused_in_one_sentence(make_memory):
    """The encoder went deeper until the interpreter stopped it, with its own error."""
    web, asked = make_memory("web.example"), Client(HOST)

    @asked.call("POST", "/x")
    async def send(items: list) -> None: ...

    items: list = []
    items.append({"again": items})
    async with web:
        for call in (
            send(web, items),
            web.request("POST", f"https://{HOST}/x", json=items),
        ):
            with pytest.raises(HTTPError, match="the body contains itself") as caught:
                await call
            assert (caught.value.status, caught.value.__cause__) == (400, None)


@pytest.mark.parametrize(("host", "path"), [("a b", "/x"), ("", "/x"), (HOST, "/{")])
def test_an_event_has_a_host_and_a_path(host, path):
    made = Event[dict](HOST, "/on-x")
    assert repr(made) == f"Event({HOST!r}, '/on-x')"
    assert (made.url, made.route) == (f"https://{HOST}:417/on-x", f"//{HOST}:417/on-x")
    with pytest.raises(AddressError):
        Event[dict](host, path)
