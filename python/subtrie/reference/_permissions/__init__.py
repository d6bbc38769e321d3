"""Rules say who may: whole sets of allow and deny rules, compared exactly.

A subject made of tokens that no rule names is matched only by ``*`` and ``>``; so a pattern lies
inside a union exactly when, for each length of subject, it lies inside one member (A67). A rule is
checked text: ``pattern`` or ``pattern queue`` (A69).
"""

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
