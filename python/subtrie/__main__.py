"""``python -m subtrie``: the command line."""

from .cli import main

main()
