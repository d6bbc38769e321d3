"""The same program with and without the short circuit: the same results."""

from __future__ import annotations

import asyncio

import nats
import pytest
from nats import errors

from patience import PATIENCE, settled, until
from subtrie import PatternError
from subtrie.connector import ShortCircuit


@pytest.fixture(params=["bare", "short"])
def wrap(request):
    """Return the wrapper that a program puts around its client."""
    return (lambda nc: nc) if request.param == "bare" else ShortCircuit


@pytest.fixture
def base(plane):
    """Subjects of this test alone."""
    return f"sc.{plane}"


async def test_request_and_reply_with_headers(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))

    async def echo(message):
        assert message.headers == {"X-A": "1"}
        assert message.sid > 0
        await nc.publish(message.reply, b"<" + message.data + b">", headers={"X-B": "2"})

    await nc.subscribe(f"{base}.*.echo", cb=echo)
    answer = await nc.request(f"{base}.x.echo", b"hi", headers={"X-A": "1"}, timeout=5)
    assert (answer.data, answer.headers, answer.header) == (b"<hi>", {"X-B": "2"}, {"X-B": "2"})
    await nc.close()


async def test_respond_and_many_requests_at_once(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))

    async def double(message):
        await message.respond(message.data * 2)

    await nc.subscribe(f"{base}.double", "workers", double)
    answers = await asyncio.gather(
        *(nc.request(f"{base}.double", b"%d" % n, timeout=5) for n in range(100))
    )
    assert [answer.data for answer in answers] == [b"%d%d" % (n, n) for n in range(100)]
    await nc.close()


async def test_queue_groups_wildcards_and_plain_listeners(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))
    heard: dict[str, list[bytes]] = {}

    def note(name):
        async def take(message):
            heard.setdefault(name, []).append(message.data)
            if message.reply and name.startswith("w"):
                await message.respond(b"ok")

        return take

    for number in range(3):
        await nc.subscribe(f"{base}.job.*", queue="workers", cb=note(f"w{number}"))
    await nc.subscribe(f"{base}.job.>", cb=note("all"))
    await nc.subscribe(f"{base}.job.7", queue="others", cb=note("other"))
    for n in range(30):
        assert (await nc.request(f"{base}.job.{n}", b"%d" % n, timeout=5)).data == b"ok"
    await until(lambda: len(heard["all"]) == 30 and "other" in heard)
    workers = [n for name, got in heard.items() if name.startswith("w") for n in got]
    assert sorted(workers, key=int) == [b"%d" % n for n in range(30)]
    assert heard["other"] == [b"7"]
    await nc.close()


async def test_requests_without_a_responder_and_without_a_timely_one(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))

    async def silent(message):
        return None

    await nc.subscribe(f"{base}.silent", cb=silent)
    with pytest.raises(errors.TimeoutError):
        await nc.request(f"{base}.silent", timeout=0.2)
    with pytest.raises(errors.NoRespondersError):
        await nc.request(f"{base}.nobody", timeout=5)
    with pytest.raises(errors.BadSubjectError):
        await nc.request(f"{base}. x", timeout=5)
    with pytest.raises(errors.MaxPayloadError):
        await nc.request(f"{base}.silent", bytes(nc.max_payload + 1), timeout=5)
    await nc.close()
    with pytest.raises(errors.ConnectionClosedError):
        await nc.request(f"{base}.silent", timeout=5)


async def test_the_largest_message_is_one_that_the_broker_takes(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))

    async def size(message):
        await message.respond(b"%d" % len(message.data))

    await nc.subscribe(f"{base}.size", cb=size)
    largest = bytes(nc.max_payload)
    answer = await nc.request(f"{base}.size", largest, timeout=PATIENCE)
    assert answer.data == b"%d" % len(largest)
    await nc.close()


async def test_a_request_of_the_old_style_goes_to_the_broker(broker, base):
    """It asks for a subscription of its own, which the short circuit has not."""
    nc = ShortCircuit(await nats.connect(broker.url))

    async def answer(message):
        await message.respond(b"x")

    await nc.subscribe(f"{base}.a", cb=answer)
    for old_style, sent in ((False, 0), (True, 2)):
        await settled(nc)
        before = nc.stats["out_msgs"]
        reply = await nc.request(f"{base}.a", timeout=PATIENCE, old_style=old_style)
        assert (reply.data, nc.stats["out_msgs"] - before) == (b"x", sent)
    await nc.close()


async def test_errors_in_callbacks_reach_error_cb_and_stop_nothing(broker, wrap, base):
    seen = []

    async def on_error(error):
        seen.append(repr(error))

    nc = wrap(await nats.connect(broker.url, error_cb=on_error))

    async def fragile(message):
        if message.data == b"bad":
            raise ValueError("broken")
        await message.respond(b"fine")

    await nc.subscribe(f"{base}.f", cb=fragile)
    with pytest.raises(errors.TimeoutError):
        await nc.request(f"{base}.f", b"bad", timeout=0.2)
    assert (await nc.request(f"{base}.f", b"good", timeout=5)).data == b"fine"
    assert seen == ["ValueError('broken')"]
    await nc.close()


async def test_iterators_next_msg_and_max_msgs(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))
    one = await nc.subscribe(f"{base}.one")
    three = await nc.subscribe(f"{base}.three", max_msgs=3)
    limited = await nc.subscribe(f"{base}.limited")
    await limited.unsubscribe(limit=2)
    for n in range(5):
        for name in ("one", "three", "limited"):
            await nc.publish(f"{base}.{name}", b"%d" % n)
    await settled(nc)
    assert [(await one.next_msg(timeout=5)).data for _ in range(5)] == [
        b"0",
        b"1",
        b"2",
        b"3",
        b"4",
    ]
    with pytest.raises(errors.TimeoutError):
        await one.next_msg(timeout=0.05)
    assert [m.data async for m in three.messages] == [b"0", b"1", b"2"]
    assert [(await limited.next_msg(timeout=5)).data for _ in range(2)] == [b"0", b"1"]
    assert (one.subject, one.queue, one.pending_msgs, one.delivered) == (f"{base}.one", "", 0, 5)
    await one.unsubscribe()
    with pytest.raises(errors.BadSubscriptionError):
        await one.unsubscribe()
    await nc.close()


async def test_a_limit_that_has_been_reached_ends_the_subscription(broker, wrap, base):
    """Messages that have arrived by then are still read."""
    nc = wrap(await nats.connect(broker.url))
    subscription = await nc.subscribe(f"{base}.many")
    for n in range(3):
        await nc.publish(f"{base}.many", b"%d" % n)
    await settled(nc)
    await until(lambda: subscription.pending_msgs == 3)
    await subscription.unsubscribe(limit=2)
    async with asyncio.timeout(PATIENCE):
        assert [message.data async for message in subscription.messages] == [b"0", b"1", b"2"]
    await nc.publish(f"{base}.many", b"late")
    await settled(nc)
    assert (subscription.delivered, subscription.pending_msgs) == (3, 0)
    await nc.close()


async def test_an_iterator_leaves_no_task(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))
    subscription = await nc.subscribe(f"{base}.many")
    before = len(asyncio.all_tasks())
    messages = subscription.messages
    for n in range(5):
        waiting = asyncio.ensure_future(anext(messages))
        await asyncio.sleep(0)
        await nc.publish(f"{base}.many", b"%d" % n)
        assert (await waiting).data == b"%d" % n
        await until(lambda: len(asyncio.all_tasks()) <= before)
    waiting = asyncio.ensure_future(anext(messages))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: len(asyncio.all_tasks()) <= before)
    await nc.close()


async def test_drain_handles_what_has_arrived(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))
    done = []

    async def slow(message):
        await asyncio.sleep(0.01)
        done.append(message.data)

    await nc.subscribe(f"{base}.slow", cb=slow)
    for n in range(10):
        await nc.publish(f"{base}.slow", b"%d" % n)
    await settled(nc)
    await nc.drain()
    assert done == [b"%d" % n for n in range(10)]
    assert nc.is_closed


async def test_an_unsubscribed_handler_receives_no_request(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))

    async def answer(message):
        await message.respond(b"x")

    subscription = await nc.subscribe(f"{base}.gone", cb=answer)
    assert (await nc.request(f"{base}.gone", timeout=5)).data == b"x"
    await subscription.unsubscribe()
    await settled(nc)
    with pytest.raises(errors.NoRespondersError):
        await nc.request(f"{base}.gone", timeout=5)
    await nc.close()


async def test_a_remote_subscriber_receives_every_publish(broker, wrap, base):
    far, nc = await nats.connect(broker.url), wrap(await nats.connect(broker.url))
    heard, here = [], []

    async def listen(message):
        heard.append(message.data)

    async def local(message):
        here.append(message.data)

    await far.subscribe(f"{base}.>", cb=listen)
    for _ in range(2):  # the first may leave before what the client still holds back
        await settled(far)
    await nc.subscribe(f"{base}.event", cb=local)
    for n in range(20):
        await nc.publish(f"{base}.event", b"%d" % n)
    await until(lambda: len(heard) == len(here) == 20)
    assert heard == here == [b"%d" % n for n in range(20)]
    await far.close()
    await nc.close()


async def test_a_request_without_a_local_subscriber_goes_to_a_remote_one(broker, wrap, base):
    far, nc = await nats.connect(broker.url), wrap(await nats.connect(broker.url))

    async def answer(message):
        await message.respond(b"far")

    await far.subscribe(f"{base}.far", cb=answer)
    for _ in range(2):  # the first may leave before what the client still holds back
        await settled(far)
    assert (await nc.request(f"{base}.far", timeout=5)).data == b"far"
    await far.close()
    await nc.close()


async def test_local_subjects_never_reach_the_broker(broker, base):
    far = await nats.connect(broker.url)
    nc = ShortCircuit(await nats.connect(broker.url), local=[f"{base}.in.>"])
    heard, here = [], []

    async def listen(message):
        heard.append(message.subject)

    async def local(message):
        here.append(message.subject)

    await far.subscribe(f"{base}.>", cb=listen)
    for _ in range(2):  # the first may leave before what the client still holds back
        await settled(far)
    await nc.subscribe(f"{base}.>", cb=local)
    await nc.publish(f"{base}.in.a")
    await nc.publish(f"{base}.out")
    await until(lambda: len(here) == 2 and len(heard) == 1)
    assert heard == [f"{base}.out"]
    with pytest.raises(PatternError):
        ShortCircuit(nc._nc, local=["a..b"])
    await far.close()
    await nc.close()


async def test_a_local_publish_raises_what_the_client_would_raise(broker, base):
    nc = ShortCircuit(await nats.connect(broker.url), local=[f"{base}.in.>"])
    with pytest.raises(errors.MaxPayloadError):
        await nc.publish(f"{base}.in.a", bytes(nc.max_payload + 1))
    await nc.publish(f"{base}.in.a", bytes(nc.max_payload))
    await nc.close()
    with pytest.raises(errors.ConnectionClosedError):
        await nc.publish(f"{base}.in.a")


async def test_a_client_that_is_drained_already_is_not_drained_again(broker, wrap, base):
    client = await nats.connect(broker.url)
    nc = wrap(client)

    async def take(message):
        pass

    await nc.subscribe(base, cb=take)
    draining = asyncio.create_task(client.drain())
    while not client.is_draining:
        await asyncio.sleep(0)
    await nc.drain()
    assert client.is_draining
    await draining
    assert client.is_closed


async def test_a_subject_that_is_refused_is_refused_by_the_client(broker, base):
    """Local subjects make no difference: the error is that of the client."""
    nc = ShortCircuit(await nats.connect(broker.url), local=[f"{base}.in.>"])
    with pytest.raises(errors.BadSubjectError):
        await nc.publish(f"{base}.in. a")
    await nc.close()


async def test_an_ended_subscription_is_forgotten(broker, base):
    nc = ShortCircuit(await nats.connect(broker.url))
    one, _ = [await nc.subscribe(f"{base}.{name}", cb=asyncio.sleep) for name in "ab"]
    assert repr(nc) == "<ShortCircuit with 2 subscriptions>"
    await one.unsubscribe()
    assert repr(nc) == "<ShortCircuit with 1 subscriptions>"
    await nc.close()


async def test_a_request_and_its_response_in_process_are_not_sent_to_the_broker(broker, base):
    nc = ShortCircuit(await nats.connect(broker.url))

    async def answer(message):
        await message.respond(b"here")

    await nc.subscribe(f"{base}.q", cb=answer)
    before = nc.stats["out_msgs"]
    for _ in range(3):
        assert (await nc.request(f"{base}.q", timeout=5)).data == b"here"
    assert nc.stats["out_msgs"] == before
    await nc.close()


async def test_a_request_in_process_that_has_ended_is_forgotten(broker, base):
    nc = ShortCircuit(await nats.connect(broker.url))

    async def answer(message):
        if message.data:
            await message.respond(b"here")

    await nc.subscribe(f"{base}.q", cb=answer)
    assert (await nc.request(f"{base}.q", b"x", timeout=5)).data == b"here"
    with pytest.raises(errors.TimeoutError):
        await nc.request(f"{base}.q", timeout=0.05)
    asking = asyncio.ensure_future(nc.request(f"{base}.q", timeout=5))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert nc._waiting == {}
    await nc.close()


async def test_a_response_through_the_bare_client_counts_too(broker, base):
    bare = await nats.connect(broker.url)
    nc = ShortCircuit(bare)

    async def answer(message):
        await bare.publish(message.reply, b"around")

    await nc.subscribe(f"{base}.q", cb=answer)
    assert (await nc.request(f"{base}.q", timeout=5)).data == b"around"
    await nc.close()


async def test_messages_end_with_the_connection(broker, wrap, base):
    nc = wrap(await nats.connect(broker.url))
    subscription = await nc.subscribe(base)
    ended = asyncio.ensure_future(anext(aiter(subscription.messages), "ended"))
    await asyncio.sleep(0.01)
    assert not ended.done()
    await nc.close()
    await until(ended.done)
    assert ended.result() == "ended"
