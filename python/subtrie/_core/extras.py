"""The commands that install the packages of an optional part."""

from __future__ import annotations

import re
import shlex

_EXTRA = re.compile(r"""extra == ['"]([\w-]+)['"]""")


def install_command(*extras: str) -> str:
    """Return the command that installs the packages of extras.

    It names the packages themselves: a command with the name of the extra would look for subtrie in
    an index, which need not have it.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = requires("subtrie") or []
    except PackageNotFoundError:  # a source tree that was never installed
        listed = []
    found = []
    for each in listed:
        package, _, condition = each.partition(";")
        extra = _EXTRA.search(condition)
        if extra is not None and extra[1] in extras and not package.startswith("subtrie["):
            found.append(package.replace(" ", ""))
    if not found:
        return f"pip install 'subtrie[{','.join(extras)}]'"
    return "pip install " + " ".join(map(shlex.quote, dict.fromkeys(found)))
