"""Draw the blocks of Mermaid in the documentation as pictures, for the documentation site.

``python tools/mermaid_pictures.py`` writes ``docs/pictures/mermaid-DIGEST.svg`` for each block that
has none, and deletes those of blocks that are gone. It needs npm, from which it takes the release
of Mermaid named below into a temporary folder, and Chromium, which draws.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from docs_site import MERMAID, mermaid_picture, pages_with_drawings  # noqa: E402

MERMAID_RELEASE = "12.3.0"
PICTURES = ROOT / "docs" / "pictures"

#: Labels as text of SVG, because a picture shows no HTML; no names that depend on the time.
_OPTIONS = {
    "startOnLoad": False,
    "htmlLabels": False,
    "theme": "neutral",
    "fontFamily": "sans-serif",
    "flowchart": {"htmlLabels": False},
    "deterministicIds": True,
}

_PAGE = """<!doctype html><meta charset="utf-8"><body><pre id="result"></pre>
<script>SCRIPT</script>
<script>
(async () => {
  mermaid.initialize(OPTIONS);
  const found = {};
  for (const [name, source] of Object.entries(SOURCES)) {
    const drawn = await mermaid.render('m' + name.replace(/[^a-z0-9]/g, ''), source);
    const svg = new DOMParser().parseFromString(drawn.svg, 'text/html').querySelector('svg');
    svg.style.background = 'white';  // also on a dark page
    found[name] = new XMLSerializer().serializeToString(svg);
  }
  document.getElementById('result').textContent = btoa(unescape(encodeURIComponent(
    JSON.stringify(found))));
})();
</script>
"""


def main() -> None:
    """Draw what has no picture, and delete pictures that no block has."""
    sources = {
        mermaid_picture(source): source
        for page in pages_with_drawings()
        for source in MERMAID.findall(page.read_text(encoding="utf-8"))
    }
    for path in PICTURES.glob("mermaid-*.svg"):
        if path.name not in sources:
            path.unlink()
    missing = {name: text for name, text in sources.items() if not (PICTURES / name).exists()}
    for name, svg in drawn(missing).items() if missing else ():
        (PICTURES / name).write_text(svg + "\n", encoding="utf-8")
        print(f"drawn: docs/pictures/{name}")


def drawn(sources: dict[str, str]) -> dict[str, str]:
    """Return the SVG of each drawing.

    Args:
        sources: the texts of the drawings by name.
    """
    import base64

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("drawing needs Chromium: sudo apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "install", "--silent", "--ignore-scripts", "--prefix", folder,
             f"mermaid@{MERMAID_RELEASE}"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        script = Path(folder, "node_modules/mermaid/dist/mermaid.min.js").read_text("utf-8")
        page = _PAGE.replace("OPTIONS", json.dumps(_OPTIONS))
        page = page.replace("SOURCES", json.dumps(sources).replace("</", "<\\/"))
        page = page.replace("SCRIPT", script.replace("</script", "<\\/script"), 1)
        path = Path(folder, "page.html")
        path.write_text(page, encoding="utf-8")
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={folder}/profile", "--virtual-time-budget=60000", "--dump-dom",
             path.as_uri()],
            check=True, capture_output=True, text=True, encoding="utf-8",
        )  # fmt: skip
    found = re.search(r'<pre id="result">([A-Za-z0-9+/=]+)</pre>', done.stdout)
    if found is None:
        raise SystemExit("the browser drew nothing: a block may not be valid Mermaid")
    pictures: dict[str, str] = json.loads(base64.b64decode(found[1]))
    return pictures


if __name__ == "__main__":
    main()
