"""Run a target of ``texts.py`` under Atheris.

python fuzz/run_texts.py TARGET [libFuzzer's options] [CORPUS...]
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["subtrie", "texts"]):
    import texts


def main() -> None:
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in texts.TARGETS:
        sys.exit(f"usage: run_texts.py {'|'.join(texts.TARGETS)} [options] [CORPUS...]")
    atheris.Setup(sys.argv, texts.TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
