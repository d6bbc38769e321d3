"""Inputs of commands that hold streams, beside those that hold permissions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..acl._jetstream.load import PAGE, holds_streams, load_streams
from ..acl._jetstream.streams import Streams
from ..acl._load.deployments import is_address

#: What a command says if no input holds streams.
NOT_GIVEN = f"streams not given: not determined; give a saved answer of {PAGE}"


def apart(
    sources: Iterable[Path | str], account: str | None = None, *, ask: bool = True
) -> tuple[list[Path | str], Streams]:
    """Return the inputs that hold permissions, and the streams of the others.

    Args:
        sources: the inputs; an address of a monitoring port is asked for both.
        account: the account of streams whose input does not tell it.
        ask: False to not ask addresses for streams.

    Raises:
        PermissionsError: an input of streams that cannot be read.
        OSError: a file cannot be read, or a broker does not answer.
    """
    of_streams = [each for each in sources if (ask and is_address(each)) or holds_streams(each)]
    others = [each for each in sources if is_address(each) or each not in of_streams]
    return others, load_streams(of_streams, account)
