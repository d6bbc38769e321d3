"""Work that an audit divides among threads: its order, its bound, and its end."""

from __future__ import annotations

import threading
import time

import pytest

from patience import PATIENCE
from subtrie.audit._here import in_threads


def _of_ours() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("subtrie-audit")]


def test_what_is_made_comes_in_the_order_of_what_was_given():
    first_ends = threading.Event()

    def work(number: int):
        if number:
            first_ends.set()
        else:
            first_ends.wait(PATIENCE)
        yield from (number, -number)

    made = list(in_threads(range(20), work))
    assert made == [each for number in range(20) for each in (number, -number)]
    assert not _of_ours()


def test_what_is_given_is_read_as_threads_become_free(monkeypatch):
    monkeypatch.setattr("subtrie.audit._here._cores", lambda: 3)
    read = []

    def given():
        for number in range(20):
            read.append(number)
            yield number

    made = in_threads(given(), lambda number: iter([number]))
    for number in range(20):
        assert next(made) == number
        assert len(read) == min(number + 4, 20)


@pytest.mark.parametrize("way", ["failed", "left"])
def test_no_thread_works_on_once_it_has_ended(way, monkeypatch):
    monkeypatch.setattr("subtrie.audit._here._cores", lambda: 2)
    begun, ended = threading.Event(), []

    def work(number: int):
        if number == 0:
            begun.wait(PATIENCE)
            if way == "failed":
                raise ValueError("a wrong row")
        elif number == 1:
            begun.set()
            time.sleep(0.2)
            ended.append(number)
        yield number

    made = in_threads(range(9), work)
    if way == "failed":
        with pytest.raises(ValueError, match="a wrong row"):
            next(made)
    else:
        assert next(made) == 0
        made.close()
    assert ended == [1]
    assert not _of_ours()
