"""Install from a folder of wheels, offline, and lint a stranger's ``nats.conf``.

    python tests/wheel/first_finding.py WHEELS [MORE]

A new virtual environment, no package index, no compiler on ``PATH``. Exits with 1 if the first
finding is not there within ten seconds of CPU, or if anything else is not as promised.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

#: From an empty folder to the first finding, in seconds of CPU.
MAX_SECONDS = 10.0

#: What a stranger has: a deny entry that the allow list never reaches, and a user without limits.
NATS_CONF = """\
port: 4222
authorization {
  users: [
    { user: web, password: $WEB_PASSWORD, permissions: {
        publish: { allow: ["orders.*"], deny: ["order.secret"] }, subscribe: ["_INBOX.>"] } }
    { user: admin, password: $ADMIN_PASSWORD }
  ]
}
"""


def first_finding(*folders: Path) -> tuple[str, float]:
    """Return what the linter prints, and the seconds of CPU from an empty folder on."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        scripts = home / "venv" / "bin"
        environment = {"PATH": str(scripts), "HOME": folder, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        found = [f"--find-links={each.resolve()}" for each in folders]

        def run(*command: str | Path, exit_code: int = 0) -> str:
            done = subprocess.run(
                command, cwd=home, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == exit_code, (command, done.stdout, done.stderr)
            return done.stdout

        run(sys.executable, "-m", "venv", home / "venv")
        run(scripts / "pip", "install", "--quiet", "--no-index", *found, "subtrie[cli]")
        for compiler in ("cc", "gcc", "clang", "cargo", "rustc"):
            assert not (scripts / compiler).exists(), compiler
        engine = run(scripts / "python", "-c", "import subtrie; print(subtrie.engine().name)")
        assert engine == "native\n", engine
        (home / "nats.conf").write_text(NATS_CONF, encoding="utf-8")
        printed = run(scripts / "subtrie", "acl", "lint", "nats.conf", exit_code=1)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    return printed, used


def main() -> None:
    """Print the findings and the CPU time."""
    printed, used = first_finding(*map(Path, sys.argv[1:]))
    assert "nats.conf:" in printed, printed
    assert used <= MAX_SECONDS, f"{used:.1f} s of CPU"
    print(printed, end="")
    print(f"first finding after {used:.1f} s of CPU")


if __name__ == "__main__":
    main()
