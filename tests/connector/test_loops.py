"""Several event loops in one process, several processes, and blocked loops."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import pytest

from patience import until
from subtrie.connector import AckTimeout, Request, Response

HOST = "shop.example"


@pytest.mark.parametrize("both", [False, True], ids=["one transport", "both"])
async def test_two_loops_in_one_process_each_handler_on_its_own(make, broker, both):
    options = {"nats": broker.url, "short_circuit": True} if both else {}
    shop, web = make(HOST, **options), make("web.example", **options)
    threads = {}

    @shop.endpoint("GET", "/where")
    async def where():
        threads["handler"] = threading.get_ident()
        return (await shop.request("GET", "https://web.example/back")).json()

    @web.endpoint("GET", "/back")
    async def back():
        threads["back"] = threading.get_ident()
        return [1]

    @shop.endpoint("POST", "/large")
    async def large(request: Request):
        return len(request.body)

    ready, done = threading.Event(), threading.Event()

    def elsewhere():
        async def run():
            async with shop:
                threads["shop"] = threading.get_ident()
                ready.set()
                while not done.is_set():
                    await asyncio.sleep(0.005)

        asyncio.run(run())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    try:
        await asyncio.to_thread(ready.wait, 10)
        async with web:
            answers = await asyncio.gather(
                *(web.request("GET", f"https://{HOST}/where") for _ in range(50))
            )
            assert [answer.json() for answer in answers] == [[1]] * 50
            heard = [a.json() async for a in web.publish("GET", f"https://{HOST}/where")]
            assert heard == [[1]]
            large = await web.request("POST", f"https://{HOST}/large", body=bytes(400_000))
            assert large.json() == 400_000
    finally:
        done.set()
        await asyncio.to_thread(thread.join)
    assert threads["handler"] == threads["shop"] != threads["back"] == threading.get_ident()


_FORK = """
import asyncio, os, sys
from subtrie import BusError, Dispatcher
from subtrie.connector import AckTimeout, Connector

async def main():
    shop = Connector("shop.example", nats="")
    shop.endpoint("GET", "/")(lambda: "heard")
    async with shop:
        assert (await shop.request("GET", "https://shop.example/")).body == b"heard"
        child = os.fork()
        if child == 0:
            try:
                assert len(Dispatcher.shared()) == 0
                assert not shop.running and shop._runtime.loop is None
                await shop.request("GET", "https://shop.example/")
            except BusError as refused:
                os._exit(0 if refused.reason == "not-started" else 3)
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (await shop.request("GET", "https://shop.example/")).body == b"heard"

asyncio.run(main())
print("ok")
"""


@pytest.mark.requirement("S0-134")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_receives_nothing_of_its_parent():
    done = subprocess.run([sys.executable, "-c", _FORK], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ok\n", done.stderr


_FORK_NATS = """
import asyncio, os, sys
from subtrie.connector import Connector

def connector(host):
    return Connector(host, nats=sys.argv[1], plane=sys.argv[2], short_circuit=False)

async def child():
    web = connector("child.example")
    web.endpoint("GET", "/")(os.getpid)  # in a thread of its own
    async with web:
        answers = [(await web.request("GET", "https://shop.example/")).json() for _ in range(20)]
        own = (await web.request("GET", "https://child.example/")).json()
    assert (answers, own) == ([os.getppid()] * 20, os.getpid()), (answers, own)

async def main():
    shop = connector("shop.example")
    shop.endpoint("GET", "/")(lambda: os.getpid())
    async with shop, connector("web.example") as web:
        assert (await web.request("GET", "https://shop.example/")).json() == os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                assert shop._transport.nats is None
                asyncio.run(child())
                os._exit(0)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(1)
        waiting = asyncio.create_task(asyncio.to_thread(os.waitpid, pid, 0))
        while not waiting.done():
            assert (await web.request("GET", "https://shop.example/")).json() == os.getpid()
        assert os.waitstatus_to_exitcode((await waiting)[1]) == 0

asyncio.run(main())
print("ok")
"""


@pytest.mark.requirement("S0-134")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_has_connections_of_its_own(broker, plane):
    """It asks its parent over the broker, while the parent's connections go on as before."""
    done = subprocess.run(
        [sys.executable, "-c", _FORK_NATS, broker.url, plane],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "ok\n", done.stdout + done.stderr


_FORK_LOCKED = """
import os, signal, sys, threading
from subtrie.connector import _io_thread
from subtrie.connector._broker import shared

held, done = threading.Event(), threading.Event()

def hold():
    with _io_thread._lock, shared._lock:
        held.set()
        done.wait()

holder = threading.Thread(target=hold)
holder.start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    _io_thread.acquire()
    _io_thread.release()
    os._exit(len(shared.all_connections()))
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
holder.join()
sys.exit(code)
"""


@pytest.mark.requirement("S0-134")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_waits_for_no_lock_that_a_thread_of_its_parent_holds():
    done = subprocess.run([sys.executable, "-c", _FORK_LOCKED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_a_busy_loop_causes_no_false_ack_timeout(make_nats):
    """The caller's own loop was blocked beyond the acknowledgement time-out: no false 404."""
    import time

    shop, web = make_nats(HOST), make_nats("web.example", round_trip=0.05)
    shop.endpoint("GET", "/")(lambda: "here")

    ready, done = threading.Event(), threading.Event()

    def elsewhere():
        async def run():
            async with shop:
                ready.set()
                while not done.is_set():
                    await asyncio.sleep(0.005)

        asyncio.run(run())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    try:
        await asyncio.to_thread(ready.wait, 10)
        async with web:
            for blocked in (0.04, 0.06, 0.2):
                asking = asyncio.create_task(web.request("GET", f"https://{HOST}/"))
                await asyncio.sleep(0.001)
                time.sleep(blocked)
                assert (await asking).body == b"here"
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://nobody.example/")
    finally:
        done.set()
        await asyncio.to_thread(thread.join)


async def test_a_blocked_loop_delays_only_what_it_hands_over_itself(make):
    web = make("web.example", short_circuit=True)
    async with web:
        runtime, loop = web._runtime, asyncio.get_running_loop()
        blocked, go_on, both = threading.Event(), threading.Event(), asyncio.Event()
        taken: list[str] = []

        def take(name: str) -> None:
            taken.append(name)
            if len(taken) == 2:
                both.set()

        async def block() -> None:
            runtime.hand_over(take, "of the blocked loop")  # which would wake ours in its next turn
            blocked.set()
            go_on.wait(30)

        thread = threading.Thread(target=asyncio.run, args=(block(),))
        thread.start()
        try:
            await loop.run_in_executor(None, blocked.wait, 30)
            await loop.run_in_executor(None, runtime.hand_over, take, "of another thread")
            await asyncio.wait_for(both.wait(), 30)
            assert taken == ["of the blocked loop", "of another thread"]
        finally:
            go_on.set()
            thread.join()


async def test_a_loop_that_ended_owes_no_wake_up(make):
    web = make("web.example", short_circuit=True)
    async with web:
        runtime, taken = web._runtime, asyncio.Event()

        def ended() -> None:
            other = asyncio.new_event_loop()
            other.call_soon(runtime.hand_over, lambda: None)
            other.call_soon(other.stop)  # before the turn in which it would wake ours
            other.run_forever()
            other.close()

        await asyncio.to_thread(ended)
        await asyncio.to_thread(runtime.hand_over, taken.set)
        await asyncio.wait_for(taken.wait(), 30)


async def test_a_service_whose_loop_ended_without_a_shutdown_takes_nothing(make_memory, plane):
    ended, web = make_memory(HOST), make_memory("web.example")
    ended.endpoint("GET", "/")(lambda: "heard")

    async def begin():
        await ended.startup()
        await until(lambda: not (ended._runtime._background or ended._server.runner.tasks))

    await asyncio.to_thread(asyncio.run, begin())
    async with web:
        with pytest.raises(AckTimeout):
            await web.request("GET", f"https://{HOST}/")
        subject = f"{plane}.safe.443.web_example.shop_example._.GET._"
        for message in (Request("GET", f"https://{HOST}/"), Response(200)):
            assert ended._server.receive_local(ended.endpoints[0], subject, message) is False
    await ended.shutdown()
