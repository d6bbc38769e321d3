"""``python -m subtrie.cli``, where the script is not on PATH."""

from . import main

main()
