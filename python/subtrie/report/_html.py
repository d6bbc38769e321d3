"""A report as one HTML file without outside assets, and with a strict content security policy.

Text from a log is in the file as escaped text, or as JSON in which no character can end the
element; scripts in the page make text nodes of it, and never parse it as HTML. The policy allows
the scripts and the style of this file by their digests, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from .._core.printable import printable
from ._content import Report

#: The scripts in the order in which they run; those of others first.
_SCRIPTS = ("text.js", "table.js", "timeline.js", "graph.js", "page.js")
_HERE = files(__package__)
# Within the element <script> only these could end it or begin a comment.
_IN_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def to_html(report: Report) -> str:
    """Return a report as a page that a browser shows without a network."""
    vendor: dict[str, dict[str, Any]] = json.loads(_text("vendor/vendor.json"))
    scripts = [_text(f"vendor/{name}") for name in vendor]
    scripts += [_text(f"assets/{name}") for name in _SCRIPTS]
    style = _text("assets/style.css")
    content = json.dumps(report.as_dict(), separators=(",", ":")).translate(_IN_SCRIPT)
    licences = "\n".join(
        f"<h2>{escape(each['library'])} {escape(each['version'])}, {escape(each['license'])}</h2>"
        f"<pre>{escape(_text('vendor/' + each['license_file']))}</pre>"
        for each in vendor.values()
    )
    return Template(_text("assets/page.html")).substitute(
        policy=escape(_policy(scripts, style)),
        title=escape(printable(report.title)),
        style=style,
        verdict=escape(printable(report.verdict)),
        state="bad" if report.findings else "good",
        run=escape(str(report.run["run"])),
        version=escape(str(report.run["version"])),
        digest=escape((report.run["input_digest"] or "-")[:16]),
        licences=licences,
        content=content,
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _policy(scripts: list[str], style: str) -> str:
    """Return the content security policy: only what is in this file, and no string as HTML."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _text(name: str) -> str:
    """Return a file of this package; one that would end its element is not of this package."""
    text = _HERE.joinpath(name).read_text(encoding="utf-8")
    if name.endswith((".js", ".css")) and ("</script" in text.lower() or "</style" in text.lower()):
        raise ValueError(f"{name} would end the element that contains it")
    return text
