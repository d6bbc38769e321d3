"""The executable specification: the public names of the core in plain Python, without cleverness.

Each rule cites the row of the requirements it implements. It imports nothing native, serves where
no wheel fits, and answers beside the native engine in every test.
"""

from ..subject import Pattern, Subject
from .grammar import check_pattern, check_subject, covers, matches, overlaps
from .trie import SubjectTrie

__all__ = [
    "Pattern",
    "Subject",
    "SubjectTrie",
    "check_pattern",
    "check_subject",
    "covers",
    "matches",
    "overlaps",
]
