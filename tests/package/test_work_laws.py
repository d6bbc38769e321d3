"""Hostile texts that once took quadratic work: each is read by a process whose CPU time is limited.

The inputs are so long that quadratic work would take ten minutes and more, and linear work takes a
second at most, so how busy the machine is makes no difference.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

#: Seconds of CPU time that a process gets, its imports included.
_LIMIT = 60

_REDACTION = """
from subtrie._core.redaction import redact_bytes, redact_text
text = {part!r} * (1_048_576 // len({part!r}))
assert len(redact_bytes(text.encode())) == len(text)
redact_text(text)
"""

_PARTS = (
    "eyJ",
    "eyJa.",
    "eyJabcdefgh.",
    "SUAA",
    '"pass" ',
    '"password":"',
    '"jwt":"\\',
    "-----BEGIN ",
)

_PROGRAMS = {
    **{f"redaction-{number}": _REDACTION.format(part=part) for number, part in enumerate(_PARTS)},
    "budget": """
from subtrie._core.control_headers import nanoseconds_of, number_of, fragment_of
for digits in ("1" * 1_000_000, "1." * 500_000, "1h" * 500_000):
    assert nanoseconds_of(digits + "x") == 0
    assert number_of(digits) == 0
    assert fragment_of(f"{digits}/{digits}") == (1, 1)
""",
    **{
        f"permissions-{name}": f"""
import pathlib
from subtrie import PermissionsError
from subtrie.acl import Permissions
pathlib.Path("hostile.conf").write_text({part!r} * (2_000_000 // len({part!r})))
try:
    Permissions.load("hostile.conf")
except PermissionsError:
    pass
"""
        for name, part in (("dashes", "-"), ("blocks", "-----BEGIN "), ("blanks", "\n \t"))
    },
    "creds": """
from subtrie._nats.creds_file import jwt_in_creds
head = "-----BEGIN NATS USER JWT-----"
for part in ("-", "a", "\\n", "- ", "--- ", head):
    assert jwt_in_creds(head + part * 500_000) is None
    assert jwt_in_creds("-" * 500_000 + "BEGIN NATS USER JWT" + part * 500_000) is None
""",
    "key-files": """
from subtrie import PermissionsError
from subtrie._nats.nkey import seed_of
for blank in (b"\\n", b"\\r\\n", b" \\n", b"\\t") * 4:
    try:
        seed_of(blank * 65_536)
    except PermissionsError:
        pass
""",
    "durations": """
from subtrie._core.duration import parse_duration
for text in ("1" * 1_000_000 + "x", "." * 1_000_000, "1.1" * 300_000):
    assert parse_duration(text) is None
""",
}


@pytest.mark.requirement("T7", "T10")
@pytest.mark.parametrize("name", _PROGRAMS)
def test_hostile_text_is_read_in_linear_time(name, tmp_path):
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))

    done = subprocess.run(
        [sys.executable, "-c", _PROGRAMS[name]], cwd=tmp_path, env=os.environ, text=True,
        preexec_fn=limited, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:] or "the CPU time is used up"
