"""Static files: what is served of a folder, and that no path leaves it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from subtrie.connector import HTTPError, _static
from subtrie.testing import actor_token

URL = "https://web.example/assets"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files, and a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "assets-old").mkdir()
    (tmp_path / "assets-old" / "secret.txt").write_text("secret")
    folder = tmp_path / "assets"
    (folder / "docs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".well-known").mkdir()
    files = {
        "index.html": "<h1>home</h1>", "app.js": "1", "docs/index.html": "<h1>docs</h1>",
        "a b.css": "c", ".env": "secret", ".git/config": "secret", ".well-known/x.txt": "known",
        "data.tar.gz": "z", "plain": "p", "ü.txt": "u", "C:secret.txt": "s", "a\\b.txt": "s",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def serving(make_memory, folder):
    """Return a caller and a service of the folder, not started."""
    caller, web = make_memory("caller.example"), make_memory("web.example", max_body=1000)
    web.static("/assets/{name...}", folder, max_age=60)
    return caller, web


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("", b"<h1>home</h1>", "text/html; charset=utf-8"),
        ("index.html", b"<h1>home</h1>", "text/html; charset=utf-8"),
        ("app.js", b"1", "text/javascript; charset=utf-8"),
        ("docs/", b"<h1>docs</h1>", "text/html; charset=utf-8"),
        ("a%20b.css", b"c", "text/css; charset=utf-8"),
        ("%C3%BC.txt", b"u", "text/plain; charset=utf-8"),
        ("docs%2Findex.html", b"<h1>docs</h1>", "text/html; charset=utf-8"),
        (".well-known/x.txt", b"known", "text/plain; charset=utf-8"),
        ("data.tar.gz", b"z", "application/octet-stream"),
        ("plain", b"p", "application/octet-stream"),
    ],
)
async def test_a_file_is_served_with_its_type(serving, path, body, kind):
    caller, web = serving
    async with caller, web:
        for method in ("GET", "HEAD"):
            response = await caller.request(method, f"{URL}/{path}")
            assert (response.status, response.body) == (200, body)
            assert response.headers["Content-Type"] == kind
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Cache-Control"] == "max-age=60"


@pytest.mark.parametrize(("name", "place"), [("docs", "docs/"), ("a%20b%3F", "a%20b%3F/")])
async def test_a_folder_without_its_slash_is_elsewhere(serving, folder, name, place):
    (folder / "a b?").mkdir()
    caller, web = serving
    async with caller, web:
        response = await caller.request("GET", f"{URL}/{name}")
    assert (response.status, response.headers["Location"]) == (307, place)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "%2e%2e%2fsecret.txt",
        ".%2e/secret.txt", "docs/../../secret.txt", "docs/%2e%2e/index.html", "./index.html",
        "../assets-old/secret.txt", "../assets/index.html", "%2Fetc%2Fpasswd", "/etc/passwd",
        "..\\secret.txt", "..%5Csecret.txt", "%252e%252e/secret.txt", "a%00b", "index.html%00",
        "C:/secret.txt", "C:secret.txt", "a%5Cb.txt", "//etc/passwd", "docs//index.html", ".env",
        ".git/config", "%2egit/config", "missing", "docs/missing/", "index.html/",
        "x" * 300,
    ],
)  # fmt: skip
async def test_no_path_leaves_the_folder(serving, path):
    """L18: a handler of ``/file/{name...}`` gets ``../../etc/passwd``."""
    caller, web = serving
    async with caller, web:
        with pytest.raises(HTTPError) as caught:
            await caller.request("GET", f"{URL}/{path}")
    assert (caught.value.status, caught.value.message) == (404, "no such file")


async def test_links_are_followed_inside_and_not_outside(serving, folder):
    caller, web = serving
    (folder / "in.html").symlink_to(folder / "docs" / "index.html")
    (folder / "inner").symlink_to("docs")
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "outer").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    (folder / "docs" / "back").symlink_to("../../assets-old")
    os.mkfifo(folder / "pipe")
    async with caller, web:
        for path in ("in.html", "inner/index.html", "inner/"):
            assert (await caller.request("GET", f"{URL}/{path}")).body == b"<h1>docs</h1>"
        for path in ("out.txt", "outer/secret.txt", "loop", "docs/back/secret.txt", "pipe"):
            with pytest.raises(HTTPError, match="404: no such file"):
                await caller.request("GET", f"{URL}/{path}")


async def test_a_link_that_replaces_a_folder_meanwhile_is_not_followed(folder, monkeypatch):
    inside = _static._inside

    def swapped(base, names):
        found = inside(base, names)
        (folder / "docs").rename(folder / "docs-before")
        (folder / "docs").symlink_to("../assets-old")
        return found

    (folder / "docs" / "secret.txt").write_text("mine")
    monkeypatch.setattr(_static, "_inside", swapped)
    with pytest.raises(HTTPError, match="404: no such file"):
        _static._response(folder, ["docs", "secret.txt"], 1000, {})


async def test_files_may_require_claims(make_memory, folder):
    caller, web = make_memory("caller.example"), make_memory("web.example")
    web.static("/assets/{name...}", folder, requires="sub == 'ann'")
    token = actor_token({"sub": "ann"})
    async with caller, web:
        for method in ("GET", "HEAD"):
            for actor, status in ((None, 401), (actor_token({"sub": "bob"}), 403), (token, 200)):
                headers = {} if actor is None else {"Microbus-Actor": actor}
                try:
                    got = await caller.request(method, f"{URL}/app.js", headers=headers)
                except HTTPError as error:
                    got = error
                assert got.status == status


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="descriptors cannot be counted")
@pytest.mark.parametrize("path", ["docs/index.html", "app.js", "docs/missing", "docs/pipe"])
def test_no_descriptor_stays_open(folder, path):
    os.mkfifo(folder / "docs" / "pipe")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with contextlib.suppress(HTTPError):
            _static._response(folder, path.split("/"), 1000, {})
    assert len(os.listdir("/dev/fd")) == before


async def test_a_file_that_a_client_has_is_not_sent_again(serving, folder):
    caller, web = serving

    async def given(tags, method="GET"):
        headers = {"If-None-Match": tags} if tags else {}
        return await caller.request(method, f"{URL}/app.js", headers=headers)

    async with caller, web:
        first = await given("")
        tag = first.headers["Etag"]
        assert (first.status, tag[0], tag[-1]) == (200, '"', '"')
        for tags in (tag, f"W/{tag}", f'"a", {tag}', f' "b" ,W/{tag}', "*"):
            for method in ("GET", "HEAD"):
                same = await given(tags, method)
                assert (same.status, same.body) == (304, b""), tags
                assert same.headers["Etag"] == tag
                assert same.headers["Cache-Control"] == "max-age=60"
                assert "Content-Type" not in same.headers
        for tags in ('"another"', tag.strip('"'), '""', ","):
            assert (await given(tags)).status == 200
        (folder / "app.js").write_text("2")
        changed = await given(tag)
        assert (changed.status, changed.body) == (200, b"2")
        assert changed.headers["Etag"] != tag


async def test_a_file_has_a_largest_size(serving, folder):
    caller, web = serving
    (folder / "most.bin").write_bytes(bytes(1000))
    (folder / "more.bin").write_bytes(bytes(1001))
    async with caller, web:
        assert len((await caller.request("GET", f"{URL}/most.bin")).body) == 1000
        with pytest.raises(HTTPError, match="413: the file exceeds 1000 bytes"):
            await caller.request("GET", f"{URL}/more.bin")


@pytest.mark.parametrize(
    ("route", "where", "said"),
    [
        ("/assets", "assets", "the route of static files ends in '/{name...}', not '/assets'"),
        ("/assets/{name}", "assets", "the route of static files ends in '/{name...}'"),
        ("/assets/{name...}", "missing", "'missing' is not a folder, in "),
        ("/assets/{name...}", "secret.txt", "'secret.txt' is not a folder, in "),
    ],
)
def test_a_wrong_route_or_folder_is_refused_at_once(make_memory, folder, route, where, said):
    with pytest.raises(ValueError, match=said.replace("{", r"\{").replace(".", r"\.")):
        make_memory("web.example").static(route, where)


async def test_the_folder_may_be_the_page_of_the_root(make_memory, folder):
    caller, web = make_memory("caller.example"), make_memory("web.example")
    web.static("//root/{name...}", folder)
    async with caller, web:
        page = await caller.request("GET", "https://root/")
    assert page.body == b"<h1>home</h1>"
    assert page.headers["Cache-Control"] == "no-cache", "a client asks again, unless it is told"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.js.map", "application/json; charset=utf-8"),
        ("a.md", "text/markdown; charset=utf-8"),
        ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.webp", "image/webp"),
        ("a.woff", "font/woff"),
        ("a.woff2", "font/woff2"),
        ("favicon.ico", "image/x-icon"),
    ],
)
def test_types_of_a_page_do_not_depend_on_the_version_of_python(name, kind):
    assert _static._type_of(name) == kind
