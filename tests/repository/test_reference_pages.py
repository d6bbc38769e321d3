"""The pages that list names are true: the API, the environment variables, the map of the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import api_page  # noqa: E402
import docs_site  # noqa: E402

import subtrie.cli  # noqa: E402
from subtrie import names, spark  # noqa: E402
from subtrie._cli import app  # noqa: E402
from subtrie.wire import log  # noqa: E402

PYTHON = sorted(
    file
    for folder in ("python", "tools", "benches", "tests/interop", "tests/acl")
    for file in (ROOT / folder).rglob("*.py")
)
_READ = re.compile(r"""environ(?:\.get\(|\[)\s*["'](\w+)["']""")
_OWN = re.compile(r"(?:MICROBUS|SUBTRIE)_[A-Z_]+")


def variables(text: str) -> set[str]:
    """The environment variables that a Python file names."""
    strings = {
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return set(_READ.findall(text)) | {each for each in strings if _OWN.fullmatch(each)}


#: Names that may not change without notice: each is a promise, so there are few.
MOST_NAMES = 180


def promised() -> list[tuple[str, str]]:
    """Return the names for users, each with its module, without those for implementers."""
    modules = (
        each for each in api_page.public_modules() if each.__name__ not in api_page.NOT_LISTED
    )
    return [(module.__name__, name) for module in modules for name in api_page.public_names(module)]


def test_few_names_are_promised():
    """There were 305, most of them used by the command alone.

    What ``spark`` has of ``audit`` is one promise, and so are its functions of the tables.
    """
    found = {
        (name, id(getattr(sys.modules[module], name)))
        for module, name in promised()
        if name not in spark.TABLES
    }
    assert len(found) <= MOST_NAMES


def test_each_promised_name_is_in_a_page_that_a_person_wrote():
    """A class without a description is not for users."""
    pages = [file for file in (ROOT / "docs").rglob("*.md") if file.name != "api.md"]
    text = "\n".join(file.read_text(encoding="utf-8") for file in [*pages, ROOT / "README.md"])
    words = set(re.findall(r"\w+", text))
    assert [each for each in promised() if each[1] not in words] == []


def test_the_page_of_the_api_is_up_to_date():
    is_up_to_date = api_page.PAGE.read_text(encoding="utf-8") == api_page.page()
    assert is_up_to_date, "run: python tools/api_page.py"


def test_every_public_module_lists_what_it_exports():
    """Without a list all that it defines or imports looks exported."""
    for module in (*api_page.public_modules(), subtrie.cli):
        names = vars(module).get("__all__")
        assert names, f"{module.__name__} has no __all__"
        assert [name for name in names if not hasattr(module, name)] == []


def test_a_public_class_prints_as_one_of_a_public_module():
    """Tracebacks and pickles said ``subtrie._core.errors.PatternError``."""
    private = [
        f"{module.__name__}.{name} is {found.__module__}.{name}"
        for module in api_page.public_modules()
        if not module.__name__.startswith("subtrie.reference")  # it has what implements it
        for name in vars(module)["__all__"]
        if isinstance(found := getattr(module, name), type) and "._" in found.__module__
    ]
    assert private == []


@pytest.mark.parametrize("module", api_page.public_modules(), ids=lambda module: module.__name__)
def test_every_public_name_has_a_text(module):
    names = api_page.public_names(module)
    assert not [name for name in names if not api_page.text_of(module, name)]


def test_a_constant_does_not_have_the_comment_of_one_with_the_same_name_elsewhere():
    assert api_page.text_of(names, "KINDS") == "The production of every kind."
    assert api_page.text_of(log, "KINDS").startswith("The kind of connection")
    assert api_page.text_of(spark, "EVENTS") == "What a server did, one row per operation."


def test_no_constant_has_the_comment_of_its_neighbour():
    comment = api_page.constants("subtrie.gencreds._declared")
    assert comment["MAX_PROJECT_BYTES"] == "Largest pyproject.toml that is read, in bytes."
    assert comment["_PLANES"].startswith("Subjects of a plane have rules of their own")


def test_every_environment_variable_is_on_its_page():
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", page))
    read = set().union(*(variables(file.read_text(encoding="utf-8")) for file in PYTHON))
    left = read - listed
    assert not left


@pytest.mark.parametrize(
    "text",
    [
        'os.environ.get("SUBTRIE_ENGINE", "")',
        'os.environ["SUBTRIE_ENGINE"]',
        'variable("SUBTRIE_ENGINE")',
        'NAMES = ("SUBTRIE_ENGINE",)',
    ],
)
def test_a_variable_is_found_however_it_is_read(text):
    assert variables(text) == {"SUBTRIE_ENGINE"}


def test_every_file_and_name_of_finding_code_exists():
    page = (ROOT / "docs" / "finding-code.md").read_text(encoding="utf-8")
    rows = re.findall(r"^- .+?: (`.+`) \((`\w+`)\)$", page, re.MULTILINE)
    assert len(rows) == 43
    missing = []
    for answer, name in rows:
        files = re.findall(r"`([^`]+)`", answer)
        missing += [file for file in files if not (ROOT / file).is_file()]
        if (ROOT / files[0]).is_file():
            text = (ROOT / files[0]).read_text(encoding="utf-8")
            if not re.search(rf"\b{re.escape(name.strip('`'))}\b", text):
                missing.append(f"{name} in {files[0]}")
    assert not missing


def test_every_module_has_a_group_and_the_names_that_its_users_need_come_first():
    """Batch came before SubjectTrie, and Config before Connector."""
    assert list(api_page.GROUPS) == list(app.GROUPS)
    grouped = {name: first for group in api_page.GROUPS.values() for name, first in group.items()}
    modules = {module.__name__: module for module in api_page.public_modules()}
    assert sorted(grouped) == sorted(modules)
    for name, first in grouped.items():
        assert api_page.public_names(modules[name])[: len(first.split())] == first.split(), name
    assert api_page.public_names(subtrie)[0] == "SubjectTrie"
    errors = [each for each in api_page.public_names(subtrie) if each.endswith("Error")]
    assert "SubtrieError" in errors[:-1]
    for module, text in docs_site.python_reference().items():
        title = module.removeprefix("python/").removesuffix(".md")
        shown = re.findall(r"^        - (\w+)$", text, re.MULTILINE)
        assert shown == api_page.public_names(modules[title])


def test_no_text_of_a_public_module_names_a_private_one():
    for module in api_page.public_modules():
        private = re.findall(r"`_\w+`", module.__doc__ or "")
        assert not private, module.__name__


def test_every_module_of_the_reference_is_reached_from_the_package():
    """``subtrie.report`` had a section, but could not be reached."""
    program = "import subtrie; subtrie.report.to_html; print(*dir(subtrie))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first = {module.__name__.split(".")[1] for module in api_page.public_modules()[1:]}
    assert first <= set(done.stdout.split())
