"""Pipes in place of files, as ``<(command)`` gives them: each can be read only once."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie.acl import Deployment

CONFIG = "accounts { A: { users: [ { user: u, password: hidden-word } ] } }\n"


@pytest.fixture
def pipe():
    """Return a function that returns the path of a pipe with a text."""
    ends = []

    def path_of(text: str) -> str:
        end, into = os.pipe()
        ends.append(end)
        os.write(into, text.encode())
        os.close(into)
        return f"/dev/fd/{end}"

    yield path_of
    for each in ends:
        os.close(each)


def answer(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "words",
    [("acl", "who", "x"), ("acl", "show"), ("acl", "lint"), ("why", "x", "-p"),
     ("acl", "flows", "--from", "A:x"), ("acl", "minimise")],
    ids=" ".join,
)  # fmt: skip
def test_a_second_reading_of_a_pipe_was_a_broker_without_authorization(words, pipe, tmp_path):
    """The first reading emptied it, and the broker of the answer had no authorization."""
    file = tmp_path / "nats.conf"
    file.write_text(CONFIG)
    path = pipe(CONFIG)
    code, text = answer(*words, path)
    assert (code, text.replace(path, "FILE")) == tuple(
        each.replace(str(file), "FILE") if isinstance(each, str) else each
        for each in answer(*words, str(file))
    )
    assert "no authorization" not in text


def test_two_pipes_are_two_inputs(pipe):
    done = answer("acl", "diff", pipe(CONFIG), pipe(CONFIG.replace("user: u", "user: v")))
    assert done[0] == 2
    assert "name of the user changed: A/u → A/v" in done[1]
    for name in "uvw":  # more than are kept
        for _ in range(4):
            path = pipe(CONFIG.replace("user: u", f"user: {name}"))
            assert list(Deployment.load(path).users) == [f"A/{name}"]


def test_a_pipe_whose_beginning_tells_its_kind_is_refused(pipe):
    """Its beginning was lost: the file had no subscriptions, or not the first of them."""
    for words in (("who", "a.x", "-s"), ("wire",)):
        code, text = answer(*words, pipe("a.*\n"))
        assert (code, "is a pipe, which can be read only once" in text) == (2, True), text
