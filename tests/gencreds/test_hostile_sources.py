"""Hostile sources: each is read in bounded time, or refused in one line with file and line."""

from __future__ import annotations

import os
import resource

import pytest
from click.testing import CliRunner
from source_trees import HEAD, said

import counted_work
from subtrie import PermissionsError
from subtrie._cli.app import app
from subtrie.gencreds import _source_files, scan
from subtrie.gencreds._source_files import MAX_FILE_BYTES

#: No source here may take more calls; the one that takes most of them takes half as many.
CALLS = 6_000_000

BROKEN = {
    "syntax": (b"x = 1\ndef f(:\n    pass\n", "source-syntax", 2),
    "indent": (b"def f():\npass\n", "source-syntax", 2),
    "NUL": (b"x = 1\n\0\n", "source-syntax", None),
    "no UTF-8": (b"x = 1\ny = '\xff'\n", "source-syntax", None),
    "an unknown encoding": (b"# -*- coding: nonsense -*-\n", "source-syntax", None),
    "Python 2": (b"print 'x'\n", "source-syntax", 1),
    "parentheses": (b"x = " + b"(" * 5000 + b")" * 5000, "source-syntax", 1),
    "minus": (b"x = " + b"-" * 200_000 + b"1\n", "source-depth", 1),
    "a module of many parts": (b"x = 1\nimport b, " + b"a." * 20_000 + b"a\n", "source-depth", 2),
    "a module on many lines": (
        b"from " + b"a . \\\n" * 20_000 + b"a import b\n", "source-depth", 1,
    ),
    "a module in UTF-7": (
        b"# coding: utf-7\nfrom a" + b"+AC4-a" * 20_000 + b" import b\n", "source-depth", 2,
    ),
    "too large": (b"#" * (MAX_FILE_BYTES + 1), "source-size", None),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_named(tree, what):
    data, reason, line = BROKEN[what]
    folder = tree(main=HEAD)
    (folder / "broken.py").write_bytes(data)
    with pytest.raises(PermissionsError) as caught:
        counted_work.calls(lambda: scan(folder), most=2000)
    assert caught.value.reason in (reason, "source-syntax", "source-depth")
    assert caught.value.file.endswith("broken.py")
    assert "broken.py" in str(caught.value)
    assert str(caught.value).count("\n") == 0
    if line is not None:
        assert caught.value.line == line


ENCODED = {
    "latin-1": "# -*- coding: latin-1 -*-\nU = 'https://a.shop/\xe9'\n".encode("latin-1"),
    "BOM": b"\xef\xbb\xbfU = 'https://a.shop/\xc3\xa9'\n",
    "CR LF": b"U = 'https://a.shop/\xc3\xa9'\r\n",
    "CR": b"# x\rU = 'https://a.shop/\xc3\xa9'\r",
}


@pytest.mark.parametrize("what", ENCODED)
def test_files_that_python_reads_are_read(tree, what):
    folder = tree(main=HEAD + 'from urls import U\norders.request("GET", U)\n')
    (folder / "urls.py").write_bytes(ENCODED[what])
    (service,) = scan(folder)
    assert said(service.calls) == ["GET a.shop:443/é"]


DEEP = {
    "a long sum": 'U = "https://a.shop/x"' + ' + "y"' * 800 + '\norders.request("GET", U)',
    "a chain of names": "A0 = 'https://a.shop/x'\n"
    + "".join(f"A{n + 1} = A{n}\n" for n in range(5000))
    + 'orders.request("GET", A5000)',
    "doubling": "A0 = 'https://a.shop/x'\n"
    + "".join(f"A{n + 1} = A{n} + A{n}\n" for n in range(60))
    + 'orders.request("GET", A60)',
    "doubling in a loop": "A0 = 'https://a.shop/x'\nfor z in ('a', 'b'):\n"
    + "".join(f"    A{n + 1} = A{n} + A{n} + z\n" for n in range(60))
    + '    orders.request("GET", A60)',
    "branches": "A0 = 'https://a.shop/x'\n"
    + "".join(f"A{n + 1} = (A{n} + 'x') if q else (A{n} + 'y')\n" for n in range(60))
    + 'orders.request("GET", A60)',
    "loops": "".join(" " * n + f"for a{n} in ('a', 'b', 'c', 'd'):\n" for n in range(18))
    + " " * 18 + 'orders.request("GET", f"https://' + "".join(f"{{a{n}}}" for n in range(18))
    + '/x")',
    "blocks": "".join(" " * n + "if x:\n" for n in range(95)) + " " * 95
    + 'orders.request("GET", f"https://{q}/x")',
    "attributes": "orders" + ".x" * 900 + '.request("GET", "https://a.shop/x")',
    "functions that return each other": "".join(
        f"def f{n}(): return f{(n + 1) % 300}()\n" for n in range(300)
    ) + 'f0().request("GET", "https://a.shop/x")',
    "classes above each other": "".join(
        f"class C{n}(C{n - 1 if n else 200}): ...\n" for n in range(200)
    ) + 'C7().x.request("GET", "https://a.shop/x")',
    "a connector that is made a thousand times": (
        'orders = Connector("orders.shop")\norders.request("GET", "https://a.shop/x")\n' * 1000
    ),
    "a thousand hidden calls of one": (
        'orders = Connector("orders.shop")\n'
        'orders.__getattribute__("request")("GET", "https://a.shop/x")\n' * 1000
    ),
    "itself": "x = x\ny = z\nz = y\ny.request('GET', 'https://a.shop/x')",
}  # fmt: skip


@pytest.mark.parametrize("what", DEEP)
def test_deep_nesting_is_reported(only, what):
    _, service = counted_work.calls(lambda: only(DEEP[what]), most=CALLS)
    assert service.dynamic or service.calls


def test_a_class_with_too_many_base_classes_is_refused(tree):
    """The work on 3,000 of them grew with the square of their number."""
    lines = [f"class C{n}(C{n - 1}): pass" for n in range(1, 3000)]
    text = "\n".join(["class C0: pass", *lines, 'C2999().x.request("GET", "https://a.shop/x")'])
    with pytest.raises(PermissionsError, match="more than 200 base classes") as caught:
        scan(tree(main=HEAD + text))
    assert caught.value.reason == "source-depth"
    assert caught.value.line is not None


def test_files_that_import_each_other(tree):
    folder = tree(
        main=HEAD + "from a import URL, who\nwho.request('GET', URL)\n",
        a="from b import *\nfrom b import who\nimport main\n",
        b="from a import *\nfrom main import orders as who\nURL = 'https://a.shop/x'\n",
        c="from d import X as Y\n",
        d="from c import Y as X\nX.request('GET', 'https://a.shop/x')\n",
    )
    (service,) = scan(folder)
    assert said(service.calls) == ["GET a.shop:443/x"]
    assert [each.file.rpartition(os.sep)[2] for each in service.dynamic] == ["d.py"]


def test_links(tree, tmp_path):
    folder = tree(main=HEAD)
    (tmp_path / "secret.py").write_text('TOKEN = "hidden-word"\n')
    (folder / "again.py").symlink_to("main.py")
    (folder / "loop").symlink_to(folder)
    assert len(scan(folder)) == 1
    for name, target in (("out.py", tmp_path / "secret.py"), ("gone.py", tmp_path / "nothing"),
                         ("away", tmp_path)):  # fmt: skip
        link = folder / name
        link.symlink_to(target)
        with pytest.raises(PermissionsError) as caught:
            scan(folder)
        assert caught.value.reason == "source-link"
        assert name in caught.value.file
        link.unlink()


def test_an_import_does_not_follow_a_link_out_of_the_tree(tree, tmp_path):
    folder = tree({"p/main.py": HEAD + "import out\n", "pyproject.toml": ""})
    (tmp_path / "secret.py").write_text("def f(:\n")
    (folder / "out.py").symlink_to(tmp_path / "secret.py")
    assert scan(folder / "p")[0].host == "orders.shop"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused(tree):
    folder = tree(main=HEAD)
    os.mkfifo(folder / "pipe.py")
    with pytest.raises(PermissionsError) as caught:
        scan(folder)
    assert caught.value.reason == "source-read"


def test_tests_and_environments_are_skipped(tree):
    bad = "def f(:\n"
    folder = tree({
        "main.py": HEAD, "test_main.py": bad, "main_test.py": bad, "conftest.py": bad,
        "tests/x.py": bad, ".venv/x.py": bad, "env/pyvenv.cfg": "", "env/lib/x.py": bad,
        "node_modules/x.py": bad, ".hidden.py": bad, "notes.txt": bad, "test/x.py": bad,
        "build/x.py": bad, "dist/x.py": bad, "site-packages/x.py": bad, "__pycache__/x.py": bad,
    })  # fmt: skip
    assert [each.host for each in scan(folder)] == ["orders.shop"]


def test_an_empty_or_missing_path(tmp_path):
    with pytest.raises(FileNotFoundError):
        scan(tmp_path / "nothing")


def test_names_that_are_not_texts(tree):
    folder = tree(main=HEAD)
    try:
        (folder / os.fsdecode(b"\xff.py")).write_text("def f(:\n")
    except OSError:
        pytest.skip("this file system takes no such names")
    with pytest.raises(PermissionsError) as caught:
        scan(folder)
    assert caught.value.reason == "source-syntax"


@pytest.mark.parametrize("most", [3, 2])
def test_a_folder_has_so_many_files(tree, monkeypatch, most):
    monkeypatch.setattr(_source_files, "MAX_FILES", most)
    folder = tree({"a.py": HEAD, "b.py": "", "c/d.py": "", "test_e.py": "", "f.txt": ""})
    if most == 3:
        assert [each.host for each in scan(folder)] == ["orders.shop"]
        return
    with pytest.raises(PermissionsError) as caught:
        scan(folder)
    assert caught.value.reason == "source-files"


def test_a_file_name_is_not_a_command_to_the_runner_of_an_action(tree, monkeypatch, tmp_path):
    monkeypatch.chdir(tree({"::warning ::y.py": HEAD + "def f(u): orders.request('GET', u)\n"}))
    done = CliRunner().invoke(app, ["gencreds", ".", "--plane", "p", "--dry-run"])
    assert done.exit_code == 1
    assert "warning" in done.output
    assert not [line for line in done.output.splitlines() if line.lstrip().startswith("::")]


def test_all_mistakes_of_a_source_tree_are_one_report(tree):
    folder = tree(
        {
            "a.py": HEAD + 'orders.request("GET", "/x")\norders.request("GET", "/y")\n',
            "b.py": "from subtrie.connector import Connector\nb = Connector('b.shop')\n"
            'b.request("get it", "https://a.shop/x")\n',
        }
    )
    done = CliRunner().invoke(app, ["gencreds", str(folder), "--plane", "p", "--dry-run"])
    assert done.exit_code == 2
    lines = done.output.splitlines()
    assert lines[0] == "Error: 3 mistakes"
    assert [line.partition(".py:")[2][:2] for line in lines[1:]] == ["3:", "4:", "3:"]
    (folder / "c.py").write_text("def (:\n")
    (folder / "d.py").write_text("x = = 1\n")
    done = CliRunner().invoke(app, ["gencreds", str(folder), "--plane", "p", "--dry-run"])
    assert done.output.splitlines()[0] == "Error: 2 mistakes"


@pytest.mark.parametrize("name", ["a" * 300, ".".join(["a" * 90] * 90), "\U0001d552" * 100])
def test_a_module_whose_name_is_too_long_for_a_file_is_external(tree, name):
    folder = tree(main=f"{HEAD}import {name}\nfrom {name} import b\nfrom .{name} import c\n")
    assert len(scan(folder)) == 1


@pytest.mark.parametrize("rest", [b"", b" \xff", b"\n\n\nx = '\xff'\n"])
def test_a_module_of_many_parts_takes_no_memory(tree, rest):
    """Python's parser makes the text of each prefix of it: 900 MiB for 60 KB.

    Bug: so it did if bytes that are not UTF-8 follow.
    """
    folder = tree(main=HEAD)
    (folder / "broken.py").write_bytes(f"from {'a.' * 8000}a import b".encode() + rest)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PermissionsError, match="the name of a module"):
        scan(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB
    long = ".".join("a" * 99)
    (folder / "broken.py").write_text(f"# {'a.' * 900}\nfrom {long} import b\nimport {long}, c\n")
    assert len(scan(folder)) == 1
