"""Rules say who may: whole sets of allow and deny rules, compared exactly.

A subject of tokens that no rule names is matched only by ``*`` and ``>``. So a pattern is a subset
of a union exactly if, for each length of subject, it is a subset of one member. A rule is validated
text: ``pattern`` or ``pattern queue``.
"""

# A67, A69

from .difference import rules_difference
from .minimise import rules_minimised
from .proof import rules_proof
from .sets import rules_admit, rules_overlap, rules_witness

__all__ = [
    "rules_admit",
    "rules_difference",
    "rules_minimised",
    "rules_overlap",
    "rules_proof",
    "rules_witness",
]
