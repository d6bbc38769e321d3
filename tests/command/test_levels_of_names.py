"""Names are checked by the level that is given, and for Windows where that is asked for."""

from __future__ import annotations

import json

from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie.names import LEVELS, check_name


def test_names_by_each_level_and_for_windows() -> None:
    texts, found = ["a b", "a/b", "a<b", "a" * 40, "ab"], set()
    for level in ([], *(["--level", each] for each in LEVELS)):
        for windows in ([], ["--windows"]):
            words = ["check", "--kind", "stream", *level, *windows, "--json", *texts]
            lines = CliRunner().invoke(app, words).stdout.splitlines()
            told = [json.loads(line)["valid"] for line in lines]
            asked = level[-1] if level else "adr6"
            assert told == [
                bool(check_name(text, "stream", level=asked, windows=bool(windows)))
                for text in texts
            ]
            found.add((asked, bool(windows), *told))
    assert len({each[2:] for each in found}) > 2, "the options change the answer"
    assert len(found) == 2 * len(LEVELS), "the default is one of the levels"
