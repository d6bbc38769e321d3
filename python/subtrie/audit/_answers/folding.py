"""Fold the variable tokens of subjects: inboxes, numbers and long random tokens become ``*``.

Pure rules without Spark.
"""

from __future__ import annotations

import itertools
import re

_NUMBER = re.compile(r"[0-9]+")
_HEX = re.compile(
    r"(?:[0-9a-f]{12,}|[0-9A-F]{12,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
)
_LONG = re.compile(r"[A-Za-z0-9_-]{16,}")
#: Two of five adjacent characters of a random token differ in class (lower case, upper case, digit,
#: other). Random base 62 has 63 in 100, names in camel case about 30. A smaller share would fold
#: such names, a larger one would keep some random tokens.
_CHANGES = (2, 5)
#: The tokens of a Microbus request before its path, and those of a reply.
HEAD = 7
_REPLY = 6


def is_variable(token: str) -> bool:
    """Return whether a token is a number or looks random, so that it does not name anything.

    Example:
        >>> [is_variable(each) for each in ("17", "K3vX9aQ0ZrT7mB2cYdL5wE", "getOrderTotals")]
        [True, True, False]
    """
    if _NUMBER.fullmatch(token):
        return True
    if _HEX.fullmatch(token):
        return any(c.isdigit() for c in token)
    if not _LONG.fullmatch(token):
        return False
    changes = sum(_kind(a) != _kind(b) for a, b in itertools.pairwise(token))
    return changes * _CHANGES[1] >= len(token) * _CHANGES[0]


def fold(subject: str) -> str:
    """Return a subject or a pattern with its variable tokens replaced by ``*``.

    So is a ``>`` that is not the last token, which only a published subject has, as text.

    Of a Microbus address the plane, the port, the hosts and the method stay, and ids of instances
    become ``*``.

    Example:
        >>> fold("orders.1742.paid"), fold("_INBOX.K3vX9aQ0ZrT7mB2cYdL5wE.4")
        ('orders.*.paid', '_INBOX.*.*')
        >>> fold("prod.safe.443.a_shop.b_shop.id-x7.GET.items.12")
        'prod.safe.443.a_shop.b_shop.*.GET.items.*'
    """
    tokens = subject.split(".")
    if ">" in tokens[:-1]:
        tokens = [*("*" if each == ">" else each for each in tokens[:-1]), tokens[-1]]
    if len(tokens) > HEAD and tokens[1] in ("safe", "danger"):
        slot = "*" if tokens[5].startswith("id-") else tokens[5]
        return ".".join([*tokens[:5], slot, tokens[6], *map(_folded, tokens[HEAD:])])
    if len(tokens) == _REPLY and tokens[1] == "reply":
        return ".".join([*tokens[:-1], "*"])
    if tokens[0].startswith("_INBOX"):
        return ".".join([tokens[0], *(each if each == ">" else "*" for each in tokens[1:])])
    return ".".join(map(_folded, tokens))


def _folded(token: str) -> str:
    return "*" if is_variable(token) else token


def _kind(character: str) -> tuple[bool, bool, bool]:
    """Return the class of a character."""
    return character.isdigit(), character.islower(), character.isupper()
