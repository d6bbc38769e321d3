"""Draw the pictures of a report in ``docs/pictures``, in Chromium.

    python tools/report_pictures.py out/demo/report.html

The page is that of ``make demo``. An edge with undelivered messages is selected, so that the
picture shows its details too.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "report"))

import browser  # noqa: E402

#: Name, width and height of each picture, and whether it is in the dark scheme.
PICTURES = {
    "report": (1280, 1000, False),
    "report-dark": (1280, 1000, True),
    "report-phone": (390, 844, False),
}
_SELECT = """
const edges = document.querySelector("select[name=edge]");
const found = [...edges.options].find((each) => each.text === arguments[0]);
edges.value = found.value;
edges.dispatchEvent(new Event("change"));
window.scrollTo(0, 0);
document.documentElement.style.scrollbarWidth = "none";
"""


def main() -> None:
    """Draw each picture from the page that the command line names."""
    page = Path(sys.argv[1]).resolve()
    programs = [str(shutil.which(each)) for each in ("chromium", "chromedriver")]
    with (
        tempfile.TemporaryDirectory() as profile,
        browser.Browser(*programs, Path(profile)) as opened,
    ):
        for name, (width, height, dark) in PICTURES.items():
            browser.SCREENS[name] = (width, height)
            opened.resize(name, dark=dark)
            opened.open(page)
            opened.run(_SELECT, "web.shop → inventory.shop")
            shot = opened.command("Page.captureScreenshot", {"format": "png"})
            picture = ROOT / "docs" / "pictures" / f"{name}.png"
            drawn = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
            drawn.quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main()
