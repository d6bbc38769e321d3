"""The modules that ``import subtrie`` loads, counted; the notes of a release."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import docs_site  # noqa: E402
import release_check  # noqa: E402
import release_notes  # noqa: E402


def loaded(program: str) -> set[str]:
    """The modules that a program loads beyond those of an empty one."""
    code = f"import sys; before = set(sys.modules); {program}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def third_parties(modules: set[str]) -> set[str]:
    roots = {name.partition(".")[0] for name in modules}
    return roots - sys.stdlib_module_names - {"subtrie"}


def test_importing_the_package_loads_neither_the_other_engine_nor_anything_else():
    modules = loaded("import subtrie")
    assert not third_parties(modules)
    assert not {name for name in modules if name.startswith("subtrie.reference")}
    own = {name for name in modules if name.startswith("subtrie")}
    assert len(own) <= 22, sorted(own)
    assert len(modules) <= 62, sorted(modules)
    assert not modules & {
        "asyncio",
        "json",
        "hashlib",
        "importlib.metadata",
        "subtrie.acl",
        "logging",
    }


@pytest.mark.parametrize("verb", ["check", "decode", "encode", "who"])
def test_a_command_that_prints_lines_loads_click_and_nothing_else(verb):
    """rich and asyncio would take longer to import than the command takes to run."""
    code = f"from subtrie._cli.app import app; import subtrie._cli.{verb}"
    modules = loaded(code)
    assert third_parties(modules) == {"click"}
    assert "asyncio" not in modules


def test_submodules_are_reached_by_name():
    modules = loaded("import subtrie; subtrie.acl.Permissions; subtrie.gencreds.scan")
    assert {"subtrie.acl", "subtrie.gencreds"} <= modules
    import subtrie

    assert "Permissions" in dir(subtrie.acl)
    assert {"acl", "connector", "spark", "__version__"} <= set(dir(subtrie))
    assert not {"os", "warnings", "TYPE_CHECKING"} & set(dir(subtrie))


def test_the_notes_of_a_release_are_its_part_of_the_changelog():
    changelog = "# Changelog\n\n## Unreleased\n\nx\n\n## 1.2.0 (2026-12-01)\n\n- one\n\n## 1.1.0\n"
    assert release_notes.notes("v1.2.0", changelog, "1.2.0") == "- one\n"
    with pytest.raises(ValueError, match="Cargo"):
        release_notes.notes("v1.3.0", changelog, "1.2.0")
    with pytest.raises(ValueError, match="no part"):
        release_notes.notes("v1.3.0", changelog, "1.3.0")


def test_the_notes_are_asked_for_the_version_of_the_workspace():
    """Bug: the version was read where the package only refers to that of the workspace."""
    command = [sys.executable, str(ROOT / "tools" / "release_notes.py"), "v999.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    version = release_check.versions(ROOT)["Cargo.toml"]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().endswith(f"Cargo.toml has version {version}")


def test_the_list_of_a_release_stops_at_the_first_step_that_fails(monkeypatch, capsys, tmp_path):
    assert release_check.main(["version"]) == 0
    assert capsys.readouterr().out.startswith("✓ version: ")
    assert release_check.main(["no-such-step"]) == 2
    for name in ("Cargo.toml", "Cargo.lock", "CITATION.cff"):
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    cited = re.sub(r"(?m)^version: .*", "version: 9.9.9", (tmp_path / "CITATION.cff").read_text())
    (tmp_path / "CITATION.cff").write_text(cited, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n", encoding="utf-8")
    monkeypatch.setattr(release_check, "ROOT", tmp_path)
    assert release_check.main(["version", "changelog"]) == 1
    told = capsys.readouterr().out
    assert "✗ version: set one version" in told
    assert "CITATION.cff: 9.9.9" in told
    assert "changelog" not in told.splitlines()[0].partition(":")[0]
    assert release_check.main(["changelog"]) == 1
    assert "no part about" in capsys.readouterr().out
    assert release_check.main([]) == 1  # no repository, so the first step
    assert capsys.readouterr().out.startswith("✗ clean-tree: git status")


def test_every_action_of_a_workflow_is_pinned_to_a_commit():
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        used = re.findall(r"uses: (\S+)(.*)", text)
        for action, version in used:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v[\d.]+", version), action
        assert "permissions: {}" in text  # nothing is granted unless a job says so


def test_every_drawing_of_the_documentation_has_its_picture():
    """The site shows the pictures; ``python tools/mermaid_pictures.py`` draws what is missing."""
    sources = {
        docs_site.mermaid_picture(source)
        for page in docs_site.pages_with_drawings()
        for source in docs_site.MERMAID.findall(page.read_text(encoding="utf-8"))
    }
    pictures = {path.name for path in (ROOT / "docs" / "pictures").glob("mermaid-*.svg")}
    assert sources == pictures
    assert sources


def test_the_page_of_the_command_line_is_what_a_terminal_prints():
    page = docs_site.command_line()
    assert "\\b" not in page  # how click marks lines that it does not wrap
    assert "\n  Examples:\n    subtrie check --kind" in page.replace(
        "    subtrie check orders.eu.new '$JS.API.INFO'\n", ""
    )
    assert "-h, --help" in page
