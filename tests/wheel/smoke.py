"""Use an installed subtrie as a program does; needs nothing but Python.

    python smoke.py native|reference

Run by ``try_wheel.py`` in an environment that has only the wheel.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ENGINE = sys.argv[1]
VECTORS = Path(__file__).resolve().parent.parent / "vectors"


def imported() -> set[str]:
    """The modules that ``import subtrie`` loads in a new interpreter."""
    program = (
        "import sys; before = set(sys.modules); import subtrie; print(*set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not done.stderr, done.stderr
    return set(done.stdout.split())


def main() -> None:
    """Raise an ``AssertionError`` if anything is not as promised."""
    import subtrie
    from subtrie import Pattern, SubjectTrie, microbus
    from subtrie.acl import Permissions
    from subtrie.gencreds import scan

    package = Path(subtrie.__file__).parent
    assert Path(sys.prefix) in package.parents, f"not the installed one: {package}"
    assert subtrie.engine().name == ENGINE, subtrie.engine()
    assert not shutil.which("cargo"), "Rust is reachable"

    loaded = imported()
    foreign = {
        name
        for name in loaded
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("subtrie")
    }
    assert not foreign, f"import subtrie loads {sorted(foreign)}"
    if ENGINE == "native":
        assert not {name for name in loaded if name.startswith("subtrie.reference")}

    trie: SubjectTrie[str] = SubjectTrie()
    route = microbus.subscription_from_route(
        plane="p", host="a.b", method="GET", route="/orders/{id}"
    )
    trie.add(route, "handler", queue="a.b")
    subject = microbus.request_from_url(
        plane="p", source="c.d", method="GET", url="https://a.b/orders/7"
    )
    assert trie.match(subject) == trie.select(subject) == ("handler",)
    assert SubjectTrie.from_bytes(trie.to_bytes()).match(subject) == (0,)
    assert microbus.decode(subject).source == "c.d"
    assert str(Pattern("a.*").overlaps("*.b")) == "a.b"
    old = Permissions(publish_allow=["a.*"])
    assert [str(each) for each in old.diff(Permissions(publish_allow=["a.>"])).added]

    Path("service.py").write_text(
        "from subtrie.connector import Connector\n"
        "service = Connector('a.b')\n"
        "async def ask():\n"
        "    await service.request('GET', 'https://c.d/x')\n"
    )
    (service,) = scan("service.py")
    assert [use.host for use in service.calls] == ["c.d"]

    from subtrie.conformance import run

    report = run([VECTORS / "microbus.jsonl", VECTORS / "nats_match.jsonl"])
    assert report, report.as_dict()

    command = Path(sys.executable).parent / (
        "subtrie.exe" if sys.platform == "win32" else "subtrie"
    )
    done = subprocess.run([command, "check", "a.b"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr  # needs no extra
    done = subprocess.run([command, "decode", "a.b"], capture_output=True, text=True, check=False)
    assert (done.returncode, "pip install 'click>=" in done.stderr) == (2, True), done.stderr
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == subtrie.__version__
    print(json.dumps({"engine": ENGINE, "python": sys.version.split()[0], "modules": len(loaded)}))


if __name__ == "__main__":
    main()
