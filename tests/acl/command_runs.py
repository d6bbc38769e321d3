"""Commands of a test, run in its process."""

from __future__ import annotations

from click.testing import CliRunner

from subtrie._cli.app import app


def run(*words, status=None):
    """Return what a command prints; no secret is in it, and its exit code is the expected one."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert "hidden-word" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert status in (None, done.exit_code), done.output
    return done.output


def written(folder, text, name="nats.conf"):
    """Return the path of a file that has a text."""
    path = folder / name
    path.write_text(text)
    return path
