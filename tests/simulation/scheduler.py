"""Actors on one virtual clock, of which exactly one runs at a time.

Each actor is a thread of the system, so that the connector runs as it is: with thread-local event
loops, context variables and blocked calls. It stops at each *point* (a lock, a wake-up of another
loop, a write, a turn of a loop), where the seed decides who goes on. The clock moves when no actor
can run, and by a little at each point.
"""

from __future__ import annotations

import _thread
import heapq
import itertools
import threading
from collections.abc import Callable
from random import Random
from typing import Any

START = 1_000.0  # seconds, when a world begins
_EPOCH = 1_700_000_000.0  # seconds since the epoch at time 0
_MOST_STEPS = 400_000  # points of one world


class Violation(AssertionError):
    """A promise that a world has broken."""


class Stopped(SystemExit):
    """Ends a thread whose world is over; event loops let it pass."""


class Actor:
    """A thread that runs when it is chosen.

    Attributes:
        name: The name on the tape.
        ready: Whether it can run.
        wake_at: When it can run again, if it waits for a time.
        paused_until: Until when the system does not let it run.
        done: Whether it has ended.
    """

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.ready, self.done = True, False
        self.stopped = False  # whether it unwinds: the world is over
        self.wake_at: float | None = None
        self.paused_until = 0.0
        self.gate = _thread.allocate_lock()
        self.gate.acquire()
        self.thread: threading.Thread | None = None


class Scheduler:
    """Decides by a seed which actor runs, and keeps the tape.

    Args:
        seed: The seed.
        switching: The share of points at which another actor may be chosen.

    Attributes:
        now: The time.
        tape: What happened, a line each.
        steps: The points that were passed.
        failure: The first violation, or None.
    """

    def __init__(self, seed: object, switching: float) -> None:
        self.random = Random(f"order:{seed}")
        self.switching = switching
        self.now = START
        self.tape: list[str] = []
        self.steps = 0
        self.failure: BaseException | None = None
        self.over = False
        self.actors: list[Actor] = []
        self._alive: list[Actor] = []  # those that have not ended
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._by_thread: dict[int, Actor] = {}
        self._current: Actor | None = None
        self._inline = False  # whether a step of the world runs, in the thread of any actor
        self._main = _thread.allocate_lock()
        self._main.acquire()

    # --- the clock

    def time(self) -> float:
        """Return the time."""
        return self.now

    def epoch(self) -> float:
        """Return the time as seconds since the epoch."""
        return _EPOCH + self.now

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Call a function at a time, or now if that has passed; it must not wait."""
        heapq.heappush(self._events, (when, next(self._numbers), call))

    def note(self, *parts: object) -> None:
        """Write a line of the tape."""
        actor = self._current.name if self._current is not None else "-"
        self.tape.append(f"{self.now:.9f} {actor} {' '.join(map(str, parts))}")

    # --- actors

    def spawn(self, name: str, target: Callable[..., object], *arguments: Any) -> Actor:
        """Add an actor that calls a function."""
        actor = Actor(name, len(self.actors))
        self.actors.append(actor)
        self._alive.append(actor)

        def run() -> None:
            actor.gate.acquire()
            try:
                if not self.over:
                    target(*arguments)
            except Stopped:
                pass
            except BaseException as error:
                self.fail(error)
            self._end(actor)

        actor.thread = threading.Thread(target=run, name=f"simulated-{name}", daemon=True)
        actor.thread.start()
        assert actor.thread.ident is not None
        self._by_thread[actor.thread.ident] = actor
        return actor

    def run(self) -> None:
        """Run all actors to their ends, from a thread that is not an actor."""
        first = self._choose()
        if first is not None:
            self._current = first
            first.gate.release()
            self._main.acquire()
        self._finish()
        if self.failure is not None:
            raise self.failure

    def _finish(self) -> None:
        self.over = True
        for actor in self.actors:
            if not actor.done:
                actor.gate.release()
            assert actor.thread is not None
            actor.thread.join()

    def fail(self, error: BaseException) -> None:
        """End the world with an error, unless it has one."""
        if self.failure is None:
            self.failure = error
            self.tape.append(f"{self.now:.9f} failed: {type(error).__name__}: {error}")

    def me(self) -> Actor | None:
        """Return the running actor, if this thread is one."""
        return self._by_thread.get(_thread.get_ident())

    # --- points

    def point(self, what: str) -> None:
        """Let the seed choose who goes on."""
        me = self.me()
        if me is None or self._inline or me.stopped:
            return
        if self.over or self.failure is not None:
            self._stop(me)
        self.steps += 1
        if self.steps > _MOST_STEPS:
            self.fail(Violation(f"no end after {_MOST_STEPS:,} points"))
            self._stop(me)
        drawn = self.random.random()
        if drawn < self.switching:
            self._switch(me, what)

    def block(self, until: float | None, what: str) -> None:
        """Wait until another actor calls ``wake``, or until a time."""
        me = self.me()
        assert me is not None, "only an actor may wait"
        if self.over or self.failure is not None:
            self._stop(me)
        me.ready, me.wake_at = False, until
        self._switch(me, what)
        me.ready, me.wake_at = True, None

    def wake(self, actor: Actor) -> None:
        """Let an actor run that waits."""
        actor.ready = True

    def advance(self, seconds: float) -> None:
        """Move the clock by the time that a step takes."""
        self.now += seconds

    def _switch(self, me: Actor, what: str) -> None:
        chosen = self._choose()
        if chosen is me:
            return
        if chosen is None:
            self._stop(me)
        assert chosen is not None
        self.tape.append(f"{self.now:.9f} {me.name} {what} -> {chosen.name}")
        self._current = chosen
        chosen.gate.release()
        me.gate.acquire()
        if self.over or self.failure is not None:
            self._stop(me)

    def _choose(self) -> Actor | None:
        """Return an actor that can run; None if the world is over."""
        events = self._events
        while self.failure is None:
            now = self.now
            can = [
                each
                for each in self._alive
                if each.paused_until <= now
                and (each.ready or (each.wake_at is not None and each.wake_at <= now))
            ]
            due = bool(events) and events[0][0] <= now
            count = len(can) + due
            if count:
                number = self.random.randrange(count) if count > 1 else 0
                if number < len(can):
                    return can[number]
                self._inline = True
                try:
                    heapq.heappop(events)[2]()
                except BaseException as error:
                    self.fail(error)
                finally:
                    self._inline = False
                continue
            if not self._alive:
                return None
            times = [
                max(each.paused_until, now if each.ready else each.wake_at)
                for each in self._alive
                if each.ready or each.wake_at is not None
            ]
            if events:
                times.append(events[0][0])
            if not times:
                left = ", ".join(each.name for each in self._alive)
                self.fail(Violation(f"nothing can go on: {left}"))
                break
            self.now = max(now, min(times))
        return None

    def _end(self, me: Actor) -> None:
        me.done = True
        self._alive.remove(me)
        if self.over:
            return
        chosen = self._choose()
        if chosen is None:
            self.over = True
            self._main.release()
        else:
            self._current = chosen
            chosen.gate.release()

    def _stop(self, me: Actor) -> None:
        """End this thread; the first one lets the main thread end the others."""
        me.stopped = True
        if not self.over:
            self.over = True
            self._main.release()
        raise Stopped
