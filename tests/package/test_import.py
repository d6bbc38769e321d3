"""The engine in use after ``import subtrie``, and what the import loads."""

from __future__ import annotations

import inspect
import os
import pathlib
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

import subtrie
from subtrie import reference

# Refuses the extension as an interpreter does that no wheel fits.
WITHOUT_EXTENSION = """
import importlib.abc, sys
class NoWheelFits(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "subtrie._subtrie":
            raise ImportError("no wheel fits", name=name)
sys.meta_path.insert(0, NoWheelFits())
"""

ENGINE = "import subtrie; print(*subtrie.engine(), sep='|')"


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter of its own."""
    inherited = {key: value for key, value in os.environ.items() if key != "SUBTRIE_ENGINE"}
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_native_is_the_default():
    done = python(ENGINE)
    assert (done.stdout.strip(), done.stderr) == ("native|the extension fits this interpreter", "")


@pytest.mark.parametrize("name", ["native", "reference", "both"])
def test_the_environment_chooses(name):
    done = python(ENGINE, SUBTRIE_ENGINE=name)
    assert (done.stdout.strip(), done.stderr) == (f"{name}|SUBTRIE_ENGINE={name}", "")


def test_an_unknown_engine_is_an_error():
    done = python(ENGINE, SUBTRIE_ENGINE="nonsense")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ValueError: SUBTRIE_ENGINE must be 'native', 'reference' or 'both', not 'nonsense'"
    )


@pytest.mark.requirement("M-11")
def test_without_the_extension_the_reference_answers_and_says_so():
    done = python(WITHOUT_EXTENSION + ENGINE)
    assert done.returncode == 0, done.stderr
    name, why = done.stdout.strip().split("|")
    assert (name, why) == ("reference", "the native extension cannot be imported: no wheel fits")
    assert done.stderr.count("RuntimeWarning") == 1
    assert "subtrie uses its pure-Python reference engine" in done.stderr
    assert "imported: no wheel fits" in done.stderr


def test_an_extension_that_lacks_another_module_is_not_told_as_absent():
    raised = "ModuleNotFoundError(\"no module named 'other'\", name='other')"
    code = WITHOUT_EXTENSION.replace('ImportError("no wheel fits", name=name)', raised)
    assert raised in code
    done = python(code + ENGINE)
    assert done.stdout.strip() == (
        "reference|the native extension cannot be imported: no module named 'other'"
    )


def test_the_fixtures_name_the_package_that_they_need():
    done = python("import sys; sys.modules['pytest'] = None; import subtrie.testing")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: the fixtures of subtrie.testing need pytest: pip install pytest"
    )


def test_spark_without_its_packages_names_pyspark():
    """It named pandas, which a reader of ``--master`` does not expect."""
    done = python(
        "import sys\n"
        "sys.modules.update(pyspark=None, pandas=None)\n"
        "from subtrie.spark import cluster_session\n"
        "cluster_session('local[1]')"
    )
    assert "SparkStartError: the audit needs pyspark: pip install " in done.stderr


@pytest.mark.requirement("M-11")
def test_an_installation_without_the_extension_says_that_it_has_none(tmp_path):
    package = pathlib.Path(subtrie.__file__).parent
    ignored = shutil.ignore_patterns("_subtrie*.so", "_subtrie*.pyd", "__pycache__")
    shutil.copytree(package, tmp_path / "subtrie", ignore=ignored)
    done = python(ENGINE, PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == (
        "reference|the native extension cannot be imported: it is not part of this installation"
    )
    assert "it is not part of this installation" in done.stderr


@pytest.mark.requirement("M-11")
def test_the_warning_points_at_the_importing_module():
    code = (
        WITHOUT_EXTENSION
        + "import warnings\n"
        + "with warnings.catch_warnings(record=True) as caught:\n"
        + "    warnings.simplefilter('always')\n"
        + "    import subtrie\n"
        + "print([(w.category.__name__, w.filename) for w in caught])"
    )
    done = python(code)
    assert done.stdout.strip() == "[('RuntimeWarning', '<string>')]", done.stderr


def test_chosen_by_name_the_reference_needs_no_warning():
    done = python(WITHOUT_EXTENSION + ENGINE, SUBTRIE_ENGINE="reference")
    assert (done.stdout.strip(), done.stderr) == ("reference|SUBTRIE_ENGINE=reference", "")


def test_chosen_by_name_a_missing_native_engine_is_an_error():
    done = python(WITHOUT_EXTENSION + ENGINE, SUBTRIE_ENGINE="native")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ImportError: no wheel fits"


@pytest.mark.requirement("M-08")
def test_the_reference_imports_nothing_native():
    code = (
        "import sys, subtrie\n"
        "import subtrie.reference\n"
        "print([m for m in sys.modules if m == 'subtrie._subtrie'])"
    )
    done = python(code, SUBTRIE_ENGINE="reference")
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.requirement("M-08")
def test_the_reference_does_its_work_without_the_extension():
    code = WITHOUT_EXTENSION + (
        "import subtrie\n"
        "from subtrie import Pattern, SubjectTrie, microbus\n"
        "trie = SubjectTrie()\n"
        "trie.add(microbus.subscription_from_route("
        "plane='p', host='a.b', method='GET', route=':443/x/{id}'), 'here')\n"
        "subject = microbus.request_from_url("
        "plane='p', source='c.d', method='GET', url='https://a.b/x/1')\n"
        "print(subject, trie.match(subject), microbus.decode(subject).source)\n"
        "print(Pattern('a.*').overlaps('*.b'))"
    )
    done = python(code, SUBTRIE_ENGINE="reference")
    assert done.stdout.splitlines() == [
        "p.safe.443.c_d.a_b._.GET.x.1 ('here',) c.d",
        "a.b",
    ], done.stderr


@pytest.mark.parametrize("name", ["native", "reference"])
def test_importing_brings_nothing_optional(name):
    code = (
        "import sys, subtrie\n"
        "roots = {module.partition('.')[0] for module in sys.modules}\n"
        "print(sorted(roots & {'click', 'rich', 'pyarrow', 'pyspark', 'nats', 'pandas', 'numpy', "
        "'yaml', 'cryptography', 'pydantic'}))"
    )
    done = python(code, SUBTRIE_ENGINE=name)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("name", "other"), [("native", "subtrie.reference"), ("reference", "subtrie._subtrie")]
)
def test_importing_loads_one_engine(name, other):
    code = "import sys, subtrie; print([m for m in sys.modules if m.startswith({!r})])"
    done = python(code.format(other), SUBTRIE_ENGINE=name)
    assert done.stdout.strip() == "[]", done.stderr
    done = python("import subtrie; print(subtrie.reference.__name__)", SUBTRIE_ENGINE=name)
    assert done.stdout.strip() == "subtrie.reference", done.stderr


def test_importing_the_package_starts_no_asyncio_loop_or_thread():
    done = python("import threading, subtrie; print(threading.active_count())")
    assert done.stdout.strip() == "1", done.stderr


def test_no_module_of_the_reference_hides_a_function():
    """Bug: the module ``reference/matches.py`` hid the function ``matches``."""
    hidden = [
        name
        for name in reference.__all__
        if isinstance(getattr(reference, name), ModuleType) and name != "microbus"
    ]
    assert not hidden
    assert reference.matches("a.*", "a.b")


def test_the_version_is_read_when_asked_for():
    assert subtrie.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="no_such_name"):
        subtrie.no_such_name  # noqa: B018


def test_help_describes_every_function_of_microbus_on_both_engines(engine_in_use):
    for name in subtrie.microbus.__all__:
        assert inspect.getdoc(getattr(subtrie.microbus, name)), name
