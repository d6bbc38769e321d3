"""An optional argument that is left out, and one that is given, by what comes of each."""

from __future__ import annotations

import pytest

from subtrie.connector import Call, Client, Event, FixedIds, HTTPError

HOST = "shop.example"


@pytest.mark.parametrize("kind", ["counter", "gauge", "histogram"])
def test_a_metric_has_no_text_unless_one_is_given(make_memory, kind) -> None:
    made = getattr(make_memory(HOST).metrics, kind)
    assert (made("plain").text, made("told", "What it is").text) == ("", "What it is")


def test_identifiers_of_tests_are_counted_from_one() -> None:
    ids = FixedIds()
    assert (ids.instance(), ids.message(), ids.message(), ids.trace()) == (
        "id-0000000001", "00000001", "00000002", "0" * 32,
    )  # fmt: skip


@pytest.mark.parametrize(("result", "sent"), [({}, 7), ({"result": "n"}, {"n": 7})])
async def test_the_answer_to_an_event_is_whole_unless_its_result_has_a_name(
    make_memory, result, sent
) -> None:
    shop, stock = make_memory(HOST), make_memory("stock.example")
    whole = Event(HOST, "/on-low", answer=int | dict[str, int])
    low = Event(HOST, "/on-low", answer=int, **result)

    @stock.on(low)
    async def hear() -> int:
        return 7

    async with shop, stock:
        assert [answer.get() async for answer in shop.trigger(low)] == [7]
        assert [answer.get() async for answer in shop.trigger(whole)] == [sent]


async def test_a_call_takes_the_whole_response_of_the_host_that_it_asks(make_memory) -> None:
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", "/n")(lambda: {"item": 5})
    shop.endpoint("GET", "//tea.example/n")(lambda: {"item": 6})

    async def n() -> dict[str, int]: ...

    async def item() -> int: ...

    async with shop, web:
        assert await Call(HOST, "GET", "/n", n)(web) == {"item": 5}
        assert await Call(HOST, "GET", "/n", item, result="item")(web) == 5
        # The response is one of shop.example, not of the host that is asked.
        for source, taken in (({}, False), ({"source": HOST}, True), ({"source": None}, True)):
            client = Client("tea.example", **source)
            client.call("GET", "/n")(n)
            for call in (Call("tea.example", "GET", "/n", n, **source), client.n):
                if taken:
                    assert await call(web) == {"item": 6}
                else:
                    with pytest.raises(HTTPError, match=r"shop\.example"):
                        await call(web)
