"""The limits that messages name are those of the code."""

from __future__ import annotations

import pytest

from subtrie._core.reasons import LOADING, MICROBUS, SOURCES
from subtrie.acl._load import config_parser, files, snapshots
from subtrie.gencreds import _declared, _source_files
from subtrie.reference.microbus import _hosts

_KIB, _MIB = 1 << 10, 1 << 20


@pytest.mark.parametrize(
    ("reason", "limit", "unit", "shown"),
    [
        ("file-size", files.MAX_FILE, _MIB, "16 MiB"),
        ("answer-size", snapshots.MAX_ANSWER, _MIB, "64 MiB"),
        ("source-size", _source_files.MAX_FILE_BYTES, _MIB, "4 MiB"),
        ("project-size", _declared.MAX_PROJECT_BYTES, _KIB, "64 KiB"),
        ("source-files", _source_files.MAX_FILES, 1, "20,000"),
        ("conf-depth", config_parser.MAX_DEPTH, 1, "32 levels"),
        ("include-depth", config_parser.MAX_FILES, 1, "256 files"),
        ("host-length", _hosts._MAX_LENGTH, 1, "252 characters"),
    ],
)
def test_a_message_names_the_limit_of_the_code(reason, limit, unit, shown):
    assert shown in {**LOADING, **MICROBUS, **SOURCES}[reason].hint
    assert f"{limit // unit:,}" == shown.split()[0]
    assert limit % unit == 0
